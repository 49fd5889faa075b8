"""Elementwise functions and operators: values, dtypes and errors are those of array-api-strict."""

import operator

import numpy as np
import pytest
from hypothesis import assume
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from support.strictly import Named, agree, arrays, dtypes, elements, given, shapes

import arrayloom.array_api as xp
from arrayloom.array_api._rows import BINARY, UNARY

FORWARD = (
    "add sub mul truediv floordiv mod pow and_ or_ xor lshift rshift eq ne lt le gt ge".split()
)
IN_PLACE = "iadd isub imul itruediv ifloordiv imod ipow iand ior ixor ilshift irshift".split()
numbers = (
    st.booleans()
    | st.integers(-5, 5)
    | st.integers(-(2**70), 2**70)
    | st.floats(-4, 4)
    | st.sampled_from([float("nan"), float("inf"), 1e300])
    | st.complex_numbers(max_magnitude=4)
)


@st.composite
def pairs(draw):
    """Arrays of shapes that broadcast, or a number beside one."""
    count = 2
    found = draw(hnp.mutually_broadcastable_shapes(num_shapes=count, max_dims=3, max_side=3))
    first, second = (draw(arrays(shape=shape)) for shape in found.input_shapes)
    if draw(st.booleans()):
        second = draw(arrays(dtype=first.dtype.name, shape=second.shape))
    if draw(st.integers(0, 3)) == 0:
        second = draw(numbers)
    return (first, second) if draw(st.booleans()) else (second, first)


def left_open(name, pair):
    """Whether the standard leaves a result open, and array-api-strict has an answer of its own."""
    row = BINARY.get(name)
    if row is not None and "shift" in name:
        # Our operators and functions are one; only its functions refuse negative counts.
        counts = pair[1]
        kind = counts.dtype.kind if isinstance(counts, np.ndarray) else ""
        return isinstance(counts, int) or (kind == "i" and bool(np.any(counts < 0)))
    if name in {"mul", "imul", "multiply"}:
        # It gives an array without axes one, for whose products with complex numbers NumPy rounds in another way.
        kinds, ranks = zip(*((np.asarray(x).dtype.kind, np.ndim(x)) for x in pair), strict=True)
        return "c" in kinds and min(ranks) == 0 < max(ranks)
    if name in {"pow", "ipow"}:
        # NumPy takes a root for a power by 0.5, a square by 2 and a reciprocal by -1, if the layouts let it see that
        # the exponent is the same for a whole row.
        base, exponent = map(np.asarray, pair)
        repeats = exponent.size > 1 and np.broadcast(base, exponent).shape != exponent.shape
        return repeats and bool(np.isin(exponent, [-1, 0.5, 2]).any())
    compares = name in {"lt", "le", "gt", "ge"} or (
        row is not None and "c" not in row.takes.letters
    )
    # It compares floats with complex numbers.
    return compares and any(isinstance(x, complex) for x in pair)


@pytest.mark.parametrize("name", UNARY)
@given(x=arrays())
def test_of_one(name, x):
    # It divides complex numbers by their size, NumPy finds their direction in another way.
    assume(not (name == "sign" and x.dtype.kind == "c"))
    agree(lambda ns, x: getattr(ns, name)(x), x)


@pytest.mark.parametrize("name", BINARY)
@given(pair=pairs())
def test_of_two(name, pair):
    assume(not left_open(name, pair))
    # Its functions that shift look at counts first, then at dtypes.
    agree(lambda ns, a, b: getattr(ns, name)(a, b), *pair, several="shift" in name)


@pytest.mark.parametrize("name", FORWARD)
@given(pair=pairs())
def test_operators(name, pair):
    assume(not left_open(name, pair))
    agree(lambda ns, a, b: getattr(operator, name)(a, b), *pair)


@pytest.mark.parametrize("name", IN_PLACE)
@given(pair=pairs())
def test_in_place(name, pair):
    def body(ns, a, b):
        seen = a
        a = getattr(operator, name)(a, b)
        assert a is seen
        return a

    assume(not left_open(name, pair))
    if isinstance(pair[0], np.ndarray):
        agree(body, *pair)


@pytest.mark.parametrize("name", ["abs", "neg", "pos", "invert"])
@given(x=arrays())
def test_signs(name, x):
    agree(lambda ns, x: getattr(operator, name)(x), x)


@given(choose=arrays(dtype=st.sampled_from(["bool", "int8"]), shape=(2, 1)), pair=pairs())
def test_where(choose, pair):
    agree(lambda ns, c, a, b: ns.where(c, a, b), choose, *pair, several=True)


