"""The wave equation in two dimensions, with a copy of the last two states."""

import numpy as np

CLASS = "bandwidth"
FULL, QUICK = (2000, 10), (700, 10)
PEERS = ("numba",)


def needed(size, iterations):
    return 8 * 3 * size**2 * iterations


def start(size):
    x = np.linspace(-1, 1, size)
    now = np.exp(-40 * (x[:, None] ** 2 + x[None, :] ** 2))
    return now, now.copy()


def step(now, before):
    after = np.zeros_like(now)
    c = now[1:-1, 1:-1]
    around = now[:-2, 1:-1] + now[2:, 1:-1] + now[1:-1, :-2] + now[1:-1, 2:] - 4 * c
    after[1:-1, 1:-1] = 2 * c - before[1:-1, 1:-1] + 0.2 * around
    return after, now
