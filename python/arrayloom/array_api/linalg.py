"""Linear algebra: the standard's extension ``linalg``, with `eig` and `eigvals` of its version 2025.12.

Matrices are the last two axes; others are stacks of them. Arguments that are no matrices, or no square
ones, are a `numpy.linalg.LinAlgError`, which is a `ValueError`.
"""

from typing import Any, Literal, NamedTuple

import numpy as np

from arrayloom.array_api._array import Array, quiet, unwrap, wrap
from arrayloom.array_api._dtypes import (
    FLOATING,
    NUMERIC,
    Dtype,
    check_cast,
    check_dtype,
    joined,
)
from arrayloom.array_api._products import matmul, matrix_transpose, tensordot, vecdot

__all__ = [
    "cholesky",
    "cross",
    "det",
    "diagonal",
    "eig",
    "eigh",
    "eigvals",
    "eigvalsh",
    "inv",
    "matmul",
    "matrix_norm",
    "matrix_power",
    "matrix_rank",
    "matrix_transpose",
    "outer",
    "pinv",
    "qr",
    "slogdet",
    "solve",
    "svd",
    "svdvals",
    "tensordot",
    "trace",
    "vecdot",
    "vector_norm",
]


# Its types want arrays whose types are known.
_linalg: Any = np.linalg


class Eig(NamedTuple):
    """What `eig` and `eigh` return."""

    eigenvalues: Array
    eigenvectors: Array


class QR(NamedTuple):
    """What `qr` returns."""

    Q: Array
    R: Array


class Slogdet(NamedTuple):
    """What `slogdet` returns."""

    sign: Array
    logabsdet: Array


class SVD(NamedTuple):
    """What `svd` returns."""

    U: Array
    S: Array
    Vh: Array


def _two(x1: Any, x2: Any, where: str, takes: Any) -> tuple[Any, Any]:
    a, b = unwrap(x1, where, takes), unwrap(x2, where, takes)
    joined(a.dtype, b.dtype, where)
    return a, b


@quiet
def cholesky(x: Array, /, *, upper: bool = False) -> Array:
    """Return the triangular factor ``L`` of ``L @ L^H``, or ``U`` of ``U^H @ U`` if `upper`.

    Parameters
    ----------
    x : Array
        Symmetric or Hermitian, positive definite matrices ``(..., n, n)`` of a floating-point dtype.
        One triangle is read.
    upper : bool
        Which factor.

    Raises
    ------
    TypeError
        Another kind of dtype.
    LinAlgError
        A matrix is not square, or not positive definite.

    Examples
    --------
    >>> import arrayloom.array_api as xp
    >>> xp.linalg.cholesky(xp.asarray([[4.0]]))
    Array([[2.]], dtype=float64)
    """
    return wrap(_linalg.cholesky(unwrap(x, "cholesky", FLOATING), upper=upper))


@quiet
def cross(x1: Array, x2: Array, /, *, axis: int = -1) -> Array:
    """Return the cross products of vectors of three elements along an axis.

    `x1` and `x2` have numeric dtypes that mix; other axes broadcast. A `TypeError` for other dtypes, a
    `ValueError` for other lengths or an axis that is not counted from the end, an `IndexError` if there is
    no such axis.

    Examples
    --------
    >>> import arrayloom.array_api as xp
    >>> xp.linalg.cross(xp.asarray([1, 0, 0]), xp.asarray([0, 1, 0]))
    Array([0, 0, 1], dtype=int64)
    """
    a, b = _two(x1, x2, "cross", NUMERIC)
    if axis >= 0:
        message = f"cross takes a negative axis, counted from the end, not {axis}"
        raise ValueError(message)
    return wrap(_linalg.cross(a, b, axis=axis))


@quiet
def det(x: Array, /) -> Array:
    """Return the determinants of square matrices of a floating-point dtype."""
    return wrap(_linalg.det(unwrap(x, "det", FLOATING)))


def diagonal(x: Array, /, *, offset: int = 0) -> Array:
    """Return the diagonals of matrices, `offset` places above the main one.

    Of any dtype. A `ValueError` for fewer than two axes.
    """
    return wrap(_linalg.diagonal(unwrap(x, "diagonal"), offset=offset).copy())


