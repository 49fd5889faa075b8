"""Functions that make arrays, dtypes, and what the namespace tells of itself."""

import copy
import pickle

import numpy as np
import pytest
from hypothesis import strategies as st
from support.standard import DTYPES
from support.strictly import Named, agree, arrays, dtypes, given, like, shapes

import arrayloom
import arrayloom.array_api as xp

maybe_dtypes = st.none() | dtypes.map(Named)
VALUES = (
    st.booleans() | st.integers(-200, 200) | st.floats(-4, 4) | st.complex_numbers(max_magnitude=4)
)


@pytest.mark.parametrize("name", ["zeros", "ones"])
@given(shape=shapes | st.integers(-1, 5), dtype=maybe_dtypes)
def test_constant_arrays(name, shape, dtype):
    agree(lambda ns, dtype: getattr(ns, name)(shape, dtype=dtype), dtype)
    agree(lambda ns, dtype: getattr(ns, name + "_like")(ns.empty(shape), dtype=dtype), dtype)
    agree(lambda ns, dtype: ns.zeros_like(ns.empty(shape, dtype=dtype)), dtype)
    agree(lambda ns, dtype: ns.empty_like(ns.ones(shape, dtype=dtype)).shape, dtype)


@given(shape=shapes, value=VALUES, dtype=maybe_dtypes)
def test_full(shape, value, dtype):
    if isinstance(value, complex) and dtype not in {None, "complex64", "complex128"}:
        with pytest.raises(TypeError, match="imag"):
            xp.full(shape, value, dtype=getattr(xp, dtype))
        return
    agree(lambda ns, dtype: ns.full(shape, value, dtype=dtype), dtype)
    if not isinstance(value, complex):
        agree(
            lambda ns, dtype: ns.full_like(ns.zeros(shape, dtype=ns.int16), value, dtype=dtype),
            dtype,
        )


def test_full_takes_its_dtype_from_the_value():
    for value, dtype in ((True, xp.bool), (3, xp.int64), (2.5, xp.float64), (1j, xp.complex128)):
        for shape in (2, (300, 300)):
            assert xp.full(shape, value).dtype == dtype
    with pytest.raises(OverflowError):
        xp.full(2, 2**70)
    with pytest.raises(TypeError, match="Python number"):
        xp.full(2, xp.ones(1))
    # SciPy does so.
    assert xp.full(2, xp.asarray(1, dtype=xp.int8)).dtype == xp.int8


@given(
    bounds=st.lists(st.integers(-9, 9), min_size=1, max_size=3)
    | st.lists(st.floats(-9, 9).map(lambda x: round(x, 2)), min_size=1, max_size=3),
    dtype=st.none() | st.sampled_from(["int64", "float32", "float64"]).map(Named),
)
def test_arange(bounds, dtype):
    if len(bounds) < 3 or abs(bounds[2]) > 0.1 or bounds[2] == 0:
        agree(lambda ns, dtype: ns.arange(*bounds, dtype=dtype), dtype)


@given(
    start=st.integers(-5, 5) | st.just(1j),
    stop=st.floats(-5, 5),
    num=st.integers(0, 6),
    endpoint=st.booleans(),
)
def test_linspace(start, stop, num, endpoint):
    agree(lambda ns: ns.linspace(start, stop, num, endpoint=endpoint))


@given(rows=st.integers(0, 4), columns=st.none() | st.integers(0, 4), k=st.integers(-3, 3))
def test_eye(rows, columns, k):
    agree(lambda ns: ns.eye(rows, columns, k=k, dtype=ns.float32))


@given(x=arrays(), k=st.integers(-3, 3))
def test_triangles(x, k):
    agree(lambda ns, x: (ns.tril(x, k=k), ns.triu(x, k=k)), x)


@given(x=arrays(shape=(2,)), y=arrays(shape=(3,)), indexing=st.sampled_from(["xy", "ij", "no"]))
def test_meshgrid(x, y, indexing):
    agree(lambda ns, x, y: ns.meshgrid(x, y, indexing=indexing), x, like(y, x))


@given(values=st.recursive(VALUES, lambda inner: st.lists(inner, max_size=2), max_leaves=4))
def test_asarray_of_numbers(values):
    agree(lambda ns: ns.asarray(values))


@given(x=arrays(), dtype=dtypes)
def test_asarray_in_another_dtype(x, dtype):
    if np.can_cast(x.dtype, dtype, "same_kind"):
        agree(lambda ns, x, dtype: ns.asarray(x, dtype=dtype), x, Named(dtype))


def test_asarray_shares_memory_unless_it_is_told_otherwise():
    plain = np.zeros(3)
    for source in (plain, xp.asarray(plain)):
        assert shared(xp.asarray(source), plain)
        assert shared(xp.asarray(source, copy=False), plain)
        assert not shared(xp.asarray(source, copy=True), plain)
    with pytest.raises(ValueError, match="copy"):
        xp.asarray(plain, dtype=xp.int8, copy=False)
    with pytest.raises(ValueError, match="copy"):
        xp.asarray([1, 2], copy=False)


def shared(x, plain):
    return np.shares_memory(np.from_dlpack(x), plain)


def test_asarray_takes_buffers_and_arrays_of_arrayloom():
    assert xp.asarray(memoryview(b"ab")).dtype == xp.uint8
    a = arrayloom.ones((300, 300))
    x = xp.asarray(a)
    x[0, 0] = 5
    assert a[0, 0] == 5


