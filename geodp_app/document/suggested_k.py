"""Computes how many pieces a drawing needs: the k that a learner is given unless a person sets it.

A polygon of v vertices and h holes is cut into v + 2h - 2 triangles by any triangulation (holes
counted among its vertices), so as many cover it.  Triangles may overlap, and then fewer do: five
cover a star of ten corners that is cut into eight.  A part of few corners is therefore covered
greedily by triangles on lines through two of its corners; to cover it by as few as there are is
NP-hard.  A drawing made freehand or of a coast has far more corners than a private run has steps
to spend: it is smoothed first, and beyond :data:`MOST` a run that can finds by itself how many to
draw, which errs less there (docs/decisions/0016-k-not-told.md).  A run picks two triangles for each
of k, but one for k = 1; so half as many make k, rounded up and at least 2: then it picks as many as
the drawing needs, and hardly any finds nothing (docs/decisions/0036-two-acts.md).  k is published
with a run; it is the drawing's, never the examples'.
"""

from __future__ import annotations

import numpy as np
import shapely
from shapely.geometry.base import BaseGeometry

from geodp_app.drawing.shapes import Drawing
from geometry.arrays import Flags, Floats
from learners.cover.set_cover import Finish, Pieces
from learners.declaration import Learner

#: Most pieces that k is suggested for: each more takes steps of the same budget.
MOST = 12

#: A drawing of more shapes is not united to count its pieces.
_MANY = 256

#: Corners nearer to the smoothed outline than this share of the grid do not count.
_SMOOTH = 0.01

#: Corners of a part that is covered by triangles that may overlap: milliseconds' work.
_FEW_CORNERS = 10
#: How far these triangles may stand over, as a share of the square root of the part's area.
_OVER = 0.01
#: Triangles that are looked at, the largest; places a side that a cover is judged by, and the
#: share of these that may stay open.
_LARGEST, _PLACES, _OPEN = 600, 40, 0.01


def suggested_k(drawing: Drawing, learner: Learner, finish: Finish = "sharpen") -> Pieces | None:
    """The k that suits a drawing.

    `learner`: what is declared of it; its pieces say what k counts.  `finish`: what follows a
    cover: only one that is sharpened can find k by itself.  It is at most :data:`MOST`; None for a
    learner without k and for an empty drawing.
    """
    declared = learner.parameter("k")
    if declared is None or not drawing.shapes:
        return None
    if learner.role == "conjunction":
        region = drawing.figure().convex_hull
        needed = triangles_needed(region.simplify(_SMOOTH * drawing.grid)) + 2
    elif len(drawing.shapes) > _MANY:  # more than MOST by far, and long to unite at every edit
        region, needed = drawing.figure(), _MANY
    else:
        region = drawing.region()
        if learner.curved:
            needed = len(shapely.get_parts(region))
        else:
            parts = shapely.get_parts(region.simplify(_SMOOTH * drawing.grid))
            needed = sum(_overlapping(part) or triangles_needed(part) for part in parts)
    if region.area == 0:
        return None
    if needed > MOST and finish == "sharpen" and declared.accepts("auto"):
        return "auto"
    if learner.piece == "triangle" and needed > 1:  # a run picks two for each of k, but one for 1
        needed = max(2, -(-min(needed, MOST) // 2))
    return min(max(needed, 1), MOST)


def triangles_needed(region: BaseGeometry) -> int:
    """Triangles in a triangulation of a polygonal region, valid and without doubled vertices."""
    parts = [part for part in shapely.get_parts(region) if part.area > 0]
    return sum(
        sum(len(ring.coords) - 1 for ring in (part.exterior, *part.interiors))
        + 2 * len(part.interiors)
        - 2
        for part in parts
    )


def _overlapping(part: BaseGeometry) -> int:
    """Triangles of a greedy cover of a polygon without holes; 0 where none is looked for or none is
    better than a triangulation."""
    if part.area == 0 or part.interiors or len(part.exterior.coords) > _FEW_CORNERS + 1:
        return 0
    box = np.array(part.bounds)
    axes = np.linspace(box[:2], box[2:], _PLACES).T
    places = np.stack(np.meshgrid(*axes), axis=-1).reshape(-1, 2)
    places = places[shapely.intersects_xy(part, *places.T)]
    triangles = _triangles_in(part)
    largest = np.argsort(-shapely.area(shapely.polygons(triangles)), kind="stable")[:_LARGEST]
    held = _holds(triangles[largest], places).astype(np.int64)
    open_places, used = np.ones(len(places), dtype=np.int64), 0
    while open_places.sum() > _OPEN * len(places):
        gained = held @ open_places
        if not len(gained) or not gained.max():
            return 0
        open_places[held[gained.argmax()] > 0] = 0
        used += 1
    return min(used, triangles_needed(part))


def _triangles_in(part: BaseGeometry) -> Floats:
    """Triangles, shape (m, 3, 2), in a polygon or hardly standing over it, with each side on a line
    through two of its corners."""
    corners = shapely.get_coordinates(part)[:-1]
    room = part.buffer(_OVER * np.sqrt(part.area))
    shapely.prepare(room)
    start, end = np.triu_indices(len(corners), 1)
    along = corners[end] - corners[start]
    normal = np.column_stack([-along[:, 1], along[:, 0]]) / np.hypot(*along.T)[:, None]
    offset = (normal * corners[start]).sum(axis=1)
    first, second = np.triu_indices(len(normal), 1)
    (a, b), (c, d) = normal[first].T, normal[second].T
    with np.errstate(divide="ignore", invalid="ignore"):  # of parallel lines
        x = (offset[first] * d - offset[second] * b) / (a * d - b * c)
        y = (a * offset[second] - c * offset[first]) / (a * d - b * c)
    meet = np.isfinite(x) & np.isfinite(y)
    meet[meet] = shapely.intersects_xy(room, x[meet], y[meet])
    first, second, places = first[meet], second[meet], np.column_stack([x, y])[meet]
    at = np.full((len(normal), len(normal)), -1)
    at[first, second] = at[second, first] = np.arange(len(places))
    after = np.arange(len(normal)) > second[:, None]
    pair, third = np.nonzero((at[first] >= 0) & (at[second] >= 0) & after)
    triangles = places[np.stack([pair, at[first[pair], third], at[second[pair], third]], axis=1)]
    shapes = shapely.polygons(triangles)
    inside: Flags = (shapely.area(shapes) > 0) & shapely.covers(room, shapes)
    return np.asarray(triangles[inside])


def _holds(triangles: Floats, places: Floats) -> Flags:
    """Which triangles (m, 3, 2) hold which places (n, 2), shape (m, n)."""
    (x, y), (dx, dy) = (np.moveaxis(each, 2, 0) for each in (
        triangles, np.roll(triangles, -1, axis=1) - triangles
    ))  # fmt: skip
    # of each side the line, as a row of coefficients
    lines = np.stack([-dy, dx, dy * x - dx * y], axis=2).reshape(-1, 3)
    turns = (lines @ np.column_stack([places, np.ones(len(places))]).T).reshape(len(x), 3, -1)
    return np.asarray((turns >= 0).all(axis=1) | (turns <= 0).all(axis=1))
