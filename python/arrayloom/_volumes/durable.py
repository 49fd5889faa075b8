"""Files that survive a loss of power: what was written is synced to the disk, and so are the names of files."""

import errno
import os
from pathlib import Path

__all__ = ["UnsyncedError", "sync_name", "sync_written"]


class UnsyncedError(OSError):
    """The system could not bring a file to the disk; what of it is there, nobody knows."""


def sync_written(written: Path, path: Path) -> None:
    """Bring `written`, a file or a folder with all that is in it, to the disk; it will be named `path`.

    Raises
    ------
    UnsyncedError
        If the system cannot. It forgets what it could not write, so another try would tell nothing.
    """
    try:
        if not written.is_dir():
            _sync(written)
            return
        # Names lie in their folder, which follows what is in it.
        for folder, _, names in os.walk(written, topdown=False):
            for name in names:
                _sync(Path(folder, name))
            _sync_folder(Path(folder))
    except OSError as error:
        message = (
            f"{path} cannot be synced to the disk ({error.strerror}), which may have lost any part of it, so it is "
            "not kept; look after the disk and save again, or save without durable=True"
        )
        raise UnsyncedError(error.errno, message) from error


def sync_name(path: Path) -> None:
    """Bring the name of `path`, which has replaced another, to the disk.

    Raises
    ------
    UnsyncedError
        If the system cannot; the file itself is complete.
    """
    try:
        _sync_folder(path.parent)
    except OSError as error:
        message = (
            f"{path} is complete and on the disk, but its name cannot be synced ({error.strerror}): after a loss of "
            f"power it may be gone or be the file before it; sync {path.parent} when the disk is well again"
        )
        raise UnsyncedError(error.errno, message) from error


def _sync_folder(folder: Path) -> None:
    try:
        _sync(folder)
    except OSError as error:
        # Some network file systems sync no folders: there a name is on the disk when it is given.
        if error.errno != errno.EINVAL:
            raise


def _sync(path: Path) -> None:
    # What other descriptors and mappings wrote to the file is synced with it.
    file = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    try:
        os.fsync(file)
    finally:
        os.close(file)
