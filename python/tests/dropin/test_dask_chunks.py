"""Lazy arrays as chunks of Dask and as data of xarray: values, sizes, tokens, and ways between processes."""

import numpy
import pytest

import arrayloom as np
from arrayloom import _ext

da = pytest.importorskip("dask.array")
dask = pytest.importorskip("dask")
pytest.importorskip("distributed")

# Warnings as errors would make NumPy's own results of everything.
pytestmark = pytest.mark.filterwarnings("default", "ignore::arrayloom.FallbackWarning")

# Chunks of 256 KB, which are lazy as programs find it.
K = 10
ROWS, COLUMNS = 48 * K, 40 * K
CHUNKS = (16 * K, 20 * K)
X = (numpy.arange(float(ROWS * COLUMNS)) % 17).reshape(ROWS, COLUMNS)


def set_items(d):
    d = d.copy()
    d[3:9] = 7
    d[d > 10] = 0
    return d


def product(q, r):
    return q @ r


# The operations that chunks of other libraries are measured by.
OPERATIONS = {
    "from_array": lambda d: d,
    "x + 1": lambda d: d + 1,
    "x * x": lambda d: d * d,
    "sqrt": numpy.sqrt,
    "where": lambda d: da.where(d > 5, d, -d),
    "T": lambda d: d.T,
    "slice with steps": lambda d: d[3:40:2, ::3],
    "fancy": lambda d: d[[1, 5, 2, 40]],
    "bool mask": lambda d: d[d > 5],
    "astype": lambda d: d.astype("f4"),
    "newaxis": lambda d: d[:, None],
    "sum": lambda d: d.sum(),
    "sum(0)": lambda d: d.sum(0),
    "mean(1)": lambda d: d.mean(1),
    "std": lambda d: d.std(),
    "var(0)": lambda d: d.var(0),
    "max": lambda d: d.max(),
    "argmax(0)": lambda d: d.argmax(0),
    "cumsum(0)": lambda d: d.cumsum(0),
    "any(1)": lambda d: (d > 15).any(1),
    "rechunk": lambda d: d.rechunk((10 * K, 40 * K)),
    "reshape": lambda d: d.reshape(3, ROWS // 3, COLUMNS),
    "ravel": lambda d: d.ravel(),
    "concatenate": lambda d: da.concatenate([d, d]),
    "stack": lambda d: da.stack([d, d]),
    "matmul": lambda d: d @ d.T,
    "tensordot": lambda d: da.tensordot(d, d, axes=([0], [0])),
    "einsum": lambda d: da.einsum("ij,kj->ik", d, d),
    "dot": lambda d: d.dot(d.T),
    "map_blocks": lambda d: d.map_blocks(lambda b: b * 2),
    "map_overlap, reflect": lambda d: d.map_overlap(
        lambda b: b + numpy.roll(b, 1, 0), depth=2, boundary="reflect"
    ),
    "map_overlap, none": lambda d: d.map_overlap(lambda b: b * 1.5, depth=1, boundary="none"),
    "pad edge": lambda d: da.pad(d, 2, mode="edge"),
    "roll": lambda d: da.roll(d, 3, axis=0),
    "percentile": lambda d: da.percentile(d.ravel(), [10, 50, 90]),
    "histogram": lambda d: da.histogram(d, bins=5, range=(0, 17))[0],
    "topk": lambda d: da.topk(d, 3, axis=0),
    "fft": lambda d: da.fft.fft(d.rechunk((16 * K, 40 * K)), axis=1),
    "setitem": set_items,
    "isin": lambda d: da.isin(d, [1, 2, 3]),
    "unique": da.unique,
    "clip": lambda d: da.clip(d, 2, 9),
    "round": lambda d: da.round(d / 3, 1),
    "qr": lambda d: product(*da.linalg.qr(d.rechunk((16 * K, 40 * K)))),
    "norm": da.linalg.norm,
    "np.add": lambda d: numpy.add(d, d),
    "tril": da.tril,
    "diag": lambda d: da.diag(d.rechunk((48 * K, 40 * K))[: 40 * K]),
    "median(0)": lambda d: da.median(d, axis=0),
    "bincount": lambda d: da.bincount(d.ravel().astype(int), minlength=17),
    "zeros_like": da.zeros_like,
    "full_like": lambda d: da.full_like(d, 3),
    "coarsen": lambda d: da.coarsen(numpy.sum, d, {0: 2, 1: 2}),
}


def chunked(array):
    return da.from_array(array, chunks=CHUNKS, asarray=False)


@pytest.mark.parametrize("least", [0, 64 * 1024])
@pytest.mark.parametrize("name", OPERATIONS)
def test_operations_have_the_values_of_numpys_chunks(configured, name, least):
    configured(min_bytes=least)
    lazy = np.array(X)
    assert isinstance(lazy, np.LazyArray)
    found = OPERATIONS[name](chunked(lazy)).compute(scheduler="sync")
    expected = OPERATIONS[name](chunked(X)).compute(scheduler="sync")
    assert found.dtype == expected.dtype
    numpy.testing.assert_array_equal(found, expected, strict=True)


def test_there_are_as_many_operations_as_are_compared_elsewhere():
    assert len(OPERATIONS) == 53


def test_chunks_stay_lazy_in_a_task():
    def work(block):
        before = _ext.stats()["flushes"]
        result = (block * 2 + 1) / 3
        assert result.size == 0 or _ext.stats()["flushes"] == before
        return result

    d = chunked(np.array(X)).map_blocks(work)
    numpy.testing.assert_array_equal(d.compute(scheduler="sync"), (X * 2 + 1) / 3)


def pending():
    """An array that is not computed, and the flushes so far."""
    array = np.full((ROWS, COLUMNS), 3.0) * 2
    _ext.flush()
    _ext.reset_stats()
    return array * 2


def test_the_size_of_a_pending_array_is_known_without_it():
    array = pending()
    assert dask.sizeof.sizeof(array) == X.nbytes
    assert _ext.stats()["flushes"] == 0


def test_tokens_are_those_of_the_values():
    plain = numpy.full((ROWS, COLUMNS), 12.0)
    assert dask.tokenize.tokenize(pending()) == dask.tokenize.tokenize(plain)
    assert dask.tokenize.tokenize(pending() + 1) != dask.tokenize.tokenize(plain)


def test_values_go_between_processes(dask_client):
    one, other = dask_client.scheduler_info(n_workers=-1)["workers"]

    def make():
        import arrayloom

        return arrayloom.full((480, 400), 3.0) * 4

    made = dask_client.submit(make, workers=[one], pure=False)
    summed = dask_client.submit(lambda x: float((x + 1).sum()), made, workers=[other], pure=False)
    assert summed.result() == 13.0 * 480 * 400
    numpy.testing.assert_array_equal(made.result(), numpy.full((480, 400), 12.0))
    there = dask_client.scatter(pending())
    assert dask_client.submit(lambda x: float(x.sum()), there, pure=False).result() == 12.0 * X.size


XARRAY = {
    "wrap": lambda x, _: x,
    "+ 1": lambda x, _: x + 1,
    "mean": lambda x, _: x.mean("y"),
    "isel": lambda x, _: x.isel(x=slice(3, 300, 2)),
    "where": lambda x, _: x.where(x > 5),
    "rolling": lambda x, _: x.rolling(x=3).mean(),
    "groupby": lambda x, _: x.groupby("g").mean(),
    "interp": lambda x, _: x.interp(x=[1.5, 2.25]),
    "pad": lambda x, _: x.pad(x=2, mode="edge"),
    "concat": lambda x, xr: xr.concat([x, x], "x"),
    "apply_ufunc": lambda x, xr: xr.apply_ufunc(lambda a: a * 2 - 1, x),
    "std": lambda x, _: x.std(),
    "dot": lambda x, xr: xr.dot(x, x, dim="y"),
}


@pytest.mark.parametrize("name", XARRAY)
def test_xarray_has_the_values_of_numpys_data(name):
    xr = pytest.importorskip("xarray")

    def labelled(data):
        rows = numpy.arange(ROWS)
        return xr.DataArray(data, dims=("x", "y"), coords={"x": rows, "g": ("x", rows % 3)})

    found = XARRAY[name](labelled(np.array(X)), xr)
    expected = XARRAY[name](labelled(X), xr)
    numpy.testing.assert_array_equal(found.values, expected.values, strict=True)
    assert found.dims == expected.dims
    assert found.coords.keys() == expected.coords.keys()
