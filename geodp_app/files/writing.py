"""Writes files for a person: whole or not at all, and with one clear line if it fails.

The bytes go to a new file in the target's folder, reach the disk, and only then take the
target's name in one step (``os.replace``).  A reader sees the old file or the new one; after a
crash, a full disk or Ctrl+C the old one is still there.

Where the system can (Linux, most file systems), the new file has no name until its bytes are on the
disk: a process that is killed leaves nothing behind.  Elsewhere it would leave ``.geodp-*.tmp``.
"""

from __future__ import annotations

import contextlib
import errno
import io
import mmap
import os
import re
import secrets
import signal
import stat
import sys
import tempfile
import threading
import zipfile
from collections.abc import Callable, Iterable, Iterator, Mapping
from io import BufferedWriter
from pathlib import Path
from types import FrameType
from typing import Literal, NamedTuple

from geometry.errors import InputError
from geometry.geojson_reading import SEQUENCES

#: Formats by the ending of a name: GDAL's names of them, and Parquet, which pyarrow writes.
DRIVERS = {
    ".gpkg": "GPKG", ".fgb": "FlatGeobuf", ".shp": "ESRI Shapefile", ".parquet": "Parquet",
    ".geojson": "GeoJSON", ".json": "GeoJSON",
}  # fmt: skip

#: What to do about a file that is kept.
OR_ELSE = "choose another name, or give --overwrite (in Python overwrite=True)"

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
#: as `predict` writes them, have none of it; rows made of simulated examples, or of a shape that
#: was learned, keep these marks, and go.
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
    :func:`atomic_write_all`.  `before`: called when nothing can fail but the taking
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


def write_whole(path: str | os.PathLike[str], data: bytes | str, *, private: bool = False) -> None:
    """Write a file whole or not at all; a private one for its owner alone, mode 0600.  Raises
    InputError if it cannot be written (no such folder, no permission, disk full, is a folder); a
    file that was there is then unchanged."""
    with named_failures(path):
        write_files([NewFile(path, data, private)])


def zip_bytes(
    members: Mapping[str, bytes | str], *, mode: int, compression: int = zipfile.ZIP_STORED
) -> bytes:
    """A zip archive, the same whenever it is made; `mode`: of its members, once they are
    unpacked."""
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", compression) as archive:
        for name, data in members.items():
            member = zipfile.ZipInfo(name)  # dated 1980
            member.compress_type = compression
            member.external_attr = mode << 16
            archive.writestr(member, data)
    return out.getvalue()


def try_files(files: Iterable[NewFile]) -> None:
    """Do all of writing these but to take the names; raises InputError if that fails."""
    for file in files:
        staged: _Staged = {}
        with named_failures(file.path):
            try:
                if not _stage(file, staged):
                    _try_stream(file.path)
            finally:
                _remove(temporary for temporary, _ in staged.values())


# Whole or not at all

#: Read and written by their owner alone.
_OWNERS = stat.S_IRUSR | stat.S_IWUSR

#: Standard output, on every system: written to as it is open, from where it stands.
STDOUT = "/dev/stdout"

#: By the path asked for: the name that the bytes have for now, and the one they are to take.
_Staged = dict[str | os.PathLike[str], tuple[str, str]]


class NewFile(NamedTuple):
    """A file that is to be written.

    `path`: a symbolic link stays and its target is replaced; an existing file keeps its
    permissions, and is refused if it is read-only. What is no regular file (a pipe, a device) is
    written straight through, never replaced; so is :data:`STDOUT`, whatever it leads to.  `data`:
    text is written as UTF-8, line ends as they are. `private`: the file's owner alone may read and
    write it (mode 0600), also where an old one allowed others to, before it has a name or a byte.
    """

    path: str | os.PathLike[str]
    data: bytes | str
    private: bool = False


def atomic_write(path: str | os.PathLike[str], data: bytes | str, *, private: bool = False) -> None:
    """Write a file whole, as a :class:`NewFile`: on any failure the old file stays and no temporary
    file is left.

    Raises OSError as the system reports it: no such folder, no permission, disk full, is a folder.
    Its ``filename`` is the path that was asked for.
    """
    atomic_write_all([NewFile(path, data, private)])


