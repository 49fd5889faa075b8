"""``arrayloom.verify()``: what is compared, what is found, and what the program notices of it."""

import os
import pickle
import threading
import warnings

import numpy
import pytest
from support import process

import arrayloom as np
from arrayloom._verify import arguments
from arrayloom._verify.judge import Tolerance, compare, tolerance_of
from arrayloom.errors import SettingError, VerifyError

pytestmark = [
    pytest.mark.usefixtures("real_laziness"),
    pytest.mark.filterwarnings("ignore::arrayloom.errors.FallbackWarning"),
]
N = 100_000
MODULES = ("", ".arguments", ".check", ".judge", ".operation", ".outcome", ".stand_in", ".warned")


@pytest.fixture
def wrong(monkeypatch):
    """Change what a method of lazy arrays does: its result goes through a function."""

    def change(name, spoil):
        original = vars(np.LazyArray)[name]

        def spoiled(*args, **words):
            return spoil(original(*args, **words))

        monkeypatch.setattr(np.LazyArray, name, spoiled)

    return change


def raises(kind=None):
    return pytest.raises(VerifyError) if kind is None else pytest.raises(VerifyError, match=kind)


@pytest.mark.parametrize("name", MODULES)
def test_examples_of_the_docstrings(name):
    process.check_examples(f"arrayloom._verify{name}")


def test_what_is_equal_is_counted():
    a, b = np.arange(float(N)), np.ones((400, 500))
    with np.verify("bitwise") as report:
        c = (a + 1) * 2 - a / 3
        a += c
        a[2:] = a[:-2]
        a[5] = 7
        a[a > 9] = 4
        np.add(a[1:], a[:-1], out=a[1:])
        np.sqrt(a, where=a > 2, out=a)
        t = np.sort(a)[::3], a.cumsum(), b.sum(axis=0), np.median(b, axis=1), np.roll(a, 5)
        u = np.interp(a[:500], a, a), a[np.arange(0, N, 7)], np.concatenate([a, a]), divmod(a, 3)
        v = np.linspace(0, 1, N), np.zeros(N), b.T.copy(), 2**b, -b, b @ b.T, a.argmax()
    assert report.difference is None
    assert not report.skipped
    assert report.verified.keys() >= {
        *("add", "multiply", "subtract", "divide", "setitem", "getitem", "sqrt", "sort", "power"),
        *("add.accumulate", "sum", "median", "roll", "interp", "concatenate", "divmod", "linspace"),
        *("zeros", "copy", "negative", "matmul", "argmax"),
    }
    assert report.verified["add"] == 3
    assert report.verified["setitem"] == 3
    count = report.verified.total()
    assert str(report) == (
        f"arrayloom verify: verified {count} operations ({len(report.verified)} functions), all equal"
    )
    assert len(t) + len(u) + len(v) == 16


def test_results_are_ours_and_are_what_they_are_without():
    def work():
        a = np.arange(float(N))
        a[::2] *= np.sin(a[::2])
        return [a, a.reshape(100, -1).std(axis=0), a[3], a.sum()]

    want = work()
    with np.verify():
        got = work()
    assert isinstance(got[0], np.LazyArray)
    assert all((x == y).all() and type(x) is type(y) for x, y in zip(want, got, strict=True))


def test_a_wrong_value_is_an_error_with_the_facts(wrong):
    def spoil(result):
        result[3, 4] = 5
        result[9, 0] = 2.5
        return result

    wrong("__mul__", spoil)
    a = np.ones((400, 500))
    with raises() as caught, np.verify() as report:
        a + 1
        a * 2
    error = caught.value
    assert (error.op, error.kind) == ("multiply", "value")
    assert (error.dtypes, error.shapes) == (("float64", "int"), ((400, 500), ()))
    assert (error.index, error.value, error.expected) == ((3, 4), 5.0, 2.0)
    assert (error.count, error.largest) == (2, 1.5)
    assert error.file == __file__
    assert error.line == test_a_wrong_value_is_an_error_with_the_facts.__code__.co_firstlineno + 10
    text = str(error)
    for part in (
        f"multiply of float64 (400, 500), int at {__file__}:{error.line}",
        "2 of 200,000 elements differ, the first at [3, 4]: 5.0 here, 2.0 in NumPy",
        "the largest relative difference is 1.5",
        "please report it",
    ):
        assert part in text
    assert report.difference is error
    place = f"multiply at {os.path.relpath(__file__)}:{error.line}"
    assert f"verified 1 operation (1 function), but {place}" in str(report)


