"""Filters use what they have built for one array for others like it."""

# pyright: reportPrivateUsage=false, reportUnknownMemberType=false, reportUnknownArgumentType=false
# pyright: reportUnknownVariableType=false, reportUnknownParameterType=false, reportUnknownLambdaType=false
# The table of kept expressions is looked at.

import gc
import threading
import warnings
import weakref
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest
from support.filter_arguments import ARGUMENTS, FILTERS, KEYWORDS

from arrayloom import filters
from arrayloom.filters import _kept

# What they would else find in the array, or take from its dtype.
_WORDS: dict[str, dict[str, Any]] = {
    "entropy_filter": {"range": (0.0, 256.0)},
    "threshold_sauvola": {"r": 90.0},
    "wiener_filter": {"noise": 4.0},
}


@pytest.fixture(autouse=True)
def _empty_table() -> Iterator[None]:
    _kept._table.clear()
    yield
    _kept._table.clear()


def images(dtype: str = "f4", shape: tuple[int, ...] = (9, 8)) -> Iterator[Any]:
    random = np.random.default_rng(5)
    while True:
        yield (random.random(shape) * 200).astype(dtype)


def ranges(dtype: str, shape: tuple[int, ...] = (9, 8)) -> Iterator[Any]:
    """Arrays of very different values: few, one, negative, all that there are."""
    random = np.random.default_rng(5)
    yield random.integers(0, 6, shape).astype(dtype)
    yield np.full(shape, 77, dtype)
    yield np.zeros(shape, dtype)
    if dtype == "?":
        return
    if dtype in {"f4", "f8"}:
        each = [(0, 1), (-900, -100), (-1e30, 1e30), (1e-30, 1e-29), (0, 500)]
        yield from ((lo + random.random(shape) * (hi - lo)).astype(dtype) for lo, hi in each)
        return
    low, high = np.iinfo(dtype).min, np.iinfo(dtype).max
    for lo, hi in [(low, high), (high - 9, high), (low, low + 9), (0, 100)]:
        yield random.integers(lo, hi, shape, dtype, endpoint=True)


def apply(name: str, image: Any, words: dict[str, Any] | None = None) -> Any:
    words = _WORDS.get(name, {}) if words is None else words
    words = KEYWORDS.get(name, {}) | words
    return getattr(filters, name)(image, *ARGUMENTS.get(name, ()), **words)


def fresh(call: Callable[[], Any]) -> Any:
    """What `call` gives while nothing is kept."""
    old = dict(_kept._table)
    _kept._table.clear()
    try:
        return call()
    finally:
        _kept._table.clear()
        _kept._table.update(old)


def same(a: Any, b: Any) -> bool:
    return a.dtype == b.dtype and a.shape == b.shape and a.tobytes() == b.tobytes()


@pytest.mark.parametrize("dtype", ["f4", "u1", "f8", "i8", "?"])
@pytest.mark.parametrize("name", FILTERS)
def test_other_arrays_get_their_own_results(name: str, dtype: str) -> None:
    each = images(dtype)
    for _ in range(3):
        image = next(each)
        found = apply(name, image)
        assert same(found, fresh(lambda x=image: apply(name, x)))


@pytest.mark.parametrize("dtype", ["f4", "u1", "i1", "f8", "i8", "?"])
@pytest.mark.parametrize("name", FILTERS)
def test_arrays_of_other_ranges_get_their_own_results(name: str, dtype: str) -> None:
    for words in ({}, _WORDS.get(name, {})):
        for image in ranges(dtype):
            found = apply(name, image, words)
            assert same(found, fresh(lambda x=image, w=words: apply(name, x, w)))
            if name != "identity":
                out = np.zeros_like(found)
                assert apply(name, image, words | {"output": out}) is out
                assert same(out, found)


@pytest.mark.parametrize("name", FILTERS)
def test_no_array_is_held(name: str) -> None:
    each = images()
    for _ in range(2):
        image = next(each)
        gone = weakref.ref(image)
        result = apply(name, image)
        result_gone = weakref.ref(result)
        del image, result
        gc.collect()
        assert gone() is None
        assert result_gone() is None


