"""Warnings about numbers come as in NumPy: same text, same line, same rules of ``errstate``."""

import warnings

import numpy as np
import pytest
from support.compare import differences, observe
from support.process import output

from arrayloom import _warnings


@pytest.fixture(autouse=True, params=["at once", "late"])
def attention(request, monkeypatch):
    """Collected warnings come at once; without that rule they come when operations are computed."""
    if request.param == "late":
        monkeypatch.setattr(_warnings, "_wanted", lambda *_, **__: False)


def collect(body, m):
    """Warnings as (category, message, line number within this file)."""
    with warnings.catch_warnings(record=True) as log:
        warnings.simplefilter("always")
        body(m)
    kept = [w for w in log if w.category.__name__ != "FallbackWarning"]
    return sorted(
        (w.category.__name__, str(w.message), w.filename == __file__, w.lineno) for w in kept
    )


def several_lines(m):
    a = m.arange(20000.0)
    b = 1 / a
    c = m.log(a - 3)
    d = m.sqrt(-a)
    e = (a * 1e305) * 1e10
    f = m.exp(a)
    g = b + c
    h = (a - a) / (a - a)
    k = m.array([1e300] * 9000).astype("f")
    i = m.arange(20000) // m.zeros(20000, int)
    return [float(x[5]) for x in (b, c, d, e, f, g, h, k, i)]


def shared(m):
    a = m.arange(20000.0)
    b, c = a // 0, a % 0
    d = m.divmod(a, 0)
    e = m.arange(20000)
    f, g = e % 0, m.divmod(e, 0)
    h = m.sqrt(-a) + 1
    k = m.sqrt(-a)
    return [float(x[5]) for x in (b, c, *d, f, *g, h, k)]


def test_operations_that_do_the_same_meet_the_same(xp_both):
    want, got = collect(shared, np), collect(shared, xp_both)
    assert len(want) >= 8
    assert got == want


def test_lines(xp_both):
    want, got = collect(several_lines, np), collect(several_lines, xp_both)
    assert len(want) >= 8
    assert got == want


def blocks(m):
    a = m.arange(60000.0)
    with warnings.catch_warnings(record=True) as heard:
        warnings.simplefilter("always")
        b = 1 / a
    told = [(str(w.message), w.lineno) for w in heard]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        c = m.log(a - 3)
    d = m.sqrt(a - 5)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        e = float(d[7])
    return told, float(b[1]), float(c[5]), e


def test_a_warning_comes_in_the_block_of_its_operation(xp_both):
    want, got = [], []
    assert collect(lambda m: want.append(blocks(m)), np) == collect(
        lambda m: got.append(blocks(m)), xp_both
    )
    assert want[0][0], "NumPy warns in the first block"
    assert got == want


def divided_where_warnings_are_errors(a):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        a /= 0


def test_a_block_may_make_the_warning_an_error(xp_both):
    filters, a = list(warnings.filters), xp_both.arange(60000.0)
    with pytest.raises(RuntimeWarning, match="divide by zero encountered in divide"):
        divided_where_warnings_are_errors(a)
    assert list(warnings.filters) == filters
    with pytest.warns(RuntimeWarning, match="overflow encountered in multiply"):
        a = (xp_both.arange(60000.0) + 1) * 1e308


def imaginary_parts_dropped(m):
    a = m.arange(20000.0) + 1j
    return [
        a.sum(dtype="d"), a.mean(dtype="f"), m.add.reduce(a.reshape(2, -1), axis=0, dtype="d")[3],
        m.add.accumulate(a, dtype="d")[3], a.cumsum(dtype="f")[3], (a[:9] + a[:9]).prod(dtype="d"),
        a.astype("d")[3], m.add.reduce(a, dtype=bool), a.any(),
    ]  # fmt: skip


def test_folds_that_drop_imaginary_parts(xp_both):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        want, got = imaginary_parts_dropped(np), imaginary_parts_dropped(xp_both)
    assert got == want
    want, got = collect(imaginary_parts_dropped, np), collect(imaginary_parts_dropped, xp_both)
    assert len(want) == 7
    assert got == want


def nothing_wrong(m):
    a = m.arange(20000.0) + 1
    b = m.sqrt(a) / a - m.log(a) * m.exp(-a / 1e4)
    c = m.where(a > 5, 1 / a, 0) + m.maximum(b, m.inf) * 0.5
    d = m.arange(20000.0)[::-1] % 7 + m.hypot(a, b)
    # Several folds in one kernel, with every starting value that a fold may have.
    e = m.reshape(b, (1, -1))
    f = [fold(e, axis=0) for fold in (m.sum, m.max, m.min, m.prod, m.fmax.reduce, m.argmax)]
    return (
        float((b + c + d).sum()), float(m.array([1.0, m.nan] * 9000)[1]), b.mean(), d.std(),
        [float(x[1]) for x in f],
    )  # fmt: skip


