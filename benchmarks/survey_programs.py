"""Short programs as people write them, on data of a few megabytes. Run as a script, it times each of them.

What is imported as ``numpy`` is NumPy, or arrayloom under ``python -m arrayloom``.
"""

import json
import sys
import time

import numpy as np
from survey_kernels import KERNELS
from survey_loops import LOOPS

SIDE = 1000
SECONDS = 0.08

random = np.random.default_rng(0)
a = random.random((SIDE, SIDE))
b = random.random((SIDE, SIDE))
v = random.random(SIDE)
x = random.random(1_000_000)
whole = random.integers(0, 1000, (SIDE, SIDE))
bins = random.integers(0, 1000, 1_000_000)
small = whole.astype(np.uint8)
single = a.astype(np.float32)
colours = random.random((512, 512, 3))
z = a + 1j * b
chosen = a > 0.5
cube = random.random((100, 100, 100))
strips = small.reshape(-1, 50)
features = random.random((4000, 256))
copied = features[:512].astype(np.float64)
corners = random.random((20_000, 4))
near = x[:60_000].copy()

# Each ends in one number.
LINES = {
    "axpy": "(2.0 * a + b).sum()",
    "seven points of a cube": "(cube[1:-1, 1:-1, 1:-1] * 6 - cube[2:, 1:-1, 1:-1] - cube[:-2, 1:-1, 1:-1]"
    " - cube[1:-1, 2:, 1:-1] - cube[1:-1, :-2, 1:-1] - cube[1:-1, 1:-1, 2:] - cube[1:-1, 1:-1, :-2])[3, 3, 3]",
    "short rows of bytes": "(strips[:, 1:] + strips[:, :-1])[3, 3]",
    "sums of features": "features.sum(axis=1)[3]",
    "lengths of features": "np.sqrt((features * features).sum(axis=1))[3]",
    "places in features": "features.argmax(axis=1)[3]",
    "features with a hit": "(features > 0.99).any(axis=1).sum()",
    "extremes of short rows": "corners.max(axis=1)[3] - corners.min(axis=1)[3]",
    "sums of short rows": "corners.sum(axis=1)[3]",
    "distances and damping": "(np.exp(-near) * near / (near + 1))[3]",
    "squares of a copy": "((copied - 0.5) * (copied - 0.5)).sum()",
    "rows of unit length": "(a / np.linalg.norm(a, axis=1, keepdims=True))[3, 3]",
    "distances": "np.sqrt(((a[:300, None, :50] - b[None, :300, :50]) ** 2).sum(-1)).min()",
    "standard scores": "((a - a.mean(0)) / a.std(0))[5, 5]",
    "scale to 0..1": "((a - a.min()) / (a.max() - a.min()))[2, 2]",
    "argsort": "np.argsort(x)[5]",
    "stable argsort": "np.argsort(x, kind='stable')[5]",
    "sort": "np.sort(x)[5]",
    "sort rows": "np.sort(a, axis=1)[3, 3]",
    "sort columns": "np.sort(a, axis=0)[3, 3]",
    "partition": "np.partition(x, 1000)[5]",
    "lexsort": "np.lexsort((bins[:100_000], x[:100_000]))[3]",
    "unique": "np.unique(bins, return_counts=True)[1][3]",
    "isin": "np.isin(bins, [3, 5, 7]).sum()",
    "bincount": "np.bincount(bins, weights=x)[4]",
    "histogram": "np.histogram(x, bins=50)[0][3]",
    "histogram2d": "np.histogram2d(x[:200_000], x[200_000:400_000], bins=20)[0][3, 3]",
    "digitize": "np.digitize(x, np.linspace(0, 1, 20))[7]",
    "searchsorted": "np.searchsorted(np.arange(0, 1, 0.001), x)[7]",
    "interp": "np.interp(x, np.linspace(0, 1, 100), np.linspace(0, 1, 100) ** 2)[3]",
    "take": "x[bins].sum()",
    "mask": "a[chosen].mean()",
    "where": "np.where(a > 0.5, a, b).sum()",
    "clip": "np.clip(a, 0.2, 0.8).sum()",
    "cumsum": "np.cumsum(x)[-1]",
    "cumprod of rows": "np.cumprod(1 + a * 1e-3, axis=1)[3, -1]",
    "maximum.accumulate": "np.maximum.accumulate(x)[-1]",
    "diff": "np.diff(x).max()",
    "convolve": "np.convolve(x[:100_000], np.ones(9) / 9, 'same')[3]",
    "corrcoef": "np.corrcoef(a[:100])[2, 3]",
    "cov": "np.cov(a[:200])[2, 3]",
    "matmul": "(a[:500, :500] @ b[:500, :500])[0, 0]",
    "einsum of rows": "np.einsum('ij,ij->i', a, b)[3]",
    "einsum of matrices": "np.einsum('ij,kj->ik', a[:200], b[:200])[3, 3]",
    "outer": "np.outer(v, v).sum()",
    "differences of all pairs": "abs(np.subtract.outer(v, v)).max()",
    "hypot of two axes": "np.hypot(v[:, None], v).max()",
    "dot": "x @ x",
    "solve": "np.linalg.solve(a[:200, :200] + np.eye(200) * 10, v[:200])[3]",
    "svd": "np.linalg.svd(a[:100, :100])[1][0]",
    "fft": "np.abs(np.fft.fft(x[: 2**17]))[3]",
    "fft2": "np.abs(np.fft.fft2(a))[3, 3]",
    "median of columns": "np.median(a, axis=0)[3]",
    "percentile": "np.percentile(x, [5, 50, 95])[1]",
    "concatenate": "np.concatenate([a, b]).sum()",
    "concatenate in a cache": "np.concatenate([x[:50_000], x[:9]])[2]",
    "roll in a cache": "np.roll(x[:100_000], -7)[2]",
    "roll rows in a cache": "np.roll(a[:400, :400], 1, 1)[3, 3]",
    "arange in a cache": "np.arange(100_000)[4]",
    "full in a cache": "np.full(100_000, 2.0)[4]",
    "take in a cache": "np.take(x, bins[:100_000])[4]",
    "sum of every second": "x[:200_000:2].sum()",
    "sum in reverse": "x[:300_000][::-1].sum()",
    "interp of sorted": "np.interp(np.linspace(0, 999, 250_000), np.arange(1000.0), v)[7]",
    "nan_to_num in a cache": "np.nan_to_num(x[:100_000])[2]",
    "frexp": "np.frexp(x)[0][2]",
    "stack": "np.stack([a, b, a]).mean(0)[2, 2]",
    "tile": "np.tile(v, (1000, 1)).sum()",
    "repeat": "np.repeat(v, 1000).sum()",
    "roll": "(np.roll(a, 1, 0) + np.roll(a, -1, 0) + np.roll(a, 1, 1) + np.roll(a, -1, 1) - 4 * a).max()",
    "pad": "np.pad(a, 5, mode='reflect').sum()",
    "transpose and add": "(a.T + b).sum()",
    "transpose and copy": "a.T.copy()[3, 4]",
    "bin 2 x 2": "a.reshape(500, 2, 500, 2).mean(axis=(1, 3))[3, 3]",
    "grey of colours": "(colours @ np.array([0.3, 0.6, 0.1]))[4, 4]",
    "image sum": "(small + small // 2).max()",
    "image threshold": "((small > 100) * 255).astype(np.uint8).sum()",
    "image copy": "small.copy()[3, 3]",
    "to 8 bits": "(a * 255).astype(np.uint8).sum()",
    "complex": "np.abs(z * z.conj()).max()",
    "phases": "(z * np.exp(-0.5j * a)).sum().real",
    "logarithm of a complex array": "np.log(z)[3, 3].imag",
    "root of a complex array": "np.sqrt(z)[3, 3].imag",
    "a step of Newton": "(z - (z * z * z - 1) / (3 * z * z))[3, 3].real",
    "softmax": "(lambda e: (e / e.sum(1, keepdims=True))[3, 3])(np.exp(a - a.max(1, keepdims=True)))",
    "logsumexp": "(lambda m: (m + np.log(np.exp(a - m).sum(0)))[4])(a.max(0))",
    "relu of matmul": "np.maximum(a @ b - 250, 0)[3, 3]",
    "any and all": "(a > 2).any() or (a < 2).all()",
    "count_nonzero": "np.count_nonzero(a > 0.3)",
    "nonzero": "np.nonzero(a > 0.9)[0].sum()",
    "argwhere": "np.argwhere(a > 0.9)[5, 0]",
    "argmax and argmin": "a.argmax(1).sum() + a.argmin(0).sum()",
    "polyval": "np.polyval([1, 2, 3, 4.0], x).sum()",
    "polyfit": "np.polyfit(x[:10_000], x[:10_000] ** 2, 2)[0]",
    "sin of a mesh": "np.sin(v[:, None] * v).sum()",
    "sin and cos": "(np.sin(x) ** 2 + np.cos(x) ** 2).sum()",
    "power": "(x**2.5).sum()",
    "single precision": "(np.sqrt(single * single + single) + single).sum()",
    "integers": "(whole % 7 + whole // 3).sum()",
    "bits": "((whole << 2) ^ (whole >> 1) & 0xFF).sum()",
    "sliding windows": "np.lib.stride_tricks.sliding_window_view(x[:100_000], 9).mean(1)[3]",
    "trapezoid": "np.trapezoid(x, dx=0.1)",
    "flip": "(a[::-1] + a[:, ::-1]).sum()",
    "tolist": "len(a[:100].tolist())",
    "str": "len(str(a))",
    "triu": "np.triu(a).sum()",
    "kron": "np.kron(a[:30, :30], b[:30, :30]).sum()",
    "round": "np.round(a, 2).sum()",
    "logaddexp.reduce": "np.logaddexp.reduce(x[:100_000])",
    "apply_along_axis": "np.apply_along_axis(lambda r: r.max() - r.min(), 1, a[:200]).sum()",
    "random": "np.random.default_rng(1).normal(size=500_000).std()",
    "pi by random points": "((np.random.default_rng(1).random((500_000, 2)) ** 2).sum(1) < 1).mean()",
}


