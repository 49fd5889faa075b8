"""NumPy's own `asarray` and its like, as installed packages call them: of a lazy array they give the array itself."""

import ctypes
import textwrap

import numpy as np
import pytest
from support.layouts import ordinary, plain_view
from support.process import output

from arrayloom import _hook

COUNT = 20000

SAME = {
    "asarray": np.asarray,
    "asarray, positional dtype": lambda a: np.asarray(a, float),
    "asarray, words": lambda a: np.asarray(a, dtype="d", order="C", copy=False),
    "ascontiguousarray": np.ascontiguousarray,
    "asfortranarray": np.asfortranarray,
    "array": lambda a: np.array(a, copy=None),
    "array, dtype": lambda a: np.array(a, dtype=float, copy=None, order="A"),
    "require": lambda a: np.require(a, float, "C"),
}

OTHER = {
    "another dtype": lambda a: np.asarray(a, "f"),
    "the other byte order": lambda a: np.asarray(a, ">d"),
    "a copy": lambda a: np.asarray(a, copy=True),
    "array": np.array,
    "more axes": lambda a: np.array(a, copy=None, ndmin=3),
    "a list of it": lambda a: np.asarray([a]),
}


@pytest.fixture
def lazy(xp_default, real_laziness):
    """A vector that has not been computed."""
    return xp_default.array(ordinary("d", COUNT)) * 3


@pytest.mark.parametrize("name", SAME)
def test_the_array_itself_is_given_back(lazy, name):
    assert SAME[name](lazy) is lazy
    matrix = lazy.reshape(100, 200)
    assert (SAME[name](matrix) is matrix) == (name != "asfortranarray")


@pytest.mark.parametrize("name", OTHER)
def test_what_is_not_the_same_is_new(lazy, name):
    given, plain = OTHER[name](lazy), OTHER[name](ordinary("d", COUNT) * 3)
    assert given is not lazy
    assert (given.dtype, given.shape, given.strides) == (plain.dtype, plain.shape, plain.strides)
    assert given.tobytes() == plain.tobytes()


def test_a_single_value_becomes_a_vector(xp, real_laziness):
    for name in ("ascontiguousarray", "asfortranarray", "asarray", "array"):
        value = xp.add(xp.array(3.0), xp.array(1.0), out=xp.empty(()))
        given, plain = getattr(xp, name)(value), getattr(np, name)(np.array(4.0))
        assert (given.shape, given.tobytes()) == (plain.shape, plain.tobytes()), name


def test_a_view_of_it_is_not_it(lazy):
    view, head = lazy.view(), lazy[:-1]
    assert np.asarray(view) is view
    assert np.asarray(head) is head
    assert np.asarray(lazy) is not view
    frozen = lazy.view()
    frozen.flags.writeable = False
    assert np.asarray(frozen) is frozen


def test_numpys_own_modules_get_a_view(lazy):
    view = plain_view(lazy)
    assert type(view) is np.ndarray
    assert view.base is lazy
    assert view.ctypes.data == lazy.ctypes.data


def test_other_arguments_are_as_before():
    assert np.asarray([1, 2]).tolist() == [1, 2]
    assert np.array(3.5).shape == ()
    plain = np.ones(3)
    assert np.asarray(plain) is plain
    assert np.ctypeslib.as_array((ctypes.c_int * 2)(4, 5)).tolist() == [4, 5]
    with pytest.raises(TypeError, match="asarray"):
        np.asarray()
    with pytest.raises(TypeError, match="unexpected keyword argument 'kind'"):
        np.asarray(plain, kind=3)


@pytest.mark.parametrize("package", ["arrayloom", *(name.rstrip(".") for name in _hook.EXACT)])
def test_packages_with_code_for_plain_arrays_get_a_view(lazy, package):
    for name, same in ((package, False), (f"{package}.part", False), (f"{package}er", True)):
        names = {"__name__": name, "asarray": np.asarray, "a": lazy}
        assert eval("asarray(a) is a", names) == same


def in_scipy(body):
    """What a body prints under NumPy, once it was seen that it prints the same under arrayloom."""
    pytest.importorskip("scipy", reason="SciPy is not installed")
    plain = output("import numpy as np\n" + textwrap.dedent(body))
    assert output("import arrayloom as np\n" + textwrap.dedent(body)) == plain
    return plain


def test_spectra_of_one_signal_are_of_one_signal():
    """SciPy asks whether two signals are one object, and computes their spectra in another way."""
    printed = in_scipy("""
        import hashlib
        from scipy import signal
        x = np.sin(np.arange(200_000) * 0.1) * 2
        for found in (signal.welch(x), signal.periodogram(x), signal.spectrogram(x), signal.csd(x, x)):
            print(hashlib.sha1(found[-1].tobytes()).hexdigest())
    """)
    assert printed.count("\n") == 4


def test_transforms_over_their_input():
    """SciPy's compiled transforms write into `numpy.ndarray` and no derived type."""
    printed = in_scipy("""
        import scipy.fft
        from scipy import signal
        x = np.sin(np.arange(50_000) * 0.1) * 2
        for kind in (scipy.fft.fft, scipy.fft.ifft, scipy.fft.dct, scipy.fft.fftn):
            print(abs(kind(x * 1j, overwrite_x=True)).round(6).tolist()[:9])
        print(signal.resample(x, 60_000)[:9].tolist(), signal.hilbert(x)[:9].tolist())
        print(signal.envelope(x, (None, 20_000))[0][:9].tolist())
    """)
    assert printed.count("\n") == 6