def test_no_warning_without_reason(xp_both):
    assert collect(nothing_wrong, np) == []
    assert collect(nothing_wrong, xp_both) == []


OPERATIONS = {
    "divide": lambda m, a: a / (a - 5),
    "divide zeros": lambda m, a: (a - a) / (a - a),
    "reciprocal": lambda m, a: m.reciprocal(a),
    "floor_divide": lambda m, a: a // 0.0,
    "remainder": lambda m, a: a % 0.0,
    "fmod": lambda m, a: m.fmod(a, 0.0),
    "divmod": lambda m, a: divmod(a, 0.0),
    "int floor_divide": lambda m, a: a.astype("l") // 0,
    "int remainder": lambda m, a: a.astype("l") % 0,
    "int minimum": lambda m, a: m.full(20000, -(2**63)) // -1,
    "int negative minimum": lambda m, a: -m.full(20000, -(2**63)),
    "overflow": lambda m, a: (a + 1) * 1e308 * 10,
    "overflow add": lambda m, a: a * 0 + 1.7e308 + 1.7e308,
    "overflow f4": lambda m, a: (a.astype("f") + 1) * m.float32(3e38),
    "overflow f2": lambda m, a: (a % 100).astype("e") * m.float16(60000),
    "overflow cast": lambda m, a: (a * 1e300).astype("f"),
    "invalid cast": lambda m, a: (a * m.nan).astype("l"),
    "invalid cast store": lambda m, a: m.copyto(b := m.zeros(20000, int), a * m.nan, "unsafe") or b,
    "underflow": lambda m, a: (a * 1e-300) * 1e-300,
    "log": lambda m, a: m.log(a),
    "log negative": lambda m, a: m.log(-1 - a),
    "log1p": lambda m, a: m.log1p(-a),
    "sqrt": lambda m, a: m.sqrt(-a),
    "arcsin": lambda m, a: m.arcsin(a),
    "arctanh": lambda m, a: m.arctanh(a),
    "exp": lambda m, a: m.exp(a),
    "expm1": lambda m, a: m.expm1(a),
    "sinh": lambda m, a: m.sinh(a),
    "sin inf": lambda m, a: m.sin(a * m.inf),
    "power": lambda m, a: m.power(a, 500.0),
    "power negative": lambda m, a: (a - 5) ** 0.5,
    "power zero": lambda m, a: a**-1.0,
    "square": lambda m, a: m.square(a * 1e200),
    "inf minus inf": lambda m, a: a * m.inf + a * -m.inf,
    "zero times inf": lambda m, a: m.multiply(a, m.inf),
    "complex divide": lambda m, a: (a + 1j) / 0,
    "complex abs": lambda m, a: abs(a * 1e308 + 1e308j),
    "sum": lambda m, a: (a * 1e304).sum(),
    "sum f2": lambda m, a: m.ones(90000, "e").sum(),
    "sum of the sums of threads": lambda m, a: m.full(10**6, 2.5e302).sum(),
    "sum axis": lambda m, a: (a * 1e305).reshape(100, -1).sum(0),
    "prod": lambda m, a: (a + 1).prod(),
    "cumprod": lambda m, a: (a + 1).cumprod(),
    "mean empty": lambda m, a: a[:0].mean(),
    "var empty": lambda m, a: a[:1].var(ddof=1),
    "std": lambda m, a: (a * 1e200).std(),
    "mean of inf": lambda m, a: (a * m.inf)[1:].mean() - (a * m.inf)[2],
    "nan comparison": lambda m, a: (a * m.nan > 1, m.maximum(a, m.nan), a == m.nan),
    "nanmean": lambda m, a: m.nanmean(a * m.nan),
    "nanmax": lambda m, a: m.nanmax(a * m.nan),
    "where": lambda m, a: m.where(a == 0, 0, 1 / a),
    "where argument": lambda m, a: m.divide(1, a, where=a > 0, out=m.zeros(20000)),
    "masked": lambda m, a: np.ma.log(np.ma.array(a)).sum(),
    "in place": lambda m, a: a.__itruediv__(a - 7),
    "comparison of text": lambda m, a: a == "x",
    "complex to real": lambda m, a: (a + 1j).astype(float),
    "complex store": lambda m, a: m.zeros(20000).__setitem__(..., a + 1j),
    "matmul": lambda m, a: (a * 1e300).reshape(100, -1) @ (a * 1e300).reshape(-1, 100),
    "linspace": lambda m, a: m.linspace(0, m.inf, 20000),
    "nextafter": lambda m, a: m.nextafter(a * 1e308, m.inf),
    "ldexp": lambda m, a: m.ldexp(a, 2000),
    "tan of a view": lambda m, a: m.log(a[::2][::-1] - 3),
    "chain": lambda m, a: m.sqrt(m.log(a - 2) / a),
    "heaviside": lambda m, a: m.heaviside(a - 5, m.nan),
    "sign": lambda m, a: m.sign(a * m.nan),
    "spacing": lambda m, a: m.spacing(a * m.inf),
    "rint": lambda m, a: m.rint(a * m.inf),
    "logaddexp": lambda m, a: m.logaddexp(a * -m.inf, a),
    "float_power": lambda m, a: m.float_power(a, -1),
    "gcd": lambda m, a: m.gcd(a.astype("l"), 0),
    "left shift": lambda m, a: a.astype("l") << 70,
    "unsigned negative": lambda m, a: -a.astype("u8"),
}


