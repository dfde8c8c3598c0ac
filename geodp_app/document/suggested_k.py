"""How many pieces a drawing needs: the k that a learner is given unless a person sets it.

A polygon of v vertices and h holes is cut into v + 2h - 2 triangles by any triangulation (holes
counted among its vertices), so as many cover it.  A drawing made freehand or of a coast has far
more corners than a private run has steps to spend: it is smoothed first, and beyond :data:`MOST`
a run that can finds by itself how many to draw, which errs less there
(docs/decisions/0016-k-not-told.md).  k is published with a run; it is the drawing's, never the
examples'.
"""

from __future__ import annotations

import shapely
from shapely.geometry.base import BaseGeometry

from geodp_app.drawing.shapes import Drawing
from learners.declaration import Learner
from learners.set_cover import Finish, Pieces

#: Greatest k that is suggested: each more takes two or three more steps of the same budget.
MOST = 12

#: A drawing of more shapes is not united to count its pieces.
_MANY = 256

#: Corners nearer to the smoothed outline than this share of the grid do not count.
_SMOOTH = 0.01


def suggested_k(drawing: Drawing, learner: Learner, finish: Finish = "sharpen") -> Pieces | None:
    """The k that suits a drawing.

    Parameters
    ----------
    drawing : Drawing
    learner : Learner
        What is declared of it; its pieces say what k counts.
    finish : {"sharpen", "none"}
        What follows a cover: only one that is sharpened can find k by itself.

    Returns
    -------
    int, "auto" or None
        1..:data:`MOST`; None for a learner without k and for an empty drawing.
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
        needed = (
            len(shapely.get_parts(region))
            if learner.curved
            else triangles_needed(region.simplify(_SMOOTH * drawing.grid))
        )
    if region.area == 0:
        return None
    if needed > MOST and finish == "sharpen" and declared.accepts("auto"):
        return "auto"
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
