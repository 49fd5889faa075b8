"""Short programs around well-known kernels: stencils, solvers of differential equations, sums by places."""

import numpy as np

draw = np.random.default_rng(2).random
plate = draw((350, 350))
rod = draw(40_000)
cube = draw((60, 60, 60))
air, viscosity = draw((132, 132, 40)), draw((128, 128, 40))
levels, radii = draw(400_000), draw(400_000)
links = (draw((800, 800)) < 0.02) * 1.0


def jacobi_of_a_plate():
    a, b = plate.copy(), plate.copy()
    for _ in range(15):
        b[1:-1, 1:-1] = 0.2 * (
            a[1:-1, 1:-1] + a[1:-1, :-2] + a[1:-1, 2:] + a[2:, 1:-1] + a[:-2, 1:-1]
        )
        a, b = b, a
    return a.sum()


def jacobi_of_a_rod():
    a, b = rod.copy(), rod.copy()
    for _ in range(50):
        b[1:-1] = (a[:-2] + a[1:-1] + a[2:]) / 3
        a, b = b, a
    return a.sum()


def heat_in_a_cube():
    a, b = cube.copy(), cube.copy()
    inner = (slice(1, -1),) * 3
    for _ in range(10):
        c = a[inner]
        b[inner] = (
            0.125 * (a[2:, 1:-1, 1:-1] - 2 * c + a[:-2, 1:-1, 1:-1])
            + 0.125 * (a[1:-1, 2:, 1:-1] - 2 * c + a[1:-1, :-2, 1:-1])
            + 0.125 * (a[1:-1, 1:-1, 2:] - 2 * c + a[1:-1, 1:-1, :-2])
            + c
        )
        a, b = b, a
    return a.sum()


def waves_in_the_time_domain():
    """Electromagnetic waves by finite differences."""
    ex, ey, hz = plate.copy(), plate.T.copy(), plate * 0.5
    for t in range(20):
        ey[0] = t
        ey[1:] -= 0.5 * (hz[1:] - hz[:-1])
        ex[:, 1:] -= 0.5 * (hz[:, 1:] - hz[:, :-1])
        hz[:-1, :-1] -= 0.7 * (ex[:-1, 1:] - ex[:-1, :-1] + ey[1:, :-1] - ey[:-1, :-1])
    return hz.sum()


def horizontal_diffusion():
    """Of an atmosphere in layers, with fluxes that never run uphill."""
    field = air
    bent = (
        4 * field[1:-1, 1:-1]
        - field[2:, 1:-1]
        - field[:-2, 1:-1]
        - field[1:-1, 2:]
        - field[1:-1, :-2]
    )
    across = bent[1:, 1:-1] - bent[:-1, 1:-1]
    across = np.where(across * (field[2:-1, 2:-2] - field[1:-2, 2:-2]) > 0, 0, across)
    along = bent[1:-1, 1:] - bent[1:-1, :-1]
    along = np.where(along * (field[2:-2, 2:-1] - field[2:-2, 1:-2]) > 0, 0, along)
    flux = across[1:] - across[:-1] + along[:, 1:] - along[:, :-1]
    return (field[2:-2, 2:-2] - viscosity * flux).sum()


def lid_driven_cavity():
    u, v, p, b = (np.zeros((251, 251)) for _ in range(4))
    dx, dt = 0.008, 1e-4
    u[-1] = 1
    for _ in range(2):
        b[1:-1, 1:-1] = (u[1:-1, 2:] - u[1:-1, :-2] + v[2:, 1:-1] - v[:-2, 1:-1]) / (2 * dx * dt)
        for _ in range(25):
            old = p.copy()
            p[1:-1, 1:-1] = (
                old[1:-1, 2:] + old[1:-1, :-2] + old[2:, 1:-1] + old[:-2, 1:-1]
            ) / 4 - dx**2 / 4 * b[1:-1, 1:-1]
            p[:, -1], p[0], p[:, 0], p[-1] = p[:, -2], p[1], p[:, 1], 0
        u[1:-1, 1:-1] -= dt / (2 * dx) * (p[1:-1, 2:] - p[1:-1, :-2])
        v[1:-1, 1:-1] -= dt / (2 * dx) * (p[2:, 1:-1] - p[:-2, 1:-1])
    return u.sum() + p.sum()


