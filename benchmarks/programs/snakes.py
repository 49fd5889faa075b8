"""Snakes and ladders of `examples/snakes_and_ladders.py`, and the same for each peer.

numexpr has no matrix product, so it takes no part.
"""

from snakes_and_ladders import board, play

CLASS = "overhead"
FULL, QUICK = (1000, 10), (1000, 5)


def needed(size, iterations):
    return 8 * 2 * size**2 * iterations


def numpy_run(size, iterations):
    return play(board(size), iterations)


def numba_run(size, iterations, cache={}):  # noqa: B006 - the cache is meant to last
    import numba
    import numpy as np

    if "play" not in cache:

        @numba.njit
        def play(p, rolls):
            last = p.shape[0] - 1
            end, visits, m = np.zeros(rolls), np.zeros(last + 1), p
            for roll in range(rolls):
                end[roll] = m[0][last]
                visits = visits + m[0]
                m = np.dot(m, p)
            return end, visits

        cache["board"], cache["play"] = numba.njit(board), play
    return cache["play"](cache["board"](size), iterations)


def jax_run(size, iterations):
    import jax
    import jax.numpy as jnp

    jax.config.update("jax_enable_x64", True)
    p = jax.device_put(board(size))
    end, visits, m = [], jnp.zeros(size + 1), p
    for _ in range(iterations):
        end.append(float(m[0][size]))
        visits = visits + m[0]
        m = jnp.dot(m, p)
    return jnp.array(end), visits
