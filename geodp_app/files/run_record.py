"""Keeps a run as it grows and as JSON lines that bring it back exactly.  Private: true counts.

The first line has the settings and the lattice (of a run by tiles, that of the tiles' own
frames), then comes a line a step, the release if the run was finished, and a line for each point
that was asked about later.  Diagnostics are kept as plain :class:`StepDiagnostics`: what a learner
adds of its own is left out, and so is how chunks voted.
"""

from __future__ import annotations

import itertools
import json
import math
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass, fields, replace
from typing import Any

from geodp_app.document.checks import check_run
from geodp_app.document.work import RunSettings
from geodp_app.files.strict_reading import DamagedFileError, damage_in, read_json
from geometry.geojson_reading import short
from geometry.halfplane import Halfplane, HalfplaneLattice, Measure
from geometry.lift import Conic, ConicLattice
from geometry.tiling import EdgeZone, EdgeZones, Tile, chessboard, tile_square
from learners.core.codec import release_from_dict, release_to_dict
from learners.core.codec_parts import (
    bits,
    difference,
    step_from_dict,
    step_to_dict,
    tile_from_dict,
    whole,
    zone_from_dict,
)
from learners.core.records import StepDiagnostics, StepRecord, StepRelease, TileStep
from learners.core.releases import Release, SharpenedRelease, TilesRelease
from learners.core.selection import PIECE_SIZE
from learners.registry import MOST_TILES
from learners.stability.classifiers import QueryDiagnostics
from learners.stability.stable_queries import QueryRelease

Lattice = HalfplaneLattice | ConicLattice

#: Of the first line.
_VERSION = 7

_WARNING = "Private: true counts and errors of a run. Do not publish."
#: JSON has no names for these.
_ODD_FLOATS = {"inf": math.inf, "-inf": -math.inf, "nan": math.nan}


Point = tuple[int, int]


@dataclass(frozen=True, slots=True)
class Question:
    """A public point that a person asked about after a run by votes, and its answer.

    The point and its answer are released; how the chunks voted is not.  Sessions keep the former.
    """

    #: Grid units.
    point: Point
    release: QueryRelease
    #: Private; None where it was not kept.
    diagnostics: QueryDiagnostics | None = None

    @property
    def answer(self) -> str:
        """What is released of it, in two words."""
        value = self.release.value
        return "not answered" if value is None else f"answered {value}"

    @property
    def votes(self) -> str:
        """How the chunks voted (private); empty where it was not kept."""
        known = self.diagnostics
        if known is None:
            return ""
        zeros, ones = known.votes
        return f"{ones} for 1, {zeros} for 0; distance to instability {known.distance}"


@dataclass(frozen=True, slots=True)
class RunRecord:
    """A run, finished or not, without its examples: what a session keeps of it."""

    settings: RunSettings
    #: d.
    grid: int
    #: Steps 1, 2, ... in order.
    records: tuple[StepRecord, ...] = ()
    #: None as long as steps are missing.
    release: Release | None = None
    #: Of a run by votes that is finished; without their diagnostics once read.
    questions: tuple[Question, ...] = ()

    def to_lines(self) -> list[str]:
        """One JSON object a line, without line ends; raises ValueError if pieces are of another
        lattice than the run's."""
        lattice = self._lattice()
        head = {
            "kind": "run",
            "version": _VERSION,
            "warning": _WARNING,
            "settings": self.settings.to_dict(),
            "grid": self.grid,
            "bits": lattice.bits,
        }
        if self.settings.by_tiles:
            head["side"] = lattice.d
        lines: list[dict[str, Any]] = [head, *map(_record_line, self.records)]
        if self.release is not None:
            lines.append({"kind": "release", "release": release_to_dict(self.release)})
            for one in self.questions:
                asked = {"kind": "question", "point": list(one.point)}
                lines.append({**asked, **asdict(one.release)})
        return [json.dumps(line, allow_nan=False) for line in lines]

    @classmethod
    def from_lines(cls, lines: Iterable[str | bytes]) -> RunRecord:
        """Read what :meth:`to_lines` wrote; raises DamagedFileError if a line is missing or wrong;
        the message names it, counted from 1."""
        run: RunRecord | None = None
        lattice: Lattice | None = None
        for number, line in ((i, line) for i, line in enumerate(lines, 1) if line.strip()):
            with damage_in(f"line {number}"):
                data = _object(read_json(line), "a line")
                if run is None or lattice is None:
                    run, lattice = _read_head(data)
                elif run.release is not None:
                    run = replace(run, questions=(*run.questions, _read_question(data, run)))
                elif data.get("kind") == "release":
                    run = replace(run, release=_read_release(data, run, lattice))
                else:
                    run = replace(run, records=(*run.records, _read_record(data, run, lattice)))
        if run is None:
            raise DamagedFileError("has no lines")
        return run

    def _lattice(self) -> Lattice:
        """The one lattice of all pieces; the finest if there are none."""
        steps = [record.release for record in self.records]
        found: set[Lattice] = set()
        for step in steps:
            if self.settings.sharpened and step.tile is not None:
                continue  # a zone has a frame of its own
            found |= {one.lattice for one in step.piece if isinstance(one, Halfplane | Conic)}
        if self.release is not None and isinstance(self.release.lattice, Lattice):
            found.add(self.release.lattice)
        by_tiles = self.settings.by_tiles
        tiles = [step.tile for step in steps if step.tile is not None]
        least = widest(tiles) if by_tiles else self.grid
        lattice = found.pop() if found else _own_lattice(self.settings, least, None)
        fits = least <= lattice.d <= self.grid
        fits &= lattice == _own_lattice(self.settings, lattice.d, lattice.bits)
        last = (None, *self.records)
        expected = [
            by_tiles or zone_follows(self.settings, made, record)
            for made, record in enumerate(last[: len(steps)])
        ]
        if found or not fits or [step.tile is not None for step in steps] != expected:
            raise ValueError("the pieces of a run are of one lattice, that of its settings")
        return lattice


