"""Arrays put together from pieces (rolled, padded, concatenated) are read where the pieces come from."""

import numpy
import pytest
from support.compare import differences, observe

import arrayloom as np
from arrayloom import _ext

N = 400


def field(m, seed=0, dtype="float64"):
    values = (numpy.random.default_rng(seed).random((N, N)) * 200 - 60).astype(dtype)
    return m.array(values)


def laplacian(m, a):
    return m.roll(a, 1, 0) + m.roll(a, -1, 0) + m.roll(a, 1, 1) + m.roll(a, -1, 1) - 4 * a


def neighbours(m, a):
    shifts = [(i, j) for i in (-1, 0, 1) for j in (-1, 0, 1) if i or j]
    return sum(m.roll(a, shift, (0, 1)) for shift in shifts)


def periodic_steps(m, a):
    for _ in range(4):
        a = a + 0.1 * laplacian(m, a)
    return a


def in_place(m, a):
    a = a.copy()
    for shift in (1, 2, -3):
        a += m.roll(a, shift, 0)
        a -= m.roll(m.roll(a, 1, 1), 2, 0) * 0.5
    return a


def padded(m, a, **how):
    p = m.pad(a, 1, **how)
    return p[2:, 1:-1] + p[:-2, 1:-1] + p[1:-1, 2:] + p[1:-1, :-2] - 4 * p[1:-1, 1:-1]


def joined(m, a):
    both = m.concatenate([a[:100], a[250:], a[100:250] * 2])
    return both + a[::-1]


def blocks(m, a):
    b = m.empty_like(a)
    b[: N // 2, : N // 2] = a[N // 2 :, N // 2 :]
    b[N // 2 :, N // 2 :] = a[: N // 2, : N // 2]
    b[: N // 2, N // 2 :] = a[N // 2 :, : N // 2]
    b[N // 2 :, : N // 2] = -a[: N // 2, N // 2 :]
    return b * a


def changed_between(m, a):
    a = a.copy()
    moved = m.roll(a, 1, 0)
    a[0] = 7
    a[5:9, 3:] *= 2
    return moved - a


def chosen(m, a):
    moved = m.roll(a, -2, 1)
    return m.where(m.roll(a, 1, 0) > moved, moved, a)


PROGRAMS = {
    "laplacian": laplacian,
    "neighbours": neighbours,
    "periodic steps": periodic_steps,
    "in place": in_place,
    "wrapped": lambda m, a: padded(m, a, mode="wrap"),
    "edges": lambda m, a: padded(m, a, mode="edge"),
    "mirrored": lambda m, a: padded(m, a, mode="symmetric"),
    "constant": lambda m, a: padded(m, a, constant_values=3),
    "joined": joined,
    "blocks": blocks,
    "changed between": changed_between,
    "chosen": chosen,
    "largest": lambda m, a: laplacian(m, a).max(),
    "sum": lambda m, a: laplacian(m, a).sum(axis=0),
}


# NumPy does not add fractions to integers in place.
INTEGERS = [name for name in PROGRAMS if name not in {"periodic steps", "in place"}]
CASES = [
    *((name, dtype) for name in PROGRAMS for dtype in ("float64", "float32", "complex128")),
    *((name, dtype) for name in INTEGERS for dtype in ("int16", "uint8")),
]


@pytest.mark.parametrize(("name", "dtype"), CASES)
def test_same_bits_as_numpy(xp_default, name, dtype):
    def body(m):
        return PROGRAMS[name](m, field(m, dtype=dtype))

    assert not differences(observe(body, numpy), observe(body, xp_default))


@pytest.mark.usefixtures("real_laziness")
def test_a_periodic_stencil_moves_what_must_move():
    plan = np.explain(laplacian(np, field(np)))
    assert plan.bytes_moved < 1.1 * plan.bytes_needed, str(plan)


@pytest.mark.usefixtures("real_laziness")
def test_calls_count_once_however_many_parts():
    a = field(np)
    _ext.flush()
    _ext.reset_stats()
    result = laplacian(np, a)
    assert result[3, 3] == result[3, 3]
    calls = {name: facts["calls"] for name, facts in _ext.stats()["ops"].items()}
    assert calls["add"] == 3
    assert calls["subtract"] == 1


def test_a_warning_comes_once_however_many_parts(xp_default):
    def body(m):
        heard = []
        with m.errstate(divide="call", call=lambda kind, _: heard.append(kind)):
            zeros = m.zeros((N, N))
            result = 1 / (m.roll(zeros, 1, 0) + m.roll(zeros, 1, 1))
            assert m.isinf(result).all()
        return heard

    assert body(xp_default) == body(numpy) == ["divide by zero"]
