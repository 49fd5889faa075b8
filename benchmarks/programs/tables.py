"""What data frames do: masks, gathers, sums by group."""

import numpy as np

CLASS = "bandwidth"
FULL, QUICK = (6_000_000, 1), (1_000_000, 1)
GROUPS = 1000


def needed(size, iterations):
    return 8 * 4 * size * iterations


def start(size):
    i = np.arange(size)
    return i * 7919 % GROUPS, np.sin(0.1 * i)


def step(key, value):
    keep = value > -0.5
    k, v = key[keep], value[keep]
    sums, counts = np.bincount(k, v, GROUPS), np.bincount(k, minlength=GROUPS)
    means = sums / np.maximum(counts, 1)
    return key, value, means, v - means[k]
