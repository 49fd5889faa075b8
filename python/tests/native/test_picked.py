"""What a mask picks is not moved where the same mask puts it back, and is taken in time where it is wanted."""

import ctypes
import functools
import gc
import threading
import warnings
import weakref

import numpy
import pytest
from support.layouts import plain_view

import arrayloom as np
from arrayloom import _ext

SIDE = 300


@pytest.fixture(autouse=True)
def _large_arrays(xp_default, real_laziness):
    _ext.flush()


def pair(seed=1, dtype="d", side=SIDE):
    plain = (numpy.random.default_rng(seed).random((side, side)) * 8).astype(dtype)
    return plain, np.array(plain)


def kernels_of(work):
    _ext.flush()
    _ext.reset_stats()
    work()
    _ext.flush()
    return _ext.stats()["kernels"]


@pytest.fixture(params=["ours", "plain"])
def mask_of(request):
    def of(plain, limit=3):
        mask = plain > limit
        if request.param == "plain":
            return mask, mask.copy()
        # Large, and a part of it: of the arena.
        room = np.zeros((8, *mask.shape), bool)
        room[3] = mask
        return mask, room[3]

    return of


UPDATES = {
    "scaled and added": lambda m, a, b, k: a.__setitem__(k, a[k] * 0.5 + b[k]),
    "in place": lambda m, a, b, k: a.__setitem__(k, a[k].__iadd__(b[k])),
    "by a number": lambda m, a, b, k: a.__setitem__(k, a[k].__imul__(2)),
    "of a function": lambda m, a, b, k: a.__setitem__(k, m.sqrt(a[k])),
    "to another": lambda m, a, b, k: b.__setitem__(k, a[k] - 1),
    "cast": lambda m, a, b, k: a.__setitem__(k, a[k].astype("f")),
    "itself": lambda m, a, b, k: a.__setitem__(k, b[k]),
}


@pytest.mark.parametrize("name", UPDATES)
@pytest.mark.parametrize("dtype", ["d", "f", "D", "i4"])
def test_an_update_is_one_kernel(name, dtype, mask_of):
    if (dtype, name) in {("i4", "of a function"), ("i4", "scaled and added"), ("D", "cast")}:
        dtype = "f2"
    (p, a), (q, b) = pair(1, dtype), pair(2, dtype)
    mask, key = mask_of(p.real)
    update = UPDATES[name]
    kernels = kernels_of(lambda: update(np, a, b, key))
    update(numpy, p, q, mask)
    numpy.testing.assert_array_equal(plain_view(a), p)
    numpy.testing.assert_array_equal(plain_view(b), q)
    assert kernels == 1


@pytest.mark.parametrize("window", [numpy.s_[1:-1, 1:-1], numpy.s_[::-1, ::2], numpy.s_[:, 5:]])
def test_windows_of_an_array_too(window, mask_of):
    (p, a), (q, b) = pair(1), pair(2)
    mask, key = mask_of(p[window])

    def update(x, y, k):
        part = x[window]
        part[k] += 0.5 * (y[window][k] - part[k])
        x.T[window][k.T.copy()] *= 2
        return part[k], y[window][k] + 1

    kernels = kernels_of(lambda: a[window].__setitem__(key, a[window][key] + b[window][key]))
    p[window][mask] += q[window][mask]
    assert kernels == 1
    if p[window].shape == p.T[window].T.shape:
        for mine, his in zip(update(a, b, key), update(p, q, mask), strict=True):
            numpy.testing.assert_array_equal(plain_view(mine), his)
    numpy.testing.assert_array_equal(plain_view(a), p)


def test_several_steps_by_one_mask(mask_of):
    (p, a), (q, b) = pair(1), pair(2)
    mask, key = mask_of(p)
    for x, y, k in ((p, q, mask), (a, b, key)):
        v = x[k]
        w = v * y[k]
        v += w
        v -= 1
        y[k] = w
        x[k] = v
        assert v.shape == (mask.sum(),)
    numpy.testing.assert_array_equal(plain_view(a), p)
    numpy.testing.assert_array_equal(plain_view(b), q)


