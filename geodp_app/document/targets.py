"""Puts drawings on a grid: from target files, from the bundled examples, from another grid."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import shapely
from shapely.geometry.base import BaseGeometry

from assets import example, example_path
from geodp_app.document.examples import Frame
from geodp_app.document.sampling import place_target
from geodp_app.document.suggested_k import suggested_k
from geodp_app.document.work import Dab, Work
from geodp_app.drawing.shapes import Drawing, Shape
from geometry.arrays import Floats
from geometry.crs import CrsError
from geometry.errors import InputError, refusals
from geometry.geojson import TargetFile, read_geojson
from geometry.globe import on_grid
from geometry.grid import Bounds, GridMap
from geometry.polygons import grid_region, orient_valid

#: Grid size on which the bundled examples were tried.
EXAMPLE_GRID = 1024


@dataclass(frozen=True, slots=True)
class GridChange:
    """What becomes of a drawing and of dabs in another frame.

    They keep their place on the globe, or the square where a frame lies nowhere.
    """

    old: Frame
    new: Frame

    def drawing(self, drawing: Drawing) -> Drawing:
        """The drawing on the new grid, shape by shape; vertices rounded, cut at the edges.  Raises
        InputError if the system of one frame cannot follow that of the other."""
        if drawing.grid == self.new.d and self._stays:
            return drawing
        shapes = [part for shape in drawing.shapes for part in self._shape(shape)]
        return Drawing(self.new.d, tuple(shapes))

    def dabs(self, dabs: tuple[Dab, ...]) -> tuple[Dab, ...]:
        """The dabs whose centres are on the new grid; a disc stays a disc."""
        if self._stays or not dabs:
            return dabs
        old = np.asarray(dabs, dtype=np.float64)
        at = self._points(old[:, :2])
        # a step inwards along each axis tells how much larger all is there
        steps = np.where(old[:, :2] < self.old.d, 1.0, -1.0)
        (ax, ay), (bx, by) = (
            (self._points(old[:, :2] + steps * axis) - at).T for axis in ((1, 0), (0, 1))
        )
        size = np.sqrt(np.abs(ax * by - ay * bx))
        radii = np.maximum(np.rint((old[:, 2] * size).round(9)), np.minimum(old[:, 2], 1))
        centres = np.rint(at)
        inside = ((centres >= 0) & (centres <= self.new.d)).all(axis=1) & np.isfinite(radii)
        discs = np.column_stack([centres, radii])[inside].astype(np.int64).tolist()
        return tuple((x, y, r) for x, y, r in discs)

    @property
    def _stays(self) -> bool:
        return self._maps is None and self.old.d == self.new.d

    @property
    def _maps(self) -> tuple[GridMap, GridMap] | None:
        """Where both grids lie, if it is not the same place."""
        a, b = self.old.bounds, self.new.bounds
        if a is None or b is None or a == b:
            return None
        return GridMap(self.old.d, a), GridMap(self.new.d, b)

    def _points(self, xy: Floats) -> Floats:
        if self._maps is None:
            return xy * (self.new.d / self.old.d)
        old, new = self._maps
        own = old.bounds.rolled(old.to_own(xy))
        return new.own_to_grid_float(new.bounds.of_system(own, old.bounds.crs))

    def _shape(self, shape: Shape) -> tuple[Shape, ...]:
        if self._maps is None:
            moved = shapely.transform(shape.region(), self._points)
        else:
            old, new = self._maps
            with refusals(kind=CrsError):
                own = shapely.transform(shape.region(), old.to_own)
                moved = on_grid(own, old.bounds.crs, new)
        return fit_drawing(moved, self.new.d).shapes


def fit_drawing(region: BaseGeometry, grid: int) -> Drawing:
    """The part of a region, in grid units, that lies on the grid; its vertices rounded."""
    square = shapely.box(0, 0, grid, grid)
    # what lies within is not cut: that takes long where many edges meet
    within = square.covers(shapely.box(*region.bounds))
    return Drawing.of(
        region if within else shapely.intersection(orient_valid(region), square), grid
    )


def place_drawing(
    target: TargetFile, grid: int, bounds: Bounds | None = None
) -> tuple[Drawing, Bounds | None]:
    """A target file's shape as a drawing, and the bounds that put it there.

    Raises InputError if nothing of the shape is left on the grid; GeoJSONError if its polygons
    cannot be placed or united.  `grid`: grid size d.  `bounds`: public bounds in degrees; by
    default the file's own, else, for a shape in degrees, its padded box.
    """
    shape, frame = place_target(target, grid, bounds)
    target.check_crossings()
    drawing = fit_drawing(grid_region(shape), grid)
    if not drawing.shapes:
        where = "" if bounds is None else f" within the bounds {bounds.as_tuple()}"
        raise InputError(f"nothing of the shape is left on a grid of size {grid}{where}")
    return drawing, frame.bounds


def example_work(name: str, base: Work | None = None) -> Work:
    """A bundled example with what shows it best, and the learner's k from its drawing.

    Raises assets.UnknownExampleError if there is no such example.  `name`: one of
    :func:`assets.examples`.  `base`: where the other settings come from.
    """
    base = base or Work()
    target = read_geojson(example_path(name))
    drawing, bounds = place_drawing(target, EXAMPLE_GRID)
    # no example is convex
    convex = base.run.declared.role == "conjunction"
    own = example(name)
    shown = {"finish": own.finish, "epsilon": 1.0, "n_steps": None}
    run = base.run.with_(learner="cover" if convex else None, **shown)
    k_drawn = own.k is None or run.learner != "cover"
    k = suggested_k(drawing, run.declared, run["finish"]) if k_drawn else own.k
    change = GridChange(base.frame, Frame(EXAMPLE_GRID))
    return replace(
        base,
        name=target.name,
        drawing=drawing,
        bounds=bounds,
        sampling=replace(base.sampling, n=own.n, dabs=change.dabs(base.sampling.dabs)),
        run=run if k is None else run.with_(k=k),
        k_drawn=k_drawn,
        examples=None,
        simulated=True,
        within=None,
    )
