"""Rows of few elements against NumPy: coordinates of points, colours of images, columns for all of them."""

import numpy as np
import pytest
from support.compare import differences, observe
from support.layouts import ordinary


def points(m, dtype, count, row):
    whole = m.array(ordinary(dtype, count * row)).reshape(count, row)
    one = m.array(ordinary(dtype, row, seed=1))
    column = m.array(ordinary(dtype, count, seed=2)).reshape(count, 1)
    return (
        whole + one, whole * column, one + whole[::-1], whole[:, ::-1] * one, whole[1:-1] + one,
        whole[:, :1] + one, column + one, whole[::2] * column[1::2][: len(whole[::2])] if count % 2 == 0 else 0,
        whole[:, 1:] * column, m.repeat(column[:, 0], row), m.repeat(whole, 2, axis=1),
        m.tile(whole, (1, 2)), m.tile(one, 50), whole[:, ::-1].copy(), whole.T.copy(), whole.T + column.T,
        m.where(whole == one, whole, column), whole.astype("D") + one,
    )  # fmt: skip


def colours(m, dtype, count, row):
    side = max(count // 40, 3)
    image = m.array(ordinary(dtype, side * 40 * row)).reshape(side, 40, row)
    weights = m.array(ordinary(dtype, row, seed=1))
    mask = m.array(ordinary(dtype, side * 40, seed=2)).reshape(side, 40)
    inner = image[1:-1, 2:-2]
    return (
        image * weights, inner * weights, inner + mask[1:-1, 2:-2, None], image[..., ::-1] + image,
        inner[:, ::-2] * weights, image.transpose(1, 0, 2) + weights, image.transpose(2, 0, 1) + mask,
        (image * weights).sum(axis=2), image.swapaxes(0, 1)[:, :, :2].copy(), image[None, :, None] + weights,
        m.indices((side, 40, row))[2] + image, image[:, :, [row - 1, 0]] if row > 1 else image,
        m.stack([mask, mask * mask], axis=-1),
    )  # fmt: skip


@pytest.mark.parametrize("row", [1, 2, 3, 4, 5, 7, 9, 16])
@pytest.mark.parametrize("dtype", "?Bhfd")
@pytest.mark.parametrize("body", [points, colours])
def test_short_rows(xp, body, dtype, row):
    failures = []
    for count in (5, 128, 1001):
        found = differences(
            observe(lambda m, count=count: body(m, dtype, count, row), np),
            observe(lambda m, count=count: body(m, dtype, count, row), xp),
        )
        failures += [f"{count}: {line}" for line in found]
    assert not failures, "\n".join(failures[:12])


def features(m, dtype, count, row):
    wide = m.array(ordinary(dtype, 3 * count * (row + 3))).reshape(3, count, row + 3)
    one = m.array(ordinary(dtype, row, seed=1))
    whole = wide[0, :, 1:-2]
    total = m.ones(count, dtype)
    total += (whole - one).sum(axis=1)
    return (
        wide.sum(axis=2), wide.sum(axis=(0, 2)), wide.sum(axis=(1, 2)), wide[:, :, :row].mean(axis=-1),
        whole.sum(axis=1), whole[::-1].sum(axis=1, initial=3), whole[:, ::-1].sum(axis=1), (whole * whole).sum(axis=1),
        (whole * one).sum(axis=1, keepdims=True), whole.std(axis=1), whole / (whole * whole).sum(axis=1, keepdims=True),
        (whole + one).sum(axis=1) + (whole - one).max(axis=1), total,
    )  # fmt: skip


@pytest.mark.parametrize("row", [8, 64, 127, 128, 129, 137, 256, 257, 300, 512, 1000, 1025])
@pytest.mark.parametrize("dtype", "hefdD")
def test_sums_along_rows(xp, dtype, row):
    failures = []
    for count in (2, 9, 130):
        found = differences(
            observe(lambda m, count=count: features(m, dtype, count, row), np),
            observe(lambda m, count=count: features(m, dtype, count, row), xp),
        )
        failures += [f"{count}: {line}" for line in found]
    assert not failures, "\n".join(failures[:12])


def test_copies_at_every_distance(xp_default):
    """Parts that are shifted by an element: some processors copy these by a slow way of their own."""
    failures = []
    for shift in (1, 2, 3, 7, 9):

        def body(m, shift=shift):
            a = m.arange(200_000.0)
            b = m.zeros(200_000)
            b[shift:] = a[:-shift]
            return b, m.roll(a, shift), m.roll(a, -shift), m.concatenate([a[shift:], a[:shift]])

        failures += differences(observe(body, np), observe(body, xp_default))
    assert not failures, "\n".join(failures[:12])
