"""Makes polygons of halfplanes: exact clipping, and shapely shapes to draw and export.

The vertices of a piece are the exact ones of the clipped square (:mod:`geometry.halfplane`),
rounded to doubles once, at the end.  For m halfplanes that is O(m^2) operations.

Shapes are for drawing, areas and export.  Which label a grid point gets is decided by
the integer side tests of :mod:`geometry.halfplane`, or by its outline.

All coordinates are grid units, but for the corners of an :class:`Outline`: these are whole numbers
of 1/:func:`units` grid unit, at most 2^30, and which grid points it holds is decided exactly
(:mod:`geometry.rings`); points on the boundary are inside.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
import shapely
from numpy.typing import ArrayLike, NDArray
from shapely.geometry import MultiPolygon, Polygon
from shapely.geometry.base import BaseGeometry

from geometry.arrays import Flags, Floats, Ints
from geometry.halfplane import Halfplane, Vertex, clip_area, reduced, side
from geometry.rings import held_points

#: So many vertices at one place make a union slow.
_HUB = 256
#: Polygons that are united at a time.
_NEIGHBOURS = 16


def clip_to_square(halfplanes: Sequence[Halfplane], d: int) -> tuple[Vertex, ...]:
    """Exact vertices of the intersection of closed halfplanes, or of none, with the square [0,
    d]^2.

    Returns corners (X, Y, W), X/W and Y/W in grid units, counter-clockwise, each once, no three on
    a line; none if the intersection has no area (empty, a point or a segment).
    """
    return clip_to_box(halfplanes, 0, 0, d, d)


def clip_to_box(
    halfplanes: Sequence[Halfplane],
    left: Fraction | int,
    bottom: Fraction | int,
    right: Fraction | int,
    top: Fraction | int,
) -> tuple[Vertex, ...]:
    """As :func:`clip_to_square`, with any axis-parallel rectangle in place of the square."""
    if left >= right or bottom >= top:
        return ()
    corners = tuple(
        reduced(
            x.numerator * y.denominator, y.numerator * x.denominator, x.denominator * y.denominator
        )
        for x, y in ((left, bottom), (right, bottom), (right, top), (left, top))
    )
    for halfplane in halfplanes:
        corners = clip_area(corners, halfplane.coefficients)
    return corners


def piece_polygon(halfplanes: Sequence[Halfplane], d: int) -> Polygon:
    """The clipped intersection in the square of side d as a shapely polygon, in grid units.

    Valid, counter-clockwise; empty if there is no area, or none after rounding.  Every vertex is
    the exact one rounded to the nearest double.
    """
    return convex_polygon(clip_to_square(halfplanes, d))


def piece_sides(
    halfplanes: Sequence[Halfplane], d: int
) -> tuple[tuple[tuple[float, float], tuple[float, float]] | None, ...]:
    """What of each halfplane's boundary bounds the intersection in the square of side d: both ends,
    in grid units, or None where it bounds nothing."""
    corners = clip_to_square(halfplanes, d)
    found = []
    for halfplane in halfplanes:
        on = [(x / w, y / w) for x, y, w in corners if not side(halfplane.coefficients, (x, y, w))]
        found.append((on[0], on[-1]) if len(on) > 1 else None)
    return tuple(found)


def convex_polygon(corners: Sequence[Vertex]) -> Polygon:
    """Exact corners of a convex figure, in order, as a valid polygon of doubles."""
    if not corners:
        return Polygon()
    polygon = Polygon([(x / w, y / w) for x, y, w in corners])
    if shapely.is_valid(polygon):
        return polygon
    # thinner than a double resolves: the hull is the nearest valid convex shape
    hull = shapely.convex_hull(polygon)
    return orient_valid(hull) if isinstance(hull, Polygon) else Polygon()


def union_shape(pieces: Iterable[Sequence[Halfplane]], d: int) -> BaseGeometry:
    """Union of pieces, each an intersection of halfplanes clipped to the square of side d, in grid
    units.

    Valid, outer rings counter-clockwise and holes clockwise; an empty Polygon if no piece has area.
    The overlay runs in full double precision.  Its own fallbacks keep it valid for nearly
    coincident edges, so no snapping grid is set: one would move every vertex for nothing.
    """
    polygons = [piece_polygon(piece, d) for piece in pieces]
    return orient_valid(shapely.union_all([p for p in polygons if not p.is_empty]))


def orient_valid(geometry: BaseGeometry) -> BaseGeometry:
    """Make a geometry valid and areal, outer rings counter-clockwise, holes clockwise.

    It may be of any kind and validity, in any frame; points and lines are dropped, and an empty
    Polygon is made if nothing areal is left.  A valid polygon keeps its vertices, but where
    hundreds of parts have a corner in common.
    """
    # where hundreds of parts meet, to ask of all takes as long as GEOS takes to unite them
    if common_corner(shapely.get_parts(geometry)) is not None or not shapely.is_valid(geometry):
        # part by part: for a whole multipolygon whose parts touch, make_valid may lose one.
        # "structure" covers what is wound or nested twice; "linework" punches holes there
        parts = shapely.make_valid(
            shapely.get_parts(geometry), method="structure", keep_collapsed=False
        )
        geometry = united(parts)
    if geometry.geom_type == "GeometryCollection":  # whose members may overlap
        return polygonal(united(polygon_parts(geometry)))
    return polygonal(geometry)


def polygonal(geometry: BaseGeometry) -> BaseGeometry:
    """The polygons of a valid geometry, oriented: a Polygon, empty if there is none, or several."""
    parts = polygon_parts(geometry)
    shape = parts[0] if len(parts) == 1 else MultiPolygon(parts) if parts else Polygon()
    return shapely.orient_polygons(shape)


def united(shapes: Iterable[BaseGeometry]) -> BaseGeometry:
    """The union of valid polygonal geometries, to be drawn.

    What GEOS takes to unite n polygons with a common corner grows as n^2.  They are united in the
    order of their angles round it: what no angle has in common meets in the corner alone, and what
    has one grows together there, so that few sides are left at any time.
    """
    parts = np.array([part for shape in shapes for part in polygon_parts(shape)], dtype=object)
    hub = common_corner(parts)
    if hub is None:
        return shapely.union_all(parts)
    groups = _round(parts, hub)
    if len(groups) == 1:
        return _grown(groups[0])
    return MultiPolygon([one for group in groups for one in polygon_parts(united(group))])


def common_corner(parts: NDArray[Any]) -> Floats | None:
    """The corner, shape (2,), that most polygons have, if it is one of hundreds; else None."""
    if len(parts) <= _HUB:
        return None
    corners, often = np.unique(shapely.get_coordinates(parts), axis=0, return_counts=True)
    most = int(np.argmax(often))
    return corners[most] if often[most] > _HUB else None


def _round(parts: NDArray[Any], hub: Floats) -> list[NDArray[Any]]:
    """Groups of polygons that no angle round a place have in common, each in the order of them."""
    low, high = np.zeros(len(parts)), np.full(len(parts), 2 * np.pi)
    rings = shapely.get_exterior_ring(parts)
    touched = shapely.intersects_xy(parts, *hub)
    for i, ring in enumerate(rings):
        if shapely.get_num_interior_rings(parts[i]):
            continue
        way = shapely.get_coordinates(ring)[:-1] - hub
        meets = np.flatnonzero(~way.any(axis=1))
        if len(meets) > 1 or len(meets) < touched[i]:
            continue  # round it, perhaps
        way = np.roll(way, -meets[0], axis=0)[1:] if len(meets) else np.vstack([way, way[:1]])
        # from one corner to the next by less than half a turn, whatever the sense
        turned = np.unwrap(np.arctan2(way[:, 1], way[:, 0]))
        low[i], high[i] = turned.min(), turned.max()
    high += 1e-9  # what all but touches is one
    high -= low
    low %= 2 * np.pi
    order = np.argsort(low, kind="stable")
    low, high, parts = low[order], (low + high)[order], parts[order]
    # a gap is a place that nothing reaches, also over the beginning
    reach = np.maximum.accumulate(high)
    before = np.maximum(np.r_[-np.inf, reach[:-1]], reach[-1] - 2 * np.pi)
    cuts = np.flatnonzero(low > before)
    if not len(cuts):
        return [parts]
    parts = np.roll(parts, -int(cuts[0]))
    return np.split(parts, cuts[1:] - cuts[0])


def _grown(parts: NDArray[Any]) -> BaseGeometry:
    """The union of polygons, neighbours with neighbours."""
    while len(parts) > 1:
        some = [parts[i : i + _NEIGHBOURS] for i in range(0, len(parts), _NEIGHBOURS)]
        parts = np.array([shapely.union_all(each) for each in some], dtype=object)
    return parts[0]


def even_odd_region(ring: Floats) -> BaseGeometry:
    """The points that a ring goes around an odd number of times, closed, without dangling lines.

    The ring, float of shape (n, 2), n >= 3, the first vertex not repeated, is cut at its crossings,
    the faces of the plane that this leaves are found, and those are taken that it goes around so:
    for c crossings about (n + c) log (n + c), where GEOS's own repair by the same rule ("linework")
    takes 35 s for a ring of 200 random vertices.  A face thinner than doubles resolve has no area
    to speak of.  Valid; an empty Polygon if the ring has no area.
    """
    closed = np.vstack([ring, ring[:1]])
    pieces = shapely.get_parts(shapely.node(shapely.linestrings(closed)))
    faces = shapely.get_parts(shapely.polygonize(pieces))
    if not len(faces):
        return Polygon()
    whole = Polygon(closed)
    shapely.prepare(whole)
    inside = shapely.intersects_xy(
        whole, *shapely.get_coordinates(shapely.point_on_surface(faces)).T
    )
    return orient_valid(shapely.coverage_union_all(faces[inside]))


def region_of(figure: BaseGeometry) -> BaseGeometry:
    """The region of polygons whose rings may cross themselves and each other, and that may overlap,
    to be drawn: the valid union, of each the outline's region without those of its holes."""
    parts = np.array(polygon_parts(figure), dtype=object)
    # where hundreds meet, to ask whether all are valid together takes as long as to unite them
    whole = figure.geom_type in ("Polygon", "MultiPolygon") and common_corner(parts) is None
    if whole and shapely.is_valid(figure):
        return polygonal(figure)
    odd = ~shapely.is_valid(parts)
    parts[odd] = [_without_holes(part) for part in parts[odd]]
    return polygonal(united(parts))


