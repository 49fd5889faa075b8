"""Dask's cluster as an executor: a plug-in brings the work to each worker, tasks are integers.

A worker that starts later, or again, gets the plug-in as well. This module imports Dask.
"""

# pyright: reportUnknownMemberType=false, reportUnknownArgumentType=false, reportUnknownVariableType=false
# pyright: reportUnknownParameterType=false, reportMissingTypeStubs=false, reportImplicitOverride=false
# pyright: reportUntypedBaseClass=false, reportUnknownLambdaType=false
# Functions and results of any kind go through, and Dask's are not typed.

import asyncio
import contextlib
import threading
import time
import uuid
from collections.abc import Callable, Iterable, Iterator, Mapping
from concurrent.futures import CancelledError
from itertools import islice
from typing import Any

from distributed import Client, WorkerPlugin, wait

from arrayloom._volumes.executors import WAITING, Item, ItemError, packed, unpacked
from arrayloom._volumes.limits import default_limit

__all__ = ["DaskExecutor", "executor_of"]

# Dask counts our memory as its own only when it is used, and spills from 60 % on.
_SHARE = 0.5
# Seconds for the first worker to come, and for tasks to end after a stop.
_PATIENCE = 60.0
# Seconds after which workers are counted again, and for which there may be none: their machines may start later.
_LOOK, _ALONE = 5.0, 300.0


class _NoWorkersError(TimeoutError):
    """All workers have gone, and none comes."""


class _Work:
    """A function in a worker's process, and the tasks that run it; made when the first task comes."""

    def __init__(self, told: bytes) -> None:
        self.told = told
        self.workers = 0
        self.running = 0
        self.stopped = False
        self.fn: Any = None
        self.lock = threading.Lock()

    def __call__(self, *item: int) -> Any:
        with self.lock:
            if self.fn is None:
                self.fn = unpacked(self.told)
                if self.stopped:
                    self.fn.stop.set()
            self.running += 1
        try:
            return self.fn(*item)
        finally:
            with self.lock:
                self.running -= 1


# The work of this process by the name of the run; workers of one process share it.
_WORK: dict[str, _Work] = {}
_LOCK = threading.Lock()


class _Plugin(WorkerPlugin):
    """Brings a function to each worker."""

    def __init__(self, job: str, told: bytes) -> None:
        self.name = f"arrayloom-{job}"
        self.job = job
        self.told = told

    def setup(self, worker: Any) -> None:  # noqa: ARG002 - of Dask
        with _LOCK:
            _WORK.setdefault(self.job, _Work(self.told)).workers += 1

    def teardown(self, worker: Any) -> None:  # noqa: ARG002 - of Dask
        with _LOCK:
            work = _WORK.get(self.job)
            if work is not None:
                work.workers -= 1
                if work.workers == 0:
                    del _WORK[self.job]


def run_task(job: str, *item: int) -> Any:
    """What a task does: the work of run `job` on `item`."""
    work = _WORK.get(job)
    if work is None:
        message = f"run {job} is over, and a task of it came late"
        raise RuntimeError(message)
    return work(*item)


async def _stop(job: str) -> None:
    """Let tasks of a run write nothing more, and wait until none runs."""
    work = _WORK.get(job)
    if work is None:
        return
    with work.lock:
        work.stopped = True
        if hasattr(work.fn, "stop"):
            work.fn.stop.set()
    while work.running:
        await asyncio.sleep(0.01)


def executor_of(client: Any) -> "DaskExecutor":
    """The executor of a client.

    Raises
    ------
    TypeError
        For a cluster, or a client of coroutines.
    """
    if not isinstance(client, Client):
        message = f"{type(client).__name__} is no client; give distributed.Client(...) of it"
        raise TypeError(message)
    if client.asynchronous:
        message = (
            "an asynchronous client is waited for by coroutines; give Client(asynchronous=False)"
        )
        raise TypeError(message)
    return DaskExecutor(client)


