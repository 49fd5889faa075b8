"""Mistakes raise what NumPy raises: the same type, the same message, on the line of the mistake."""

import traceback

import numpy as np
import pytest
from support.compare import differences, observe
from support.layouts import ordinary


def arrays(m, count=20000):
    """A pending float array, a pending integer array, a boolean one and a read-only one."""
    a = m.array(ordinary("d", count)).reshape(100, -1) + 1
    i = m.array(ordinary("l", count)).reshape(100, -1) + 1
    b = a > 0
    r = a + 1
    r.flags.writeable = False
    return a, i, b, r


def _in_place(a, b):
    a += b


def _in_place_multiply(a, b):
    a *= b


def _divide(a, b):
    a /= b


MISTAKES = {
    "shapes": lambda m, a, i, b, r: a + a[:7],
    "shapes 3": lambda m, a, i, b, r: m.add(a, a[:, :3]),
    "shapes in place": lambda m, a, i, b, r: _in_place(a[:1], a),
    "shapes out": lambda m, a, i, b, r: m.add(a, a, out=a[:5]),
    "shapes where": lambda m, a, i, b, r: m.add(a, a, where=b[:3]),
    "shapes np.where": lambda m, a, i, b, r: m.where(b, a, a[:3]),
    "NaN into integers": lambda m, a, i, b, r: i.__setitem__(slice(3), np.float64("nan")),
    "infinity into integers": lambda m, a, i, b, r: i.fill(np.float32("inf")),
    "large number into integers": lambda m, a, i, b, r: i.__setitem__(..., np.float64(1e300)),
    "number into nothing": lambda m, a, i, b, r: _in_place(i.astype("B")[:0], -1),
    "shapes store": lambda m, a, i, b, r: a.__setitem__(slice(3), a[:4]),
    "shapes matmul": lambda m, a, i, b, r: a @ a,
    "shapes dot": lambda m, a, i, b, r: m.dot(a, a),
    "shapes concatenate": lambda m, a, i, b, r: m.concatenate([a, a[:, 1:]]),
    "shapes stack": lambda m, a, i, b, r: m.stack([a, a[1:]]),
    "shapes reshape": lambda m, a, i, b, r: a.reshape(7, 11),
    "shapes broadcast_to": lambda m, a, i, b, r: m.broadcast_to(a, (3, 3)),
    "shapes copyto": lambda m, a, i, b, r: m.copyto(a, a[:, :3]),
    "shapes compare": lambda m, a, i, b, r: a == a[:7],
    "shapes less": lambda m, a, i, b, r: a < a[:7],
    "axis": lambda m, a, i, b, r: a.sum(axis=2),
    "axis negative": lambda m, a, i, b, r: a.mean(axis=-3),
    "axis twice": lambda m, a, i, b, r: a.max(axis=(0, 0)),
    "axis type": lambda m, a, i, b, r: a.sum(axis=1.5),
    "axis argmax": lambda m, a, i, b, r: a.argmax(axis=(0, 1)),
    "axis cumsum": lambda m, a, i, b, r: m.cumsum(a, axis=5),
    "axis concatenate": lambda m, a, i, b, r: m.concatenate([a, a], axis=2),
    "axis swap": lambda m, a, i, b, r: a.swapaxes(0, 3),
    "axis transpose": lambda m, a, i, b, r: a.transpose(0, 2),
    "axis expand": lambda m, a, i, b, r: m.expand_dims(a, 5),
    "axis squeeze": lambda m, a, i, b, r: a.squeeze(axis=0),
    "axis roll": lambda m, a, i, b, r: m.roll(a, 1, axis=4),
    "cast in place": lambda m, a, i, b, r: _in_place(i, a),
    "cast in place scalar": lambda m, a, i, b, r: _in_place(i, 1.5),
    "cast divide": lambda m, a, i, b, r: _divide(i, i),
    "cast complex": lambda m, a, i, b, r: _in_place_multiply(a, 1j),
    "cast out": lambda m, a, i, b, r: m.add(a, a, out=i),
    "cast dtype": lambda m, a, i, b, r: m.add(a, a, dtype=int),
    "cast bool": lambda m, a, i, b, r: _in_place(b, i),
    "cast astype": lambda m, a, i, b, r: a.astype(int, casting="safe"),
    "cast copyto": lambda m, a, i, b, r: m.copyto(i, a),
    "cast unsigned": lambda m, a, i, b, r: _in_place(i.astype("u1"), i),
    "read only": lambda m, a, i, b, r: r.__setitem__(0, 1),
    "read only in place": lambda m, a, i, b, r: _in_place(r, 1),
    "read only out": lambda m, a, i, b, r: m.add(a, a, out=r),
    "read only sort": lambda m, a, i, b, r: r.sort(),
    "read only fill": lambda m, a, i, b, r: r.fill(1),
    "read only view": lambda m, a, i, b, r: r[1:].__setitem__(0, 1),
    "read only broadcast": lambda m, a, i, b, r: _in_place(m.broadcast_to(a[0], a.shape), 1),
    "read only diagonal": lambda m, a, i, b, r: a.diagonal().__setitem__(0, 1),
    "read only flags": lambda m, a, i, b, r: m.broadcast_to(a, (2, *a.shape)).setflags(write=True),
    "bounds": lambda m, a, i, b, r: a[100],
    "bounds negative": lambda m, a, i, b, r: a[-101],
    "bounds second": lambda m, a, i, b, r: a[3, 200],
    "bounds store": lambda m, a, i, b, r: a.__setitem__((0, 999), 1),
    "bounds list": lambda m, a, i, b, r: a[[0, 100]],
    "bounds list store": lambda m, a, i, b, r: a.__setitem__([0, 100], 1),
    "bounds lazy": lambda m, a, i, b, r: a[i + 1000],
    "bounds take": lambda m, a, i, b, r: a.take(10**6),
    "bounds item": lambda m, a, i, b, r: a.item(10**6),
    "bounds many": lambda m, a, i, b, r: a[0, 0, 0],
    "index float": lambda m, a, i, b, r: a[1.0],
    "index text": lambda m, a, i, b, r: a["x"],
    "index mask": lambda m, a, i, b, r: a[b[:3]],
    "index float array": lambda m, a, i, b, r: a[a],
    "index object": lambda m, a, i, b, r: a[object()],
    "overflow": lambda m, a, i, b, r: i.astype("u1") + 300,
    "overflow negative": lambda m, a, i, b, r: i.astype("u1") + -1,
    "overflow i8": lambda m, a, i, b, r: i.astype("i1") * 128,
    "overflow in place": lambda m, a, i, b, r: _in_place(i.astype("i2"), 10**6),
    "overflow store": lambda m, a, i, b, r: i.astype("u1").__setitem__(0, 256),
    "overflow huge": lambda m, a, i, b, r: i + 2**70,
    "overflow huge float": lambda m, a, i, b, r: a + 10**400,
    "overflow compare": lambda m, a, i, b, r: (i.astype("u1") < 300, i > 2**70, i == -(2**70)),
    "overflow full": lambda m, a, i, b, r: m.full((100, 200), 300, "u1"),
    "power": lambda m, a, i, b, r: i**-1,
    "power array": lambda m, a, i, b, r: i ** m.full_like(i, -1),
    "power reflected": lambda m, a, i, b, r: 2 ** (-abs(i)),
    "boolean subtract": lambda m, a, i, b, r: b - b,
    "boolean negative": lambda m, a, i, b, r: -b,
    "bits of floats": lambda m, a, i, b, r: a & a,
    "bits invert": lambda m, a, i, b, r: ~a,
    "shift of floats": lambda m, a, i, b, r: a << 2,
    "text": lambda m, a, i, b, r: a + "x",
    "text reflected": lambda m, a, i, b, r: "x" + a,
    "none": lambda m, a, i, b, r: a + None,
    "object": lambda m, a, i, b, r: a + object(),
    "dict": lambda m, a, i, b, r: m.sqrt({}),
    "object sqrt": lambda m, a, i, b, r: m.sqrt(m.array([object()] * 9000)),
    "complex order": lambda m, a, i, b, r: (a + 1j).astype(float, casting="same_kind"),
    "complex floor": lambda m, a, i, b, r: m.floor(a + 1j),
    "complex mod": lambda m, a, i, b, r: (a + 1j) % 2,
    "complex arctan2": lambda m, a, i, b, r: m.arctan2(a + 1j, a),
    "truth": lambda m, a, i, b, r: bool(a > 0),
    "truth if": lambda m, a, i, b, r: 1 if a == a else 2,
    "truth and": lambda m, a, i, b, r: a and b,
    "float": lambda m, a, i, b, r: float(a),
    "int": lambda m, a, i, b, r: int(i),
    "empty max": lambda m, a, i, b, r: a[:0].max(),
    "empty argmin": lambda m, a, i, b, r: a[:0].argmin(),
    "empty max axis": lambda m, a, i, b, r: a[:, :0].max(axis=1),
    "singular": lambda m, a, i, b, r: m.linalg.inv(m.zeros((100, 100))),
    "not square": lambda m, a, i, b, r: m.linalg.inv(a),
    "not positive": lambda m, a, i, b, r: m.linalg.cholesky(-m.eye(100) + 0),
    "einsum": lambda m, a, i, b, r: m.einsum("ij,jk", a, a),
    "unknown dtype": lambda m, a, i, b, r: m.zeros(9000, "wrong"),
    "negative size": lambda m, a, i, b, r: m.zeros(-1),
    "shape type": lambda m, a, i, b, r: m.zeros("x"),
    "too many dimensions": lambda m, a, i, b, r: m.zeros((1,) * 70),
    "ragged": lambda m, a, i, b, r: m.array([[1, 2], [3]]),
    "arange": lambda m, a, i, b, r: m.arange(0, 10, 0),
    "linspace": lambda m, a, i, b, r: m.linspace(0, 1, -1),
    "keyword": lambda m, a, i, b, r: m.zeros(9000, wrong=1),
    "positional": lambda m, a, i, b, r: m.zeros(),
    "ufunc keyword": lambda m, a, i, b, r: m.add(a, a, axis=1),
    "ufunc arguments": lambda m, a, i, b, r: m.add(a),
    "ufunc out": lambda m, a, i, b, r: m.add(a, a, out="x"),
    "sum keyword": lambda m, a, i, b, r: a.sum(wrong=1),
    "astype": lambda m, a, i, b, r: a.astype("wrong"),
    "view": lambda m, a, i, b, r: a.T.view("i"),
    "view size": lambda m, a, i, b, r: a[:, :3].copy().view("D"),
    "order": lambda m, a, i, b, r: a.copy(order="Z"),
    "ravel order": lambda m, a, i, b, r: a.ravel("Z"),
    "clip": lambda m, a, i, b, r: m.clip(a, 1, 2, out=i),
    "attribute": lambda m, a, i, b, r: a.no_such_thing,
    "module attribute": lambda m, a, i, b, r: (np if m is np else m).abs,
    "accumulate": lambda m, a, i, b, r: m.divmod.accumulate(a),
    "reduce nin": lambda m, a, i, b, r: m.sqrt.reduce(a),
    "divide by zero int": lambda m, a, i, b, r: i // 0,
    "searchsorted": lambda m, a, i, b, r: a.searchsorted(1),
    "choose": lambda m, a, i, b, r: m.choose(i, [a]),
    "iteration of 0-d": lambda m, a, i, b, r: list(a.sum()),
    "len of 0-d": lambda m, a, i, b, r: len(m.array(3.0)),
    "delete": lambda m, a, i, b, r: a.__delitem__(0),
    "set shape": lambda m, a, i, b, r: setattr(a.copy(), "shape", (3,)),
    "set dtype": lambda m, a, i, b, r: setattr(a[:, :3], "dtype", "D"),
    "set real": lambda m, a, i, b, r: setattr(a, "imag", 1),
    "unhashable": lambda m, a, i, b, r: {a: 1},
    "round": lambda m, a, i, b, r: m.round(a, "x"),
    "repeat": lambda m, a, i, b, r: m.repeat(a, -1),
    "tile": lambda m, a, i, b, r: m.tile(a, -1),
    "pad": lambda m, a, i, b, r: m.pad(a, -1),
    "bincount": lambda m, a, i, b, r: m.bincount(a.ravel()),
    "nonzero 0-d": lambda m, a, i, b, r: m.nonzero(m.array(3.0)),
}


