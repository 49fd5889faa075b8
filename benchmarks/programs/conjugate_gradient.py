"""Conjugate gradients for the Laplacian of a square: stencils, dot products, updates."""

import numpy as np

CLASS = "bandwidth"
FULL, QUICK = (1500, 10), (600, 10)
PEERS = ()


def needed(size, iterations):
    return 8 * 6 * size**2 * iterations


def _laplacian(x):
    y = 4 * x
    y[1:] -= x[:-1]
    y[:-1] -= x[1:]
    y[:, 1:] -= x[:, :-1]
    y[:, :-1] -= x[:, 1:]
    return y


def start(size):
    i = np.arange(size * size, dtype=float).reshape(size, size)
    b = np.sin(0.1 * i)
    return np.zeros_like(b), b, b.copy()


def step(x, r, p):
    q = _laplacian(p)
    rr = np.sum(r * r)
    alpha = rr / np.sum(p * q)
    x = x + alpha * p
    r = r - alpha * q
    p = r + (np.sum(r * r) / rr) * p
    return x, r, p