@pytest.mark.parametrize(
    ("kind", "spoil"),
    [
        ("value", lambda result: result - 1),
        ("dtype", lambda result: result.astype("f4")),
        ("shape", lambda result: result[:-1]),
        ("type", lambda result: (result, result)),
        ("type", lambda result: result[0]),
        ("error", lambda result: 1 / 0),
    ],
)
def test_whatever_differs_is_found(wrong, kind, spoil):
    wrong("cumsum" if kind == "none" else "__abs__", spoil)
    a = np.ones(N)
    with raises() as caught, np.verify():
        abs(a)
    assert caught.value.kind == kind


def test_wrong_ufuncs_functions_writes_and_picks_are_found(wrong):
    a = np.ones(N)
    for name, spoil, work in (
        ("__array_ufunc__", lambda result: result + 1, lambda: np.exp(a)),
        ("__array_function__", lambda result: result[::-1] * 2, lambda: np.sort(a)),
        ("__getitem__", lambda result: result + 1, lambda: a[3:]),
        ("sum", lambda result: result + 1, lambda: a.sum()),
    ):
        with pytest.MonkeyPatch.context() as patch:
            original = vars(np.LazyArray)[name]
            patch.setattr(
                np.LazyArray,
                name,
                lambda *args, original=original, spoil=spoil: spoil(original(*args)),
            )
            with raises() as caught, np.verify():
                work()
            assert caught.value.kind in {"value", "type"}
    with np.verify() as report:
        np.exp(a), np.sort(a), a[3:], a.sum()
    assert report.verified.total() == 4


@pytest.mark.parametrize(
    ("name", "work"),
    [
        ("__iadd__", lambda a: a.__iadd__(1)),
        ("__setitem__", lambda a: a.__setitem__(5, 2.0)),
        ("__setitem__", lambda a: a.__setitem__(slice(3, 9), numpy.arange(6))),
        ("__setitem__", lambda a: a.__setitem__(a > 0, 3.0)),
        ("sort", lambda a: a.sort()),
    ],
)
def test_operands_that_are_left_other_are_found(monkeypatch, name, work):
    original = vars(np.LazyArray)[name]

    def lost(array, *args):
        plain = numpy.array(array)
        found = original(array, *args)
        numpy.ndarray.__setitem__(array, slice(None), plain)
        return found

    a = np.arange(float(N))[::-1].copy()
    with np.verify():
        work(a.copy())
    monkeypatch.setattr(np.LazyArray, name, lost)
    with raises("is not what NumPy does"), np.verify():
        work(a)


def test_an_operand_that_is_only_read_may_not_change(monkeypatch):
    original = vars(np.LazyArray)["__add__"]

    def careless(array, other):
        found = original(array, other)
        array[7] = 9
        return found

    monkeypatch.setattr(np.LazyArray, "__add__", careless)
    a = np.ones(N)
    with raises() as caught, np.verify():
        a + 1
    assert (caught.value.kind, caught.value.index) == ("operand", (7,))


def test_missing_and_additional_warnings_are_found(monkeypatch):
    original = vars(np.LazyArray)["__truediv__"]
    a = np.zeros(N)

    def silent(array, other):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            found = original(array, other)
            float(found[0])
            return found

    def loud(array, other):
        warnings.warn("hm", UserWarning, stacklevel=2)
        return original(array, other)

    monkeypatch.setattr(np.LazyArray, "__truediv__", silent)
    with (
        raises("it warns of nothing where NumPy warns of RuntimeWarning: invalid value"),
        np.verify(),
    ):
        a / a
    monkeypatch.setattr(np.LazyArray, "__truediv__", loud)
    with raises("it warns of UserWarning: hm where NumPy warns of nothing"), np.verify():
        a / 2


