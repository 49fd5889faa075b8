"""The comparison itself: it has to notice what a program could notice."""

import warnings

import numpy as np
import pytest
from support.compare import differences, observe
from support.fuzz import difference, run
from support.programs import Writer

BASE = np.array([[1.0, -0.0, np.nan], [3.0, 4.0, 5.0]])


def _nudged():
    changed = BASE.copy()
    changed[1, 1] = np.nextafter(4.0, 5)
    return changed


def _warns():
    warnings.warn("odd", RuntimeWarning, stacklevel=1)
    return BASE.copy()


OTHERS = {
    "one bit": _nudged,
    "sign of zero": lambda: BASE + 0.0,
    "dtype": lambda: BASE.astype("f"),
    "byte order": lambda: BASE.astype(">f8"),
    "shape": lambda: BASE.ravel().copy(),
    "strides": lambda: np.asfortranarray(BASE),
    "view": lambda: BASE.copy()[:],
    "read only": lambda: np.broadcast_to(BASE.copy(), BASE.shape),
    "kind of type": lambda: BASE.copy().view(np.recarray),
    "scalar": lambda: BASE[0, 0],
    "python number": lambda: 1.0,
    "error": lambda: BASE[9],
    "warning": _warns,
    "tuple": lambda: (BASE.copy(),),
}


@pytest.mark.parametrize("name", OTHERS)
def test_differences_are_noticed(name):
    assert differences(observe(BASE.copy), observe(OTHERS[name]))


def test_equal_things_are_equal():
    other_nan = BASE.copy()
    other_nan[0, 2] = -np.nan
    assert not differences(observe(BASE.copy), observe(other_nan.copy))
    assert not differences(observe(BASE.copy), observe(_nudged), ulps=1)
    assert not differences(observe(BASE.copy), observe(lambda: BASE + 0.0), signed_zero=False)


class _Sloppy:
    """NumPy whose ``add`` forgets that its output overlaps its inputs."""

    def __getattr__(self, name):
        return getattr(np, name)

    @staticmethod
    def add(a, b, out=None, **keywords):
        if out is None or keywords or out.ndim != 1 or np.shape(a) != out.shape:
            return np.add(a, b, out=out, **keywords)
        for i in range(out.size):
            out[i] = a[i] + b[i]
        return out


def test_random_programs_find_a_forgotten_overlap():
    line = "np.add(a[1:], a[:-1], out=a[1:])"
    assert difference(["a = np.arange(9.0)", line, "check()"], _Sloppy())
    assert any(difference(Writer(seed).write(), _Sloppy()) for seed in range(200))


def test_random_programs_are_the_same_for_the_same_seed():
    assert Writer(7).write() == Writer(7).write()
    assert Writer(7).write() != Writer(8).write()


def test_nearly_all_lines_of_random_programs_are_valid():
    lines = [line for seed in range(60) for line in Writer(seed).write()]
    failed = [e for seed in range(60) for e in run(Writer(seed).write(), np) if e[0] != "check"]
    assert len(failed) < 0.1 * len(lines)