def grid_region(figure: BaseGeometry) -> BaseGeometry:
    """As :func:`region_of`, in grid units: of very many polygons with corners on grid points.

    Thousands that meet at one point have far fewer corners there.
    """
    parts = polygon_parts(figure)
    many = len(parts) > _HUB
    return region_of(shapely.transform(MultiPolygon(parts), np.rint) if many else figure)


def _without_holes(polygon: Polygon) -> BaseGeometry:
    # ring by ring: a ring without area would make the whole fail
    rings = (polygon.exterior, *polygon.interiors)
    outer, *holes = (even_odd_region(np.asarray(ring.coords)[:-1, :2]) for ring in rings)
    return orient_valid(shapely.difference(outer, shapely.union_all(holes)))


def polygon_parts(geometry: BaseGeometry) -> list[Polygon]:
    """All non-empty polygons in a geometry, however nested."""
    found: list[Polygon] = []
    waiting = [geometry]
    while waiting:
        part = waiting.pop()
        if part.is_empty:
            continue
        if part.geom_type == "Polygon":
            found.append(part)
        elif part.geom_type in ("MultiPolygon", "GeometryCollection"):
            waiting.extend(reversed(part.geoms))
    return found


def ring_corners(geometry: BaseGeometry) -> list[Floats]:
    """Corners, shape (n, 2), of the closed rings of all polygons in a geometry, each after its
    shell."""
    rings = shapely.get_rings(polygon_parts(geometry))
    return [shapely.get_coordinates(ring) for ring in rings]


