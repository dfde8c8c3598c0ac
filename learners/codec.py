"""Releases as JSON: the one place where they are written and read.

Every release says its ``kind`` and the ``version`` of its form, then what a release of that kind
holds, and nothing else (docs/privacy.md, lemma 6).  Reading is strict: what the writer would not
have written, a member too many or too few, a 4.9 or a true where a whole number stands, a
halfplane off its lattice, is a ValueError and never another hypothesis.  Each reader checks what
it takes; then the release is written again and must be what was read, so that no member can be
overlooked.

The steps of a run have the same form in records and sessions (:func:`step_to_dict`).
"""

from __future__ import annotations

import importlib
import math
import re
import reprlib
import sys
from collections.abc import Callable, Iterable
from dataclasses import asdict, fields
from typing import Any, NamedTuple, TypeAlias, get_args

from geometry.edge_zones import EdgeZone, EdgeZones
from geometry.halfplane import HalfplaneLattice, Sheet
from geometry.halfspace3 import Halfspace3, HalfspaceLattice3
from geometry.lift import Conic, ConicLattice
from geometry.outline import Outline
from geometry.polynomials import BallLattice, LiftedRegion, PolynomialLattice
from geometry.tiling import Tile
from learners.accounting import (
    LEAST_DELTA,
    MOST_RATE,
    AccountName,
    Charge,
    ChargeName,
    PrivacySpent,
    Relation,
)
from learners.declaration import Learner, Parameter
from learners.privacy_loss import check_statement
from learners.records import Piece, StepRelease, Tidied, TileStep
from learners.registry import LEARNERS
from learners.releases import (
    ConicRelease,
    CoverRelease,
    LiftedRelease,
    Release,
    SharpenedRelease,
    SpaceRelease,
    TilesRelease,
)
from learners.scores import Role
from learners.support import Support

#: Of polygons, or of a room above this one: a formula, a parity, a choice, experts.
AnyRelease: TypeAlias = Release | Any

#: Of the form that is written.
VERSION = 3

_RUN = re.compile("[0-9a-f]{32}")

Lattice = HalfplaneLattice | ConicLattice

_ODD_VALUE = "not a privacy statement: a member has a value that it cannot have"

_FAULTS = (KeyError, TypeError, AttributeError, IndexError, OverflowError, RecursionError)


class _Form(NamedTuple):
    """How releases of one kind are written and read, without the members that all have."""

    write: Callable[[Any], dict[str, Any]]
    read: Callable[[dict[str, Any], dict[str, Any]], Any]


def release_to_dict(release: AnyRelease) -> dict[str, Any]:
    """A release as a JSON-ready object; :func:`release_from_dict` reads it back.

    Examples
    --------
    >>> from learners import ThresholdLearner
    >>> model = ThresholdLearner(grid=4, seed=0).fit([[0, 1], [3, 1]] * 20, [0, 1] * 20)
    >>> data = release_to_dict(model.release_)
    >>> data["kind"], data["version"], len(data["pieces"])
    ('cover', 3, 1)
    >>> release_from_dict(data) == model.release_
    True
    """
    return {
        "kind": release.kind,
        "version": VERSION,
        "learner": release.learner,
        **_FORMS[release.kind].write(release),
        "parameters": dict(release.parameters),
        "privacy": None if release.privacy is None else privacy_to_dict(release.privacy),
    }


