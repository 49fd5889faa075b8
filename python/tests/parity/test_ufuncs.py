"""Every ufunc of NumPy, on every dtype and layout, against NumPy itself: bits, types, warnings."""

import numpy as np
import pytest
from support.compare import differences, observe
from support.layouts import CONTIGUOUS, DTYPES, LAYOUTS, all_pairs, ordinary, values

# One entry per ufunc object: some have several names.
UFUNCS = sorted({f.__name__: f for f in vars(np).values() if isinstance(f, np.ufunc)})
PLAIN = [name for name in UFUNCS if getattr(np, name).signature is None]
UNARY = [name for name in PLAIN if getattr(np, name).nin == 1]
BINARY = [name for name in PLAIN if getattr(np, name).nin == 2]

# Documented: outside contiguous memory NumPy itself takes other loops for these.
LOOSE = frozenset(
    "exp exp2 expm1 log log2 log10 log1p sin cos tan arcsin arccos arctan sinh cosh tanh arcsinh"
    " arccosh arctanh cbrt power float_power logaddexp logaddexp2 arctan2 hypot".split()
)
ULPS = {"e": 1, "f": 2, "F": 2, "d": 1, "D": 1}
# NumPy multiplies complex numbers with fused operations in some of its loops and without them in
# others, depending on the steps: only contiguous arrays have bits to compare.
PRODUCTS = frozenset("multiply square absolute".split())
# NumPy takes the second of two equal operands in its vectors and either one beside them.
ZEROS = frozenset("fmax fmin".split())


def check(failures, label, body, xp, name="", layout="C", dtype="d"):
    loose = name in LOOSE and layout not in CONTIGUOUS
    found = differences(
        observe(body, np),
        observe(body, xp),
        ulps=ULPS.get(np.dtype(dtype).char, 0) if loose else 0,
        signed_zero=name not in ZEROS,
    )
    failures += [f"{label}: {line}" for line in found]


def comparable(name, layout, dtype):
    """Whether NumPy's own loops agree with each other here."""
    return np.dtype(dtype).kind != "c" or name not in PRODUCTS or layout in CONTIGUOUS


def report(failures):
    assert not failures, f"{len(failures)} differ\n" + "\n".join(failures[:12])


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("name", UNARY)
def test_unary(xp, name, dtype):
    failures, source = [], values(dtype)
    for layout, build in LAYOUTS.items():

        def body(m, build=build):
            return getattr(m, name)(build(m, source))

        if comparable(name, layout, dtype):
            check(failures, layout, body, xp, name, layout, dtype)
    report(failures)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("name", BINARY)
def test_binary(xp, name, dtype):
    failures, (left, right) = [], all_pairs(values(dtype), values(dtype))
    for layout, build in LAYOUTS.items():

        def body(m, build=build):
            return getattr(m, name)(build(m, left), build(m, right))

        if comparable(name, layout, dtype):
            check(failures, layout, body, xp, name, layout, dtype)
    report(failures)


@pytest.mark.parametrize("right", DTYPES)
@pytest.mark.parametrize("left", DTYPES)
def test_mixed_dtypes(xp, left, right):
    failures = []
    result = np.result_type(left, right).char
    names = "add subtract multiply divide floor_divide remainder maximum less equal arctan2"
    for name in [*names.split(), "logical_and", "bitwise_or", "copysign"]:

        def body(m, name=name):
            a, b = m.array(ordinary(left, 37)), m.array(ordinary(right, 37, 1))
            turned = a[::-1] if comparable(name, "negative", result) else a
            return getattr(m, name)(a, b), getattr(m, name)(turned, b)

        check(failures, name, body, xp, name, "mixed", result)
    report(failures)


@pytest.mark.parametrize("name", BINARY)
def test_layouts_meet(xp, name):
    failures = []
    dtype = "d" if (np.dtype("d"),) * 2 and "dd->d" in getattr(np, name).types else "l"
    left, right = ordinary(dtype, 36), ordinary(dtype, 36, 1)
    if dtype == "l":
        left, right = abs(left), abs(right) % 9
    shapes = {name: build for name, build in LAYOUTS.items() if name not in {"empty", "empty2"}}
    for one, build_left in shapes.items():
        for other, build_right in shapes.items():

            def body(m, build_left=build_left, build_right=build_right):
                return getattr(m, name)(build_left(m, left), build_right(m, right))

            check(failures, f"{one} with {other}", body, xp, name, "mixed", dtype)
    report(failures)


