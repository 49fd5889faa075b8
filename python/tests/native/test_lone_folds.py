"""Folds of computed arrays that are not large: NumPy's loops, with nothing recorded or lost."""

import numpy
import pytest
from support.layouts import plain_view

pytestmark = pytest.mark.usefixtures("real_laziness")
# Of float64: more bytes than the least lazy array has here, and less than four times as many.
SHAPE = (100, 150)
FOLDS = ("sum", "prod", "mean", "std", "var", "max", "min", "argmax", "argmin")


def kernels(xp):
    return xp._ext.stats()["kernels"]


def computed(xp, dtype="float64", shape=SHAPE):
    """An array whose values lie at its address."""
    plain = numpy.random.default_rng(1).random(shape) + 0.5
    plain = (plain if "float" in dtype else plain * 150).astype(dtype)
    made = xp.array(plain)
    assert made[0, 0] == plain[0, 0]
    return made, plain


def same(ours, theirs):
    assert type(ours) in (type(theirs), numpy.ndarray) or isinstance(ours, numpy.ndarray)
    assert plain_view(ours).dtype == plain_view(theirs).dtype
    assert plain_view(ours).tobytes() == plain_view(theirs).tobytes()


@pytest.mark.parametrize("name", FOLDS)
@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_whole_arrays_and_rows_run_no_kernel(xp_default, name, dtype):
    made, plain = computed(xp_default, dtype, (100, 200))
    before = kernels(xp_default)
    for axis in (None, 1, -1):
        same(getattr(made, name)(axis=axis), getattr(plain, name)(axis=axis))
        same(getattr(xp_default, name)(made, axis=axis), getattr(numpy, name)(plain, axis=axis))
    same(getattr(made, name)(1), getattr(plain, name)(1))
    same(getattr(made, name)(keepdims=True), getattr(plain, name)(keepdims=True))
    assert kernels(xp_default) == before


@pytest.mark.parametrize("name", ["argmax", "argmin"])
def test_places_along_short_rows_run_no_kernel(xp_default, name):
    for dtype in ("float64", "float32", "uint8"):
        made, plain = computed(xp_default, dtype, (1000, 300))
        before = kernels(xp_default)
        for axis in (1, -1):
            same(getattr(made, name)(axis), getattr(plain, name)(axis))
        assert kernels(xp_default) == before
        same(getattr(made, name)(axis=0), getattr(plain, name)(axis=0))
        same(
            getattr(made.reshape(300, 1000), name)(axis=1),
            getattr(plain.reshape(300, 1000), name)(axis=1),
        )
        same(getattr(made.T, name)(axis=1), getattr(plain.T, name)(axis=1))
        same(getattr(made * made, name)(axis=1), getattr(plain * plain, name)(axis=1))


@pytest.mark.parametrize("name", FOLDS)
def test_floats_at_any_step_run_no_kernel(xp_default, name):
    made, plain = computed(xp_default, shape=(100, 200))
    vector = numpy.s_[:, 3], numpy.s_[5, ::-2]
    before = kernels(xp_default)
    for key in (numpy.s_[1:-1, 1:-1], numpy.s_[::-1], numpy.s_[::2, ::3], *vector):
        same(getattr(made[key], name)(), getattr(plain[key], name)())
    same(getattr(made.T, name)(), getattr(plain.T, name)())
    assert kernels(xp_default) == before


def test_sums_of_large_integers_run_no_kernel(xp_default):
    for dtype in ("int64", "uint64"):
        made, plain = computed(xp_default, dtype)
        before = kernels(xp_default)
        same(made.sum(), plain.sum())
        same(made.sum(axis=1), plain.sum(axis=1))
        assert kernels(xp_default) == before


@pytest.mark.parametrize("name", ["any", "all"])
def test_truth_of_floats_and_bools(xp_default, name):
    for dtype in ("bool", "float64"):
        made, plain = computed(xp_default, dtype, (300, 400) if dtype == "bool" else SHAPE)
        before = kernels(xp_default)
        same(getattr(made, name)(), getattr(plain, name)())
        assert kernels(xp_default) == before


def test_columns_and_small_integers_are_ours(xp_default):
    made, plain = computed(xp_default)
    before = kernels(xp_default)
    same(made.sum(axis=0), plain.sum(axis=0))
    same(made.argmax(axis=0), plain.argmax(axis=0))
    assert kernels(xp_default) == before + 2
    made, plain = computed(xp_default, "uint8", (300, 400))
    same(made.sum(), plain.sum())
    assert kernels(xp_default) == before + 3
    same(made.max(), plain.max())
    assert kernels(xp_default) == before + 3


def test_what_is_pending_or_large_is_recorded(xp_default):
    made, plain = computed(xp_default)
    before = kernels(xp_default)
    same((made * 2).sum(), (plain * 2).sum())
    assert kernels(xp_default) == before + 1
    made, plain = computed(xp_default, shape=(300, 400))
    before = kernels(xp_default)
    same(made.sum(), plain.sum())
    assert kernels(xp_default) == before + 1


def test_a_value_that_waits_in_a_block(xp_default):
    made, plain = computed(xp_default)
    lazy, twice = made * 0.5 + 0.5, plain * 0.5 + 0.5
    total = (lazy + 1).sum()
    same(total, (twice + 1).sum())
    for name in FOLDS:
        same(getattr(lazy, name)(), getattr(twice, name)())
    lazy += 1
    twice += 1
    same(lazy.max(), twice.max())


def test_a_pending_write_comes_first(xp_default):
    made, plain = computed(xp_default)
    made[:, ::2] *= 2
    plain[:, ::2] *= 2
    same(made.sum(), plain.sum())
    made[3, 4] = 100
    plain[3, 4] = 100
    same(made.max(), plain.max())
    assert made.argmax() == 3 * 150 + 4


def test_steps_other_arguments_and_nan(xp_default):
    made, plain = computed(xp_default, shape=(150, 150))
    for ours, theirs in (
        (made.T, plain.T),
        (made[::-1], plain[::-1]),
        (made[:, ::2], plain[:, ::2]),
    ):
        for name in FOLDS:
            for axis in (None, 0, 1):
                same(getattr(ours, name)(axis=axis), getattr(theirs, name)(axis=axis))
    out = numpy.empty(150)
    assert made.sum(1, out=out) is out
    same(out, plain.sum(1))
    same(made.sum(dtype="float32"), plain.sum(dtype="float32"))
    same(made.sum(where=plain > 1), plain.sum(where=plain > 1))
    same(made.std(ddof=1), plain.std(ddof=1))
    with pytest.raises(numpy.exceptions.AxisError):
        made.sum(axis=5)
    with pytest.raises(TypeError):
        made.sum(nothing=1)
    for array in (made, made * 2):
        with pytest.raises(TypeError):
            array.max(dtype=None)
        with pytest.raises(TypeError):
            array.sum(1, axis=1)
    made[7, 7] = plain[7, 7] = numpy.nan
    for name in ("max", "min", "argmax", "argmin"):
        same(getattr(made, name)(), getattr(plain, name)())


def test_all_sizes_are_ours_where_all_are_lazy(xp):
    made = xp.arange(100.0)
    assert made[0] == 0
    before = kernels(xp)
    assert made.sum() == 4950
    assert kernels(xp) == before + 1
