"""Tells from the steps of a run into which tiles it divides the square, those to come included."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable, Sequence

from geodp_app.document.work import RunSettings
from geometry.halfplane import HalfplaneLattice, Measure
from geometry.tiling import EdgeZone, Tile, tile_square
from learners.core.records import StepRecord
from learners.core.selection import PIECE_SIZE
from learners.registry import MOST_TILES
from learners.tiles.agreeing_borders import chessboard


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
