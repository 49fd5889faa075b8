"""A file that is written belongs to one run at a time, among all threads and processes."""

import contextlib
import errno
import fcntl
import os
from collections.abc import Generator
from pathlib import Path

__all__ = ["held"]


@contextlib.contextmanager
def held(path: Path) -> Generator[None]:
    """Hold `path` for a run that writes it; the system lets go of it if the process ends.

    Raises
    ------
    BlockingIOError
        If another run holds it.
    """
    lock = path.with_name(f".{path.name}.arrayloom-lock")
    try:
        file = _locked(lock)
    except BlockingIOError:
        message = (
            f"another save is writing to {path}; wait until it has ended, or choose another name"
        )
        raise BlockingIOError(message) from None
    except OSError as error:
        message = f"{path} cannot be written: {error.strerror}"
        raise type(error)(error.errno, message) from error
    try:
        yield
    finally:
        # The name goes while it is locked: who waits for it sees that it is not the same file any more.
        lock.unlink(missing_ok=True)
        os.close(file)


def _locked(lock: Path) -> int:
    """The lock as an open file that has this name and nobody else holds."""
    while True:
        file = os.open(lock, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o666)
        try:
            _lock(file)
            if _is(file, lock):
                return file
        except BaseException:
            os.close(file)
            raise
        os.close(file)


def _lock(file: int) -> None:
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError as error:
        # Some file systems of several machines have no locks.
        if error.errno not in {errno.ENOSYS, errno.ENOTSUP, errno.ENOLCK}:
            raise


def _is(file: int, path: Path) -> bool:
    """True if `path` still names the open file."""
    try:
        return os.path.samestat(os.fstat(file), path.stat())
    except FileNotFoundError:
        return False
