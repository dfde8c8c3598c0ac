"""Writes and reads the parts of releases as JSON: steps, pieces and values.

Reading is as strict as :mod:`learners.core.codec` says.
"""

from __future__ import annotations

import sys
from dataclasses import asdict, fields
from typing import Any, get_args

from geometry.geojson_reading import short
from geometry.halfplane import HalfplaneLattice, Sheet
from geometry.lift import Conic, ConicLattice, LiftedRegion, ListedLattice
from geometry.polygons import Outline
from geometry.tiling import EdgeZone, EdgeZones, Tile
from learners.core.records import Piece, StepRelease, Tidied, TileStep
from learners.core.selection import Role
from learners.privacy.accounting import AccountName, Charge, ChargeName, PrivacySpent, Relation
from learners.privacy.privacy_loss import check_statement
from learners.privacy.randomness import RUN

Lattice = HalfplaneLattice | ConicLattice


_ODD_VALUE = "not a privacy statement: a member has a value that it cannot have"


def privacy_to_dict(privacy: PrivacySpent) -> dict[str, Any]:
    """A privacy statement as a JSON-ready object."""
    written = {**asdict(privacy), "charges": [asdict(charge) for charge in privacy.charges]}
    if privacy.rows == 1:
        del written["rows"]
    return written