def release_from_dict(data: Any) -> AnyRelease:
    """Read what :func:`release_to_dict` wrote.

    Raises
    ------
    ValueError
        If it is anything else; the message names the member.
    """
    if not isinstance(data, dict):
        raise ValueError(f"a release must be an object, not {_short(data)}")
    try:
        version, kind = _whole(data["version"], "version"), data["kind"]
        if version != VERSION:
            raise ValueError(
                f"its form is of version {version}, and this geodp reads version {VERSION} alone"
            )
        if not isinstance(kind, str) or kind not in _FORMS:
            raise ValueError(f"kind {_short(kind)} is not known")
        learner = _text(data["learner"], "learner")
        parameters = _read_parameters(data["parameters"], learner)
        privacy = None if data["privacy"] is None else privacy_from_dict(data["privacy"])
        if privacy is not None:
            _check_run(parameters, privacy)
        common = {
            "learner": learner,
            "parameters": tuple(parameters.items()),
            "privacy": privacy,
        }
        release: AnyRelease = _FORMS[kind].read(data, common)
        odd = difference(release_to_dict(release), data)
    except _FAULTS as error:
        if isinstance(error, KeyError):
            raise ValueError(
                f"not a learned hypothesis: {_short(error.args[0])} is missing"
            ) from None
        raise ValueError(f"not a learned hypothesis: {error!r}") from error
    if odd is not None:
        raise ValueError(f"{odd}: is missing, unknown or not as geodp writes it")
    return release


def _check_run(parameters: dict[str, Any], privacy: PrivacySpent) -> None:
    """Refuse a statement that no run of these public parameters makes.

    Raises
    ------
    ValueError
        If it is none.
    """
    selections = privacy.charge("selections")
    if "edges" in parameters and privacy.delta != LEAST_DELTA:
        raise ValueError(f"privacy.delta: of a run by tiles it is {LEAST_DELTA:g}")
    steps = parameters.get("steps")
    if steps is not None and (selections is None or selections.times != steps):
        raise ValueError(f"parameters.steps: {steps}, and the charges are of another number")
    if steps is not None and not privacy.delta:
        raise ValueError("privacy.delta: a run in steps has one")
    if privacy.account == "stability":
        _check_votes(parameters, privacy)


def _check_votes(parameters: dict[str, Any], privacy: PrivacySpent) -> None:
    """What the halts cost says their charge; what is left of delta pays for the margin alone."""
    planned = _loaded("learners.stability.sparse_vector.plan_sparse_vector")(
        privacy.epsilon,
        privacy.delta,
        queries=_whole(parameters["queries"], "parameters.queries"),
        halts=_whole(parameters["halts"], "parameters.halts"),
        constants=parameters["constants"],
        neighbours=privacy.neighbours,
    )
    (right,), (votes,) = planned.spent.charges, privacy.charges
    same = right.times == votes.times and math.isclose(right.each, votes.each, rel_tol=1e-7)
    if not same or planned.margin != _whole(parameters["margin"], "parameters.margin"):
        raise ValueError(
            f"its charges and its margin do not compose to (epsilon, delta) = "
            f"({privacy.epsilon:g}, {privacy.delta:g})"
        )
    if (privacy.neighbours == "replace-label") != (parameters["public_points"] == "sample"):
        raise ValueError(
            "privacy.neighbours: labels alone are protected if points are the sample's"
        )


def privacy_to_dict(privacy: PrivacySpent) -> dict[str, Any]:
    """A privacy statement as a JSON-ready object."""
    return {**asdict(privacy), "charges": [asdict(charge) for charge in privacy.charges]}


def privacy_from_dict(data: Any) -> PrivacySpent:
    """Read what :func:`privacy_to_dict` wrote.

    Raises
    ------
    ValueError
        If it is anything else.
    """
    data = _members(data, PrivacySpent)
    if not (
        _amount(data["epsilon"])
        and _amount(data["delta"])
        and data["delta"] < 1
        and data["neighbours"] in get_args(Relation)
        and data["account"] in get_args(AccountName)
        and type(data["private"]) is bool
        and (data["run"] is None or (data["private"] and _RUN.fullmatch(_text(data["run"], "run"))))
        and isinstance(data["charges"], list)
    ):
        raise ValueError(_ODD_VALUE)
    charges = tuple(_read_charge(charge) for charge in data["charges"])
    privacy = PrivacySpent(**{**data, "charges": charges})
    check_statement(privacy)
    return privacy


