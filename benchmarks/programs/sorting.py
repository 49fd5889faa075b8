"""Ranks and quantiles: sort, search, histogram."""

import numpy as np

CLASS = "compute"
FULL, QUICK = (4_000_000, 1), (600_000, 1)


def needed(size, iterations):
    return 8 * 2 * size * iterations


def start(size):
    return (np.sin(np.arange(size, dtype=float) ** 2 % 1000),)


def step(values):
    ordered = np.sort(values)
    ranks = np.searchsorted(ordered, np.linspace(-1, 1, 1000))
    counts, _ = np.histogram(values, bins=200)
    return values, ordered, ranks, counts, np.percentile(values, [5, 50, 95])
