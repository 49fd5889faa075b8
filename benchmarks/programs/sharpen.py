"""Unsharp masking of a photograph of bytes, with clipping."""

import numpy as np

CLASS = "bandwidth"
FULL, QUICK = (3000, 3), (1000, 3)
PEERS = ("numba",)


def needed(size, iterations):
    return 2 * size**2 * iterations


def start(size):
    i = np.arange(size * size, dtype=float).reshape(size, size)
    return ((np.sin(0.01 * i) * 127 + 128).astype(np.uint8),)


def step(image):
    x = image.astype(np.float32)
    rows = x[:-2] + 2 * x[1:-1] + x[2:]
    smooth = (rows[:, :-2] + 2 * rows[:, 1:-1] + rows[:, 2:]) / 16
    c = x[1:-1, 1:-1]
    new = image.copy()
    new[1:-1, 1:-1] = np.minimum(np.maximum(c + 0.5 * (c - smooth), 0), 255).astype(np.uint8)
    return (new,)
