"""The Mandelbrot set by masks: thirty steps for every point."""

import numpy as np

CLASS = "compute"
FULL, QUICK = (1000, 30), (400, 30)
PEERS = ("jax", "torch")


def needed(size, iterations):
    return 8 * size**2


def start(size):
    x, y = np.linspace(-2, 1, size)[None, :], np.linspace(-1.2, 1.2, size)[:, None]
    cr, ci = x + 0 * y, y + 0 * x
    return 0 * cr, 0 * cr, cr, ci, np.zeros((size, size), np.int64)


def step(zr, zi, cr, ci, count):
    inside = zr * zr + zi * zi < 4
    zi, zr = np.where(inside, 2 * zr * zi + ci, zi), np.where(inside, zr * zr - zi * zi + cr, zr)
    return zr, zi, cr, ci, count + inside