def _read_charge(data: Any) -> Charge:
    data = _members(data, Charge)
    times = data["times"]
    if not (data["name"] in get_args(ChargeName) and _amount(data["each"])):
        raise ValueError(_ODD_VALUE)
    if type(times) is not int or times < 1:
        raise ValueError(_ODD_VALUE)
    return Charge(**data)


def _members(data: Any, kind: type[PrivacySpent | Charge]) -> dict[str, Any]:
    """The object, if it has the members of that class and no others."""
    names = [field.name for field in fields(kind)]
    if not isinstance(data, dict) or set(data) != set(names):
        # without names of others: a hostile file's may hold anything
        raise ValueError(f"not a privacy statement: its members must be {', '.join(names)}")
    return data


def _amount(value: Any) -> bool:
    return type(value) in (int, float) and 0 <= value <= sys.float_info.max


def step_to_dict(step: StepRelease | TileStep) -> dict[str, Any]:
    """What one step publishes, JSON-ready."""
    if isinstance(step, TileStep):
        if isinstance(step.tile, EdgeZone):
            return {"side": step.tile.zones.side, **_write_tile(step)}
        return _write_tile(step)
    conics = [list(one.parameters) for one in step.piece if isinstance(one, Conic)]
    if conics:
        return {"conics": conics, "threshold": step.threshold}
    regions = [_write_region(one) for one in step.piece if isinstance(one, LiftedRegion)]
    if regions:
        return {"regions": regions, "threshold": step.threshold}
    return {"piece": _write_piece(step.halfplanes), "threshold": step.threshold}


def step_from_dict(data: dict[str, Any], lattice: Lattice) -> StepRelease:
    """Read what :func:`step_to_dict` wrote of a cover's step; other members are not looked at.

    Raises
    ------
    ValueError, KeyError, TypeError
        If it is anything else.
    """
    threshold = data["threshold"]
    if threshold is not None:
        threshold = _whole(threshold, "threshold")
    if isinstance(lattice, ConicLattice):
        (parameters,) = data["conics"]
        return StepRelease((_read_conic(parameters, lattice),), threshold)
    piece = _read_piece(data["piece"], lattice)
    if len(piece) not in (1, 3):
        raise ValueError(f"a piece of {len(piece)} halfplanes; it has one or three")
    return StepRelease(piece, threshold)


def tile_from_dict(data: dict[str, Any], d: int, lattice: HalfplaneLattice) -> TileStep:
    """Read what :func:`step_to_dict` wrote of a tile; other members are not looked at.

    Parameters
    ----------
    data : dict
    d : int
        Grid size.
    lattice : HalfplaneLattice
        Of the tiles' own frames.

    Raises
    ------
    ValueError, KeyError, TypeError
        If it is anything else.
    """
    x0, y0, x1, y1 = (_whole(edge, "box") for edge in data["box"])
    tile = Tile(d, x0, y0, x1, y1)
    if max(tile.x1 - tile.x0, tile.y1 - tile.y0) > lattice.d:
        raise ValueError(f"box: {_short(data['box'])} is larger than side = {lattice.d}")
    return _labelled(tile, data, lattice)


def zone_from_dict(data: dict[str, Any], zones: EdgeZones, number: int) -> TileStep:
    """Read what :func:`step_to_dict` wrote of the zone of that number; else as
    :func:`tile_from_dict`."""
    zone = EdgeZone(zones, number)
    box = [zone.x0, zone.y0, zone.x1, zone.y1]
    if data["box"] != box:
        raise ValueError(f"box: {_short(data['box'])}; its triangles' zone {number + 1} has {box}")
    return _labelled(zone, data, zone.lattice)


def _labelled(tile: Tile | EdgeZone, data: dict[str, Any], lattice: HalfplaneLattice) -> TileStep:
    inside = _whole(data["inside"], "inside")
    piece = _read_piece(data["piece"], lattice)
    if inside not in (0, 1):
        raise ValueError(f"inside: {inside} is neither 0 nor 1")
    if len(piece) > 3:
        raise ValueError(f"a piece of {len(piece)} halfplanes; it has at most three")
    tidied = _read_tidied(data["tidied"], tile.d) if "tidied" in data else None
    count = _whole(data["count"], "count") if "count" in data else None
    return TileStep(tile, piece, bool(inside), tidied, count)


