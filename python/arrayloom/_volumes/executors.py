"""What runs tasks elsewhere: two methods, and an adapter for the executors of `concurrent.futures`.

Dask's is in `arrayloom._volumes.dask_executor`, which is imported when a client of it is given.
"""

# pyright: reportUnknownMemberType=false, reportUnknownArgumentType=false, reportUnknownVariableType=false
# pyright: reportUnknownParameterType=false
# Functions and results of any kind go through.

import contextlib
import importlib
import os
import pickle
import tempfile
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping
from concurrent.futures import FIRST_COMPLETED, BrokenExecutor, Future, ThreadPoolExecutor, wait
from concurrent.futures import Executor as PoolExecutor
from functools import lru_cache, partial
from itertools import islice
from pathlib import Path
from typing import Any, Protocol, TypeAlias

from arrayloom._volumes.limits import default_limit

__all__ = ["Executor", "Item", "ItemError", "Pool", "executor_of", "packed", "unpacked"]

Item: TypeAlias = tuple[int, ...]

# Tasks that wait for each place where one can run.
WAITING = 4


class ItemError(Exception):
    """A task failed for good; ``__cause__`` says why."""

    def __init__(self, item: Item) -> None:
        super().__init__(item)
        self.item = item


class Executor(Protocol):
    """Runs tasks somewhere.

    It may also have ``slots``, how many tasks run at a time (one for each processor here otherwise), and ``room``,
    the bytes that one of them may take.
    """

    def map(
        self,
        fn: Callable[..., Any],
        items: Iterable[Item],
        *,
        retries: int = 3,
        resources: Mapping[str, float] | None = None,
    ) -> Iterator[tuple[Item, Any]]:
        """Yield ``(item, fn(*item))`` as tasks end, in any order.

        `fn` is sent to each worker once, and `items` are taken when there is a place for them.

        Raises
        ------
        ItemError
            If a task failed once more than `retries` times.
        """
        ...

    def cancel(self) -> None:
        """Begin no more tasks, and return when none runs any more."""
        ...


def executor_of(client: Any) -> Any:
    """The executor for what a caller gave: a client of Dask, an executor of `concurrent.futures`, or one of his own.

    Raises
    ------
    TypeError
        If it runs no tasks.
    """
    if isinstance(client, PoolExecutor):
        return Pool(client)
    if type(client).__module__.partition(".")[0] == "distributed":
        return importlib.import_module("arrayloom._volumes.dask_executor").executor_of(client)
    if callable(getattr(client, "map", None)) and callable(getattr(client, "cancel", None)):
        return client
    message = (
        f"client={client!r} runs no tasks; give a distributed.Client, an executor of concurrent.futures, "
        "or an object with map(fn, items, *, retries, resources) and cancel()"
    )
    raise TypeError(message)


def packed(fn: Any) -> bytes:
    """A function as bytes for other processes.

    Raises
    ------
    TypeError
        If it holds what cannot leave this process, with the cure.
    """
    try:
        return importlib.import_module("cloudpickle").dumps(fn, pickle.HIGHEST_PROTOCOL)
    except ImportError:
        message = "volumes go to workers with the package cloudpickle; install it: pip install cloudpickle"
        raise TypeError(message) from None
    except Exception as error:
        message = (
            f"the volume reads what cannot go to workers ({error}); "
            "open files by their names with arrayloom.volumes.open, so that workers open them again"
        )
        raise TypeError(message) from error


def unpacked(told: bytes) -> Any:
    """The function that `packed` made bytes of."""
    return pickle.loads(told)  # noqa: S301 - our own bytes


class Pool:
    """An executor of `concurrent.futures` as an `Executor`."""

    def __init__(self, pool: PoolExecutor) -> None:
        self.pool = pool
        self.slots = int(getattr(pool, "_max_workers", None) or os.cpu_count() or 1)
        self.room = default_limit() // self.slots
        self._waiting: dict[Future[Any], tuple[Item, int]] = {}
        self._stop: Any = None

    def map(
        self,
        fn: Callable[..., Any],
        items: Iterable[Item],
        *,
        retries: int = 3,
        resources: Mapping[str, float] | None = None,
    ) -> Iterator[tuple[Item, Any]]:
        """See `Executor`; these executors know no resources."""
        if resources:
            message = f"{type(self.pool).__name__} knows no resources; leave {dict(resources)} out"
            raise ValueError(message)
        self._stop = getattr(fn, "stop", None)
        queue = iter(items)
        with _sent(fn, here=isinstance(self.pool, ThreadPoolExecutor)) as call:
            while True:
                for item in islice(queue, WAITING * self.slots - len(self._waiting)):
                    self._waiting[self.pool.submit(call, *item)] = (item, retries)
                if not self._waiting:
                    return
                for future in wait(self._waiting, return_when=FIRST_COMPLETED).done:
                    item, left = self._waiting.pop(future)
                    error = future.exception()
                    if error is None:
                        yield item, future.result()
                    elif left and not isinstance(error, BrokenExecutor):
                        self._waiting[self.pool.submit(call, *item)] = (item, left - 1)
                    else:
                        raise ItemError(item) from error

    def cancel(self) -> None:
        """See `Executor`."""
        if self._stop is not None:
            self._stop.set()
        for future in self._waiting:
            future.cancel()
        wait(self._waiting)


@contextlib.contextmanager
def _sent(fn: Callable[..., Any], *, here: bool) -> Generator[Callable[..., Any]]:
    """A small function that stands for `fn`, which other processes read from a file."""
    if here:
        yield fn
        return
    with tempfile.TemporaryDirectory(prefix="arrayloom-") as folder:
        file = Path(folder, "work")
        file.write_bytes(packed(fn))
        yield partial(_run, str(file))


@lru_cache(maxsize=2)
def _read(file: str) -> Any:
    return unpacked(Path(file).read_bytes())


def _run(file: str, *item: int) -> Any:
    return _read(file)(*item)