OPERATORS = {
    "+": lambda a, b: a + b, "-": lambda a, b: a - b, "*": lambda a, b: a * b,
    "/": lambda a, b: a / b, "//": lambda a, b: a // b, "%": lambda a, b: a % b,
    "**": lambda a, b: a**b, "<<": lambda a, b: a << b, ">>": lambda a, b: a >> b,
    "&": lambda a, b: a & b, "|": lambda a, b: a | b, "^": lambda a, b: a ^ b,
    "<": lambda a, b: a < b, "<=": lambda a, b: a <= b, "==": lambda a, b: a == b,
    "!=": lambda a, b: a != b, ">": lambda a, b: a > b, ">=": lambda a, b: a >= b,
    "divmod": divmod, "neg": lambda a, b: -a, "pos": lambda a, b: +a, "abs": lambda a, b: abs(a),
    "~": lambda a, b: ~a, "pow3": lambda a, b: pow(a, 2, None),
}  # fmt: skip

SCALARS = (
    0, 1, 2, -1, 3, 300, -129, 2**31, 2**63, 2**64, -(2**63), 10**30, 0.0, -0.0, 0.5, 2.0, -1.5,
    1e300, float("nan"), float("inf"), 1j, 2 + 0j, True, False, None, "x", [1, 2, 3],
    np.float64(1.5), np.float32(0.1), np.float16(2), np.int8(-3), np.uint8(200), np.int64(2**40),
    np.uint64(2**63), np.complex64(1j), np.bool_(True), (1.5,), [[1.0], [2.0]],
)  # fmt: skip


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("operator", OPERATORS)
def test_operators(xp, operator, dtype):
    failures, call = [], OPERATORS[operator]
    others = [ordinary(dtype, 24, 1), *SCALARS]
    for other in others:
        for flip in (False, True):

            def body(m, other=other, flip=flip):
                left = m.array(ordinary(dtype, 24)[:21]).reshape(7, 3)
                right = (
                    m.array(other[:21]).reshape(7, 3) if isinstance(other, np.ndarray) else other
                )
                return call(right, left) if flip else call(left, right)

            check(failures, f"{other!r:.40} flip={flip}", body, xp, "", "C", dtype)
    report(failures)


def _inplace(a, symbol, b):
    scope = {"a": a, "b": b}
    exec(f"a {symbol}= b", scope)
    return scope["a"]


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("symbol", "+ - * / // % ** << >> & | ^".split())
def test_in_place(xp, symbol, dtype):
    failures = []
    for other in (ordinary(dtype, 24, 1), ordinary("d", 24), ordinary("b", 24), *SCALARS):
        for layout in ("pending", "strided", "inner", "F", "broadcast", "unaligned"):
            if symbol in {"*", "**"} and not comparable("multiply", layout, dtype):
                continue

            def body(m, other=other, layout=layout):
                left = LAYOUTS[layout](m, ordinary(dtype, 24))
                right = other
                if isinstance(other, np.ndarray):
                    right = m.array(other[: left.size]).reshape(left.shape)
                kept = left
                return _inplace(left, symbol, right) is kept, kept, kept.base

            check(failures, f"{other!r:.40} {layout}", body, xp, "", "C", dtype)
    report(failures)


