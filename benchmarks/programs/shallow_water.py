"""Shallow water of `examples/shallow_water.py`, and the same for each peer."""

import importlib.util
from pathlib import Path

CLASS = "bandwidth"
FULL, QUICK = (2000, 20), (800, 5)

_PATH = Path(__file__).resolve().parents[2] / "examples" / "shallow_water.py"


def needed(size, iterations):
    return 8 * 6 * size**2 * iterations


def _example():
    spec = importlib.util.spec_from_file_location("shallow_water_example", _PATH)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


EXAMPLE = _example()


def numpy_run(size, iterations):
    water = EXAMPLE.basin(size)
    for _ in range(iterations):
        EXAMPLE.step(*water)
    return water


def _borders(H, U, V):
    for edge, inner in ((0, 1), (-1, -2)):
        H[:, edge], U[:, edge], V[:, edge] = H[:, inner], U[:, inner], -V[:, inner]
    for edge, inner in ((0, 1), (-1, -2)):
        H[edge, :], U[edge, :], V[edge, :] = H[inner, :], -U[inner, :], V[inner, :]


_HALF = "({0}a + {0}b) / 2 - k * ({1} - {2})"
_FLUX = "({1}{2}**2 / {0}{2} + g * {0}{2}**2)"
_ACROSS = "{1}{3} * {2}{3} / {0}{3}"
_HALVES = (
    _HALF.format("H", "Ua", "Ub"),
    _HALF.format("U", _FLUX.format("H", "U", "a"), _FLUX.format("H", "U", "b")),
    _HALF.format("V", _ACROSS.format("H", "U", "V", "a"), _ACROSS.format("H", "U", "V", "b")),
)


def _numexpr_half(evaluate, H, U, V, a, b, k):
    names = {"k": k, "g": EXAMPLE.G / 2}
    for name, array in (("H", H), ("U", U), ("V", V)):
        names[f"{name}a"], names[f"{name}b"] = array[a], array[b]
    return [evaluate(text, names) for text in _HALVES]


def _numexpr_step(evaluate, H, U, V):
    x = EXAMPLE
    N, S, C, E, W = x.N, x.S, x.C, x.E, x.W
    _borders(H, U, V)
    Hx, Ux, Vx = _numexpr_half(evaluate, H, U, V, (N, C), (S, C), x.X / 2)
    Hy, Vy, Uy = _numexpr_half(evaluate, H, V, U, (C, N), (C, S), x.Y / 2)
    names = {"X": x.X, "Y": x.Y, "g": x.G / 2}
    for name, array in (("Hx", Hx), ("Ux", Ux), ("Vx", Vx)):
        names[f"{name}N"], names[f"{name}S"] = array[N], array[S]
    for name, array in (("Hy", Hy), ("Uy", Uy), ("Vy", Vy)):
        names[f"{name}E"], names[f"{name}W"] = array[E], array[W]
    flux, across = _FLUX.format, _ACROSS.format
    changes = (
        (H, "UxN - UxS", "VyE - VyW"),
        (
            U,
            f"{flux('Hx', 'Ux', 'N')} - {flux('Hx', 'Ux', 'S')}",
            f"{across('Hy', 'Vy', 'Uy', 'E')} - {across('Hy', 'Vy', 'Uy', 'W')}",
        ),
        (
            V,
            f"{across('Hx', 'Ux', 'Vx', 'N')} - {across('Hx', 'Ux', 'Vx', 'S')}",
            f"{flux('Hy', 'Vy', 'E')} - {flux('Hy', 'Vy', 'W')}",
        ),
    )
    for array, along_x, along_y in changes:
        names["A"] = array[C, C]
        evaluate(f"A - (X * ({along_x}) + Y * ({along_y}))", names, out=array[C, C])


def numexpr_run(size, iterations):
    import numexpr

    water = EXAMPLE.basin(size)
    for _ in range(iterations):
        _numexpr_step(numexpr.evaluate, *water)
    return water


