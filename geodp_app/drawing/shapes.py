"""A drawing is a union of polygons with holes whose vertices are grid points.  Frozen values.

Frame: grid units, integers 0..d, y up.  A ring is open: its first vertex is not repeated, so
the closing vertex moves as one.
"""

from __future__ import annotations

from dataclasses import dataclass
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
    """A target: the union of its shapes on the grid {0..grid}^2.

    Attributes
    ----------
    grid : int
        d.
    shapes : tuple of Shape
    """

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
        (:func:`geodp_app.document.checks.check_drawing`).

        Raises
        ------
        ValueError
            If a member is missing or a number is not whole.
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
