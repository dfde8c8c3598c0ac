"""Writes files for a person: whole or not at all, and with one clear line if it fails."""

from __future__ import annotations

import contextlib
import errno
import mmap
import os
import re
import tempfile
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Literal

from geodp_app.errors import InputError
from geodp_app.files.gdal_layers import DRIVERS, OR_ELSE
from geometry.files import STDOUT, NewFile, atomic_write_all, try_write
from geometry.geojson_reading import SEQUENCES

#: What a file may hold.
Holds = Literal["GeoJSON", "a shape", "points", "districts", "JSON", "JSON lines", "CSV", "PNG",
                "SVG", "PNG or SVG", "a zip"]  # fmt: skip

_ENDINGS: dict[Holds, tuple[str, ...]] = {
    "GeoJSON": (".geojson", ".json"),
    "a shape": tuple(DRIVERS),
    "JSON": (".json",),
    "JSON lines": (".jsonl", ".ndjson"),
    "CSV": (".csv",),
    "points": (".csv", *DRIVERS, *SEQUENCES),
    "districts": (".csv", *DRIVERS, *SEQUENCES),
    "PNG": (".png",),
    "PNG or SVG": (".png", ".svg"),
    "SVG": (".svg",),
    "a zip": (".zip",),
}
_OTHER_FILES = (".kml", ".zip", ".geodp")


#: What has been written since :func:`forget_written`, for whoever interrupts a command.
_written: list[str] = []

#: What files of geodp hold, and none that somebody else may have made: the first line of simulated
#: examples, the member of JSON with a release or a version, what pictures say they were drawn by.
#: A layer has its statement of privacy in a field of that name.  Rows of people with more columns,
#: as `predict` writes them, have none of it.
_MARKS = re.compile(
    rb'\A# geodp \{[^\n]*"simulated": true|"geodp": (\{.*?"release": \{|"\d)|'
    rb"Software\0geodp|Drawn by geodp|\APK.*geodp_qgis/",
    re.DOTALL,
)
_LAYER_MARKS = re.compile(rb"differentially private|[Nn]ot private")
_LAYERS = {".dbf": b"\x03", ".fgb": b"fgb", ".parquet": b"PAR1"}
_LOOKED_AT = 2**20

#: Endings of what programs keep beside a file to find things in it, by the file's own: false once
#: that is another.
_BESIDE = {
    ".shp": (".qix", ".sbn", ".sbx", ".fbn", ".fbx", ".ain", ".aih", ".ixs", ".mxs", ".idm",
             ".ind", ".qpj", ".cpg", ".shx", ".dbf", ".prj"),
    ".gpkg": (".gpkg-wal", ".gpkg-shm", ".gpkg-journal"),
}  # fmt: skip
_OF_GDAL = ".aux.xml"


def check_ending(path: str | os.PathLike[str], holds: Holds) -> None:
    """Refuse a name that says something else than what the file would hold.

    A name without an ending says nothing, and goes.  Raises InputError otherwise; the message names
    the endings that go.
    """
    ending = Path(path).suffix.lower()
    if ending and ending not in _ENDINGS[holds]:
        goes = " or ".join(_ENDINGS[holds])
        raise InputError(
            f"{os.fspath(path)}: {holds} is what is written, and {ending} says something else: "
            f"end the name in {goes}"
        )


def check_folder_ending(path: str | os.PathLike[str]) -> None:
    """Refuse the name of a file for a new folder; raises InputError if it has the ending of one."""
    ending = Path(path).suffix.lower()
    if ending in {*sum(_ENDINGS.values(), ()), *_OTHER_FILES}:
        raise InputError(
            f"{os.fspath(path)}: would be a folder, and {ending} is a file's: leave it out"
        )


def check_home(path: Path) -> None:
    """Refuse what could not be put where it is to be: no such folder, or no permission; raises
    InputError if its own folder is missing or cannot be written to."""
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
        words = f"{os.fspath(path)}: cannot be written: {reason}{kept}{advice(error)}"
        raise InputError(words) from None


def write_files(files: Iterable[NewFile], *, before: Callable[[], None] = lambda: None) -> None:
    """Write all files of a command, none before all are whole, and take away what would be false.

    What other programs keep beside a file to find things in it (indexes, a log of changes) goes;
    styles and notes that somebody made stay.  Raises OSError as
    :func:`geometry.files.atomic_write_all`.  `before`: called when nothing can fail but the taking
    of names; what it raises ends it there.
    """
    files = list(files)
    atomic_write_all(files, stale=_stale(files), before=before, written=_written)