def test_picked_elements_keep_their_value(mask_of):
    """Whatever happens to origin and mask after."""

    def by_view(x):
        x[:] = 0

    def by_operation(x):
        numpy.add(x, 1, out=x) if type(x) is numpy.ndarray else np.add(x, 1, out=x)

    def by_buffer(x):
        memoryview(x).cast("B")[:] = bytes(x.nbytes)

    def by_address(x):
        ctypes.memset(x.ctypes.data, 1, x.nbytes)

    def by_sort(x):
        x.sort(axis=None) if x.ndim == 1 else x.ravel().sort()

    for change in (by_view, by_operation, by_buffer, by_address, by_sort):
        for done in (False, True):
            p, a = pair(3)
            mask, key = mask_of(p)
            address = a.ctypes.data
            assert address
            picked = a[key] * 2 if done else a[key]
            expected = p[mask] * 2 if done else p[mask]
            change(a)
            numpy.testing.assert_array_equal(plain_view(picked), expected)
            picked = a[key] + 1 if done else a[key]
            expected = plain_view(a)[mask] + done
            key[...] = False
            assert not plain_view(key).any()
            numpy.testing.assert_array_equal(plain_view(picked), expected)


def test_c_code_writes_to_the_origin_by_an_address_of_before():
    p, a = pair(4)
    mask = p > 3
    address = a.ctypes.data
    picked, more = a[mask], a[mask] + 1
    ctypes.memset(address, 0, a.nbytes)
    numpy.testing.assert_array_equal(plain_view(picked), p[mask])
    numpy.testing.assert_array_equal(plain_view(more), p[mask] + 1)
    assert not plain_view(a).any()


def test_a_plain_mask_that_changed_is_another():
    p, a = pair(5)
    mask = p > 3
    key = mask.copy()
    v = a[key] * 2
    key[0] = ~key[0]
    with pytest.raises(ValueError, match="assign"):
        a[key] = v
    key[0] = ~key[0]
    key[:2] = key[1::-1].copy()
    other = mask.copy()
    other[:2] = other[1::-1].copy()
    a[key] = v
    expected = p.copy()
    expected[other] = p[mask] * 2
    numpy.testing.assert_array_equal(plain_view(a), expected)


def test_shapes_of_the_mask_matter():
    p, a = pair(6)
    mask = p > 3
    v = a[mask] + a.ravel()[mask.ravel()]
    numpy.testing.assert_array_equal(plain_view(v), p[mask] * 2)
    a.ravel()[mask.ravel()] = v
    p[mask] *= 2
    numpy.testing.assert_array_equal(plain_view(a), p)


def test_masks_of_the_same_values_are_the_same_mask():
    p, a = pair(20, side=600)
    q, b = pair(21, side=600)

    def update(x, y):
        x[x < 3] = y[x < 3] * 0.5 + x[x < 3]
        y[~(x < 4)] -= x[~(x < 4)]

    update(a, b)
    _ext.flush()
    plain = p.copy(), q.copy()
    update(*plain)
    numpy.testing.assert_array_equal(plain_view(a), plain[0])
    numpy.testing.assert_array_equal(plain_view(b), plain[1])
    first, second = a < 3, a < 3
    v = a[first] + a[second]
    assert _ext.is_pending(v)
    second = np.asarray(a < 5)
    w = a[first] + 1
    with pytest.raises(ValueError, match="assign"):
        a[second] = w
    p = plain[0].copy()
    numpy.testing.assert_array_equal(plain_view(v), p[p < 3] * 2)
    numpy.testing.assert_array_equal(plain_view(w), p[p < 3] + 1)


@pytest.mark.parametrize("few", [0, 1, 100])
def test_few_elements_are_taken_at_once(few):
    p, a = pair(7)
    mask = numpy.zeros(p.shape, bool)
    mask.flat[:few] = True
    v = a[mask]
    assert not _ext.is_pending(v)
    numpy.testing.assert_array_equal(plain_view(v), p[mask])
    a[mask] = v + 1
    p[mask] += 1
    numpy.testing.assert_array_equal(plain_view(a), p)


def test_a_line_that_wants_the_elements_learns_to_take_them():
    p, a = pair(8)
    mask = p > 3
    pending = []
    for _ in range(5):
        v = a[mask]
        pending.append(_ext.is_pending(v))
        assert v.max() == p[mask].max()
    assert pending == [True, True, False, False, False]


def take_reciprocals(a, key):
    a[key] = 1 / a[key]
    return plain_view(a)