def test_warnings_come_at_their_line_and_once():
    def work(a):
        for _ in range(3):
            1 / a

    with warnings.catch_warnings(record=True) as heard, np.verify():
        warnings.simplefilter("default")
        work(np.zeros(N))
    assert [(each.filename, each.lineno) for each in heard] == [
        (__file__, work.__code__.co_firstlineno + 2)
    ]
    assert "divide by zero encountered in divide" in str(heard[0].message)
    with warnings.catch_warnings(record=True) as heard, np.verify():
        warnings.simplefilter("always")
        work(np.zeros(N))
    assert len(heard) == 3
    a = np.zeros(N)
    with warnings.catch_warnings(), np.verify():
        warnings.simplefilter("error")
        with pytest.raises(RuntimeWarning):
            work(a)


def test_errors_are_the_programs():
    a = np.ones(N)
    with np.verify() as report:
        with pytest.raises(ValueError, match="could not be broadcast"):
            a + np.ones(N + 1)
        with pytest.raises(IndexError):
            a[N]
        with pytest.raises(IndexError):
            a[N] = 3
        with pytest.raises(TypeError):
            a & a
        with np.errstate(divide="raise"), pytest.raises(FloatingPointError):
            1 / (a - 1)
    assert report.difference is None
    assert report.verified["setitem"] == 1


@pytest.mark.parametrize(
    ("tolerance", "passes"),
    [(None, True), ("bitwise", False), (1e-15, True), (1e-17, False), (0, False)],
)
def test_how_far_values_may_be_apart(wrong, tolerance, passes):
    wrong("__abs__", lambda result: result * (1 + 2.0**-52))
    a = np.ones(N)
    if passes:
        with np.verify(tolerance):
            abs(a)
    else:
        said = "equal bits" if tolerance == "bitwise" else tolerance
        with raises(f"tolerance: {said}"), np.verify(tolerance):
            abs(a)


@pytest.mark.parametrize("text", ["speed", "-1", "nan", "2", "", "inf"])
def test_other_tolerances_are_refused(text):
    with pytest.raises(SettingError, match="give a number below 1 such as 1e-6, or bitwise"):
        tolerance_of(text)


@pytest.mark.parametrize("dtype", "efdgFD")
def test_floats_of_every_dtype(dtype):
    x = numpy.array([1.5, -2, 0, numpy.inf, -numpy.inf, numpy.nan, 3], dtype)
    last = numpy.finfo(dtype).eps
    near, far = x.copy(), x.copy()
    near[0] *= 1 + 2 * last
    far[0] *= 1 + 64 * last
    for tolerance in (Tolerance(), Tolerance(0.0), Tolerance(bitwise=True)):
        assert compare(x, x.copy(), tolerance) is None
        assert compare(x[5], x[5], tolerance) is None
    assert compare(near, x, Tolerance()) is None
    assert compare(far, x, Tolerance()).index == (0,)
    assert compare(far, x, Tolerance(), sums=True) is None
    assert compare(far, x, Tolerance(float(100 * last))) is None
    assert compare(near, x, Tolerance(bitwise=True)).count == 1
    assert compare(near[0], x[0], Tolerance(bitwise=True)).index == ()
    zero = x.copy()
    zero[2] = -0.0
    assert compare(zero, x, Tolerance(0.0)) is None
    assert compare(zero, x, Tolerance(bitwise=True)).index == (2,)
    for place, other in ((3, -numpy.inf), (3, 1), (5, 1), (0, numpy.nan), (0, numpy.inf), (4, 0)):
        spoiled = x.copy()
        spoiled[place] = other
        for sums in (False, True):
            assert compare(spoiled, x, Tolerance(0.5), sums=sums).index == (place,)
            assert compare(x, spoiled, Tolerance(), sums=sums).index == (place,)


@pytest.mark.parametrize("dtype", ["?", "b", "u8", "M8[s]", "m8[ns]", "S3", "U3", ">i4"])
def test_other_elements_are_equal_or_not(dtype):
    x = numpy.array([1, 0, 3]).astype(dtype)
    other = x[[0, 0, 2]]
    assert compare(x, x.copy(), Tolerance(0.5)) is None
    assert compare(other, x, Tolerance(0.5)).index == (1,)


def test_times_without_a_date_equal_each_other():
    x = numpy.array(["NaT", "2020"], "M8[D]")
    assert compare(x, x.copy(), Tolerance()) is None