def add_at():
    sums = np.zeros(1000)
    np.add.at(sums, bins, x)
    return sums[3]


def set_by_mask():
    y = a.copy()
    y[chosen] = 0
    return y.sum()


def update_by_mask():
    y = a.copy()
    for _ in range(3):
        low = y < 0.5
        y[low] += 0.25
        y[~low] = y[~low] * 0.5 + a[~low]
    return y.sum()


def set_by_index():
    y = x.copy()
    y[bins] = 0.0
    return y.sum()


def mean_of_gaps():
    y = a.copy()
    y[::7] = np.nan
    return np.nanmean(y, axis=0)[3]


def gradient():
    down, along = np.gradient(a)
    return (down**2 + along**2).max()


def mandelbrot():
    c = np.linspace(-2, 1, 400)[None, :] + 1j * np.linspace(-1.5, 1.5, 400)[:, None]
    z, count = np.zeros(c.shape, complex), np.zeros(c.shape, int)
    for _ in range(20):
        inside = np.abs(z) <= 2
        z[inside] = z[inside] ** 2 + c[inside]
        count[inside] += 1
    return count.sum()


def points_that_stay():
    c = (np.linspace(-2, 1, 400)[None, :] + 1j * np.linspace(-1.5, 1.5, 400)[:, None]).ravel()
    z, steps, place = np.zeros_like(c), np.zeros(c.size, int), np.arange(c.size)
    for step in range(20):
        z = z * z + c
        inside = np.abs(z) <= 2
        steps[place[~inside]] = step
        z, c, place = z[inside], c[inside], place[inside]
    return steps.sum()


