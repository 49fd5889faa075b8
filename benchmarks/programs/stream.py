"""Copies of a large array by two threads: the memory's speed, which other programs are held against."""

import os
from concurrent.futures import ThreadPoolExecutor

import numpy as np

CLASS = "bandwidth"
FULL, QUICK = (16_000_000, 5), (16_000_000, 3)


def needed(size, iterations):
    return 8 * 2 * size * iterations


def numpy_run(size, iterations, cache={}):  # noqa: B006 - the arrays are meant to last
    if size not in cache:
        cache[size] = np.ones(size), np.zeros(size)
    source, target = cache[size]
    parts = len(os.sched_getaffinity(0))
    cuts = [slice(size * i // parts, size * (i + 1) // parts) for i in range(parts)]
    with ThreadPoolExecutor(parts) as pool:
        for _ in range(iterations):
            list(pool.map(lambda cut: np.copyto(target[cut], source[cut]), cuts))
    return (target,)