def _check_tidied(steps: tuple[TileStep, ...]) -> tuple[TileStep, ...]:
    if any(step.tidied is not None for step in steps[:-1]):
        raise ValueError("tidied: the last tile alone has it")
    return steps


def _check_counts(steps: tuple[TileStep, ...], privacy: PrivacySpent | None) -> None:
    counted = sum(step.count is not None for step in steps)
    if counted not in (0, len(steps)):
        raise ValueError("count: all tiles have one, or none has")
    if counted and (privacy is None or privacy.charge("tile counts") is None):
        raise ValueError("count: the privacy statement does not say what it cost")


# -- kinds ---------------------------------------------------------------------------------


def _write_cover(release: CoverRelease) -> dict[str, Any]:
    return {"role": release.role, **_write_pieces(release)}


def _write_pieces(release: CoverRelease | SharpenedRelease) -> dict[str, Any]:
    return {
        **_write_lattice(release.lattice),
        "pieces": [_write_piece(piece) for piece in release.pieces],
        "thresholds": list(release.thresholds),
    }


def _read_cover(data: dict[str, Any], common: dict[str, Any]) -> CoverRelease:
    lattice = _read_lattice(data, "grid")
    pieces = tuple(_read_piece(piece, lattice) for piece in data["pieces"])
    if {len(piece) for piece in pieces} not in (set(), {1}, {3}):
        raise ValueError("pieces: each has one halfplane or three, and all have as many")
    thresholds = _read_thresholds(data, len(pieces))
    return CoverRelease(
        **common, lattice=lattice, role=_read_role(data), pieces=pieces, thresholds=thresholds
    )


def _write_tiles(release: TilesRelease) -> dict[str, Any]:
    return {
        **_write_lattice(release.lattice),
        "grid": release.d,
        "side": release.lattice.d,
        "tiles": [_write_tile(step) for step in release.tiles],
        **({} if release.support is None else {"support": _write_support(release.support)}),
    }


def _read_tiles(data: dict[str, Any], common: dict[str, Any]) -> TilesRelease:
    d, lattice = _whole(data["grid"], "grid"), _read_lattice(data, "side")
    tiles = _check_tidied(tuple(tile_from_dict(part, d, lattice) for part in data["tiles"]))
    _check_counts(tiles, common["privacy"])
    support, privacy = None, common["privacy"]
    if "support" in data:
        support = _read_support(data["support"], d, privacy)
    elif privacy is not None and privacy.charge("support counts") is not None:
        raise ValueError("support: is missing, and the privacy statement says what it cost")
    release = TilesRelease(**common, lattice=lattice, tiles=tiles, support=support)
    release.index()  # refuses tiles that overlap or leave a gap
    return release


def _write_sharpened(release: SharpenedRelease) -> dict[str, Any]:
    zones = [_write_tile(step) for step in release.zones]
    return {**_write_pieces(release), "side": release.side, "zones": zones}


def _read_sharpened(data: dict[str, Any], common: dict[str, Any]) -> SharpenedRelease:
    lattice = _read_lattice(data, "grid")
    pieces = tuple(_read_piece(piece, lattice) for piece in data["pieces"])
    if {len(piece) for piece in pieces} != {3}:
        raise ValueError("pieces: each has three halfplanes, and there is at least one")
    thresholds = _read_thresholds(data, len(pieces))
    zones = EdgeZones(pieces, _whole(data["side"], "side"))
    if len(data["zones"]) != len(zones):
        raise ValueError(f"zones: {len(data['zones'])} of them; these pieces have {len(zones)}")
    steps = _check_tidied(
        tuple(zone_from_dict(part, zones, i) for i, part in enumerate(data["zones"]))
    )
    return SharpenedRelease(
        **common,
        lattice=lattice,
        pieces=pieces,
        thresholds=thresholds,
        side=zones.side,
        zones=steps,
    )


