"""Reductions of a matrix: ``axes:std:0``, ``axes:sum:all`` and the like."""

import numpy as np

CLASS = "bandwidth"
FULL, QUICK = (3000, 5), (1000, 20)


def needed(size, iterations):
    return 8 * size**2 * iterations


def field(size):
    return np.sin(0.7 * np.arange(size * size, dtype=float)).reshape(size, size) + 0.3


def reduce(np, a, which, axis):
    axis = None if axis == "all" else int(axis)
    if which == "standardise":
        return (a - a.mean(axis=axis, keepdims=True)) / a.std(axis=axis, keepdims=True)
    if which == "softmax":
        e = np.exp(a - a.max(axis=axis, keepdims=True))
        return e / e.sum(axis=axis, keepdims=True)
    return getattr(a, which)(axis=axis)


def numpy_run(size, iterations, which, axis, cache={}):  # noqa: B006 - it is meant to last
    a = cache.get(size)
    if a is None:
        a = cache[size] = field(size)
    looks = []
    for _ in range(iterations):
        found = reduce(np, a, which, axis)
        # A result that nobody looks at would never be computed.
        looks.append(float(found.ravel()[-1]))
    return found, np.array(looks)


def jax_run(size, iterations, which, axis, cache={}):  # noqa: B006 - it is meant to last
    import jax
    import jax.numpy as jnp

    jax.config.update("jax_enable_x64", True)
    if size not in cache:
        cache[size] = jax.device_put(field(size)), jax.jit(lambda a: reduce(jnp, a, which, axis))
    a, compiled = cache[size]
    looks = []
    for _ in range(iterations):
        found = compiled(a)
        looks.append(float(found.ravel()[-1]))
    return found, np.array(looks)
