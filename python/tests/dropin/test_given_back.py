"""Which object conversions give: the array itself where NumPy does, else a new one, and a view of the same array."""

import itertools

import numpy as np
import pytest
from support.compare import differences, observe

COUNT = 240_000

# A view of an array with that many elements, or the array.
VIEWS = {
    "itself": lambda m, a: a,
    "slice": lambda m, a: a[:],
    "ellipsis": lambda m, a: a[...],
    "view": lambda m, a: a.view(),
    "twice transposed": lambda m, a: a.T.T,
    "reshaped": lambda m, a: a.reshape(a.shape),
    "matrix": lambda m, a: a.reshape(400, 600),
    "transposed": lambda m, a: a.reshape(400, 600).T,
    "axes exchanged": lambda m, a: a.reshape(40, 60, 100).transpose(0, 2, 1),
    "axes turned": lambda m, a: a.reshape(40, 60, 100).transpose(2, 0, 1),
    "one row": lambda m, a: a.reshape(1, -1),
    "part": lambda m, a: a[7:-5],
    "steps": lambda m, a: a[::2],
    "backwards": lambda m, a: a[::-1],
    "other dtype and back": lambda m, a: a.view("i8").view("f8"),
    "integers": lambda m, a: a.view("i8"),
    "other order": lambda m, a: a.view(">f8"),
    "real": lambda m, a: a.real,
    "plain": lambda m, a: a.view(np.ndarray),
    "plain of a view": lambda m, a: a[:].view(np.ndarray),
    "broadcast": lambda m, a: m.broadcast_to(a, a.shape),
    "broadcast further": lambda m, a: m.broadcast_to(a, (3, *a.shape)),
    "record": lambda m, a: a.view(np.recarray),
    "of a record": lambda m, a: m.asarray(a.view(np.recarray)),
    "buffer": lambda m, a: m.frombuffer(a),
    "nothing": lambda m, a: a[:0],
}

CALLS = {
    "asarray": lambda m, x: m.asarray(x),
    "asarray, dtype": lambda m, x: m.asarray(x, dtype=x.dtype),
    "asarray, no copy": lambda m, x: m.asarray(x, copy=False),
    "asanyarray": lambda m, x: m.asanyarray(x),
    "ascontiguousarray": lambda m, x: m.ascontiguousarray(x),
    "asfortranarray": lambda m, x: m.asfortranarray(x),
    "asarray_chkfinite": lambda m, x: m.asarray_chkfinite(x),
    "require": lambda m, x: m.require(x),
    "require base class": lambda m, x: m.require(x, requirements=["E"]),
    "require order": lambda m, x: m.require(x, requirements=["F", "A"]),
    "require ownership": lambda m, x: m.require(x, requirements=["O"]),
    "astype": lambda m, x: x.astype(x.dtype, copy=False),
    "astype without class": lambda m, x: x.astype(x.dtype, copy=False, subok=False),
    "atleast_1d": lambda m, x: m.atleast_1d(x),
    "atleast_2d": lambda m, x: m.atleast_2d(x),
    "ravel": lambda m, x: m.ravel(x),
    "ravel, any order": lambda m, x: m.ravel(x, order="A"),
    "reshape": lambda m, x: m.reshape(x, -1),
    "squeeze": lambda m, x: m.squeeze(x),
    "copy": lambda m, x: m.copy(x, order="A"),
    "broadcast_to": lambda m, x: m.broadcast_to(x, x.shape),
    "broadcast_arrays, alone": lambda m, x: m.broadcast_arrays(x)[0],
    "broadcast_arrays, twice": lambda m, x: m.broadcast_arrays(x, x)[1],
    "broadcast_arrays, further": lambda m, x: m.broadcast_arrays(x, 2)[0],
    "nan_to_num": lambda m, x: m.nan_to_num(x, copy=False) if x.dtype.isnative else x,
}


def facts(m, a, x, call):
    """What a program can tell of the object that a call gives."""
    try:
        given = call(m, x)
    except ValueError as error:
        return str(error)
    bases = [given.base is other for other in (None, a, x)]
    kind = type(given).__name__, given.dtype.char, given.dtype.byteorder
    flags = [given.flags[name] for name in ("C", "F", "OWNDATA", "WRITEABLE", "ALIGNED")]
    return given is x, bases, kind, given.shape, given.strides, flags, np.may_share_memory(given, a)


def compare(calls, xp):
    failures = []
    for frozen, of, (name, call) in itertools.product((False, True), VIEWS, calls.items()):

        def told(m, of=of, call=call, frozen=frozen):
            a = m.zeros(COUNT) + 1
            x = VIEWS[of](m, a)
            if frozen:
                x.flags.writeable = False
            return facts(m, a, x, call)

        plain, ours = told(np), told(xp)
        if plain != ours:
            failures.append(f"{name} of {of}, frozen {frozen}: {plain} {ours}")
    assert not failures, f"{len(failures)} differ\n" + "\n".join(failures[:20])


def test_conversions_give_the_object_that_numpy_gives(xp_default):
    compare(CALLS, xp_default)


@pytest.mark.parametrize("order", "KACF")
def test_arrays_of_arrays_are_copied_where_numpy_copies(xp_default, order):
    calls = {}
    for copies, rank, subok in itertools.product((True, None, False), (0, 2, 5), (False, True)):
        words = {"copy": copies, "ndmin": rank, "subok": subok, "order": order}
        calls[str(words)] = lambda m, x, words=words: m.array(x, **words)
        calls[f"{words}, f8"] = lambda m, x, words=words: m.array(x, "f8", **words)
        calls[f"{words}, c8"] = lambda m, x, words=words: m.array(x, "c8", **words)
    compare(calls, xp_default)


def test_what_a_program_does_to_the_metadata_stays_there(xp_both):
    def body(m):
        a = m.zeros(COUNT)
        b, c = m.array(a[:], copy=None), m.broadcast_arrays(a, a[:])[1]
        d = m.asarray(a.view(np.ndarray))
        b.shape = (400, 600)
        c.flags.writeable = False
        d.shape = (600, 400)
        b[3] = 5
        return a.shape, b.shape, c.shape, d.shape, a.flags.writeable, c.flags.writeable, a

    assert not differences(observe(body, np), observe(body, xp_both))


def test_packages_get_the_orders_that_numpy_gives(xp_both):
    a = xp_both.ones((40, 50, 60)).transpose(0, 2, 1)
    assert np.array(a, order="A").flags.c_contiguous
    assert np.array(a, order="K").strides == a.strides
    assert np.array(a, order="A", copy=None) is a
    assert np.array(a, subok=True, copy=None) is a