def calls(m, a, b, mask):
    """Every keyword of a ufunc call, each as a thunk."""
    out = lambda dtype="d", order="C": m.full(a.shape, 7, dtype, order)  # noqa: E731
    return {
        "out": lambda: m.add(a, b, out=out()),
        "out positional": lambda: m.add(a, b, out()),
        "out tuple": lambda: m.add(a, b, out=(out(),)),
        "out f4": lambda: m.add(a, b, out=out("f")),
        "out f4 unsafe": lambda: m.add(a, b, out=out("f"), casting="unsafe"),
        "out int": lambda: m.add(a, b, out=out("l")),
        "out int unsafe": lambda: m.add(a, b, out=out("l"), casting="unsafe"),
        "out complex": lambda: m.add(a, b, out=out("D")),
        "out F": lambda: m.multiply(a, b, out=out(order="F")),
        "out larger": lambda: m.add(a[0], b[0], out=out()),
        "out smaller": lambda: m.add(a, b, out=m.zeros(a.shape[1])),
        "out input": lambda: m.add(a, b, out=a),
        "out reversed": lambda: m.add(a, b, out=a[::-1]),
        "out shifted": lambda: m.add(a[1:], b[1:], out=a[:-1]),
        "where": lambda: m.add(a, b, where=mask, out=out()),
        "where row": lambda: m.add(a, b, where=mask[0], out=out()),
        "where scalar": lambda: m.add(a, b, where=False, out=out()),
        "where int": lambda: m.add(a, b, where=mask.astype("l"), out=out()),
        "where input": lambda: m.add(a, b, where=mask, out=b),
        "dtype f4": lambda: m.add(a, b, dtype="f"),
        "dtype f4 same_kind": lambda: m.add(a, b, dtype="f", casting="same_kind"),
        "dtype f4 safe": lambda: m.add(a, b, dtype="f", casting="safe"),
        "dtype complex": lambda: m.add(a, b, dtype=complex),
        "dtype int": lambda: m.add(a, b, dtype=int),
        "dtype int unsafe": lambda: m.add(a, b, dtype=int, casting="unsafe"),
        "casting no": lambda: m.add(a, b.astype("f"), casting="no"),
        "casting bad": lambda: m.add(a, b, casting="wrong"),
        "order F": lambda: m.add(a, b, order="F"),
        "order C": lambda: m.add(a.T, b.T, order="C"),
        "order A": lambda: m.add(a.T, b.T, order="A"),
        "order K": lambda: m.add(a.T, b, order="K"),
        "subok": lambda: m.add(a, b, subok=False),
        "signature": lambda: m.add(a, b, signature="ff->f", casting="same_kind"),
        "modf": lambda: m.modf(a),
        "modf out": lambda: m.modf(a, out=(out(), None)),
        "modf outs": lambda: m.modf(a, out(), out()),
        "frexp": lambda: m.frexp(a),
        "divmod": lambda: m.divmod(a, b),
        "divmod out": lambda: m.divmod(a, b, out=(a, b)),
        "too few": lambda: m.add(a),
        "too many": lambda: m.add(a, b, out(), out()),
        "bad keyword": lambda: m.add(a, b, wrong=1),
        "bad out": lambda: m.add(a, b, out=3),
        "outer": lambda: m.multiply.outer(a, b[0]),
        "at": lambda: m.add.at(a, [0, 0, 1], b[0]),
        "reduceat": lambda: m.add.reduceat(a, [0, 2, 1], axis=0),
    }


@pytest.mark.parametrize("name", sorted(calls(np, np.ones((4, 6)), np.ones((4, 6)), None)))
def test_call_forms(xp, name):
    def body(m):
        a, b = m.array(ordinary("d", 24)).reshape(4, 6), m.array(ordinary("d", 24, 1)).reshape(4, 6)
        mask = m.array(ordinary("?", 24)).reshape(4, 6)
        return calls(m, a, b, mask)[name](), a, b

    failures = []
    check(failures, name, body, xp)
    report(failures)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("name", [n for n in BINARY if getattr(np, n).nout == 1])
def test_methods(xp, name, dtype):
    failures, source = [], ordinary(dtype, 36)
    if np.dtype(dtype).kind in "iu":
        source = source % np.array(5, dtype)
    methods = {
        "reduce": lambda f, a: f.reduce(a),
        "reduce axis 1": lambda f, a: f.reduce(a, axis=1),
        "reduce all": lambda f, a: f.reduce(a, axis=None),
        "reduce keepdims": lambda f, a: f.reduce(a, axis=-1, keepdims=True),
        "accumulate": lambda f, a: f.accumulate(a),
        "accumulate axis 1": lambda f, a: f.accumulate(a, axis=1),
        "reduceat": lambda f, a: f.reduceat(a, [0, 3, 1, 5]),
        "outer": lambda f, a: f.outer(a[0], a[1]),
    }
    for label, call in methods.items():
        for layout in ("C2", "transposed", "inner"):

            def body(m, call=call, layout=layout):
                return call(getattr(m, name), LAYOUTS[layout](m, source))

            check(failures, f"{label} {layout}", body, xp, name, "methods", dtype)
    report(failures)


