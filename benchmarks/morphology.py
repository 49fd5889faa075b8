"""Binary morphology that repeats, against SciPy: seconds of a call, taken in turns.

Usage: ``python benchmarks/morphology.py [--rounds 5]``. Results are compared first. Shapes are blobs: noise, smoothed and
cut at a level.
"""

import argparse
import statistics
import time
from functools import partial

import numpy as np
import scipy.ndimage as nd

from arrayloom import filters as f


def blobs(side):
    noise = np.random.default_rng(1).random((side, side))
    smooth = nd.gaussian_filter(noise, 6)
    return smooth > np.quantile(smooth, 0.45)


def cases(side):
    """Pairs of a name and a call of either module."""
    shape, holes = blobs(side), ~blobs(side)
    seed = np.zeros_like(shape)
    seed[:, 0] = shape[:, 0]
    box = np.ones((3, 3), bool)
    yield "binary_fill_holes", lambda m: m.binary_fill_holes(holes)
    yield "binary_propagation", lambda m: m.binary_propagation(seed, mask=shape)
    yield "binary_erosion, until stable", lambda m: m.binary_erosion(shape, iterations=0)
    yield "binary_dilation, 20 times", lambda m: m.binary_dilation(seed, iterations=20)
    yield "binary_dilation, 20 times a box", lambda m: m.binary_dilation(shape, box, iterations=20)
    yield "binary_opening, 5 times", lambda m: m.binary_opening(shape, iterations=5)


def seconds(call):
    started = time.perf_counter()
    call()
    return time.perf_counter() - started


def main():
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--rounds", type=int, default=5)
    rounds = parser.parse_args().rounds
    print(f"{'milliseconds':36}{'side':>6}{'ours':>10}{'scipy':>10}{'times':>8}")
    for side in (256, 1024, 2048):
        for name, call in cases(side):
            assert np.array_equal(call(f), call(nd)), name
            took = [(seconds(partial(call, f)), seconds(partial(call, nd))) for _ in range(rounds)]
            ours, scipy = (1e3 * statistics.median(column) for column in zip(*took, strict=True))
            print(f"{name:36}{side:6}{ours:10.2f}{scipy:10.2f}{scipy / ours:8.1f}", flush=True)


if __name__ == "__main__":
    main()
