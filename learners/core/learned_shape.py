"""A learned shape holds what a run released, where its grid lies, and the maps it is clipped to.

It predicts, draws itself and writes itself.  The window draws with Qt in colours of its theme; all
other pictures, SVG or by matplotlib, are made of a :func:`scene`.  All is made from the release,
public bounds and public maps, so it may be published as the release may (docs/privacy.md, lemma 6).
geopandas and matplotlib are loaded when they are asked for.
"""

from __future__ import annotations

import importlib
from collections.abc import Mapping
from dataclasses import dataclass, replace
from html import escape
from typing import Any, NamedTuple, Self

import numpy as np
import shapely
from numpy.typing import ArrayLike
from shapely.geometry.base import BaseGeometry

from geometry.arrays import Ints
from geometry.crs import LONLAT, written_crs
from geometry.geojson_write import each_layer, feature_collection, placed_shape
from geometry.grid import Frame
from geometry.mask import Mask, mask_of
from geometry.polygons import ring_corners
from learners import __version__
from learners.core.accuracy import COUNTS, Check
from learners.core.codec import release_to_dict
from learners.core.examples import check_points
from learners.core.releases import Release, support_shape, support_words
from learners.privacy.accounting import PrivacySpent, noise_scale, privacy_statement
from learners.privacy.privacy_loss import accounting_document

#: Longer side of the picture in a notebook, in pixels.
_SIDE = 260


