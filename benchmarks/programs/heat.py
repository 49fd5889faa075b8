"""The heat equation of `examples/heat_equation.py`, and the same for each peer."""

from heat_equation import plate, solve

CLASS = "bandwidth"
FULL, QUICK = (3000, 20), (1000, 20)
EPSILON = 0.005


def needed(size, iterations):
    return 8 * 2 * size**2 * iterations


def numpy_run(size, iterations):
    grid = plate(size)
    _, delta = solve(grid, iterations, EPSILON)
    return grid, delta


def numexpr_run(size, iterations):
    import numexpr
    import numpy as np

    grid = plate(size)
    c, n, s = grid[1:-1, 1:-1], grid[:-2, 1:-1], grid[2:, 1:-1]
    e, w = grid[1:-1, :-2], grid[1:-1, 2:]
    names = {"c": c, "n": n, "s": s, "e": e, "w": w, "work": np.empty_like(c)}
    delta, done = EPSILON + 1, 0
    while delta > EPSILON and done < iterations:
        numexpr.evaluate("0.2 * (c + n + s + e + w)", names, out=names["work"])
        delta = numexpr.evaluate("sum(abs(work - c))", names)
        c[:] = names["work"]
        done += 1
    return grid, delta


def _numba_solve():
    import numba
    import numpy as np

    @numba.njit(parallel=True)
    def solve(grid, iterations, epsilon):
        c, n, s = grid[1:-1, 1:-1], grid[:-2, 1:-1], grid[2:, 1:-1]
        e, w = grid[1:-1, :-2], grid[1:-1, 2:]
        delta, done = epsilon + 1, 0
        while delta > epsilon and done < iterations:
            work = 0.2 * (c + n + s + e + w)
            delta = np.sum(np.abs(work - c))
            c[:] = work
            done += 1
        return delta

    return solve


def numba_run(size, iterations, cache={}):  # noqa: B006 - the cache is meant to last
    if "solve" not in cache:
        cache["solve"] = _numba_solve()
    grid = plate(size)
    return grid, cache["solve"](grid, iterations, EPSILON)


def _jax_step():
    import jax
    import jax.numpy as jnp

    jax.config.update("jax_enable_x64", True)

    @jax.jit
    def step(grid):
        c, n, s = grid[1:-1, 1:-1], grid[:-2, 1:-1], grid[2:, 1:-1]
        e, w = grid[1:-1, :-2], grid[1:-1, 2:]
        work = 0.2 * (c + n + s + e + w)
        return grid.at[1:-1, 1:-1].set(work), jnp.sum(jnp.abs(work - c))

    return step


def jax_run(size, iterations, cache={}):  # noqa: B006 - the cache is meant to last
    import jax

    if "step" not in cache:
        cache["step"] = _jax_step()
    grid, delta, done = jax.device_put(plate(size)), EPSILON + 1, 0
    while delta > EPSILON and done < iterations:
        grid, delta = cache["step"](grid)
        done += 1
    return grid, delta