def test_most_filters_are_kept() -> None:
    image = next(images())
    for name in FILTERS:
        apply(name, image)
    names = {key[0].__name__ for key in _kept._table if isinstance(key, tuple)}
    assert set(FILTERS) - names <= {
        "binary_fill_holes",
        "binary_propagation",
        "closing",
        "generic_filter",
        "generic_filter1d",
        "generic_gradient_magnitude",
        "generic_laplace",
        "opening",
        "uniform_filter1d",
        "vectorized_filter",
        "wiener_filter",
    }


def test_arguments_are_told_apart_by_type_and_sign() -> None:
    image = next(images())
    for keys in (
        [{"mode": "constant", "cval": 0.0}, {"mode": "constant", "cval": -0.0}],
        [{"mode": "constant", "cval": c} for c in (1.0, 2.0, np.inf, np.nan)],
        [{"axes": a} for a in (None, 0, 1, (0, 1), [0])],
        [{"output": o} for o in (None, "f8", np.float64, np.dtype("f8"), np.uint8, ">f4", float)],
        [{"size": s} for s in (1, 2, 3, (3, 1), [1, 3], np.array([2, 2]), np.int8(2), np.int8(3))],
        [{"mode": "constant", "cval": c} for c in (np.float32(1), np.float64(1.5), np.float64(2))],
    ):
        for _ in range(2):
            for words in keys:
                given: dict[str, Any] = {"size": 3} | words
                found = filters.uniform_filter(image, **given)
                wanted = fresh(lambda given=given: filters.uniform_filter(image, **given))
                assert same(found, wanted), words


def test_numbers_of_numpy_are_arguments_too() -> None:
    each = images()
    for sigma in np.array([1.5, 1.5, 1.5]):
        filters.gaussian_filter(next(each), sigma)
    assert len(_kept._table) == 1


def test_layouts_and_other_types_of_arrays() -> None:
    each = images()
    for _ in range(2):
        image = next(each)
        wanted = fresh(lambda image=image: filters.gaussian_filter(image.copy(), 1.0))
        backwards = np.ascontiguousarray(image[:, ::-1])[:, ::-1]
        for x in (image, np.asfortranarray(image), backwards, image.astype(">f4")):
            assert same(filters.gaussian_filter(x, 1.0), wanted)
        matrix = image.view(np.matrix)
        assert same(np.asarray(filters.gaussian_filter(matrix, 1.0)), wanted)


def test_a_limit_and_devices_are_no_part_of_it() -> None:
    each = images()
    filters.gaussian_filter(next(each), 1.0)
    for _ in range(2):
        image = next(each)
        wanted = fresh(lambda image=image: filters.gaussian_filter(image, 1.0))
        assert same(filters.gaussian_filter(image, 1.0, memory_limit="1MiB"), wanted)
        assert same(filters.gaussian_filter(image, 1.0, devices="cpu*2"), wanted)


def test_results_go_to_the_array_that_is_given() -> None:
    each = images("u1")
    out = np.zeros((9, 8), "u1")
    calls: list[Callable[[Any, Any], Any]] = [
        lambda x, out: filters.median_filter(x, 3, output=out),
        lambda x, out: filters.median_filter(x, 3, None, out),
        lambda x, out: filters.gaussian_filter(x, 1.5, 0, out, "mirror"),
        lambda x, out: filters.white_tophat(x, 3, output=out),
        lambda x, out: filters.median_filter(x, 3, output=out.astype("f4")),
    ]
    for call in calls:
        for k in range(3):
            image, before = next(each), len(_kept._table)
            given = out if k < 2 else np.full_like(out, k)
            result = call(image, given)
            assert result is given or result.dtype == "f4"
            assert same(
                np.asarray(result), np.asarray(fresh(lambda x=image, c=call: c(x, out.copy())))
            )
            assert len(_kept._table) == (before + 1 if k == 0 else before)


