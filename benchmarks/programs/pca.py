"""Principal components by power iteration: products of matrices after centring."""

import numpy as np

CLASS = "compute"
FULL, QUICK = (4000, 3), (1000, 3)
PEERS = ("jax",)


def needed(size, iterations):
    return 8 * size * 500 * iterations


def start(size):
    i = np.arange(size * 500, dtype=float).reshape(size, 500)
    return np.sin(0.013 * i * i % 31), np.ones((500, 4)) + np.arange(4)


def step(data, basis):
    centred = data - data.mean(axis=0)
    basis = centred.T @ (centred @ basis)
    return data, basis / np.sqrt((basis * basis).sum(axis=0))