def _write_conics(release: ConicRelease) -> dict[str, Any]:
    return {
        "shape": release.lattice.kind,
        "grid": release.lattice.d,
        "bits": release.lattice.bits,
        "conics": [list(conic.parameters) for conic in release.conics],
        "thresholds": list(release.thresholds),
    }


def _read_conics(data: dict[str, Any], common: dict[str, Any]) -> ConicRelease:
    shape = data["shape"]
    if shape not in ("disc", "ellipse"):
        raise ValueError(f"shape: {_short(shape)} is neither 'disc' nor 'ellipse'")
    lattice = ConicLattice(_whole(data["grid"], "grid"), shape, _bits(data))
    pieces = tuple((_read_conic(parameters, lattice),) for parameters in data["conics"])
    thresholds = _read_thresholds(data, len(pieces))
    return ConicRelease(
        **common, lattice=lattice, role="disjunction", pieces=pieces, thresholds=thresholds
    )


def _write_space(release: SpaceRelease) -> dict[str, Any]:
    return {
        "role": release.role,
        "grid": release.lattice.d,
        "reach": release.lattice.reach,
        "levels": release.lattice.levels,
        "halfspaces": [[[*h.normal, h.level] for h in piece] for piece in release.pieces],
        "thresholds": list(release.thresholds),
    }


def _read_space(data: dict[str, Any], common: dict[str, Any]) -> SpaceRelease:
    lattice = HalfspaceLattice3(
        _whole(data["grid"], "grid"),
        _whole(data["reach"], "reach"),
        _whole(data["levels"], "levels"),
    )
    pieces = tuple(
        tuple(_read_halfspace(entries, lattice) for entries in piece)
        for piece in data["halfspaces"]
    )
    if {len(piece) for piece in pieces} not in (set(), {1}, {4}):
        raise ValueError("halfspaces: each piece has one or four, and all have as many")
    thresholds = _read_thresholds(data, len(pieces))
    return SpaceRelease(
        **common, lattice=lattice, role=_read_role(data), pieces=pieces, thresholds=thresholds
    )


#: By the name that files have for them.
_LIFTED: dict[str, type[PolynomialLattice | BallLattice]] = {
    "polynomials": PolynomialLattice,
    "balls": BallLattice,
}


def _write_region(region: LiftedRegion) -> list[int]:
    return [*region.normal, region.level]


def _write_lifted(release: LiftedRelease) -> dict[str, Any]:
    lattice = release.lattice
    return {
        "role": release.role,
        "family": next(name for name, known in _LIFTED.items() if isinstance(lattice, known)),
        "lattice": asdict(lattice),
        "regions": [[_write_region(region) for region in piece] for piece in release.pieces],
        "thresholds": list(release.thresholds),
    }


def _read_lifted(data: dict[str, Any], common: dict[str, Any]) -> LiftedRelease:
    family = data["family"]
    if family not in _LIFTED:
        raise ValueError(f"family: {_short(family)} is not known")
    given, known = data["lattice"], _LIFTED[family]
    if not isinstance(given, dict) or set(given) != {field.name for field in fields(known)}:
        raise ValueError("lattice: a member is missing or unknown")
    lattice = known(**{name: _whole(value, name) for name, value in given.items()})

    def region(entries: Any) -> LiftedRegion:
        *normal, level = (_whole(value, "regions") for value in entries)
        if not lattice.holds(tuple(normal), level):
            raise ValueError(f"regions: {_short(entries)} is not of the stated class")
        return lattice.member(tuple(normal), level)

    pieces = tuple(tuple(region(entries) for entries in piece) for piece in data["regions"])
    if {len(piece) for piece in pieces} not in (set(), {1}):
        raise ValueError("regions: each piece has one")
    thresholds = _read_thresholds(data, len(pieces))
    return LiftedRelease(
        **common, lattice=lattice, role=_read_role(data), pieces=pieces, thresholds=thresholds
    )