def test_arrays_that_take_results_otherwise_are_no_part_of_it() -> None:
    each = images()
    wide = np.zeros((9, 16), "f4")
    for _ in range(2):
        image = next(each)
        wanted = fresh(lambda image=image: filters.gaussian_filter(image, 1.0))
        for out in (wide[:, ::2], np.zeros((8, 9), "f4").T, np.zeros((9, 8), ">f4"), image.copy()):
            source = out if out.flags.c_contiguous and out.dtype.isnative else image
            assert filters.gaussian_filter(source, 1.0, output=out) is out
            assert same(out.astype("f4"), wanted)
        read_only = np.zeros((9, 8), "f4")
        read_only.flags.writeable = False
        with pytest.raises(ValueError, match="read-only"):
            filters.gaussian_filter(image, 1.0, output=read_only)
        with pytest.raises(RuntimeError, match="output shape"):
            filters.gaussian_filter(image, 1.0, output=np.zeros((8, 9), "f4"))
    assert not _kept._table


def test_errors_and_warnings_come_each_time() -> None:
    image = next(images())
    for _ in range(3):
        with pytest.raises(RuntimeError, match="mode"):
            filters.gaussian_filter(image, 1.0, mode="round")
        with pytest.warns(UserWarning, match="ignoring size"):
            filters.minimum_filter(image, 3, np.ones((3, 3), bool))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for _ in range(2):
            filters.minimum_filter(image, None, np.ones((3, 3), bool))


def test_a_second_array_that_is_read_is_no_part_of_it() -> None:
    each = images("?")
    for _ in range(3):
        image, mask = next(each), next(each)
        mask[::2] = False
        found = filters.binary_dilation(image[::-1], None, 2, mask)
        wanted = fresh(lambda i=image, m=mask: filters.binary_dilation(i[::-1], None, 2, m))
        assert same(found, wanted)


def test_changed_weights_are_others() -> None:
    image, weights = next(images()), np.ones((3, 3))
    before = filters.correlate(image, weights)
    weights[1, 1] = 5
    assert same(filters.correlate(image, weights), fresh(lambda: filters.correlate(image, weights)))
    assert not same(filters.correlate(image, weights), before)


def test_the_table_is_small_and_forgets_what_was_not_used() -> None:
    each = images()
    filters.gaussian_filter(next(each), 1.0)
    first = next(iter(_kept._table))
    for number in range(_kept._MOST + 40):
        filters.gaussian_filter(next(each), 1.0)
        filters.gaussian_filter(next(each), 1.1 + number / 1000)
    assert len(_kept._table) == _kept._MOST
    assert first in _kept._table


def test_a_range_of_the_array_is_not_kept() -> None:
    image = np.array([0, 1, 2, 3, 4, 5], "f4")
    for x in (image, image * 100):
        assert same(filters.entropy_filter(x, 3), filters.entropy_filter(image, 3, range=(0, 5)))
    assert len(_kept._table) == 1


def test_large_windows_are_not_kept() -> None:
    image = next(images(shape=(80, 90)))
    for _ in range(2):
        filters.median_filter(image, 71)
        filters.correlate(image, np.ones((40, 40)))
        filters.correlate(image, np.ones((40, 40)).tolist())
    assert not _kept._table


def test_threads_have_their_own() -> None:
    each = images(shape=(40, 41))
    pairs = []
    for image, _ in zip(each, range(8), strict=False):
        pairs.append((image, fresh(lambda image=image: filters.median_filter(image, 5))))
    wrong = []

    def work(pair: tuple[Any, Any]) -> None:
        for _ in range(50):
            if not same(filters.median_filter(pair[0], 5), pair[1]):
                wrong.append(1)

    workers = [threading.Thread(target=work, args=(pair,)) for pair in pairs]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    assert not wrong


def test_without_memory_the_call_is_made_anew(monkeypatch: pytest.MonkeyPatch) -> None:
    image = next(images())
    wanted = filters.gaussian_filter(image, 1.0)
    monkeypatch.setattr(_kept, "IN_MEMORY_LIMIT", 1)
    assert same(filters.gaussian_filter(image, 1.0), wanted)
