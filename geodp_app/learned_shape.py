"""A learned shape and where it lies: asked, drawn, written and read back from Python."""

from __future__ import annotations

import json
import os
from dataclasses import dataclass, replace
from html import escape
from pathlib import Path
from typing import Any, Self

import numpy as np
import shapely
from numpy.typing import NDArray
from shapely.geometry.base import BaseGeometry

from geodp_app.document.examples import Examples, Frame
from geodp_app.document.mask import Mask, read_mask
from geodp_app.errors import InputError
from geodp_app.files.data_frames import is_data_frame, open_frame
from geodp_app.files.learned_file import learned_text, read_learned, write_learned
from geodp_app.files.points import Told, read_opened
from geodp_app.files.reports import privacy_statement, report
from geometry.geojson_write import placed_shape
from geometry.grid import GridMap
from learners.accounting import PrivacySpent
from learners.privacy_loss import accounting_document
from learners.releases import Release, support_shape

#: Sides of the picture in a notebook, in pixels.
_SIDE = 240


@dataclass(frozen=True, slots=True)
class LearnedShape:
    """What a run released, and where its grid lies: all of it may be published if it is private.

    Attributes
    ----------
    release : Release
        The exact hypothesis, with what was spent.
    frame : Frame
        Grid size and public bounds.
    mask : Mask or None
        Public polygons that the shape is clipped to.
    """

    release: Release
    frame: Frame
    mask: Mask | None = None

    @property
    def privacy(self) -> PrivacySpent | None:
        """What was spent; None for a learner that is not private."""
        return self.release.privacy

    @property
    def statement(self) -> str:
        """The guarantee in one sentence, or that there is none."""
        return privacy_statement(self.release.privacy)

    @property
    def report(self) -> dict[str, Any]:
        """Statement, parameters, account and hypothesis, JSON values only."""
        return report(self.release)

    @property
    def accounting(self) -> dict[str, Any] | None:
        """The charges, for other accountants (:mod:`learners.privacy_loss`)."""
        return None if self.privacy is None else accounting_document(self.privacy)

    @property
    def polygons(self) -> BaseGeometry:
        """The shape: valid, in degrees (lon, lat) where the grid has bounds, else in grid units."""
        return self._in_degrees(self._shape())

    @property
    def support(self) -> BaseGeometry | None:
        """Where there were enough reports to say anything, as `polygons`; None if not released."""
        supported = support_shape(self.release)
        return None if supported is None else self._in_degrees(supported)

    def clip(self, within: str | os.PathLike[str]) -> Self:
        """The same clipped to the polygons of a public map (GeoJSON); costs no epsilon.

        Raises
        ------
        InputError, GeoJSONError
            If the map cannot be read, or nothing of it lies within the bounds.
        """
        clipped = replace(self, mask=read_mask(within))
        clipped._shape()
        return clipped

    def predict(self, points: Any) -> NDArray[np.int64]:
        """Labels 0/1 of points, shape (n,), by exact side tests.

        Parameters
        ----------
        points : array of float, shape (n, 2), or data frame
            Degrees (lon, lat) where the grid has bounds, else grid units; or a data frame with
            such columns, of geopandas in any coordinate reference system.

        Raises
        ------
        InputError
            If a point is no point, or lies outside the bounds.
        """
        examples = self._examples(points)
        labels = self.release.predict(examples.points)
        if self.mask is not None:
            labels = self.mask.keep(labels, examples.points, self.frame)
        return labels

    def _examples(self, points: Any) -> Examples:
        frame = self.frame
        if is_data_frame(points):
            told = Told(grid=frame.d, bounds=frame.bounds, labelled=False)
            return read_opened(open_frame(points), told).examples
        xy = np.asarray(points, dtype=np.float64)
        if xy.ndim != 2 or xy.shape[1] != 2:
            raise InputError(f"points must have shape (n, 2), not {xy.shape}")
        if frame.bounds is not None:
            grid = GridMap(frame.d, frame.bounds).to_grid(xy)
        elif ((xy == np.rint(xy)) & (xy >= 0) & (xy <= frame.d)).all():
            grid = xy.astype(np.int64)
        else:
            raise InputError(f"points must be whole numbers in 0..{frame.d}: there are no bounds")
        return Examples(grid, np.zeros(len(grid), dtype=np.int64), frame)

    def to_geojson(self) -> dict[str, Any]:
        """The FeatureCollection that :meth:`save` writes, with the exact hypothesis."""
        text = learned_text(self.release, self.frame, within=self.mask)
        collection: dict[str, Any] = json.loads(text)
        return collection

    def to_geodataframe(self) -> Any:
        """A GeoDataFrame of the shape, and of support if it was released; needs geopandas.

        It lies in the coordinate reference system of the bounds.

        Raises
        ------
        ImportError
            If geopandas is not installed.
        """
        import geopandas

        shapes = {"learned": self._shape(), "support": support_shape(self.release)}
        rows = {name: shape for name, shape in shapes.items() if shape is not None}
        place, crs = self._place(), None
        if place is not None:
            crs = place.bounds.crs
            rows = {
                name: placed_shape(shape, place.d, place, degrees=False)
                for name, shape in rows.items()
            }
        columns = {"layer": list(rows), "statement": [self.statement] * len(rows)}
        return geopandas.GeoDataFrame(columns, geometry=list(rows.values()), crs=crs)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write it by the name's ending: GeoJSON, .gpkg, .parquet, .fgb or .shp.

        Raises
        ------
        InputError
            If a library is missing.
        OSError
            If it cannot be written; a file that was there is then unchanged.
        """
        write_learned(path, self.release, self.frame, within=self.mask)

    def plot(self, ax: Any = None, **style: Any) -> Any:
        """Draw the shape with matplotlib.

        Parameters
        ----------
        ax : matplotlib axes, optional
            By default new ones.
        **style
            Of the patch: facecolor, edgecolor, alpha and whatever else matplotlib knows.

        Returns
        -------
        matplotlib axes

        Raises
        ------
        ImportError
            If matplotlib is not installed.
        """
        from matplotlib import pyplot
        from matplotlib.patches import PathPatch
        from matplotlib.path import Path as Outline

        if ax is None:
            _, ax = pyplot.subplots()
        shape = self.polygons
        codes: list[int] = []
        corners: list[Any] = []
        for ring in _rings(shape):
            corners += ring.tolist()
            codes += [Outline.MOVETO, *[Outline.LINETO] * (len(ring) - 2), Outline.CLOSEPOLY]
        look = {"facecolor": "#009E7338", "edgecolor": "#009E73", "linewidth": 1.5} | style
        if corners:
            ax.add_patch(PathPatch(Outline(corners, codes), **look))
        (west, south), (east, north) = self._corners()
        ax.set_xlim(west, east)
        ax.set_ylim(south, north)
        bounds = self.frame.bounds
        degrees = bounds is not None
        middle = np.cos(np.radians((south + north) / 2)) if degrees else 1.0
        ax.set_aspect(1 / max(float(middle), 0.05))
        ax.set_xlabel("longitude" if degrees else "x")
        ax.set_ylabel("latitude" if degrees else "y")
        return ax

    def _repr_html_(self) -> str:
        """What a notebook shows: a small picture, the statement, and how it may be used."""
        (west, south), (east, north) = self._corners()
        ratio = 1.0 if self.frame.bounds is None else self.frame.bounds.aspect
        width, height = _SIDE * min(1.0, ratio), _SIDE / max(1.0, ratio)

        def outline(ring: NDArray[np.float64]) -> str:
            x = (ring[:, 0] - west) / (east - west) * width
            y = (north - ring[:, 1]) / (north - south) * height
            return "M" + "L".join(f"{a:.1f} {b:.1f}" for a, b in zip(x, y, strict=True)) + "Z"

        path = "".join(outline(ring) for ring in _rings(self.polygons))
        private = self.privacy is not None and self.privacy.private
        note = "" if private else "<p><b>Not private: do not publish.</b></p>"
        where = f"grid {self.frame.d}"
        if self.frame.bounds is not None:
            where += f", bounds {self.frame.bounds.as_tuple()}"
        return (
            f'<div><svg width="{width:.0f}" height="{height:.0f}" role="img" '
            f'aria-label="the learned shape" style="border:1px solid #999">'
            f'<path d="{path}" fill="#009E73" fill-opacity="0.25" stroke="#009E73" '
            f'fill-rule="evenodd"/></svg><p>{escape(self.release.learner)}, {escape(where)}</p>'
            f"<p>{escape(self.statement)}</p>{note}</div>"
        )

    def _shape(self) -> BaseGeometry:
        shape = self.release.shape()
        return shape if self.mask is None else self.mask.clip(shape, self.frame)

    def _place(self) -> GridMap | None:
        return None if self.frame.bounds is None else GridMap(self.frame.d, self.frame.bounds)

    def _in_degrees(self, shape: BaseGeometry) -> BaseGeometry:
        place = self._place()
        return shape if place is None else placed_shape(shape, place.d, place)

    def _corners(self) -> tuple[tuple[float, float], tuple[float, float]]:
        """The corners of the grid's box, as `polygons`."""
        place, d = self._place(), float(self.frame.d)
        if place is None:
            return (0.0, 0.0), (d, d)
        border = shapely.get_coordinates(shapely.segmentize(shapely.box(0, 0, d, d), d / 8))
        degrees = place.to_lonlat(border)
        if degrees[:, 0].max() > 180 or degrees[:, 0].min() < -180:  # cut there: both sides of it
            return (-180.0, float(degrees[:, 1].min())), (180.0, float(degrees[:, 1].max()))
        low, high = degrees.min(axis=0), degrees.max(axis=0)
        return (float(low[0]), float(low[1])), (float(high[0]), float(high[1]))


def _rings(shape: BaseGeometry) -> list[NDArray[np.float64]]:
    return [
        shapely.get_coordinates(ring)
        for part in shapely.get_parts(shape)
        if not part.is_empty
        for ring in (part.exterior, *part.interiors)
    ]


def load_shape(path: str | os.PathLike[str]) -> LearnedShape:
    """A learned shape from its file: GeoJSON, GeoPackage or GeoParquet.

    Raises
    ------
    InputError
        If it is damaged, or holds no hypothesis.
    GeoJSONError
        If it is no usable GeoJSON.
    """
    learned = read_learned(Path(path))
    if learned.release is None or learned.frame is None:
        raise InputError(f"{path}: polygons alone; a file of geodp holds the exact hypothesis too")
    return LearnedShape(learned.release, learned.frame)
