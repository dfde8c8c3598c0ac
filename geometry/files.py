"""Files that appear whole or not at all.

The bytes go to a temporary file beside the target, reach the disk, and only then
take the target's name in one step (``os.replace``).  A reader sees the old file or
the new one; after a crash, a full disk or Ctrl+C the old one is still there.
"""

from __future__ import annotations

import contextlib
import errno
import os
import secrets
import stat
from pathlib import Path


def atomic_write(path: str | os.PathLike[str], data: bytes | str) -> None:
    """Write a file whole: on any failure the old file stays and no temporary file is left.

    Parameters
    ----------
    path : path-like
        The file to create or replace.  A symbolic link stays and its target is replaced; an
        existing file keeps its permissions.  Something that is no regular file (a pipe, a
        device such as /dev/stdout) is written straight through, never replaced.
    data : bytes or str
        Text is written as UTF-8, line ends as they are.

    Raises
    ------
    OSError
        As the system reports it: no such folder, no permission, disk full, is a folder.  Its
        ``filename`` is the path that was asked for.
    """
    payload = data.encode("utf-8") if isinstance(data, str) else data
    mode = _mode(path)
    if mode is not None and stat.S_ISDIR(mode):
        raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), os.fspath(path))
    if mode is not None and not stat.S_ISREG(mode):
        Path(path).write_bytes(payload)
        return
    target = os.path.realpath(path)
    temporary = os.path.join(os.path.dirname(target), f".geodp-{secrets.token_hex(8)}.tmp")
    try:
        _write_through(temporary, payload, mode)
        os.replace(temporary, target)
    except BaseException as error:  # KeyboardInterrupt too: nothing half-written may stay
        with contextlib.suppress(OSError):
            os.unlink(temporary)
        if isinstance(error, OSError):  # the person knows this name, not the temporary one
            error.filename, error.filename2 = os.fspath(path), None
        raise
    _sync_folder(os.path.dirname(target))


def _mode(path: str | os.PathLike[str]) -> int | None:
    """Mode bits of what the path leads to; None if nothing is there."""
    try:
        return os.stat(path).st_mode
    except FileNotFoundError:
        return None


def _write_through(path: str, payload: bytes, mode: int | None) -> None:
    """Create the file (it must be new) and return once its bytes are on the disk."""
    with open(path, "xb") as file:
        if mode is not None:  # before the bytes: what was private is never open to others
            os.chmod(path, stat.S_IMODE(mode))
        file.write(payload)
        file.flush()
        os.fsync(file.fileno())


def _sync_folder(folder: str) -> None:
    """Make the new name itself durable, where the system allows it (not on Windows)."""
    with contextlib.suppress(OSError):
        handle = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)
