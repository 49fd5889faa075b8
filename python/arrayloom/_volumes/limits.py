"""How much memory and how many threads work on volumes takes."""

import contextlib
import os
import re
from collections.abc import Generator, Sequence
from contextvars import ContextVar
from operator import index
from typing import Any, cast

from arrayloom._ext import gpus
from arrayloom._volumes.memory import available
from arrayloom.errors import SettingError

__all__ = ["Worker", "default_limit", "few_threads", "nbytes", "threads", "workers"]


def nbytes(text: object) -> int:
    """Bytes that `text` names: a number, or text such as ``"512MiB"`` or ``"2 GB"``.

    Examples
    --------
    >>> nbytes("2MiB"), nbytes("1.5 kB"), nbytes(77)
    (2097152, 1500, 77)
    """
    if not isinstance(text, str):
        try:
            count = index(cast("Any", text))
        except TypeError:
            message = f"a memory limit is a number of bytes or text such as '512MiB', not {text!r}"
            raise TypeError(message) from None
        if count < 0:
            message = f"a memory limit of {count} bytes; give a positive number"
            raise ValueError(message)
        return count
    units = {"": 1, "B": 1, "K": 1 << 10, "M": 1 << 20, "G": 1 << 30, "T": 1 << 40}
    for i, letter in enumerate("KMGT", 1):
        units |= {f"{letter}IB": 1 << 10 * i, f"{letter}B": 1000**i}
    word = text.strip()
    number = word.rstrip("BKMGTIbkmgti ")
    unit = word[len(number) :].strip().upper()
    try:
        return nbytes(int(float(number) * units[unit]))
    except (ValueError, KeyError, OverflowError):
        message = f"{text!r} is no number of bytes; write for example 512MiB or 2GB"
        raise ValueError(message) from None


# Threads of a task that shares its machine with others.
_FEW: ContextVar[int | None] = ContextVar("few", default=None)


def threads() -> int:
    """Threads that filters use: ``ARRAYLOOM_THREADS``, or one for each processor."""
    setting = os.environ.get("ARRAYLOOM_THREADS", "")
    if setting.isdigit() and int(setting):
        return int(setting)
    return _FEW.get() or len(os.sched_getaffinity(0))


@contextlib.contextmanager
def few_threads(count: int) -> Generator[None]:
    """Use `count` threads in here, unless ``ARRAYLOOM_THREADS`` says another number."""
    token = _FEW.set(count)
    try:
        yield
    finally:
        _FEW.reset(token)


def default_limit() -> int:
    """Bytes for a run that got no limit: half of the memory that is available."""
    return available() // 2


# Bytes here, threads, the device if it is none of the CPU, bytes there if they were named.
Worker = tuple[int, int, str | None, int | None]

_KNOWN = re.compile(r"(cpu|sim|opencl|cuda)(?::(\d+))?(?:\*(\d+))?(?:=(.+))?")


def workers(devices: str | Sequence[str] | None, limit: int) -> list[Worker]:
    """Memory limit, threads and device of each worker; none for one that uses everything.

    Examples
    --------
    >>> [worker[0] for worker in workers("cpu*2", 1000)]
    [500, 500]
    >>> [worker[0] for worker in workers(["cpu:0=600", "cpu:1"], 1000)]
    [600, 400]

    Raises
    ------
    SettingError
        For a device that is not there, with those that are.
    """
    if devices is None:
        return []
    names = [devices] if isinstance(devices, str) else list(devices)
    found: list[tuple[int | None, str | None, int | None]] = []
    left = limit
    for name in [part.strip() for text in names for part in text.split(",")]:
        matched = _KNOWN.fullmatch(name)
        gpu = matched is not None and matched[1] in {"opencl", "cuda"}
        if matched is None or (gpu and f"{matched[1]}:{matched[2] or 0}" not in gpus()):
            there = ", ".join(["cpu", "sim", *gpus()])
            message = (
                f"no device {name!r} computes volumes; there are {there}, "
                "as in cpu*2, cpu:0=512MiB or sim=64MiB"
            )
            raise SettingError(message)
        kind, number, times, own = matched.groups()
        if kind == "sim" and own is None:
            message = f"{name}: how large is its memory? write for example sim=64MiB"
            raise SettingError(message)
        if gpu:
            room = None if own is None else nbytes(own)
            found += [(None, f"{kind}:{number or 0}", room)] * int(times or 1)
            continue
        found += [(None if own is None else nbytes(own), None, None)] * int(times or 1)
        if own is not None and kind == "cpu":
            left -= nbytes(own) * int(times or 1)
    if not found:
        message = "a list of devices without a device"
        raise SettingError(message)
    share = max(left, 0) // max(sum(own is None for own, _, _ in found), 1)
    each = max(1, threads() // len(found))
    return [(share if own is None else own, each, gpu, room) for own, gpu, room in found]