@pytest.mark.parametrize(
    ("value", "kind", "words"),
    [
        ("text", TypeError, "no dtype of the standard"),
        ([object()], TypeError, "no number"),
        ([2**70], OverflowError, "too large"),
        (2**70, OverflowError, "too large"),
        (np.ones(2, "f2"), TypeError, "float16"),
        (np.ones(2, ">f8"), TypeError, "no dtype of the standard"),
    ],
)
def test_asarray_refuses(value, kind, words):
    with pytest.raises(kind, match=words):
        xp.asarray(value)


@pytest.mark.parametrize(
    "wrong", [float, "float64", np.float64, np.dtype("f2"), np.dtype(">i4"), 3]
)
def test_other_dtypes_are_refused(wrong):
    for body in (xp.zeros, lambda _, dtype: xp.asarray([1], dtype=dtype)):
        with pytest.raises(TypeError, match="no dtype of the standard"):
            body(2, dtype=wrong)
    with pytest.raises(TypeError, match="no dtype of the standard"):
        xp.astype(xp.ones(2), wrong)


def test_complex_numbers_do_not_become_real():
    x = xp.asarray([1j])
    for body in (lambda: xp.astype(x, xp.float64), lambda: xp.asarray(x, dtype=xp.int64)):
        with pytest.raises(TypeError, match="imag"):
            body()


def test_dtypes_compare():
    for name in DTYPES:
        dtype = getattr(xp, name)
        assert xp.zeros(1, dtype=dtype).dtype == dtype
        assert [other for other in DTYPES if getattr(xp, other) == dtype] == [name]
        assert hash(dtype) == hash(np.zeros(1, dtype=name).dtype)
    assert xp.asarray([1]).dtype == xp.asarray(np.arange(1, dtype=np.longlong)).dtype == xp.int64


KINDS = (
    "bool,signed integer,unsigned integer,integral,real floating,complex floating,numeric".split(
        ","
    )
)


@pytest.mark.parametrize("dtype", DTYPES)
def test_kinds(dtype):
    for kind in (*KINDS, ("bool", "integral"), Named("int8"), (Named("int8"), "bool"), "none", 3):
        agree(lambda ns, dtype, kind: ns.isdtype(dtype, kind), Named(dtype), kind)
    agree(lambda ns, dtype: ns.result_type(dtype, 1) == dtype, Named(dtype))


@pytest.mark.parametrize("dtype", DTYPES)
def test_limits(dtype):
    def floats(ns, dtype):
        info = ns.finfo(dtype)
        return [info.bits, info.eps, info.max, info.min, info.smallest_normal, info.dtype]

    def integers(ns, dtype):
        info = ns.iinfo(dtype)
        return [info.bits, info.max, info.min, info.dtype]

    kind = np.dtype(dtype).kind
    if kind in "fc":
        agree(floats, Named(dtype))
        assert type(xp.finfo(xp.ones(1, dtype=getattr(xp, dtype))).eps) is float
    elif kind in "iu":
        agree(integers, Named(dtype))
    for function, letters in ((xp.finfo, "fc"), (xp.iinfo, "iu")):
        if kind not in letters:
            with pytest.raises(TypeError, match="dtypes"):
                function(getattr(xp, dtype))


def test_info():
    info = xp.__array_namespace_info__()
    assert info.capabilities()["boolean indexing"] is True
    assert info.capabilities()["data-dependent shapes"] is True
    assert info.devices() == [info.default_device()] == ["cpu"]
    assert info.dtypes() == {name: getattr(xp, name) for name in DTYPES}
    for kind in (*KINDS, ("bool", "integral"), ()):
        agree(lambda ns, kind=kind: sorted(ns.__array_namespace_info__().dtypes(kind=kind)))
    agree(lambda ns: sorted(ns.__array_namespace_info__().default_dtypes().items()))
    with pytest.raises(ValueError, match="integral"):
        info.dtypes(kind="none")


def test_devices():
    x = xp.ones(2, device="cpu")
    assert x.device == "cpu"
    assert x.to_device("cpu") is x
    for body in (
        lambda: x.to_device("cuda"),
        lambda: xp.ones(2, device="cuda"),
        lambda: xp.asarray(1, device="cuda"),
        lambda: xp.astype(x, xp.int8, device="cuda"),
        lambda: xp.from_dlpack(x, device="cuda"),
        lambda: xp.fft.fftfreq(4, device="cuda"),
        lambda: xp.__array_namespace_info__().dtypes(device="cuda"),
    ):
        with pytest.raises(ValueError, match="there are 'cpu'"):
            body()
    with pytest.raises(ValueError, match="stream"):
        x.to_device("cpu", stream=1)


@given(x=arrays())
def test_copies(x):
    held = xp.asarray(x)
    for made in (pickle.loads(pickle.dumps(held)), copy.deepcopy(held)):
        assert type(made) is xp.Array
        np.testing.assert_array_equal(np.from_dlpack(made), x, strict=True)
        assert not x.size or not shared(made, x)


def test_shown_as_it_is_made():
    assert repr(xp.asarray([1.5, 2])) == "Array([1.5, 2. ], dtype=float64)"
    assert repr(xp.asarray(True)) == "Array(True, dtype=bool)"
    assert repr(xp.zeros((0, 2), dtype=xp.int8)) == "Array([], shape=(0, 2), dtype=int8)"
