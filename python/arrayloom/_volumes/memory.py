"""How much memory a process can still take: what the machine has, and what the groups of the process allow."""

import os
from collections.abc import Iterator
from pathlib import Path

__all__ = ["available"]

# From here on a limit of version 1 is none.
_NO_LIMIT = 1 << 60


def available(root: Path = Path("/")) -> int:
    """Bytes that can be used without swapping, caches of files included.

    `root` is where ``proc`` and the control groups are looked for.
    """
    return max(min([_of_machine(root), *_of_groups(root)]), 0)


def _of_machine(root: Path) -> int:
    for line in _lines(root / "proc/meminfo"):
        name, _, rest = line.partition(":")
        if name == "MemAvailable":
            return 1024 * int(rest.split()[0])
    return os.sysconf("SC_AVPHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")


def _of_groups(root: Path) -> Iterator[int]:
    """What each group of the process, and each one around it, leaves."""
    paths: dict[str, str] = {}
    for line in _lines(root / "proc/self/cgroup"):
        number, controllers, path = line.split(":", 2)
        if number == "0" or "memory" in controllers.split(","):
            paths["cgroup2" if number == "0" else "cgroup"] = path
    for line in _lines(root / "proc/self/mountinfo"):
        place, _, kind = line.partition(" - ")
        system, _, options = kind.split()[:3]
        if system not in paths or (system == "cgroup" and "memory" not in options.split(",")):
            continue
        top, mount = place.split()[3:5]
        group = os.path.relpath(paths[system], top)
        # A group outside of what is mounted cannot be looked at.
        inside = Path("." if group.startswith("..") else group)
        for part in [inside, *inside.parents]:
            left = _left(root / mount.lstrip("/") / part, system)
            if left is not None:
                yield left


def _left(group: Path, system: str) -> int | None:
    """What one group leaves; None if it has no limit."""
    old = system == "cgroup"
    names = ["memory.limit_in_bytes"] if old else ["memory.max", "memory.high"]
    found = [_number(group / name) for name in names]
    limits = [limit for limit in found if limit is not None and limit < _NO_LIMIT]
    used = _number(group / ("memory.usage_in_bytes" if old else "memory.current"))
    if not limits or used is None:
        return None
    prefix = "total_" if old else ""
    cached = {f"{prefix}active_file", f"{prefix}inactive_file"}
    words = [line.split() for line in _lines(group / "memory.stat")]
    return min(limits) - used + sum(int(count) for name, count in words if name in cached)


def _number(file: Path) -> int | None:
    lines = _lines(file)
    return int(lines[0]) if lines and lines[0].isdecimal() else None


def _lines(file: Path) -> list[str]:
    """The lines of a file of the system; none if it is not there."""
    try:
        return file.read_text(encoding="utf-8").splitlines()
    except OSError:
        return []