@quiet
def eig(x: Array, /) -> Eig:
    """Return the eigenvalues and eigenvectors of square matrices of a floating-point dtype, both complex."""
    a = unwrap(x, "eig", FLOATING)
    values, vectors = _linalg.eig(a)
    dtype = np.result_type(a.dtype, np.complex64)
    return Eig(wrap(values.astype(dtype, copy=False)), wrap(vectors.astype(dtype, copy=False)))


@quiet
def eigvals(x: Array, /) -> Array:
    """Return the eigenvalues of square matrices of a floating-point dtype, as complex numbers."""
    a = unwrap(x, "eigvals", FLOATING)
    dtype = np.result_type(a.dtype, np.complex64)
    return wrap(_linalg.eigvals(a).astype(dtype, copy=False))


@quiet
def eigh(x: Array, /) -> Eig:
    """Return the eigenvalues, ascending and real, and the eigenvectors of symmetric or Hermitian matrices."""
    return Eig(*map(wrap, _linalg.eigh(unwrap(x, "eigh", FLOATING))))


@quiet
def eigvalsh(x: Array, /) -> Array:
    """Return the eigenvalues, ascending and real, of symmetric or Hermitian matrices."""
    return wrap(_linalg.eigvalsh(unwrap(x, "eigvalsh", FLOATING)))


@quiet
def inv(x: Array, /) -> Array:
    """Return the inverses of square matrices of a floating-point dtype; a `LinAlgError` if one has none."""
    return wrap(_linalg.inv(unwrap(x, "inv", FLOATING)))


@quiet
def matrix_norm(
    x: Array,
    /,
    *,
    keepdims: bool = False,
    ord: float | Literal["fro", "nuc"] | None = "fro",
) -> Array:
    """Return norms of matrices, as real numbers.

    Parameters
    ----------
    x : Array
        Matrices ``(..., n, m)`` of a floating-point dtype.
    keepdims : bool
        Whether their axes stay, with extent 1.
    ord : {1, -1, 2, -2, inf, -inf, "fro", "nuc"}
        Which norm; Frobenius' if absent.

    Raises
    ------
    TypeError
        Another kind of dtype.
    ValueError
        No matrices, or another `ord`.
    """
    a = unwrap(x, "matrix_norm", FLOATING)
    return wrap(_linalg.matrix_norm(a, keepdims=keepdims, ord=ord))


@quiet
def matrix_power(x: Array, n: int, /) -> Array:
    """Return square matrices of a floating-point dtype to an integer power, of the inverse if it is negative."""
    return wrap(_linalg.matrix_power(unwrap(x, "matrix_power", FLOATING), n))


def _tolerance(rtol: float | Array | None, where: str) -> Any:
    return unwrap(rtol, f"{where}: rtol", FLOATING) if isinstance(rtol, Array) else rtol


@quiet
def matrix_rank(x: Array, /, *, rtol: float | Array | None = None) -> Array:
    """Return the ranks of matrices of a floating-point dtype, as int64.

    Singular values up to `rtol` times the largest count as zero; without it, the longer extent times the
    dtype's epsilon.
    """
    a = unwrap(x, "matrix_rank", FLOATING)
    if a.ndim < 2:
        message = f"matrix_rank takes matrices, not shape {a.shape}"
        raise np.linalg.LinAlgError(message)
    return wrap(_linalg.matrix_rank(a, rtol=_tolerance(rtol, "matrix_rank")))


@quiet
def outer(x1: Array, x2: Array, /) -> Array:
    """Return the products of all pairs of elements of two vectors, as a matrix.

    Of numeric dtypes that mix; a `TypeError` for others, a `ValueError` for other shapes.
    """
    a, b = _two(x1, x2, "outer", NUMERIC)
    if a.ndim != 1 or b.ndim != 1:
        message = f"outer takes vectors, not shapes {a.shape} and {b.shape}"
        raise ValueError(message)
    return wrap(np.multiply(a[:, None], b[None, :]))


@quiet
def pinv(x: Array, /, *, rtol: float | Array | None = None) -> Array:
    """Return the pseudo-inverses of matrices of a floating-point dtype; `rtol` is as for `matrix_rank`."""
    a = unwrap(x, "pinv", FLOATING)
    if rtol is None:
        rtol = float(max(a.shape[-2:], default=0) * np.finfo(a.dtype).eps)
    return wrap(_linalg.pinv(a, rtol=_tolerance(rtol, "pinv")))