def atomic_write_all(
    files: Iterable[NewFile],
    *,
    stale: Iterable[str | os.PathLike[str]] = (),
    before: Callable[[], None] = lambda: None,
    written: list[str] | None = None,
) -> None:
    """Write files that belong together: none takes its name before all of them are on the disk.

    Names are taken one after the other, in the order given, and Ctrl+C waits until all are.  Until
    then, on any failure no temporary file is left, and a disk that is full leaves every old file
    as it was.  A name that cannot be taken keeps no other from being so; pipes and devices come
    last.

    Raises OSError as :func:`atomic_write`; its ``filename`` is the path of the first file that
    failed.

    Parameters
    ----------
    files : iterable of NewFile
        Different paths.
    stale : iterable of path-like
        Files that speak of the old ones, to be removed before the first name is taken.
    before : callable
        Called when all is on the disk and nothing has its name; what it raises ends it there.
    written : list of str, optional
        Takes the path of every file that has its name, as soon as it has.
    """
    staged: _Staged = {}
    streams: list[NewFile] = []
    try:
        for file in files:
            if not _stage(file, staged):
                streams.append(file)
        before()
        failed = _take_names(staged, stale, [] if written is None else written)
    except BaseException:  # KeyboardInterrupt too: nothing half-written may stay
        _remove(temporary for temporary, _ in staged.values())
        raise
    for file in streams:
        try:
            _write_stream(file)
        except OSError as error:
            failed = failed or _named(error, file.path)
        else:
            if written is not None:
                written.append(os.fspath(file.path))
    if failed is not None:
        raise failed


def _bytes_of(file: NewFile) -> bytes:
    return file.data.encode("utf-8") if isinstance(file.data, str) else file.data


def _named(error: OSError, path: str | os.PathLike[str]) -> OSError:
    """The error about the name that the person knows, not the temporary one."""
    error.filename, error.filename2 = os.fspath(path), None
    return error


def _remove(paths: Iterable[str | os.PathLike[str]]) -> None:
    for path in paths:
        with contextlib.suppress(OSError):
            os.unlink(path)


def _take_names(
    staged: _Staged, stale: Iterable[str | os.PathLike[str]], written: list[str]
) -> OSError | None:
    """Give all that is staged its name; what failed first, if anything did."""
    failed: OSError | None = None
    with interrupts_wait():
        _remove(stale)
        for path, (temporary, target) in staged.items():
            try:
                os.replace(temporary, target)
            except OSError as error:
                failed = failed or _named(error, path)
                _remove([temporary])
            else:
                written.append(os.fspath(path))
        for folder in dict.fromkeys(os.path.dirname(target) for _, target in staged.values()):
            sync_folder(folder)
    return failed


@contextlib.contextmanager
def interrupts_wait() -> Iterator[None]:
    """Let Ctrl+C wait for what is done meanwhile."""
    if threading.current_thread() is not threading.main_thread():
        yield  # Python hands signals to the main thread alone
        return
    heard: list[tuple[int, FrameType | None]] = []
    handler = signal.getsignal(signal.SIGINT)
    if not callable(handler):
        yield
        return
    signal.signal(signal.SIGINT, lambda number, frame: heard.append((number, frame)))
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, handler)
    if heard:
        handler(*heard[0])


def _stage(file: NewFile, staged: _Staged) -> bool:
    """Write what is to take the path's name under another, and note both; False for a stream."""
    path = file.path
    if os.fspath(path) == STDOUT:
        return False
    try:
        mode = _mode(path)
        if mode is not None and stat.S_ISDIR(mode):
            raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR))
        if mode is not None and not stat.S_ISREG(mode):
            return False
        if mode is not None and not (mode & 0o222 and os.access(path, os.W_OK)):  # by root, too
            raise PermissionError(errno.EACCES, "it is read-only: choose another name or unlock it")
        if file.private:
            mode = _OWNERS
        target = os.path.realpath(path)
        temporary = os.path.join(os.path.dirname(target), f".geodp-{secrets.token_hex(8)}.tmp")
        staged[path] = temporary, target
        payload = _bytes_of(file)
        if not _write_unnamed(temporary, payload, mode):
            with open(temporary, "xb", opener=_for_owner if mode is not None else None) as opened:
                _write_through(opened, payload, mode)
    except OSError as error:
        raise _named(error, path) from None
    return True


def _write_stream(file: NewFile) -> None:
    if os.fspath(file.path) == STDOUT:
        sys.stdout.flush()
        with open(1, "wb", closefd=False) as stream:
            stream.write(_bytes_of(file))
    else:
        Path(file.path).write_bytes(_bytes_of(file))


def _try_stream(path: str | os.PathLike[str]) -> None:
    """Whether a device takes anything; a pipe is not opened, for its reader would see it end."""
    try:
        if os.fspath(path) == STDOUT:
            os.write(1, b"")  # what is closed or full says so of no bytes, too
        elif stat.S_ISCHR(os.stat(path).st_mode):
            with open(path, "wb", buffering=0) as device:
                device.write(b"")
        elif not os.access(path, os.W_OK):
            raise PermissionError(errno.EACCES, os.strerror(errno.EACCES))
    except OSError as error:
        raise _named(error, path) from None


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