class DaskExecutor:
    """A client of Dask as an `arrayloom._volumes.executors.Executor`."""

    def __init__(self, client: Any) -> None:
        self.client = client
        try:
            client.wait_for_workers(1, timeout=_PATIENCE)
        except TimeoutError:
            message = f"{client} has had no worker for {_PATIENCE:.0f} seconds; start one"
            raise TimeoutError(message) from None
        workers = client.scheduler_info(n_workers=-1)["workers"].values()
        self.slots = sum(int(w["nthreads"]) for w in workers)
        rooms = [
            int(_SHARE * w["memory_limit"] / w["nthreads"]) for w in workers if w["memory_limit"]
        ]
        self.room = min(rooms, default=default_limit() // max(self.slots, 1))
        self._job: str | None = None
        self._futures: dict[Any, tuple[Any, Item]] = {}
        self._looked = self._seen = time.monotonic()

    def map(
        self,
        fn: Callable[..., Any],
        items: Iterable[Item],
        *,
        retries: int = 3,
        resources: Mapping[str, float] | None = None,
    ) -> Iterator[tuple[Item, Any]]:
        """See `arrayloom._volumes.executors.Executor`."""
        job = self._job = uuid.uuid4().hex[:8]
        queue = iter(items)
        self._looked = self._seen = time.monotonic()
        self.client.register_plugin(_Plugin(job, packed(fn)))
        while True:
            for item in islice(queue, max(WAITING * self.slots - len(self._futures), 0)):
                future = self.client.submit(
                    run_task,
                    job,
                    *item,
                    key=f"arrayloom-{job}-{item[0]}",
                    pure=False,
                    retries=retries,
                    resources=resources,
                )
                self._futures[future.key] = (future, item)
            if not self._futures:
                break
            for future in self._ended():
                _, item = self._futures[future.key]
                try:
                    result = self._result(future)
                except _NoWorkersError:
                    raise
                except Exception as error:
                    raise ItemError(item) from error
                del self._futures[future.key]
                future.release()
                yield item, result
        self._forget()

    def _result(self, future: Any) -> Any:
        """What a task gave; it runs once more if the worker that has it goes."""
        while True:
            try:
                return future.result(timeout=_LOOK)
            except TimeoutError:
                if future.status == "error":
                    raise
            self._look()

    def _ended(self) -> list[Any]:
        """Tasks that have ended; waits for the first one."""
        waiting = [future for future, _ in self._futures.values()]
        while True:
            with contextlib.suppress(TimeoutError, CancelledError):
                wait(waiting, timeout=_LOOK, return_when="FIRST_COMPLETED")
            self._look()
            ended = [future for future in waiting if future.done()]
            if ended:
                return ended

    def _look(self) -> None:
        """Count the workers from time to time: some may have come, or all have gone."""
        now = time.monotonic()
        if now < self._looked + _LOOK:
            return
        self._looked = now
        count = sum(self.client.nthreads().values())
        self.slots = max(self.slots, count)
        if count:
            self._seen = now
        elif now > self._seen + _ALONE:
            message = f"{self.client} has had no worker for {_ALONE:.0f} seconds; start some"
            raise _NoWorkersError(message)

    def cancel(self) -> None:
        """See `arrayloom._volumes.executors.Executor`."""
        if self._job is None:
            return
        # A worker that goes just now may never answer, and a cluster that is gone runs nothing any more.
        ending = threading.Thread(target=self._end, args=(self._job,), daemon=True)
        ending.start()
        ending.join(_PATIENCE)
        self._forget()

    def _end(self, job: str) -> None:
        with contextlib.suppress(Exception):
            self.client.cancel([future for future, _ in self._futures.values()], force=True)
        with contextlib.suppress(Exception):
            self.client.run(_within, job, _PATIENCE, on_error="ignore")

    def _forget(self) -> None:
        """Take the work away from the workers."""
        self._futures.clear()
        if self._job is not None:
            job, self._job = self._job, None
            with contextlib.suppress(Exception):
                self.client.unregister_worker_plugin(f"arrayloom-{job}")


async def _within(job: str, seconds: float) -> None:
    with contextlib.suppress(TimeoutError):
        await asyncio.wait_for(_stop(job), seconds)
