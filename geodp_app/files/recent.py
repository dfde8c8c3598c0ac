"""Remembers the files that were opened or saved last."""

from __future__ import annotations

import contextlib
import json
import os
from pathlib import Path

from geometry.files import atomic_write

#: Files kept.
MOST = 10
_FILE = "recent.json"


class RecentFiles:
    """A list in a user's settings, the newest first.

    It is a convenience: a damaged list is taken for an empty one, and one that cannot be written
    is let be.

    Parameters
    ----------
    folder : Path
        Of the user's settings; made if it is missing.
    """

    def __init__(self, folder: Path) -> None:
        self._file = folder / _FILE

    def paths(self) -> tuple[Path, ...]:
        """Files that still exist, the newest first, at most ten."""
        return tuple(path for path in self._read() if path.is_file())[:MOST]

    def add(self, path: str | os.PathLike[str]) -> None:
        """Put a file first."""
        new = Path(os.path.abspath(path))
        self._write([new, *(old for old in self._read() if old != new)])

    def remove(self, path: str | os.PathLike[str]) -> None:
        """Take a file off the list."""
        gone = Path(os.path.abspath(path))
        self._write([old for old in self._read() if old != gone])

    def clear(self) -> None:
        """Forget all files of the list."""
        self._write([])

    def _read(self) -> list[Path]:
        # read each time: another window may have written
        try:
            names = json.loads(self._file.read_bytes())
        except (OSError, ValueError, RecursionError):
            return []
        if not isinstance(names, list):
            return []
        return [Path(name) for name in names if isinstance(name, str) and name and "\0" not in name]

    def _write(self, paths: list[Path]) -> None:
        text = json.dumps([str(path) for path in paths[:MOST]], indent=1)
        with contextlib.suppress(OSError):
            self._file.parent.mkdir(parents=True, exist_ok=True)
            atomic_write(self._file, text + "\n")
