"""Removes slits and teeth that borders of tiles, or of edges' zones, leave in what is drawn.

Every tile, or zone of an edge, draws its piece for itself.  Where the noise leaves open on which
side of a border an edge passes, what is drawn gets slits, teeth and jogs there.  So when all are
drawn, the labels are weighed once more, all together.  Borders and edges, each edge drawn out
through its own tile and through the next one beyond either end, cut the square into faces
(:func:`cut_faces`: shapely's overlay, corners moved to multiples of a grain); of all labellings of
the faces the one is taken with the least of

    (area that is labelled otherwise than drawn) / u^2 + STRENGTH * (length of the outline) / u,

u the side of a square in which one nat is expected, by the noisy counts: that is 1/rate examples,
and 1/(1 - 2w) times as many if a share w of the labels looks wrong
(:mod:`learners.tiles.tile_choice`). A slit narrower than 2 * STRENGTH * u is closed so; a corner
stays, unless some line cuts it off close by.  It is a minimal cut: labels 1 are what the source
reaches (Greig, Porteous and Seheult 1989).  Connected changes that weigh more than
:data:`MOST_NATS` are taken back: what was drawn there is no noise.

Privacy (docs/privacy.md, lemmas 7 and 8): what is changed is a function of what is released and of
public numbers.  It is found once, in doubles, and released beside the pieces with corners on a grid
(:class:`learners.core.records.Tidied`): labels of grid points stay exact, and another version of
GEOS reads the same.  What was measured: docs/decisions/0015-sharpening.md.

*Specks*, pieces that cut off next to nothing of their tile, are left out: the noise explains them.
In a tile that lies inside the shape, or outside, a piece may cut off a corner without examples, and
nothing speaks against it.  Such specks are hardly any error and spoil the picture.  So where less
is cut off than where :data:`EXPECTED` over the rate examples are expected, the tile gets one label.

What is released is a function of the drawn piece and of public numbers: privacy is not touched
(docs/privacy.md, lemma 7).  What was measured: docs/decisions/0025-how-many-tiles.md.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

import numpy as np
import shapely
from numpy.typing import NDArray
from shapely.geometry import LineString, MultiPolygon, Point, Polygon
from shapely.geometry.base import BaseGeometry

from geometry.arrays import Flags, Floats, Ints
from geometry.halfplane import area
from geometry.polygons import Outline, clip_to_box, units
from geometry.tiling import Tile
from learners.core.records import Tidied, TileStep
from learners.tiles.borders import straightened

#: Examples, times the rate, that are expected where a speck may lie.
EXPECTED = 2

#: No more of a tile is taken for a speck, however few examples there are.
_MOST = Fraction(1, 50)


def largest_speck(count: int, rate: float, d: int) -> Fraction:
    """Area in which EXPECTED / rate of about `count` examples on a grid of size d are expected."""
    return Fraction(EXPECTED * d * d) / (Fraction(rate) * max(1, count))


def without_speck(step: TileStep, largest: Fraction) -> TileStep:
    """The step, or one label everywhere where its piece cuts off less than `largest`.

    Parameters
    ----------
    step : TileStep
        Of a tile; a zone stays as it is.
    largest : Fraction
        Area in square grid units.
    """
    tile = step.tile
    if not (isinstance(tile, Tile) and step.piece):
        return step
    left, bottom, right, top = tile.edges
    whole = (right - left) * (top - bottom)
    own = (left - tile.x0, bottom - tile.y0, right - tile.x0, top - tile.y0)
    held = area(clip_to_box(step.piece, *own))
    if min(held, whole - held) >= min(largest, _MOST * whole):
        return step
    return replace(step, piece=(), inside=step.inside == (2 * held > whole))


#: What a length of u of the outline weighs, in nats.
STRENGTH = 1.0

#: A connected change weighs at most so many nats.
MOST_NATS = 16

#: Nor is it larger than this share of the square, however few examples there are.
_MOST_SHARE = 1 / 100

#: So many standard errors above what noise explains is an uneven spread seen clearly.
_CLEARLY = 2.0

#: Where examples are rarer than 1/_SPARSEST of the average they count as no rarer.
_SPARSEST = 4.0

#: What lies at most so near a border, in grid units and in grains, is at it: figures are doubles.
_NEAR, _NEAR_GRAINS = 1 / 1024, 16

#: Capacities are whole multiples of one over this, where they are not too many.
_CAPACITY = 1 << 12

#: All capacities that can be cut together are below this, and so is any one of them.
_MOST_CAPACITY = 1 << 29


def one_nat_side(count: float, area: float, rate: float) -> float:
    """Side of a square in which 1/rate of about `count` examples in `area` are expected."""
    return math.sqrt(area / (max(1.0, count) * rate))


def tidied(steps: Sequence[TileStep], unit: float, scale: Fraction | None = None) -> Tidied | None:
    """What is labelled otherwise than drawn, if anything.

    Parameters
    ----------
    steps : sequence of TileStep
        All of a run; their tiles, or zones, divide the square.
    unit : float
        u, in grid units (:func:`one_nat_side`), on the average.
    scale : Fraction, optional
        Of the noise of their counts; where it is None they have none, and examples are taken to
        lie evenly.

    Notes
    -----
    A run is paid for by then and must end: if GEOS could not cut the faces, it ends as drawn.
    """
    try:
        return _tidied(steps, unit, scale)
    except shapely.errors.GEOSException:
        return None


def _tidied(steps: Sequence[TileStep], unit: float, scale: Fraction | None) -> Tidied | None:
    d = steps[0].tile.d
    grain = 1 / units(d)
    zones = np.array([step.tile.polygon() for step in steps])
    drawn = shapely.union_all([step.shape() for step in steps], grid_size=grain)
    faces = cut_faces(_lines(steps, zones, d), grain)
    labels = faces.inside(drawn)
    if scale is None:
        squares = np.full(len(steps), unit**2)
    else:
        squares = nat_squares([step.count or 0 for step in steps], shapely.area(zones), unit, scale)
    tree = shapely.STRtree(zones)

    def squares_at(points: NDArray[Any]) -> Floats:
        return np.asarray(squares[tree.nearest(points)])

    of_faces = squares_at(shapely.point_on_surface(faces.figures))
    weights = shapely.area(faces.figures) / of_faces
    lengths = STRENGTH * faces.lengths / np.sqrt(of_faces[faces.pairs].min(axis=1))
    found = least_cut(labels, weights, faces.pairs, lengths)
    most = _MOST_SHARE * d * d
    nats = min(MOST_NATS, most / unit**2)
    kept = without_large(labels, found, weights, faces.pairs, nats)
    whole = _united(faces.figures[kept], grain)
    borders = shapely.union_all(shapely.boundary(zones))
    near = max(_NEAR, _NEAR_GRAINS * grain)
    straight = straightened(whole, borders, d, unit, squares_at, near, most)
    if straight is not None:
        # lines that have moved cross the drawn ones in many slivers: all labels are the outline's
        straight = without_specks(straight, grain)
        return Tidied(Outline.of(shapely.box(0, 0, d, d), d), Outline.of(straight, d))
    if (kept == labels).all():
        return None
    changed = _united(faces.figures[kept != labels], grain)
    return Tidied(Outline.of(changed, d), Outline.of(whole, d))


def _united(figures: NDArray[Any], grain: float) -> BaseGeometry:
    """The union of faces, corners on a line left out."""
    return without_specks(shapely.simplify(shapely.coverage_union_all(figures), 2 * grain), grain)


def without_specks(shape: BaseGeometry, grain: float) -> BaseGeometry:
    """Without parts and holes that are rounding: no larger than what lies between a border and an
    edge beside it, and without a grid point."""

    def seen(ring: BaseGeometry) -> bool:
        low, high = np.array(ring.bounds).reshape(2, 2)
        large = (high - low).max() > 2 * max(_NEAR, _NEAR_GRAINS * grain)
        return bool(large or (np.ceil(low) <= np.floor(high)).all())

    parts = [part for part in shapely.get_parts(shape) if part.geom_type == "Polygon"]
    kept = [
        Polygon(part.exterior, [hole for hole in part.interiors if seen(hole)])
        for part in parts
        if not part.is_empty and seen(part.exterior)
    ]
    return kept[0] if len(kept) == 1 else MultiPolygon(kept)


def nat_squares(counts: Sequence[int], areas: Floats, unit: float, scale: Fraction) -> Floats:
    """u^2 in every tile, in square grid units, by noisy counts.

    What counts differ from an even spread is shrunk to the part of its variance that noise and
    chance do not explain (James and Stein 1961), to nothing if that is not seen clearly.

    Parameters
    ----------
    counts : sequence of int
    areas : ndarray of float64, shape (t,)
        Of the tiles, in square grid units.
    unit : float
        u on the average.
    scale : Fraction
        Of the integer Laplace noise of every count.
    """
    even = max(1.0, sum(counts)) * areas / areas.sum()
    excess = np.asarray(counts, dtype=np.float64) - even
    # a Laplace variable's square has a variance of five times the square of its mean
    noise = 2 * float(scale) ** 2 + even.mean()
    chance = noise * (1 + _CLEARLY * math.sqrt(5 / len(counts)))
    seen = float(np.mean(excess**2))
    share = max(0.0, 1 - chance / seen) if seen else 0.0
    density = np.maximum((even + share * excess) / even, 1 / _SPARSEST)
    return np.asarray(unit**2 / density)


def _lines(steps: Sequence[TileStep], zones: NDArray[Any], d: int) -> Iterator[BaseGeometry]:
    """Borders, and edges drawn out through their own tile and the next ones."""
    near = max(_NEAR, _NEAR_GRAINS / units(d))
    # no mitres: at corners that are almost straight GEOS would divide by zero
    beside = shapely.buffer(zones, near, join_style="bevel")
    grown = shapely.intersection(beside, shapely.box(0, 0, d, d))
    shrunk = shapely.buffer(zones, -near, join_style="bevel")
    tree = shapely.STRtree(zones)

    def beyond(end: Floats, away: Floats, own: int) -> Iterator[BaseGeometry]:
        """An edge drawn out from its end on the border of its zone through the next zone."""
        if Point(end).distance(zones[own].boundary) > near:
            return
        probe = Point(end + away * (near / np.hypot(*away)))
        ray = LineString([end, end + away])
        for other in tree.query(probe, predicate="intersects").tolist():
            if other != own:
                for part in shapely.get_parts(ray.intersection(grown[other])):
                    if part.distance(probe) < near:
                        yield part

    yield from shapely.boundary(zones[~shapely.is_empty(zones)])
    for i, step in enumerate(steps):
        if not step.piece or zones[i].is_empty:
            continue
        held = shapely.get_coordinates(step.tile.piece_polygon(step.piece).boundary)
        for part in _drawn_edges(held, zones[i], shrunk[i]):
            ends = shapely.get_coordinates(part)[[0, -1]]
            ahead = ends[1] - ends[0]
            size = float(np.hypot(*ahead))
            if size < 1 / units(d):
                continue
            ahead *= 3 * d / size
            yield LineString([ends[0] - ahead, ends[1] + ahead]).intersection(grown[i])
            for end, away in ((ends[1], ahead), (ends[0], -ahead)):
                yield from beyond(end, away, i)


def _drawn_edges(
    corners: Floats, zone: BaseGeometry, shrunk: BaseGeometry
) -> Iterator[BaseGeometry]:
    """The parts of a figure's edges that lie inside a zone, not on its border."""
    for first, second in itertools.pairwise(corners):
        edge = LineString([first, second])
        if shrunk.intersects(edge):
            for part in shapely.get_parts(edge.intersection(zone)):
                if part.geom_type == "LineString" and shrunk.intersects(part):
                    yield part


