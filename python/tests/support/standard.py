"""Names and signatures of the Python array API standard, version 2024.12, and four names of 2025.12.

A signature is written as the standard has it, without types. Each function of a group has its text.
"""

__all__ = ["ATTRIBUTES", "CONSTANTS", "DTYPES", "KINDS", "SIGNATURES", "signatures"]

DTYPES = (
    "bool int8 int16 int32 int64 uint8 uint16 uint32 uint64 float32 float64 complex64 complex128"
).split()
CONSTANTS = ("e", "inf", "nan", "newaxis", "pi")

# Letters of NumPy's kinds, as the standard groups dtypes.
KINDS = {
    "any": "biufc",
    "boolean": "b",
    "integer": "iu",
    "integer or boolean": "biu",
    "real floating-point": "f",
    "complex floating-point": "c",
    "floating-point": "fc",
    "real numeric": "iuf",
    "numeric": "iufc",
}

_UNARY = """
    abs acos acosh asin asinh atan atanh bitwise_invert ceil conj cos cosh exp expm1 floor imag isfinite
    isinf isnan log log10 log1p log2 logical_not negative positive real reciprocal round sign signbit sin
    sinh sqrt square tan tanh trunc
"""
_BINARY = """
    add atan2 bitwise_and bitwise_left_shift bitwise_or bitwise_right_shift bitwise_xor copysign divide
    equal floor_divide greater greater_equal hypot less less_equal logaddexp logical_and logical_or
    logical_xor maximum minimum multiply nextafter not_equal pow remainder subtract
"""

SIGNATURES = {
    "(x, /)": _UNARY
    + "unique_all unique_counts unique_inverse unique_values nonzero matrix_transpose",
    "(x1, x2, /)": _BINARY + "matmul",
    "(x, /, min=None, max=None)": "clip",
    "(condition, x1, x2, /)": "where",
    "(obj, /, *, dtype=None, device=None, copy=None)": "asarray",
    "(x, /, *, device=None, copy=None)": "from_dlpack",
    "(shape, *, dtype=None, device=None)": "empty ones zeros",
    "(x, /, *, dtype=None, device=None)": "empty_like ones_like zeros_like",
    "(shape, fill_value, *, dtype=None, device=None)": "full",
    "(x, /, fill_value, *, dtype=None, device=None)": "full_like",
    "(n_rows, n_cols=None, /, *, k=0, dtype=None, device=None)": "eye",
    "(start, /, stop=None, step=1, *, dtype=None, device=None)": "arange",
    "(start, stop, /, num, *, dtype=None, device=None, endpoint=True)": "linspace",
    "(*arrays, indexing='xy')": "meshgrid",
    "(x, /, *, k=0)": "tril triu",
    "(x, dtype, /, *, copy=True, device=None)": "astype",
    "(from_, to, /)": "can_cast",
    "(type, /)": "finfo iinfo",
    "(dtype, kind)": "isdtype",
    "(*arrays_and_dtypes)": "result_type",
    "()": "__array_namespace_info__",
    "(*shapes)": "broadcast_shapes",
    "(*arrays)": "broadcast_arrays",
    "(x, /, shape)": "broadcast_to",
    "(arrays, /, *, axis=0)": "concat stack",
    "(x, /, *, axis=0)": "unstack",
    "(x, /, axis)": "expand_dims squeeze",
    "(x, /, *, axis=None)": "flip",
    "(x, source, destination, /)": "moveaxis",
    "(x, /, axes)": "permute_dims",
    "(x, repeats, /, *, axis=None)": "repeat",
    "(x, /, shape, *, copy=None)": "reshape",
    "(x, /, shift, *, axis=None)": "roll",
    "(x, repetitions, /)": "tile",
    "(x, /, *, axis=None, keepdims=False)": "all any argmax argmin count_nonzero max mean min",
    "(x, /, *, axis=None, dtype=None, keepdims=False)": "prod sum",
    "(x, /, *, axis=None, correction=0.0, keepdims=False)": "std var",
    "(x, /, *, axis=None, dtype=None, include_initial=False)": "cumulative_prod cumulative_sum",
    "(x, /, *, axis=-1, n=1, prepend=None, append=None)": "diff",
    "(x1, x2, /, *, side='left', sorter=None)": "searchsorted",
    "(x1, x2, /, *, invert=False)": "isin",
    "(x, indices, /, *, axis=None)": "take",
    "(x, indices, /, *, axis=-1)": "take_along_axis",
    "(x, /, *, axis=-1, descending=False, stable=True)": "argsort sort",
    "(x1, x2, /, *, axes=2)": "tensordot",
    "(x1, x2, /, *, axis=-1)": "vecdot",
}

_LINALG = {
    "(x, /)": "det eig eigh eigvals eigvalsh inv matrix_transpose slogdet svdvals",
    "(x1, x2, /)": "matmul outer solve",
    "(x1, x2, /, *, axis=-1)": "cross vecdot",
    "(x1, x2, /, *, axes=2)": "tensordot",
    "(x, /, *, upper=False)": "cholesky",
    "(x, /, *, offset=0)": "diagonal",
    "(x, /, *, keepdims=False, ord='fro')": "matrix_norm",
    "(x, n, /)": "matrix_power",
    "(x, /, *, rtol=None)": "matrix_rank pinv",
    "(x, /, *, mode='reduced')": "qr",
    "(x, /, *, full_matrices=True)": "svd",
    "(x, /, *, offset=0, dtype=None)": "trace",
    "(x, /, *, axis=None, keepdims=False, ord=2)": "vector_norm",
}

_FFT = {
    "(x, /, *, n=None, axis=-1, norm='backward')": "fft hfft ifft ihfft irfft rfft",
    "(x, /, *, s=None, axes=None, norm='backward')": "fftn ifftn irfftn rfftn",
    "(n, /, *, d=1.0, dtype=None, device=None)": "fftfreq rfftfreq",
    "(x, /, *, axes=None)": "fftshift ifftshift",
}

_OPERATORS = "add sub mul truediv floordiv mod pow matmul and or xor lshift rshift".split()
ATTRIBUTES = {
    *"dtype device ndim shape size T mT to_device".split(),
    *"__array_namespace__ __dlpack__ __dlpack_device__ __getitem__ __setitem__".split(),
    *"__bool__ __int__ __float__ __complex__ __index__".split(),
    *"__abs__ __neg__ __pos__ __invert__ __eq__ __ne__ __lt__ __le__ __gt__ __ge__".split(),
    *(f"__{prefix}{word}__" for word in _OPERATORS for prefix in ("", "r", "i")),
}


def signatures(namespace=""):
    """Yield every function of a namespace, ``""``, ``"linalg"`` or ``"fft"``, with its signature."""
    table = {"": SIGNATURES, "linalg": _LINALG, "fft": _FFT}[namespace]
    for signature, names in table.items():
        for name in names.split():
            yield name, signature
