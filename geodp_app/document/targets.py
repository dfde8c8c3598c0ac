"""Putting drawings on a grid: from target files, from the bundled examples, from another grid."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import shapely
from numpy.typing import NDArray
from shapely.geometry.base import BaseGeometry

from assets import example_path
from geodp_app.document.examples import Frame
from geodp_app.document.sampling import Dab, place_target
from geodp_app.document.suggested_k import suggested_k
from geodp_app.document.work import Work
from geodp_app.drawing.shapes import Drawing, Shape
from geodp_app.errors import InputError
from geometry.geojson import TargetFile, read_geojson
from geometry.grid import Bounds
from geometry.polygons import orient_valid

#: Grid size on which the bundled examples were tried.
EXAMPLE_GRID = 1024


@dataclass(frozen=True, slots=True)
class GridChange:
    """The affine map from one grid to another: x' = x * scale[0] + shift[0], likewise y.

    Attributes
    ----------
    grid : int
        Size of the new grid.
    scale, shift : (float, float)
        In grid units.
    """

    grid: int
    scale: tuple[float, float]
    shift: tuple[float, float] = (0.0, 0.0)

    @classmethod
    def between(cls, old: Frame, new: Frame) -> GridChange:
        """The map that keeps the place on the globe, or the square.

        The square is kept where a frame lies nowhere, or the two are in different systems.
        """
        a, b = old.bounds, new.bounds
        if a is None or b is None or a == b or a.crs != b.crs:
            return cls(new.d, (new.d / old.d, new.d / old.d))
        per_lon, per_lat = (new.d / extent for extent in b.size)
        return cls(
            new.d,
            (a.size[0] * per_lon / old.d, a.size[1] * per_lat / old.d),
            ((a.west - b.west) * per_lon, (a.south - b.south) * per_lat),
        )

    def drawing(self, drawing: Drawing) -> Drawing:
        """The drawing on the new grid, shape by shape; vertices rounded, cut at the edges."""
        if drawing.grid == self.grid and self._identity:
            return drawing
        shapes = [part for shape in drawing.shapes for part in self._shape(shape)]
        return Drawing(self.grid, tuple(shapes))

    def dabs(self, dabs: tuple[Dab, ...]) -> tuple[Dab, ...]:
        """The dabs whose centres are on the new grid; a disc stays a disc."""
        if self._identity or not dabs:
            return dabs
        old = np.asarray(dabs, dtype=np.float64)
        centres = np.rint(self._points(old[:, :2]))
        size = float(np.sqrt(self.scale[0] * self.scale[1]))
        radii = np.maximum(np.rint(old[:, 2] * size), np.minimum(old[:, 2], 1))
        inside = ((centres >= 0) & (centres <= self.grid)).all(axis=1)
        discs = np.column_stack([centres, radii])[inside].astype(np.int64).tolist()
        return tuple((x, y, r) for x, y, r in discs)

    @property
    def _identity(self) -> bool:
        return self.scale == (1.0, 1.0) and self.shift == (0.0, 0.0)

    def _points(self, xy: NDArray[np.float64]) -> NDArray[np.float64]:
        moved: NDArray[np.float64] = xy * np.asarray(self.scale) + np.asarray(self.shift)
        return moved

    def _shape(self, shape: Shape) -> tuple[Shape, ...]:
        return fit_drawing(shapely.transform(shape.region(), self._points), self.grid).shapes


def fit_drawing(region: BaseGeometry, grid: int) -> Drawing:
    """The part of a region, in grid units, that lies on the grid; its vertices rounded."""
    square = shapely.box(0, 0, grid, grid)
    return Drawing.of(shapely.intersection(orient_valid(region), square), grid)


def place_drawing(
    target: TargetFile, grid: int, bounds: Bounds | None = None
) -> tuple[Drawing, Bounds | None]:
    """A target file's shape as a drawing, and the bounds that put it there.

    Parameters
    ----------
    target : TargetFile
    grid : int
        Grid size d.
    bounds : Bounds, optional
        Public bounds in degrees; by default the file's own, else, for a shape in degrees, its
        padded box.

    Raises
    ------
    InputError
        If nothing of the shape is left on the grid.
    """
    shape, frame = place_target(target, grid, bounds)
    drawing = fit_drawing(shape, grid)
    if not drawing.shapes:
        where = "" if bounds is None else f" within the bounds {bounds.as_tuple()}"
        raise InputError(f"nothing of the shape is left on a grid of size {grid}{where}")
    return drawing, frame.bounds


def example_work(name: str, base: Work | None = None) -> Work:
    """A bundled example, with the learner's k from its drawing.

    Parameters
    ----------
    name : str
        One of :func:`assets.examples`.
    base : Work, optional
        Where the other settings come from.

    Raises
    ------
    assets.UnknownExampleError
        If there is no such example.
    """
    base = base or Work()
    target = read_geojson(example_path(name))
    drawing, bounds = place_drawing(target, EXAMPLE_GRID)
    # no example is convex
    convex = base.run.declared.role == "conjunction"
    run = replace(base.run, learner="cover" if convex else base.run.learner, n_steps=None)
    k = suggested_k(drawing, run.declared, run.finish)
    change = GridChange.between(base.frame, Frame(EXAMPLE_GRID))
    return replace(
        base,
        name=target.name,
        drawing=drawing,
        bounds=bounds,
        sampling=replace(base.sampling, dabs=change.dabs(base.sampling.dabs)),
        run=run if k is None else replace(run, k=k),
        k_drawn=True,
        examples=None,
        simulated=True,
        within=None,
    )