def least_cut(labels: Flags, weights: Floats, pairs: Ints, lengths: Floats) -> Flags:
    """Labels with the least sum of weights of those changed and lengths between unequal ones.

    Parameters
    ----------
    labels : ndarray of bool, shape (f,)
    weights : ndarray of float64, shape (f,)
        What it costs to change a label.
    pairs : ndarray of int64, shape (p, 2)
    lengths : ndarray of float64, shape (p,)
        What it costs if the two have different labels.
    """
    # loaded here: most that is imported from this package needs no scipy (decision 21)
    from scipy.sparse import csr_array
    from scipy.sparse.csgraph import breadth_first_order, maximum_flow

    count = len(labels)
    source, sink = count, count + 1
    # nothing heavier than all lengths together is ever cut
    unit = min(_CAPACITY, _MOST_CAPACITY / max(1.0, 2 * float(lengths.sum())))
    faces = np.arange(count)
    starts = np.concatenate([np.where(labels, source, faces), *pairs.T])
    stops = np.concatenate([np.where(labels, faces, sink), *pairs[:, ::-1].T])
    sizes = np.rint(unit * np.concatenate([weights, lengths, lengths]))
    capacities = np.minimum(sizes, _MOST_CAPACITY).astype(np.int32)
    network = csr_array((capacities, (starts, stops)), shape=(count + 2, count + 2))
    rest = network - maximum_flow(network, source, sink).flow
    rest.eliminate_zeros()
    found = np.zeros(count + 2, dtype=np.bool_)
    found[breadth_first_order(rest, source, return_predecessors=False)] = True
    return found[:count]


