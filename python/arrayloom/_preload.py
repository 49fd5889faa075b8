"""Restart the interpreter with the shim of system calls in front of the C library.

System calls do not raise faults: given the address of a lazy array, ``write(2)`` just fails with
EFAULT. The shim, a small library in this package, brings the array's bytes in and tries again. It
has to be there before the program starts, so the runner starts the interpreter once more.

The C library is told one thing on the way. It moves more than 2 KiB by ``rep movsb``, which takes ten
times as long on AMD's processors since Zen 3 if the target lies a few bytes further in its page, as in
NumPy's rows that are shifted by one element; glibc 2.40 leaves it out there, and so do we.
"""

import os
import sys
from collections.abc import MutableMapping

__all__ = [
    "end_runner",
    "restart_early",
    "restart_with",
    "restart_with_shim",
    "shim_loaded",
    "shim_path",
    "short_moves_crawl",
]

# Set by the first process for the second; hold what the user's own variables were.
_GUARD = "ARRAYLOOM_RESTARTED"
_KEPT = {_GUARD: "LD_PRELOAD", "ARRAYLOOM_TUNABLES": "GLIBC_TUNABLES"}
_TUNABLE = "glibc.cpu.x86_rep_movsb_threshold"
_NAME = "libarrayloom_shim.so"


def shim_path() -> str | None:
    """Path of the shim in this package, or None where it was not built."""
    path = os.path.join(os.path.dirname(os.path.abspath(__file__)), "_shim", _NAME)
    return path if sys.platform == "linux" and os.path.exists(path) else None


def shim_loaded() -> bool:
    """Whether this process runs with the shim."""
    try:
        with open("/proc/self/maps", encoding="utf-8", errors="replace") as maps:
            return any(line.rstrip().endswith(_NAME) for line in maps)
    except OSError:
        return False


def moves_bytes_slowly() -> bool:
    """Whether this processor is an AMD since Zen 3, family 25."""
    try:
        with open("/proc/cpuinfo", "rb", buffering=0) as info:
            facts = info.read(512).split(b"\n")
    except OSError:
        return False
    facts = dict(line.split(b":", 1) for line in facts if b":" in line)
    facts = {name.strip(): value.strip() for name, value in facts.items()}
    family = facts.get(b"cpu family", b"")
    return facts.get(b"vendor_id") == b"AuthenticAMD" and family.isdigit() and int(family) >= 25


def short_moves_crawl() -> bool:
    """Whether this processor is slow at them, and the C library was not told to do without."""
    return not _State.told and moves_bytes_slowly()


class _State:
    """Whether this process has been through `restart_with_shim`, once is enough, and whether the C library was told."""

    done = False
    told = False


def end_runner(error: Exception) -> None:
    """End the process with one line, as for other wrong options, if this is the runner or another command.

    Called where a setting, such as a backend that is not there, keeps the package from being imported.
    """
    words = sys.orig_argv[sys.orig_argv.index("-m") + 1 :] if "-m" in sys.orig_argv else []
    module = sys.argv[:1] == ["-m"] and words and words[0].partition(".")[0] == "arrayloom"
    if module or os.path.basename(sys.argv[0] if sys.argv else "") == "arrayloom":
        sys.stderr.write(f"arrayloom: {error}\n")
        sys.exit(2)


def restart_early() -> None:
    """Restart if this is ``python -m arrayloom``, before the package imports anything slow.

    The first statement of the package: Python imports a package before it runs its ``__main__``, and
    without this NumPy would be imported twice.
    """
    if sys.argv[:1] != ["-m"] or "-m" not in sys.orig_argv:
        return
    at = sys.orig_argv.index("-m")
    words = sys.orig_argv[at + 1 :]
    if words[:1] == ["arrayloom"] and "--no-shim" not in words:
        restart_with_shim()


def restart_with(variable: str, value: str) -> None:
    """Start this very command again with another setting that is read once, unless it is in use already."""
    if os.environ.get(variable) == value or not sys.executable:
        return
    changed = {**os.environ, variable: value}
    sys.stdout.flush()
    sys.stderr.flush()
    os.execve(sys.executable, [sys.executable, *sys.orig_argv[1:]], changed)  # noqa: S606


def restart_with_shim(environ: MutableMapping[str, str] | None = None) -> None:
    """Start this very command again with the shim loaded; returns if there is nothing to do.

    In the second process this gives the variables their old values back, so that the programs that
    the user's program starts are not affected.
    """
    if _State.done:
        return
    _State.done = True
    environ = os.environ if environ is None else environ
    if _GUARD in environ:
        _State.told = "ARRAYLOOM_TUNABLES" in environ
        for kept, name in _KEPT.items():
            _restore(environ, name, environ.pop(kept, None))
        return
    path = shim_path()
    # LD_PRELOAD takes spaces and colons as separators and knows no quoting.
    if path is None or shim_loaded() or not sys.executable or any(c in path for c in " :"):
        return
    changed = dict(environ)
    before = changed[_GUARD] = environ.get("LD_PRELOAD", "")
    changed["LD_PRELOAD"] = f"{path}:{before}" if before else path
    before = environ.get("GLIBC_TUNABLES", "")
    if _TUNABLE not in before and moves_bytes_slowly():
        changed["ARRAYLOOM_TUNABLES"] = before
        never = f"{_TUNABLE}={1 << 47}"
        changed["GLIBC_TUNABLES"] = f"{before}:{never}" if before else never
    sys.stdout.flush()
    sys.stderr.flush()
    try:
        os.execve(sys.executable, [sys.executable, *sys.orig_argv[1:]], changed)  # noqa: S606
    except OSError as error:
        sys.stderr.write(f"arrayloom: cannot restart with {path}: {error}; continuing without\n")


def _restore(environ: MutableMapping[str, str], name: str, before: str | None) -> None:
    """Give a variable its old value back; None if it was not changed, empty if there was none."""
    if before:
        environ[name] = before
    elif before is not None:
        environ.pop(name, None)
