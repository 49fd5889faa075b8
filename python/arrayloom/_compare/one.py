"""One run of ``--compare``: starts a command, waits for it, and tells what it took.

Run as a script of its own, by an interpreter that loads nothing else: the peak memory of a process
is at least that of the process which started it.
"""

import json
import os
import signal
import sys
import time
from types import FrameType

__all__ = ["main"]


def _go_on(_number: int, _frame: FrameType | None) -> None:
    """Do nothing; a handler, unlike a signal that is ignored, is not for the program too."""


def main() -> None:
    """Run the command behind the number of a file descriptor, to which the figures are written."""
    figures, command = int(sys.argv[1]), sys.argv[2:]
    os.set_inheritable(figures, False)  # noqa: FBT003 - positional only
    # The terminal sends Ctrl-C to the program too, whose figures are still wanted.
    signal.signal(signal.SIGINT, _go_on)
    start = time.perf_counter()
    child = os.posix_spawn(command[0], command, os.environ)
    ends = iter((signal.SIGINT, signal.SIGKILL))

    def end(_number: int, _frame: FrameType | None) -> None:
        os.kill(child, next(ends, signal.SIGKILL))

    signal.signal(signal.SIGTERM, end)
    _, status, usage = os.wait4(child, 0)
    found = {
        "seconds": time.perf_counter() - start,
        "cpu_seconds": usage.ru_utime + usage.ru_stime,
        "peak_bytes": usage.ru_maxrss * 1024,
        "exit_code": os.waitstatus_to_exitcode(status),
    }
    os.write(figures, json.dumps(found).encode())


if __name__ == "__main__":
    main()
