"""Reads and writes session files (``.geodp``): a person's work and its run, private data.

A session is a zip archive with three members:

``session.json``   schema version, settings, drawing, bounds, name, what runs on the examples spent,
                   the mask, the ledger
``points.npz``     the examples, if there are any: ``points`` (n, 2) uint16 (uint32 on grids from
                   65536 up), ``labels`` (n,) uint8
``steps.jsonl``    the run, if there is one (:mod:`geodp_app.files.run_record`)

Members are stored without compression: random grid points hardly shrink, and saving stays fast.
The same session gives the same bytes.  A session of another schema is refused in one line.

Nothing in a file is trusted: the header of each array is compared with the bytes that are there
before it is made, and nothing is unpickled.
"""

from __future__ import annotations

import contextlib
import io
import json
import math
import os
import tokenize
import warnings
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from geodp_app.document.checks import check_change, check_crossings, check_examples
from geodp_app.document.examples import Examples
from geodp_app.document.work import RunCharge, RunSettings, SampleSettings, Work
from geodp_app.drawing.shapes import Drawing
from geodp_app.files.run_record import RunRecord
from geodp_app.files.strict_reading import (
    MAX_TOTAL,
    Archive,
    DamagedFileError,
    damage_in,
    read_fields,
    read_json,
)
from geodp_app.files.writing import atomic_write, write_whole, zip_bytes
from geometry.arrays import Ints
from geometry.errors import InputError, file_errors, refusals
from geometry.geojson_reading import short
from geometry.grid import Bounds
from geometry.mask import Mask
from learners import __version__
from learners.core.codec_parts import privacy_from_dict, privacy_to_dict

_ROWS, _LABELS = "points.npy", "labels.npy"
_VERSION = (1, 0)
#: What the parser of array headers has for nonsense.
_ARRAY_FAULTS = (
    ValueError,
    TypeError,
    EOFError,
    OverflowError,
    SyntaxError,
    RecursionError,
    MemoryError,
    tokenize.TokenError,
)


def points_bytes(examples: Examples) -> bytes:
    """The archive: 5 bytes an example where grid coordinates fit in 16 bits, else 9."""
    out = io.BytesIO()
    # row by row, whatever order the arrays have in memory
    points = np.ascontiguousarray(examples.points, _point_type(examples.frame.d))
    np.savez(out, allow_pickle=False, points=points, labels=examples.labels.astype("u1"))
    return out.getvalue()


def read_points(data: bytes, count: int, d: int) -> tuple[Ints, Ints]:
    """Points, shape (count, 2), and labels, shape (count,), not yet compared with the grid.

    Raises DamagedFileError if the archive is damaged, or holds anything else.  `d`: grid size: it
    decides how coordinates are stored.
    """
    archive = Archive(io.BytesIO(data), {_ROWS: MAX_TOTAL, _LABELS: MAX_TOTAL})
    archive.refuse_others()
    points = _read_array(archive, _ROWS, _point_type(d), (count, 2))
    labels = _read_array(archive, _LABELS, "|u1", (count,))
    return points.astype(np.int64), labels.astype(np.int64)


def _point_type(d: int) -> str:
    """How coordinates 0..d are stored."""
    return "<u2" if d < 1 << 16 else "<u4"


def _read_array(
    archive: Archive, name: str, kind: str, shape: tuple[int, ...]
) -> NDArray[np.generic]:
    wanted = np.dtype(kind)
    with damage_in(name, _ARRAY_FAULTS):
        stream = io.BytesIO(archive.read(name))
        if np.lib.format.read_magic(stream) != _VERSION:
            raise ValueError("is an array file of an unknown version")
        with warnings.catch_warnings(action="ignore"):  # about headers that others wrote
            found, by_columns, dtype = np.lib.format.read_array_header_1_0(stream)
        if (found, by_columns, dtype) != (shape, False, wanted):
            raise ValueError(f"is {dtype} of shape {found}, not {wanted} of shape {shape}")
        body = stream.read()
        if len(body) != wanted.itemsize * math.prod(shape):
            raise ValueError(f"has {len(body):,} bytes of data, not those of shape {shape}")
    return np.frombuffer(body, wanted).reshape(shape)