@dataclass(frozen=True)
class LearnedShape:
    """What a run released, and where it lies; it may be published if its statement says so.

    Attributes
    ----------
    release : Release
        The exact hypothesis, with what was spent.
    frame : Frame
        Grid size and public bounds.
    masks : tuple of Mask
        Public polygons that the shape is clipped to: it lies in all of them.
    """

    release: Release
    frame: Frame
    masks: tuple[Mask, ...] = ()

    def __repr__(self) -> str:
        where = "" if self.frame.bounds is None else f", {self.frame.bounds}"
        about = f"{self.release.learner}, grid 0..{self.frame.d}{where}"
        return f"<LearnedShape by {about}: {self.statement}>"

    @property
    def privacy(self) -> PrivacySpent | None:
        """What was spent; None for a learner that is not private."""
        return self.release.privacy

    @property
    def statement(self) -> str:
        """The guarantee in one sentence, or that there is none; what an example is where that is
        one of a person's rows; how right the shape is, if that was checked; and where it had
        reports, as far as is released."""
        told = self.guarantee, self.accuracy, _sentence(support_words(self.release))
        return " ".join(words for words in told if words)

    @property
    def guarantee(self) -> str:
        """What is promised, and to whom, in one sentence or two."""
        return f"{privacy_statement(self.privacy)} {_sentence(unit_words(self.release))}".rstrip()

    @property
    def check(self) -> Check | None:
        """How right it is, if the run kept examples from its learner to tell."""
        return check_of(self.release)

    @property
    def accounting(self) -> dict[str, Any] | None:
        """The charges, for other accountants (:mod:`learners.privacy.privacy_loss`)."""
        return None if self.privacy is None else accounting_document(self.privacy)

    @property
    def clipped_to(self) -> str | None:
        """The maps that it is clipped to, by name; None for a whole shape."""
        return " and ".join(mask.name for mask in self.masks) or None

    @property
    def polygons(self) -> BaseGeometry:
        """The shape, valid, in the system of the bounds; without bounds in grid units."""
        return self._placed(self.layers()["learned"])

    @property
    def support(self) -> BaseGeometry | None:
        """Where there were enough reports to say anything, as `polygons`; None if not released."""
        support = self.layers().get("support")
        return None if support is None else self._placed(support)

    def clip(self, within: Any, *, layer: str | None = None) -> Self:
        """The same clipped to the polygons of a public map; costs no epsilon.

        Parameters
        ----------
        within : path-like, GeoDataFrame, GeoSeries, or shapely geometry
            A file of any GIS format in any coordinate reference system, or the name of an example
            or of "land"; a geometry in the system of the bounds, or in grid units without any.
        layer : str, optional
            Of a file with several.

        Raises
        ------
        GeoJSONError
            If it is no usable map, or nothing of it lies within the bounds.
        InputError
            If it is something else, or a GIS file that cannot be read.
        OSError
            If it cannot be read.
        """
        mask = mask_of(within, self.frame, layer)
        mask.region(self.frame)
        return replace(self, masks=(*self.masks, mask))

    def predict(self, X: ArrayLike) -> Ints:
        """Labels 0/1 of points, shape (n,), by exact side tests; 0 outside of a map.

        Parameters
        ----------
        X : array or data frame, shape (n, 2), in space (n, 3), or GeoDataFrame
            As a learner with these bounds takes them; without bounds grid points.

        Raises
        ------
        ValueError
            If a point is none, or lies outside the bounds.
        """
        dimensions = getattr(self.release.lattice, "dimensions", 2)
        return self.labels(check_points(X, self.release.d, dimensions, self.frame.bounds))

    def labels(self, points: Ints) -> Ints:
        """As :meth:`predict`, of points of the grid, shape (n, 2)."""
        labels = self.release.predict(points)
        for mask in self.masks:
            labels = mask.keep(labels, points, self.frame)
        return labels

    def layers(self) -> dict[str, BaseGeometry]:
        """What is released, by name, in grid units: "learned", clipped, and maybe "support"."""
        supported, shape = support_shape(self.release), self.release.shape()
        for mask in self.masks:
            shape = mask.clip(shape, self.frame)
        return {"learned": shape} | ({} if supported is None else {"support": supported})

    @property
    def accuracy(self) -> str:
        """The same in two sentences; empty if it was not checked."""
        return "" if self.check is None else self.check.words(clipped=bool(self.masks))

    def fields(self) -> dict[str, str | float]:
        """What every feature of a file says of it, by name: the guarantee in words and in numbers,
        how right it is, what it was clipped to, and where it had reports, as far as these are
        released."""
        privacy, public = self.privacy, ""
        if privacy is not None and privacy.private:
            public = " All that is in this file may be published."
        fields: dict[str, str | float] = {"statement": self.guarantee + public}
        if privacy is not None:
            fields |= {"epsilon": float(privacy.epsilon), "delta": float(privacy.delta)}
            fields |= {"neighbours": privacy.neighbours}
        if self.check is not None:
            low, high = self.check.share()
            fields |= {"accuracy": self.accuracy, "right_low": low, "right_high": high}
        if clipped := self.clipped_to:
            fields["clipped_to"] = clipped
        if support := support_words(self.release):
            if support_shape(self.release) is not None:
                support += "; feature support: where there were enough"
            fields["support"] = support
        return fields

    def member(self) -> dict[str, Any]:
        """What files say of the run, JSON values only; nothing but what may be published."""
        member = {"version": __version__, "release": release_to_dict(self.release)}
        if not self.masks:
            return member
        within = [mask.near(self.frame).to_dict() for mask in self.masks]
        return {**member, "clipped_to": self.clipped_to, "within": within}

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
        ValueError
            If the hypothesis lies in three dimensions.
        """
        layers = self.layers()
        return feature_collection(
            layers.pop("learned"),
            self.frame,
            member=self.member(),
            raw_grid=raw_grid,
            properties={"name": "learned", "label": 1, **self.fields()},
            layers=layers or None,
        )

    def to_geodataframe(self) -> Any:
        """A GeoDataFrame with a row for the shape, and one for support if it was released.

        It lies in the coordinate reference system of the bounds; without bounds it is in grid units
        and has no system.

        Returns
        -------
        geopandas.GeoDataFrame
            Columns layer, geometry, and those of :meth:`fields`.

        Raises
        ------
        ImportError
            If geopandas is not installed: pip install 'geodp[geo]'.
        ValueError
            As :meth:`to_geojson`.
        """
        geopandas, bounds, layers = _extra("geopandas", "geo"), self.frame.bounds, self.layers()
        return geopandas.GeoDataFrame(
            {"layer": [*layers]} | {k: each_layer(k, v, layers) for k, v in self.fields().items()},
            geometry=[self._placed(shape) for shape in layers.values()],
            crs=None if bounds is None else written_crs(bounds.crs),
        )

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
        ValueError
            As :meth:`to_geojson`.
        """
        pyplot, bounds = _extra("matplotlib.pyplot", "plot"), self.frame.bounds
        shown = scene(self.layers(), self.frame.d)
        if ax is None:
            _, ax = pyplot.subplots()
        for drawn in shown:
            ax.add_patch(plot_patch(drawn, self.frame, **({} if drawn.hatched else style)))
        low, high, names = (0.0, 0.0), (float(self.frame.d), float(self.frame.d)), ("x", "y")
        if bounds is not None:
            low, high = bounds.low, bounds.high
            names = ("longitude", "latitude") if bounds.in_degrees else ("easting", "northing")
        ax.set(xlim=(low[0], high[0]), ylim=(low[1], high[1]))
        aspect = 1.0 if bounds is None else bounds.aspect
        ax.set_aspect((high[0] - low[0]) / (high[1] - low[1]) / aspect)
        ax.set(xlabel=names[0], ylabel=names[1])
        return ax

    def _repr_html_(self) -> str:
        """What a notebook shows: a picture, whose it is, and the guarantee."""
        bounds, where = self.frame.bounds, f"grid 0..{self.frame.d}"
        if bounds is not None:
            system = "" if bounds.crs == LONLAT else f" in {bounds.crs[:40]}"
            where += f", bounds {', '.join(f'{v:g}' for v in bounds.as_tuple())}{system}"
        statement = escape(self.statement)
        if self.privacy is None or not self.privacy.private:
            text = f"{statement} Do not publish it as if it were."
            statement = f'<strong style="color:#C44500">{text}</strong>'
        picture = "" if getattr(self.release.lattice, "dimensions", 2) == 3 else self._picture()
        about = f"{escape(self.release.learner)}, {escape(where)}"
        return f"<div>{picture}<div>{about}</div><div>{statement}</div></div>"

    def _picture(self) -> str:
        """An SVG, small whatever the shape is."""
        d, ratio = self.frame.d, 1.0 if self.frame.bounds is None else self.frame.bounds.aspect
        width, height = _SIDE * min(1.0, ratio), _SIDE / max(1.0, ratio)
        shown = scene(self.layers(), d)
        label, hatched = "the learned shape", any(drawn.hatched for drawn in shown)
        if hatched:
            label += "; hatched in grey: too few reports to say anything"
        paths = "".join(svg_path(drawn, d, (0, 0, width, height)) for drawn in shown)
        return (
            f'<svg width="{width:.0f}" height="{height:.0f}" role="img" aria-label="{label}" '
            f'style="border:1px solid #999"><title>{label}</title>{HATCHED if hatched else ""}'
            f"{paths}</svg>"
        )

    def _placed(self, shape: BaseGeometry) -> BaseGeometry:
        return placed_shape(shape, self.frame.d, self.frame.place, degrees=False)


