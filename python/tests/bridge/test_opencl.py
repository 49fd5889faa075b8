"""pyclesperanto on a device that computes in the host's memory: shared both ways with arrayloom."""

import gc
import importlib

import numpy as np
import pytest
from support.arrays import CLE, base, pyclesperanto
from support.planner import no_planner

import arrayloom as al
import arrayloom.bridge as b

pytestmark = pytest.mark.frameworks("pyclesperanto")


@pytest.mark.parametrize("dtype", sorted(CLE))
def test_images_are_seen_without_a_copy(dtype):
    cle = pyclesperanto()
    image = b.to_pyclesperanto(base(dtype))
    with b.observe() as record:
        seen = b.to_arrayloom(image, copy=False)
    assert (record.rows()[0].route, record.rows()[0].nbytes) == ("map", 0)
    assert np.array_equal(seen, base(dtype))
    seen[0, 0] = 9
    assert image.get()[0, 0] == 9
    cle.set_column(image, 1, 3)
    importlib.import_module("arrayloom.bridge.frameworks.pyclesperanto").SPEC.hooks.synchronize(
        image
    )
    assert seen[:, 1].tolist() == [3] * 6
    again = b.to_arrayloom(image)
    assert again.ctypes.data == seen.ctypes.data


@pytest.mark.parametrize("shape", [(70_000,), (300, 300), (40, 50, 60)])
def test_lazy_arrays_become_images_without_a_copy(shape):
    cle = pyclesperanto()
    data = al.ones(shape, al.float32) * 3
    with b.observe() as record:
        image = b.to_pyclesperanto(data)
    assert (record.rows()[0].route, record.rows()[0].nbytes) == ("map", 0)
    assert tuple(image.shape) == shape
    assert float(image.get().max()) == 3
    doubled = cle.add_image_and_scalar(image, scalar=4.0)
    assert float(np.min(doubled.get())) == 7
    data[...] = 5
    assert float(image.get().min()) == 5
    back = b.to_arrayloom(image)
    assert back.ctypes.data == data.ctypes.data
    del data
    gc.collect()
    assert float(image.get().ravel()[-1]) == 5


def test_owners_die_with_the_last_user():
    data = b.to_arrayloom(np.ones((8, 8), np.float32))
    image = b.to_pyclesperanto(data)
    seen = b.to_arrayloom(image)
    del data, image
    gc.collect()
    assert float(seen.sum()) == 64
    for _ in range(200):
        b.to_arrayloom(b.to_pyclesperanto(b.to_arrayloom(np.ones((8, 8), np.float32))))


def test_what_does_not_fit_is_uploaded():
    data = b.to_arrayloom(np.arange(48.0, dtype=np.float32).reshape(6, 8))
    for view in (data[:, ::2], data.T, data[::-1]):
        with b.observe() as record:
            image = b.to_pyclesperanto(view)
        assert record.rows()[0].route == "upload"
        assert np.array_equal(image.get(), view)
        with pytest.raises(BufferError, match="copy=False is impossible"):
            b.to_pyclesperanto(view, copy=False)
    with b.observe() as record:
        b.to_pyclesperanto(data, copy=True)
        b.to_numpy(b.to_pyclesperanto(data))
    assert [row.route for row in record.rows()] == ["upload", "map", "download"]


def test_plans_know_the_device():
    image = b.to_pyclesperanto(np.ones((4, 4), np.float32))
    found = b.plan(image, "arrayloom")
    assert (found.route, found.zero_copy) == ("map", True)
    assert "computes in the host's memory" in found.reason
    assert b.plan(image, "numpy").route == "download"
    assert b.plan(b.to_arrayloom(np.ones(4, np.float32)), "pyclesperanto").route == "map"


@pytest.mark.frameworks("torch")
@pytest.mark.parametrize("dtype", sorted(CLE))
def test_images_go_to_opencl_and_back(dtype):
    data = base(dtype)
    image = b.to_pyclesperanto(data)
    assert b.device(image).startswith("opencl:")
    for to in ("numpy", "torch", "arrayloom"):
        back = b.to_numpy(b.convert(image, to))
        assert back.dtype == data.dtype
        assert np.array_equal(back, data)
    assert b.to_pyclesperanto(image) is image
    assert b.to_numpy(b.to_pyclesperanto(data[:, 0])).shape == (6,)
    allowed = b.convert(base("bool"), "pyclesperanto", lossy="allow")
    assert b.to_numpy(allowed).dtype == np.uint8
    volume = b.stack([data] * 16, "pyclesperanto")
    assert volume.shape == (16, 6, 8)
    assert np.array_equal(b.to_numpy(b.unstack(volume)[3]), data)


def test_images_and_arrays_of_ours_are_shared_without_a_plan():
    data = b.to_arrayloom(np.arange(12, dtype=np.float32).reshape(3, 4))
    image = b.to_pyclesperanto(np.ones((3, 4), np.float32))
    with no_planner():
        for words in ({}, {"copy": False}):
            seen = b.to_arrayloom(image, **words)
            seen[0, 0] = 7
            wrapped = b.to_pyclesperanto(data, **words)
            assert (image.get()[0, 0], wrapped.get()[2, 3]) == (7, 11)
        for other in (np.ones((2, 3), np.float32)[:, ::2], np.ones((2, 2), np.int16)):
            back = b.to_numpy(b.to_pyclesperanto(other))
            assert np.array_equal(back, other)
            assert back.dtype == other.dtype
    for refused in (np.ones((2, 2)), np.float32(1), np.ones((0, 2), np.float32)):
        with pytest.raises(ValueError, match="pyclesperanto"):
            b.to_pyclesperanto(refused)
    with pytest.raises(BufferError, match="copy=False is impossible"):
        b.to_numpy(image, copy=False)


@pytest.mark.frameworks("torch", "jax", "tensorflow")
def test_images_go_to_frameworks_of_the_host():
    image = b.to_pyclesperanto(np.arange(12, dtype=np.float32).reshape(3, 4))
    for to in ("torch", "jax", "tensorflow"):
        made = b.convert(image, to)
        with b.observe() as record:
            planned = b.convert(image, to)
        assert (record.rows()[0].route, record.rows()[0].nbytes) == ("download", 48)
        for result in (made, planned):
            assert np.array_equal(b.to_numpy(result), image.get())


@pytest.mark.parametrize("dtype", sorted(CLE))
def test_images_are_read_as_they_read_themselves(dtype, monkeypatch):
    cle = pyclesperanto()
    module = importlib.import_module("arrayloom.bridge.frameworks.pyclesperanto")
    images = [cle.push(base(dtype)), cle.push(base(dtype)[0]), cle.push(base(dtype), mtype="image")]
    quick = [b.to_numpy(image) for image in images]
    # A version of pyclesperanto whose readers have other names.
    monkeypatch.setattr(module, "_readers", {type(images[0]): {}})
    for image, found in zip(images, quick, strict=True):
        usual = b.to_numpy(image)
        assert usual.dtype == found.dtype == dtype
        assert np.array_equal(usual, found)
        assert found.flags.writeable