def test_results_of_several_parts():
    x = numpy.arange(4)
    assert compare((x, [x, 2.5, None]), (x, [x, 2.5, None]), Tolerance()) is None
    assert compare((x, [x, 2.5]), (x, [x, 3.5]), Tolerance()).kind == "value"
    assert compare((x, x), (x, x, x), Tolerance()).kind == "type"
    assert compare(2, 2.0, Tolerance()).kind == "type"
    assert compare(float("nan"), float("nan"), Tolerance()) is None


def test_only_what_where_chooses_is_compared():
    a = np.arange(float(N))
    with np.verify("bitwise") as report, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for _ in range(3):
            np.sqrt(a, where=a > 7)
    assert report.verified["sqrt"] == 3


def test_what_cannot_be_compared_is_counted():
    a = np.ones((300, 400))
    calls = []
    with np.verify() as report:
        a.ravel().partition(3)
        numpy.empty_like(a)
        a + numpy.array([2, 1] * 200, object)
        np.apply_along_axis(lambda row: row * 2, 0, a)
        np.frompyfunc(lambda x: calls.append(x) or x, 1, 1)(a[:200, :200])
        with np.errstate(divide="call", call=lambda *_: calls.append(0)):
            1 / (a - 1)
    skipped = dict(report.skipped.keys())
    assert skipped["partition"] == "the order within its parts is free"
    assert skipped["empty_like"] == "its elements are not set"
    assert skipped["add"] == "elements are of dtype object"
    assert skipped["apply_along_axis"] == "a value is of class function"
    assert "calls a function of Python" in skipped["<lambda> (vectorized)"]
    assert "calls a function" in skipped["divide"]
    # Each was done once.
    assert len(calls) == 40_000 + 1
    assert f"{report.skipped.total()} not compared:\n" in str(report)
    assert "  1 partition: the order within its parts is free" in str(report)


def test_what_a_function_of_the_program_does_is_compared(wrong):
    wrong("__mul__", lambda result: result + 1)
    a = np.ones(N)
    with raises("multiply"), np.verify():
        np.piecewise(a, [a > 0], [lambda x: x * 2])


def test_numbers_are_drawn_once():
    def draw():
        new, old = np.random.default_rng(5), np.random.RandomState(5)
        counted = np.random.Generator(np.random.Philox(5))
        np.random.seed(5)
        drawn = [each.normal(size=N) for each in (new, old, counted)]
        drawn += [counted.random(N), counted.random(N, dtype="f4"), np.random.rand(N)]
        for each in (new, old, np.random):
            each.shuffle(drawn[0])
        ends = [new.random(), old.random_sample(), counted.random(), np.random.random()]
        return [*drawn, *ends]

    want = draw()
    with np.verify("bitwise") as report:
        got = draw()
    assert all(numpy.all(x == y) for x, y in zip(want, got, strict=True))
    assert report.verified["random.normal"] == 3
    assert report.verified["random.shuffle"] == 3
    assert report.verified["random.random"] == 2
    assert report.verified["random.rand"] == 1


def test_all_numbers_are_drawn_once_where_all_arrays_are_ours(xp):
    def draw():
        np.random.seed(5)
        old = np.random.RandomState(3)
        state = old.get_state()[1]
        return old.rand(3), np.random.rand(), np.random.default_rng(3).random(2), state

    want = draw()
    with np.verify():
        got = draw()
    assert all(numpy.all(x == y) for x, y in zip(want, got, strict=True))


def test_wrong_draws_and_states_are_found(monkeypatch):
    draw = vars(np.random.Generator)["normal"]
    monkeypatch.setattr(
        np.random.Generator, "normal", lambda *args, **words: draw(*args, **words) + 1
    )
    with raises("random.normal"), np.verify():
        np.random.default_rng(5).normal(size=N)

    def twice(drawn, *args, **words):
        found = draw(drawn, *args, **words)
        drawn.bit_generator.random_raw()
        return found

    monkeypatch.setattr(np.random.Generator, "normal", twice)
    with raises("random.normal"), np.verify():
        np.random.default_rng(5).normal(size=N)


