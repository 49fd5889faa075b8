"""Gravity between bodies, all pairs."""

import numpy as np

CLASS = "compute"
FULL, QUICK = (2000, 2), (700, 2)
PEERS = ("jax", "torch")


def needed(size, iterations):
    return 8 * 13 * size * iterations


def start(size):
    i = np.arange(size, dtype=float)
    x, y, z = 100 * np.sin(1.1 * i), 100 * np.cos(1.7 * i), 100 * np.sin(2.3 * i)
    return x, y, z, 0 * x, 0 * x, 0 * x, np.sin(i) ** 2 + 0.5


def step(x, y, z, vx, vy, vz, m):
    dx = x[None, :] - x[:, None]
    dy = y[None, :] - y[:, None]
    dz = z[None, :] - z[:, None]
    r2 = dx * dx + dy * dy + dz * dz + 0.01
    f = m[None, :] / (r2 * np.sqrt(r2))
    vx = vx + 0.01 * np.sum(f * dx, axis=1)
    vy = vy + 0.01 * np.sum(f * dy, axis=1)
    vz = vz + 0.01 * np.sum(f * dz, axis=1)
    return x + 0.01 * vx, y + 0.01 * vy, z + 0.01 * vz, vx, vy, vz, m
