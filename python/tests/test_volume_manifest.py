"""Chunked files that the native half reads by itself, against the libraries that wrote them."""

import json
import os
import zlib

import numpy as np
import pytest

from arrayloom import filters as f
from arrayloom import volumes as v
from arrayloom._volumes.formats import open_reader
from arrayloom._volumes.manifest import ManifestSource

SHAPE = (13, 30, 41)
BOX = (slice(2, 11), slice(7, 30), slice(3, 38))


def data(dtype):
    return np.random.default_rng(4).integers(0, 90, SHAPE).astype(dtype)


def check(path, x, **where):
    """The file is read natively, whole, in a box, and through a small memory."""
    found, _ = open_reader(path, where.get("dataset"), where.get("level", 0), None, None)
    assert isinstance(found, ManifestSource)
    source = v.open(path, **where)
    assert (source.shape, source.dtype) == (x.shape, x.dtype.newbyteorder("="))
    assert np.array_equal(np.asarray(source), x)
    assert np.array_equal(np.asarray(source[BOX]), x[BOX])
    out = path.with_name("out.npy")
    if x.dtype.kind == "c":
        v.save(out, source + 1, memory_limit="300KiB")
        assert np.array_equal(np.load(out), x + 1)
        return
    report = v.save(out, f.maximum_filter(source, 3), memory_limit="300KiB")
    assert np.array_equal(np.load(out), f.maximum_filter(x, 3))
    assert report["peak"] <= 300 << 10


def zarr3_codecs():
    zarr = pytest.importorskip("zarr")
    blosc = zarr.codecs.BloscCodec
    return {
        "raw": None,
        "zstd": zarr.codecs.ZstdCodec(level=1),
        "gzip": zarr.codecs.GzipCodec(level=1),
        "lz4": blosc(cname="lz4", shuffle="shuffle"),
        "lz4 bits": blosc(cname="lz4", shuffle="bitshuffle"),
        "blosc zstd": blosc(cname="zstd", shuffle="shuffle"),
        "blosc zlib": blosc(cname="zlib", shuffle="noshuffle"),
    }


CHAINS = [
    ["zstd", "gzip"],
    ["gzip", "zstd"],
    ["gzip", "gzip"],
    ["lz4", "zstd"],
    ["zstd", "lz4"],
    ["zstd", "crc32c", "zstd"],
]


@pytest.mark.parametrize("shards", [None, (10, 16, 48)])
@pytest.mark.parametrize("compressible", [True, False])
@pytest.mark.parametrize("names", CHAINS, ids=" ".join)
@pytest.mark.filterwarnings("ignore")
def test_chunks_are_compressed_more_than_once(tmp_path, names, compressible, shards):
    zarr = pytest.importorskip("zarr")
    known = {**zarr3_codecs(), "crc32c": zarr.codecs.Crc32cCodec()}
    top = 3 if compressible else 1 << 16
    x = np.random.default_rng(4).integers(0, top, SHAPE).astype("u2")
    made = zarr.create_array(
        tmp_path / "in.zarr", shape=x.shape, dtype=x.dtype, chunks=(5, 8, 16), shards=shards,
        compressors=[known[name] for name in names],
    )  # fmt: skip
    made[...] = x
    check(tmp_path / "in.zarr", x)


@pytest.mark.parametrize("shards", [None, (10, 16, 48)])
@pytest.mark.parametrize("dtype", ["u1", "u2", "i4", "f4", "f8", "c8", ">u2"])
@pytest.mark.parametrize(
    "name", ["raw", "zstd", "gzip", "lz4", "lz4 bits", "blosc zstd", "blosc zlib"]
)
@pytest.mark.filterwarnings("ignore")
def test_zarr_3(tmp_path, name, dtype, shards):
    zarr = pytest.importorskip("zarr")
    x = data(dtype)
    serializer = zarr.codecs.BytesCodec(endian="big") if dtype[0] == ">" else "auto"
    stored = zarr.create_array(
        tmp_path / "in.zarr", shape=SHAPE, dtype=x.dtype.newbyteorder("="), chunks=(5, 8, 16), shards=shards,
        compressors=zarr3_codecs()[name], serializer=serializer, fill_value=7,
    )  # fmt: skip
    # One chunk, or shard, is never written.
    x[10:, 16:32] = 7
    stored[:10] = x[:10]
    stored[10:, :16] = x[10:, :16]
    check(tmp_path / "in.zarr", x)