@pytest.mark.parametrize("dtype", DTYPES)
def test_scalar_and_small_operands_of_large_arrays(xp_default, dtype):
    failures, source = [], ordinary(dtype, 20003)
    for name in ("add", "subtract", "multiply", "divide", "maximum", "less", "sqrt", "exp", "abs"):

        def body(m, name=name):
            a = m.concatenate([m.array(source)] * 4)
            function = getattr(m, name)
            if function.nin == 1:
                return function(a), function(a[::2]), function(a)[5:9]
            turned = a[::-1] if comparable(name, "negative", dtype) else a
            return function(a, turned), function(a, 2), function(a[1:], a[:-1]), function(3, a)

        check(failures, name, body, xp_default, name, "mixed", dtype)
    report(failures)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("wanted", DTYPES)
def test_numbers_are_cast_to_the_dtype_that_is_asked_for(xp, dtype, wanted):
    failures, source = [], ordinary(dtype, 600)
    for number in (True, 1, -1, 300, 2.5, float("nan"), 2j):

        def body(m, number=number):
            a = m.array(source)
            return m.maximum(a, number, dtype=wanted), m.add(number, a, dtype=wanted)

        check(failures, str(number), body, xp, "maximum", "methods", dtype)
        if wanted == "?":

            def compared(m, number=number):
                return m.less(m.array(source), number, dtype=wanted)

            check(failures, f"less {number}", compared, xp, "less", "methods", dtype)

    def filled(m):
        out = m.zeros(600, wanted)
        m.add(1, 2.5, out=out, dtype="i4")
        return out

    check(failures, "out", filled, xp, "add", "methods", dtype)
    report(failures)


def test_an_empty_result_has_a_mask_of_its_shape(xp):
    failures = []
    for shape in ((4, 4), (0, 4), (4,), (3,)):

        def body(m, shape=shape):
            return m.add(1, m.ones(4), out=m.zeros((0, 4)), where=m.ones(shape, bool))

        check(failures, str(shape), body, xp, "add", "methods", "d")
    report(failures)


def test_keepdims_is_a_whole_number(xp):
    failures = []
    for keep in (True, 0, np.True_, None, 1.0, "yes"):

        def body(m, keep=keep):
            a = m.ones((60, 40)) * 2
            return a.sum(axis=1, keepdims=keep), m.max(a, 0, keepdims=keep)

        check(failures, repr(keep), body, xp, "sum", "methods", "d")
    report(failures)


@pytest.mark.parametrize("dtype", "fd")
@pytest.mark.parametrize("to", ["i8", "u8", "i4"])
def test_floats_to_integers_near_and_far(xp, dtype, to):
    far = [
        np.nan,
        np.inf,
        -np.inf,
        2.0**51,
        2.0**51 - 0.5,
        -(2.0**51),
        2.0**62,
        -(2.0**63),
        -0.0,
        -0.5,
    ]
    failures = []
    for size in (1, 63, 64, 65, 1000):
        for count in (0, 1, 5):
            draw = np.random.default_rng(size + count)
            numbers = draw.standard_normal(size) * 10.0 ** draw.integers(-3, 15, size)
            if to == "i8":
                numbers[draw.integers(0, size, count)] = draw.choice(far, count)
            else:
                numbers = np.abs(numbers) % 2.0**31

            numbers = numbers.astype(dtype)

            def body(m, numbers=numbers):
                with np.errstate(invalid="ignore"):
                    return m.array(numbers).astype(to), m.array(numbers)[::-1].astype(to)

            found = differences(observe(body, np), observe(body, xp))
            failures += [f"{size} {count}: {line}" for line in found]
    assert not failures, "\n".join(failures[:12])


@pytest.mark.parametrize("dtype", ["c8", "c16"])
def test_zeros_of_either_sign_at_the_bounds_of_complex_numbers(xp, dtype):
    parts = np.array([-0.0, 0.0, -1.0, 3.0, np.nan])
    source = np.resize(parts[:, None] + 1j * parts, 20_000).astype(dtype)
    source.real, source.imag = np.resize(parts, 20_000), np.resize(np.repeat(parts, 5), 20_000)
    failures = []
    for low, high in [(0, 2), (-0.0, 2), (-1, -0.0), (complex(0, -0.0), 1)]:

        def body(m, low=low, high=high):
            return m.clip(m.asarray(source) + 0, low, high)

        check(failures, f"{low} to {high}", body, xp)
    report(failures)


