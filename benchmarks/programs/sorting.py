"""Ranks and quantiles: sort, search, histogram."""

import numpy as np

CLASS = "compute"
FULL, QUICK = (2_000_000, 2), (300_000, 2)


def needed(size, iterations):
    return 8 * 2 * size * iterations


def start(size):
    return (np.sin(np.arange(size, dtype=float) ** 2 % 1000),)


def step(values, *_):
    ordered = np.sort(values)
    ranks = np.searchsorted(ordered, np.linspace(-1, 1, 1000))
    counts, _ = np.histogram(values, bins=200)
    return values, ordered, ranks, counts, np.percentile(values, [5, 50, 95])