def _own_lattice(settings: RunSettings, side: int, bits: int | None) -> Lattice:
    """The lattice of a run's pieces; the finest one if bits is None."""
    steps = -1 if bits is None else bits
    if settings.curved:
        return ConicLattice(side, "disc" if settings.declared.piece == "disc" else "ellipse", steps)
    return HalfplaneLattice(side, settings.piece_measure, steps)


def _record_line(record: StepRecord) -> dict[str, Any]:
    diagnostics = {
        field.name: _plain(getattr(record.diagnostics, field.name), field.type)
        for field in fields(StepDiagnostics)
    }
    return {
        "kind": "step",
        "step": record.step,
        "steps": record.steps,
        **step_to_dict(record.release),
        "diagnostics": diagnostics,
    }


def _plain(value: Any, kind: Any) -> Any:
    """A JSON value: a NumPy scalar as a plain number, a float that is not finite by its name."""
    if kind == "int":
        return int(value)
    value = float(value)
    return value if math.isfinite(value) else str(value)


def _read_head(data: dict[str, Any]) -> tuple[RunRecord, Lattice]:
    if data.get("kind") != "run":
        raise ValueError("is not the beginning of a run")
    names = {"kind", "version", "warning", "settings", "grid", "bits"}
    if data["version"] != _VERSION:
        raise ValueError(
            f"is of version {short(data['version'])}, and this geodp reads version {_VERSION} alone"
        )
    odd = sorted(names - set(data)) or sorted(set(data) - names - {"side"})
    if odd:
        raise KeyError(odd[0])
    settings = RunSettings.from_dict(data["settings"])
    check_run(settings)
    grid = whole(data["grid"], "grid")
    side = whole(data["side"], "side") if settings.by_tiles else grid
    steps = bits(data)
    if side > grid:
        raise ValueError(f"side: {side} is larger than the grid's {grid}")
    return RunRecord(settings, grid), _own_lattice(settings, side, steps)


def _read_record(data: dict[str, Any], run: RunRecord, lattice: Lattice) -> StepRecord:
    if data.get("kind") != "step":
        raise ValueError(f"is of the unknown kind {short(data.get('kind'))}")
    before = run.records
    step, steps = whole(data["step"], "step"), whole(data["steps"], "steps")
    if step != len(before) + 1 or steps < step:
        raise ValueError(f"is step {step} of {steps} in place of step {len(before) + 1}")
    release: StepRelease | TileStep
    if zone_follows(run.settings, len(before), before[-1] if before else None):
        made = [each.release for each in before if each.release.tile is None]
        pieces, count = tuple(each.halfplanes for each in made), len(made)
        zones = EdgeZones(pieces, whole(data["side"], "side"))
        release = zone_from_dict(data, zones, step - 1 - count)
    elif run.settings.by_tiles:
        assert isinstance(lattice, HalfplaneLattice)  # of a run over halfplanes
        release = tile_from_dict(data, run.grid, lattice)
    else:
        release = step_from_dict(data, lattice)
    if release.tidied is not None and step != steps:
        raise ValueError("tidied: the last step alone has it")
    known = _object(data["diagnostics"], "diagnostics")
    diagnostics = {each.name: _number(known[each.name], each) for each in fields(StepDiagnostics)}
    record = StepRecord(step, steps, release, StepDiagnostics(**diagnostics))
    odd = difference(_record_line(record), data)
    if odd is not None:
        raise ValueError(f"{odd}: is missing, unknown or not as geodp writes it")
    return record


