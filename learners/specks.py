"""Pieces that cut off next to nothing of their tile are left out: the noise explains them.

In a tile that lies inside the shape, or outside, a piece may cut off a corner without examples, and
nothing speaks against it.  Such specks are hardly any error and spoil the picture.  So where less
is cut off than where :data:`EXPECTED` over the rate examples are expected, the tile gets one label.

What is released is a function of the drawn piece and of public numbers: privacy is not touched
(docs/privacy.md, lemma 7).  What was measured: docs/decisions/0025-how-many-tiles.md.
"""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

from geometry.clipping import Vertex
from geometry.polygons import clip_to_box
from geometry.tiling import Tile
from learners.records import TileStep

#: Examples, times the rate, that are expected where a speck may lie.
EXPECTED = 2

#: No more of a tile is taken for a speck, however few examples there are.
_MOST = Fraction(1, 50)


def largest_speck(count: int, rate: float, d: int) -> Fraction:
    """Area in which EXPECTED / rate of about `count` examples on a grid of size d are expected."""
    return Fraction(EXPECTED * d * d) / (Fraction(rate) * max(1, count))


def without_speck(step: TileStep, largest: Fraction) -> TileStep:
    """The step, or one label everywhere where its piece cuts off less than `largest`.

    Parameters
    ----------
    step : TileStep
        Of a tile; a zone stays as it is.
    largest : Fraction
        Area in square grid units.
    """
    tile = step.tile
    if not (isinstance(tile, Tile) and step.piece):
        return step
    left, bottom, right, top = tile.edges
    whole = (right - left) * (top - bottom)
    own = (left - tile.x0, bottom - tile.y0, right - tile.x0, top - tile.y0)
    held = area(clip_to_box(step.piece, *own))
    if min(held, whole - held) >= min(largest, _MOST * whole):
        return step
    return replace(step, piece=(), inside=step.inside == (2 * held > whole))


def area(corners: tuple[Vertex, ...]) -> Fraction:
    """Area of a polygon of exact corners, counterclockwise."""
    places = [(Fraction(x, w), Fraction(y, w)) for x, y, w in corners]
    following = places[1:] + places[:1]
    return sum(
        ((x * v - u * y) / 2 for (x, y), (u, v) in zip(places, following, strict=True)),
        Fraction(0),
    )
