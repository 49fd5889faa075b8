"""Reading boxes of chunked files: a misaligned box and the whole volume, against the libraries of the formats.

Usage: ``python benchmarks/storage.py [--rounds 5] [--size 256]``. Takes turns in one process; MB/s of decoded
voxels. Peers that are not installed are left out.
"""

import argparse
import importlib.util
import statistics
import tempfile
import time
import warnings
from pathlib import Path

import numpy as np

from arrayloom import volumes

warnings.simplefilter("ignore")
CHUNK = (64, 64, 64)


def volume(size):
    """A smooth field with noise, as microscopes give it."""
    rng = np.random.default_rng(0)
    axis = np.sin(np.linspace(0, 9, size)) + 1.5
    field = 300 * axis[:, None, None] * axis[None, :, None] * axis[None, None, :]
    return rng.poisson(field).astype(np.uint16)


def has(name):
    return importlib.util.find_spec(name) is not None


def zarr_file(folder, x, codec):
    import zarr

    name = folder / f"{codec}.zarr"
    compressor = {"zstd": zarr.codecs.ZstdCodec(level=1), "raw": None}.get(codec)
    if codec == "blosc":
        compressor = zarr.codecs.BloscCodec(cname="lz4", shuffle="bitshuffle")
    zarr.create_array(name, data=x, chunks=CHUNK, compressors=compressor)
    readers = {"zarr": lambda box: zarr.open_array(name, mode="r")[box]}
    if has("tensorstore"):
        import tensorstore

        spec = {"driver": "zarr3", "kvstore": {"driver": "file", "path": str(name)}}
        store = tensorstore.open(spec).result()
        readers["tensorstore"] = lambda box: store[box].read().result()
    return name, readers


def hdf5_file(folder, x, codec):
    import h5py

    name = folder / f"{codec}.h5"
    with h5py.File(name, "w") as file:
        options = {} if codec == "raw" else {"compression": "gzip", "compression_opts": 1}
        file.create_dataset("x", data=x, chunks=CHUNK, **options)
    file = h5py.File(name, "r")
    return name, {"h5py": lambda box: file["x"][box]}


def tiff_file(folder, x, codec):
    import tifffile
    import zarr

    name = folder / f"{codec}.tif"
    compression = None if codec == "raw" else codec
    tifffile.imwrite(name, x, tile=(128, 128), compression=compression, photometric="minisblack")
    store = zarr.open(tifffile.imread(name, aszarr=True), mode="r")
    return name, {"tifffile": lambda box: store[box]}


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--size", type=int, default=256)
    options = parser.parse_args()
    x = volume(options.size)
    side = options.size * 200 // 512
    starts = (37, 51, 29)
    boxes = {
        "box": tuple(slice(s, s + side) for s in starts),
        "whole": (slice(None),) * 3,
    }
    cases = [(zarr_file, c) for c in ("raw", "zstd", "blosc")]
    cases += [(hdf5_file, c) for c in ("raw", "gzip")]
    cases += [(tiff_file, c) for c in ("raw", "zlib", "zstd")]
    print(f"{'file':12} {'what':6} {'ours':>8}  others, MB/s (ours / theirs)")
    with tempfile.TemporaryDirectory() as name:
        for make, codec in cases:
            try:
                path, readers = make(Path(name), x, codec)
            except (ImportError, KeyError, ValueError) as error:
                print(f"{make.__name__} {codec}: left out, {error}")
                continue
            source = volumes.open(path)
            readers = {"ours": lambda box, s=source: np.asarray(s[box]), **readers}
            for what, box in boxes.items():
                taken = {who: [] for who in readers}
                for _ in range(options.rounds):
                    for who, read in readers.items():
                        start = time.perf_counter()
                        found = read(box)
                        taken[who].append(found.nbytes / 1e6 / (time.perf_counter() - start))
                        assert np.array_equal(found, x[box])
                speed = {who: statistics.median(t) for who, t in taken.items()}
                ours = speed.pop("ours")
                others = "  ".join(f"{w} {s:.0f} ({ours / s:.1f}x)" for w, s in speed.items())
                print(f"{path.name:12} {what:6} {ours:8.0f}  {others}", flush=True)


if __name__ == "__main__":
    main()