@pytest.mark.filterwarnings("ignore::DeprecationWarning")
@pytest.mark.parametrize("name", [n for n in MISTAKES if n != "module attribute"])
def test_mistake(xp_both, name):
    def body(m):
        return MISTAKES[name](m, *arrays(m))

    found = differences(observe(body, np), observe(body, xp_both))
    assert not found, "\n".join(found)


def test_missing_names_of_the_module(xp_both):
    with pytest.raises(AttributeError, match="no_such_thing"):
        xp_both.no_such_thing  # noqa: B018
    for old in ("float", "int", "object", "bool8", "product"):
        want = observe(lambda m, old=old: getattr(m, old), np).error
        got = observe(lambda m, old=old: getattr(m, old), xp_both).error
        assert want[0] == got[0] == "AttributeError"
        assert want[1].replace("numpy", "X") == got[1].replace("arrayloom", "X").replace(
            "numpy", "X"
        )


LATE = {
    "shapes": lambda m, a: a + a[:7],
    "cast": lambda m, a: m.add(a, a, out=a.astype("l")),
    "bounds": lambda m, a: a[[0, 10**6]],
    "singular": lambda m, a: m.linalg.inv(m.zeros((100, 100)) * 1),
    "overflow": lambda m, a: a.astype("u1") + 300,
    "power": lambda m, a: a.astype("l") ** -1,
}


