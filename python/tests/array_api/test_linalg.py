"""Products, linear algebra, and Fourier transforms."""

import numpy as np
import pytest
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from support.strictly import Named, agree, arrays, dtypes, given, like

import arrayloom.array_api as xp

FLOATS = st.sampled_from(["float32", "float64", "complex64", "complex128"])
SQUARE = st.sampled_from([(2, 2), (3, 3), (2, 3, 3), (0, 0), (2, 3), (3,)])


@st.composite
def small(draw, dtype=dtypes, shape=SQUARE):
    """Small whole numbers, of which sums are exact in any order."""
    dtype = draw(dtype)
    shape = draw(shape) if isinstance(shape, st.SearchStrategy) else shape
    return draw(hnp.arrays("int64", shape, elements=st.integers(0, 3))).astype(dtype)


@pytest.mark.parametrize("name", ["matmul", "tensordot", "vecdot"])
@given(x=small(), y=small())
def test_products(name, x, y):
    # It lets NumPy promote what does not mix, and products of floats depend on who adds.
    if x.dtype == y.dtype or (x.dtype.kind in "ifc" and y.dtype.kind == "b"):
        agree(lambda ns, x, y: getattr(ns, name)(x, y), x, y)
    agree(lambda ns, x, y: getattr(ns.linalg, name)(x, y), x, like(y, x))
    if name == "matmul":
        agree(lambda ns, x, y: x @ y, x, like(y, x))


@given(x=small(shape=(2, 3)), y=small(shape=(3, 2)), axis=st.integers(-3, 2))
def test_products_along_axes(x, y, axis):
    y = like(y, x)
    agree(lambda ns, x, y: ns.tensordot(x, y, axes=1), x, y)
    agree(lambda ns, x, y: ns.tensordot(x, y, axes=((0, 1), (1, 0))), x, y)
    agree(lambda ns, x, y: ns.tensordot(x, y, axes=((0,), (0,))), x, y)
    agree(lambda ns, x, y: ns.vecdot(x, y.mT, axis=axis), x, y)
    agree(lambda ns, x, y: ns.linalg.outer(x[0, :], y[:, 1]), x, y)
    agree(lambda ns, x, y: ns.linalg.cross(x, y.mT, axis=axis), x, y, several=True)


def test_matrices_are_multiplied_in_place():
    x = held = xp.asarray([[1, 2], [3, 4]])
    x @= xp.asarray([[0, 1], [1, 0]])
    assert x is held
    assert [int(v) for v in xp.reshape(x, (-1,))] == [2, 1, 4, 3]
    with pytest.raises(ValueError, match="shape"):
        x @= xp.asarray([1, 2])
    with pytest.raises(TypeError, match="do not mix"):
        x @= xp.ones((2, 2))
    with pytest.raises(TypeError, match="not int"):
        x @ 2


@pytest.mark.parametrize(
    "name",
    [
        "cholesky",
        "det",
        "eigvalsh",
        "inv",
        "matrix_norm",
        "matrix_rank",
        "pinv",
        "slogdet",
        "svdvals",
    ],
)
@given(x=small())
def test_of_matrices(name, x):
    def body(ns, x):
        found = getattr(ns.linalg, name)(x)
        return tuple(found) if isinstance(found, tuple) else found

    if name != "matrix_rank" or (x.dtype.kind in "fc" and x.size):
        agree(body, x)


@pytest.mark.parametrize(
    ("name", "fields"),
    [
        ("eigh", ("eigenvalues", "eigenvectors")),
        ("eig", ("eigenvalues", "eigenvectors")),
        ("qr", ("Q", "R")),
        ("svd", ("U", "S", "Vh")),
        ("slogdet", ("sign", "logabsdet")),
    ],
)
@given(dtype=FLOATS)
def test_factors(name, fields, dtype):
    x = xp.astype(xp.asarray([[2.0, 1.0], [1.0, 3.0]]), getattr(xp, dtype))
    found = getattr(xp.linalg, name)(x)
    assert found._fields == fields
    wide = {"float32": "complex64", "float64": "complex128"}.get(dtype, dtype)
    real = {"complex64": "float32", "complex128": "float64"}.get(dtype, dtype)
    first = {"eigh": real, "eig": wide}.get(name, dtype)
    assert found[0].dtype == getattr(xp, first)
    values = [np.from_dlpack(part) for part in found]
    if name.startswith("eig"):
        again = values[1] @ np.diag(values[0]) @ np.linalg.inv(values[1])
    elif name == "qr":
        again = values[0] @ values[1]
    elif name == "svd":
        again = values[0] @ np.diag(values[1]) @ values[2]
    else:
        again = np.from_dlpack(x) if np.allclose(values[0] * np.exp(values[1]), 5) else None
    np.testing.assert_allclose(again, np.from_dlpack(x), rtol=1e-5)


def test_eigenvalues_are_complex():
    x = xp.asarray([[0.0, 1.0], [1.0, 0.0]])
    assert xp.linalg.eigvals(x).dtype == xp.complex128
    assert sorted(float(xp.real(v)) for v in xp.linalg.eigvals(x)) == [-1, 1]
    with pytest.raises(np.linalg.LinAlgError):
        xp.linalg.eig(xp.ones((2, 3)))