@pytest.mark.parametrize("into", ["f8", "f4", "i8", "?"])
def test_imaginary_parts_that_are_lost_are_told(xp, into):
    def body(m):
        out = m.zeros(40_000, into)
        m.add(m.full(40_000, 1 + 2j), 1, out=out, casting="unsafe")
        return out

    failures = []
    check(failures, into, body, xp)
    report(failures)


@pytest.mark.parametrize("dtype", ["f2", "f4", "f8", "c16", "i4"])
def test_zeros_of_either_sign_at_bounds_that_are_arrays(xp, dtype):
    places = np.arange(12_000)
    zero = np.zeros(12_000, dtype)
    a, low, high = (np.where(places % step < 2, zero, -zero) for step in (3, 4, 5))
    ranges = {
        "arrays": (low, high),
        "above": (low, zero + 1),
        "below": (zero - 1, high),
        "number and array": (low[0], high),
        "array and number": (low, high[0]),
        "numbers": (low[2], high[0]),
        "0-d": (np.array(low[2]), np.array(high[0])),
        "one": (low[2:3], high[:1]),
        "steps": (np.repeat(low, 2)[::2], high[::-1]),
        "repeated": (np.broadcast_to(low[2], 12_000), np.broadcast_to(high[0], 12_000)),
    }
    failures = []
    for name, bounds in ranges.items():
        for shape in ((12_000,), (60, 200)):

            def body(m, bounds=bounds, shape=shape):
                fitted = [m.array(b).reshape(shape) if b.size > 1 else b for b in bounds]
                return m.clip(m.array(a).reshape(shape), *fitted)

            check(failures, f"{name} {shape}", body, xp)
    for name, low_shape, high_shape in [
        ("rows", (200,), (200,)), ("columns", (60, 1), (60, 1)), ("both", (60, 1), (200,)), ("column", (60, 1), ()),
    ]:  # fmt: skip

        def body(m, low_shape=low_shape, high_shape=high_shape):
            bounds = (
                m.resize(m.array(b), shape) if shape else b[0]
                for b, shape in ((low, low_shape), (high, high_shape))
            )
            return m.clip(m.array(a).reshape(60, 200), *bounds)

        check(failures, name, body, xp)
    report(failures)


@pytest.mark.parametrize("dtype", ["c8", "c16"])
def test_bounds_with_a_part_that_is_no_number(xp, dtype):
    parts = [-np.inf, -1.0, -0.0, 0.0, 4.0, np.inf, np.nan]
    every = np.array([complex(re, im) for re in parts for im in parts], dtype)
    a = np.ascontiguousarray(np.broadcast_to(every[:, None, None], (49, 49, 49)))
    low, high = (np.ascontiguousarray(np.broadcast_to(b, a.shape)) for b in (every[:, None], every))
    failures = []
    check(failures, "arrays", lambda m: m.clip(m.array(a), m.array(low), m.array(high)), xp)
    for bound in every:

        def body(m, bound=bound):
            x = m.array(a[:, 0])
            return m.clip(x, bound, 2), m.clip(x, -2, bound), m.clip(x, bound, bound)

        check(failures, str(bound), body, xp)
    report(failures)


def mixed_with_long_long(m):
    a, q = m.arange(40_000.0) + 1, m.arange(40_000).astype("q")
    big = q.astype("Q")
    found = [
        a + q,
        q * a,
        q / 3,
        q > 7,
        np.sqrt(q),
        big != q,
        a - big[::-1],
        m.less(q, big[:1]),
        q % a,
    ]
    found += [q + q, q + 1, q + m.arange(40_000), -q, q // 2, big + m.arange(40_000), q & 3, q << 1]
    a += q
    with np.errstate(all="ignore"):
        return [(str(x.dtype.char), x) for x in (*found, a, *m.divmod(q, 3.0), m.arctan2(q, a))]


def test_longlong_is_an_operand_like_others(xp_both):
    assert not differences(
        observe(mixed_with_long_long, np), observe(mixed_with_long_long, xp_both)
    )