@pytest.mark.parametrize("dtype", ["u1", "<u2", ">i4", "<f4", ">f8"])
@pytest.mark.parametrize("name", ["raw", "zlib", "gzip", "zstd", "lz4", "blosc", "bits"])
@pytest.mark.parametrize("separator", [".", "/"])
@pytest.mark.filterwarnings("ignore")
def test_zarr_2(tmp_path, name, dtype, separator):
    zarr = pytest.importorskip("zarr")
    numcodecs = pytest.importorskip("numcodecs")
    codec = {
        "raw": None,
        "zlib": numcodecs.Zlib(1),
        "gzip": numcodecs.GZip(1),
        "zstd": numcodecs.Zstd(1),
        "lz4": numcodecs.LZ4(),
        "blosc": numcodecs.Blosc("lz4", shuffle=numcodecs.Blosc.SHUFFLE),
        "bits": numcodecs.Blosc("zstd", shuffle=numcodecs.Blosc.BITSHUFFLE),
    }[name]
    x = data(dtype)
    stored = zarr.create_array(
        tmp_path / "in.zarr", shape=SHAPE, dtype=x.dtype, chunks=(5, 8, 16), zarr_format=2, compressors=codec,
        fill_value=3, chunk_key_encoding={"name": "v2", "separator": separator},
    )  # fmt: skip
    x[10:, 16:24] = 3
    stored[:10] = x[:10]
    stored[10:, :16] = x[10:, :16]
    stored[10:, 24:] = x[10:, 24:]
    check(tmp_path / "in.zarr", x)


def read_bytes(folder, stored, nbytes):
    """The bytes of an array that has the chunk `stored`, made by Blosc."""
    folder.mkdir(exist_ok=True)
    meta = {
        "zarr_format": 2, "shape": [nbytes], "chunks": [nbytes], "dtype": "|u1", "fill_value": 0, "order": "C",
        "filters": None, "compressor": {"id": "blosc", "cname": "lz4"},
    }  # fmt: skip
    (folder / ".zarray").write_text(json.dumps(meta))
    (folder / "0").write_bytes(stored)
    return np.asarray(v.open(folder)).tobytes()


@pytest.mark.parametrize("dtype", ["u1", "u2", "u4", "u8", "S3", "V6", "c16"])
@pytest.mark.parametrize("cname", ["lz4", "zstd"])
@pytest.mark.parametrize("shuffle", [1, 2])
@pytest.mark.filterwarnings("ignore")
def test_shuffled_blocks_may_have_any_length(tmp_path, shuffle, cname, dtype):
    numcodecs = pytest.importorskip("numcodecs")
    pytest.importorskip("zarr")
    rng = np.random.default_rng(3)
    for blocksize in (0, 120, 1000):
        codec = numcodecs.Blosc(cname, shuffle=shuffle, blocksize=blocksize)
        for count in [*range(1, 10), 15, 63, 127, 128, 250, 1001, 4099, 20_011]:
            data = rng.integers(0, 3, count * np.dtype(dtype).itemsize, "u1")
            stored = codec.encode(data.view(dtype))
            found = read_bytes(tmp_path / "in.zarr", stored, data.size)
            assert found == data.tobytes(), (blocksize, count)


