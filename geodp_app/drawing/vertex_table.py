"""The vertices of a drawing as rows, to be read and typed."""

from __future__ import annotations

from geodp_app.drawing.edits import with_vertex
from geodp_app.drawing.shapes import Drawing

__all__ = ["vertex_rows", "with_vertex"]


def vertex_rows(drawing: Drawing) -> list[tuple[int, int, int, int, int]]:
    """All vertices in order.

    Returns
    -------
    list of (shape, ring, index, x, y)
        Indices from 0; ring 0 is the outline.  ``with_vertex(drawing, shape, ring, index, point)``
        changes one.
    """
    return [
        (number, r, i, x, y)
        for number, shape in enumerate(drawing.shapes)
        for r, ring in enumerate(shape.rings)
        for i, (x, y) in enumerate(ring)
    ]