def _number(value: Any, field: Any) -> Any:
    if field.type == "int":
        return whole(value, field.name)
    if isinstance(value, str) and value in _ODD_FLOATS:
        return _ODD_FLOATS[value]
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise ValueError(f"{field.name}: {short(value)} is not a number")
    return float(value)


def _read_release(data: dict[str, Any], run: RunRecord, lattice: Lattice) -> Release:
    release = release_from_dict(data["release"])
    if not isinstance(release, Release) or set(data) != {"kind", "release"}:
        raise ValueError("the release is of another kind than the run")
    kinds = (TilesRelease, run.settings.by_tiles), (SharpenedRelease, run.settings.sharpened)
    if any(isinstance(release, kind) != so for kind, so in kinds) or release.d != run.grid:
        raise ValueError("the release is of another kind than the run")
    if release.lattice != lattice:
        raise ValueError("the release is of another lattice than the run")
    asked = run.settings.parameters().get("support") is not None
    if isinstance(release, TilesRelease) and (release.support is not None) != asked:
        raise ValueError("the release has support where none was asked for, or the reverse")
    if release.steps != tuple(record.release for record in run.records):
        raise ValueError("the release has other pieces than the steps")
    return release


def _read_question(data: dict[str, Any], run: RunRecord) -> Question:
    """Read the line of a question; raises ValueError or KeyError or TypeError if it is not, or does
    not follow the run's questions."""
    if data.get("kind") != "question" or "votes" not in run.settings.declared.shows:
        raise ValueError("comes after the release")
    values = {name: value for name, value in data.items() if name not in ("kind", "point")}
    release = QueryRelease(**values)
    x, y = data["point"]
    question = Question((x, y), release)
    counts = (x, y, release.query, release.halts_left, release.queries_left)
    if any(isinstance(n, bool) or not isinstance(n, int) or n < 0 for n in counts):
        raise ValueError("a question's numbers are whole and not negative")
    if max(x, y) > run.grid:
        raise ValueError(f"the point ({x}, {y}) is off the grid 0..{run.grid}")
    if (release.value, release.status) not in (
        (0, "answered"), (1, "answered"), (None, "unstable"),
    ) or isinstance(release.value, bool):  # fmt: skip
        raise ValueError("a question is answered 0 or 1, or not at all")
    if run.questions:
        last = run.questions[-1].release
        halts = last.halts_left - (release.status == "unstable")
        follows = (last.query + 1, halts, last.queries_left - 1)
        state = (release.query, release.halts_left, release.queries_left)
        if state != follows or last.halts_left == 0:
            raise ValueError("a question does not follow the one before it")
    return question


def _object(value: Any, what: str) -> dict[str, Any]:
    if not isinstance(value, dict):
        raise ValueError(f"{what} must be an object, not {short(value)}")
    return value


def widest(tiles: Iterable[Tile | EdgeZone]) -> int:
    """Side of the largest tile, at least 1: no frame of its own is smaller."""
    return max((max(tile.x1 - tile.x0, tile.y1 - tile.y0) for tile in tiles), default=1) or 1


def zone_follows(settings: RunSettings, made: int, last: StepRecord | None) -> bool:
    """Whether the step after the `made` ones, of which it was the last, draws a zone's edge."""
    if last is None or not settings.sharpened:
        return False
    if made >= settings.cover_steps or settings["k"] != "auto":
        return made >= settings.cover_steps
    # a triangle's record counts a zone for each edge beside the triangles
    whole = made * (1 + PIECE_SIZE["triangle"])
    return last.release.tile is not None or last.steps == whole


def all_tiles(records: Sequence[StepRecord]) -> tuple[Tile | EdgeZone, ...]:
    """The tiles of the whole run, in order: those learned and, once there is one, those to come.

    Of a sharpened cover, the zones of its edges.
    """
    tiles = tuple(r.release.tile for r in records if r.release.tile is not None)
    if not tiles:
        return ()
    if (zone := records[-1].release.zone) is not None:
        return zone.zones.all()
    d, per_side = tiles[0].d, math.isqrt(records[0].steps)
    if not 1 <= per_side <= min(MOST_TILES, d + 1):
        return tiles
    whole = tuple(itertools.chain(*chessboard(tile_square(d, per_side))))
    return whole if whole[: len(tiles)] == tiles else tiles


def own_lattice(records: Sequence[StepRecord], measure: Measure) -> HalfplaneLattice:
    """The lattice of the tiles' own frames; of a cover's steps, the grid's."""
    for record in records:
        for halfplane in record.release.halfplanes:
            return halfplane.lattice
    return HalfplaneLattice(widest(all_tiles(records)), measure)
