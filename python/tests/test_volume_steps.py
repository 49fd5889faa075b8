"""Binary morphology that is repeated, or goes on until nothing changes, against SciPy."""

import signal
import threading

import numpy as np
import pytest
import scipy.ndimage as nd

from arrayloom import filters as f

SHAPES = [(1,), (37,), (9, 14), (1, 12), (64, 80), (5, 6, 7), (3, 1, 4, 5), (2, 2, 2, 2)]
STEPS = ["erosion", "dilation", "opening", "closing"]


def structures(rng, shape):
    """Even, asymmetric and sparse ones, with or without their center, and where they may lie.

    None is larger than the array, with which SciPy writes where it must not.
    """
    yield None, 0
    for _ in range(4):
        points = rng.random([rng.integers(1, min(n, 4) + 1) for n in shape]) > 0.4
        points.flat[rng.integers(points.size)] = True
        yield points, [int(rng.integers(-(n // 2), (n - 1) // 2 + 1)) for n in points.shape]


def with_center(points, origin):
    """The same with its center, without which SciPy may go on for ever."""
    if points is None:
        return None
    points = points.copy()
    points[tuple(n // 2 + o for n, o in zip(points.shape, origin, strict=True))] = True
    return points


@pytest.mark.parametrize("name", STEPS)
@pytest.mark.parametrize("border_value", [0, 1])
def test_repeated_steps_are_scipys(name, border_value):
    ours, theirs = getattr(f, f"binary_{name}"), getattr(nd, f"binary_{name}")
    rng = np.random.default_rng(border_value)
    for shape in SHAPES:
        for points, origin in structures(rng, shape):
            x = rng.random(shape) > rng.choice([0.1, 0.5, 0.9])
            mask = rng.random(shape) > 0.3
            for inside in (None, mask):
                for iterations in (2, 3, 4, 9, -1):
                    structure = with_center(points, origin) if iterations < 0 else points
                    common = {
                        "iterations": iterations,
                        "mask": inside,
                        "border_value": border_value,
                        "origin": origin,
                    }
                    a, b = ours(x, structure, **common), theirs(x, structure, **common)
                    assert np.array_equal(a, b), (shape, structure, origin, iterations, inside)


def test_structures_may_be_larger_than_the_array():
    rng = np.random.default_rng(3)
    for _ in range(200):
        shape = rng.integers(1, 4, 3)
        x, mask = rng.random(shape) > 0.5, rng.random(shape) > 0.2
        points = rng.random(rng.integers(1, 8, 3)) > 0.8
        points.flat[rng.integers(points.size)] = True
        origin = [int(rng.integers(-(n // 2), (n - 1) // 2 + 1)) for n in points.shape]
        common = {"mask": mask, "origin": origin, "border_value": int(rng.integers(2))}
        for step in (f.binary_erosion, f.binary_dilation):
            # With a limit each step is computed on its own.
            steps = step(x, points, 40, memory_limit="1MB", **common)
            assert np.array_equal(step(x, points, 40, **common), steps)
            points = with_center(points, origin)
            steps = step(x, points, 40, memory_limit="1MB", **common)
            assert np.array_equal(step(x, points, -1, **common), steps)


def test_axes_can_be_chosen():
    rng = np.random.default_rng(1)
    x, mask = rng.random((6, 7, 8)) > 0.6, rng.random((6, 7, 8)) > 0.2
    points = np.array([[1, 1, 0], [0, 1, 1]], bool)
    for axes in [(0, 2), (0, 1), (1, 2)]:
        for name in ("erosion", "dilation"):
            common = {"iterations": 5, "mask": mask, "axes": axes, "origin": (0, -1)}
            a = getattr(f, f"binary_{name}")(x, points, **common)
            assert np.array_equal(a, getattr(nd, f"binary_{name}")(x, points, **common))
        assert np.array_equal(f.binary_fill_holes(x, axes=axes), nd.binary_fill_holes(x, axes=axes))


def test_what_spreads_and_what_is_enclosed_is_scipys():
    rng = np.random.default_rng(2)
    for shape in SHAPES:
        for points, origin in structures(rng, shape):
            x = rng.random(shape) > 0.55
            seed = rng.random(shape) > 0.95
            points = with_center(points, origin)
            common = {"structure": points, "origin": origin}
            a = f.binary_propagation(seed, mask=x, **common)
            assert np.array_equal(a, nd.binary_propagation(seed, mask=x, **common)), (shape, common)
            a, b = f.binary_fill_holes(x, **common), nd.binary_fill_holes(x, **common)
            assert np.array_equal(a, b), (shape, common)
    ring = f.generate_binary_structure(2, 1) ^ (np.indices((3, 3)) == 1).all(axis=0)
    x = rng.random((40, 50)) > 0.5
    assert np.array_equal(f.binary_fill_holes(x, ring), nd.binary_fill_holes(x, ring))


def test_structures_without_points_see_nothing():
    rng = np.random.default_rng(4)
    x, mask, nothing = rng.random((5, 6)) > 0.4, rng.random((5, 6)) > 0.4, np.zeros((3, 3))
    for iterations in (1, 3, -1):
        for name in STEPS:
            common = {"structure": nothing, "iterations": iterations, "mask": mask}
            a, b = (getattr(m, f"binary_{name}")(x, **common) for m in (f, nd))
            assert np.array_equal(a, b), (name, iterations)
    for name in ("binary_propagation", "binary_fill_holes", "binary_hit_or_miss"):
        assert np.array_equal(getattr(f, name)(x, nothing), getattr(nd, name)(x, nothing)), name
    both = f.binary_hit_or_miss(x, nothing, nothing), nd.binary_hit_or_miss(x, nothing, nothing)
    assert np.array_equal(*both)


def test_holes_of_complex_numbers_are_filled():
    x = np.array([[0, 1j, 1, 1], [1, 0, 1j, 0], [2, 1, 1, 1]])
    assert np.array_equal(f.binary_fill_holes(x), nd.binary_fill_holes(x))


def test_states_that_come_again_are_told():
    x = np.arange(40) % 2 == 0
    # SciPy goes on for ever.
    for border_value, step in enumerate((f.binary_dilation, f.binary_erosion)):
        with pytest.raises(RuntimeError, match="come again and again"):
            step(x, [True, False, True], iterations=-1, border_value=border_value)


def test_a_long_way_is_gone_in_little_time():
    x = np.ones((401, 401), bool)
    x[1:-1:2, 1:-1] = False
    x[2:-1:4, -2] = False
    x[4:-1:4, 1] = False
    seed = np.zeros_like(x)
    seed[1, 1] = True
    way = f.binary_propagation(seed, mask=~x)
    assert np.array_equal(way, ~x)
    assert f.binary_fill_holes(x).all()


def test_steps_that_do_not_fit_the_memory_are_refused():
    x = np.zeros((300, 300), bool)
    x[150, 150] = True
    with pytest.raises(MemoryError, match="bytes do not fit"):
        f.binary_dilation(x, iterations=-1, memory_limit="80kB")
    assert np.array_equal(
        f.binary_dilation(x, iterations=9, memory_limit="80kB"), f.binary_dilation(x, iterations=9)
    )


def test_a_mask_has_the_shape_of_the_array():
    with pytest.raises((ValueError, RuntimeError)):
        f.binary_dilation(np.ones((4, 5), bool), iterations=-1, mask=np.ones((4, 1), bool))


@pytest.mark.skipif(
    threading.current_thread() is not threading.main_thread(), reason="signals go to the main one"
)
def test_what_takes_long_can_be_interrupted():
    x = np.zeros((3000, 3000), bool)
    x[0, 0] = True
    before = signal.signal(signal.SIGALRM, signal.default_int_handler)
    try:
        signal.setitimer(signal.ITIMER_REAL, 0.05)
        with pytest.raises(KeyboardInterrupt):
            f.binary_dilation(x, np.ones((15, 15)), iterations=-1)
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
