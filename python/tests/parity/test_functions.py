"""Functions of the namespace beside ufuncs: creation, joining, moving, choosing, sorting, algebra."""

import numpy as np
import pytest
from support.compare import differences, observe
from support.layouts import DTYPES, ordinary


def check(body, xp):
    found = differences(observe(body, np), observe(body, xp))
    assert not found, "\n".join(found[:8])


CREATION = {
    "zeros": lambda m, n: (m.zeros(n), m.zeros((n, 2), "f", "F"), m.zeros(n, dtype="D"), m.zeros(())),
    "ones": lambda m, n: (m.ones(n), m.ones((2, n), int), m.ones(shape=n, order="C")),
    "full": lambda m, n: (m.full(n, 3), m.full((n, 1), 2.5), m.full(n, [1] * n), m.full(n, 1, "e"),
                          m.full(n, 3, None), m.full(n, True, dtype=None), m.full(n, 2j, order="C", dtype=None)),
    "empty": lambda m, n: (m.empty(n).shape, m.empty((2, n), "i").flags.f_contiguous, m.empty(0)),
    "eye": lambda m, n: (m.eye(90), m.eye(90, 95, 1), m.eye(90, k=-2, dtype="f"), m.identity(91)),
    "arange": lambda m, n: (m.arange(n), m.arange(2, n, 3), m.arange(0, 1, 1 / n), m.arange(n, 0, -1.5),
                            m.arange(n, dtype="f"), m.arange(5.5), m.arange(0), m.arange(True, 9)),
    "linspace": lambda m, n: (m.linspace(0, 1, n), m.linspace(3, -2, n, endpoint=False),
                              m.linspace(0, 9, n, retstep=True), m.linspace(0, n, n, dtype=int),
                              m.linspace(0, 1, 1), m.linspace([0, 1], [5, 6], n, axis=1)),
    "logspace": lambda m, n: (m.logspace(0, 3, n), m.geomspace(1, 1000, n)),
    "like": lambda m, n: [f(m.ones((n, 2)).T) for f in (m.zeros_like, m.ones_like)]
    + [m.full_like(m.arange(n), 2.7), m.zeros_like(m.arange(n), "f", shape=(3, n), order="F")],
    "array": lambda m, n: (m.array(range(n)), m.array([1.5] * n), m.array(m.arange(n), "f", ndmin=2),
                           m.array([m.arange(n)] * 2), m.array(3.5), m.array([]), m.array((True, 2)),
                           m.array(m.arange(n), copy=None) is not None, m.array([[1, 2], [3, 4]], order="F")),
    "asarray": lambda m, n: (m.asarray([1.0] * n), m.asarray(m.arange(n), "d"), m.asarray(5),
                             m.ascontiguousarray(m.ones((n, 2)).T), m.asfortranarray(m.ones((n, 2)))),
    "frombuffer": lambda m, n: (m.frombuffer(bytes(8 * n)), m.frombuffer(bytearray(range(200)) * n, "i2", n, 4)),
    "fromfunction": lambda m, n: m.fromfunction(lambda i, j: i * j + 1, (n // 10, 10)),
    "fromiter": lambda m, n: m.fromiter(range(n), float, n),
    "fromstring": lambda m, n: m.fromstring("1 2 3 " * n, sep=" "),
    "indices": lambda m, n: (m.indices((n // 10, 10)), m.mgrid[0:90, 0:95], m.ogrid[0:n, 0:3], m.r_[0:n, 5.0]),
    "meshgrid": lambda m, n: (m.meshgrid(m.arange(90.0), m.arange(95.0)),
                              m.meshgrid(m.arange(90), m.arange(95), indexing="ij", sparse=True)),
    "tri": lambda m, n: (m.tri(90), m.tril(m.ones((90, 95))), m.triu(m.arange(9000).reshape(90, 100), 1)),
    "diag": lambda m, n: (m.diag(m.arange(90.0)), m.diag(m.ones((90, 95)) * 2, 1), m.diagflat([1, 2])),
    "vander": lambda m, n: m.vander(m.arange(90.0), 3),
    "windows": lambda m, n: (m.hanning(n), m.hamming(n), m.blackman(n), m.kaiser(n, 14), m.bartlett(n)),
    "copy": lambda m, n: (m.copy(m.ones((n, 2)).T), m.arange(n).copy(), m.ones((n, 2)).T.copy("K")),
    "random": lambda m, n: (m.random.default_rng(5).random(n), m.random.default_rng(5).normal(size=(n, 2)),
                            m.random.default_rng(5).integers(0, 9, n), m.random.default_rng(1).permutation(n)),
    "random old": lambda m, n: (m.random.seed(42), m.random.rand(n), m.random.randn(n, 2), m.random.randint(0, 9, n),
                                m.random.uniform(1, 2, n), m.random.RandomState(3).standard_normal(n),
                                m.random.choice(m.arange(n), 50), m.random.random_sample(3)),
    "random f4": lambda m, n: (m.random.default_rng(2).random(n, "f"), m.random.default_rng(2).exponential(2, n)),
}  # fmt: skip


@pytest.mark.filterwarnings("ignore::DeprecationWarning")
@pytest.mark.parametrize("name", CREATION)
def test_creation(xp_both, name):
    check(lambda m: CREATION[name](m, 20000 if name != "indices" else 9000), xp_both)
    check(lambda m: [a * 2 + 1 for a in _arrays(CREATION[name](m, 100))], xp_both)


def _arrays(found):
    items = found if isinstance(found, (tuple, list)) else [found]
    return [a for a in items if isinstance(a, np.ndarray) and a.dtype.kind in "iufc"]


SHAPING = {
    "concatenate": lambda m, a, b: (m.concatenate([a, b]), m.concatenate([a, b[:, :3]], 1), m.concatenate([a, b], None)),
    "concatenate dtype": lambda m, a, b: (m.concatenate([a, b.astype("D")]), m.concatenate([a, b], dtype="D"),
                                          m.concatenate([a, b], out=m.zeros((12, 7), "D"))),
    "stack": lambda m, a, b: (m.stack([a, b]), m.stack([a, b], 2), m.vstack([a, b]), m.hstack([a, b]),
                              m.dstack([a, b]), m.column_stack([a[0], b[0]]), m.block([[a, b], [b, a]])),
    "split": lambda m, a, b: (m.split(a, 2), m.array_split(a, 4, 1), m.hsplit(a, [2, 5]), m.vsplit(b, 3)),
    "tile": lambda m, a, b: (m.tile(a, 2), m.tile(a, (2, 1, 2)), m.repeat(a, 2), m.repeat(a, 3, 1),
                             m.repeat(a, [1, 0, 2, 1, 1, 1], 0)),
    "roll": lambda m, a, b: (m.roll(a, 1), m.roll(a, -2, 0), m.roll(a, (1, 2), (0, 1)), m.roll(a, 100, 1)),
    "flip": lambda m, a, b: (m.flip(a), m.flip(a, 1), m.fliplr(a), m.flipud(a), m.rot90(a), m.rot90(a, 2)),
    "pad": lambda m, a, b: (m.pad(a, 1), m.pad(a, ((1, 2), (0, 3)), constant_values=5), m.pad(a, 2, "edge"),
                            m.pad(a, 2, "reflect"), m.pad(a, 1, "wrap"), m.pad(a, 1, "mean")),
    "reshape": lambda m, a, b: (m.reshape(a, (7, 6)), m.reshape(a.T, -1), m.ravel(a, "F"), m.squeeze(a[:1])),
    "transpose": lambda m, a, b: (m.transpose(a), m.swapaxes(a, 0, 1), m.moveaxis(a[None], 0, -1), m.rollaxis(a, 1),
                                  m.expand_dims(a, (0, 2)), m.atleast_3d(a), m.matrix_transpose(a)),
    "broadcast": lambda m, a, b: (m.broadcast_to(a, (2, 6, 7)), m.broadcast_arrays(a, b[0])),
    "insert": lambda m, a, b: (m.insert(a, 1, 9, 0), m.delete(a, [1, 2], 1), m.append(a, b, 0), m.append(a, 3)),
    "resize": lambda m, a, b: (m.resize(a, (4, 30)), m.trim_zeros(a[0]), m.unstack(a)),
    "where": lambda m, a, b: (m.where(a > b, a, b), m.where(a > 0), m.where(a > 0, 1, 0), m.where(True, a, 0),
                              m.where(a, 1.5, b), m.where([True] * 7, a, 3)),
    "select": lambda m, a, b: (m.select([a > 1, b > 0], [a, b], 7), m.choose((a > 0).astype(int), [a, b]),
                               m.piecewise(a.astype("d"), [a < 0, a > 1], [-1, lambda x: x * 2])),
    "take": lambda m, a, b: (m.take(a, [0, 3]), m.take(a, [[0], [-1]], 1), m.take(a, [99], mode="wrap"),
                             m.take_along_axis(a, m.argsort(b, 1), 1), m.compress([1, 0, 1], a, 0), m.extract(a > 0, a)),
    "put": lambda m, a, b: (m.put(a, [0, 5], [7, 8]), m.put_along_axis(b, m.argmax(b, 1, keepdims=True), 3, 1),
                            m.place(a, a > 1, [5]), m.putmask(b, b < 0, a), m.fill_diagonal(a, 4), a, b),
    "copyto": lambda m, a, b: (m.copyto(a, b), m.copyto(b, 3, where=a > 0), m.copyto(a[1:], b[:-1]), a, b),
    "sort": lambda m, a, b: (m.sort(a), m.sort(a, 0), m.sort(a, None), m.argsort(a, kind="stable"),
                             m.partition(a, 3)[:, 3], m.sort(a[:, ::-1], kind="stable")),
    "search": lambda m, a, b: (m.searchsorted(m.sort(a[0]), b[0]), m.digitize(a.real, [-1, 0, 1]), m.argwhere(a),
                               m.flatnonzero(a), m.nonzero(a), m.count_nonzero(a, axis=0)),
    "unique": lambda m, a, b: (m.unique(a), m.unique(a, True, True, True), m.isin(a, b[0]), m.union1d(a, b),
                               m.intersect1d(a, b), m.setdiff1d(a, b)),
    "clip": lambda m, a, b: (m.clip(a, 0, 1), a.clip(min=0), m.clip(a, None, b), m.clip(a, b, 3)),
    "round": lambda m, a, b: (m.round(a, 1), a.round(), m.around(a, -1), m.fix(a), m.trunc(a), m.nan_to_num(a)),
    "matmul": lambda m, a, b: (a @ b.T, m.matmul(a.T, b), m.dot(a[0], b[0]), m.vdot(a, b), a @ b[0], a[:, 0] @ b),
    "matmul stack": lambda m, a, b: (m.matmul(a[None], b.T[None]), m.broadcast_to(a, (2, 6, 7)) @ b.T,
                                     m.matmul(a[::2], b[:, ::-1].T), m.matvec(a, b[0]), m.vecdot(a, b)),
    "products": lambda m, a, b: (m.outer(a, b), m.inner(a, b), m.tensordot(a, b, ((0,), (0,))), m.kron(a[:2], b[:2]),
                                 m.cross(a[:, :3], b[:, :3]), m.trace(a), m.linalg.multi_dot([a, b.T, a])),
    # Sums of products are the BLAS's: test_composed.py.
    "einsum": lambda m, a, b: (m.einsum("ij,ij->ij", a, b), m.einsum("ij->", a), m.einsum("ij->ji", a),
                               m.einsum("ij,kj", a, b, optimize=True)),
    "convolve": lambda m, a, b: (m.convolve(a[0], b[0]), m.correlate(a[0], b[0], "same"), m.convolve(a[0], b[1], "valid")),
    "fft": lambda m, a, b: (m.fft.fft(a), m.fft.ifft(a, axis=0), m.fft.fft2(a), m.fft.fftshift(a), m.fft.fftn(a, norm="ortho"),
                            m.fft.rfft(a.real), m.fft.irfft(a), m.fft.fftfreq(9), m.fft.hfft(a)),
    "linalg": lambda m, a, b: (m.linalg.norm(a), m.linalg.qr(a.T), m.linalg.svd(a, False)[1], m.linalg.pinv(a),
                               m.linalg.matrix_rank(a), m.linalg.cond(a), m.linalg.det(a @ a.T)),
    "polynomial": lambda m, a, b: (m.polyval(a[0], b[0]), m.polyadd(a[0], b[0]), m.polymul(a[0], b[0]), m.polyder(a[0])),
    "interp": lambda m, a, b: (m.interp(a[0].real, m.arange(7), b[0]), m.gradient(a), m.unwrap(a.real), m.trapezoid(a)),
    "histogram": lambda m, a, b: (m.histogram(a, 5), m.bincount(abs(a).astype(int)[0]), m.histogram_bin_edges(a, 4)),
    "statistics": lambda m, a, b: (m.median(a), m.median(a, 0), m.percentile(a, 40), m.average(a, 0, weights=a[:, 0]),
                                   m.cov(a), m.corrcoef(a), m.ptp(a, 1)),
    "logic": lambda m, a, b: (m.array_equal(a, b), m.allclose(a, a), m.isclose(a, b), m.array_equiv(a, a[None]),
                              m.isreal(a), m.iscomplexobj(a), m.any(a > 0), m.all(a, 1)),
    "types": lambda m, a, b: (a.astype("d"), a.astype("f"), a.astype("i"), a.astype("B"), a.astype("?"), a.astype("D"),
                              a.astype("e"), a.astype("l", "F"), m.astype(a, "d"), m.real(a), m.imag(a), m.angle(a)),
    "types of views": lambda m, a, b: (a.T.astype("f"), a[::2, ::-1].astype("D"), a.astype(a.dtype, copy=False) is a),
    "diff": lambda m, a, b: (m.diff(a), m.diff(a, 2, 0), m.ediff1d(a), m.diff(a, prepend=0, append=a[:, :1])),
    "apply": lambda m, a, b: (m.apply_along_axis(sum, 0, a), m.vectorize(lambda x: x * 2)(a), m.apply_over_axes(m.sum, a, [0, 1])),
    "set items": lambda m, a, b: _set_items(m, a, b),
    "text": lambda m, a, b: (m.array2string(a), m.array_repr(a), m.array_str(b)),
    "sum of list": lambda m, a, b: (sum([a, b]), m.sum([a, b], 0), m.add.reduce([a, b]), m.maximum.reduce([a, b])),
    "mask": lambda m, a, b: (a[a > 0], a[(a > 0) & (b > 0)], a[a[:, 0] > 0], a[m.ix_([0, 2], [1, 3])], a[~(b > 0)].sum()),
}  # fmt: skip


def _set_items(m, a, b):
    a[a > 1] = 1
    a[b > 1] = b[b > 1]
    a[[0, 2]] = b[[1, 3]]
    a[m.ix_([0, 1], [2, 3])] *= 2
    b[a[:, 0] > 0, 1:3] = 5
    a[..., -1] = a[..., 0]
    return a, b


@pytest.mark.filterwarnings("ignore::DeprecationWarning")
@pytest.mark.parametrize("dtype", [t for t in DTYPES if t in "?bBilLefdD"])
@pytest.mark.parametrize("name", SHAPING)
def test_small(xp, name, dtype):
    def body(m):
        a = m.array(ordinary(dtype, 42)).reshape(6, 7)
        b = m.array(ordinary(dtype, 42, 1)).reshape(7, 6).T
        return SHAPING[name](m, a, b)

    check(body, xp)


LARGE = [n for n in SHAPING if n not in {"products", "apply", "text", "matmul stack", "linalg"}]


@pytest.mark.filterwarnings("ignore::DeprecationWarning")
@pytest.mark.parametrize("name", LARGE)
def test_pending_views_of_large_arrays(xp_default, name):
    """The small matrices are windows of pending arrays that are large."""

    def body(m):
        a = m.array(ordinary("d", 30000)).reshape(150, 200) * 2
        b = (m.array(ordinary("d", 30000, 1)).reshape(200, 150) + 1).T
        return SHAPING[name](m, a[3:9, 5:12], b[::25, 10:17])

    check(body, xp_default)


@pytest.mark.parametrize("dtype", ["d", "i8", "?"])
def test_choices_are_laid_out_as_numpy_lays_them_out(xp, dtype):
    """By the strides of the condition too, whatever its dtype."""
    line, other = np.arange(300) % 3, np.arange(300.0)
    grid = (np.arange(600) % 5).reshape(20, 30)
    conditions = {
        "repeated": lambda m: m.broadcast_to(m.array(line.astype(dtype)), (4, 300)),
        "repeated columns": lambda m: (
            m.broadcast_to(m.array(line.astype(dtype))[:, None], (300, 4)).T
        ),
        "backwards": lambda m: m.array(line.astype(dtype))[::-1],
        "backwards and turned": lambda m: m.array(grid.astype(dtype)).T[::-1].reshape(30, 20)[:15],
        "turned": lambda m: m.array(grid.astype(dtype)).T[:15],
    }
    for make in conditions.values():

        def body(m, make=make):
            truth = make(m)
            like = m.resize(m.array(other), truth.size).reshape(truth.shape)
            found = (
                m.where(truth, truth, like),
                m.where(truth, like[..., ::-1], 1),
                m.where(truth, 2, 1),
            )
            return *found, [each.strides for each in found]

        check(body, xp)