def reaction_and_diffusion():
    u, w = np.ones((256, 256)), np.zeros((256, 256))
    u[100:120, 100:120], w[100:120, 100:120] = 0.5, 0.25

    def laplacian(q):
        along = np.roll(q, 1, 0) + np.roll(q, -1, 0) + np.roll(q, 1, 1) + np.roll(q, -1, 1)
        return along - 4 * q

    for _ in range(20):
        both = u * w * w
        u += 0.16 * laplacian(u) - both + 0.035 * (1 - u)
        w += 0.08 * laplacian(w) + both - 0.1 * w
    return w.sum()


def wave():
    before = np.exp(-1000 * (x[:200_000] - 0.5) ** 2)
    now = before.copy()
    for _ in range(20):
        after = 2 * now - before
        after[1:-1] += 0.25 * (now[2:] - 2 * now[1:-1] + now[:-2])
        before, now = now, after
    return now.sum()


def life():
    grid = (a > 0.5).astype(int)
    around = [(i, j) for i in (-1, 0, 1) for j in (-1, 0, 1) if i or j]
    for _ in range(3):
        n = sum(np.roll(np.roll(grid, i, 0), j, 1) for i, j in around)
        grid = ((n == 3) | ((grid == 1) & (n == 2))).astype(int)
    return grid.sum()