def forget_written() -> None:
    """A command begins: it has written nothing."""
    _written.clear()


def note_written(path: str | os.PathLike[str]) -> None:
    """Something has its name that :func:`write_files` has not given it."""
    _written.append(os.fspath(path))


def cancelled_text() -> str:
    """What to say of a command that was interrupted."""
    if not _written:
        return "cancelled; nothing was written"
    return f"cancelled when it had written {', '.join(_written)}"


def _stale(files: Iterable[NewFile]) -> list[Path]:
    """What lies beside files and speaks of those that were there before."""
    new = {os.path.realpath(file.path) for file in files}
    found = []
    for real in map(Path, new):
        endings = [*_BESIDE.get(real.suffix.lower(), ()), real.suffix.lower() + _OF_GDAL]
        names = {f"{real.stem}{ending}".lower() for ending in endings}
        with contextlib.suppress(OSError):
            there = [each for each in real.parent.iterdir() if each.name.startswith(real.stem)]
            found += [each for each in there if each.name.lower() in names]
    return [each for each in found if os.fspath(each) not in new]


def check_kept(path: str | os.PathLike[str], *, overwrite: bool = False) -> None:
    """Refuse to write over what geodp has not written: somebody's only copy may be there.

    Raises InputError if something else is there.  `overwrite`: whether that is meant.  Other layers
    of a GeoPackage stay in any case.
    """
    path = Path(path)
    if overwrite or os.fspath(path) == STDOUT or (path.exists() and not path.is_file()):
        return
    if path.suffix.lower() == ".gpkg":
        with contextlib.suppress(OSError), open(path, "rb") as file:
            if file.read(16) == b"SQLite format 3\0":
                return  # layers are looked at one by one, by what writes them
    parts = [path]
    if path.suffix.lower() == ".shp":
        parts = [path.with_suffix(ending) for ending in (".dbf", ".shp", ".shx", ".prj")]
    there = [part for part in parts if part.is_file() and part.stat().st_size]
    # of a shapefile the table alone can tell
    if there and not _is_ours(there[0]):
        raise InputError(f"{there[0]}: is there already, and geodp has not written it: {OR_ELSE}")


def _is_ours(path: Path) -> bool:
    """Whether a file is one of geodp, by its beginning and its end."""
    try:
        with open(path, "rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as held:
            some = held[:_LOOKED_AT] + held[-_LOOKED_AT:]
    except (OSError, ValueError):  # what cannot be read is not known to be ours
        return False
    if some.startswith(b"SQLite format 3"):  # a ledger, or somebody's database
        return False
    begins = _LAYERS.get(path.suffix.lower())
    if begins is not None and some.startswith(begins):
        return b"statement" in some and _LAYER_MARKS.search(some) is not None
    return _MARKS.search(some) is not None


def lost_and_kept(error: Exception, text: str) -> InputError:
    """What to say when a release cannot be written after all: where it is kept instead.

    Its epsilon is spent, so it goes to a new file among the temporary ones, or to standard output.
    `error`: why it could not be written.  `text`: the release as GeoJSON.
    """
    if isinstance(error, OSError):
        why = f"{error.filename or 'the files'}: cannot be written: {error.strerror or error}"
        why += advice(error)
    else:
        why = " ".join(str(error).split()) or type(error).__name__
    try:
        handle, name = tempfile.mkstemp(prefix="geodp-", suffix=".geojson")
        with open(handle, "w", encoding="utf-8") as file:
            file.write(text)
    except OSError:
        with contextlib.suppress(NameError, OSError):
            os.unlink(name)
        print(text, end="", flush=True)
        return InputError(f"{why}; what was learned is on standard output instead")
    return InputError(f"{why}; what was learned is kept in {name}")


def write_whole(path: str | os.PathLike[str], data: bytes | str, *, private: bool = False) -> None:
    """Write a file whole or not at all; a private one for its owner alone, mode 0600.  Raises
    InputError if it cannot be written (no such folder, no permission, disk full, is a folder); a
    file that was there is then unchanged."""
    with named_failures(path):
        write_files([NewFile(path, data, private)])


def try_files(files: Iterable[NewFile]) -> None:
    """Whether files like these can be written; nothing is left of them.  Raises InputError if
    not."""
    for file in files:
        with named_failures(file.path):
            try_write([file])