def _loaded(path: str) -> Any:
    """A class of a room above this one, loaded when a file holds such a release."""
    module, _, name = path.rpartition(".")
    return getattr(importlib.import_module(module), name)


def _write_formula(release: Any) -> dict[str, Any]:
    return {
        "role": release.role,
        "variables": release.d,
        "literals": [None if a is None else [a.variable, a.negated] for a in release.literals],
        "thresholds": list(release.thresholds),
    }


def _read_formula(data: dict[str, Any], common: dict[str, Any]) -> Any:
    made = _loaded("learners.boolean.literals.Literal")
    d = _whole(data["variables"], "variables")

    def literal(entry: Any) -> Any:
        if entry is None:
            return None
        variable, negated = entry
        if not 0 <= _whole(variable, "literals") < d or type(negated) is not bool:
            raise ValueError(f"literals: {_short(entry)} is no literal of {d} variables")
        return made(variable, negated)

    literals = tuple(literal(entry) for entry in data["literals"])
    thresholds = _read_thresholds(data, len(literals))
    release = _loaded("learners.boolean.formulas.FormulaRelease")
    return release(**common, role=_read_role(data), d=d, literals=literals, thresholds=thresholds)


def _write_parity(release: Any) -> dict[str, Any]:
    return {"d": release.d, "parity": None if release.parity is None else list(release.parity)}


def _read_parity(data: dict[str, Any], common: dict[str, Any]) -> Any:
    d, bits = _whole(data["d"], "d"), data["parity"]
    if bits is not None:
        bits = tuple(_whole(bit, "parity") for bit in bits)
        if len(bits) != d or not set(bits) <= {0, 1}:
            raise ValueError(f"parity: must have {d} bits, each 0 or 1")
    return _loaded("learners.boolean.parity.ParityRelease")(**common, d=d, parity=bits)


def _write_choice(release: Any) -> dict[str, Any]:
    sums = release.noisy_sums
    return {"index": release.index, "noisy_sums": None if sums is None else list(sums)}


def _read_choice(data: dict[str, Any], common: dict[str, Any]) -> Any:
    index, sums = _whole(data["index"], "index"), data["noisy_sums"]
    if sums is not None:
        sums = tuple(_whole(total, "noisy_sums") for total in sums)
    if index < 0 or (sums is not None and index >= len(sums)):
        raise ValueError(f"index: {index} is not in the list of hypotheses")
    release = _loaded("learners.finite.empirical_risk.ErmRelease")
    return release(**common, index=index, noisy_sums=sums)


def _write_experts(release: Any) -> dict[str, Any]:
    return {"chosen": list(release.chosen)}


def _read_experts(data: dict[str, Any], common: dict[str, Any]) -> Any:
    if common["privacy"] is None:
        raise ValueError("privacy: experts have a statement")
    chosen = tuple(_whole(expert, "chosen") for expert in data["chosen"])
    if any(expert < 0 for expert in chosen):
        raise ValueError("chosen: an expert's number is negative")
    return _loaded("learners.finite.experts.ExpertsRelease")(**common, chosen=chosen)


_FORMS: dict[str, _Form] = {
    "cover": _Form(_write_cover, _read_cover),
    "sharpened": _Form(_write_sharpened, _read_sharpened),
    "tiles": _Form(_write_tiles, _read_tiles),
    "conics": _Form(_write_conics, _read_conics),
    "space": _Form(_write_space, _read_space),
    "lifted": _Form(_write_lifted, _read_lifted),
    "formula": _Form(_write_formula, _read_formula),
    "parity": _Form(_write_parity, _read_parity),
    "choice": _Form(_write_choice, _read_choice),
    "experts": _Form(_write_experts, _read_experts),
}


# -- parts ---------------------------------------------------------------------------------