def perceptron():
    hidden = np.tanh(a[:256] @ b[:, :128])
    return (1 / (1 + np.exp(-(hidden @ b[:128, :10])))).sum()


def k_means():
    points, centres = a[:, :10], b[:20, :10]
    for _ in range(3):
        label = ((points[:, None] - centres[None]) ** 2).sum(-1).argmin(1)
        means = [
            points[label == k].mean(0) if (label == k).any() else centres[k] for k in range(20)
        ]
        centres = np.array(means)
    return centres.sum()


def logistic_regression():
    weights, points, wanted = np.zeros(50), a[:, :50], (v > 0.5) * 1.0
    for _ in range(20):
        found = 1 / (1 + np.exp(-points @ weights))
        weights -= 0.01 * points.T @ (found - wanted) / 1000
    return weights.sum()


def heat_in_one_dimension():
    q = x[:20_000].copy()
    for _ in range(30):
        q[1:-1] += 0.1 * (q[2:] - 2 * q[1:-1] + q[:-2])
    return q.sum()


def heat_until_still():
    q, change = a.copy(), 0.0
    for _ in range(5):
        new = 0.25 * (q[2:, 1:-1] + q[:-2, 1:-1] + q[1:-1, 2:] + q[1:-1, :-2])
        change = np.abs(new - q[1:-1, 1:-1]).max()
        q[1:-1, 1:-1] = new
        if change < 1e-9:
            break
    return change


def row_by_row():
    total = 0.0
    for row in a[:200]:
        total += (row * row).sum()
    return total


FUNCTIONS = (
    add_at,
    set_by_mask,
    update_by_mask,
    set_by_index,
    mean_of_gaps,
    gradient,
    mandelbrot,
    points_that_stay,
    reaction_and_diffusion,
    wave,
    life,
    perceptron,
    k_means,
    logistic_regression,
    heat_in_one_dimension,
    heat_until_still,
    row_by_row,
)


def programs():
    """Functions by name."""
    found = {name: eval(f"lambda: {line}", globals()) for name, line in LINES.items()}
    return found | {f.__name__.replace("_", " "): f for f in (*FUNCTIONS, *LOOPS, *KERNELS)}


def timed(program):
    """The lower quartile of the seconds that a program takes, and its number."""
    value, seconds, start = float(program()), [], time.perf_counter()
    while len(seconds) < 5 or (time.perf_counter() - start < SECONDS and len(seconds) < 40):
        before = time.perf_counter()
        float(program())
        seconds.append(time.perf_counter() - before)
    return sorted(seconds)[len(seconds) // 4], value


if __name__ == "__main__":
    wanted = sys.argv[1:]
    print(json.dumps({n: timed(p) for n, p in programs().items() if not wanted or n in wanted}))
