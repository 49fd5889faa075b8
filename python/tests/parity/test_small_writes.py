"""Small writes into large arrays: at once where the program has the value, recorded where it has not."""

import numpy as np
import pytest
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
