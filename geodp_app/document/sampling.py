"""Simulates examples of a known target: draws points on the grid and labels them by the target;
when the drawing changes, they are drawn anew, or labelled anew.

This is a simulation for demonstrations and benchmarks, not a release: it uses a plain seeded
generator, and its output is to be treated as private data.

A label is inside(drawing) XOR flipped; what label noise flipped stays flipped, and is found again
from the old labels and the old drawing.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from shapely.geometry import Polygon
from shapely.geometry.base import BaseGeometry

from geodp_app.document.examples import Examples, Frame
from geodp_app.document.work import DISTRIBUTIONS, Dab, Distribution, Work
from geodp_app.drawing.shapes import Drawing
from geometry.arrays import Flags, Ints
from geometry.errors import InputError
from geometry.geojson import MAX_CROSSINGS, TargetFile
from geometry.globe import lonlat_box
from geometry.grid import Bounds
from geometry.halfplane import MAX_D
from geometry.polygons import contains_points, grid_region, polygon_parts
from geometry.rings import crossings_up_to, edges_of

#: Share of the examples in the cluster, its spread as a share of d, and where it sits on the
#: first outline, as a share of its length.
CLUSTER_SHARE, CLUSTER_SPREAD, CLUSTER_PLACE = 0.8, 0.083, 0.37

#: Times that painted points off the grid are drawn again, before they are clipped.  A quarter of
#: any disc around a grid point lies on a grid that is larger than it.
_REDRAWS = 60


def open_generator(seed: int | None = None) -> np.random.Generator:
    """The generator of simulated samples; without a seed it differs each time."""
    return np.random.default_rng(seed)


def draw_points(
    target: BaseGeometry,
    n: int,
    d: int,
    distribution: Distribution,
    rng: np.random.Generator,
    dabs: Sequence[Dab] = (),
) -> Ints:
    """Independent grid points from a public distribution.

    Raises ValueError if the target is empty and the distribution needs it, there are no dabs to
    paint with, or the distribution is unknown; InputError if the distribution needs the target's
    region, and that would take minutes.

    Parameters
    ----------
    target : shapely geometry
        As in :func:`draw_examples`; it places the cluster and the Gaussian, and nothing else.
    n : int
        Number of points.
    d : int
        Grid size.
    distribution : {"uniform", "clustered", "gaussian", "painted"}
        ``uniform``: over {0..d}^2.  ``clustered``: with probability 0.8 Gaussian (sigma =
        0.083 d) around the point at 37 % of the first outline's length, else uniform.
        ``gaussian``: around the target's centroid, wide enough that a disc of the target's
        area gets half of the points.  Gaussian points are rounded, then clipped to the grid.
        ``painted``: uniform in the disc of a dab, one dab as likely as another; rounded.
    dabs : sequence of (x, y, r)
        Discs of a painted sample, in grid units; off the grid nothing is drawn.

    Returns
    -------
    ndarray of int64, shape (n, 2)
    """
    if distribution == "painted":
        return _painted_points(dabs, n, d, rng)
    uniform = rng.integers(0, d + 1, size=(n, 2), dtype=np.int64)
    if distribution == "uniform":
        return uniform
    if crossings_up_to(MAX_CROSSINGS, edges_of(polygon_parts(target))) > MAX_CROSSINGS:
        raise InputError(
            f"the target's outlines cross more than {MAX_CROSSINGS:,} times: draw a uniform sample"
        )
    target = grid_region(target)
    if target.is_empty:
        raise ValueError(f"an empty target cannot place a {distribution} sample")
    if distribution == "clustered":
        polygon = target if isinstance(target, Polygon) else target.geoms[0]
        middle = polygon.exterior.interpolate(CLUSTER_PLACE, normalized=True)
        spread = CLUSTER_SPREAD * d
        chosen = rng.random(n) < CLUSTER_SHARE
    elif distribution == "gaussian":
        middle = target.centroid
        # a disc of radius r holds half of a Gaussian with sigma = r / sqrt(2 ln 2)
        spread = math.sqrt(target.area / math.pi / (2 * math.log(2)))
        chosen = np.ones(n, dtype=np.bool_)
    else:
        raise ValueError(
            f"unknown distribution {distribution!r}: use one of {', '.join(DISTRIBUTIONS)}"
        )
    cloud = rng.normal((middle.x, middle.y), spread, size=(n, 2))
    cloud = np.rint(cloud).clip(0, d).astype(np.int64)
    return np.where(chosen[:, None], cloud, uniform)


def draw_examples(
    target: BaseGeometry,
    n: int,
    frame: Frame,
    *,
    distribution: Distribution = "uniform",
    noise: float = 0.0,
    dabs: Sequence[Dab] = (),
    rng: np.random.Generator,
) -> Examples:
    """Points labelled by the target; its boundary belongs to it.

    Parameters
    ----------
    target : shapely geometry
        Polygons in grid units of the frame, exactly as they are: parts may overlap, a ring that
        crosses itself counts even-odd.
    distribution : {"uniform", "clustered", "gaussian", "painted"}
    noise : float
        Probability, in 0..1, that a label is flipped.
    dabs : sequence of (x, y, r)
        Discs of a painted sample, in grid units.
    """
    points = draw_points(target, n, frame.d, distribution, rng, dabs)
    labels = contains_points(target, points)
    if noise > 0:
        labels ^= rng.random(n) < noise
    return Examples(points, labels.astype(np.int64), frame)


def place_target(
    target: TargetFile, d: int, bounds: Bounds | None = None
) -> tuple[BaseGeometry, Frame]:
    """A target file's shape in grid units, and the frame that puts it there.

    `d`: grid size; a shape in units of another grid is scaled.  `bounds`: public bounds in degrees;
    by default the file's own, else, for a shape in degrees, its box padded by a tenth of each side.

    Returns
    -------
    shape : shapely geometry
        Its polygons, not united (:meth:`geometry.geojson.TargetFile.figure`).
    frame : Frame

    Raises
    ------
    InputError
        If the grid is finer than any that is counted on.
    """
    if d > MAX_D:
        raise InputError(f"grid must be at most {MAX_D:,}, not {d:,}")
    if bounds is None and target.member.get("georeferenced") is False:
        return target.figure(d), Frame(d)  # its bounds only hold the drawing
    box = bounds or target.bounds
    if box is None and target.frame == "lonlat":
        box = padded_box(target.outlines)
    return target.figure(d, box), Frame(d, box)


def padded_box(shape: BaseGeometry) -> Bounds:
    """The box of a shape in degrees, padded by a tenth of each side, rounded to 1e-6 degrees.

    However thin the shape, the box is not.
    """
    west, south, east, north = lonlat_box(shape)
    turn = 360.0 if west > east else 0.0
    dx, dy = max((east + turn - west) / 10, 1e-6), max((north - south) / 10, 1e-6)
    if turn:  # at most half the globe
        dx = min(dx, (180 - (east + turn - west)) / 2)
    sides = (max(west - dx, -180.0), max(south - dy, -90.0), min(east + dx, 180.0))
    return Bounds(*(round(side, 6) for side in (*sides, min(north + dy, 90.0))))


def _painted_points(dabs: Sequence[Dab], n: int, d: int, rng: np.random.Generator) -> Ints:
    """Points uniform in discs, one disc as likely as another."""
    if not dabs:
        raise ValueError("a painted sample needs at least one dab")
    discs = np.asarray(dabs, dtype=np.float64)[rng.integers(len(dabs), size=n)]
    points: Ints = np.empty((n, 2), dtype=np.int64)
    waiting = np.arange(n)
    for _ in range(_REDRAWS):
        distance = discs[waiting, 2] * np.sqrt(rng.random(len(waiting)))
        angle = rng.random(len(waiting)) * (2 * math.pi)
        offset = distance[:, None] * np.stack([np.cos(angle), np.sin(angle)], axis=1)
        points[waiting] = np.rint(discs[waiting, :2] + offset).astype(np.int64)
        waiting = waiting[((points[waiting] < 0) | (points[waiting] > d)).any(axis=1)]
        if not len(waiting):
            break
    return points.clip(0, d)


#: Seed of fresh samples: beyond the seeds that a person may choose for the examples.
_FRESH_SEED = 1 << 80


class Relabelling:
    """Labels examples by one drawing after another.

    It remembers which labels are flipped and what it made last: while a vertex is dragged each
    new place takes one test of every point, and the place where it is dropped takes none.
    """

    def __init__(self) -> None:
        self._known: tuple[Examples, ...] = ()
        self._flipped: Flags | None = None
        self._made: tuple[Drawing, Examples] | None = None

    def __call__(self, examples: Examples, old: Drawing, new: Drawing) -> Examples:
        """The examples with the labels of another drawing.

        `examples`: simulated, and labelled by `old`; both drawings are on their grid.  The result
        has the same array of points, and is the same object when the same is asked twice in a row.
        """
        if not any(examples is known for known in self._known):
            self._flipped = _inside(old, examples) ^ (examples.labels != 0)
            self._known, self._made = (examples,), None
        assert self._flipped is not None  # it is there where something is known
        if self._made is None or self._made[0] != new:
            labels = (_inside(new, examples) ^ self._flipped).astype(np.int64)
            self._made = new, replace(examples, labels=labels)
        # the first is what is in the document, the other what may be there next
        self._known = examples, self._made[1]
        return self._made[1]


def _inside(drawing: Drawing, examples: Examples) -> Flags:
    return contains_points(drawing.figure(), examples.points)


def simulate(work: Work) -> Examples:
    """A simulated sample of the drawing: private like any other; raises InputError if the settings
    need a drawing or paint and there is none."""
    s = work.sampling
    if s.distribution == "painted" and not s.dabs:
        raise InputError("nothing is painted yet: paint where the examples come from, then sample")
    if s.distribution in ("clustered", "gaussian") and work.drawing.region().is_empty:
        raise InputError(
            f"nothing is drawn to place a {s.distribution} sample: draw a shape, or choose the "
            "uniform distribution"
        )
    return draw_examples(
        work.drawing.figure(),
        s.n,
        work.frame,
        distribution=s.distribution,
        noise=s.noise,
        dabs=s.dabs,
        rng=open_generator(s.seed),
    )


def fresh_sample(work: Work, n: int = 20_000) -> Examples | None:
    """Points to test a hypothesis on: drawn as the work's examples are, but without label noise.

    They do not depend on the examples, nor on the seed of these.  None for imported examples, whose
    source nobody knows, and where nothing is drawn or painted to place the sample.
    """
    if work.examples is not None and not work.simulated:
        return None
    sampling = replace(work.sampling, n=n, noise=0.0, seed=_FRESH_SEED)
    try:
        return simulate(replace(work, sampling=sampling))
    except InputError:
        return None