def forced(m, name):
    found = OPERATIONS[name](m, m.arange(20000.0))
    for item in found if isinstance(found, tuple) else (found,):
        if isinstance(item, np.ndarray):
            item.tobytes()
    return found


@pytest.mark.parametrize("mode", ["warn", "ignore", "raise", "call", "print"])
@pytest.mark.parametrize("name", OPERATIONS)
def test_operation(xp_both, name, mode, capfd):
    seen = []

    def body(m):
        with m.errstate(all=mode, call=lambda kind, flag: seen.append((kind, flag))):
            return forced(m, name)

    want, calls = observe(body, np), list(seen)
    seen.clear()
    printed = capfd.readouterr().err
    got = observe(body, xp_both)
    assert not differences(want, got)
    assert sorted(seen) == sorted(calls)
    assert sorted(capfd.readouterr().err.splitlines()) == sorted(printed.splitlines())


UFUNCS = [name for name in dir(np) if isinstance(getattr(np, name), np.ufunc)]


@pytest.mark.parametrize("dtype", ["f4", "f8", "D"])
def test_places_that_a_mask_leaves_out_meet_no_condition(xp_both, dtype):
    size = 40_000
    mask = xp_both.zeros(size, bool)
    operands = [xp_both.full(size, x, dtype) for x in (-3.0, 0.0)]
    for name in UFUNCS:
        ufunc = getattr(xp_both, name)
        if ufunc.signature is not None or ufunc.nout > 1:
            continue
        out = xp_both.full(size, 7.0, dtype)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            warnings.simplefilter("error", RuntimeWarning)
            warnings.simplefilter("ignore", np.exceptions.ComplexWarning)
            try:
                ufunc(*operands[: ufunc.nin], out=out, where=mask)
            except TypeError:
                continue
            assert out.tolist() == [7.0] * size, name


def test_errstate_belongs_to_the_line_and_not_to_the_moment(xp_both):
    def outside(m):
        a = m.arange(20000.0)
        with m.errstate(divide="ignore"):
            b = 1 / a
        with m.errstate(all="ignore"):
            c = m.log(a - 10)
        d = 1 / a
        with m.errstate(all="ignore"):
            float(b[0]), float(c[0]), float(d[0])

    assert collect(outside, xp_both) == collect(outside, np)


def test_seterr_and_log_objects(xp_both):
    class Log:
        def __init__(self):
            self.lines = []

        def write(self, text):
            self.lines.append(text)

    def body(m):
        log = Log()
        old = m.seterr(divide="log")
        old_call = m.seterrcall(log)
        try:
            float((1 / m.arange(20000.0))[1])
        finally:
            m.seterr(**old)
            m.seterrcall(old_call)
        return log.lines

    assert body(xp_both) == body(np)


def test_warnings_as_errors(xp_both):
    def body(m):
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            a = m.arange(20000.0)
            try:
                b = 1 / a
                b.tobytes()
            except RuntimeWarning as error:
                after = m.arange(20000.0) * 2
                return str(error), float(after.sum())
        return None

    assert body(xp_both) == body(np)


