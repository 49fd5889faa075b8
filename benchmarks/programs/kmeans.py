"""Lloyd's k-means in three dimensions: distances, argmin, means by weights."""

import numpy as np

CLASS = "compute"
FULL, QUICK = (300_000, 5), (50_000, 5)
PEERS = ()
CENTRES = 8


def needed(size, iterations):
    return 8 * 3 * size * iterations


def start(size):
    i = np.arange(3 * size, dtype=float).reshape(size, 3)
    points = np.sin(0.37 * i * i % 17) + np.floor(i % 5)
    return points, points[:CENTRES].copy()


def step(points, centres):
    squares = ((points[:, None, :] - centres[None, :, :]) ** 2).sum(axis=2)
    nearest = squares.argmin(axis=1)
    new = []
    for k in range(CENTRES):
        mine = (nearest == k)[:, None]
        new.append((points * mine).sum(axis=0) / np.maximum(mine.sum(), 1))
    return points, np.stack(new)
