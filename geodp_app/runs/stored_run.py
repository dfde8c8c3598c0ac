"""A run as text: JSON lines that bring it back exactly.  Private: they hold true counts.

The first line has the settings and the lattice, then comes a line a step, and last the release
if the run was finished.  Diagnostics are kept as plain :class:`StepDiagnostics`: what a learner
adds of its own is left out.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterable
from dataclasses import asdict, dataclass, fields
from typing import Any

from geodp_app.document.checks import check_run
from geodp_app.document.strict_files import (
    DamagedFileError,
    one_line,
    read_fields,
    read_json,
    short,
)
from geodp_app.document.work import RunSettings
from geodp_app.errors import InputError
from geometry.halfplane import HalfplaneLattice, Sheet
from learners.records import Piece, Release, StepDiagnostics, StepRecord, StepRelease

_WARNING = "Private: true counts and errors of a run. Do not publish."
_FAULTS = (ValueError, KeyError, TypeError, AttributeError, OverflowError, InputError)
#: JSON has no names for these.
_ODD_FLOATS = {"inf": math.inf, "-inf": -math.inf, "nan": math.nan}


@dataclass(frozen=True, slots=True)
class StoredRun:
    """A run, finished or not, without its examples.

    Attributes
    ----------
    settings : RunSettings
    grid : int
        d.
    records : tuple of StepRecord
        Steps 1, 2, ... in order.
    release : Release or None
        None as long as steps are missing.
    """

    settings: RunSettings
    grid: int
    records: tuple[StepRecord, ...] = ()
    release: Release | None = None

    def to_lines(self) -> list[str]:
        """One JSON object a line, without line ends.

        Raises
        ------
        ValueError
            If pieces are of another lattice than the run's.
        """
        lattice = self._lattice()
        head = {
            "kind": "run",
            "warning": _WARNING,
            "settings": asdict(self.settings),
            "grid": self.grid,
            "bits": lattice.bits,
        }
        lines: list[dict[str, Any]] = [head, *map(_record_line, self.records)]
        if self.release is not None:
            lines.append({"kind": "release", "release": self.release.to_dict()})
        return [json.dumps(line, allow_nan=False) for line in lines]

    @classmethod
    def from_lines(cls, lines: Iterable[str | bytes]) -> StoredRun:
        """Read what :meth:`to_lines` wrote.

        Raises
        ------
        DamagedFileError
            If a line is missing or wrong; the message names it, counted from 1.
        """
        numbered = ((i, line) for i, line in enumerate(lines, 1) if line.strip())
        run: StoredRun | None = None
        lattice: HalfplaneLattice | None = None
        records: list[StepRecord] = []
        release: Release | None = None
        for number, line in numbered:
            try:
                if release is not None:
                    raise ValueError("comes after the release")
                data = _object(read_json(line), "a line")
                if run is None or lattice is None:
                    run, lattice = _read_head(data)
                elif data.get("kind") == "release":
                    release = _read_release(data, lattice, records)
                else:
                    records.append(_read_record(data, lattice, len(records) + 1))
            except _FAULTS as error:
                raise DamagedFileError(f"line {number}: {one_line(error)}") from None
        if run is None:
            raise DamagedFileError("has no lines")
        return cls(run.settings, run.grid, tuple(records), release)

    def _lattice(self) -> HalfplaneLattice:
        """The one lattice of all pieces; the finest if there are none."""
        found = {h.lattice for record in self.records for h in record.release.piece}
        if self.release is not None:
            found.add(self.release.lattice)
        lattice = found.pop() if found else HalfplaneLattice(self.grid, self.settings.measure)
        if found or (lattice.d, lattice.measure) != (self.grid, self.settings.measure):
            raise ValueError("the pieces of a run are of one lattice, that of its settings")
        return lattice


def _record_line(record: StepRecord) -> dict[str, Any]:
    diagnostics = {
        field.name: _plain(getattr(record.diagnostics, field.name), field.type)
        for field in fields(StepDiagnostics)
    }
    return {
        "kind": "step",
        "step": record.step,
        "steps": record.steps,
        "piece": [[h.sheet.name, h.u, h.v] for h in record.release.piece],
        "threshold": record.release.threshold,
        "diagnostics": diagnostics,
    }


def _plain(value: Any, kind: Any) -> Any:
    """A JSON value: a NumPy scalar as a plain number, a float that is not finite by its name."""
    if kind == "int":
        return int(value)
    value = float(value)
    return value if math.isfinite(value) else str(value)


def _read_head(data: dict[str, Any]) -> tuple[StoredRun, HalfplaneLattice]:
    if data.get("kind") != "run":
        raise ValueError("is not the beginning of a run")
    settings = read_fields(RunSettings, data["settings"], "settings")
    check_run(settings)
    grid = _whole(data["grid"], "grid")
    bits = _whole(data["bits"], "bits")
    if bits < 0:  # which would mean the finest
        raise ValueError(f"bits: {bits} is negative")
    lattice = HalfplaneLattice(grid, settings.measure, bits)
    return StoredRun(settings, grid), lattice


def _read_record(data: dict[str, Any], lattice: HalfplaneLattice, number: int) -> StepRecord:
    if data.get("kind") != "step":
        raise ValueError(f"is of the unknown kind {short(data.get('kind'))}")
    step, steps = _whole(data["step"], "step"), _whole(data["steps"], "steps")
    if step != number or steps < step:
        raise ValueError(f"is step {step} of {steps} in place of step {number}")
    threshold = data["threshold"]
    if threshold is not None:
        threshold = _whole(threshold, "threshold")
    release = StepRelease(_read_piece(data["piece"], lattice), threshold)
    return StepRecord(step, steps, release, _read_diagnostics(data["diagnostics"]))


def _read_piece(data: Any, lattice: HalfplaneLattice) -> Piece:
    piece = tuple(
        lattice.halfplane(Sheet[sheet], _whole(u, "u"), _whole(v, "v")) for sheet, u, v in data
    )
    if len(piece) not in (1, 3):
        raise ValueError(f"a piece of {len(piece)} halfplanes; it has one or three")
    return piece


def _read_diagnostics(data: Any) -> StepDiagnostics:
    data = _object(data, "diagnostics")
    return StepDiagnostics(
        **{field.name: _number(data[field.name], field) for field in fields(StepDiagnostics)}
    )


def _number(value: Any, field: Any) -> Any:
    if field.type == "int":
        return _whole(value, field.name)
    if isinstance(value, str) and value in _ODD_FLOATS:
        return _ODD_FLOATS[value]
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise ValueError(f"{field.name}: {short(value)} is not a number")
    return float(value)


def _read_release(
    data: dict[str, Any], lattice: HalfplaneLattice, records: list[StepRecord]
) -> Release:
    release = Release.from_dict(_object(data["release"], "release"))
    if release.lattice != lattice:
        raise ValueError("the release is of another lattice than the run")
    if release.pieces != tuple(record.release.piece for record in records):
        raise ValueError("the release has other pieces than the steps")
    return release


def _object(value: Any, what: str) -> dict[str, Any]:
    if not isinstance(value, dict):
        raise ValueError(f"{what} must be an object, not {short(value)}")
    return value


def _whole(value: Any, what: str) -> int:
    if isinstance(value, bool) or not isinstance(value, int):
        raise ValueError(f"{what}: {short(value)} is not a whole number")
    return value