@given(x=small(dtype=FLOATS, shape=(3, 3)), n=st.integers(-2, 3), data=st.data())
def test_more_of_matrices(x, n, data):
    agree(lambda ns, x: ns.linalg.matrix_power(x, n), x)
    even = xp.asarray(np.conj(x.mT) @ x + np.eye(3, dtype=x.dtype))
    upper = xp.linalg.cholesky(even, upper=True)
    again = np.from_dlpack(xp.conj(upper.mT) @ upper)
    np.testing.assert_allclose(again, np.from_dlpack(even), rtol=1e-5, atol=1e-4)
    agree(lambda ns, x: ns.linalg.svd(x, full_matrices=False)[1], x)
    agree(lambda ns, x: ns.linalg.qr(x, mode="complete")[1], x)
    agree(lambda ns, x: ns.linalg.qr(x, mode="none"), x)
    agree(lambda ns, x: ns.linalg.solve(x, x[0, :]), x)
    agree(lambda ns, x: ns.linalg.solve(x, x[:, :2]), x)
    agree(lambda ns, x: ns.linalg.pinv(x, rtol=0.5), x)
    agree(lambda ns, x: ns.linalg.matrix_rank(x, rtol=ns.asarray(0.1)), x)
    for which in (1, -1, 2, -2, np.inf, -np.inf, "fro", "nuc"):
        agree(lambda ns, x, which: ns.linalg.matrix_norm(x, ord=which, keepdims=True), x, which)


@given(x=small(), offset=st.integers(-2, 2), dtype=st.none() | st.just(Named("float64")))
def test_diagonals(x, offset, dtype):
    agree(lambda ns, x: ns.linalg.diagonal(x, offset=offset), x)
    if dtype is None or x.dtype.kind != "c":
        agree(lambda ns, x, dtype: ns.linalg.trace(x, offset=offset, dtype=dtype), x, dtype)


@given(
    x=small(),
    which=st.sampled_from([0, 1, 2, 2.5, np.inf, -np.inf]),
    axis=st.sampled_from([None, -1, (0, 1), 5]),
    keepdims=st.booleans(),
)
def test_vector_norms(x, which, axis, keepdims):
    words = {"axis": axis, "ord": which, "keepdims": keepdims}
    agree(lambda ns, x: ns.linalg.vector_norm(x, **words), x)


LINES = "fft ifft rfft irfft hfft ihfft".split()
GRIDS = "fftn ifftn rfftn irfftn".split()
NORMS = st.sampled_from(["backward", "ortho", "forward"])


@pytest.mark.parametrize("name", LINES)
@given(x=arrays(shape=(3, 4)), n=st.none() | st.integers(0, 5), axis=st.integers(-3, 2), norm=NORMS)
def test_transforms_of_lines(name, x, n, axis, norm):
    agree(lambda ns, x: getattr(ns.fft, name)(x, n=n, axis=axis, norm=norm), x)


@pytest.mark.parametrize("name", GRIDS)
@given(x=arrays(shape=(3, 4)), axes=st.none() | st.sampled_from([(0,), (1, 0), (2,)]), norm=NORMS)
def test_transforms_of_grids(name, x, axes, norm):
    agree(lambda ns, x: getattr(ns.fft, name)(x, axes=axes, norm=norm), x)
    s = None if axes is None else (2,) * len(axes)
    agree(lambda ns, x: getattr(ns.fft, name)(x, s=s, axes=axes, norm=norm), x)


@pytest.mark.parametrize("name", [*LINES, *GRIDS])
def test_transforms_know_their_norms(name):
    x = xp.ones(4, dtype=xp.complex64 if name not in {"rfft", "ihfft", "rfftn"} else xp.float32)
    with pytest.raises(ValueError, match="'ortho'"):
        getattr(xp.fft, name)(x, norm="none")


@given(n=st.integers(-1, 6), d=st.sampled_from([1.0, 0.5]), dtype=st.none() | dtypes.map(Named))
def test_frequencies(n, d, dtype):
    for name in ("fftfreq", "rfftfreq"):
        if n > 0:
            agree(lambda ns, dtype: getattr(ns.fft, name)(n, d=d, dtype=dtype), dtype)  # noqa: B023


@given(x=arrays(shape=(3, 4)), axes=st.sampled_from([None, 0, (1,), (0, 1)]))
def test_shifts(x, axes):
    agree(lambda ns, x: (ns.fft.fftshift(x, axes=axes), ns.fft.ifftshift(x, axes=axes)), x)


def test_lengths_without_axes_are_those_of_the_last():
    x = xp.ones((2, 3, 4), dtype=xp.complex64)
    assert xp.fft.fftn(x, s=(5, 6)).shape == (2, 5, 6)
    assert xp.fft.fftn(x).dtype == xp.complex64


def test_large(laziness):
    x = xp.ones((300, 300), dtype=xp.float32)
    assert float((x @ x)[0, 0]) == 300
    assert xp.fft.rfft(x).dtype == xp.complex64
    assert float(xp.linalg.vector_norm(x)) == 300
    assert xp.linalg.solve(x + 300 * xp.eye(300, dtype=xp.float32), x).dtype == xp.float32
