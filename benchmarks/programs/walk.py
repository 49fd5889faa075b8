"""A loop that looks at every result: steps of a bounded walk with an early end."""

import numpy as np

CLASS = "overhead"
FULL, QUICK = (50_000, 200), (50_000, 50)


def needed(size, iterations):
    return 8 * 2 * size * iterations


def numpy_run(size, iterations):
    x = np.sin(np.arange(size, dtype=float))
    worst = []
    for i in range(iterations):
        x = np.clip(0.9 * x + 0.1 * np.cos(x + i), -1, 1)
        worst.append(float(np.abs(x).max()))
        if worst[-1] == 0:
            break
    return x, np.array(worst)