SCHEMA = 11
_FORMAT = "geodp session"
_WARNING = (
    "Private data: this file holds the examples, and true counts of the run if there is one. "
    "Do not publish it; export the learned shape instead."
)
_STATE, _POINTS, _STEPS = "session.json", "points.npz", "steps.jsonl"
#: Most bytes of each member that are written or read.
_LIMITS = {_STATE: 32 * 2**20, _POINTS: 384 * 2**20, _STEPS: 16 * 2**20}


class Session(NamedTuple):
    """What a session file holds."""

    work: Work
    run: RunRecord | None = None


def save_session(path: str | os.PathLike[str], work: Work, run: RunRecord | None = None) -> None:
    """Write a session, whole or not at all, for its owner alone (mode 0600); raises InputError if
    it cannot be written or is too large to be read back; an older file stays as it was."""
    members = {_STATE: _state_bytes(work, run)}
    if work.examples is not None:
        members[_POINTS] = points_bytes(work.examples)
    if run is not None:
        members[_STEPS] = "".join(line + "\n" for line in run.to_lines()).encode()
    for name, data in members.items():
        if len(data) > _LIMITS[name]:
            raise InputError(
                f"{os.fspath(path)}: {name} would have {len(data):,} bytes; a session holds at "
                f"most {_LIMITS[name]:,}"
            )
    # unpacked, they are the owner's alone
    write_whole(path, zip_bytes(members, mode=0o600), private=True)


def load_session(path: str | os.PathLike[str]) -> Session:
    """Read a session; raises InputError if the file cannot be read, is damaged, or was written by a
    newer version; the message names the file and the member."""
    name = os.fspath(path)
    if os.path.exists(name) and not os.path.isfile(name):
        raise InputError(f"{name}: is not a file")
    with file_errors(name), refusals(name, DamagedFileError), open(name, "rb") as file:
        return _read_archive(Archive(file, _LIMITS))


def stamp_of(path: str | os.PathLike[str]) -> list[int] | None:
    """What is another once something else has written to a file or taken its place; None if it is
    not there."""
    try:
        found = os.stat(path)
    except OSError:
        return None
    return [found.st_ino, found.st_size, found.st_mtime_ns]


def _state_bytes(work: Work, run: RunRecord | None) -> bytes:
    examples: dict[str, Any] | None = None
    if (held := work.examples) is not None:
        count = len(held.labels)
        examples = {"count": count, "unit": held.unit, "simulated": work.simulated}
    state = {
        "format": _FORMAT,
        "schema": SCHEMA,
        "geodp": __version__,
        "warning": _WARNING,
        "name": work.name,
        "bounds": None if work.bounds is None else work.bounds.to_json(),
        "sampling": asdict(work.sampling),
        "run": work.run.to_dict(),
        "k_drawn": work.k_drawn,
        "examples": examples,
        "spent": [
            {"privacy": privacy_to_dict(charge.privacy), "finished": charge.finished}
            for charge in work.spent
        ],
        "has_steps": run is not None,
        "drawing": work.drawing.to_dict(),
        "within": None if work.within is None else work.within.to_dict(),
        "ledger": work.ledger,
    }
    return json.dumps(state, allow_nan=False, separators=(",", ":")).encode()