def azimuthal_means():
    means = np.zeros(20)
    for i in range(20):
        ring = (i / 20 <= radii) & (radii < (i + 1) / 20)
        means[i] = levels[ring].mean()
    return means.sum()


def arc_distance():
    a, b, c, d = levels, radii, radii[::-1], levels[::-1]
    t = np.sin((c - a) / 2) ** 2 + np.cos(a) * np.cos(c) * np.sin((d - b) / 2) ** 2
    return (2 * np.arctan2(np.sqrt(t), np.sqrt(1 - t))).sum()


def gram_schmidt():
    a = plate[:240, :60].copy()
    for k in range(60):
        a[:, k] /= np.sqrt(a[:, k] @ a[:, k])
        for j in range(k + 1, 60):
            a[:, j] -= a[:, k] * (a[:, k] @ a[:, j])
    return a[:, -1].sum()


def escape_in_place():
    """The numbers of steps of points that leave one after the other."""
    c = (np.linspace(-2, 1, 400)[None, :] + 1j * np.linspace(-1.5, 1.5, 400)[:, None]).ravel()
    z, where, steps = np.zeros_like(c), np.arange(c.size), np.zeros(c.size, int)
    for step in range(30):
        np.multiply(z, z, z)
        np.add(z, c, z)
        out = abs(z) > 2
        steps[where[out]] = step
        np.logical_not(out, out)
        z, where, c = z[out], where[out], c[out]
    return steps.sum()


def updates_of_new_arrays():
    random, total = np.random.default_rng(3), 0.0
    for _ in range(10):
        a, b = random.random(90_000), random.random(90_000)
        a *= b
        a += b
        a -= 1
        total += a.sum()
    return total


def updates_after_a_look():
    a, b = np.tile(levels, 3), np.tile(radii, 3)
    found = a[0]
    for _ in range(10):
        a[1:] -= b[1:]
    return found + a[-1]


def recurrent_network():
    """Ten steps of gated units, each for 600 sequences."""
    weights = [plate[i : i + 64, :64] - 0.5 for i in range(0, 192, 32)]
    inputs, state = plate[:, :64].repeat(2, 0)[:600], np.zeros((600, 64))
    for _ in range(10):
        forget = 1 / (1 + np.exp(-(inputs @ weights[0] + state @ weights[1])))
        reset = 1 / (1 + np.exp(-(inputs @ weights[2] + state @ weights[3])))
        new = np.tanh(inputs @ weights[4] + (reset * state) @ weights[5])
        state = (1 - forget) * state + forget * new
    return state[3, 3]


def deviations_of_recorded_rows():
    """Rows of 48 kB, written one by one before they are read."""
    rows = np.zeros((60, 6000))
    rows[0] = levels[:6000]
    for i in range(1, 60):
        rows[i] = 0.9 * rows[i - 1] + levels[i : i + 6000]
    return rows.std(axis=0)[7]


def neighbours_in_the_plane():
    """Of 400 points in 30 dimensions, by t-SNE."""
    points = air[:4, :100].reshape(400, -1)[:, :30]
    squares = (points**2).sum(1)
    near = np.exp(2 * points @ points.T - squares[:, None] - squares)
    near /= near.sum()
    plane = points[:, :2] * 0.01
    for _ in range(8):
        squares = (plane**2).sum(1)
        student = 1 / (1 + squares[:, None] + squares - 2 * plane @ plane.T)
        pull = (near - student / student.sum()) * student
        plane = plane - 10 * (pull.sum(1)[:, None] * plane - pull @ plane)
    return (near * np.log(near / student * student.sum())).sum()


def page_rank():
    """Of 800 pages."""
    follow = (links / np.maximum(links.sum(1), 1)[:, None]).T
    rank = np.full(800, 1 / 800)
    for _ in range(30):
        new = 0.85 * follow @ rank + 0.15 / 800
        if np.abs(new - rank).sum() < 1e-9:
            break
        rank = new
    return rank.max()


KERNELS = (
    jacobi_of_a_plate,
    jacobi_of_a_rod,
    heat_in_a_cube,
    waves_in_the_time_domain,
    horizontal_diffusion,
    lid_driven_cavity,
    azimuthal_means,
    arc_distance,
    gram_schmidt,
    escape_in_place,
    updates_of_new_arrays,
    updates_after_a_look,
    recurrent_network,
    deviations_of_recorded_rows,
    neighbours_in_the_plane,
    page_rank,
)
