"""Calls of filters on small images against SciPy: microseconds of a call, taken in turns.

Usage: ``python benchmarks/small_images.py [--rounds 7]``. What a filter builds is kept, so the first call of a shape takes
longer; it is the last column.
"""

import argparse
import statistics
import time
from functools import partial

import numpy as np
import scipy.ndimage as nd

from arrayloom import filters as f
from arrayloom.filters import _kept

CASES = {
    "uniform_filter 3": lambda m, x: m.uniform_filter(x, 3),
    "gaussian_filter 1": lambda m, x: m.gaussian_filter(x, 1.0),
    "median_filter 3": lambda m, x: m.median_filter(x, 3),
    "minimum_filter 3": lambda m, x: m.minimum_filter(x, 3),
    "sobel": lambda m, x: m.sobel(x),
    "gaussian_laplace 1": lambda m, x: m.gaussian_laplace(x, 1.0),
    "grey_opening 3": lambda m, x: m.grey_opening(x, 3),
    "correlate1d 3": lambda m, x: m.correlate1d(x, [1.0, 2.0, 1.0]),
    "correlate 3 x 3": lambda m, x: m.correlate(x, np.ones((3, 3))),
    "binary_erosion": lambda m, x: m.binary_erosion(x),
}


def seconds(call, times):
    started = time.perf_counter()
    for _ in range(times):
        call()
    return (time.perf_counter() - started) / times


def first(call):
    """Seconds of a call for which nothing is kept."""
    _kept._table.clear()  # noqa: SLF001 - there is no other way to forget
    return seconds(call, 1)


def main():
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--rounds", type=int, default=7)
    rounds = parser.parse_args().rounds
    print(f"{'microseconds':20}{'side':>6}{'ours':>9}{'scipy':>9}{'times':>8}{'first':>9}")
    random = np.random.default_rng(1)
    for side in (8, 64, 256):
        image = random.random((side, side), "f4")
        for name, filtered in CASES.items():
            ours, theirs = partial(filtered, f, image), partial(filtered, nd, image)
            alone = statistics.median(first(ours) for _ in range(rounds))
            took = [(seconds(ours, 200), seconds(theirs, 4000 // side)) for _ in range(rounds)]
            a, b = (1e6 * statistics.median(column) for column in zip(*took, strict=True))
            print(f"{name:20}{side:6}{a:9.1f}{b:9.1f}{b / a:8.1f}{1e6 * alone:9.1f}", flush=True)


if __name__ == "__main__":
    main()
