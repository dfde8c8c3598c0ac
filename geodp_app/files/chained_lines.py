"""A file of JSON lines that only grows, each of which holds the hash of all before it.

The last member of a line, ``hash``, is SHA-256 of the hash of the line before and of the line's own
other members.  So a line that was changed, taken out, put in or moved is found when the file is
read.  Two things are not found, as they leave a file that could have been written so: the end was
cut off at the end of a line, and all from some line on was written anew with hashes that fit.
Whoever notes the last hash elsewhere finds these as well (:meth:`Lines.holds`).

A line is added under a lock of the file, to what is there at that moment, and is on the disk when
the call returns.  Bytes after the last end of a line are those of a process that ended while it
wrote: nothing was done yet that the line would have told of.  The next writer takes them off.
The system drops the lock when the file is closed or its process ends, however it ends.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import IO, Any

from geodp_app.errors import InputError
from geodp_app.files.strict import DamagedFileError, one_line, read_json
from geometry.files import sync_folder

Line = dict[str, Any]

#: Seconds that another process may keep the file locked.
PATIENCE = 10.0
#: Most bytes that are read.
MOST_BYTES = 64 * 2**20

_HASH, _FIRST = "hash", ""
#: What stands before the hash of a line.
_LAST = b',"hash":"'


@dataclass(frozen=True, slots=True)
class Lines:
    """What a file holds.

    Attributes
    ----------
    lines : tuple of dict
        Without their hashes.
    hashes : tuple of str
        One a line.
    size : int
        Bytes of the whole lines.
    """

    lines: tuple[Line, ...]
    hashes: tuple[str, ...]
    size: int

    @property
    def head(self) -> str:
        """The last hash: it stands for all lines."""
        return self.hashes[-1] if self.hashes else _FIRST

    def holds(self, head: str) -> bool:
        """Whether the file held these lines when that was its last hash; a beginning will do."""
        return any(each.startswith(head) for each in self.hashes)


def create(path: str | os.PathLike[str], *lines: Line) -> None:
    """Make a file of these lines, for its owner alone (mode 0600).

    Raises
    ------
    InputError
        If something is there already, or it cannot be written.
    """
    name = os.fspath(path)
    try:
        handle = os.open(path, os.O_CREAT | os.O_EXCL | os.O_RDWR, 0o600)
    except FileExistsError:
        raise InputError(f"{name}: is there already; choose another name") from None
    except OSError as error:
        raise InputError(f"{name}: cannot be written: {error.strerror or error}") from None
    with open(handle, "r+b", buffering=0) as file:
        _write(name, file, _chained(lines, _FIRST)[0], 0)
    sync_folder(os.path.dirname(os.path.realpath(path)))


def read(path: str | os.PathLike[str], *, first: bool = False) -> Lines:
    """All whole lines, or the first one alone; the hashes are compared.

    Raises
    ------
    InputError
        If it cannot be read, is no such file, or was changed; the message names the line.
    """
    name = _existing(path)
    try:
        with open(path, "rb") as file:
            return _read(name, file, first=first)
    except OSError as error:
        raise InputError(f"{name}: cannot be read: {error.strerror or error}") from None


def append(path: str | os.PathLike[str], lines: Callable[[Lines], Sequence[Line]]) -> Lines:
    """Add lines to what is there, all of them or none; on the disk when this returns.

    Parameters
    ----------
    path : path-like
    lines : callable
        lines(found) gives them, in view of all that any process has written; no other one writes
        meanwhile.  What it raises leaves the file as it was.

    Returns
    -------
    Lines
        What the file holds now.

    Raises
    ------
    InputError
        As :func:`read`; or if the file cannot be locked or written, and is then as it was.
    """
    name = _existing(path)
    try:
        with open(path, "r+b", buffering=0) as file:
            _lock(name, file)
            found = _read(name, file)
            added = tuple(lines(found))
            text, hashes = _chained(added, found.head)
            if text:
                _write(name, file, text, found.size)
    except OSError as error:
        raise InputError(f"{name}: cannot be written: {error.strerror or error}") from None
    return Lines((*found.lines, *added), (*found.hashes, *hashes), found.size + len(text))


def _existing(path: str | os.PathLike[str]) -> str:
    """Its name; to open a pipe would wait for ever."""
    name = os.fspath(path)
    if not os.path.isfile(path):
        raise InputError(f"{name}: {'is not a file' if os.path.exists(path) else 'is not there'}")
    return name


def _lock(name: str, file: IO[bytes]) -> None:
    last = time.monotonic() + PATIENCE
    while not try_lock(file):
        if time.monotonic() > last:
            raise InputError(
                f"{name}: another program keeps it locked, or its disk knows no locks: try again, "
                "or keep it on a disk of this machine"
            )
        time.sleep(0.01)
    file.seek(0)


def _read(name: str, file: IO[bytes], *, first: bool = False) -> Lines:
    if os.fstat(file.fileno()).st_size > MOST_BYTES:
        raise InputError(f"{name}: has more than {MOST_BYTES:,} bytes; begin another one")
    data = file.readline() if first else file.read()
    whole = data.rpartition(b"\n")[0]
    size = len(whole) + 1 if whole else 0
    lines: list[Line] = []
    hashes: list[str] = []
    for number, text in enumerate(whole.split(b"\n") if whole else (), 1):
        try:
            line = read_json(text)
            if not isinstance(line, dict) or not _follows(text, hashes[-1] if hashes else _FIRST):
                raise DamagedFileError("does not follow from the lines before it: it was changed")
        except DamagedFileError as error:
            raise InputError(f"{name}: line {number} {one_line(error)}") from None
        hashes.append(line.pop(_HASH))
        lines.append(line)
    return Lines(tuple(lines), tuple(hashes), size)


def _write(name: str, file: IO[bytes], text: bytes, size: int) -> None:
    """Put text after so many bytes, and wait for the disk; if it fails the file is as it was."""
    try:
        file.truncate(size)  # what a process left that ended while it wrote
        file.seek(size)
        left = memoryview(text)
        while left:
            left = left[file.write(left) :]
        os.fsync(file.fileno())
    except BaseException as error:
        with contextlib.suppress(OSError):
            file.truncate(size)
        if isinstance(error, OSError):
            reason = error.strerror or error
            raise InputError(f"{name}: cannot be written: {reason}") from None
        raise


def _chained(lines: Sequence[Line], before: str) -> tuple[bytes, tuple[str, ...]]:
    """Lines as they stand in the file after that hash, and their hashes."""
    text, hashes = b"", [before]
    for line in lines:
        text += _text(line, hashes[-1])
        hashes.append(_hash(line, hashes[-1]))
    return text, tuple(hashes[1:])


def _text(line: Line, before: str) -> bytes:
    """A line as it stands in the file."""
    body = {key: value for key, value in line.items() if key != _HASH}
    return _bytes({**body, _HASH: _hash(body, before)}) + b"\n"


def _follows(text: bytes, before: str) -> bool:
    """Whether a line's own hash is that of its other bytes after that hash.

    They are taken as they stand: to write members anew would take most of the time of reading.
    """
    body = text.rpartition(_LAST)[0] + b"}"
    made = hashlib.sha256(before.encode() + body).hexdigest()
    return text == body[:-1] + _LAST + made.encode() + b'"}'


def _hash(line: Line, before: str) -> str:
    return hashlib.sha256(before.encode() + _bytes(line)).hexdigest()


def _bytes(value: Line) -> bytes:
    return json.dumps(value, allow_nan=False, separators=(",", ":"), ensure_ascii=True).encode()


if sys.platform == "win32":
    import msvcrt
else:
    import fcntl

#: Far behind any content: on Windows a locked byte cannot be read by others.
_LOCKED_BYTE = 2**30


def try_lock(file: IO[bytes]) -> bool:
    """Lock a file until it is closed or the process ends; False if it is locked or cannot be."""
    try:
        if sys.platform == "win32":
            file.seek(_LOCKED_BYTE)
            msvcrt.locking(file.fileno(), msvcrt.LK_NBLCK, 1)
        else:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        return False
    return True
