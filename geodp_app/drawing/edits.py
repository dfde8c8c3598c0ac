"""Edits drawings by pure functions: each returns another drawing, which shares what it kept."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace

import shapely
from shapely.geometry import Polygon

from geodp_app.drawing.faults import faults
from geodp_app.drawing.shapes import Drawing, Point, Ring, Shape
from geometry.polygons import orient_valid


def added(drawing: Drawing, *shapes: Shape) -> Drawing:
    """The drawing with more shapes on top."""
    return replace(drawing, shapes=drawing.shapes + shapes)


def without(drawing: Drawing, parts: Iterable[tuple[int, int]]) -> Drawing:
    """The drawing without some rings.

    Parameters
    ----------
    drawing : Drawing
    parts : iterable of (shape, ring)
        Ring 0, the outline, takes its shape along.
    """
    gone = set(parts)
    shapes = []
    for number, shape in enumerate(drawing.shapes):
        if (number, 0) not in gone:
            holes = tuple(
                hole for i, hole in enumerate(shape.holes, start=1) if (number, i) not in gone
            )
            shapes.append(shape if len(holes) == len(shape.holes) else Shape(shape.outer, holes))
    return replace(drawing, shapes=tuple(shapes))


def with_ring(drawing: Drawing, shape: int, ring: int, vertices: Ring) -> Drawing:
    """The drawing with other vertices for one ring.

    Raises
    ------
    IndexError
        If there is no such ring.
    """
    if not (0 <= shape < len(drawing.shapes) and 0 <= ring < len(drawing.shapes[shape].rings)):
        raise IndexError(f"no ring {ring} of shape {shape} in the drawing")
    rings = list(drawing.shapes[shape].rings)
    rings[ring] = vertices
    shapes = list(drawing.shapes)
    shapes[shape] = Shape(rings[0], tuple(rings[1:]))
    return replace(drawing, shapes=tuple(shapes))


def with_vertex(drawing: Drawing, shape: int, ring: int, index: int, point: Point) -> Drawing:
    """The drawing with a vertex moved.

    Raises
    ------
    IndexError
        If there is no such vertex.
    ValueError
        If the point is off the grid.
    """
    vertices = _ring(drawing, shape, ring, index)
    _check_point(drawing, point)
    return with_ring(drawing, shape, ring, vertices[:index] + (point,) + vertices[index + 1 :])


def with_inserted(drawing: Drawing, shape: int, ring: int, index: int, point: Point) -> Drawing:
    """The drawing with a vertex more, before the one of this index (or last).

    Raises
    ------
    IndexError
        If there is no such place.
    ValueError
        If the point is off the grid.
    """
    vertices = _ring(drawing, shape, ring, index - 1 if index else 0)
    _check_point(drawing, point)
    return with_ring(drawing, shape, ring, vertices[:index] + (point,) + vertices[index:])


def without_vertex(drawing: Drawing, shape: int, ring: int, index: int) -> Drawing:
    """The drawing without a vertex; a ring of three goes with it, an outline with its shape.

    Raises
    ------
    IndexError
        If there is no such vertex.
    """
    vertices = _ring(drawing, shape, ring, index)
    if len(vertices) <= 3:
        return without(drawing, [(shape, ring)])
    return with_ring(drawing, shape, ring, vertices[:index] + vertices[index + 1 :])


def translated(
    drawing: Drawing, parts: Sequence[tuple[int, int]], by: tuple[int, int]
) -> tuple[Drawing, Point]:
    """The drawing with some rings moved, and how far: not beyond the edge of the grid.

    Parameters
    ----------
    drawing : Drawing
    parts : sequence of (shape, ring)
        Ring 0, the outline, takes its holes along.
    by : (int, int)
        Grid steps wanted.

    Returns
    -------
    drawing : Drawing
    by : (int, int)
        Grid steps moved.
    """
    whole = {shape for shape, ring in parts if ring == 0}
    moving = {(s, r) for s in whole for r in range(len(drawing.shapes[s].rings))} | set(parts)
    points = [point for s, r in moving for point in drawing.shapes[s].rings[r]]
    if not points:
        return drawing, (0, 0)
    dx = _kept(by[0], [x for x, _ in points], drawing.grid)
    dy = _kept(by[1], [y for _, y in points], drawing.grid)
    if (dx, dy) != (0, 0):
        for s, r in moving:
            ring = tuple((x + dx, y + dy) for x, y in drawing.shapes[s].rings[r])
            drawing = with_ring(drawing, s, r, ring)
    return drawing, (dx, dy)


def cut(drawing: Drawing, ring: Ring) -> Drawing:
    """The drawing less the inside of a ring.

    A shape that surrounds the ring gets it as a hole, vertex by vertex.  From other shapes that it
    overlaps it is subtracted, new corners moved to grid points.  A shape may fall into parts or
    vanish.

    Parameters
    ----------
    drawing : Drawing
    ring : Ring
        Without faults.

    Returns
    -------
    Drawing
        The same object if the ring overlaps no shape.
    """
    tool = Polygon(ring)
    parts: list[tuple[Shape, ...]] = [
        _cut_shape(shape, ring, tool, drawing.grid) for shape in drawing.shapes
    ]
    shapes = tuple(shape for part in parts for shape in part)
    return drawing if shapes == drawing.shapes else replace(drawing, shapes=shapes)


def _cut_shape(shape: Shape, ring: Ring, tool: Polygon, grid: int) -> tuple[Shape, ...]:
    region = orient_valid(Polygon(shape.outer, shape.holes))
    if not shapely.relate_pattern(region, tool, "T********"):  # their interiors do not meet
        return (shape,)
    pierced = Shape(shape.outer, (*shape.holes, ring))
    if not set(faults(Drawing(grid, (pierced,)))) - set(faults(Drawing(grid, (shape,)))):
        return (pierced,)
    return Drawing.of(shapely.difference(region, tool), grid).shapes


def _ring(drawing: Drawing, shape: int, ring: int, index: int) -> Ring:
    """The ring, if it has a vertex of this index."""
    if 0 <= shape < len(drawing.shapes) and 0 <= ring < len(drawing.shapes[shape].rings):
        vertices = drawing.shapes[shape].rings[ring]
        if 0 <= index < len(vertices):
            return vertices
    raise IndexError(f"no vertex {index} of ring {ring} of shape {shape} in the drawing")


def _check_point(drawing: Drawing, point: Point) -> None:
    x, y = point
    if not (0 <= x <= drawing.grid and 0 <= y <= drawing.grid):
        raise ValueError(f"vertex ({x}, {y}) is off the grid 0..{drawing.grid}")


def _kept(step: int, values: Sequence[int], grid: int) -> int:
    """The step, shortened so that no value leaves 0..grid."""
    return max(-min(values), min(grid - max(values), step))


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
