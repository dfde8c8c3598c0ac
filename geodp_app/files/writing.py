"""Writing files for a person: whole or not at all, and one clear line if it fails."""

from __future__ import annotations

import contextlib
import errno
import os
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Literal

from geodp_app.errors import InputError
from geodp_app.files.learned_layers import SHAPE_FORMATS
from geometry.files import atomic_write

#: What a file may hold.
Holds = Literal["GeoJSON", "a shape", "points", "JSON", "JSON lines", "CSV", "PNG", "SVG",
                "PNG or SVG", "PNG, GIF or WebP", "a zip"]  # fmt: skip

#: Formats of points beside CSV, by the ending of a name.
POINT_FORMATS = {
    ".geojson": "GeoJSON", ".json": "GeoJSON", ".gpkg": "GPKG", ".fgb": "FlatGeobuf",
    ".shp": "ESRI Shapefile",
}  # fmt: skip

_ENDINGS: dict[Holds, tuple[str, ...]] = {
    "GeoJSON": (".geojson", ".json"),
    "a shape": (".geojson", ".json", *SHAPE_FORMATS),
    "JSON": (".json",),
    "JSON lines": (".jsonl", ".ndjson"),
    "CSV": (".csv",),
    "points": (".csv", *POINT_FORMATS),
    "PNG": (".png",),
    "PNG or SVG": (".png", ".svg"),
    "SVG": (".svg",),
    "PNG, GIF or WebP": (".png", ".gif", ".webp"),
    "a zip": (".zip",),
}
_OTHER_FILES = (".kml", ".zip", ".geodp")


def check_ending(path: str | os.PathLike[str], holds: Holds) -> None:
    """Refuse a name that says something else than what the file would hold.

    A name without an ending says nothing, and goes.

    Raises
    ------
    InputError
        Otherwise; the message names the endings that go.
    """
    ending = Path(path).suffix.lower()
    if ending and ending not in _ENDINGS[holds]:
        goes = " or ".join(_ENDINGS[holds])
        raise InputError(
            f"{os.fspath(path)}: {holds} is what is written, and {ending} says something else: "
            f"end the name in {goes}"
        )


def check_folder_ending(path: str | os.PathLike[str]) -> None:
    """Refuse the name of a file for a new folder.

    Raises
    ------
    InputError
        If it has the ending of one.
    """
    ending = Path(path).suffix.lower()
    if ending in {*sum(_ENDINGS.values(), ()), *_OTHER_FILES}:
        raise InputError(
            f"{os.fspath(path)}: would be a folder, and {ending} is a file's: leave it out"
        )


def check_home(path: Path) -> None:
    """Refuse what could not be put where it is to be: no such folder, or no permission.

    Raises
    ------
    InputError
        If its own folder is missing or cannot be written to.
    """
    home = Path(os.path.realpath(path)).parent
    if not home.is_dir():
        raise InputError(f"{path}: there is no folder {home}")
    try:
        with tempfile.TemporaryFile(dir=home):
            pass
    except OSError as error:
        raise InputError(f"{path}: cannot write to {home}: {error.strerror}") from None


def advice(error: OSError) -> str:
    """What to do about a disk that is full, to put behind what happened; nothing for others."""
    full = error.errno in (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)
    return ": make room there, or write to another place" if full else ""


@contextlib.contextmanager
def named_failures(path: str | os.PathLike[str]) -> Iterator[None]:
    """Turn what the system says about a failed write into an :class:`InputError` on `path`."""
    try:
        yield
    except OSError as error:
        reason = error.strerror or str(error)
        kept = "; the file that was there is unchanged" if os.path.isfile(path) else ""
        told = f"{os.fspath(path)}: cannot be written: {reason}{kept}{advice(error)}"
        raise InputError(told) from None


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
