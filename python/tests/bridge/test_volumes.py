"""Arrays of other frameworks as inputs of filters and as sources of volumes."""

import numpy as np
import pytest

from arrayloom import bridge, filters, volumes

X = np.random.default_rng(0).integers(0, 4000, (9, 20, 21)).astype("f4")


@pytest.mark.parametrize(
    "kind",
    [
        pytest.param(name, marks=pytest.mark.frameworks(name))
        for name in ("torch", "jax", "tensorflow")
    ],
)
def test_tensors_are_filtered_and_saved(tmp_path, kind):
    tensor = bridge.convert(X, kind)
    assert bridge.kind(tensor) == kind
    assert np.array_equal(filters.median_filter(tensor, 3), filters.median_filter(X, 3))
    volumes.save(tmp_path / "out.npy", filters.gaussian_filter(volumes.open(tensor), 1) - tensor)
    assert np.array_equal(np.load(tmp_path / "out.npy"), filters.gaussian_filter(X, 1) - X)


@pytest.mark.frameworks("torch")
def test_tensors_with_gradients_say_what_to_do():
    import torch

    with pytest.raises(BufferError, match=r"would lose them here; give x.detach\(\)$"):
        filters.median_filter(torch.zeros(3, requires_grad=True), 3)
