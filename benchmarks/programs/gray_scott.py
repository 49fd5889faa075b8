"""Reaction and diffusion of two substances (Gray and Scott), in place."""

import numpy as np

CLASS = "bandwidth"
FULL, QUICK = (1000, 10), (500, 8)
PEERS = ("numba",)
DU, DV, F, K = 0.16, 0.08, 0.06, 0.062


def needed(size, iterations):
    return 8 * 4 * size**2 * iterations


def start(size):
    U, V = np.ones((size + 2, size + 2)), np.zeros((size + 2, size + 2))
    middle = slice(45 * size // 100, 55 * size // 100)
    U[middle, middle], V[middle, middle] = 0.5, 0.25
    return U, V


def step(U, V):
    u, v = U[1:-1, 1:-1], V[1:-1, 1:-1]
    Lu = U[:-2, 1:-1] + U[1:-1, :-2] - 4 * u + U[1:-1, 2:] + U[2:, 1:-1]
    Lv = V[:-2, 1:-1] + V[1:-1, :-2] - 4 * v + V[1:-1, 2:] + V[2:, 1:-1]
    uvv = u * v * v
    u[:] = u + (DU * Lu - uvv + F * (1 - u))
    v[:] = v + (DV * Lv + uvv - (F + K) * v)
    return U, V
