"""The seven-point mean of a cube, in place."""

import numpy as np

CLASS = "bandwidth"
FULL, QUICK = (256, 5), (128, 4)
PEERS = ("numba",)


def needed(size, iterations):
    return 8 * 2 * size**3 * iterations


def start(size):
    a = np.zeros((size, size, size))
    a[0] = 1.0
    a[:, 0] = 2.0
    return (a,)


def step(a):
    c = a[1:-1, 1:-1, 1:-1]
    t = (
        c
        + a[:-2, 1:-1, 1:-1]
        + a[2:, 1:-1, 1:-1]
        + a[1:-1, :-2, 1:-1]
        + a[1:-1, 2:, 1:-1]
        + a[1:-1, 1:-1, :-2]
        + a[1:-1, 1:-1, 2:]
    ) * (1 / 7)
    c[:] = t
    return (a,)


def jax_run(size, iterations, cache={}):  # noqa: B006 - the cache is meant to last
    import jax

    def inner(a):
        c = a[1:-1, 1:-1, 1:-1]
        t = c + a[:-2, 1:-1, 1:-1] + a[2:, 1:-1, 1:-1] + a[1:-1, :-2, 1:-1] + a[1:-1, 2:, 1:-1]
        t = (t + a[1:-1, 1:-1, :-2] + a[1:-1, 1:-1, 2:]) * (1 / 7)
        return a.at[1:-1, 1:-1, 1:-1].set(t)

    jax.config.update("jax_enable_x64", True)
    compiled = cache.setdefault("step", jax.jit(inner))
    (a,) = map(jax.device_put, start(size))
    for _ in range(iterations):
        a = compiled(a)
    return (a,)
