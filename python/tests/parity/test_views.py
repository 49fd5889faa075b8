"""Views, indexing, stores: every basic and fancy index, chains of views, writes through them."""

import numpy as np
import pytest
from support.compare import differences, observe
from support.layouts import DTYPES, ordinary, plain_view


def check(body, xp):
    found = differences(observe(body, np), observe(body, xp))
    assert not found, "\n".join(found[:8])


def cube(m, dtype="d"):
    return m.array(ordinary(dtype, 60)).reshape(3, 4, 5) * m.array(1, dtype)


INDICES = {
    "integer": 1,
    "negative": -1,
    "pair": (1, 2),
    "all": (1, 2, 3),
    "numpy integer": np.int64(2),
    "0-d index": np.array(1),
    "bool": True,
    "False": False,
    "slice": slice(1, None),
    "stepped": (slice(None), slice(None, None, 2)),
    "reversed": (slice(None, None, -1), slice(None), slice(None, None, -2)),
    "beyond": slice(-100, 100),
    "nothing": slice(2, 2),
    "ellipsis": (..., 0),
    "only ellipsis": ...,
    "newaxis": (None, 1, None, slice(None), None),
    "empty tuple": (),
    "list": [0, 2, 0],
    "lists": ([0, 2], [1, 3]),
    "lists apart": ([0, 2], slice(None), [1, 3]),
    "list and slice": (slice(None), [0, 3, -1], slice(1, 4)),
    "list of lists": ([[0], [2]], [[1, 3]]),
    "mask": np.arange(60).reshape(3, 4, 5) % 3 == 0,
    "mask rows": np.array([True, False, True]),
    "mask plane": np.arange(12).reshape(3, 4) % 2 == 0,
    "mask and slice": (slice(None), np.array([True, False, False, True]), slice(1, 3)),
    "empty list": [],
    "out of bounds": 3,
    "out of bounds 2": (0, -5),
    "out of bounds list": [0, 3],
    "too many": (0, 0, 0, 0),
    "two ellipses": (..., ...),
    "float": 1.0,
    "float list": [1.0],
    "text": "x",
    "None": None,
    "mask wrong": np.array([True, False]),
    "zero step": slice(None, None, 0),
    "float slice": slice(0.5, None),
    "lists unequal": ([0, 1], [0, 1, 2]),
    "huge": 2**70,
}


@pytest.mark.parametrize("name", INDICES)
def test_get(xp, name):
    check(lambda m: cube(m)[INDICES[name]], xp)
    check(lambda m: (cube(m).T + 1)[INDICES[name]], xp)


@pytest.mark.parametrize("name", INDICES)
def test_set(xp, name):
    index = INDICES[name]

    def scalar(m):
        a = cube(m)
        b = a + 1
        a[index] = 7
        return a, b

    def array(m):
        a = cube(m)
        a[index] = a[index] * 2 + 1
        return a

    def in_place(m):
        a = cube(m)
        a[index] += 3
        return a

    def wrong_shape(m):
        a = cube(m)
        a[index] = m.ones(77)
        return a

    for body in (scalar, array, in_place, wrong_shape):
        check(body, xp)


