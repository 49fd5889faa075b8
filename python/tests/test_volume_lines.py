"""Filters along one axis of arrays of any form, against SciPy: lines that are short, long, or few beside the rest."""

from fractions import Fraction

import numpy as np
import pytest
import scipy.ndimage as nd

from arrayloom import filters as f
from arrayloom import volumes as v

FORMS = [(400, 3), (3, 400), (70, 5, 4), (9, 1, 11), (2, 3000), (150, 64), (1, 7), (40, 30, 2, 3)]
MODES = ["reflect", "mirror", "nearest", "wrap", "constant"]
RUNS = {
    "mean": lambda m, x, **k: m.uniform_filter1d(x, 4, **k),
    "long mean": lambda m, x, **k: m.uniform_filter1d(x, 45, **k),
    "gaussian": lambda m, x, **k: m.gaussian_filter1d(x, 1.2, **k),
    "minimum": lambda m, x, **k: m.minimum_filter1d(x, 5, **k),
    "maximum": lambda m, x, **k: m.maximum_filter1d(x, 30, origin=3, **k),
    "weights": lambda m, x, **k: m.correlate1d(x, [0.5, 0.25, 0.125], **k),
}


def numbers(shape, dtype):
    values = np.random.default_rng(3).integers(-90, 90, shape)
    return np.abs(values).astype(dtype) if np.dtype(dtype).kind == "u" else values.astype(dtype)


@pytest.mark.parametrize("dtype", ["u1", "i2", "f4", "f8", "c16"])
@pytest.mark.parametrize("name", RUNS)
def test_every_axis_of_every_form(name, dtype):
    run = RUNS[name]
    if dtype == "c16" and name in {"minimum", "maximum"}:
        with pytest.raises(TypeError):
            run(f, numbers((5, 3), dtype))
        return
    for shape in FORMS:
        x = numbers(shape, dtype)
        wide = x.astype(np.result_type(dtype, "f8"))
        for axis in range(x.ndim):
            for mode in MODES:
                ours = run(f, x, axis=axis, mode=mode, cval=2)
                theirs = run(nd, wide, axis=axis, mode=mode, cval=2)
                # Integers are rounded: halves, and what is near to them, may go either way.
                rounded = np.issubdtype(ours.dtype, np.integer)
                told = f"{shape}, axis {axis}, {mode}"
                np.testing.assert_allclose(
                    ours, theirs, rtol=2e-6, atol=0.501 if rounded else 2e-4, err_msg=told
                )


@pytest.mark.parametrize("dtype", ["i4", "i8", "u8"])
def test_means_of_integers_are_exact_along_lines(dtype):
    least = 2**62 if dtype.endswith("8") else 2**30
    x = np.random.default_rng(4).integers(least, least + 2**20, (60, 9)).astype(dtype)
    for size in [3, 4, 8, 9, 41]:
        for axis in (0, 1):
            ours = f.uniform_filter1d(x, size, axis=axis, mode="wrap")
            n = x.shape[axis]
            rows = np.moveaxis(x, axis, 0).astype(object)
            window = [sum(rows[(i - size // 2 + t) % n] for t in range(size)) for i in range(n)]
            # Rounded half to even.
            wanted = [[round(Fraction(total, size)) for total in row] for row in window]
            assert np.moveaxis(ours, axis, 0).tolist() == wanted, f"{size} along {axis}"


@pytest.mark.parametrize("mode", [*MODES, "renormalize"])
def test_blocks_of_lines_have_the_bits_of_the_whole(tmp_path, mode):
    x = np.random.default_rng(5).standard_normal((500, 7))

    def run(a):
        return f.mean_filter(a, (1, 3), mode=mode)

    whole = run(x)
    for limit in [4000, 9000, 60_000]:
        v.save(tmp_path / "out.npy", run(v.open(x)), memory_limit=limit)
        np.testing.assert_array_equal(np.load(tmp_path / "out.npy"), whole)
