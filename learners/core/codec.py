"""Writes releases as JSON and reads them: the one place where that is done.

Every release says its ``kind`` and the ``version`` of its form, then what a release of that kind
holds, and nothing else (docs/privacy.md, lemma 6).  Reading is strict: what the writer would not
have written, a member too many or too few, a 4.9 or a true where a whole number stands, a
halfplane off its lattice, is a ValueError and never another hypothesis.  Each reader checks what
it takes; then the release is written again and must be what was read, so that no member can be
overlooked.
Steps have the same form in records and sessions (:mod:`learners.core.codec_parts`).
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import asdict, fields
from pkgutil import resolve_name
from typing import Any, NamedTuple, TypeAlias

from geometry.geojson_reading import short
from geometry.lift import (
    BallLattice,
    ConicLattice,
    HalfspaceLattice3,
    LiftedRegion,
    ListedLattice,
    PolynomialLattice,
)
from geometry.tiling import EdgeZones
from learners.core.accuracy import COUNTS
from learners.core.codec_parts import (
    amount,
    bits,
    difference,
    privacy_from_dict,
    privacy_to_dict,
    read_conic,
    read_lattice,
    read_piece,
    read_region,
    read_role,
    read_thresholds,
    text,
    tile_from_dict,
    whole,
    write_lattice,
    write_piece,
    write_region,
    write_tile,
    zone_from_dict,
)
from learners.core.records import TileStep
from learners.core.releases import (
    ConicRelease,
    CoverRelease,
    LiftedRelease,
    Release,
    SharpenedRelease,
    SpaceRelease,
    TilesRelease,
)
from learners.core.support import Support
from learners.privacy.accounting import APART, LEAST_DELTA, MOST_RATE, PrivacySpent
from learners.registry import LEARNERS, declared

#: Of polygons, or of a room above this one: a formula, a parity, a choice, experts.  Their classes
#: are loaded when a file holds such a release.
AnyRelease: TypeAlias = Release | Any

#: Of the form that is written.
VERSION = 3


_FAULTS = (TypeError, AttributeError, IndexError, OverflowError, RecursionError)


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
        raise ValueError(f"a release must be an object, not {short(data)}")
    try:
        version, kind = whole(data["version"], "version"), data["kind"]
        if version != VERSION:
            raise ValueError(
                f"its form is of version {version}, and this geodp reads version {VERSION} alone"
            )
        if not isinstance(kind, str) or kind not in _FORMS:
            raise ValueError(f"kind {short(kind)} is not known")
        learner = text(data["learner"], "learner")
        parameters = _read_parameters(data["parameters"], learner)
        privacy = None if data["privacy"] is None else privacy_from_dict(data["privacy"])
        if privacy is not None:
            _check_run(learner, parameters, privacy)
        common = {"learner": learner, "parameters": tuple(parameters.items()), "privacy": privacy}
        release: AnyRelease = _FORMS[kind].read(data, common)
        odd = difference(release_to_dict(release), data)
    except KeyError as error:
        raise ValueError(f"not a learned hypothesis: {short(error.args[0])} is missing") from None
    except _FAULTS as error:
        raise ValueError(f"not a learned hypothesis: {error!r}") from error
    if odd is not None:
        raise ValueError(f"{odd}: is missing, unknown or not as geodp writes it")
    return release


def _check_run(learner: str, parameters: dict[str, Any], privacy: PrivacySpent) -> None:
    """Refuse a statement that no run of these public parameters makes.

    Raises
    ------
    ValueError
        If it is none.
    """
    if privacy.rows > 1 and parameters.get("unit") is None:
        raise ValueError("parameters.unit: is missing, and persons have several rows")
    privacy = privacy.of_one
    selections = privacy.charge("selections")
    if "edges" in parameters and privacy.delta != LEAST_DELTA:
        raise ValueError(f"privacy.delta: of a run by tiles it is {LEAST_DELTA:g}")
    if {"check", *COUNTS} & set(parameters) != (
        set() if privacy.charge(APART) is None else {"check", *COUNTS}
    ):
        raise ValueError("parameters.check: its four counts and their charge belong together")
    steps = parameters.get("steps")
    if steps is not None and (selections is None or selections.times != steps):
        raise ValueError(f"parameters.steps: {steps}, and the charges are of another number")
    if steps is not None and not privacy.delta:
        raise ValueError("privacy.delta: a run in steps has one")
    if privacy.account == "stability":  # whose margin no charge tells
        own = next((each for each in LEARNERS if each.class_name == learner), None)
        check = None if own is None else getattr(own.load(), "check_votes", None)
        if check is None:
            raise ValueError(f"learner: {short(learner)} does not ask for votes")
        check(parameters, privacy)


def _check_tidied(steps: tuple[TileStep, ...]) -> tuple[TileStep, ...]:
    if any(step.tidied is not None for step in steps[:-1]):
        raise ValueError("tidied: the last tile alone has it")
    return steps


# -- kinds ---------------------------------------------------------------------------------


def _write_pieces(release: CoverRelease | SharpenedRelease) -> dict[str, Any]:
    return {
        **write_lattice(release.lattice),
        "pieces": [write_piece(piece) for piece in release.pieces],
        "thresholds": list(release.thresholds),
    }


def _read_cover(data: dict[str, Any], common: dict[str, Any]) -> CoverRelease:
    lattice = read_lattice(data, "grid")
    pieces = tuple(read_piece(piece, lattice) for piece in data["pieces"])
    if {len(piece) for piece in pieces} not in (set(), {1}, {3}):
        raise ValueError("pieces: each has one halfplane or three, and all have as many")
    thresholds = read_thresholds(data, len(pieces))
    return CoverRelease(
        **common, lattice=lattice, role=read_role(data), pieces=pieces, thresholds=thresholds
    )


def _write_tiles(release: TilesRelease) -> dict[str, Any]:
    return {
        **write_lattice(release.lattice),
        "grid": release.d,
        "side": release.lattice.d,
        "tiles": [write_tile(step) for step in release.tiles],
        **({} if release.support is None else {"support": _write_support(release.support)}),
    }


def _read_tiles(data: dict[str, Any], common: dict[str, Any]) -> TilesRelease:
    d, lattice = whole(data["grid"], "grid"), read_lattice(data, "side")
    tiles = _check_tidied(tuple(tile_from_dict(part, d, lattice) for part in data["tiles"]))
    support, privacy = None, common["privacy"]
    counted = sum(step.count is not None for step in tiles)
    if counted not in (0, len(tiles)):
        raise ValueError("count: all tiles have one, or none has")
    if counted and (privacy is None or privacy.charge("tile counts") is None):
        raise ValueError("count: the privacy statement does not say what it cost")
    if "support" in data:
        support = _read_support(data["support"], d, privacy)
    elif privacy is not None and privacy.charge("support counts") is not None:
        raise ValueError("support: is missing, and the privacy statement says what it cost")
    release = TilesRelease(**common, lattice=lattice, tiles=tiles, support=support)
    release.index()  # refuses tiles that overlap or leave a gap
    return release


def _read_sharpened(data: dict[str, Any], common: dict[str, Any]) -> SharpenedRelease:
    lattice = read_lattice(data, "grid")
    pieces = tuple(read_piece(piece, lattice) for piece in data["pieces"])
    if {len(piece) for piece in pieces} != {3}:
        raise ValueError("pieces: each has three halfplanes, and there is at least one")
    thresholds = read_thresholds(data, len(pieces))
    zones = EdgeZones(pieces, whole(data["side"], "side"))
    if len(data["zones"]) != len(zones):
        raise ValueError(f"zones: {len(data['zones'])} of them; these pieces have {len(zones)}")
    steps = _check_tidied(
        tuple(zone_from_dict(part, zones, i) for i, part in enumerate(data["zones"]))
    )
    own: dict[str, Any] = {"lattice": lattice, "pieces": pieces, "thresholds": thresholds}
    return SharpenedRelease(**common, **own, side=zones.side, zones=steps)


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
        raise ValueError(f"shape: {short(shape)} is neither 'disc' nor 'ellipse'")
    lattice = ConicLattice(whole(data["grid"], "grid"), shape, bits(data))
    pieces = tuple((read_conic(parameters, lattice),) for parameters in data["conics"])
    thresholds = read_thresholds(data, len(pieces))
    return ConicRelease(
        **common, lattice=lattice, role="disjunction", pieces=pieces, thresholds=thresholds
    )


def _write_space(release: SpaceRelease) -> dict[str, Any]:
    return {
        "role": release.role,
        "grid": release.lattice.d,
        "reach": release.lattice.reach,
        "levels": release.lattice.levels,
        "halfspaces": [[write_region(one) for one in piece] for piece in release.pieces],
        "thresholds": list(release.thresholds),
    }


def _read_space(data: dict[str, Any], common: dict[str, Any]) -> SpaceRelease:
    lattice = HalfspaceLattice3(
        whole(data["grid"], "grid"), whole(data["reach"], "reach"), whole(data["levels"], "levels")
    )
    pieces = _regions(data, "halfspaces", lattice)
    if {len(piece) for piece in pieces} not in (set(), {1}, {4}):
        raise ValueError("halfspaces: each piece has one or four, and all have as many")
    thresholds = read_thresholds(data, len(pieces))
    return SpaceRelease(
        **common, lattice=lattice, role=read_role(data), pieces=pieces, thresholds=thresholds
    )


def _regions(
    data: dict[str, Any], name: str, lattice: ListedLattice
) -> tuple[tuple[LiftedRegion, ...], ...]:
    return tuple(tuple(read_region(one, lattice, name) for one in piece) for piece in data[name])


#: By the name that files have for them.
_LIFTED: dict[str, type[PolynomialLattice | BallLattice]] = {
    "polynomials": PolynomialLattice,
    "balls": BallLattice,
}


def _write_lifted(release: LiftedRelease) -> dict[str, Any]:
    lattice = release.lattice
    return {
        "role": release.role,
        "family": next(name for name, known in _LIFTED.items() if isinstance(lattice, known)),
        "lattice": asdict(lattice),
        "regions": [[write_region(region) for region in piece] for piece in release.pieces],
        "thresholds": list(release.thresholds),
    }


def _read_lifted(data: dict[str, Any], common: dict[str, Any]) -> LiftedRelease:
    family = data["family"]
    if family not in _LIFTED:
        raise ValueError(f"family: {short(family)} is not known")
    given, known = data["lattice"], _LIFTED[family]
    if not isinstance(given, dict) or set(given) != {field.name for field in fields(known)}:
        raise ValueError("lattice: a member is missing or unknown")
    lattice = known(**{name: whole(value, name) for name, value in given.items()})
    pieces = _regions(data, "regions", lattice)
    if {len(piece) for piece in pieces} not in (set(), {1}):
        raise ValueError("regions: each piece has one")
    thresholds = read_thresholds(data, len(pieces))
    return LiftedRelease(
        **common, lattice=lattice, role=read_role(data), pieces=pieces, thresholds=thresholds
    )


def _write_formula(release: Any) -> dict[str, Any]:
    return {
        "role": release.role,
        "variables": release.d,
        "literals": [None if a is None else [a.variable, a.negated] for a in release.literals],
        "thresholds": list(release.thresholds),
    }


def _read_formula(data: dict[str, Any], common: dict[str, Any]) -> Any:
    made = resolve_name("learners.boolean.formulas:Literal")
    d = whole(data["variables"], "variables")

    def literal(entry: Any) -> Any:
        if entry is None:
            return None
        variable, negated = entry
        if not 0 <= whole(variable, "literals") < d or type(negated) is not bool:
            raise ValueError(f"literals: {short(entry)} is no literal of {d} variables")
        return made(variable, negated)

    literals = tuple(literal(entry) for entry in data["literals"])
    thresholds = read_thresholds(data, len(literals))
    release = resolve_name("learners.boolean.formulas:FormulaRelease")
    return release(**common, role=read_role(data), d=d, literals=literals, thresholds=thresholds)


def _read_parity(data: dict[str, Any], common: dict[str, Any]) -> Any:
    d, bits = whole(data["d"], "d"), _numbers(data["parity"], "parity")
    if bits is not None and (len(bits) != d or not set(bits) <= {0, 1}):
        raise ValueError(f"parity: must have {d} bits, each 0 or 1")
    return resolve_name("learners.boolean.parity:ParityRelease")(**common, d=d, parity=bits)


def _read_choice(data: dict[str, Any], common: dict[str, Any]) -> Any:
    index, sums = whole(data["index"], "index"), _numbers(data["noisy_sums"], "noisy_sums")
    if index < 0 or (sums is not None and index >= len(sums)):
        raise ValueError(f"index: {index} is not in the list of hypotheses")
    release = resolve_name("learners.finite.empirical_risk:ErmRelease")
    return release(**common, index=index, noisy_sums=sums)


def _read_experts(data: dict[str, Any], common: dict[str, Any]) -> Any:
    if common["privacy"] is None:
        raise ValueError("privacy: experts have a statement")
    chosen = tuple(whole(expert, "chosen") for expert in data["chosen"])
    if any(expert < 0 for expert in chosen):
        raise ValueError("chosen: an expert's number is negative")
    return resolve_name("learners.finite.experts:ExpertsRelease")(**common, chosen=chosen)


_FORMS: dict[str, _Form] = {
    "cover": _Form(lambda one: {"role": one.role, **_write_pieces(one)}, _read_cover),
    "sharpened": _Form(
        lambda one: {
            **_write_pieces(one), "side": one.side, "zones": [write_tile(z) for z in one.zones],
        }, _read_sharpened,
    ),
    "tiles": _Form(_write_tiles, _read_tiles),
    "conics": _Form(_write_conics, _read_conics),
    "space": _Form(_write_space, _read_space),
    "lifted": _Form(_write_lifted, _read_lifted),
    "formula": _Form(_write_formula, _read_formula),
    "parity": _Form(lambda one: {"d": one.d, "parity": _listed(one.parity)}, _read_parity),
    "choice": _Form(
        lambda one: {"index": one.index, "noisy_sums": _listed(one.noisy_sums)}, _read_choice
    ),
    "experts": _Form(lambda one: {"chosen": list(one.chosen)}, _read_experts),
}  # fmt: skip


def _listed(numbers: tuple[int, ...] | None) -> list[int] | None:
    return None if numbers is None else list(numbers)


def _numbers(values: Any, name: str) -> tuple[int, ...] | None:
    return None if values is None else tuple(whole(value, name) for value in values)


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
    rows = [text(row, "support.rows") for row in data["rows"]]
    if not set("".join(rows)) <= set("01"):
        raise ValueError("support.rows: each is a text of digits 0 and 1")
    cells = tuple(digit == "1" for row in rows for digit in row)
    per_side = whole(data["cells"], "support.cells")
    if per_side > d + 1:
        raise ValueError(f"support.cells: a grid of size {d} has no {per_side} cells along a side")
    return Support(per_side, whole(data["threshold"], "support.threshold"), cells)


#: Public numbers of runs that nobody sets: whole ones, those that noise may bring below 0, and
#: others with the greatest that they can be.
_WHOLE_NUMBERS = frozenset(
    {"steps", "blocks", "concepts", "domain", "experts", "hypotheses", "rounds", "runs", "cells",
     "tiles", "edges", "queries", "halts", "kept", "chunks", "bound", "margin"}
)  # fmt: skip
_NOISY_NUMBERS = frozenset({"noisy_count", "noisy_mistakes", *COUNTS})
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
        known = declared(own, name) or declared(LEARNERS, name)
        if name == "constants" and "halts" in data:
            right = value in _CONSTANTS
        elif known:
            right = any(parameter.accepts(value) for parameter in known)
        elif name in _WHOLE_NUMBERS or name in _NOISY_NUMBERS:
            right = type(value) is int and (value >= 0 or name in _NOISY_NUMBERS)
        elif name in _NUMBERS:
            right = amount(value) and value <= _NUMBERS[name]
        else:
            right = not isinstance(value, float) or math.isfinite(value)
        if not right:
            raise ValueError(f"parameters.{name}: {short(value)} is not of its kind or range")
    return data
