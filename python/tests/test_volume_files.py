"""Volumes in TIFF and Zarr files."""

import numpy as np
import pytest

from arrayloom import filters as f
from arrayloom import volumes as v


def data(dtype="u2"):
    return np.random.default_rng(4).integers(0, 4000, (12, 30, 40)).astype(dtype)


@pytest.mark.parametrize("layout", [{}, {"tile": (16, 16)}, {"rowsperstrip": 7}])
def test_tiff_files_are_read_and_written(tmp_path, layout):
    tifffile = pytest.importorskip("tifffile")
    x = data()
    tifffile.imwrite(tmp_path / "in.tif", x, photometric="minisblack", **layout)
    source = v.open(tmp_path / "in.tif")
    assert (source.shape, source.dtype) == (x.shape, x.dtype)
    v.save(tmp_path / "out.tif", f.median_filter(source, 3), memory_limit="200KiB")
    assert np.array_equal(tifffile.imread(tmp_path / "out.tif"), f.median_filter(x, 3))


@pytest.mark.parametrize("chunks", [(12, 30, 40), (5, 8, 16)])
def test_zarr_arrays_are_read_and_written(tmp_path, chunks):
    zarr = pytest.importorskip("zarr")
    x = data("f4")
    stored = zarr.create_array(tmp_path / "in.zarr", shape=x.shape, dtype=x.dtype, chunks=chunks)
    stored[...] = x
    expr = f.gaussian_filter(v.open(tmp_path / "in.zarr"), 1)
    v.save(tmp_path / "out.zarr", expr, chunks=(6, 8, 16), memory_limit="400KiB")
    assert np.array_equal(zarr.open_array(tmp_path / "out.zarr")[...], f.gaussian_filter(x, 1))
    assert np.array_equal(v.open(stored)[2:5, 3], x[2:5, 3])
