"""A drawing is a union of polygons with holes whose vertices are grid points.  Frozen values:
an edit is a pure function that returns another drawing, which shares what it kept.

Frame: grid units, integers 0..d, y up.  A ring is open: its first vertex is not repeated, so
the closing vertex moves as one.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import shapely
from shapely.geometry import GeometryCollection, Polygon
from shapely.geometry.base import BaseGeometry

from geometry.polygons import orient_valid, region_of

#: A grid point (x, y).
Point = tuple[int, int]
#: Three or more grid points; the last is joined to the first.
Ring = tuple[Point, ...]


@dataclass(frozen=True, slots=True)
class Shape:
    """A polygon with holes."""

    outer: Ring
    holes: tuple[Ring, ...] = ()

    @property
    def rings(self) -> tuple[Ring, ...]:
        """The outline, then the holes."""
        return (self.outer, *self.holes)

    def figure(self) -> Polygon:
        """The outline and the holes as they are, which need not be a valid polygon."""
        return Polygon(self.outer, self.holes)

    def region(self) -> BaseGeometry:
        """The polygon without its holes, valid; a ring that crosses itself counts even-odd."""
        return region_of(self.figure())


@dataclass(frozen=True, slots=True)
class Drawing:
    """A target: the union of its shapes on the grid {0..grid}^2."""

    #: d.
    grid: int
    shapes: tuple[Shape, ...] = ()

    def figure(self) -> BaseGeometry:
        """The shapes as they are: what :func:`geometry.polygons.contains_points` judges by."""
        return GeometryCollection([shape.figure() for shape in self.shapes])

    def region(self) -> BaseGeometry:
        """The union of the shapes, valid even where rings cross themselves (even-odd), to be drawn.

        Where edges cross it has rounded corners: it does not say on which side a grid point lies.
        """
        return region_of(self.figure())

    @classmethod
    def of(cls, region: BaseGeometry, grid: int) -> Drawing:
        """The drawing of a polygonal geometry in grid units, its vertices moved to grid points.

        Rings that cross after that are resolved, slivers thinner than a grid step may vanish.
        """
        snapped = shapely.set_precision(orient_valid(region), 1.0)
        parts = [p for p in shapely.get_parts(orient_valid(snapped)) if p.geom_type == "Polygon"]
        return cls(
            grid,
            tuple(
                Shape(_ring(part.exterior), tuple(_ring(hole) for hole in part.interiors))
                for part in parts
                if not part.is_empty
            ),
        )

    def to_dict(self) -> dict[str, Any]:
        """JSON-ready form; :meth:`from_dict` reads it back."""
        shapes = [[[list(p) for p in ring] for ring in shape.rings] for shape in self.shapes]
        return {"grid": self.grid, "shapes": shapes}

    @classmethod
    def from_dict(cls, data: dict[str, Any]) -> Drawing:
        """Read what :meth:`to_dict` wrote; lengths and places are not looked at
        (:func:`geodp_app.document.checks.check_drawing`).  Raises ValueError if a member is missing
        or a number is not whole.
        """
        try:
            grid = _whole(data["grid"])
            shapes = tuple(
                Shape(_read_ring(outer), tuple(map(_read_ring, holes)))
                for outer, *holes in data["shapes"]
            )
        except (KeyError, TypeError) as error:
            raise ValueError(f"not a drawing: {error!r}") from error
        return cls(grid, shapes)


def _ring(ring: BaseGeometry) -> Ring:
    vertices = np.rint(np.asarray(ring.coords)[:-1, :2]).astype(np.int64)
    return tuple((int(x), int(y)) for x, y in vertices)


def _read_ring(vertices: Any) -> Ring:
    return tuple((_whole(x), _whole(y)) for x, y in vertices)


def _whole(value: Any) -> int:
    if isinstance(value, bool) or not isinstance(value, int):
        raise ValueError(f"{value!r} is not a whole number")
    return value


def added(drawing: Drawing, *shapes: Shape) -> Drawing:
    """The drawing with more shapes on top."""
    return replace(drawing, shapes=drawing.shapes + shapes)


def without(drawing: Drawing, parts: Iterable[tuple[int, int]]) -> Drawing:
    """The drawing without some rings.

    `parts`: pairs (shape, ring); ring 0, the outline, takes its shape along.
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
    """The drawing with other vertices for one ring that it has."""
    rings = list(drawing.shapes[shape].rings)
    rings[ring] = vertices
    shapes = list(drawing.shapes)
    shapes[shape] = Shape(rings[0], tuple(rings[1:]))
    return replace(drawing, shapes=tuple(shapes))


def with_vertex(drawing: Drawing, shape: int, ring: int, index: int, point: Point) -> Drawing:
    """The drawing with a vertex moved.

    Raises IndexError if there is no such vertex, ValueError if the point is off the grid.
    """
    vertices = _ring_of(drawing, shape, ring, index)
    _check_point(drawing, point)
    return with_ring(drawing, shape, ring, vertices[:index] + (point,) + vertices[index + 1 :])


def with_inserted(drawing: Drawing, shape: int, ring: int, index: int, point: Point) -> Drawing:
    """The drawing with a vertex more, before the one of this index (or last).

    Raises IndexError if there is no such place, ValueError if the point is off the grid.
    """
    vertices = _ring_of(drawing, shape, ring, index - 1 if index else 0)
    _check_point(drawing, point)
    return with_ring(drawing, shape, ring, vertices[:index] + (point,) + vertices[index:])


def without_vertex(drawing: Drawing, shape: int, ring: int, index: int) -> Drawing:
    """The drawing without a vertex; a ring of three goes with it, an outline with its shape.

    Raises IndexError if there is no such vertex.
    """
    vertices = _ring_of(drawing, shape, ring, index)
    if len(vertices) <= 3:
        return without(drawing, [(shape, ring)])
    return with_ring(drawing, shape, ring, vertices[:index] + vertices[index + 1 :])


def translated(
    drawing: Drawing, parts: Sequence[tuple[int, int]], by: tuple[int, int]
) -> tuple[Drawing, Point]:
    """The drawing with some rings moved, and how far: not beyond the edge of the grid.

    `parts`: pairs (shape, ring); ring 0, the outline, takes its holes along.  `by`: grid
    steps wanted.
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


def _ring_of(drawing: Drawing, shape: int, ring: int, index: int) -> Ring:
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

    Rows are (shape, ring, index, x, y), indices from 0; ring 0 is the outline.
    ``with_vertex(drawing, shape, ring, index, point)`` changes one.
    """
    return [
        (number, r, i, x, y)
        for number, shape in enumerate(drawing.shapes)
        for r, ring in enumerate(shape.rings)
        for i, (x, y) in enumerate(ring)
    ]
