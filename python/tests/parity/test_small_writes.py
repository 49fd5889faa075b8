"""Small writes into large arrays: at once where the program has the value, recorded where it has not."""

import itertools

import numpy as np
import pytest
from support.compare import differences, observe
from support.layouts import ordinary

STEPS = {
    "a row": "a[3] = row",
    "a column": "a[:, 2] = column",
    "a number": "a[5, 2:9] = 7",
    "in place": "a[4, ::2] *= 3",
    "from itself": "a[0] = a[-1]",
    "shifted in itself": "a[6, 1:] = a[6, :-1]",
    "after a read": "total = a.sum(); a[1] = total",
    "with a reader that waits": "later = a * 2; a[2] = 0",
    "with a writer that waits": "a[1:-1] += 1; a[0] = 5; a[-1] = a[0]",
    "a value that waits": "later = a + 1; a[7] = later[8]",
    "a function": "np.add(a[1], 1, out=a[2])",
    "a fold": "np.sum(a[:, :40], axis=0, out=a[9, :40])",
    "a broadcast": "a[2:4] = row",
    "another dtype": "a[3] = row.astype(np.float32)",
    "an element": "a[4, 5] = a.item(5, 4) + a[-1, -1].item()",
    "an element in place": "a[8, 8] -= 2.5",
    "more axes": "a[3] = row[None]",
    "an object": "a[5, :3] = [1, 2.5, np.float32(3)]",
    "truth": "a[6, :4] = np.array([True, False, True, True])",
    "all in place": "a += 1",
    "all by a row": "a[:] -= column[:, None] * row",
}


def run(module, names):
    space = {
        "np": module,
        "a": module.array(ordinary("d", 30_000, 3)).reshape(100, 300),
        "row": np.array(ordinary("d", 300, 4)),
        "column": np.array(ordinary("d", 100, 5)),
        "later": 0,
        "total": 0,
    }
    for name in names:
        exec(STEPS[name], space)
    return [np.asarray(space[key]).tobytes() for key in ("a", "later", "total")]


@pytest.mark.parametrize("first", STEPS)
def test_two_steps(xp_both, first):
    for second in STEPS:
        assert run(xp_both, [first, second]) == run(np, [first, second]), (first, second)


def test_many_steps(xp_both):
    draw = np.random.default_rng(11)
    for _ in range(40):
        names = list(draw.choice(list(STEPS), 12))
        assert run(xp_both, names) == run(np, names), names


def test_rows_written_one_by_one_run_no_kernels(xp_default, real_laziness):
    from arrayloom import _ext

    table = xp_default.zeros((200, 300))
    before = _ext.stats()["kernels"]
    for i in range(1, 200):
        table[i, 1:] = np.minimum(table[i - 1, :-1] + 1, 3)
        table[i, 0] = i
    assert _ext.stats()["kernels"] == before
    assert table[199, 0] == 199


def test_borders_do_not_end_fusion(xp_default, real_laziness):
    from arrayloom import _ext

    grid = xp_default.zeros((300, 300))
    grid[0, :] = 1.0
    before = _ext.stats()["flushes"]
    for _ in range(5):
        grid[1:-1, 1:-1] = 0.25 * (
            grid[2:, 1:-1] + grid[:-2, 1:-1] + grid[1:-1, 2:] + grid[1:-1, :-2]
        )
        grid[:, 0] = grid[:, 1]
    assert _ext.stats()["flushes"] == before
    assert float(grid.sum()) > 0


@pytest.mark.parametrize("large", [(200, 300), (700, 300)])
def test_columns_of_a_pending_array_are_recorded_only_for_a_while(xp_default, real_laziness, large):
    from arrayloom import _ext

    def filtered(module):
        given = module.array(ordinary("d", large[0] * large[1], 6)).reshape(large)
        out = given + 0.5
        for j in range(2, large[1]):
            out[:, j] = 0.2 * given[:, j] + 1.1 * out[:, j - 1] - 0.3 * out[:, j - 2]
        return out

    before = _ext.stats()["recorded"]
    ours = filtered(xp_default)
    assert _ext.stats()["recorded"] - before < 60
    assert np.asarray(ours).tobytes() == filtered(np).tobytes()


REFUSED = {
    "too long": ("a[3] = np.ones(7)", ValueError),
    "out of bounds": ("a[3, 1000] = 1", IndexError),
    "no number": ("a[3, 3] = 'x'", ValueError),
    "no number in a row": ("a[3, 3:5] = 'x'", ValueError),
    "complex": ("a[3, 3] = 1j", TypeError),
    "a sequence": ("a[3, 3] = [1, 2]", ValueError),
    "read-only": ("a.setflags(write=False); a[3, 3] = 1", ValueError),
    "a read-only row": ("a.setflags(write=False); a[3] = 1", ValueError),
    "no element of a read-only row": ("a.setflags(write=False); a[3, 5:5] = a[4, 5:5]", ValueError),
    "no element of an imaginary part": ("a.imag[9:5] = a[9:5]", ValueError),
    "a read-only part to itself": ("a.setflags(write=False); a[3, 5:9] = a[3, 5:9]", ValueError),
    "an update of a read-only part": ("a.setflags(write=False); a[3:] *= 2", ValueError),
    "item out of bounds": ("a.item(100, 1000)", IndexError),
    "item of many": ("a.item()", ValueError),
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_numpy_refuses_changes_nothing(xp_both, name):
    step, error = REFUSED[name]
    raised = []
    for module in (np, xp_both):
        a = module.array(ordinary("d", 60_000, 7)).reshape(100, 600)
        assert a[3, 3] != 0
        with pytest.raises(error) as caught:
            exec(step, {"np": module, "a": a})
        raised.append((type(caught.value), str(caught.value), np.asarray(a).tobytes()))
    assert raised[0] == raised[1]


def test_a_number_out_of_range_is_told_as_by_numpy(xp_both):
    for dtype, value in (("u1", 300), ("i2", -70_000), ("u8", -1)):
        a = xp_both.zeros((600, 600), dtype)
        for key in ((3, 3), (3, slice(0, 9))):
            with pytest.raises(OverflowError):
                a[key] = value
        assert not np.asarray(a).any()


@pytest.mark.parametrize("dtype", ["i1", "u1", "i2", "u2", "i4", "u4", "i8", "u8", "?", "f4"])
def test_numbers_of_numpy_that_the_dtype_lacks_are_an_error(xp, dtype):
    values = [
        np.int64(200), np.uint8(200), np.int64(-1), np.int64(-128), np.int32(70000), np.int64(2**40), np.uint64(2**63),
        np.int64(-(2**63)), np.float64(300.5), np.float64(np.nan), np.True_, np.array(200), np.array(-1),
    ]  # fmt: skip
    ways = {
        "all": lambda a, v: a.__setitem__(slice(None), v),
        "ellipsis": lambda a, v: a.__setitem__(..., v),
        "part": lambda a, v: a.__setitem__(slice(2, 9), v),
        "steps": lambda a, v: a.__setitem__(slice(1, -1, 2), v),
        "mask": lambda a, v: a.__setitem__(a == 1, v),
        "element": lambda a, v: a.__setitem__(3, v),
        "fill": lambda a, v: a.fill(v),
    }
    failures = []
    for (name, way), value in itertools.product(ways.items(), values):

        def body(m, way=way, value=value):
            a = m.ones(2000, dtype)
            with np.errstate(invalid="ignore"):
                way(a, value)
            return a

        found = differences(observe(body, np), observe(body, xp))
        failures += [f"{name} {value!r}: {line}" for line in found]
    assert not failures, "\n".join(failures[:12])