@pytest.mark.parametrize("name", LATE)
def test_the_traceback_ends_on_the_line_of_the_mistake(xp_both, name):
    """Errors do not wait until something looks at the result."""

    def lines(m):
        a = m.arange(20000.0) + 1
        try:
            LATE[name](m, a)
        except Exception as error:
            frames = traceback.extract_tb(error.__traceback__)
            return [frame.lineno for frame in frames if frame.filename == __file__]
        return []

    want = lines(np)
    assert want
    assert lines(xp_both) == want


def test_errstate_raise_is_raised_at_the_call(xp_both):
    a = xp_both.arange(20000.0)
    for body, text in (
        (lambda: 1 / a, "divide by zero encountered in divide"),
        (lambda: xp_both.log(a - 5), "invalid value encountered in log"),
        (lambda: a * 1e308 * 1e10, "overflow encountered in multiply"),
        (lambda: xp_both.sqrt(-a - 1), "invalid value encountered in sqrt"),
        (lambda: (a * 1e-308) * 1e-300, "underflow encountered in multiply"),
    ):
        with xp_both.errstate(all="raise"):
            with pytest.raises(FloatingPointError) as caught:
                body()
            assert str(caught.value) in {text, text.replace("invalid value", "divide by zero")}


def test_a_failed_in_place_operation_changes_nothing(xp_both):
    a = xp_both.arange(20000) + 1
    before = np.array(a)
    for bad in (lambda: _in_place(a, 1.5), lambda: _in_place(a, a[:3]), lambda: _divide(a, a)):
        with pytest.raises((TypeError, ValueError)):
            bad()
    assert np.array_equal(np.asarray(a), before)
