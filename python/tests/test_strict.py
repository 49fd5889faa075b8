"""Fallbacks as errors: which reasons, where, with which facts; by block, option and variable."""

import pickle
import threading

import numpy
import pytest
from support import process

import arrayloom as np
from arrayloom import _strict
from arrayloom.errors import FallbackError, FallbackWarning, SettingError

pytestmark = [
    pytest.mark.usefixtures("real_laziness"),
    pytest.mark.filterwarnings("ignore::arrayloom.errors.FallbackWarning"),
]
N = 100_000


@pytest.fixture(autouse=True)
def nowhere_else():
    yield
    _strict.be_strict("0")


def falls_back():
    """An operand without native support."""
    return np.ones(N) + np.longdouble(1)


def test_a_fallback_is_an_error_with_the_facts():
    with np.strict(), pytest.raises(FallbackError) as caught:
        falls_back()
    error = caught.value
    assert (error.op, error.reason) == ("add", "operand")
    assert error.dtypes == ("float64", str(numpy.dtype(numpy.longdouble)))
    assert error.shapes == ((N,), ())
    assert error.file == __file__
    assert error.line == falls_back.__code__.co_firstlineno + 2
    text = str(error)
    assert f"add of float64 ({N},), " in text
    assert f"{__file__}:{error.line}" in text
    assert "astype" in text
    # The innermost frame is the program's own, so tracebacks end at its line.
    assert caught.traceback[-1].frame.code.raw is falls_back.__code__


def test_the_call_is_not_made():
    out = np.zeros(N)
    out[0]
    with np.strict(), pytest.raises(FallbackError):
        np.add(out, np.longdouble(1), out=out, casting="unsafe")
    assert not out.any()


def test_it_comes_each_time_and_without_a_warning(recwarn):
    with np.strict():
        for _ in range(3):
            with pytest.raises(FallbackError):
                falls_back()
    assert not [each for each in recwarn if each.category is FallbackWarning]


def test_what_is_accelerated_or_small_is_no_error():
    with np.strict():
        a = (np.ones(N) + 1) * 2
        assert a.sum() == 4 * N
        assert (np.ones(3) + np.longdouble(1))[0] == 2
        # NumPy's own code does this best.
        assert np.lexsort((a, a))[0] == 0
    assert falls_back()[0] == 2


def test_reasons_are_chosen():
    with np.strict("loop", "keyword"):
        assert falls_back()[0] == 2
    with np.strict("loop", "operand"), pytest.raises(FallbackError):
        falls_back()
    with np.strict("delegated"):
        a = np.ones(N)
        with pytest.raises(FallbackError, match="lexsort"):
            np.lexsort((a, a))


def test_the_innermost_block_holds():
    with np.strict(), np.strict("keyword"):
        assert falls_back()[0] == 2
    _strict.be_strict("1")
    with np.strict("keyword"):
        assert falls_back()[0] == 2
    with pytest.raises(FallbackError):
        falls_back()


def test_a_block_is_of_its_thread_and_the_option_of_all():
    found = []

    def work():
        try:
            found.append(falls_back()[0])
        except FallbackError as error:
            found.append(error.op)

    def in_thread():
        thread = threading.Thread(target=work)
        thread.start()
        thread.join()

    with np.strict():
        in_thread()
    _strict.be_strict("operand")
    in_thread()
    assert found == [2, "add"]


def test_unknown_reasons_are_named():
    with (
        pytest.raises(
            SettingError, match="'speed' is no reason for a fallback; there are operand, loop"
        ),
        np.strict("speed"),
    ):
        pass
    with pytest.raises(SettingError, match="''"):
        _strict.be_strict("operand,")


def test_an_error_can_be_pickled():
    error = FallbackError("x", op="add", reason="loop", file="a.py", line=3)
    again = pickle.loads(pickle.dumps(error))
    assert (str(again), again.op, again.line) == ("x", "add", 3)
    assert isinstance(again, RuntimeError)


PROGRAM = """
import numpy as np
a = np.ones(100_000)
a + 1
a + np.longdouble(1)
print("went on")
"""


@pytest.mark.parametrize(
    ("options", "variable", "stops"),
    [
        ((), None, False),
        (("--strict",), None, True),
        (("--strict=operand,loop",), None, True),
        (("--strict=keyword",), None, False),
        (("--strict=keyword",), "1", False),
        ((), "1", True),
        ((), "operand", True),
        ((), "keyword", False),
        ((), "0", False),
        ((), "", False),
    ],
)
def test_the_option_and_its_variable(options, variable, stops):
    env = {} if variable is None else {"ARRAYLOOM_STRICT": variable}
    done = process.run(PROGRAM, runner=True, options=options, env=env)
    assert (done.returncode, done.stdout) == ((1, "") if stops else (0, "went on\n")), done.stderr
    if stops:
        assert 'File "<string>", line 5' in done.stderr
        assert "FallbackError: add of float64 (100000,)" in done.stderr
        assert "_strict" not in done.stderr


def test_a_wrong_reason_ends_the_runner():
    done = process.run("print('ran')", runner=True, options=("--strict=speed",))
    assert (done.returncode, done.stdout) == (2, "")
    assert "argument --strict: 'speed' is no reason" in done.stderr
    done = process.run("print('ran')", runner=True, env={"ARRAYLOOM_STRICT": "speed"})
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.count("\n") == 1
    assert "'speed' is no reason" in done.stderr