@quiet
def qr(x: Array, /, *, mode: Literal["reduced", "complete"] = "reduced") -> QR:
    """Return orthonormal ``Q`` and upper triangular ``R`` with ``Q @ R`` equal to matrices.

    Of a floating-point dtype. With ``mode="complete"`` ``Q`` is square. A `ValueError` for another mode.
    """
    if mode not in {"reduced", "complete"}:
        message = f"qr: mode is 'reduced' or 'complete', not {mode!r}"
        raise ValueError(message)
    return QR(*map(wrap, _linalg.qr(unwrap(x, "qr", FLOATING), mode=mode)))


@quiet
def slogdet(x: Array, /) -> Slogdet:
    """Return the signs of determinants of square matrices, and the logarithms of their sizes."""
    return Slogdet(*map(wrap, _linalg.slogdet(unwrap(x, "slogdet", FLOATING))))


@quiet
def solve(x1: Array, x2: Array, /) -> Array:
    """Return ``x`` with ``x1 @ x`` equal to `x2`.

    Parameters
    ----------
    x1 : Array
        Square matrices ``(..., n, n)`` of a floating-point dtype.
    x2 : Array
        Matrices ``(..., n, k)``, or one vector ``(n,)``, of a dtype that mixes with that of `x1`.

    Raises
    ------
    TypeError
        Another kind of dtype, or they do not mix.
    LinAlgError
        A matrix is not square, or singular.
    ValueError
        Shapes do not fit.

    Examples
    --------
    >>> import arrayloom.array_api as xp
    >>> xp.linalg.solve(xp.asarray([[2.0]]), xp.asarray([4.0]))
    Array([2.], dtype=float64)
    """
    a, b = _two(x1, x2, "solve", FLOATING)
    return wrap(_linalg.solve(a, b))


@quiet
def svd(x: Array, /, *, full_matrices: bool = True) -> SVD:
    """Return ``U``, the singular values ``S`` descending and real, and ``Vh`` of matrices.

    Of a floating-point dtype. ``U`` and ``Vh`` are square if `full_matrices`.
    """
    a = unwrap(x, "svd", FLOATING)
    return SVD(*map(wrap, _linalg.svd(a, full_matrices=full_matrices)))


@quiet
def svdvals(x: Array, /) -> Array:
    """Return the singular values of matrices of a floating-point dtype, descending and real."""
    return wrap(_linalg.svdvals(unwrap(x, "svdvals", FLOATING)))


@quiet
def trace(x: Array, /, *, offset: int = 0, dtype: Dtype | None = None) -> Array:
    """Add the diagonals of matrices of a numeric dtype, `offset` places above the main one.

    In `dtype`, or as `sum` does. A `TypeError` for other dtypes, a `ValueError` for fewer than two axes.
    """
    a = unwrap(x, "trace", NUMERIC)
    if dtype is not None:
        check_cast(a.dtype, check_dtype(dtype, "trace"), "trace")
    return wrap(_linalg.trace(a, offset=offset, dtype=dtype))


@quiet
def vector_norm(
    x: Array,
    /,
    *,
    axis: int | tuple[int, ...] | None = None,
    keepdims: bool = False,
    ord: float = 2,
) -> Array:
    """Return norms along axes, as real numbers.

    Parameters
    ----------
    x : Array
        Of a floating-point dtype.
    axis : int or tuple of int, optional
        Along which axes, taken as one; all if absent.
    keepdims : bool
        Whether these axes stay, with extent 1.
    ord : float
        Which norm: a number, ``inf`` or ``-inf``.

    Raises
    ------
    TypeError
        Another kind of dtype.
    IndexError
        There is no such axis.

    Examples
    --------
    >>> import arrayloom.array_api as xp
    >>> xp.linalg.vector_norm(xp.asarray([3.0, 4.0]))
    Array(5., dtype=float64)
    """
    a = unwrap(x, "vector_norm", FLOATING)
    return wrap(_linalg.vector_norm(a, axis=axis, keepdims=keepdims, ord=ord))
