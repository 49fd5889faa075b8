"""Targets that are read by what is written to them."""

import numpy as np
import pytest
from support.filter_arguments import ARGUMENTS, FILTERS, KEYWORDS

from arrayloom import filters as f
from arrayloom import volumes as v
from arrayloom._ext import VolumeExpr
from arrayloom._volumes.in_place import _Reads
from arrayloom.errors import BudgetError

X = np.random.default_rng(2).random((24, 24, 24)).astype("f4")
EXPRESSIONS = {
    "voxels": lambda s: s * 2 + 1,
    "windows": lambda s: f.gaussian_filter(s, 1),
    "planes": lambda s: s[::-1],
    "axes": lambda s: s.transpose(0, 2, 1),
    "sums": lambda s: s - s.mean(axis=0),
}


@pytest.mark.parametrize("name", EXPRESSIONS)
def test_arrays_are_written_over_right(name):
    expected = np.asarray(EXPRESSIONS[name](v.open(X)))
    for take in (lambda x: x, lambda x: v.open(x), lambda x: v.open(x[:]) + 0):
        x = X.copy()
        v.save(x, EXPRESSIONS[name](v.open(take(x))), memory_limit="100KiB")
        assert np.array_equal(x, expected)
    wide = np.zeros((30, 24, 24), "f4")
    wide[3:27] = X
    v.save(wide[3:27], EXPRESSIONS[name](v.open(wide)[3:27]), memory_limit="200KiB")
    assert np.array_equal(wide[3:27], expected)
    wide[2:26] = X
    v.save(wide[3:27], EXPRESSIONS[name](v.open(wide)[2:26]), memory_limit="200KiB")
    assert np.array_equal(wide[3:27], expected)


def mapped(folder):
    np.save(folder / "x.npy", X)
    first, second = (np.load(folder / "x.npy", mmap_mode="r+") for _ in range(2))
    return first, second


def zarr_arrays(folder):
    zarr = pytest.importorskip("zarr")
    made = zarr.create_array(folder / "x.zarr", data=X, chunks=(8, 8, 8))
    return made, folder / "x.zarr"


def zarr_in_memory(_):
    zarr = pytest.importorskip("zarr")
    made = zarr.create_array(zarr.storage.MemoryStore(), data=X, chunks=(8, 8, 8))
    return made, made


def hdf5_data(folder):
    file = pytest.importorskip("h5py").File(folder / "x.h5", "w")
    file["x"] = X
    return file["x"], file["x"]


def tensorstores(folder):
    tensorstore = pytest.importorskip("tensorstore")
    spec = {"driver": "zarr", "kvstore": {"driver": "file", "path": str(folder / "x.zarr")}}
    made = tensorstore.open(spec, create=True, dtype=tensorstore.float32, shape=X.shape).result()
    made[...] = X
    return made, tensorstore.open(spec).result()


@pytest.mark.parametrize("make", [mapped, zarr_arrays, zarr_in_memory, hdf5_data, tensorstores])
@pytest.mark.filterwarnings("ignore")
def test_files_that_are_read_are_not_written(tmp_path, make):
    target, source = make(tmp_path)
    with pytest.raises(ValueError, match="read and cannot be written at the same time"):
        v.save(target, f.gaussian_filter(v.open(source), 1), memory_limit="100KiB")
    with pytest.raises(ValueError, match="read and cannot be written at the same time"):
        v.save(target, f.median_filter(v.open(target), 3))
    assert np.array_equal(np.asarray(target[:, :, :]), X)


def test_mapped_files_are_written_over_voxel_by_voxel(tmp_path):
    first, second = mapped(tmp_path)
    v.save(first, v.open(first) * 2, memory_limit="60KiB")
    assert np.array_equal(first, X * 2)
    # Outputs of filters wait until everything is read.
    f.gaussian_filter(second, 1, output=first, memory_limit="60KiB")
    assert np.array_equal(first, f.gaussian_filter(X * 2, 1))