def _sentence(words: str) -> str:
    return f"{words[0].upper()}{words[1:]}." if words else ""


def _extra(module: str, extra: str) -> Any:
    """A library that is no dependency."""
    try:
        return importlib.import_module(module)
    except ImportError as error:
        name = module.partition(".")[0]
        raise ImportError(f"this needs {name}: pip install 'geodp[{extra}]' ({error})") from error


#: Bluish green of Okabe and Ito, and a grey for what rests on too few reports.
_LEARNED, _UNSUPPORTED = "#009E73", "#666666"

#: A definition for SVG documents that hold hatching.
HATCHED = (
    '<defs><pattern id="hatched" width="8" height="8" patternUnits="userSpaceOnUse">'
    f'<path d="M-1 9L9 -1" stroke="{_UNSUPPORTED}"/></pattern></defs>'
)


class Drawn(NamedTuple):
    """Polygons in grid units, their colour #RRGGBB, the opacity of what fills them, 0..1, the width
    of their outline in pixels, and whether hatching fills them."""

    shape: BaseGeometry
    colour: str
    fill: float
    line: float
    hatched: bool = False


def scene(layers: Mapping[str, BaseGeometry], d: int, line: float = 1.5) -> tuple[Drawn, ...]:
    """The shape and, where support was released, the rest of the square of a grid of size d.

    `layers` are those of :class:`LearnedShape`.
    """
    learned = Drawn(layers["learned"], _LEARNED, 0.22, line)
    if "support" not in layers:
        return (learned,)
    rest = shapely.box(0, 0, d, d).difference(layers["support"])
    return learned, Drawn(rest, _UNSUPPORTED, 0.5, 0.0, hatched=True)