def _read_archive(archive: Archive) -> Session:
    with damage_in(_STATE):
        state = _checked(read_json(archive.read(_STATE)))
        work = _read_work(state)
        examples = state["examples"]
        if examples is None and work.spent:
            raise ValueError("spent: runs on examples, and there are none")
        if examples is None and work.ledger is not None:
            raise ValueError("ledger: of examples, and there are none")
        has_steps = _flag(state["has_steps"], "has_steps")
    archive.refuse_others()
    for name, expected in ((_POINTS, examples is not None), (_STEPS, has_steps)):
        if name in archive and not expected:
            raise DamagedFileError(f"{name}: is there, and {_STATE} knows nothing of it")
    if examples is not None:
        with damage_in(_POINTS):
            data = archive.read(_POINTS)
            count, simulated = examples["count"], _flag(examples["simulated"], "simulated")
            points, labels = read_points(data, count, work.drawing.grid)
            found = Examples(points, labels, work.frame, examples.get("unit"))
            check_examples(found)
            work = replace(work, examples=found, simulated=simulated)
    if not has_steps:
        return Session(work)
    with damage_in(_STEPS):
        run = RunRecord.from_lines(archive.read(_STEPS).split(b"\n"))
    return Session(work, run)


def _checked(state: Any) -> dict[str, Any]:
    """The state, if it is of this schema."""
    if not isinstance(state, dict) or state.get("format") != _FORMAT:
        raise ValueError("this is not a session of geodp")
    schema = state.get("schema")
    if isinstance(schema, bool) or not isinstance(schema, int):
        raise ValueError(f"schema {short(schema)} is not a whole number")
    if schema != SCHEMA:
        raise ValueError(
            f"is of schema {schema}, and geodp {__version__} reads schema {SCHEMA} alone"
        )
    return state


def _read_work(state: dict[str, Any]) -> Work:
    """The work without its examples."""
    sampling = read_fields(SampleSettings, state["sampling"], "sampling")
    dabs = tuple((x, y, r) for x, y, r in sampling.dabs)
    if not isinstance(state["spent"], list):
        raise ValueError(f"spent must be a list, not {short(state['spent'])}")
    charges = [read_fields(RunCharge, each, "spent") for each in state["spent"]]
    with refusals("bounds"):
        bounds = None if state["bounds"] is None else Bounds.of_json(state["bounds"])
    work = Work(
        name=state["name"],
        drawing=Drawing.from_dict(state["drawing"]),
        bounds=bounds,
        sampling=replace(sampling, dabs=dabs),
        run=RunSettings.from_dict(state["run"]),
        k_drawn=_flag(state["k_drawn"], "k_drawn"),
        spent=tuple(replace(one, privacy=privacy_from_dict(one.privacy)) for one in charges),
        within=None if state["within"] is None else Mask.from_dict(state["within"]),
        ledger=state["ledger"],
    )
    check_change(Work(), work)
    check_crossings(work.drawing)
    return work


def _flag(value: Any, what: str) -> bool:
    if not isinstance(value, bool):
        raise ValueError(f"{what}: {short(value)} is neither true nor false")
    return value


#: Files that are remembered.
MOST_RECENT = 10


class RecentFiles:
    """The files that were opened or saved last: a list in a user's settings, the newest first.

    It is a convenience: a damaged list is taken for an empty one, and one that cannot be written is
    let be.  `folder`: of the user's settings; made if it is missing.
    """

    def __init__(self, folder: Path) -> None:
        self._file = folder / "recent.json"

    def paths(self) -> tuple[Path, ...]:
        """Files that still exist, the newest first, at most ten."""
        return tuple(path for path in self._read() if path.is_file())[:MOST_RECENT]

    def add(self, path: str | os.PathLike[str]) -> None:
        """Put a file first."""
        new = Path(os.path.abspath(path))
        paths = [new, *(old for old in self._read() if old != new)][:MOST_RECENT]
        text = json.dumps([str(each) for each in paths], indent=1)
        with contextlib.suppress(OSError):
            self._file.parent.mkdir(parents=True, exist_ok=True)
            atomic_write(self._file, text + "\n", private=True)

    def _read(self) -> list[Path]:
        # read each time: another window may have written
        try:
            names = json.loads(self._file.read_bytes())
        except (OSError, ValueError, RecursionError):
            return []
        if not isinstance(names, list):
            return []
        return [Path(name) for name in names if isinstance(name, str) and name and "\0" not in name]