@pytest.mark.parametrize("layout", [{}, {"tile": (16, 32)}, {"rowsperstrip": 7}])
@pytest.mark.parametrize("predictor", [False, True])
@pytest.mark.parametrize("dtype", ["u1", "u2", "i4"])
def test_tiff(tmp_path, layout, predictor, dtype):
    tifffile = pytest.importorskip("tifffile")
    x = data(dtype)
    try:
        tifffile.imwrite(
            tmp_path / "in.tif",
            x,
            photometric="minisblack",
            compression="zlib",
            predictor=predictor,
            **layout,
        )
    except (KeyError, ValueError) as error:
        pytest.skip(f"tifffile cannot write this without imagecodecs: {error}")
    check(tmp_path / "in.tif", x)


@pytest.mark.parametrize(
    "options",
    [{}, {"compression": "gzip"}, {"compression": "gzip", "shuffle": True}, {"shuffle": True}],
)
@pytest.mark.parametrize("dtype", ["u2", ">f4", "f8"])
def test_hdf5(tmp_path, options, dtype):
    h5py = pytest.importorskip("h5py")
    x = data(dtype)
    with h5py.File(tmp_path / "in.h5", "w") as file:
        file.create_dataset("x", data=x, chunks=(5, 8, 16), **options)
        file.create_dataset("empty", SHAPE, dtype, chunks=(5, 8, 16), fillvalue=9)
    check(tmp_path / "in.h5", x, dataset="x")
    check(tmp_path / "in.h5", np.full(SHAPE, 9, dtype), dataset="empty")


