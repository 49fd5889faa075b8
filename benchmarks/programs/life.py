"""Conway's game of life on bytes."""

import numpy as np

CLASS = "bandwidth"
FULL, QUICK = (3000, 3), (1000, 4)
PEERS = ("numba",)


def needed(size, iterations):
    return 2 * size**2 * iterations


def start(size):
    i = np.arange((size + 2) ** 2, dtype=float)
    Z = (np.sin(0.37 * i * i) > 0.2).astype(np.uint8).reshape(size + 2, size + 2)
    Z[0] = Z[-1] = 0
    Z[:, 0] = Z[:, -1] = 0
    return (Z,)


def step(Z):
    C = Z[1:-1, 1:-1]
    N = (
        Z[:-2, :-2]
        + Z[:-2, 1:-1]
        + Z[:-2, 2:]
        + Z[1:-1, :-2]
        + Z[1:-1, 2:]
        + Z[2:, :-2]
        + Z[2:, 1:-1]
        + Z[2:, 2:]
    )
    C[:] = (N == 3) | ((N == 2) & (C == 1))
    return (Z,)