def without_large(
    labels: Flags, changed: Flags, weights: Floats, pairs: Ints, most: float
) -> Flags:
    """The changed labels, but the old ones where connected changes one way weigh more than most."""
    from scipy.sparse import csr_array
    from scipy.sparse.csgraph import connected_components

    differ = labels != changed
    first, second = pairs.T
    joined = differ[first] & differ[second] & (labels[first] == labels[second])
    ones = (np.ones(int(joined.sum())), (first[joined], second[joined]))
    _, group = connected_components(csr_array(ones, shape=(len(labels),) * 2), directed=False)
    heavy = np.bincount(group, weights=weights * differ)[group] > most
    return np.where(heavy, labels, changed)


@dataclass(frozen=True, slots=True)
class Faces:
    """Polygons that meet along whole sides.

    Attributes
    ----------
    figures : ndarray of Polygon, shape (f,)
    pairs : ndarray of int64, shape (p, 2)
        Every two faces that share a side, once.
    lengths : ndarray of float64, shape (p,)
        How much of their sides these share.
    """

    figures: NDArray[Any]
    pairs: Ints
    lengths: Floats

    def inside(self, shape: BaseGeometry) -> Flags:
        """Which faces lie inside a shape, whose boundary is among the lines, by a point of each."""
        shapely.prepare(shape)
        return np.asarray(shapely.contains(shape, shapely.point_on_surface(self.figures)))


