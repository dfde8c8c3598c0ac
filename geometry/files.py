"""Files that appear whole or not at all.

The bytes go to a new file in the target's folder, reach the disk, and only then take the
target's name in one step (``os.replace``).  A reader sees the old file or the new one; after a
crash, a full disk or Ctrl+C the old one is still there.

Where the system can (Linux, most file systems), the new file has no name until its bytes are on the
disk: a process that is killed leaves nothing behind.  Elsewhere it would leave ``.geodp-*.tmp``.
"""

from __future__ import annotations

import contextlib
import errno
import os
import secrets
import stat
from collections.abc import Iterable
from io import BufferedWriter
from pathlib import Path

#: Read and written by their owner alone.
_OWNERS = stat.S_IRUSR | stat.S_IWUSR

#: By the path asked for: the name that the bytes have for now, and the one they are to take.
_Staged = dict[str | os.PathLike[str], tuple[str, str]]


def atomic_write(path: str | os.PathLike[str], data: bytes | str, *, private: bool = False) -> None:
    """Write a file whole: on any failure the old file stays and no temporary file is left.

    Parameters
    ----------
    path : path-like
        The file to create or replace.  A symbolic link stays and its target is replaced; an
        existing file keeps its permissions.  Something that is no regular file (a pipe, a
        device such as /dev/stdout) is written straight through, never replaced.
    data : bytes or str
        Text is written as UTF-8, line ends as they are.
    private : bool
        The file's owner alone may read and write it (mode 0600), also where an existing file
        allowed others to; it is so before it has a name or a byte.

    Raises
    ------
    OSError
        As the system reports it: no such folder, no permission, disk full, is a folder.  Its
        ``filename`` is the path that was asked for.
    """
    atomic_write_all([(path, data)], private=private)


def atomic_write_all(
    files: Iterable[tuple[str | os.PathLike[str], bytes | str]], *, private: bool = False
) -> None:
    """Write files that belong together: none takes its name before all of them are on the disk.

    Names are taken one after the other, in the order given.  On any failure no temporary file is
    left, and a disk that is full leaves every old file as it was.

    Parameters
    ----------
    files : iterable of (path, data) pairs
        Different paths, and what each is to hold, as in :func:`atomic_write`.
    private : bool
        As there.

    Raises
    ------
    OSError
        As there; its ``filename`` is the path of the file that failed.
    """
    staged: _Staged = {}
    path: str | os.PathLike[str] = ""
    try:
        for path, data in files:
            _stage(path, data.encode("utf-8") if isinstance(data, str) else data, private, staged)
        for path in staged:
            os.replace(*staged[path])
    except BaseException as error:  # KeyboardInterrupt too: nothing half-written may stay
        for temporary, _ in staged.values():
            with contextlib.suppress(OSError):
                os.unlink(temporary)
        if isinstance(error, OSError):  # the person knows this name, not the temporary one
            error.filename, error.filename2 = os.fspath(path), None
        raise
    for folder in dict.fromkeys(os.path.dirname(target) for _, target in staged.values()):
        sync_folder(folder)


def _stage(path: str | os.PathLike[str], payload: bytes, private: bool, staged: _Staged) -> None:
    """Write what is to take the path's name under another, and note both."""
    mode = _mode(path)
    if mode is not None and stat.S_ISDIR(mode):
        raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), os.fspath(path))
    if mode is not None and not stat.S_ISREG(mode):
        Path(path).write_bytes(payload)
        return
    if private:
        mode = _OWNERS
    target = os.path.realpath(path)
    temporary = os.path.join(os.path.dirname(target), f".geodp-{secrets.token_hex(8)}.tmp")
    staged[path] = temporary, target
    if not _write_unnamed(temporary, payload, mode):
        with open(temporary, "xb", opener=_for_owner if mode is not None else None) as file:
            _write_through(file, payload, mode)


def _mode(path: str | os.PathLike[str]) -> int | None:
    """Mode bits of what the path leads to; None if nothing is there."""
    try:
        return os.stat(path).st_mode
    except FileNotFoundError:
        return None


def _write_unnamed(path: str, payload: bytes, mode: int | None) -> bool:
    """Write a file that is given its name when it is whole; False where that cannot be done."""
    flag = getattr(os, "O_TMPFILE", None)
    if flag is None or not os.path.isdir("/proc/self/fd"):
        return False
    try:
        handle = os.open(os.path.dirname(path), flag | os.O_WRONLY, 0o666)
    except OSError as error:
        if error.errno in (errno.EOPNOTSUPP, errno.EISDIR, errno.EINVAL):
            return False
        raise
    with open(handle, "wb") as file:
        _write_through(file, payload, mode)
        # a folder's descriptor, though unused, makes the call follow the link
        os.link(f"/proc/self/fd/{handle}", path, src_dir_fd=handle, follow_symlinks=True)
    return True


def _for_owner(path: str, flags: int) -> int:
    """Open a new file that is closed to others until its mode is settled."""
    return os.open(path, flags, _OWNERS)


def _write_through(file: BufferedWriter, payload: bytes, mode: int | None) -> None:
    """Return once the bytes are on the disk."""
    if mode is not None:  # before the bytes: what was private is never open to others
        os.chmod(file.name, stat.S_IMODE(mode))  # its descriptor, if it has no name
    file.write(payload)
    file.flush()
    os.fsync(file.fileno())


def sync_folder(folder: str) -> None:
    """Make the new name itself durable, where the system allows it (not on Windows)."""
    with contextlib.suppress(OSError):
        handle = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)