CHAINS = {
    "rows": lambda a: a[1:][:, ::2][:, :, -1],
    "transposed": lambda a: a.T[1:].swapaxes(0, 2)[::-1],
    "diagonal": lambda a: (a.diagonal(), a.diagonal(1, 0, 2), a[0].diagonal(-1)),
    "reshape": lambda a: (a.reshape(12, 5), a.reshape(-1), a.reshape(5, 12).T, a.T.reshape(4, -1)),
    "reshape order": lambda a: (a.reshape(15, 4, order="F"), a.reshape(6, 10, order="A")),
    "reshape wrong": lambda a: a.reshape(7, -1),
    "reshape two": lambda a: a.reshape(-1, -1),
    "reshape copy": lambda a: a.T.reshape(-1, copy=False),
    "ravel": lambda a: (a.ravel(), a.T.ravel(), a.ravel("F"), a[:, 0].ravel(), a.flatten()),
    "squeeze": lambda a: (a[:1].squeeze(), a[:1].squeeze(0), a[None].squeeze(axis=0)),
    "squeeze wrong": lambda a: a.squeeze(0),
    "expand": lambda a: a[:, None, :, None][..., 0],
    "moveaxis": lambda a: a.transpose(2, 0, 1)[1:, :, 1:],
    "transpose wrong": lambda a: a.transpose(0, 0, 1),
    "view int": lambda a: (a.view("l"), a.view("i"), a.view(np.uint8)[..., ::8]),
    "view wrong": lambda a: a.T.view("i"),
    "view larger": lambda a: (a.reshape(5, 12).view("D"), a[0].view("D")),
    "real": lambda a: (a.real, a.imag),
    "flat": lambda a: (a.flat[7], a.flat[3:9], a.flat[[1, 2]], list(a.flat)[:3], len(a.flat)),
    "iterate": lambda a: [row + 1 for row in a],
    "iterate T": lambda a: [x for row in a[0].T for x in row],
    "item": lambda a: (a.item(3), a.item((1, 2, 3)), a[0, 0].item(1)),
    "item wrong": lambda a: a.item(),
    "attributes": lambda a: (a.size, a.nbytes, a.itemsize, a.ndim, a.T.strides, len(a)),
    "mT": lambda a: a.mT,
    "base": lambda a: (a[0].base is a.base, a[0][1:].base is a[0].base, a.T.base is a.base),
    "setflags": lambda a: _read_only(a),
    "partition": lambda a: (a[0].max(), a[:, 1].min(axis=0), a[..., 0].sum()),
    "resize": lambda a: _resized(a),
    "shape": lambda a: _with_shape(a),
    "sort": lambda a: _sorted(a),
    "tolist": lambda a: (a.tolist(), a[0, 0].tolist(), a.T.tobytes(), a.tobytes("F")),
    "choose": lambda a: (a > 0).choose([a[0], 1]),
    "swap": lambda a: (a.byteswap(), a.view(">f8")[0, 0, 0]),
}


def _read_only(a):
    a.setflags(write=False)
    before = a + 0
    try:
        a[0] = 1
    except ValueError as error:
        return str(error), a[1:].flags.writeable, before
    return None


def _resized(a):
    b = a.copy()
    b.resize((5, 20), refcheck=False)
    return b


def _with_shape(a):
    b = a.copy()
    b.shape = (10, 6)
    return b, a


def _sorted(a):
    b = a.copy()
    b.sort(axis=0)
    a[0].sort(axis=0)
    a[..., 1].partition(2)
    return b, a, a.argsort(axis=1, kind="stable"), a[0, 0].searchsorted(0.5)


@pytest.mark.filterwarnings("ignore::DeprecationWarning")
@pytest.mark.parametrize("name", CHAINS)
def test_chains(xp, name):
    check(lambda m: CHAINS[name](cube(m)), xp)
    check(lambda m: CHAINS[name](cube(m) * 2 - 1), xp)


def _shift(a):
    a[1:] += a[:-1]


def _shift_back(a):
    a[:-1] += a[1:]


def _shift_store(a):
    a[1:] = a[:-1]


def _reverse(a):
    a[:] = a[::-1]


def _reverse_add(a):
    a += a[::-1]


def _even_odd(a):
    a[::2] = a[1::2]


