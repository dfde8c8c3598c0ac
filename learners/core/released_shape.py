"""A released hypothesis and where it lies, as people use it: GeoJSON, GeoDataFrame, pictures.

Fitted learners and shapes read from files have these methods alike.  All is made from the release
and public bounds, so it may be published as the release may (docs/privacy.md, lemma 6).  geopandas
and matplotlib are loaded when they are asked for.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from html import escape
from typing import Any

import numpy as np
import shapely
from numpy.typing import NDArray
from shapely.geometry.base import BaseGeometry

from geometry.crs import LONLAT, written_crs
from geometry.geojson_write import feature_collection, placed_shape
from geometry.grid import Bounds, GridMap
from learners.core.codec import release_to_dict
from learners.core.releases import Release, SpaceRelease, support_shape
from learners.privacy.accounting import privacy_statement
from learners.version import __version__

#: Longer side of the picture in a notebook, in pixels.
_SIDE = 260

#: The shape's colour (bluish green of Okabe and Ito), and that of what rests on too few reports.
_LEARNED, _UNSUPPORTED = "#009E73", "#888888"


class ReleasedShape(ABC):
    """What fitted learners and learned shapes show of themselves."""

    @abstractmethod
    def released(self) -> tuple[Release, Bounds | None]:
        """The release, and where its grid lies."""

    def _layers(self) -> dict[str, BaseGeometry]:
        """What is released, by name, in grid units; polygons that are valid."""
        release, _ = self.released()
        supported = support_shape(release)
        return {"learned": release.shape()} | ({} if supported is None else {"support": supported})

    def _member(self) -> dict[str, Any]:
        """What GeoJSON says of the run, beside its frame."""
        return {"version": __version__, "release": release_to_dict(self.released()[0])}

    def to_geojson(self, *, raw_grid: bool = False) -> dict[str, Any]:
        """A FeatureCollection (RFC 7946) in degrees that carries the exact hypothesis.

        Without bounds the grid goes to 0..1 degrees.

        Parameters
        ----------
        raw_grid : bool
            Keep grid units: readers that follow RFC 7946 take them for degrees.

        Returns
        -------
        dict
            JSON values only; released support is a second feature, of the layer "support".

        Raises
        ------
        NotFittedError
            If no run is complete.
        ValueError
            If the hypothesis lies in three dimensions.
        """
        release, bounds = self.released()
        layers = self._layers()
        return feature_collection(
            layers.pop("learned"),
            None if bounds is None else GridMap(release.d, bounds),
            member=self._member(),
            raw_grid=raw_grid,
            d=release.d,
            properties={"name": "learned", "label": 1},
            layers=layers or None,
        )

    def to_geodataframe(self) -> Any:
        """A GeoDataFrame with a row for the shape, and one for support if it was released.

        It lies in the coordinate reference system of the bounds; without bounds it is in grid units
        and has no system.

        Returns
        -------
        geopandas.GeoDataFrame
            Columns layer, statement and geometry.

        Raises
        ------
        ImportError
            If geopandas is not installed: pip install 'geodp[geo]'.
        NotFittedError, ValueError
            As :meth:`to_geojson`.
        """
        release, bounds = self.released()
        geopandas = _extra("geopandas", "geo")
        place = None if bounds is None else GridMap(release.d, bounds)
        layers = {
            name: placed_shape(shape, release.d, place, degrees=False)
            for name, shape in self._layers().items()
        }
        columns = {"layer": list(layers)}
        columns["statement"] = [released_statement(release)] * len(layers)
        crs = None if bounds is None else written_crs(bounds.crs)
        return geopandas.GeoDataFrame(columns, geometry=list(layers.values()), crs=crs)

    def plot(self, ax: Any = None, **style: Any) -> Any:
        """Draw the shape with matplotlib, in the system of the bounds or in grid units.

        Where support was released, the rest of the square is hatched.

        Parameters
        ----------
        ax : matplotlib.axes.Axes, optional
            By default of a new figure.
        **style
            Of the shape's patch: facecolor, edgecolor, linewidth, label, ...

        Returns
        -------
        matplotlib.axes.Axes

        Raises
        ------
        ImportError
            If matplotlib is not installed: pip install 'geodp[plot]'.
        NotFittedError, ValueError
            As :meth:`to_geojson`.
        """
        release, bounds = self.released()
        pyplot = _extra("matplotlib.pyplot", "plot")
        from matplotlib.patches import PathPatch

        layers = self._layers()
        if ax is None:
            _, ax = pyplot.subplots()
        look = {"facecolor": _LEARNED + "40", "edgecolor": _LEARNED, "linewidth": 1.5}
        ax.add_patch(PathPatch(_path(layers["learned"], release.d, bounds), **look | style))
        if "support" in layers:
            rest = _path(_square(release.d).difference(layers["support"]), release.d, bounds)
            hatched = {"edgecolor": _UNSUPPORTED, "linewidth": 0, "hatch": "//"}
            ax.add_patch(PathPatch(rest, facecolor="none", **hatched))
        (left, low), (right, high) = _corners(release.d, bounds)
        ax.set(xlim=(left, right), ylim=(low, high))
        width, height = right - left, high - low
        ax.set_aspect(width / height / (1.0 if bounds is None else bounds.aspect))
        names = ("x", "y")
        if bounds is not None:
            names = ("longitude", "latitude") if bounds.in_degrees else ("easting", "northing")
        ax.set(xlabel=names[0], ylabel=names[1])
        return ax

    def _repr_html_(self) -> str | None:
        """What a notebook shows: a picture, whose it is, and the guarantee."""
        release, bounds = self.released()
        where = f"grid 0..{release.d}"
        if bounds is not None:
            system = "" if bounds.crs == LONLAT else f" in {bounds.crs[:40]}"
            where += f", bounds {', '.join(f'{v:g}' for v in bounds.as_tuple())}{system}"
        statement = escape(released_statement(release))
        if release.privacy is None or not release.privacy.private:
            text = f"{statement} Do not publish it as if it were."
            statement = f'<strong style="color:#C44500">{text}</strong>'
        picture = "" if isinstance(release, SpaceRelease) else self._picture(release, bounds)
        about = f"{escape(release.learner)}, {escape(where)}"
        return f"<div>{picture}<div>{about}</div><div>{statement}</div></div>"

    def _picture(self, release: Release, bounds: Bounds | None) -> str:
        """An SVG, small whatever the shape is: details below half a pixel are left out."""
        ratio = 1.0 if bounds is None else bounds.aspect
        size = np.array([min(1.0, ratio), 1 / max(1.0, ratio)]) * _SIDE

        def outline(shape: BaseGeometry) -> str:
            coarse = shapely.simplify(shape, release.d / _SIDE / 2)
            drawn = []
            for ring in _rings(coarse):
                xy = np.column_stack([ring[:-1, 0], release.d - ring[:-1, 1]]) * size / release.d
                drawn.append("M" + "L".join(f"{x:.1f} {y:.1f}" for x, y in xy) + "Z")
            return "".join(drawn)

        layers = self._layers()
        parts = [
            f'<path d="{outline(layers["learned"])}" fill="{_LEARNED}" fill-opacity="0.25" '
            f'stroke="{_LEARNED}" stroke-width="1.5" fill-rule="evenodd"/>'
        ]
        label = "the learned shape"
        if "support" in layers:
            rest = _square(release.d).difference(layers["support"])
            parts.append(
                f'<path d="{outline(rest)}" fill="{_UNSUPPORTED}" fill-opacity="0.3" '
                'fill-rule="evenodd"/>'
            )
            label += "; grey: too few reports to say anything"
        width, height = size
        return (
            f'<svg width="{width:.0f}" height="{height:.0f}" role="img" aria-label="{label}" '
            f'style="border:1px solid #999"><title>{label}</title>{"".join(parts)}</svg>'
        )


@dataclass(frozen=True)
class PlacedRelease(ReleasedShape):
    """A release and where its grid lies, of a fitted learner."""

    release: Release
    bounds: Bounds | None

    def released(self) -> tuple[Release, Bounds | None]:
        """Both."""
        return self.release, self.bounds


def released_statement(release: Release) -> str:
    """The guarantee of a release, and what an example is where that is one of a person's rows."""
    unit = dict(release.parameters).get("unit")
    text = "" if unit is None else f" An example is one row of each {unit}."
    return privacy_statement(release.privacy) + text


