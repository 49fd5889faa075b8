"""Shallow water: two drops fall into a basin, by the Lax-Wendroff method in plain NumPy."""

import argparse
import time

import numpy as np

G, X, Y = 9.80665, 0.02 / 1.0, 0.02 / 1.0  # gravity; time step over grid step, both ways
N, S, C = slice(1, None), slice(None, -1), slice(1, -1)
E, W = (slice(None), N), (slice(None), S)


def basin(size):
    height = np.ones((size, size))
    x, y = np.meshgrid(*[np.array(np.linspace(-1, 1, 8), dtype=np.float32)] * 2)
    for at in (size // 4, size // 2):
        height[at : at + 8, at : at + 8] += 8 * np.exp(-5 * (x**2 + y**2))
    return height, np.zeros((size, size)), np.zeros((size, size))


def flux(h, u):
    return u**2 / h + G / 2 * h**2


def half(H, U, V, a, b, k):  # U is the momentum along the direction from b to a
    h = (H[a] + H[b]) / 2 - k * (U[a] - U[b])
    u = (U[a] + U[b]) / 2 - k * (flux(H[a], U[a]) - flux(H[b], U[b]))
    return h, u, (V[a] + V[b]) / 2 - k * (U[a] * V[a] / H[a] - U[b] * V[b] / H[b])


def step(H, U, V):
    for edge, inner in ((0, 1), (-1, -2)):
        H[:, edge], U[:, edge], V[:, edge] = H[:, inner], U[:, inner], -V[:, inner]
    for edge, inner in ((0, 1), (-1, -2)):
        H[edge, :], U[edge, :], V[edge, :] = H[inner, :], -U[inner, :], V[inner, :]
    Hx, Ux, Vx = half(H, U, V, (N, C), (S, C), X / 2)
    Hy, Vy, Uy = half(H, V, U, (C, N), (C, S), Y / 2)
    H[C, C] -= X * (Ux[N] - Ux[S]) + Y * (Vy[E] - Vy[W])
    across = Vy[E] * Uy[E] / Hy[E] - Vy[W] * Uy[W] / Hy[W]
    U[C, C] -= X * (flux(Hx[N], Ux[N]) - flux(Hx[S], Ux[S])) + Y * across
    across = Ux[N] * Vx[N] / Hx[N] - Ux[S] * Vx[S] / Hx[S]
    V[C, C] -= X * across + Y * (flux(Hy[E], Vy[E]) - flux(Hy[W], Vy[W]))


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--size", type=int, default=2000)
    parser.add_argument("--iterations", type=int, default=100)
    parser.add_argument("--plot", default="", help="PNG to write")
    args = parser.parse_args()
    start = time.perf_counter()
    water = basin(args.size)
    for _ in range(args.iterations):
        step(*water)
    print(f"checksum = {float(np.sum(water[0]))!r}, {time.perf_counter() - start:.3f} s")
    if args.plot:
        import matplotlib.image

        matplotlib.image.imsave(args.plot, np.asarray(water[0]))
