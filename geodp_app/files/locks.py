"""Locking an open file against other processes.

The system drops the lock when the file is closed or its process ends, however it ends.
"""

from __future__ import annotations

import sys
from typing import IO

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
