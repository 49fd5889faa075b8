"""Small scientific programs as users write them; each takes the module and a size.

Run as a script, ``python science.py NAME [SIZE]``, it imports NumPy as a user's file does and prints
a digest of the result: that is how the runner is tested.
"""


def heat(np, n=150):
    """Heat equation on a square, until it has settled or 25 steps."""
    grid = np.zeros((n + 2, n + 2))
    grid[:, 0] = grid[:, -1] = grid[-1] = -273.15
    grid[0] = 40.0
    center, north, south = grid[1:-1, 1:-1], grid[:-2, 1:-1], grid[2:, 1:-1]
    east, west = grid[1:-1, :-2], grid[1:-1, 2:]
    delta, deltas = 1.0, []
    while delta > 0.005 and len(deltas) < 25:
        tmp = 0.2 * (center + north + south + east + west)
        delta = np.sum(np.abs(tmp - center))
        center[:] = tmp
        deltas.append(float(delta))
    return grid, deltas


def shallow_water(np, n=110):
    """Lax-Wendroff shallow water with reflecting borders."""
    h, u, v = np.ones((n + 2, n + 2)), np.zeros((n + 2, n + 2)), np.zeros((n + 2, n + 2))
    g, dt = 9.80665, 0.02
    x, y = np.meshgrid(np.linspace(-1, 1, 8), np.linspace(-1, 1, 8))
    drop = (8 * np.exp(-5 * (x**2 + y**2))).astype(np.float32)
    for at in (n // 4, n // 2):
        h[at : at + 8, at : at + 8] += drop
    for _ in range(6):
        h[:, 0], u[:, 0], v[:, 0] = h[:, 1], u[:, 1], -v[:, 1]
        h[:, -1], u[:, -1], v[:, -1] = h[:, -2], u[:, -2], -v[:, -2]
        h[0], u[0], v[0] = h[1], -u[1], v[1]
        h[-1], u[-1], v[-1] = h[-2], -u[-2], v[-2]
        hx = (h[1:, 1:-1] + h[:-1, 1:-1]) / 2 - dt / 2 * (u[1:, 1:-1] - u[:-1, 1:-1])
        flux = u**2 / h + g / 2 * h**2
        ux = (u[1:, 1:-1] + u[:-1, 1:-1]) / 2 - dt / 2 * (flux[1:, 1:-1] - flux[:-1, 1:-1])
        cross = u * v / h
        vx = (v[1:, 1:-1] + v[:-1, 1:-1]) / 2 - dt / 2 * (cross[1:, 1:-1] - cross[:-1, 1:-1])
        hy = (h[1:-1, 1:] + h[1:-1, :-1]) / 2 - dt / 2 * (v[1:-1, 1:] - v[1:-1, :-1])
        uy = (u[1:-1, 1:] + u[1:-1, :-1]) / 2 - dt / 2 * (cross[1:-1, 1:] - cross[1:-1, :-1])
        flux = v**2 / h + g / 2 * h**2
        vy = (v[1:-1, 1:] + v[1:-1, :-1]) / 2 - dt / 2 * (flux[1:-1, 1:] - flux[1:-1, :-1])
        h[1:-1, 1:-1] -= dt * (ux[1:] - ux[:-1]) + dt * (vy[:, 1:] - vy[:, :-1])
        fx, fy = ux**2 / hx + g / 2 * hx**2, uy * vy / hy
        u[1:-1, 1:-1] -= dt * (fx[1:] - fx[:-1]) + dt * (fy[:, 1:] - fy[:, :-1])
        fx, fy = ux * vx / hx, vy**2 / hy + g / 2 * hy**2
        v[1:-1, 1:-1] -= dt * (fx[1:] - fx[:-1]) + dt * (fy[:, 1:] - fy[:, :-1])
    return h, u, v


def snakes_and_ladders(np, n=120):
    """Probabilities of the board game by powers of its matrix."""
    p = np.zeros((n + 1, n + 1))
    for i in range(n + 1):
        for j in range(6):
            if i + j < n:
                p[i][i + j + 1] = 1.0 / 6
    p[n, n] = 1
    for k in range(1, 7):
        p[n - k][n] = (7.0 - k) / 6
    a, m, ends = 0, p, np.zeros(10)
    for k in range(10):
        ends[k] = m[0][n]
        a = a + m[0]
        m = np.dot(m, p)
    return a, m, ends


def life(np, n=200):
    """Conway's Game of Life."""
    z = (np.sin(0.37 * np.arange(n * n) ** 2) > 0.2).astype(np.uint8).reshape(n, n)
    for _ in range(8):
        count = (
            z[:-2, :-2] + z[:-2, 1:-1] + z[:-2, 2:] + z[1:-1, :-2]
            + z[1:-1, 2:] + z[2:, :-2] + z[2:, 1:-1] + z[2:, 2:]
        )  # fmt: skip
        birth = (count == 3) & (z[1:-1, 1:-1] == 0)
        survive = ((count == 2) | (count == 3)) & (z[1:-1, 1:-1] == 1)
        z[...] = 0
        z[1:-1, 1:-1][birth | survive] = 1
    return z, int(z.sum())


def mandelbrot(np, n=120):
    """Escape times, once with complex numbers and masks, once with ``where``."""
    x, y = np.linspace(-2, 1, n), np.linspace(-1.2, 1.2, n)
    c = x[None, :] + 1j * y[:, None]
    z, times = np.zeros_like(c), np.zeros(c.shape, int)
    for _ in range(15):
        inside = abs(z) < 2
        z[inside] = z[inside] ** 2 + c[inside]
        times += inside
    zr, zi = np.zeros((n, n)), np.zeros((n, n))
    counts = np.zeros((n, n))
    for _ in range(15):
        m = zr * zr + zi * zi < 4
        zr, zi = (
            np.where(m, zr * zr - zi * zi + x[None, :], zr),
            np.where(m, 2 * zr * zi + y[:, None], zi),
        )
        counts += m
    return times, counts, zr


def n_body(np, n=110):
    """Gravity among all pairs."""
    i = np.arange(n)
    x, y, z = 100 * np.sin(1.1 * i), 100 * np.cos(1.7 * i), 100 * np.sin(2.3 * i)
    m, vx, vy, vz = np.sin(i) ** 2 + 0.5, np.zeros(n), np.zeros(n), np.zeros(n)
    for _ in range(4):
        dx, dy, dz = x[None, :] - x[:, None], y[None, :] - y[:, None], z[None, :] - z[:, None]
        r2 = dx * dx + dy * dy + dz * dz + 0.01
        f = m[None, :] / (r2 * np.sqrt(r2))
        vx += 0.01 * np.sum(f * dx, axis=1)
        vy += 0.01 * np.sum(f * dy, axis=1)
        vz += 0.01 * np.sum(f * dz, axis=1)
        x, y, z = x + 0.01 * vx, y + 0.01 * vy, z + 0.01 * vz
    return x, y, z


def k_means(np, n=9000):
    """Lloyd's algorithm in two dimensions."""
    points = np.random.default_rng(4).normal(size=(n, 2)) + np.repeat(
        [[0, 0], [4, 1], [1, 5]], n // 3, 0
    )
    centers = points[: 3 * (n // 3) : n // 3].copy()
    for _ in range(6):
        distance = ((points[:, None, :] - centers[None]) ** 2).sum(-1)
        nearest = distance.argmin(1)
        centers = np.array([points[nearest == k].mean(0) for k in range(3)])
    return centers, np.bincount(nearest)


def principal_components(np, n=400):
    """PCA by the singular value decomposition."""
    rng = np.random.default_rng(7)
    data = rng.normal(size=(n, 5)) @ rng.normal(size=(5, 60))
    data = (data - data.mean(0)) / data.std(0)
    _, s, vt = np.linalg.svd(data, full_matrices=False)
    scores = data @ vt[:3].T
    return s**2 / np.sum(s**2), abs(scores)


def fourier_filter(np, n=16384):
    """A low pass over a noisy signal, and the spectrum's power."""
    t = np.linspace(0, 1, n, endpoint=False)
    signal = np.sin(2 * np.pi * 50 * t) + 0.5 * np.random.default_rng(1).standard_normal(n)
    spectrum = np.fft.rfft(signal)
    frequency = np.fft.rfftfreq(n, 1 / n)
    spectrum[frequency > 80] = 0
    smooth = np.fft.irfft(spectrum, n)
    power = np.abs(np.fft.fft(smooth)) ** 2
    return smooth, int(power[: n // 2].argmax()), np.fft.fftshift(power)


def monte_carlo_pi(np, n=100_000):
    """Pi by throwing darts, with new and old random numbers."""
    rng = np.random.default_rng(42)
    x, y = rng.random(n), rng.random(n)
    inside = x * x + y * y <= 1
    np.random.seed(42)
    old = np.random.rand(n) ** 2 + np.random.rand(n) ** 2 <= 1
    running = np.cumsum(inside) / np.arange(1, n + 1) * 4
    return inside.mean() * 4, 4 * np.count_nonzero(old) / n, running[::97]


def blur_and_edges(np, n=160):
    """A convolution by shifted copies and an edge magnitude."""
    image = np.fromfunction(lambda i, j: (i * 7 + j * 13) % 256, (n, n)).astype(np.uint8)
    padded = np.pad(image, 1, mode="edge").astype(np.float32)
    kernel = np.array([[1, 2, 1], [2, 4, 2], [1, 2, 1]], np.float32) / 16
    out = np.zeros(image.shape, np.float32)
    for i in range(3):
        for j in range(3):
            out += kernel[i, j] * padded[i : i + n, j : j + n]
    gx, gy = padded[1:-1, 2:] - padded[1:-1, :-2], padded[2:, 1:-1] - padded[:-2, 1:-1]
    return np.clip(np.rint(out), 0, 255).astype(np.uint8), np.hypot(gx, gy) > 40


def black_scholes(np, n=20000):
    """Prices of European calls."""
    i = np.arange(n)
    s, x, t, r, v = np.sin(i) ** 2 * 4 + 58, 65 + np.cos(i) * 0.5, 1.0, 0.08, 0.3

    def cnd(d):
        size = np.abs(d)
        k = 1 / (1 + 0.2316419 * size)
        tail = -1.821255978 + k * 1.330274429
        poly = k * (0.31938153 + k * (-0.356563782 + k * (1.781477937 + k * tail)))
        w = 1 - 0.39894228040143268 * np.exp(-0.5 * size * size) * poly
        return np.where(d < 0, 1 - w, w)

    d1 = (np.log(s / x) + (r + v * v / 2) * t) / (v * np.sqrt(t))
    price = s * cnd(d1) - x * np.exp(-r * t) * cnd(d1 - v * np.sqrt(t))
    return price, price.sum() / n


def jacobi(np, n=32):
    """Seven-point smoothing of a cube."""
    a = np.zeros((n, n, n))
    a[0], a[:, 0] = 1, 2
    c = a[1:-1, 1:-1, 1:-1]
    for _ in range(8):
        t = (
            c + a[:-2, 1:-1, 1:-1] + a[2:, 1:-1, 1:-1] + a[1:-1, :-2, 1:-1] + a[1:-1, 2:, 1:-1]
            + a[1:-1, 1:-1, :-2] + a[1:-1, 1:-1, 2:]
        ) * (1 / 7)  # fmt: skip
        c[:] = t
    return a, a.sum(), a.sum(axis=(0, 2))


def lattice_boltzmann(np, n=64):
    """D2Q9 with periodic borders."""
    cx, cy = [0, 1, 0, -1, 0, 1, -1, -1, 1], [0, 0, 1, 0, -1, 1, 1, -1, -1]
    w = np.array([4 / 9] + [1 / 9] * 4 + [1 / 36] * 4)
    f = w[:, None, None] * (1 + 0.01 * np.sin(0.001 * np.arange(n * n))).reshape(n, n)
    for _ in range(6):
        for k in range(9):
            f[k] = np.roll(f[k], (cx[k], cy[k]), (0, 1))
        rho = f.sum(axis=0)
        ux = sum(cx[k] * f[k] for k in range(9)) / rho
        uy = sum(cy[k] * f[k] for k in range(9)) / rho
        usq = 1.5 * (ux**2 + uy**2)
        for k in range(9):
            cu = 3 * (cx[k] * ux + cy[k] * uy)
            f[k] += 1.2 * (w[k] * rho * (1 + cu + 0.5 * cu**2 - usq) - f[k])
    return f, rho


def regression(np, n=9000):
    """Least squares by normal equations, by lstsq, and logistic regression by descent."""
    rng = np.random.default_rng(3)
    x = np.column_stack([np.ones(n), rng.normal(size=(n, 4))])
    y = x @ [1.0, 2, -1, 0.5, 3] + 0.1 * rng.normal(size=n)
    normal = np.linalg.solve(x.T @ x, x.T @ y)
    least = np.linalg.lstsq(x, y, rcond=None)[0]
    label, weight = (y > y.mean()) * 1.0, np.zeros(5)
    for _ in range(10):
        p = 1 / (1 + np.exp(-(x @ weight)))
        weight -= 0.5 * (x.T @ (p - label)) / n
    residual = y - x @ normal
    return normal, least, weight, 1 - (residual**2).sum() / ((y - y.mean()) ** 2).sum()


def equalise(np, n=200):
    """Histogram equalisation of a grey image."""
    i, j = np.mgrid[0:n, 0:n]
    image = ((np.sin(i / 17) + np.cos(j / 23) + 2) * 40).astype(np.uint8)
    histogram = np.bincount(image.ravel(), minlength=256)
    cdf = histogram.cumsum()
    table = np.round((cdf - cdf[cdf > 0].min()) / (image.size - cdf.min()) * 255)
    out = np.clip(table, 0, 255).astype(np.uint8)[image]
    return out, np.histogram(out, bins=16, range=(0, 256))[0], np.unique(out).size


def wave(np, n=150):
    """Leapfrog wave equation with a damped frame and swapped buffers."""
    x = np.linspace(-1, 1, n)
    now = np.exp(-40 * (x[:, None] ** 2 + (x[None, :] - 0.2) ** 2))
    before, after = now.copy(), np.zeros_like(now)
    damping = np.ones((n, n))
    damping[:5] = damping[-5:] = damping[:, :5] = damping[:, -5:] = 0.9
    energies = []
    for step in range(12):
        after[1:-1, 1:-1] = (
            2 * now[1:-1, 1:-1] - before[1:-1, 1:-1]
            + 0.2 * (now[2:, 1:-1] + now[:-2, 1:-1] + now[1:-1, 2:] + now[1:-1, :-2] - 4 * now[1:-1, 1:-1])
        )  # fmt: skip
        after *= damping
        before, now, after = now, after, before
        if step % 4 == 0:
            energies.append(float(((now - before) ** 2).sum()))
    return now, energies


def conjugate_gradient(np, n=100):
    """Poisson's equation without a matrix."""

    def apply(u):
        out = 4 * u
        out[1:] -= u[:-1]
        out[:-1] -= u[1:]
        out[:, 1:] -= u[:, :-1]
        out[:, :-1] -= u[:, 1:]
        return out

    b = np.ones((n, n))
    x = np.zeros((n, n))
    r = b - apply(x)
    p, rs = r.copy(), float((r * r).sum())
    for _ in range(20):
        ap = apply(p)
        alpha = rs / float((p * ap).sum())
        x += alpha * p
        r -= alpha * ap
        new = float((r * r).sum())
        if new < 1e-10:
            break
        p = r + new / rs * p
        rs = new
    return x, rs


def logistic_map(np, n=20000):
    """The bifurcation diagram's columns and Lyapunov exponents."""
    r = np.linspace(2.5, 4.0, n)
    x = np.full(n, 1e-5)
    lyapunov = np.zeros(n)
    for step in range(40):
        x = r * x * (1 - x)
        if step > 10:
            with np.errstate(divide="ignore"):
                lyapunov += np.log(abs(r - 2 * r * x))
    return x, lyapunov / 29, int((lyapunov < 0).sum())


def matrix_power(np, n=100):
    """A random walk's distribution by repeated squaring, and an eigenvector by iteration."""
    i = np.arange(n)
    p = np.exp(-abs(i[:, None] - i[None, :]) / 5.0)
    p /= p.sum(axis=1, keepdims=True)
    many = np.linalg.matrix_power(p, 8)
    v = np.ones(n)
    for _ in range(10):
        v = p.T @ v
        v = v / np.sqrt((v * v).sum())
    return many, v, np.trace(many), np.diag(p)[::7]


def sieve(np, n=100_000):
    """Prime numbers, twin primes, and sums of divisors."""
    prime = np.ones(n, bool)
    prime[:2] = False
    for k in range(2, int(n**0.5) + 1):
        if prime[k]:
            prime[k * k :: k] = False
    divisors = np.zeros(n, np.int64)
    for k in range(1, 60):
        divisors[k::k] += k
    primes = np.flatnonzero(prime)
    return primes, int((np.diff(primes) == 2).sum()), divisors


def normalise(np, n=130):
    """Statistics along both axes, outliers, a moving average."""
    a = np.sin(0.7 * np.arange(n * n)).reshape(n, n) + 0.3
    z = (a - a.mean(axis=1, keepdims=True)) / a.std(axis=1, keepdims=True)
    z[np.abs(z) > 1.5] = np.nan
    filled = np.where(np.isnan(z), np.nanmean(z, axis=0), z)
    moving = np.cumsum(filled, axis=1)
    moving[:, 5:] = moving[:, 5:] - moving[:, :-5]
    return (
        filled,
        moving / 5,
        np.nanmax(z, axis=1),
        np.argmax(filled, axis=0),
        np.sort(filled, axis=0)[3],
    )


PROGRAMS = {
    name: item
    for name, item in list(globals().items())
    if callable(item) and not name.startswith("_")
}


def _digest(np, value, mark):
    if isinstance(value, (tuple, list)):
        for item in value:
            _digest(np, item, mark)
    elif isinstance(value, np.ndarray):
        mark.update(repr((value.dtype.str, value.shape)).encode() + value.tobytes())
    else:
        mark.update(repr(float(value)).encode())


def _main(name, *sizes):
    import hashlib

    import numpy as np

    mark = hashlib.sha256()
    _digest(np, PROGRAMS[name](np, *map(int, sizes)), mark)
    print(mark.hexdigest())


if __name__ == "__main__":
    import sys

    _main(*sys.argv[1:])
