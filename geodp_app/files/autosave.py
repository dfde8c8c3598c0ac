"""Keeps recovery files: what was not saved when the program or the machine went down.

Each window has a folder of its own with two files: ``recovery.geodp``, a session, and ``owner``,
which names the process and stays locked as long as it lives.  The system drops the lock when the
process ends, however it ends, so a file whose owner is not locked is free to be recovered; a
reused process number misleads nobody.  Where files cannot be locked, nothing is offered.
"""

from __future__ import annotations

import contextlib
import json
import os
import sys
import tempfile
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import IO

from geodp_app.document.work import Work
from geodp_app.files.run_record import RunRecord
from geodp_app.files.session import save_session
from geodp_app.files.writing import named_failures

if sys.platform == "win32":
    import msvcrt
else:
    import fcntl

_PREFIX, _FILE, _OWNER, _TEMPORARY = "window-", "recovery.geodp", "owner", ".geodp-*.tmp"


class Autosave:
    """The recovery file of one window; made at the first save.  Any thread may call its methods.

    `folder`: where the recovery files of all windows are; made if it is missing.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._owner: IO[bytes] | None = None
        self._busy = threading.Lock()

    def save(
        self,
        work: Work,
        original: Path | None = None,
        run: RunRecord | None = None,
        called_off: Callable[[], bool] = lambda: False,
        *,
        stamp: object = None,
    ) -> Path | None:
        """Write a state of the work and the file that it was opened from or saved to, with its
        stamp then, whole or not at all; returns the path of the recovery file.

        Nothing is written, and None returned, if it was called off before its turn came: what is
        discarded afterwards stays discarded.  Raises InputError if it cannot be written; the last
        one stays as it was.
        """
        with self._busy:
            if called_off():
                return None
            owner = self._claim()
            path = None if original is None else os.path.abspath(original)
            with named_failures(owner.name):  # in place: a new file would not be locked
                said = {"pid": os.getpid(), "original": path, "stamp": stamp}
                owner.seek(0)
                owner.write(json.dumps(said).encode())
                owner.truncate()  # now: if the disk is full, what it said stays
            kept = Path(owner.name).with_name(_FILE)
            save_session(kept, work, run)
            return kept

    def discard(self) -> None:
        """Remove the recovery file: all is saved, or may be lost.  Work may go on."""
        with self._busy:
            if self._owner is not None:
                self._owner.close()
                discard(Path(self._owner.name).with_name(_FILE))
            self._owner = None

    def _claim(self) -> IO[bytes]:
        """The owner file of this window's folder, locked; a new one if somebody removed it."""
        if self._owner is None or not os.path.exists(self._owner.name):
            with named_failures(self._folder):
                self._folder.mkdir(parents=True, exist_ok=True)
                own = Path(tempfile.mkdtemp(prefix=_PREFIX, dir=self._folder))  # this user's alone
                self._owner = (own / _OWNER).open("xb", buffering=0)
            _try_lock(self._owner)
        return self._owner


@dataclass(frozen=True, slots=True)
class Recovery:
    """A recovery file that nobody works on."""

    path: Path
    #: When it was written, in seconds since 1970.
    saved: float
    #: The session file that it would have become.
    original: Path | None
    #: Of that file, when it was opened or saved last (:func:`geodp_app.files.session.stamp_of`).
    stamp: object = None

    @property
    def text(self) -> str:
        """What and when, in one line."""
        name = "Unsaved work" if self.original is None else self.original.name
        return f"{name}, kept on {time.strftime('%Y-%m-%d at %H:%M', time.localtime(self.saved))}"


def recoverable(folder: Path) -> list[Recovery]:
    """Recovery files whose owner is dead, the newest first; [] if the folder cannot be read."""
    found = []
    for path in folder.glob(f"{_PREFIX}*/{_FILE}"):
        with contextlib.suppress(OSError):  # it has just gone
            if not _owned(path.parent / _OWNER):
                original = _read_original(path.parent / _OWNER)
                found.append(Recovery(path, path.stat().st_mtime, *original))
    return sorted(found, key=lambda recovery: recovery.saved, reverse=True)


def _owned(owner: Path) -> bool:
    """Whether a living process holds the file, or might."""
    try:
        with owner.open("r+b") as file:
            return not _try_lock(file)  # closing it drops the lock again
    except FileNotFoundError:
        return False


#: Far behind any content: on Windows a locked byte cannot be read by others.
_LOCKED_BYTE = 2**30


def _try_lock(file: IO[bytes]) -> bool:
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


def _read_original(owner: Path) -> tuple[Path | None, object]:
    """The session file and its stamp."""
    try:
        said = json.loads(owner.read_bytes())
        return Path(said["original"]), said.get("stamp")
    except (OSError, ValueError, KeyError, TypeError):
        return None, None


def discard(recovery: Path) -> None:
    """Remove a recovery file that was recovered or is not wanted, and its window's folder: the
    files known here and nothing else."""
    folder = recovery.parent
    for path in (folder / _FILE, *folder.glob(_TEMPORARY), folder / _OWNER):
        with contextlib.suppress(OSError):
            path.unlink()
    with contextlib.suppress(OSError):
        folder.rmdir()