def _write_piece(piece: Piece) -> list[list[Any]]:
    return [[h.sheet.name, h.u, h.v] for h in piece]


def _read_piece(data: Any, lattice: HalfplaneLattice) -> Piece:
    if not isinstance(data, list):
        raise ValueError(f"piece: must be a list of halfplanes, not {_short(data)}")
    return tuple(
        lattice.halfplane(Sheet[_text(sheet, "sheet")], _whole(u, "u"), _whole(v, "v"))
        for sheet, u, v in data
    )


def _write_tile(step: TileStep) -> dict[str, Any]:
    tile = step.tile
    return {
        "box": [tile.x0, tile.y0, tile.x1, tile.y1],
        "inside": int(step.inside),
        "piece": _write_piece(step.piece),
        **({} if step.count is None else {"count": step.count}),
        **({} if step.tidied is None else {"tidied": _write_tidied(step.tidied)}),
    }


def _write_tidied(tidied: Tidied) -> dict[str, Any]:
    """Polygons as lists of rings, corners in the outline's parts of a grid unit."""
    return {
        name: [[[list(corner) for corner in ring] for ring in rings] for rings in outline.polygons]
        for name, outline in (("changed", tidied.changed), ("outline", tidied.outline))
    }


def _read_tidied(data: Any, d: int) -> Tidied:
    if not isinstance(data, dict) or set(data) != {"changed", "outline"}:
        raise ValueError("tidied: must be an object of changed and outline")
    return Tidied(_read_outline(data["changed"], d), _read_outline(data["outline"], d))


def _read_outline(data: Any, d: int) -> Outline:
    outline = Outline(
        d,
        tuple(
            tuple(
                tuple((_whole(x, "tidied"), _whole(y, "tidied")) for x, y in ring) for ring in rings
            )
            for rings in data
        ),
    )
    if not outline.polygon().is_valid:
        raise ValueError("tidied: its rings cross")
    return outline


def _write_support(support: Support) -> dict[str, Any]:
    m, text = support.per_side, "".join("01"[cell] for cell in support.cells)
    rows = [text[start : start + m] for start in range(0, m * m, m)]
    return {"cells": m, "threshold": support.threshold, "rows": rows}


def _read_support(data: Any, d: int, privacy: PrivacySpent | None) -> Support:
    """Rows are texts of digits 0 and 1, the top row first."""
    if privacy is None or privacy.charge("support counts") is None:
        raise ValueError("support: the privacy statement does not say what it cost")
    if not isinstance(data, dict) or not isinstance(data["rows"], list):
        raise ValueError("support: must be an object of cells, threshold and a list of rows")
    rows = [_text(row, "support.rows") for row in data["rows"]]
    if not set("".join(rows)) <= set("01"):
        raise ValueError("support.rows: each is a text of digits 0 and 1")
    cells = tuple(digit == "1" for row in rows for digit in row)
    per_side = _whole(data["cells"], "support.cells")
    if per_side > d + 1:
        raise ValueError(f"support.cells: a grid of size {d} has no {per_side} cells along a side")
    return Support(per_side, _whole(data["threshold"], "support.threshold"), cells)


def _read_conic(parameters: Any, lattice: ConicLattice) -> Conic:
    return lattice.conic(*(_whole(value, "conics") for value in parameters))


def _read_halfspace(entries: Any, lattice: HalfspaceLattice3) -> Halfspace3:
    a, b, c, level = (_whole(value, "halfspaces") for value in entries)
    halfspace = Halfspace3((a, b, c), level)
    if not lattice.holds(halfspace):
        raise ValueError(f"halfspaces: {_short(entries)} is not of the stated class")
    return halfspace


def _write_lattice(lattice: HalfplaneLattice) -> dict[str, Any]:
    return {"grid": lattice.d, "measure": lattice.measure, "bits": lattice.bits}


def _read_lattice(data: dict[str, Any], size: str) -> HalfplaneLattice:
    return HalfplaneLattice(_whole(data[size], size), data["measure"], _bits(data))


