"""Many operations on small arrays: what the import layer costs where it cannot help."""

import numpy as np

CLASS = "overhead"
FULL, QUICK = (1000, 100000), (1000, 20000)
PER_TURN = 5


def needed(size, iterations):
    return 8 * 2 * size * iterations


def numpy_run(size, iterations):
    x = np.arange(size) * 0.001
    b = np.arange(size) * 0.002 + 1
    for _ in range(iterations // PER_TURN):
        y = x * 0.5 + b
        y = y * 0.25 - x
        x = y * 0.125
    return x, b