def test_what_is_broken_is_named(tmp_path):
    zarr = pytest.importorskip("zarr")
    x = data("u2")
    zarr.create_array(tmp_path / "in.zarr", data=x, chunks=(5, 8, 16))
    source = v.open(tmp_path / "in.zarr")
    chunk = tmp_path / "in.zarr" / "c" / "1" / "2" / "0"
    whole = chunk.read_bytes()
    chunk.write_bytes(whole[: len(whole) // 2])
    with pytest.raises(OSError, match=r"chunk \[1, 2, 0\] .*corrupt"):
        np.asarray(source)
    chunk.write_bytes(b"not zstandard at all")
    with pytest.raises(OSError, match="corrupt"):
        v.save(tmp_path / "out.npy", source)
    chunk.write_bytes(whole)
    assert np.array_equal(np.asarray(source), x)


def test_a_shard_with_a_broken_index_is_named(tmp_path):
    zarr = pytest.importorskip("zarr")
    zarr.create_array(tmp_path / "in.zarr", data=data("u2"), chunks=(5, 8, 16), shards=(15, 32, 48))
    (shard,) = [p for p in (tmp_path / "in.zarr" / "c").rglob("*") if p.is_file()]
    damaged = bytearray(shard.read_bytes())
    damaged[-9] ^= 1
    shard.write_bytes(damaged)
    with pytest.raises(OSError, match="checksum"):
        np.asarray(v.open(tmp_path / "in.zarr"))


def test_a_file_that_changes_is_not_read_with_old_places(tmp_path):
    h5py = pytest.importorskip("h5py")
    path = tmp_path / "in.h5"
    for value in (1, 2):
        with h5py.File(path, "w") as file:
            file.create_dataset(
                "x", data=np.full(SHAPE, value), chunks=(5, 8, 16), compression="gzip"
            )
        if value == 1:
            source = v.open(path)
            source.source.node.file.close()
        os.utime(path, ns=(value, value))
    with pytest.raises(OSError, match="has changed since it was opened"):
        np.asarray(source)


@pytest.mark.parametrize("version", [2, 3])
@pytest.mark.parametrize("dtype", [">c8", ">c16", ">f4"])
def test_parts_of_complex_numbers_are_swapped_by_themselves(tmp_path, version, dtype):
    zarr = pytest.importorskip("zarr")
    x = (data("d") + 1j * np.arange(41)).astype(dtype) if "c" in dtype else data(dtype)
    chosen = {"serializer": zarr.codecs.BytesCodec(endian="big")} if version == 3 else {}
    kind = x.dtype.newbyteorder("=") if version == 3 else x.dtype
    path = tmp_path / "swapped.zarr"
    made = zarr.create_array(
        path,
        shape=x.shape,
        chunks=(5, 7, 20),
        dtype=kind,
        zarr_format=version,
        compressors=None,
        **chosen,
    )
    made[:] = x
    assert np.array_equal(np.asarray(v.open(path)), x)


@pytest.mark.parametrize("inside", ["gzip", "zstd"])
@pytest.mark.filterwarnings("ignore")
def test_checksums_inside_of_compressed_chunks(tmp_path, inside):
    zarr = pytest.importorskip("zarr")
    packed = {"gzip": zarr.codecs.GzipCodec(), "zstd": zarr.codecs.ZstdCodec()}[inside]
    codecs = [zarr.codecs.Crc32cCodec(), packed]
    path = tmp_path / "in.zarr"
    zarr.create_array(path, data=data("u2"), chunks=(5, 8, 16), compressors=codecs)
    check(path, data("u2"))


@pytest.mark.parametrize("name", ["gzip", "zlib"])
@pytest.mark.filterwarnings("ignore")
def test_compressed_chunks_whose_checksum_is_wrong_or_that_are_too_long(tmp_path, name):
    zarr = pytest.importorskip("zarr")
    numcodecs = pytest.importorskip("numcodecs")
    path = tmp_path / "in.zarr"
    codec = {"gzip": numcodecs.GZip(1), "zlib": numcodecs.Zlib(1)}[name]
    zarr.create_array(path, data=data("u2"), chunks=(5, 8, 16), compressors=codec, zarr_format=2)
    chunk = path / "1.1.1"
    stored = chunk.read_bytes()
    # Both end in a checksum; that of gzip stands before the length.
    place = -8 if name == "gzip" else -4
    wrong = bytearray(stored)
    wrong[place] ^= 1
    longer = codec.encode(codec.decode(stored) + b"more")
    for content in (bytes(wrong), longer):
        chunk.write_bytes(content)
        with pytest.raises(OSError, match=r"1\.1\.1 .*corrupt"):
            np.asarray(v.open(path))
    chunk.write_bytes(stored)
    assert np.array_equal(np.asarray(v.open(path)), data("u2"))


def stream_of(nbytes):
    """A stream of zlib with more bytes than are wanted, and its copy with a wrong checksum."""
    stream = zlib.compress(bytes(range(200)) * (nbytes // 100))
    return stream, stream[:-1] + bytes([stream[-1] ^ 1])


def test_a_strip_of_more_bytes_than_it_needs_has_a_checksum_too(tmp_path):
    tifffile = pytest.importorskip("tifffile")
    path, x = tmp_path / "in.tif", np.zeros((20, 30), "u2")
    tifffile.imwrite(path, x, compression="zlib", photometric="minisblack", rowsperstrip=20)
    with tifffile.TiffFile(path) as file:
        page = file.pages[0]
        place, entry = page.dataoffsets[0], page.tags["StripByteCounts"].valueoffset
    good, wrong = stream_of(x.nbytes)
    raw = path.read_bytes()[:place]
    raw = bytearray(raw)
    raw[entry : entry + 4] = len(good).to_bytes(4, "little")
    path.write_bytes(bytes(raw) + good)
    assert np.asarray(v.open(path)).tobytes() == zlib.decompress(good)[: x.nbytes]
    path.write_bytes(bytes(raw) + wrong)
    with pytest.raises(OSError, match="corrupt"):
        np.asarray(v.open(path))


def test_a_chunk_of_hdf5_that_is_too_long_has_a_checksum_too(tmp_path):
    h5py = pytest.importorskip("h5py")
    path, x = tmp_path / "in.h5", np.zeros((20, 30), "u2")
    good, wrong = stream_of(x.nbytes)
    for stream in (good, wrong):
        with h5py.File(path, "w") as file:
            made = file.create_dataset("x", x.shape, "u2", chunks=x.shape, compression="gzip")
            made.id.write_direct_chunk((0, 0), stream)
        if stream is good:
            assert np.asarray(v.open(path)).tobytes() == zlib.decompress(good)[: x.nbytes]
    with pytest.raises(OSError, match="corrupt"):
        np.asarray(v.open(path))