def polygons_of_rings(rings: NDArray[Any], owners: Ints) -> list[Polygon]:
    """Polygons of linear rings: of those with the same owner, in order, the first is the shell."""
    starts = np.flatnonzero(np.r_[True, owners[1:] != owners[:-1], True])
    return [Polygon(rings[a], rings[a + 1 : b].tolist()) for a, b in itertools.pairwise(starts)]


def contains_points(geometry: BaseGeometry, points: ArrayLike) -> Flags:
    """Which points polygons hold, exactly, bool of shape (n,); points on their boundary belong to
    them.

    The polygons are in the frame of the points, valid or not: a ring that crosses itself counts
    even-odd, parts may overlap (:mod:`geometry.rings`).  Points (x, y), int or float of shape (n,
    2), are exact up to 2**53 in size; ValueError for another shape.
    """
    given = np.asarray(points)
    if given.ndim != 2 or given.shape[1] != 2:
        raise ValueError(f"points need the shape (n, 2), got {given.shape}")
    rings, owner = shapely.get_rings(polygon_parts(geometry), return_index=True)
    corners, ring = shapely.get_coordinates(rings, return_index=True)
    apart = np.split(corners, np.flatnonzero(np.diff(ring)) + 1)
    starts = np.flatnonzero(np.diff(owner, prepend=-1)).tolist()
    polygons = [apart[i:j] for i, j in itertools.pairwise([*starts, len(rings)])]
    return held_points(polygons, given)


