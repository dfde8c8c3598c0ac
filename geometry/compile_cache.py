"""Gives numba a folder for compiled loops where it would find none.

Numba keeps machine code beside the source, else in the user's cache.  An installation that is
read-only and a user without a home have neither; numba would then refuse to load a module at all.
Here a folder for temporary files steps in, for this user alone: what lies in it is run, so it must
be nobody else's.
"""

from __future__ import annotations

import atexit
import os
import shutil
import stat
import sys
import tempfile
from pathlib import Path

_NAME = "NUMBA_CACHE_DIR"


def ensure_cache() -> None:
    """See to it that numba finds a place for its cache; does nothing where it does by itself.

    Must run before a compiled loop is defined.  Where there is no folder for temporary files
    either, numba says so in its own words.
    """
    if os.environ.get(_NAME) or sys.platform == "win32":
        return
    if _writable(Path(__file__).parent / "__pycache__") or _writable(_user_cache() / "numba"):
        return
    folder = _own_temporary()
    if folder is not None:
        os.environ[_NAME] = str(folder)
        if "numba" in sys.modules:  # which has read its settings already
            sys.modules["numba"].config.reload_config()


def _user_cache() -> Path:
    """The folder of all caches of this user, as numba finds it."""
    if sys.platform == "darwin":
        return Path(os.path.expanduser("~/Library/Caches"))
    return Path(os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache"))


def _writable(folder: Path) -> bool:
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=folder):
            return True
    except OSError:
        return False


def _own_temporary() -> Path | None:
    """A folder among the temporary files that is this user's alone; later runs find it again."""
    try:
        folder = Path(tempfile.gettempdir()) / f"geodp-numba-{os.getuid()}"
        folder.mkdir(mode=0o700, exist_ok=True)
        found = folder.lstat()
        own = stat.S_ISDIR(found.st_mode) and found.st_uid == os.getuid()
        if own and not found.st_mode & 0o077:
            return folder
        # the name is somebody else's: a fresh folder, for this run
        fresh = tempfile.mkdtemp(prefix="geodp-numba-")
        atexit.register(shutil.rmtree, fresh, ignore_errors=True)
        return Path(fresh)
    except OSError:
        return None
