"""Shallow water: two drops fall into a basin, by the Lax-Wendroff method in plain NumPy."""

import argparse
import time

import numpy as np

G, DT, DX, DY = 9.80665, 0.02, 1.0, 1.0
C, L, R = slice(1, -1), slice(None, -1), slice(1, None)  # centre, all but last, all but first


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
    Hx, Ux, Vx = half(H, U, V, (R, C), (L, C), DT / (2 * DX))
    Hy, Vy, Uy = half(H, V, U, (C, R), (C, L), DT / (2 * DY))
    n, e, s, w = R, (slice(None), R), L, (slice(None), L)
    x, y = DT / DX, DT / DY
    H[C, C] -= x * (Ux[n] - Ux[s]) + y * (Vy[e] - Vy[w])
    across_x, across_y = Ux[n] * Vx[n] / Hx[n], Vy[e] * Uy[e] / Hy[e]
    along_x = flux(Hx[n], Ux[n]) - flux(Hx[s], Ux[s])
    along_y = flux(Hy[e], Vy[e]) - flux(Hy[w], Vy[w])
    U[C, C] -= x * along_x + y * (across_y - Vy[w] * Uy[w] / Hy[w])
    V[C, C] -= x * (across_x - Ux[s] * Vx[s] / Hx[s]) + y * along_y


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