def _extra(module: str, extra: str) -> Any:
    """A library that is no dependency."""
    import importlib

    try:
        return importlib.import_module(module)
    except ImportError as error:
        name = module.partition(".")[0]
        raise ImportError(f"this needs {name}: pip install 'geodp[{extra}]' ({error})") from error


def _square(d: int) -> BaseGeometry:
    return shapely.box(0, 0, d, d)


def _corners(d: int, bounds: Bounds | None) -> tuple[tuple[float, float], tuple[float, float]]:
    return ((0.0, 0.0), (float(d), float(d))) if bounds is None else (bounds.low, bounds.high)


def _rings(shape: BaseGeometry) -> list[NDArray[np.float64]]:
    return [
        shapely.get_coordinates(ring)
        for part in shapely.get_parts(shape)
        if not part.is_empty
        for ring in (part.exterior, *part.interiors)
    ]


def _path(shape: BaseGeometry, d: int, bounds: Bounds | None) -> Any:
    """A shape in grid units as matplotlib's path, in one piece across the antimeridian."""
    from matplotlib.path import Path

    rings = _rings(shape)
    if not rings:
        return Path(np.empty((0, 2)))
    corners = np.concatenate(rings)
    codes = np.concatenate(
        [[Path.MOVETO, *[Path.LINETO] * (len(ring) - 2), Path.CLOSEPOLY] for ring in rings]
    )
    return Path(corners if bounds is None else GridMap(d, bounds).to_own(corners), codes)
