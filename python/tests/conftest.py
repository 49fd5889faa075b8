"""Fixtures of the tests that compare arrayloom with NumPy.

``ARRAYLOOM_TEST_MODULE=numpy`` puts NumPy itself under test: whatever fails then is a mistake of
the test.

Results are compared with NumPy's bit by bit, so the elementary functions are NumPy's here; the device's
own have tests of their own (``native/test_math.py``).
"""

import importlib
import os

import pytest

os.environ.setdefault("ARRAYLOOM_MATH", "numpy")

_UNDER_TEST = os.environ.get("ARRAYLOOM_TEST_MODULE", "arrayloom")

# Bytes from which results are lazy, as a program finds it.
DEFAULT_MIN_BYTES = 64 * 1024


def configure(**settings):
    """Change settings of the engine; nothing to change when NumPy itself is under test."""
    if _UNDER_TEST != "numpy":
        importlib.import_module("arrayloom._ext").configure(**settings)


@pytest.fixture
def xp():
    """The module under test, every array of one byte or more being lazy."""
    module = importlib.import_module(_UNDER_TEST)
    configure(min_bytes=0)
    yield module
    configure(min_bytes=DEFAULT_MIN_BYTES)


@pytest.fixture
def xp_default():
    """The module under test as a program finds it: arrays below 256 KiB are plain."""
    module = importlib.import_module(_UNDER_TEST)
    configure(min_bytes=DEFAULT_MIN_BYTES)
    return module


@pytest.fixture(params=["all", "large"])
def xp_both(request):
    """The module under test, once with all and once with large results being lazy."""
    module = importlib.import_module(_UNDER_TEST)
    configure(min_bytes=0 if request.param == "all" else DEFAULT_MIN_BYTES)
    yield module
    configure(min_bytes=DEFAULT_MIN_BYTES)


@pytest.fixture
def real_laziness():
    """For tests that look at laziness itself and make no sense on NumPy."""
    if _UNDER_TEST == "numpy":
        pytest.skip("NumPy itself is under test")


@pytest.fixture
def configured():
    """``configure``, undone after the test."""
    yield configure
    configure(min_bytes=DEFAULT_MIN_BYTES, threads=os.cpu_count() or 1)


def _client(processes):
    distributed = pytest.importorskip("distributed")
    dask = pytest.importorskip("dask")
    words = {"host": "127.0.0.1", "dashboard_address": "127.0.0.1:0", "threads_per_worker": 1}
    words |= {"processes": True} if processes else {"processes": False, "protocol": "tcp://"}
    # Workers in this process count its memory as theirs, and would pause for good.
    watched = () if processes else ("target", "spill", "pause", "terminate")
    with dask.config.set({f"distributed.worker.memory.{name}": False for name in watched}):
        cluster = distributed.LocalCluster(n_workers=2, memory_limit="1GiB", **words)
    return cluster, distributed.Client(cluster)


@pytest.fixture(scope="session")
def dask_client():
    """A client of two worker processes with a thread each."""
    cluster, client = _client(processes=True)
    with cluster, client:
        yield client


@pytest.fixture(scope="session")
def near_client():
    """A client of two workers in this process."""
    cluster, client = _client(processes=False)
    with cluster, client:
        yield client