def svg_path(drawn: Drawn, d: int, box: tuple[float, float, float, float]) -> str:
    """Polygons as a path of SVG, empty if there are none; details below half a pixel are left out.

    `box` is where the grid's square lies, in pixels: left, top, width, height.
    """
    left, top, width, height = box
    rings = []
    for ring in ring_corners(shapely.simplify(drawn.shape, d / max(width, height) / 2)):
        at = (ring[:-1] * (1, -1) + (0, d)) * (width / d, height / d) + (left, top)
        rings.append("M" + "L".join(f"{x:.1f} {y:.1f}" for x, y in at.tolist()) + "Z")
    if not rings:
        return ""
    fill = "url(#hatched)" if drawn.hatched else drawn.colour
    line = f' stroke="{drawn.colour}" stroke-width="{drawn.line:g}"' if drawn.line else ""
    return (
        f'<path d="{"".join(rings)}" fill="{fill}" fill-opacity="{drawn.fill:g}"{line} '
        'fill-rule="evenodd" stroke-linejoin="round"/>'
    )


def plot_patch(drawn: Drawn, frame: Frame, **style: Any) -> Any:
    """Polygons as a patch of matplotlib, in the system of the bounds or in grid units, in one piece
    across the antimeridian; `style` goes before their own."""
    from matplotlib.patches import PathPatch
    from matplotlib.path import Path

    rings = ring_corners(drawn.shape)
    corners = np.concatenate([np.empty((0, 2)), *rings])
    codes = [[Path.MOVETO, *[Path.LINETO] * (len(ring) - 2), Path.CLOSEPOLY] for ring in rings]
    place = corners if frame.place is None else frame.place.to_own(corners)
    fill = f"{drawn.colour}{round(255 * drawn.fill):02x}"
    look = {"edgecolor": drawn.colour, "linewidth": drawn.line, "facecolor": fill}
    look |= {"facecolor": "none", "hatch": "//"} if drawn.hatched else {}
    return PathPatch(Path(place, np.concatenate(codes) if codes else None), **look | style)


def check_of(release: Release) -> Check | None:
    """How right a release is, by what was kept from its learner; None if nothing was."""
    public, privacy = dict(release.parameters), release.privacy
    charge = None if privacy is None else privacy.charge("check counts")
    if charge is None:
        return None
    counts = {name: public[name] for name in COUNTS}
    return Check(part=public["check"], **counts, scale=noise_scale(charge.each, 1))


def unit_words(release: Release) -> str:
    """What an example is, where it is one of a person's rows; empty if rows are persons."""
    unit, privacy = dict(release.parameters).get("unit"), release.privacy
    if unit is None:
        return ""
    if privacy is None or privacy.rows == 1:
        return f"an example is one row of each {unit}"
    return (
        f"each {unit} counts as {privacy.rows} examples, so many different rows of that one or, "
        "of whoever has fewer, these in turn"
    )
