"""Out of memory: how it is recognised, and the ladder that leads out of it.

A rung is tried once, in this order: drop what the failed call held, give back the caches of every
imported framework, collect garbage, give back arrayloom's own pool; then smaller chunks, then the CPU.
Every rung says how many bytes it freed. What is left is an error that tells all of it.
"""

# Arrays of other frameworks have no types that a checker could know.
# pyright: basic

import gc
import sys
import threading
import traceback
from collections.abc import Callable, Collection, Iterator
from typing import NamedTuple

from arrayloom.bridge import drivers, observing, registry
from arrayloom.bridge.errors import FrameworkUnavailable, OutOfMemory
from arrayloom.bridge.planning import place_of
from arrayloom.bridge.registry import OomRules

__all__ = ["is_oom", "memory", "release"]


def _classes(names: tuple[str, ...]) -> tuple[type[BaseException], ...]:
    """Return the classes that exist by now; a framework that is not imported raises nothing."""
    found: list[type[BaseException]] = []
    for name in names:
        module, _, attribute = name.partition(":")
        cls = getattr(sys.modules.get(module), attribute, None)
        if isinstance(cls, type) and issubclass(cls, BaseException):
            found.append(cls)
    return tuple(found)


def _code_of(error: BaseException) -> int | None:
    for name in ("status", "code", "error_code"):
        value = getattr(error, name, None)
        if isinstance(value, int):
            return value
    return None


def _says(error: BaseException, rules: OomRules) -> bool:
    text = str(error)
    if any(word in text for word in rules.sticky):
        return False
    if isinstance(error, _classes(rules.classes)):
        return True
    if type(error) not in _classes(rules.coded) and not _subclass_of_own(error, rules):
        return False
    if rules.codes and _code_of(error) in rules.codes:
        return True
    return any(pattern in text for pattern in rules.patterns)


def _subclass_of_own(error: BaseException, rules: OomRules) -> bool:
    """Tell whether it is a subclass where the class is the framework's own, not Python's RuntimeError."""
    own = tuple(name for name in rules.coded if not name.startswith("builtins:"))
    return isinstance(error, _classes(own))


def is_oom(error: BaseException) -> bool:
    """Whether an exception says that memory ran out, by its class and status, never by text alone.

    Parameters
    ----------
    error : BaseException
        Of any framework.

    Examples
    --------
    >>> is_oom(MemoryError()), is_oom(ValueError("out of memory"))
    (True, False)
    """
    if isinstance(error, MemoryError):
        return True
    return any(_says(error, spec.oom) for spec in registry.imported())


def release(device: str | None = None, frameworks: tuple[str, ...] | None = None) -> int:
    """Give back what the caches of all imported frameworks keep.

    Parameters
    ----------
    device : str, optional
        Only this device's; all if absent.
    frameworks : tuple of str, optional
        Only these, as far as they are imported.

    Returns
    -------
    int
        Bytes given back, as far as the frameworks say.

    Raises
    ------
    TypeError
        A framework that is not known; the message names those that are.
    ValueError
        A device that no framework has arrays on.

    Examples
    --------
    >>> release() >= 0
    True
    """
    if isinstance(frameworks, str):
        msg = f"frameworks= takes a tuple of names such as ('torch',), not {frameworks!r}"
        raise TypeError(msg)
    wanted = registry.names() if frameworks is None else frameworks
    names = {registry.get(name).name for name in wanted}
    return _give_back(_known_place(device), names)


def _known_place(device: str | None) -> str | None:
    place = place_of(device)
    known = {family for name in registry.names() for family in registry.get(name).devices}
    if place is not None and place.partition(":")[0] not in known:
        msg = f"no framework has arrays on {device!r}; known are {', '.join(sorted(known))}"
        raise ValueError(msg)
    return place


def _give_back(place: str | None, names: Collection[str]) -> int:
    return sum(int(spec.release(place)) for spec in registry.imported() if spec.name in names)


def memory(device: str = "cpu") -> dict[str, int]:
    """Return free and total bytes of a device.

    Raises
    ------
    ValueError
        A device that cannot be asked here.

    Examples
    --------
    >>> memory("cpu")["total"] > 0
    True
    """
    family = device.partition(":")[0]
    if family == "cpu":
        return _host_memory()
    if family == "cuda":
        free, total = drivers.driver(device).memory(device)
        return {"free": free, "total": total}
    msg = f"the memory of device {device!r} cannot be asked: no imported framework knows it"
    raise ValueError(msg)


def _host_memory() -> dict[str, int]:
    from pathlib import Path  # noqa: PLC0415 - takes milliseconds

    # What can be used without swapping, caches of files included.
    lines = Path("/proc/meminfo").read_text(encoding="ascii").splitlines()
    kib = {name: int(rest.split()[0]) for name, _, rest in (x.partition(":") for x in lines)}
    return {"free": 1024 * kib["MemAvailable"], "total": 1024 * kib["MemTotal"]}


def free_bytes(device: str) -> int | None:
    """Return the free bytes of a device, None if it cannot be asked."""
    try:
        return memory(device)["free"]
    except (OSError, ValueError, FrameworkUnavailable):
        return None


class Rung(NamedTuple):
    """One step of the ladder and what it gave."""

    name: str
    freed: int

    def text(self) -> str:
        """Return it in words."""
        return f"{self.name}: freed {self.freed} bytes"


_one_at_a_time = threading.RLock()


def _collect(_device: str | None) -> int:
    gc.collect()
    return 0


def _own_pool(device: str | None) -> int:
    return _give_back(device, ("arrayloom",))


def _others(device: str | None) -> int:
    rest = tuple(name for name in registry.names() if name != "arrayloom")
    return _give_back(device, rest)


_RUNGS: tuple[tuple[str, Callable[[str | None], int]], ...] = (
    ("own pool", _own_pool),
    ("other caches", _others),
    ("garbage", _collect),
    ("other caches again", _others),
)


def climb(device: str | None) -> Iterator[Rung]:
    """Run the rungs that free memory, one recovery at a time; yields after each."""
    with _one_at_a_time:
        for name, action in _RUNGS:
            rung = Rung(name, action(device))
            record = observing.current()
            if record is not None:
                record.add(observing.Row("oom", "", "", name, rung.freed, 0, "memory ran out"))
            yield rung


def forget(error: BaseException) -> None:
    """Drop the frames of a failed call, and the arrays that they hold."""
    seen: BaseException | None = error
    while seen is not None:
        traceback.clear_frames(seen.__traceback__)
        seen.__traceback__ = None
        seen = seen.__context__
    for name in ("last_exc", "last_value", "last_traceback"):
        if getattr(sys, name, None) is not None:
            setattr(sys, name, None)


def gave_up(name: str, report: list[str], sizes: list[int]) -> OutOfMemory:
    """Make the error that tells what was tried."""
    largest = sorted(sizes, reverse=True)[:3]
    tried = "; ".join(report) or "nothing could be tried"
    msg = (
        f"memory ran out in {name} with inputs of {largest} bytes; tried: {tried}; "
        "smaller inputs, chunk=(axis, halo) or a CPU version (cpu=) would help"
    )
    return OutOfMemory(msg, tuple(report))