def _halves(a):
    a[: len(a) // 2] = a[len(a) // 2 :] * 2 + a[: len(a) // 2]


def _out(a):
    np.add(a[1:], a[:-1], out=a[1:])


def _out_reversed(a):
    np.subtract(a, a[::-1], out=a[::-1])


def _three(a):
    a[1:-1] = (a[:-2] + a[1:-1] + a[2:]) * 0.25


def _twice(a):
    a[1:] += a[:-1]
    a[:-1] -= a[1:]
    a[::2] -= a[1::2]


def _plain_write(a):
    b = a * 2
    plain_view(a)[...] = 1
    a += b


def _broadcast_self(a):
    a += a[:1]


def _accumulate(a):
    np.add.accumulate(a, out=a)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize(
    "write",
    [_shift, _shift_back, _shift_store, _reverse, _reverse_add, _even_odd, _halves, _out,
     _out_reversed, _three, _twice, _plain_write, _broadcast_self, _accumulate],
)  # fmt: skip
def test_overlap(xp, write, dtype):
    def one(m):
        a = m.array(ordinary(dtype, 64))
        kept = a[3:]
        later = a + 1 if dtype != "?" else ~a
        write(a)
        return a, kept, later

    def rows(m):
        a = m.array(ordinary(dtype, 64)).reshape(8, 8)
        a = a + a[::-1].copy()
        write(a)
        write(a.T)
        write(a[:, 2])
        return a

    check(one, xp)
    check(rows, xp)


def _transposed_in_place(m, a):
    a += a.T
    return a


SQUARES = {
    "a += a.T": _transposed_in_place,
    "a[...] = a.T": lambda m, a: (a.__setitem__(..., a.T), a)[1],
    "lower = upper": lambda m, a: (a[1:, :-1].__setitem__(..., a[:-1, 1:]), a)[1],
    "diagonal": lambda m, a: (m.fill_diagonal(a, 9), a, a.diagonal().sum())[1:],
    "einsum diagonal": lambda m, a: (m.einsum("ii->i", a).__imul__(2), a)[1],
    "real part": lambda m, a: _write_real(m, a),
    "int view": lambda m, a: (a.view("l").__iand__(-2), a)[1],
    "byte view": lambda m, a: (a.view(np.uint8).__setitem__((..., 0), 255), a)[1],
    "strided windows": lambda m, a: m.lib.stride_tricks.sliding_window_view(a, (3, 3)).sum((2, 3)),
    "as_strided": lambda m, a: m.lib.stride_tricks.as_strided(a, (5, 3), (8, 8)) + 1,
    "as_strided write": lambda m, a: _write_strided(m, a),
    "broadcast write": lambda m, a: (m.broadcast_to(a[0], (3, 8)).__setitem__(0, 1), a)[1],
    "matmul": lambda m, a: (m.matmul(a, a.T, out=a), a[1:] @ a[:, 1:], a.dot(a[0]))[1:],
    "nditer": lambda m, a: _nditer(m, a),
    "swap rows": lambda m, a: _swap(a),
    "fancy swap": lambda m, a: (a.__setitem__([0, 1], a[[1, 0]]), a)[1],
    "roll in place": lambda m, a: (a.__setitem__(slice(None), m.roll(a, 1, 0)), a)[1],
    "copyto": lambda m, a: (m.copyto(a[1:], a[:-1], where=a[1:] > 0), a)[1],
    "putmask": lambda m, a: (m.putmask(a, a > 0, a.T), a)[1],
    "may share": lambda m, a: (m.shares_memory(a, a.T), m.may_share_memory(a[:4], a[4:])),
    "clip out": lambda m, a: m.clip(a, -0.5, 0.5, out=a),
    "sum out": lambda m, a: m.sum(a, axis=0, out=a[3]),
    "where": lambda m, a: m.where(a > a.T, a, a.T),
}


def _write_real(m, a):
    c = a + 1j * a.T
    c.real[1:] = c.imag[:-1]
    c.imag *= 2
    return c, abs(c)


def _write_strided(m, a):
    window = m.lib.stride_tricks.as_strided(a, (10, 3), (8, 8))
    window += 1
    return a


def _nditer(m, a):
    with m.nditer(a, op_flags=["readwrite"]) as it:
        for x in it:
            x[...] = 2 * x
    return a


def _swap(a):
    a[0], a[1] = a[1], a[0].copy()
    return a


@pytest.mark.parametrize("name", SQUARES)
def test_square_matrices(xp, name):
    check(lambda m: SQUARES[name](m, m.array(ordinary("d", 64)).reshape(8, 8)), xp)
    check(lambda m: SQUARES[name](m, m.array(ordinary("d", 64)).reshape(8, 8).T * 0.5), xp)


def test_write_after_read_through_every_kind_of_view(xp):
    """A pending reader keeps the old values whichever way the array is written afterwards."""
    writers = {
        "setitem": lambda m, a: a.__setitem__(slice(2, 9), 1.0),
        "plain view": lambda m, a: plain_view(a).__setitem__(3, 1.0),
        "memoryview": lambda m, a: memoryview(a).__setitem__(3, 1.0),
        "sort": lambda m, a: a.sort(),
        "fill": lambda m, a: a.fill(3),
        "put": lambda m, a: a.put([1, 2], 9),
        "byte view": lambda m, a: a.view(np.uint8).__setitem__(3, 1),
        "ufunc out": lambda m, a: m.negative(a, out=a),
        "random": lambda m, a: m.random.default_rng(1).random(out=a),
        "reshape": lambda m, a: a.reshape(2, -1).__setitem__((1, 1), 5),
        "flat": lambda m, a: a.flat.__setitem__(slice(None), 5),
        "partition": lambda m, a: a.partition(4),
        "copyto": lambda m, a: m.copyto(a, 3.0),
        "setfield": lambda m, a: a.setfield(1.0, np.float64),
        "itemset": lambda m, a: a[3:4].fill(1),
    }
    for name, write in writers.items():

        def body(m, write=write):
            a = m.array(ordinary("d", 40))
            before, half = a * 2, a[::2]
            total = a + before
            write(m, a)
            return a, before, half, total, a + total

        found = differences(observe(body, np), observe(body, xp))
        assert not found, (name, found)


def test_small_views_of_large_arrays_become_contiguous(xp_default):
    """The view is too small to be copied by us."""
    check(
        lambda m: m.ascontiguousarray(cube(m).repeat(300)[::-1][:9:2]).flags["C_CONTIGUOUS"],
        xp_default,
    )


def raising(a, f):
    with np.errstate(all="raise"):
        return f * 2 + a


def test_results_lie_in_large_temporaries_as_numpys_do(xp_default):
    """NumPy puts a result into the memory of a temporary of 256 KiB or more, in whose order its elements lie."""
    forms = {
        "left": lambda a, f: f * 2 + a,
        "right": lambda a, f: a + f * 2,
        "right, not exchanged": lambda a, f: a - f * 2,
        "left, not exchanged": lambda a, f: f * 2 - a,
        "turned": lambda a, f: (a.T + 1) * a,
        "chain": lambda a, f: f + f + a,
        "negative": lambda a, f: -f + a,
        "both": lambda a, f: f * 2 + a * 2,
        "named": lambda a, f: f + a,
        "remainder": lambda a, f: (f + 3) % a,
        "divided": lambda a, f: (f + 3) / a,
        "another dtype": lambda a, f: f.astype("f4") * 2 + a,
        "narrower": lambda a, f: f * 2 + a.astype("f4"),
        "one row": lambda a, f: (f + 1)[:1] + a,
        "integers": lambda a, f: f.astype(int) * 2 // a.astype(int),
        "integers divided": lambda a, f: f.astype(int) * 2 / a.astype(int),
        "byte order": lambda a, f: f * 2 + a.astype(">f8"),
        "byte order, right": lambda a, f: a.astype(">f8") + f * 2,
        "byte order of the result": lambda a, f: f.astype(">f8") + a,
        "byte order, not exchanged": lambda a, f: a.astype(">f8") - f * 2,
        "longlong": lambda a, f: f * 2 - a.astype("q"),
        "longlong of both": lambda a, f: f.astype("q") * 2 + a.astype("q"),
        "truth": lambda a, f: (f > 1) | a.astype("?"),
        "all conditions raise": raising,
    }
    for label, form in forms.items():
        for n in (300, 100):

            def lies(m, form=form, n=n):
                a = m.array(np.random.default_rng(3).random((n, n))) + 1
                found = form(a, m.asfortranarray(a) * 1.5)
                return found, found.ravel("K"), found.mean()

            found = differences(observe(lies, np), observe(lies, xp_default))
            assert not found, (label, n, found)