def test_conditions_are_those_of_picked_elements(mask_of):
    p, a = pair(9)
    p[0, :5] = a[0, :5] = 0.0
    mask, key = mask_of(p)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        a[key] = np.log(a[key]) / a[key]
        plain_view(a)
    p[mask] = numpy.log(p[mask]) / p[mask]
    numpy.testing.assert_array_equal(plain_view(a), p)
    mask, key = mask_of(p, -1)
    with pytest.warns(RuntimeWarning, match="divide by zero") as told:
        take_reciprocals(a, key)
    assert len(told) == 1
    assert told[0].filename == __file__


def test_errors_are_numpys(mask_of):
    p, a = pair(10)
    _, key = mask_of(p)
    v = a[key] + 1
    with pytest.raises(ValueError, match="broadcast"):
        v + numpy.ones(3)
    with pytest.raises(ValueError, match="assign"):
        a[key] = v[:-1]
    with pytest.raises(IndexError, match="boolean"):
        a[key[:-1]]
    a.flags.writeable = False
    with pytest.raises(ValueError, match="read-only"):
        a[key] = v
    whole = np.array(p).astype("i8")
    with pytest.raises(TypeError, match="same_kind"):
        np.add(whole[key], 0.5, out=whole[key])


def test_views_and_copies_of_picked_elements(mask_of):
    p, a = pair(11)
    mask, key = mask_of(p)
    v, w = a[key] * 3, p[mask] * 3
    numpy.testing.assert_array_equal(plain_view(v[5:50:3]), w[5:50:3])
    v, w = a[key] * 3, p[mask] * 3
    v[2:9] = 1
    w[2:9] = 1
    numpy.testing.assert_array_equal(plain_view(v), w)
    v = a[key]
    assert v.base is None
    assert v.flags.owndata
    assert v.strides == (8,)
    assert v.view("i8").sum() == p[mask].view("i8").sum()
    assert v.tolist() == p[mask].tolist()
    numpy.testing.assert_array_equal(numpy.sort(a[key]), numpy.sort(p[mask]))


def test_nothing_is_kept():
    gc.collect()
    before = _ext.stats()["pool"]["live_bytes"]
    p, a = pair(12, side=600)
    mask, key = p > 3, a > 3
    v = a[key] * 2
    seen = weakref.ref(v)
    a[key] = v
    del v
    gc.collect()
    assert seen() is None
    whole = weakref.ref(a)
    v = a[key]
    del a, key
    assert whole() is None
    p[mask] *= 2
    numpy.testing.assert_array_equal(plain_view(v), p[mask])
    own = v.nbytes
    assert _ext.stats()["pool"]["live_bytes"] <= before + own + (64 << 10)
    del v
    assert _ext.stats()["pool"]["live_bytes"] <= before


def test_resizing_the_origin():
    p, a = pair(13, side=400)
    mask = p > 3
    v = a[mask]
    a.resize((10, 10))
    numpy.testing.assert_array_equal(plain_view(v), p[mask])


def test_threads_take_the_same_elements():
    p, a = pair(14, side=600)
    p = numpy.floor(p)
    a = np.array(p)
    mask = p > 3
    for _ in range(20):
        v, w = a[mask], a[mask] + 1
        found = []
        look = functools.partial(lambda found, v, w: found.append(float(v[0] + w[-1])), found, v, w)
        work = [threading.Thread(target=look) for _ in range(4)]
        for thread in work:
            thread.start()
        a[mask] = w
        a -= 1
        for thread in work:
            thread.join()
        assert found == [p[mask][0] + p[mask][-1] + 1] * 4
        a[~mask] += 1
        numpy.testing.assert_array_equal(plain_view(a), p)


def test_a_list_that_runs_in_the_middle_of_a_statement(xp):
    """The list runs when lines cannot be told apart any more, some ten thousand later, wherever that is."""
    values = numpy.arange(1.0, 31.0)
    doubled = (values[values > 3] * 2).tolist()
    source = "results = [" + ",\n".join(["x[m]\n* 2"] * 60) + "]"
    for number in range(600):
        space = {"x": xp.array(values), "m": xp.array(values > 3)}
        exec(compile(source, f"program {number}", "exec"), space)
        space["x"][space["m"]] = space["results"][0]
        assert all(plain_view(found).tolist() == doubled for found in space["results"]), number
