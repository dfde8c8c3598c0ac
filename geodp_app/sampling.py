"""Simulated examples of a known target: points on the grid, labels from the target.

This is a simulation for demonstrations and benchmarks, not a release: it uses a plain seeded
generator, and its output is to be treated as private data.
"""

from __future__ import annotations

import math
from typing import Literal, get_args

import numpy as np
from numpy.typing import NDArray
from shapely.geometry import Polygon
from shapely.geometry.base import BaseGeometry

from geodp_app.examples_csv import Examples, Frame
from geometry.geojson import TargetFile
from geometry.grid import Bounds
from geometry.polygons import contains_points

Distribution = Literal["uniform", "clustered", "gaussian"]
DISTRIBUTIONS: tuple[Distribution, ...] = get_args(Distribution)

#: Share of the examples in the cluster, its spread as a share of d, and where it sits on the
#: first outline, as a share of its length.
CLUSTER_SHARE, CLUSTER_SPREAD, CLUSTER_PLACE = 0.8, 0.083, 0.37


def open_generator(seed: int | None = None) -> np.random.Generator:
    """The generator of simulated samples; without a seed it differs each time."""
    return np.random.default_rng(seed)


def draw_points(
    target: BaseGeometry,
    n: int,
    d: int,
    distribution: Distribution,
    rng: np.random.Generator,
) -> NDArray[np.int64]:
    """Independent grid points from a public distribution.

    Parameters
    ----------
    target : shapely geometry
        In grid units; it places the cluster and the Gaussian, and nothing else.
    n : int
        Number of points.
    d : int
        Grid size.
    distribution : {"uniform", "clustered", "gaussian"}
        ``uniform``: over {0..d}^2.  ``clustered``: with probability 0.8 Gaussian (sigma =
        0.083 d) around the point at 37 % of the first outline's length, else uniform.
        ``gaussian``: around the target's centroid, wide enough that a disc of the target's
        area gets half of the points.  Gaussian points are rounded, then clipped to the grid.
    rng : numpy.random.Generator

    Returns
    -------
    ndarray of int64, shape (n, 2)

    Raises
    ------
    ValueError
        If the target is empty and the distribution needs it, or the distribution is unknown.
    """
    uniform = rng.integers(0, d + 1, size=(n, 2), dtype=np.int64)
    if distribution == "uniform":
        return uniform
    if target.is_empty:
        raise ValueError(f"an empty target cannot place a {distribution} sample")
    if distribution == "clustered":
        centre, spread = _outline_point(target), CLUSTER_SPREAD * d
        chosen = rng.random(n) < CLUSTER_SHARE
    elif distribution == "gaussian":
        centroid = target.centroid
        centre = (centroid.x, centroid.y)
        # a disc of radius r holds half of a Gaussian with sigma = r / sqrt(2 ln 2)
        spread = math.sqrt(target.area / math.pi / (2 * math.log(2)))
        chosen = np.ones(n, dtype=np.bool_)
    else:
        raise ValueError(f"unknown distribution {distribution!r}: use one of {DISTRIBUTIONS}")
    cloud = np.rint(rng.normal(centre, spread, size=(n, 2))).clip(0, d).astype(np.int64)
    return np.where(chosen[:, None], cloud, uniform)


def draw_examples(
    target: BaseGeometry,
    n: int,
    frame: Frame,
    *,
    distribution: Distribution = "uniform",
    noise: float = 0.0,
    rng: np.random.Generator,
) -> Examples:
    """Points labelled by the target; its boundary belongs to it.

    Parameters
    ----------
    target : shapely geometry
        In grid units of the frame.
    n : int
    frame : Frame
    distribution : {"uniform", "clustered", "gaussian"}
    noise : float
        Probability, in 0..1, that a label is flipped.
    rng : numpy.random.Generator
    """
    points = draw_points(target, n, frame.d, distribution, rng)
    labels = contains_points(target, points)
    if noise > 0:
        labels ^= rng.random(n) < noise
    return Examples(points, labels.astype(np.int64), frame)


def place_target(
    target: TargetFile, d: int, bounds: Bounds | None = None
) -> tuple[BaseGeometry, Frame]:
    """A target file's shape in grid units, and the frame that puts it there.

    Parameters
    ----------
    target : TargetFile
    d : int
        Grid size; a shape in units of another grid is scaled.
    bounds : Bounds, optional
        Public bounds in degrees; by default the file's own, else, for a shape in degrees, its
        box padded by a tenth of each side.

    Returns
    -------
    shape : shapely geometry
    frame : Frame
    """
    if bounds is None and target.member.get("georeferenced") is False:
        return target.on_grid(d), Frame(d)  # its bounds only hold the drawing
    box = bounds or target.bounds
    if box is None and target.frame == "lonlat":
        box = padded_box(target.geometry)
    return target.on_grid(d, box), Frame(d, box)


def padded_box(shape: BaseGeometry) -> Bounds:
    """The box of a shape in degrees, padded by a tenth of each side, rounded to 1e-6 degrees."""
    west, south, east, north = shape.bounds
    dx, dy = (east - west) / 10, (north - south) / 10
    return Bounds(
        round(max(west - dx, -180.0), 6),
        round(max(south - dy, -90.0), 6),
        round(min(east + dx, 180.0), 6),
        round(min(north + dy, 90.0), 6),
    )


def _outline_point(target: BaseGeometry) -> tuple[float, float]:
    """The point at 37 % of the first outline's length, in grid units."""
    polygon = target if isinstance(target, Polygon) else target.geoms[0]
    point = polygon.exterior.interpolate(CLUSTER_PLACE, normalized=True)
    return point.x, point.y