# Those of arrays only are left out.
@pytest.mark.parametrize("name", sorted(set(FILTERS) - {"binary_fill_holes", "binary_propagation"}))
@pytest.mark.parametrize("shape", [(50,), (9, 8), (9, 8, 7)])
def test_all_filters_are_saved_over_what_they_read(tmp_path, name, shape):
    x = np.random.default_rng(0).random(shape) * 9
    given = tuple(range(3, 3 + 2 * len(shape), 2)) if name in {"correlate", "convolve"} else ()
    words = [np.arange(np.prod(given)).reshape(given)] if given else ARGUMENTS.get(name, ())
    words = [3] if name == "grey_closing" else words

    def filtered(a):
        return getattr(f, name)(a, *words, **KEYWORDS.get(name, {}))

    expected = filtered(x).astype(x.dtype)
    file = np.lib.format.open_memmap(tmp_path / "x.npy", "w+", x.dtype, shape)
    file[...] = x
    same = name == "identity"
    if same:
        v.save(file, filtered(v.open(file)))
    else:
        with pytest.raises(ValueError, match="read and cannot be written at the same time"):
            v.save(file, filtered(v.open(file)).astype(x.dtype))
    assert np.array_equal(file, x)
    v.save(x, filtered(v.open(x)).astype(x.dtype), memory_limit="1MiB")
    assert np.array_equal(x, expected)


def test_no_operation_is_hidden_where_places_are_followed():
    reads = _Reads(straight=False)
    operations = {name for name in dir(VolumeExpr) if not name.startswith("_")}
    assert operations & set(dir(reads)) == {"call"}


def test_moved_voxels_are_not_looked_at_at_the_ends_only():
    x = np.arange(800_000.0).reshape(100_000, 8)
    y = x.copy()
    s = v.open(y)
    v.save(y, np.concatenate([s[:1], s[1:50_000][::-1], s[50_000:]]), memory_limit="1MiB")
    assert np.array_equal(y, np.concatenate([x[:1], x[1:50_000][::-1], x[50_000:]]))
    places = np.arange(100_000)
    places[1:50_000] = places[1:50_000][::-1]
    y = x.copy()
    v.save(y, v.open(y)[places.tolist()], memory_limit="4MiB")
    assert np.array_equal(y, x[places])


def moved(rng, x, s):
    """The same voxels of an array and of a volume in another order, or a part of both with others around it."""
    axis = int(rng.integers(x.ndim))
    n = x.shape[axis]
    low, high = sorted(rng.integers(0, n + 1, 2).tolist())
    part, front = int(rng.integers(9)), (slice(None),) * axis
    if part == 0:
        return (np.flip(a, axis) for a in (x, s))
    if part == 1:
        by = int(rng.integers(-n, n))
        return (np.roll(a, by, axis) for a in (x, s))
    if part == 2:
        places = np.arange(n)
        places[low:high] = places[low:high][::-1]
        return x.take(places, axis), s[(*front, places.tolist())]
    if part == 3:
        step = int(rng.choice([1, -1]))
        pieces = [slice(0, low), slice(low, high), slice(high, n)]
        steps = [slice(None), slice(None, None, step), slice(None)]
        return (
            np.concatenate(
                [a[(*front, p)][(*front, t)] for p, t in zip(pieces, steps, strict=True)], axis
            )
            for a in (x, s)
        )
    if part == 4:
        mask = rng.random(x.shape) < 0.5
        return (np.where(mask, a, np.flip(a, axis) if low % 2 else a * 2) for a in (x, s))
    if part == 5 and x.ndim == 2 and x.shape[0] == x.shape[1]:
        return x.T, s.T
    if part == 6:
        widths = [(low, n - high) if d == axis else (0, 0) for d in range(x.ndim)]
        return (np.pad(a[(*front, slice(low, high))], widths, mode="constant") for a in (x, s))
    if part == 7:
        return (a + a.max(axis=axis, keepdims=True) for a in (x, s))
    return x + 1, s + 1


@pytest.mark.parametrize("seed", range(150))
def test_what_moves_voxels_is_refused_or_right(tmp_path, seed):
    rng = np.random.default_rng(seed)
    shape = [(2000, 3), (60, 60), (400, 5, 7)][seed % 3]
    x = rng.random(shape)
    mapped = np.lib.format.open_memmap(tmp_path / "y.npy", "w+", x.dtype, x.shape)
    for y in (x.copy(), mapped):
        y[...] = x
        expected, volume = x, v.open(y)
        for _ in range(int(rng.integers(1, 4))):
            expected, volume = moved(rng, expected, volume)
        refused = None
        try:
            v.save(y, volume, memory_limit=["40KiB", "100KiB", "1MiB"][seed % 4 % 3])
        except (ValueError, BudgetError) as error:
            refused = error
        assert np.array_equal(y, expected if refused is None else x)
        if isinstance(refused, ValueError):
            assert y is mapped
            assert "read and cannot be written" in str(refused)


