"""Many operations on small arrays: what the import layer costs where it cannot help."""

import numpy as np

SIZE, ITERATIONS = 1000, 100_000
PER_TURN = 5


def numpy_run(size, iterations):
    x = np.arange(size) * 0.001
    b = np.arange(size) * 0.002 + 1
    for _ in range(iterations // PER_TURN):
        y = x * 0.5 + b
        y = y * 0.25 - x
        x = y * 0.125
    return x, b
