"""Blocks for workers: they tile the volume, never cut a granule, and are handed out once each."""

import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from arrayloom._volumes.blocks import Batches, Grid, around, block_of, pieces, voxels


@st.composite
def grids(draw):
    rank = draw(st.integers(1, 3))
    shape = draw(st.tuples(*[st.integers(1, 12)] * rank))
    granule = draw(st.tuples(*[st.integers(1, 5)] * rank))
    most = draw(st.integers(1, 2000))
    halo = draw(st.integers(0, 3))

    def cost(box):
        return voxels((box[0], tuple(n + halo for n in box[1])))

    block = block_of(shape, granule, cost, most=most, slots=draw(st.integers(1, 3)))
    return Grid(shape, block, granule)


def fill(shape, boxes):
    """How often each voxel lies in one of the boxes."""
    count = np.zeros(shape, int)
    for lo, hi in boxes:
        count[tuple(map(slice, lo, hi))] += 1
    return count


@given(grids())
def test_blocks_tile_the_volume_in_whole_granules(grid):
    boxes = [grid.box(k) for k in range(len(grid))]
    assert (fill(grid.shape, boxes) == 1).all()
    for lo, hi in boxes:
        for a, b, g, n in zip(lo, hi, grid.granule, grid.shape, strict=True):
            assert a % g == 0
            assert b % g == 0 or b == n


def test_blocks_that_cut_granules_are_refused():
    with pytest.raises(ValueError, match=r"cut granules of \(4, 4\).*whole granules"):
        Grid((20, 20), (6, 8), (4, 4))
    assert len(Grid((5, 20), (5, 8), (8, 4))) == 3


@given(grids(), st.data())
def test_blocks_that_are_done_are_left_out(grid, data):
    some = data.draw(st.lists(st.integers(0, len(grid) - 1), unique=True))
    done = []
    for k in some:
        lo, hi = grid.box(k)
        at = data.draw(st.integers(lo[0] + 1, hi[0]))
        done.append((lo, (at, *hi[1:])))
    left, covered = grid.left(done)
    whole = {k for k, box in zip(some, done, strict=True) if box == grid.box(k)}
    assert list(left) == [k for k in range(len(grid)) if k not in whole]
    rest = [p for k in left for p in pieces(grid.box(k), covered.get(k, []))]
    assert (fill(grid.shape, [*done, *rest]) == 1).all()


@given(st.lists(st.tuples(st.integers(0, 6), st.integers(1, 4)), min_size=1, max_size=3))
def test_what_lies_around_a_box_tiles_the_rest(spans):
    shape = tuple(11 for _ in spans)
    box = tuple(a for a, _ in spans), tuple(a + n for a, n in spans)
    whole = ((0,) * len(shape), shape)
    assert (fill(shape, [*around(whole, box), box]) == 1).all()


@given(grids(), st.data(), st.booleans())
def test_each_block_is_in_one_batch_of_a_row(grid, data, joined):
    left = sorted(data.draw(st.sets(st.integers(0, len(grid) - 1))))
    batches = Batches(grid, left, 2, joined=joined)
    found = []
    for first, count in batches:
        run = range(first, first + count)
        assert voxels(grid.box(first, count)) == sum(voxels(grid.box(k)) for k in run)
        found += run
        batches.took(count, count * data.draw(st.floats(0, 2)))
    assert found == left


def test_batches_take_a_second_and_get_short_towards_the_end():
    batches = Batches(Grid((1, 4000), (1, 1), (1, 1)), range(4000), 2)
    counts = []
    for _, count in batches:
        counts.append(count)
        batches.took(count, 0.05 * count)
    assert counts[0] == counts[-1] == 1
    assert max(counts) == 30
    assert all(b <= a for a, b in itertools.pairwise(counts[1:]))


def test_blocks_grow_while_that_saves_reads_and_leaves_some_for_each_worker():
    def cost(box):
        return voxels((box[0], tuple(n + 16 for n in box[1])))

    assert block_of((512,) * 3, (64,) * 3, cost, most=1 << 30, slots=2) == (256, 256, 256)
    assert block_of((512,) * 3, (64,) * 3, cost, most=1 << 20, slots=2) == (64, 128, 128)
    assert block_of((512,) * 3, (256,) * 3, cost, most=1, slots=2) == (256, 256, 256)
    assert block_of((512,) * 3, (64,) * 3, cost, most=1 << 30, slots=64) == (64, 64, 128)
