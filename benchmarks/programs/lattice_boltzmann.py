"""Flow by lattice Boltzmann with nine velocities (D2Q9), streaming by `roll`."""

import numpy as np

CLASS = "bandwidth"
FULL, QUICK = (800, 3), (400, 3)
PEERS = ("jax",)
CX, CY = (0, 1, 0, -1, 0, 1, -1, -1, 1), (0, 0, 1, 0, -1, 1, 1, -1, -1)
W = (4 / 9, *[1 / 9] * 4, *[1 / 36] * 4)


def needed(size, iterations):
    return 8 * 2 * 9 * size**2 * iterations


def start(size):
    i = np.arange(size * size, dtype=float).reshape(size, size)
    return tuple(w * (1 + 0.01 * np.sin(0.001 * i)) for w in W)


def step(*f):
    f = [np.roll(np.roll(g, cx, 1), cy, 0) for g, cx, cy in zip(f, CX, CY, strict=True)]
    rho = f[0] + f[1] + f[2] + f[3] + f[4] + f[5] + f[6] + f[7] + f[8]
    ux = (f[1] - f[3] + f[5] - f[6] - f[7] + f[8]) / rho
    uy = (f[2] - f[4] + f[5] + f[6] - f[7] - f[8]) / rho
    usq = 1.5 * (ux * ux + uy * uy)
    new = []
    for g, w, cx, cy in zip(f, W, CX, CY, strict=True):
        cu = 3 * (cx * ux + cy * uy)
        new.append(g + 1.2 * (w * rho * (1 + cu + 0.5 * cu * cu - usq) - g))
    return tuple(new)