IN_PLACE = {
    "two flips": lambda s: s[::-1][::-1],
    "pieces": lambda s: np.concatenate([s[:5] * 2, s[5:]]),
    "orders": lambda s: s.transpose(1, 2, 0).transpose(2, 0, 1) - s,
    "new axes": lambda s: s[:, None][:, 0] + 1,
    "others": lambda s: s + f.gaussian_filter(X, 1),
}


@pytest.mark.parametrize("name", IN_PLACE)
def test_what_is_proven_to_stay_in_place_is_written_over(tmp_path, name):
    first, _ = mapped(tmp_path)
    expected = np.asarray(IN_PLACE[name](v.open(X)))
    v.save(first, IN_PLACE[name](v.open(first)), memory_limit="300KiB")
    assert np.array_equal(first, expected)


def zarr_with_shards(folder):
    zarr = pytest.importorskip("zarr")
    made = zarr.create_array(folder / "x.zarr", data=X, chunks=(4, 4, 4), shards=(8, 8, 8))
    return made, folder / "x.zarr"


def hdf5_chunks(folder):
    file = pytest.importorskip("h5py").File(folder / "x.h5", "w")
    made = file.create_dataset("x", data=X, chunks=(8, 8, 8), compression="gzip")
    return made, file["/x"]


@pytest.mark.parametrize(
    "make",
    [zarr_arrays, zarr_in_memory, zarr_with_shards, hdf5_data, hdf5_chunks, tensorstores],
)
@pytest.mark.filterwarnings("ignore")
def test_files_are_written_over_voxel_by_voxel(tmp_path, make):
    target, source = make(tmp_path)
    limit = "2MiB" if make is tensorstores else "200KiB"
    v.save(target, v.open(target) * 2 + v.open(X), memory_limit=limit)
    expected = X * 2 + X
    assert np.array_equal(np.asarray(target[:, :, :]), expected)
    if make is not tensorstores:
        v.save(target, v.open(source) - 1, memory_limit="200KiB")
        assert np.array_equal(np.asarray(target[:, :, :]), expected - 1)
    with pytest.raises(ValueError, match="read and cannot be written at the same time"):
        v.save(target, np.flip(v.open(target), 1))


def test_chunks_that_lie_in_two_blocks_are_not_written_over():
    class Told:
        shape, dtype, chunks = X.shape, X.dtype, (8, 8, 8)

        def __init__(self):
            self.voxels = X.copy()

        def __getitem__(self, key):
            return self.voxels[key]

        def __setitem__(self, key, values):
            self.voxels[key] = values

    class Shards(Told):
        chunks, shards = (16, 8, 8), (8, 8, 8)

    target = Told()
    v.save(target, v.open(target) * 2, memory_limit="100KiB")
    assert np.array_equal(target.voxels, X * 2)
    target = Shards()
    with pytest.raises(ValueError, match="read and cannot be written at the same time"):
        v.save(target, v.open(target) * 2, memory_limit="100KiB")


def test_targets_that_take_no_slices_are_refused():
    for target in (None, [1], 3.0):
        with pytest.raises(TypeError, match="no target; give a file name"):
            v.save(target, X)
    assert v.plan(X).shape == X.shape


def read_only_array(_):
    x = np.zeros_like(X)
    x.flags.writeable = False
    return x


def read_only_zarr(folder):
    zarr = pytest.importorskip("zarr")
    zarr.create_array(folder / "x.zarr", data=X, chunks=(8, 8, 8))
    return zarr.open_array(folder / "x.zarr", mode="r")


def read_only_hdf5(folder):
    h5py = pytest.importorskip("h5py")
    with h5py.File(folder / "x.h5", "w") as file:
        file["x"] = X
    return h5py.File(folder / "x.h5", "r")["x"]


@pytest.mark.parametrize("make", [read_only_array, read_only_zarr, read_only_hdf5])
def test_targets_that_can_only_be_read_are_refused_before_the_work(tmp_path, make):
    def never(*_):
        raise AssertionError

    with pytest.raises(ValueError, match="can only be read is no target; give one that is opened"):
        v.save(make(tmp_path), v.open(X + 1), progress=never)


def test_other_data_sets_of_a_file_are_written(tmp_path):
    file = pytest.importorskip("h5py").File(tmp_path / "x.h5", "w")
    file["x"], file["y"] = X, X
    v.save(file["y"], f.gaussian_filter(v.open(file["x"]), 1))
    assert np.array_equal(file["y"][...], f.gaussian_filter(X, 1))