def test_once_per_line_by_default(xp_both):
    def body(m):
        with warnings.catch_warnings(record=True) as log:
            warnings.resetwarnings()
            warnings.simplefilter("default")
            warnings.filterwarnings("ignore", category=RuntimeWarning, message=".*NumPy itself.*")
            for _ in range(3):
                float((1 / m.arange(20000.0))[1])
        return [str(w.message) for w in log if w.category is RuntimeWarning]

    globals().get("__warningregistry__", {}).clear()
    want = body(np)
    globals().get("__warningregistry__", {}).clear()
    assert body(xp_both) == want == ["divide by zero encountered in divide"]


def test_lines_of_a_program_that_makes_code_without_end(xp):
    """More places than the table of places holds: old ones are forgotten, new ones keep their lines."""
    text = "\n".join(f"a / {i}" for i in range(1000))
    zero = xp.zeros(4)
    for _ in range(70):
        exec(compile(text.replace("a / 0", "a"), "made", "exec"), {"a": zero})
    made = compile("\n" * 6 + "b = 1 / a\nb.tobytes()", "made", "exec")
    with warnings.catch_warnings(record=True) as log:
        warnings.simplefilter("always")
        exec(made, {"a": zero})
        with xp.errstate(all="ignore"):
            exec(made, {"a": zero})
    assert [(w.filename, w.lineno) for w in log] == [("made", 7)]


FILTERED = """
import warnings
import numpy as np
{start}
x = np.linspace(0, 1, 100_000)


def errors(name, body):
    try:
        kept = body()
        print(name, "no error")
    except RuntimeWarning as error:
        print(name, "caught", error)


warnings.simplefilter("error")
errors("kept", lambda: x / 0)
errors("in place", lambda: np.divide(x, 0, out=x.copy()))
errors("fold", lambda: (x * 1e308).sum())
errors("dropped", lambda: (np.log(x), None)[1])
warnings.resetwarnings()
with warnings.catch_warnings(record=True) as log:
    warnings.simplefilter("always")
    x / 0
    np.sqrt(-x)
    print(len(log), [str(w.message) for w in log], [w.lineno for w in log])
for action in ("ignore", "default", "error"):
    with warnings.catch_warnings():
        warnings.filterwarnings(action, category=RuntimeWarning)
        errors(action, lambda: 1 / x)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            errors("inner", lambda: 1 / x)
        errors("after", lambda: 1 / x)
warnings.filterwarnings("error", message="divide")
errors("message", lambda: 1 / x)
with np.errstate(all="ignore"):
    errors("errstate", lambda: 1 / x)
"""


@pytest.mark.parametrize("runner", [True, False])
def test_filters_that_want_warnings_at_once(runner):
    want = output(FILTERED.format(start=""))
    start = "" if runner else "import arrayloom as np"
    assert output(FILTERED.format(start=start), runner=runner) == want
    assert want.count("caught") == 7


def read_beside_a_mask(m):
    mask = m.arange(40_000) % 2 == 0
    one, out = m.ones(40_000), m.full(40_000, 1e300)
    a = m.add(one, 1, where=mask, out=m.zeros(40_000, "D"))
    b = m.add(one.astype("f"), one.astype("f"), where=mask, out=out)
    c = m.add(one.astype(int), 1, where=mask, out=m.full(40_000, np.nan))
    return [x[5] for x in (a, b, c)]


def test_what_is_read_beside_a_mask_is_cast_as_by_numpy(xp_both):
    want, got = collect(read_beside_a_mask, np), collect(read_beside_a_mask, xp_both)
    assert len(want) == 3
    assert got == want


def running_in_half(m):
    v = m.full((300, 300), 1e6, "f")
    a = m.maximum.accumulate(v, axis=0, dtype="e")
    b = m.add.accumulate(m.full((300, 300), 1e300), axis=0, dtype="f")
    return [x[5, 5] for x in (a, b)]


def test_running_folds_tell_the_cast_from_the_operation(xp_both):
    want, got = collect(running_in_half, np), collect(running_in_half, xp_both)
    assert len(want) >= 2
    assert got == want


def running_integers(m):
    a = m.full(20000, np.nan)
    b = m.cumsum(a, dtype="u2")
    c = m.cumprod(a * 2, dtype="i8")
    d = m.add.accumulate(a.reshape(100, 200), axis=0, dtype="i4")
    e = m.cumsum(a + 1e300 * m.ones(20000))
    return [x.ravel()[5] for x in (b, c, d, e)]


def test_running_folds_of_integers_warn_of_the_cast(xp_both):
    want, got = collect(running_integers, np), collect(running_integers, xp_both)
    assert len(want) >= 3
    assert got == want
