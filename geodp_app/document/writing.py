"""Writing files for a person: whole or not at all, and one clear line if it fails."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator

from geodp_app.errors import InputError
from geometry.files import atomic_write


@contextlib.contextmanager
def named_failures(path: str | os.PathLike[str]) -> Iterator[None]:
    """Turn what the system says about a failed write into an :class:`InputError` on `path`."""
    try:
        yield
    except OSError as error:
        reason = error.strerror or str(error)
        kept = "; the file that was there is unchanged" if os.path.isfile(path) else ""
        raise InputError(f"{os.fspath(path)}: cannot be written: {reason}{kept}") from None


def write_whole(path: str | os.PathLike[str], data: bytes | str, *, private: bool = False) -> None:
    """Write a file whole or not at all; a private one for its owner alone, mode 0600.

    Raises
    ------
    InputError
        If it cannot be written (no such folder, no permission, disk full, is a folder); a file
        that was there is then unchanged.
    """
    with named_failures(path):
        atomic_write(path, data, private=private)