@st.composite
def bounded(draw):
    dtype = draw(dtypes)
    x = draw(arrays(dtype=dtype, shape=(2, 3)))
    low, high = sorted(draw(st.lists(st.integers(0, 9), min_size=2, max_size=2)))
    bounds = []
    for value in (low, high):
        made = draw(st.sampled_from(["none", "number", "array", "rows"]))
        other = draw(st.sampled_from([dtype, "int64"] if dtype.startswith(("i", "u")) else [dtype]))
        array = np.full((2, 1) if made == "rows" else (), value).astype(other)
        bounds.append({"none": None, "number": value}.get(made, array))
    return x, *bounds


@given(case=bounded())
def test_clip(case):
    agree(lambda ns, *case: ns.clip(*case), *case)


@pytest.mark.parametrize("name", ["less", "atan2", "maximum", "floor_divide"])
def test_complex_numbers_do_not_go_where_complex_arrays_do_not(name):
    with pytest.raises(TypeError, match="complex"):
        getattr(xp, name)(xp.ones(2), 1j)


def test_clip_by_bounds_that_the_dtype_does_not_reach():
    x = xp.asarray([0, 100], dtype=xp.int8)
    wide = xp.asarray([-1000, 1000])
    assert [int(v) for v in xp.clip(x, -1000, 50)] == [0, 50]
    assert [int(v) for v in xp.clip(x, wide, 1000)] == [0, 127]
    assert xp.clip(x, wide, None).dtype == xp.int8
    with pytest.raises(TypeError, match="do not mix"):
        xp.clip(x, xp.asarray(1.5))
    with pytest.raises(TypeError, match="integer"):
        xp.clip(x, 1.5)


@given(x=arrays(dtype=st.sampled_from(["float32", "int16"])), data=st.data())
def test_clip_leaves_the_array(x, data):
    held = xp.asarray(x, copy=True)
    xp.clip(held)[...] = data.draw(elements("int8"))
    np.testing.assert_array_equal(np.from_dlpack(held), x)


@pytest.mark.parametrize("name", ["positive", "real", "conj", "round", "ceil"])
def test_results_have_memory_of_their_own(name):
    x = xp.asarray([1, 2])
    getattr(xp, name)(x)[0] = 7
    assert int(x[0]) == 1


@pytest.mark.parametrize("other", [np.ones(2), np.float64(1), np.int64(1)])
def test_numpy_does_not_mix(other):
    x = xp.ones(2)
    for body in (
        lambda: x + other,
        lambda: other + x,
        lambda: xp.add(x, other),
        lambda: x == other,
    ):
        with pytest.raises(TypeError, match="arrayloom"):
            body()


def test_strangers_may_answer():
    class Stranger:
        def __radd__(self, other):
            return "mine"

        def __rmatmul__(self, other):
            return "mine"

    assert xp.ones(2) + Stranger() == xp.ones(2) @ Stranger() == "mine"
    assert (xp.ones(2) == None) is False  # noqa: E711 - the operator is meant
    with pytest.raises(TypeError, match="unsupported operand"):
        xp.ones(2) - "text"
    with pytest.raises(TypeError, match="add takes arrays"):
        xp.add(xp.ones(2), "text")


def test_directions_of_complex_numbers():
    x = xp.asarray([3 + 4j, 0j, complex(0, xp.inf)])
    np.testing.assert_allclose(np.from_dlpack(xp.sign(x)), [0.6 + 0.8j, 0, 1j], rtol=1e-15)


def test_nothing_warns():
    x = xp.asarray([0.0, -1.0])
    assert [float(v) for v in 1 / xp.abs(x)] == [float("inf"), 1]
    assert bool(xp.isnan(xp.log(x)[1]))
    assert int(xp.asarray([1])[0] // 0) == 0
    # A number that a dtype does not reach.
    x = xp.zeros(2, dtype=xp.float32)
    x[0] = 1e300
    for found in (x[0], xp.where(x > 0, 1e300, x)[0], xp.full_like(x, 1e300)[0], (x + 1e300)[0]):
        assert float(found) == xp.inf
    assert int(xp.searchsorted(x, 1e300)) == 2
    assert float(xp.full(1, 1e300, dtype=xp.float32)[0]) == xp.inf


@given(pair=st.tuples(dtypes, dtypes))
def test_result_type(pair):
    first, second = map(Named, pair)
    agree(lambda ns, a, b: ns.result_type(a, b), first, second)
    agree(lambda ns, a, b: ns.can_cast(a, b), first, second)


@given(x=arrays(shape=shapes), dtype=dtypes, copy=st.booleans())
def test_astype(x, dtype, copy):
    whole = not (x.dtype.kind in "fc" and np.dtype(dtype).kind in "iu")
    if whole:
        agree(lambda ns, x, d: ns.astype(x, d, copy=copy), x, Named(dtype))
