"""Settles a file's public grid size and bounds: options, else what it states, else a fallback."""

from __future__ import annotations

from typing import Any

from geodp_app.document.examples import DEFAULT_GRID, Frame
from geodp_app.errors import InputError, refusals
from geometry.geojson_reading import short
from geometry.grid import Bounds
from geometry.halfplane import MAX_D

#: What to say of bounds that are the extent of the points.
TIGHT = (
    "the bounds are the extent of the points, and tell where the outermost of them are: take "
    "bounds that are known without the points"
)


def settle_frame(
    name: str,
    member: dict[str, Any],
    grid: int | None,
    bounds: Bounds | None,
    fallback: Frame | None = None,
    *,
    on_grid: bool,
) -> Frame:
    """Grid and bounds from the arguments, the file's member, or the fallback.

    Raises
    ------
    InputError
        If two of them are at odds, or there are no bounds and the examples are not `on_grid`.
    """
    own_grid, own_bounds = member_frame(name, member)
    if own_bounds and bounds and own_bounds != bounds:
        raise InputError(
            f"{name}: its first line says bounds {tuple(own_bounds.to_json())}, --bounds says "
            f"{tuple(bounds.to_json())}"
        )
    if on_grid and own_grid is not None and grid is not None and own_grid != grid:
        raise InputError(f"{name}: its first line says grid {own_grid}, --grid says {grid}")
    spare = fallback or Frame(DEFAULT_GRID)
    frame = Frame(grid or own_grid or spare.d, bounds or own_bounds or spare.bounds)
    if not on_grid and frame.bounds is None:
        raise InputError(
            f"{name}: columns lon,lat need public bounds: give --bounds W,S,E,N "
            "(they are never taken from the data)"
        )
    return frame


def member_frame(name: str, member: dict[str, Any]) -> tuple[int | None, Bounds | None]:
    """Grid size and bounds that a file's frame line states.

    Raises
    ------
    InputError
        If they are unusable.
    """
    grid, box = member.get("grid"), member.get("bounds")
    if grid is not None and not (type(grid) is int and 1 <= grid <= MAX_D):
        raise InputError(
            f"{name}: its first line says grid {short(grid)}; it must be an integer in 1..{MAX_D}, "
            "where counting is exact"
        )
    if box is None:
        return grid, None
    with refusals(f"{name}: bounds in its first line"):
        return grid, Bounds.of_json(box)