#: The side of the square in what corners are multiples of, at most.
_SIDE_BITS = 30

#: Corners (x, y) of a ring, in 1/units(d) grid unit, the first not repeated.
Ring = tuple[tuple[int, int], ...]


def units(d: int) -> int:
    """Into how many parts a unit of a grid of size d is divided for corners, a power of two: 2^20
    at d = 1024."""
    return 1 << (_SIDE_BITS - max(d - 1, 1).bit_length())


def cornered(shape: BaseGeometry, d: int) -> BaseGeometry:
    """A shape in grid units, each corner moved to the nearest that there is; nothing else."""
    moved: BaseGeometry = shapely.transform(shape, lambda xy: np.rint(xy * units(d)) / units(d))
    return moved


@dataclass(frozen=True, slots=True)
class Outline:
    """Polygons in the square of a grid of size d, of each the outer ring, then its holes; none at
    all hold no point.

    Raises ValueError if a polygon has no ring, a ring fewer than three corners, or a corner lies
    off the square.
    """

    d: int
    polygons: tuple[tuple[Ring, ...], ...]

    def __post_init__(self) -> None:
        if not all(self.polygons):
            raise ValueError("a polygon needs a ring")
        most = self.d * units(self.d)
        for ring in self._rings():
            if len(ring) < 3:
                raise ValueError(f"a ring of {len(ring)} corners is no polygon")
            if not all(0 <= x <= most and 0 <= y <= most for x, y in ring):
                raise ValueError(f"a corner lies off the square of side {self.d}")

    @classmethod
    def of(cls, shape: BaseGeometry, d: int) -> Outline:
        """A shape in grid units, its corners moved to the nearest that there are."""
        snapped = orient_valid(shapely.set_precision(orient_valid(shape), 1 / units(d)))
        parts = [part for part in shapely.get_parts(snapped) if not part.is_empty]
        rings = ((p.exterior, *p.interiors) for p in parts)
        return cls(d, tuple(tuple(_ring(ring, d) for ring in one) for one in rings))

    def polygon(self) -> BaseGeometry:
        """The same as a shapely geometry in grid units, as it is: valid, if it was made of one."""
        parts = [
            Polygon(rings[0], rings[1:])
            for rings in (
                [np.array(ring, dtype=np.float64) / units(self.d) for ring in polygon]
                for polygon in self.polygons
            )
        ]
        return parts[0] if len(parts) == 1 else MultiPolygon(parts) if parts else Polygon()

    @property
    def whole(self) -> bool:
        """Whether it is the square, as :meth:`of` makes it of that."""
        most = self.d * units(self.d)
        return self.polygons == ((((0, 0), (most, 0), (most, most), (0, most)),),)

    def holds(self, points: Ints) -> Flags:
        """Which grid points (n, 2) lie inside or on the boundary, shape (n,)."""
        polygons = [[np.array(ring, dtype=float) for ring in rings] for rings in self.polygons]
        return held_points(polygons, points * units(self.d))

    def segments(self) -> Floats:
        """x1, y1, x2, y2 of all sides in grid units, shape (m, 4)."""
        rings = [np.array(ring, dtype=np.float64) / units(self.d) for ring in self._rings()]
        sides = [np.hstack([ring, np.roll(ring, -1, axis=0)]) for ring in rings]
        return np.concatenate([np.empty((0, 4)), *sides])

    def _rings(self) -> list[Ring]:
        return [ring for polygon in self.polygons for ring in polygon]