def test_all_is_put_back_and_names_seem_to_be_numpys():
    def seen():
        random = vars(np.random), vars(np.random.Generator), vars(np.random.RandomState)
        return [dict(each) for each in (vars(np), vars(np.LazyArray), *random)]

    before, text = seen(), np.zeros.__doc__
    with np.verify():
        assert seen() != before
        assert isinstance(np.add, numpy.ufunc)
        assert np.add == numpy.add
        assert {numpy.add: 1}[np.add] == 1
        assert np.zeros == numpy.zeros
        assert np.add.identity == 0
        assert repr(np.add) == "<ufunc 'add'>"
        assert np.zeros.__doc__ == text
        assert pickle.loads(pickle.dumps(np.zeros)) == numpy.zeros
        assert np.add.reduce([1, 2]) == 3
        assert np.multiply.outer([1, 2], [3])[1] == 6
    assert seen() == before
    with pytest.raises(KeyError), np.verify():
        raise KeyError
    assert seen() == before


def test_other_classes_are_asked_as_ever():
    class Raised(numpy.ndarray):
        def __rpow__(self, other):
            return "rpow", type(other).__name__

    class Silent(numpy.ndarray):
        def __radd__(self, other):
            return NotImplemented

    class Taker:
        def __array_ufunc__(self, ufunc, method, *inputs, **words):
            return ufunc.__name__, method

        def __radd__(self, other):
            return "radd"

    def work():
        a = np.ones(N)
        masked = numpy.ma.masked_array(numpy.ones(N), numpy.arange(N) % 2)
        found = [a * masked, masked * a, a**masked, a == masked, a - numpy.ones(N).view(Silent)]
        found += [a + numpy.ones(N).view(Silent), a[:4].copy() @ numpy.ones(4).view(Silent)]
        a += masked.data.view(Silent)
        return (
            [(type(each).__name__, each.sum()) for each in (*found, a)],
            [a ** numpy.ones(N).view(Raised), a + Taker(), np.add(a, Taker())],
            np.LazyArray.__array_ufunc__ == numpy.ndarray.__array_ufunc__,
            a.__array_ufunc__(numpy.add, "__call__", a, 1)[3],
        )

    want = work()
    with np.verify() as report:
        got = work()
    assert got == want
    assert report.skipped["power", "a value is of class Raised"] == 1


def test_notes_of_fallbacks_are_no_errors():
    a = np.ones(N)
    with warnings.catch_warnings(), np.verify():
        warnings.simplefilter("error")
        assert (a + np.longdouble(1))[0] == 2
        with np.errstate(all="raise"), pytest.raises(FloatingPointError):
            1 / (a - 1)


def test_blocks_nest():
    a = np.ones(N)
    with np.verify() as outer:
        a + 1
        with np.verify("bitwise") as inner:
            a * 2
        a - 1
    assert inner.verified == {"multiply": 1}
    assert outer.verified == {"add": 1, "multiply": 1, "subtract": 1}


def test_threads_are_verified_one_after_another():
    a = np.arange(float(N))
    found = []

    def work(number):
        found.append(float((a * number).sum()))

    with np.verify() as report:
        threads = [threading.Thread(target=work, args=(number,)) for number in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert sorted(found) == [number * (N * (N - 1) / 2) for number in range(8)]
    assert report.verified == {"multiply": 8, "sum": 8}


def test_what_was_pending_before_is_no_difference():
    a, b = np.zeros(N), np.ones(N)
    b[0]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        pending = 1 / a
        with np.verify() as report:
            b + 1
    assert report.verified == {"add": 1}
    assert numpy.isinf(pending[0])


def test_writes_of_elements_do_not_copy_the_array(monkeypatch):
    sizes = []
    memory = arguments._memory

    def counted(begin, end):
        sizes.append(end - begin)
        return memory(begin, end)

    monkeypatch.setattr(arguments, "_memory", counted)
    a = np.zeros((3000, 3000))
    with np.verify() as report:
        for i in range(1000):
            a[i, i] = a[i, i] + i
        a[-1] = 5
        a[..., -1] = 7
    assert report.verified["setitem"] == 1002
    assert sorted(sizes)[999] == 8
    assert a.trace() == sum(range(1000)) + 7


def test_an_error_can_be_pickled():
    error = VerifyError("x", op="add", kind="value", index=(3,), line=3)
    again = pickle.loads(pickle.dumps(error))
    assert (str(again), again.op, again.index, again.line) == ("x", "add", (3,), 3)
    assert isinstance(again, AssertionError)