def privacy_from_dict(data: Any) -> PrivacySpent:
    """Read what :func:`privacy_to_dict` wrote.

    Raises
    ------
    ValueError
        If it is anything else.
    """
    if isinstance(data, dict):
        data = {"rows": 1, **data}
    data = _members(data, PrivacySpent)
    if not (
        amount(data["epsilon"])
        and amount(data["delta"])
        and data["delta"] < 1
        and data["neighbours"] in get_args(Relation)
        and data["account"] in get_args(AccountName)
        and type(data["private"]) is bool
        and type(data["rows"]) is int
        and (data["run"] is None or (data["private"] and RUN.fullmatch(text(data["run"], "run"))))
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
    known = data["name"] in get_args(ChargeName) and amount(data["each"])
    if not known or type(times) is not int or times < 1:
        raise ValueError(_ODD_VALUE)
    return Charge(**data)


def _members(data: Any, kind: type[PrivacySpent | Charge]) -> dict[str, Any]:
    """The object, if it has the members of that class and no others."""
    names = [field.name for field in fields(kind)]
    if not isinstance(data, dict) or set(data) != set(names):
        # without names of others: a hostile file's may hold anything
        raise ValueError(f"not a privacy statement: its members must be {', '.join(names)}")
    return data


def amount(value: Any) -> bool:
    """Whether a value of JSON is a number that is finite and not negative."""
    return type(value) in (int, float) and 0 <= value <= sys.float_info.max


def step_to_dict(step: StepRelease | TileStep) -> dict[str, Any]:
    """What one step publishes, JSON-ready."""
    if isinstance(step, TileStep):
        if isinstance(step.tile, EdgeZone):
            return {"side": step.tile.zones.side, **write_tile(step)}
        return write_tile(step)
    conics = [list(one.parameters) for one in step.piece if isinstance(one, Conic)]
    if conics:
        return {"conics": conics, "threshold": step.threshold}
    regions = [write_region(one) for one in step.piece if isinstance(one, LiftedRegion)]
    if regions:
        return {"regions": regions, "threshold": step.threshold}
    return {"piece": write_piece(step.halfplanes), "threshold": step.threshold}


def step_from_dict(data: dict[str, Any], lattice: Lattice) -> StepRelease:
    """Read what :func:`step_to_dict` wrote of a cover's step; other members are not looked at.

    Raises
    ------
    ValueError, KeyError, TypeError
        If it is anything else.
    """
    threshold = data["threshold"]
    if threshold is not None:
        threshold = whole(threshold, "threshold")
    if isinstance(lattice, ConicLattice):
        (parameters,) = data["conics"]
        return StepRelease((read_conic(parameters, lattice),), threshold)
    piece = read_piece(data["piece"], lattice)
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
    x0, y0, x1, y1 = (whole(edge, "box") for edge in data["box"])
    tile = Tile(d, x0, y0, x1, y1)
    if max(tile.x1 - tile.x0, tile.y1 - tile.y0) > lattice.d:
        raise ValueError(f"box: {short(data['box'])} is larger than side = {lattice.d}")
    return _labelled(tile, data, lattice)


def zone_from_dict(data: dict[str, Any], zones: EdgeZones, number: int) -> TileStep:
    """Read what :func:`step_to_dict` wrote of the zone of that number; else as
    :func:`tile_from_dict`."""
    zone = EdgeZone(zones, number)
    box = [zone.x0, zone.y0, zone.x1, zone.y1]
    if data["box"] != box:
        raise ValueError(f"box: {short(data['box'])}; its triangles' zone {number + 1} has {box}")
    return _labelled(zone, data, zone.lattice)


def _labelled(tile: Tile | EdgeZone, data: dict[str, Any], lattice: HalfplaneLattice) -> TileStep:
    inside = whole(data["inside"], "inside")
    piece = read_piece(data["piece"], lattice)
    if inside not in (0, 1):
        raise ValueError(f"inside: {inside} is neither 0 nor 1")
    if len(piece) > 3:
        raise ValueError(f"a piece of {len(piece)} halfplanes; it has at most three")
    tidied = _read_tidied(data["tidied"], tile.d) if "tidied" in data else None
    count = whole(data["count"], "count") if "count" in data else None
    return TileStep(tile, piece, bool(inside), tidied, count)


def write_region(region: LiftedRegion) -> list[int]:
    """A lifted region: its normal and its level."""
    return [*region.normal, region.level]


def write_piece(piece: Piece) -> list[list[Any]]:
    """Halfplanes by their sheets and dual points."""
    return [[h.sheet.name, h.u, h.v] for h in piece]


def read_piece(data: Any, lattice: HalfplaneLattice) -> Piece:
    """Read what :func:`write_piece` wrote; a ValueError or KeyError if they are none."""
    if not isinstance(data, list):
        raise ValueError(f"piece: must be a list of halfplanes, not {short(data)}")
    return tuple(
        lattice.halfplane(Sheet[text(sheet, "sheet")], whole(u, "u"), whole(v, "v"))
        for sheet, u, v in data
    )


def write_tile(step: TileStep) -> dict[str, Any]:
    """A tile, or the zone of an edge, as its box and how it is labelled."""
    tile = step.tile
    return {
        "box": [tile.x0, tile.y0, tile.x1, tile.y1],
        "inside": int(step.inside),
        "piece": write_piece(step.piece),
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
    def corners(ring: Any) -> tuple[tuple[int, int], ...]:
        return tuple((whole(x, "tidied"), whole(y, "tidied")) for x, y in ring)

    outline = Outline(d, tuple(tuple(map(corners, rings)) for rings in data))
    if not outline.polygon().is_valid:
        raise ValueError("tidied: its rings cross")
    return outline


def read_conic(parameters: Any, lattice: ConicLattice) -> Conic:
    """A disc or an ellipse of a lattice; a ValueError if it is none."""
    return lattice.conic(*(whole(value, "conics") for value in parameters))


def read_region(entries: Any, lattice: ListedLattice, what: str) -> LiftedRegion:
    """A region of a lattice: its normal and its level; a ValueError if it is none."""
    *normal, level = (whole(value, what) for value in entries)
    if not lattice.holds(tuple(normal), level):
        raise ValueError(f"{what}: {short(entries)} is not of the stated class")
    return lattice.member(tuple(normal), level)


def write_lattice(lattice: HalfplaneLattice) -> dict[str, Any]:
    """What names a lattice of halfplanes."""
    return {"grid": lattice.d, "measure": lattice.measure, "bits": lattice.bits}


def read_lattice(data: dict[str, Any], size: str) -> HalfplaneLattice:
    """Read what :func:`write_lattice` wrote; `size` names the member of its side."""
    return HalfplaneLattice(whole(data[size], size), data["measure"], bits(data))


def bits(data: dict[str, Any]) -> int:
    """The bits of a lattice; a ValueError if they are none."""
    bits = whole(data["bits"], "bits")
    if bits < 0:  # which would mean the finest
        raise ValueError(f"bits: {bits} is negative")
    return bits


def read_role(data: dict[str, Any]) -> Role:
    """Union or intersection; a ValueError if it is neither."""
    role: Role | Any = data["role"]
    if role not in get_args(Role):
        raise ValueError(f"role: {short(role)} is not known")
    return role


def read_thresholds(data: dict[str, Any], pieces: int) -> tuple[int, ...]:
    """Noisy counts, none or one a piece; a ValueError if they are others."""
    thresholds = tuple(whole(b, "thresholds") for b in data["thresholds"])
    if len(thresholds) not in (0, pieces):
        raise ValueError("thresholds and pieces differ in number")
    return thresholds


def whole(value: Any, what: str) -> int:
    """A whole number, and no bool; a ValueError that names it if it is none."""
    if type(value) is not int:
        raise ValueError(f"{what}: {short(value)} is not a whole number")
    return value


def text(value: Any, what: str) -> str:
    """A text; a ValueError that names it if it is none."""
    if not isinstance(value, str):
        raise ValueError(f"{what}: {short(value)} is not a text")
    return value


def difference(written: Any, read: Any, path: str = "") -> str | None:
    """Where two JSON values differ, 1 and 1.0 being different, as a path; None if nowhere."""
    if type(written) is not type(read):
        return path
    if isinstance(written, dict):
        for name in sorted(set(written) | set(read)):
            if name not in written or name not in read:
                # a hostile file's name may hold anything
                return ".".join(filter(None, (path, short(name))))
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
