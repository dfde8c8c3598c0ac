"""Reads zip archives and JSON that may be damaged or hostile.

Limits are checked before anything is inflated, and inflated data are read in small bites, so
that a directory that lies about sizes cannot fill the memory.  Every fault is a
:class:`DamagedFileError` of one line; nothing is ever unpickled or written to a path from a file.
"""

from __future__ import annotations

import contextlib
import json
import math
import os
import struct
import zipfile
import zlib
from collections.abc import Iterator, Mapping
from dataclasses import fields
from typing import IO, TYPE_CHECKING, Any, TypeVar

from geometry.errors import InputError
from geometry.geojson_reading import short

if TYPE_CHECKING:
    from _typeshed import DataclassInstance

Value = TypeVar("Value", bound="DataclassInstance")

#: Most bytes of all members of an archive together, inflated.
MAX_TOTAL = 512 * 2**20
#: Members larger than this must not have been squeezed more than so many times.
_FREE_SIZE, _MAX_RATIO = 2**20, 200
#: Other ways than these may ask for gigabytes before they give a byte.
_METHODS = (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED)
#: Largest directory of an archive: a few members, no comments.
_MAX_DIRECTORY = 2**14
_BITE = 2**18
#: The end record of a zip archive without comment: 22 bytes, of which 4 at 12 are the directory's
#: size; and the mark of the 64-bit records that only larger archives need, 20 bytes before it.
_END, _END_SIZE, _MARK_64 = b"PK\x05\x06", 22, b"PK\x06\x07"

#: Longest message about what a file holds, in characters.
_LONGEST = 240

#: What the reader of zip archives has for damage.
ZIP_FAULTS = (
    zipfile.BadZipFile,
    zlib.error,
    struct.error,
    EOFError,
    NotImplementedError,  # an odd compression
    OverflowError,
    RuntimeError,  # encrypted
    ValueError,
)


class DamagedFileError(ValueError):
    """A file is damaged or not what it should be; the message is one line without its name."""


#: What reading damaged values raises.
FAULTS = (ValueError, KeyError, TypeError, AttributeError, OverflowError)


@contextlib.contextmanager
def damage_in(
    part: str, faults: tuple[type[Exception], ...] = (*FAULTS, InputError)
) -> Iterator[None]:
    """Name the part of a file in what is said about it."""
    try:
        yield
    except faults as error:
        raise DamagedFileError(f"{part}: {one_line(error)}") from None


class Archive:
    """A zip archive of a few known members, checked before any of them is read.

    Raises DamagedFileError if it is no zip archive, or a member is too large, squeezed too much, or
    there twice.  `limits`: names of the members that may be there, and the most bytes of each,
    inflated.
    """

    def __init__(self, file: IO[bytes], limits: Mapping[str, int]) -> None:
        self._limits = limits
        _check_end(file)
        with damage_in("is a damaged zip archive", ZIP_FAULTS):
            self._zip = zipfile.ZipFile(file)
        self._members: dict[str, zipfile.ZipInfo] = {}
        for member in self._zip.infolist():
            if member.filename in self._members:
                raise DamagedFileError(f"has two members {short(member.filename)}")
            self._members[member.filename] = member
        total = sum(member.file_size for member in self._members.values())
        if total > MAX_TOTAL:
            raise DamagedFileError(
                f"would unpack to {total:,} bytes; at most {MAX_TOTAL:,} are read"
            )

    def __contains__(self, name: str) -> bool:
        return name in self._members

    def refuse_others(self) -> None:
        """Refuse members that do not belong here."""
        for name in self._members:
            if name not in self._limits:
                raise DamagedFileError(f"has a member {short(name)} that does not belong here")

    def read(self, name: str) -> bytes:
        """The bytes of a member, its checksum verified; raises DamagedFileError if it is missing,
        too large, or damaged; the message does not name it."""
        member = self._members.get(name)
        if member is None:
            raise DamagedFileError("is missing")
        size = member.file_size
        if size > self._limits[name]:
            raise DamagedFileError(f"has {size:,} bytes; at most {self._limits[name]:,} are read")
        if size > _FREE_SIZE and size > _MAX_RATIO * member.compress_size:
            raise DamagedFileError(f"is squeezed more than {_MAX_RATIO} times")
        if member.compress_type not in _METHODS:
            raise DamagedFileError(f"is damaged: squeezed in an odd way ({member.compress_type})")
        with damage_in("is damaged", ZIP_FAULTS), self._zip.open(member) as stream:
            data = b"".join(iter(lambda: stream.read(_BITE), b""))
        if len(data) != size:
            raise DamagedFileError("ends too early")
        return data


def read_json(text: bytes | str) -> Any:
    """A JSON value of finite numbers; raises DamagedFileError if it is not UTF-8 or not JSON, holds
    NaN or infinity, or is nested too deeply."""
    try:
        text = text.decode("utf-8") if isinstance(text, bytes) else text
        return json.loads(text, parse_float=_finite, parse_constant=_finite)
    except UnicodeDecodeError as error:
        raise DamagedFileError(f"is not UTF-8 text (byte {error.start})") from None
    except RecursionError:
        raise DamagedFileError("is nested too deeply") from None
    except ValueError as error:
        raise DamagedFileError(f"is not JSON: {one_line(error)}") from None


def read_fields(kind: type[Value], data: Any, what: str) -> Value:
    """A dataclass from its JSON object, which must name all of its fields and no others; raises
    DamagedFileError if it does not.  The values are not looked at."""
    if not isinstance(data, dict):
        raise DamagedFileError(f"{what} must be an object, not {short(data)}")
    names = {field.name for field in fields(kind)}
    odd = sorted(set(data) ^ names)
    if odd:
        raise DamagedFileError(f"{what}: {short(odd[0])} is missing or unknown")
    return kind(**data)


def one_line(error: Exception) -> str:
    """What an exception says, as one line that is not too long."""
    if isinstance(error, KeyError):
        return f"{str(error.args[0])[:40]!r} is missing or unknown"
    text = " ".join(str(error).split()) or type(error).__name__
    return text if len(text) <= _LONGEST else text[: _LONGEST - 3] + "..."


def _check_end(file: IO[bytes]) -> None:
    """Refuse what is no plain zip archive before its directory is read into memory."""
    size = file.seek(0, os.SEEK_END)
    file.seek(max(0, size - _END_SIZE - 20))
    tail = file.read()
    file.seek(0)
    end = tail[-_END_SIZE:]
    if len(end) < _END_SIZE or not end.startswith(_END):
        raise DamagedFileError("is not a zip archive, or its end is missing")
    directory, start = struct.unpack_from("<LL", end, 12)
    if directory > _MAX_DIRECTORY or tail[:-_END_SIZE].startswith(_MARK_64):
        raise DamagedFileError("is a zip archive with far too many members")
    if start + directory + _END_SIZE != size:
        raise DamagedFileError("is a damaged zip archive: its directory is elsewhere")


def _finite(text: str) -> float:
    value = float(text)
    if not math.isfinite(value):
        raise ValueError(f"{short(text)} is not a finite number")
    return value
