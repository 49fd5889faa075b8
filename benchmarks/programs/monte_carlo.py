"""Paths of a share price: random numbers, exponentials, a mean of pay-offs."""

import numpy as np

CLASS = "compute"
FULL, QUICK = (2_000_000, 5), (200_000, 5)


def needed(size, iterations):
    return 8 * size * iterations


def numpy_run(size, iterations):
    random = np.random.default_rng(7)
    price = np.full(size, 100.0)
    for _ in range(iterations):
        price = price * np.exp(0.0002 + 0.01 * random.standard_normal(size))
    return price, np.maximum(price - 100, 0).mean()