def _ring(ring: BaseGeometry, d: int) -> Ring:
    corners = np.rint(shapely.get_coordinates(ring)[:-1] * units(d)).astype(np.int64)
    return tuple((x, y) for x, y in corners.tolist())


#: Half the equator's diameter in metres, and the square of the eccentricity, of WGS 84.
_RADIUS, _E2 = 6_378_137.0, (2 - 1 / 298.257223563) / 298.257223563
_NODES, _WEIGHTS = np.polynomial.legendre.leggauss(8)


def ground_area(shape: BaseGeometry) -> float:
    """The area in square metres, on the ellipsoid of WGS 84, of a valid shape in degrees within
    -180..180; lines have none.

    Edges are straight in degrees, as RFC 7946 has them, however long they are: the area between an
    edge and the equator is an integral of the area of a strip along a meridian, which has a closed
    form (Snyder, *Map Projections: A Working Manual*, 1987, equation 3-12).  An edge takes eight
    values of it (Gauss and Legendre); those of a quarter of the globe are off by less than 10^-10
    of it.  pyproj takes what a ring encloses for the smaller part of the globe: of a belt between
    60 degrees south and north it finds .16 (the tests compare it where it can be asked).
    """
    parts = polygon_parts(shape)
    if not parts:
        return 0.0
    rings, owners = shapely.get_rings(parts, return_index=True)
    lonlat, ring_of = shapely.get_coordinates(rings, return_index=True)
    lon, lat = np.radians(lonlat).T
    along = np.r_[ring_of[1:] == ring_of[:-1], False]
    start = np.flatnonzero(along)
    middle, half = (lat[start] + lat[start + 1]) / 2, (lat[start + 1] - lat[start]) / 2
    heights = sum(
        weight / 2 * _strip(middle + node * half)
        for node, weight in zip(_NODES, _WEIGHTS, strict=True)
    )
    swept = (lon[start + 1] - lon[start]) * heights
    areas = np.abs(np.bincount(ring_of[start], weights=swept, minlength=len(rings)))
    shells = np.r_[True, owners[1:] != owners[:-1]]
    return float(np.where(shells, areas, -areas).sum())


def _strip(latitude: Floats) -> Floats:
    """Square metres between the equator and a latitude, along a radian of longitude."""
    e, sine = np.sqrt(_E2), np.sin(latitude)
    found: Floats = (
        _RADIUS**2 * (1 - _E2) / 2 * (sine / (1 - _E2 * sine**2) + np.arctanh(e * sine) / e)
    )
    return found