def cut_faces(lines: Iterable[BaseGeometry], grain: float) -> Faces:
    """The bounded faces of lines, corners at multiples of `grain`.

    Parameters
    ----------
    lines : iterable of shapely geometry
        What is no line in them is left out.
    grain : float
    """
    parts = shapely.get_parts(shapely.get_parts([line for line in lines if not line.is_empty]))
    parts = parts[np.isin(shapely.get_type_id(parts), (1, 2))]
    net = shapely.union_all(shapely.set_precision(parts, grain), grid_size=grain)
    figures = shapely.get_parts(shapely.polygonize(shapely.get_parts(net)))
    return Faces(figures, *_shared(figures, grain))


def _shared(figures: NDArray[Any], grain: float) -> tuple[Ints, Floats]:
    """Pairs of faces, and the lengths of what they share."""
    rings, owner = shapely.get_rings(figures, return_index=True)
    corners, ring = shapely.get_coordinates(rings, return_index=True)
    places = np.rint(corners / grain).astype(np.int64)
    along = np.flatnonzero(ring[:-1] == ring[1:])
    ends = np.stack([places[along], places[along + 1]], axis=1)
    # the same segment is met from both sides: the lesser end first
    back = (ends[:, 0, 0] > ends[:, 1, 0]) | (
        (ends[:, 0, 0] == ends[:, 1, 0]) & (ends[:, 0, 1] > ends[:, 1, 1])
    )
    ends[back] = ends[back, ::-1]
    segments, number = np.unique(ends.reshape(-1, 4), axis=0, return_inverse=True)
    number = number.reshape(-1)
    order = np.argsort(number, kind="stable")
    twice = np.flatnonzero(number[order][:-1] == number[order][1:])
    faces = owner[ring[along]][order]
    pairs = np.sort(np.stack([faces[twice], faces[twice + 1]], axis=1), axis=1)
    steps = segments[number[order][twice]].reshape(-1, 2, 2)
    lengths = grain * np.hypot(*(steps[:, 1] - steps[:, 0]).T.astype(np.float64))
    apart = pairs[:, 0] != pairs[:, 1]
    whole, which = np.unique(pairs[apart], axis=0, return_inverse=True)
    sums = np.zeros(len(whole))
    np.add.at(sums, which.reshape(-1), lengths[apart])
    return whole.astype(np.int64), sums