def _bits(data: dict[str, Any]) -> int:
    bits = _whole(data["bits"], "bits")
    if bits < 0:  # which would mean the finest
        raise ValueError(f"bits: {bits} is negative")
    return bits


def _read_role(data: dict[str, Any]) -> Role:
    role: Role | Any = data["role"]
    if role not in get_args(Role):
        raise ValueError(f"role: {_short(role)} is not known")
    return role


def _read_thresholds(data: dict[str, Any], pieces: int) -> tuple[int, ...]:
    thresholds = tuple(_whole(b, "thresholds") for b in data["thresholds"])
    if len(thresholds) not in (0, pieces):
        raise ValueError("thresholds and pieces differ in number")
    return thresholds


#: Public numbers of runs that nobody sets: whole ones, those that noise may bring below 0, and
#: others with the greatest that they can be.
_WHOLE_NUMBERS = frozenset(
    {"steps", "blocks", "concepts", "domain", "experts", "hypotheses", "rounds", "runs", "cells",
     "tiles", "edges", "queries", "halts", "kept", "chunks", "bound", "margin"}
)  # fmt: skip
_NOISY_NUMBERS = frozenset({"noisy_count", "noisy_mistakes"})
_NUMBERS = {"choice_rate": MOST_RATE, "wrong_labels": 1.0, "tested": 1.0}
#: Of the noise of votes, which a parity's are not.
_CONSTANTS = ("tight", "printed")


def _read_parameters(data: Any, learner: str) -> dict[str, Any]:
    """Public parameters: plain values, those that are known of their own kind and range."""
    plain = (type(None), bool, int, float, str)
    if not isinstance(data, dict) or not all(isinstance(v, plain) for v in data.values()):
        raise ValueError("parameters: must be an object of plain values")
    own = [each for each in LEARNERS if each.class_name == learner]
    for name, value in data.items():
        # as its own learner declares it, or else any
        known = _declared(own, name) or _declared(LEARNERS, name)
        if name == "constants" and "halts" in data:
            right = value in _CONSTANTS
        elif known:
            right = any(parameter.accepts(value) for parameter in known)
        elif name in _WHOLE_NUMBERS or name in _NOISY_NUMBERS:
            right = type(value) is int and (value >= 0 or name in _NOISY_NUMBERS)
        elif name in _NUMBERS:
            right = _amount(value) and value <= _NUMBERS[name]
        else:
            right = not isinstance(value, float) or math.isfinite(value)
        if not right:
            raise ValueError(f"parameters.{name}: {_short(value)} is not of its kind or range")
    return data


def _declared(learners: Iterable[Learner], name: str) -> list[Parameter]:
    return [found for each in learners if (found := each.parameter(name)) is not None]


def _whole(value: Any, what: str) -> int:
    if type(value) is not int:
        raise ValueError(f"{what}: {_short(value)} is not a whole number")
    return value


def _text(value: Any, what: str) -> str:
    if not isinstance(value, str):
        raise ValueError(f"{what}: {_short(value)} is not a text")
    return value


def difference(written: Any, read: Any, path: str = "") -> str | None:
    """Where two JSON values differ, 1 and 1.0 being different, as a path; None if nowhere."""
    if type(written) is not type(read):
        return path
    if isinstance(written, dict):
        for name in sorted(set(written) | set(read)):
            if name not in written or name not in read:
                # a hostile file's name may hold anything
                return ".".join(filter(None, (path, _short(name))))
            below = difference(written[name], read[name], f"{path}.{name}".lstrip("."))
            if below is not None:
                return below
        return None
    if isinstance(written, list):
        if len(written) != len(read):
            return path
        pairs = zip(written, read, strict=True)
        return next((p for a, b in pairs if (p := difference(a, b, path)) is not None), None)
    return None if written == read else path


def _short(value: Any) -> str:
    """A value for a message: one short line, however large it is."""
    return reprlib.repr(value)
