"""Filters against SciPy, scikit-image (entropy), OpenCV, ITK and dask-image: CPU time of the process for each
voxel, taken in turns.

Usage: ``python benchmarks/filters.py [--rounds 3]``. One thread: ``ARRAYLOOM_THREADS=1`` is set here. Peers that are
not installed are left out.
"""

import argparse
import os
import statistics
import time
from functools import partial
from importlib.util import find_spec

os.environ["ARRAYLOOM_THREADS"] = "1"

import numpy as np
import scipy.ndimage as nd

from arrayloom import filters as f

CASES = [
    ("gaussian_filter", (2,), {}, 64),
    ("minimum_filter", (7,), {}, 64),
    ("uniform_filter", (7,), {}, 64),
    ("std_filter", (7,), {}, 16),
    ("std_filter", (31,), {}, 16),
    ("gaussian_laplace", (2,), {}, 16),
    ("minimum_filter", (), {"footprint": f.ball(3)}, 8),
    ("median_filter", (3,), {}, 8),
    ("median_filter", (5,), {}, 2),
    ("median_filter", (15,), {}, 1),
    ("entropy_filter", (5,), {}, 2),
]


def opencv(name, args, kwargs):
    """The same filter in OpenCV, which is 2-D: slice by slice, then along the first axis as one wide image."""
    try:
        import cv2
    except ImportError:
        return None
    cv2.setNumThreads(1)
    if kwargs:
        return None
    size = args[0]
    border = cv2.BORDER_REFLECT
    plane, column = {
        "gaussian_filter": (
            lambda p: cv2.GaussianBlur(p, (8 * size + 1,) * 2, size, borderType=border),
            lambda p: cv2.GaussianBlur(p, (1, 8 * size + 1), 1, sigmaY=size, borderType=border),
        ),
        "minimum_filter": (
            lambda p: cv2.erode(p, np.ones((size, size), np.uint8)),
            lambda p: cv2.erode(p, np.ones((size, 1), np.uint8)),
        ),
        "uniform_filter": (
            lambda p: cv2.blur(p, (size, size), borderType=border),
            lambda p: cv2.blur(p, (1, size), borderType=border),
        ),
    }.get(name, (None, None))
    if plane is None:
        return None

    def call(x):
        slices = np.stack([plane(p) for p in x])
        return column(slices.reshape(len(x), -1)).reshape(x.shape)

    return call


def itk(name, args, kwargs):
    """The same filter in SimpleITK."""
    if find_spec("SimpleITK") is None or kwargs:
        return None
    import SimpleITK

    SimpleITK.ProcessObject.SetGlobalDefaultNumberOfThreads(1)
    size = args[0]
    radius = [size // 2] * 3
    filters = {
        "gaussian_filter": lambda v: SimpleITK.DiscreteGaussian(v, size * size, 8 * size + 1),
        "minimum_filter": lambda v: SimpleITK.GrayscaleErode(v, radius, SimpleITK.sitkBox),
        "uniform_filter": lambda v: SimpleITK.BoxMean(v, radius),
        "median_filter": lambda v: SimpleITK.Median(v, radius),
    }
    found = filters.get(name) if size < 9 else None
    if found is None:
        return None
    return lambda x: SimpleITK.GetArrayFromImage(found(SimpleITK.GetImageFromArray(x)))


def dask_image(name, args, kwargs):
    """The same filter in dask-image, in blocks of an eighth, one thread."""
    if find_spec("dask_image") is None or kwargs or (args[0] > 9):
        return None
    import dask.array
    from dask_image import ndfilters

    function = getattr(ndfilters, name, None)
    if function is None:
        return None

    def call(x):
        chunks = tuple(-(-n // 2) for n in x.shape)
        blocks = dask.array.from_array(x, chunks=chunks)
        return function(blocks, *args).compute(scheduler="synchronous")

    return call


def deviation(x, size):
    """SciPy has no deviations; this is what its users write, which cancels for large values."""
    wide = x.astype(np.float64)
    mean = nd.uniform_filter(wide, size)
    return np.sqrt(np.maximum(nd.uniform_filter(wide * wide, size) - mean * mean, 0))


def entropy(x, size):
    """scikit-image's entropy of an image with as many grey values as it has."""
    from skimage.filters import rank

    return rank.entropy(x.astype(np.uint16), np.ones((size,) * 3, np.uint8))


def apply(module, name, args, kwargs, x):
    return getattr(module, name)(x, *args, **kwargs)


def seconds(call, x):
    start = time.process_time()
    call(x)
    return time.process_time() - start


# What SciPy does not have.
OTHERS = {"std_filter": deviation, "entropy_filter": entropy}


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--rounds", type=int, default=3)
    rounds = parser.parse_args().rounds
    rng = np.random.default_rng(1)
    data = {
        "f4": (rng.random((64, 512, 512)) * 4000).astype("f4"),
        "u2": rng.integers(0, 4000, (64, 512, 512), dtype="u2"),
    }
    peers = ("opencv", "itk", "dask")
    heads = "".join(f"{who:>9}" for who in peers)
    print(f"{'filter':34} dtype    ours   scipy  ratio {heads}  (ns per voxel)")
    for name, args, kwargs, planes in CASES:
        if OTHERS.get(name) is entropy and find_spec("skimage") is None:
            print(f"{name}: needs scikit-image to compare with")
            continue
        for dtype, volume in data.items():
            x = volume[:planes]
            calls = {
                "ours": partial(apply, f, name, args, kwargs),
                "scipy": partial(OTHERS[name], size=args[0])
                if name in OTHERS
                else partial(apply, nd, name, args, kwargs),
                "opencv": opencv(name, args, kwargs),
                "itk": itk(name, args, kwargs),
                "dask": dask_image(name, args, kwargs),
            }
            taken = {who: [] for who, call in calls.items() if call is not None}
            for _ in range(rounds):
                for who, times in taken.items():
                    times.append(1e9 * seconds(calls[who], x) / x.size)
            ns = {who: statistics.median(times) for who, times in taken.items()}
            label = f"{name} {args[0] if args else 'ball(3)'}"
            others = "".join(f"{ns[who]:9.2f}" if who in ns else f"{'-':>9}" for who in peers)
            ratio = ns["scipy"] / ns["ours"]
            print(
                f"{label:34} {dtype:5} {ns['ours']:7.2f} {ns['scipy']:7.1f} {ratio:6.1f} {others}"
            )


if __name__ == "__main__":
    main()