def _numba_step():
    import numba

    x = EXAMPLE
    g, dx, dy = x.G, x.X, x.Y

    @numba.njit(parallel=True)
    def step(H, U, V):
        for edge, inner in ((0, 1), (-1, -2)):
            H[:, edge], U[:, edge], V[:, edge] = H[:, inner], U[:, inner], -V[:, inner]
        for edge, inner in ((0, 1), (-1, -2)):
            H[edge, :], U[edge, :], V[edge, :] = H[inner, :], -U[inner, :], V[inner, :]
        a, b, k = H[1:, 1:-1], H[:-1, 1:-1], dx / 2
        ua, ub, va, vb = U[1:, 1:-1], U[:-1, 1:-1], V[1:, 1:-1], V[:-1, 1:-1]
        Hx = (a + b) / 2 - k * (ua - ub)
        Ux = (ua + ub) / 2 - k * ((ua * ua / a + g / 2 * a * a) - (ub * ub / b + g / 2 * b * b))
        Vx = (va + vb) / 2 - k * (ua * va / a - ub * vb / b)
        a, b, k = H[1:-1, 1:], H[1:-1, :-1], dy / 2
        ua, ub, va, vb = U[1:-1, 1:], U[1:-1, :-1], V[1:-1, 1:], V[1:-1, :-1]
        Hy = (a + b) / 2 - k * (va - vb)
        Vy = (va + vb) / 2 - k * ((va * va / a + g / 2 * a * a) - (vb * vb / b + g / 2 * b * b))
        Uy = (ua + ub) / 2 - k * (va * ua / a - vb * ub / b)
        fx = Ux * Ux / Hx + g / 2 * Hx * Hx
        fy = Vy * Vy / Hy + g / 2 * Hy * Hy
        gx, gy = Ux * Vx / Hx, Vy * Uy / Hy
        H[1:-1, 1:-1] -= dx * (Ux[1:] - Ux[:-1]) + dy * (Vy[:, 1:] - Vy[:, :-1])
        U[1:-1, 1:-1] -= dx * (fx[1:] - fx[:-1]) + dy * (gy[:, 1:] - gy[:, :-1])
        V[1:-1, 1:-1] -= dx * (gx[1:] - gx[:-1]) + dy * (fy[:, 1:] - fy[:, :-1])

    return step


def numba_run(size, iterations, cache={}):  # noqa: B006 - the cache is meant to last
    if "step" not in cache:
        cache["step"] = _numba_step()
    water = EXAMPLE.basin(size)
    for _ in range(iterations):
        cache["step"](*water)
    return water


def _jax_step():
    import jax

    jax.config.update("jax_enable_x64", True)
    x = EXAMPLE
    N, S, C, E, W = x.N, x.S, x.C, x.E, x.W

    @jax.jit
    def step(H, U, V):
        for e, i in ((0, 1), (-1, -2)):
            H, U = H.at[:, e].set(H[:, i]), U.at[:, e].set(U[:, i])
            V = V.at[:, e].set(-V[:, i])
        for e, i in ((0, 1), (-1, -2)):
            H, U = H.at[e, :].set(H[i, :]), U.at[e, :].set(-U[i, :])
            V = V.at[e, :].set(V[i, :])
        Hx, Ux, Vx = x.half(H, U, V, (N, C), (S, C), x.X / 2)
        Hy, Vy, Uy = x.half(H, V, U, (C, N), (C, S), x.Y / 2)
        fx, fy = x.flux(Hx, Ux), x.flux(Hy, Vy)
        gx, gy = Ux * Vx / Hx, Vy * Uy / Hy
        H = H.at[C, C].add(-(x.X * (Ux[N] - Ux[S]) + x.Y * (Vy[E] - Vy[W])))
        U = U.at[C, C].add(-(x.X * (fx[N] - fx[S]) + x.Y * (gy[E] - gy[W])))
        V = V.at[C, C].add(-(x.X * (gx[N] - gx[S]) + x.Y * (fy[E] - fy[W])))
        return H, U, V

    return step


def jax_run(size, iterations, cache={}):  # noqa: B006 - the cache is meant to last
    import jax

    if "step" not in cache:
        cache["step"] = _jax_step()
    water = [jax.device_put(array) for array in EXAMPLE.basin(size)]
    for _ in range(iterations):
        water = cache["step"](*water)
    return tuple(water)
