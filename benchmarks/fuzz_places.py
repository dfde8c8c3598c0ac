"""What else is fuzzed: where shapes lie on the globe.

An input is a number, which says all: a system of EPSG and a box in it, across 180 degrees or a
pole as often as not, and polygons in degrees, in the box or in another one.  Each is brought to
where it is used and points of the grid are judged: by pyproj, which says where they are, and by
shapely, which says whether they are inside there.  A point counts as wrong if all that is nearer to
it than :data:`NEAR` has the other label.  The first use of a system takes PROJ up to seconds: give
`--patience 60`.
"""

from __future__ import annotations

import contextlib
import functools
import math
from typing import Any

import numpy as np
import shapely
import shapely.geometry
from fuzz_kinds import Broken, Kind, must
from fuzz_mutations import Random
from numpy.typing import NDArray
from pyproj.exceptions import ProjError
from shapely.geometry.base import BaseGeometry

from geodp_app.document.examples import Frame
from geodp_app.document.sampling import place_target
from geodp_app.document.targets import GridChange
from geodp_app.drawing.shapes import Drawing
from geometry.crs import LONLAT, CrsError, canonical_crs
from geometry.geojson import GeoJSONError, target_of
from geometry.geojson_write import feature_collection
from geometry.globe import on_grid
from geometry.grid import Bounds, BoundsError, GridMap

#: In grid steps.
NEAR = 1 / 64
#: Points that are judged of an input.
_POINTS = 300
#: Systems that are tried, and so many of them by one process: to find the way to one takes PROJ
#: some tenths of a second.
_SYSTEMS, _AT_ONCE = 492, 12
#: Systems that show a pole, or go across 180 degrees.
_SPECIAL = (
    "EPSG:3413", "EPSG:3031", "EPSG:3995", "EPSG:3976", "EPSG:5041", "EPSG:5042", "EPSG:3573",
    "EPSG:3035", "EPSG:32633", "EPSG:32601", "EPSG:32660", "EPSG:3832", "EPSG:3460", "EPSG:3857",
    "EPSG:4269", "EPSG:5070", "EPSG:6931", "EPSG:6932", "EPSG:2193", "EPSG:3338",
)  # fmt: skip

_Points = NDArray[np.float64]


@functools.cache
def codes() -> tuple[str, ...]:
    """Systems of EPSG with two axes, but for those that are deprecated."""
    from pyproj.database import query_crs_info
    from pyproj.enums import PJType

    kinds = [PJType.PROJECTED_CRS, PJType.GEOGRAPHIC_2D_CRS]
    return tuple(
        f"EPSG:{each.code}"
        for each in query_crs_info(auth_name="EPSG", pj_types=kinds)
        if each.area_of_use is not None
    )


@functools.cache
def _transformer(source: str, target: str) -> Any:
    from pyproj import Transformer

    return Transformer.from_crs(source, target, always_xy=True)


def _moved(xy: _Points, source: str, target: str) -> _Points:
    return (
        xy if source == target else np.column_stack(_transformer(source, target).transform(*xy.T))
    )


def _moved_there(
    xy: _Points, crs: str, at: _Points, back: bool = False, to: str = LONLAT
) -> _Points:
    """Of a system in another, or back, by the operation that PROJ uses at a place of the first."""
    if crs == to:
        return xy
    way = _transformer(crs, to)
    way.transform(*at)
    with contextlib.suppress(ProjError):  # some that are alone are not told
        way = way.get_last_used_operation()
    return np.column_stack(way.transform(*xy.T, direction="INVERSE" if back else "FORWARD"))


def random_box(rng: np.random.Generator, number: int) -> Bounds:
    """A box of a random system that is in use there, or across what is hard.

    Raises
    ------
    BoundsError, CrsError
        If it is none.
    """
    choice = rng.integers(4)
    if choice == 0:
        west, width = rng.uniform(100, 180), rng.uniform(1, 170)
        east, south = west + width, rng.uniform(-90, 85)
        wrapped = east - 360 if east > 180 else east
        return Bounds(west, south, wrapped, min(90.0, south + rng.uniform(0.5, 60)))
    pick = number % _SYSTEMS
    name = _SPECIAL[pick % len(_SPECIAL)] if choice == 1 else codes()[pick * 7919 % len(codes())]
    from pyproj import CRS

    area = CRS.from_user_input(name).area_of_use
    crs = canonical_crs(name)
    east = area.east + 360 if area.west > area.east else area.east
    at = np.array([[rng.uniform(area.west, east), rng.uniform(area.south, area.north)]])
    if rng.random() < 0.3:
        at[0, 1] = rng.choice([-90, 90]) if abs(at[0, 1]) > 50 else at[0, 1]
    x, y = _moved(at, "OGC:CRS84", crs)[0]
    near = _moved(at + [[0.0, -0.01 if at[0, 1] > 0 else 0.01]], "OGC:CRS84", crs)[0]
    degree = 100 * math.hypot(near[0] - x, near[1] - y)
    width, height = degree * np.exp(rng.uniform(np.log(0.05), np.log(40), 2))
    if not math.isfinite(x + y + degree):
        raise BoundsError("beyond the system")
    return Bounds(x - width / 2, y - height / 2, x + width / 2, y + height / 2, crs=crs)


def random_rings(
    rng: np.random.Generator, centre: _Points, size: _Points, whole: bool
) -> BaseGeometry:
    """A star or a rectangle, perhaps with a hole, of vertices at random or all whole."""
    if rng.random() < 0.3:
        low, high = centre - size * rng.uniform(0, 1, 2), centre + size * rng.uniform(0.05, 1, 2)
        shape: BaseGeometry = shapely.box(*low, *high)
    else:
        n = int(rng.integers(3, 12))
        ways = np.sort(rng.uniform(0, 2 * np.pi, n))
        far = rng.uniform(0.2, 1, (n, 1)) * size
        star = shapely.Polygon(centre + far * np.column_stack([np.cos(ways), np.sin(ways)]))
        shape = shapely.make_valid(star).buffer(0)
    if rng.random() < 0.4:
        shape = shape.difference(shapely.Point(centre).buffer(size.min() * 0.15, quad_segs=3))
    if whole:
        shape = shapely.transform(shape, np.rint)
    try:
        return shapely.make_valid(shape).buffer(0)
    except shapely.errors.GEOSException:  # GEOS's own fault, of few stars
        return shapely.make_valid(shape, method="structure").buffer(0)


def judge(truth: Any, got: NDArray[np.bool_], points: _Points, what: str) -> None:
    """Refuse labels that are wrong, of grid points that are not by an edge.

    Parameters
    ----------
    truth : callable
        Labels of places on the grid, shape (n, 2); it returns bool of shape (n,).
    got : ndarray of bool, shape (n,)
    points : ndarray, shape (n, 2)
    what : str
    """
    wrong = np.flatnonzero(truth(points) != got)
    ways = np.linspace(0, 2 * np.pi, 400)
    for i in wrong:
        for far in (NEAR, NEAR / 8):
            beside = points[i] + far * np.column_stack([np.cos(ways), np.sin(ways)])
            if (truth(beside) == got[i]).any():
                break
        else:
            must(False, f"{what}: the label of {points[i].tolist()} is wrong")


def _inside(shape: BaseGeometry, xy: _Points) -> NDArray[np.bool_]:
    shapely.prepare(shape)
    held: NDArray[np.bool_] = shapely.intersects_xy(shape, xy[:, 0], xy[:, 1])
    return held


def _inside_turned(shape: BaseGeometry, lonlat: _Points) -> NDArray[np.bool_]:
    """Whether degrees are inside of a shape whose longitudes may be of any turn."""
    lon, held = lonlat[:, 0] % 360, np.zeros(len(lonlat), dtype=np.bool_)
    for turn in (-720, -360, 0, 360, 720):
        held |= _inside(shape, np.column_stack([lon + turn, lonlat[:, 1]]))
    return held


@functools.cache
def _in_turns(crs: str) -> bool:
    """Whether a system's first coordinate is a longitude in degrees."""
    from pyproj import CRS

    system = CRS.from_user_input(crs)
    return bool(system.is_geographic and system.axis_info[0].unit_name == "degree")


def _own(place: GridMap, points: _Points) -> _Points:
    box = place.bounds
    return np.array(box.low) + points * (np.array(box.size) / place.d)


def _degrees(place: GridMap, points: _Points) -> _Points:
    middle = _own(place, np.full((1, 2), place.d / 2))[0]
    return _moved_there(_own(place, points), place.bounds.crs, middle)


def _grid_points(rng: np.random.Generator, d: int) -> _Points:
    return rng.integers(0, d + 1, (_POINTS, 2)).astype(np.float64)


def _beside_poles(place: GridMap, points: _Points) -> _Points:
    """Those that are no pole: that has every longitude, and what meets it there holds it."""
    return points[~(np.abs(_degrees(place, points)[:, 1]) > 90 - 1e-6)]


def _cut(shape: BaseGeometry, rng: np.random.Generator) -> BaseGeometry:
    """A shape of any turn as people write it: from 0 to 360, or cut at 180."""
    west, _, east, _ = shape.bounds
    if west >= -360 and east <= 360 and rng.random() < 0.5:
        return shape
    parts = []
    for turn in range(math.floor((west + 180) / 360), math.floor((east + 180) / 360) + 1):
        strip = shapely.box(360 * turn - 180, -90, 360 * turn + 180, 90)
        part = shapely.intersection(shape, strip)
        parts.append(shapely.transform(part, lambda xy, by=360.0 * turn: xy - (by, 0.0)))
    polygons = [p for part in parts for p in shapely.get_parts(part) if p.geom_type == "Polygon"]
    return shapely.union_all(polygons)


def read_in_degrees(rng: np.random.Generator, place: GridMap) -> str:
    """A map in degrees, read into the box."""
    middle = _degrees(place, np.full((1, 2), place.d / 2))[0]
    corners = _degrees(place, place.d * np.array([[0.0, 0], [1, 0], [0, 1], [1, 1]]))
    size = np.maximum(np.abs((corners - middle + 180) % 360 - 180).max(axis=0), 0.01)
    size = np.minimum(size * rng.uniform(0.3, 3), [170, 90])
    shape = random_rings(rng, middle + size * rng.uniform(-0.5, 0.5, 2), size, False)
    shape = shapely.segmentize(shape.intersection(shapely.box(-540, -90, 540, 90)), 170)
    if shape.is_empty:
        return "refused"
    written = _cut(shape, rng)
    kinds = ("Polygon", "MultiPolygon")
    if written.is_empty or written.geom_type not in kinds or not written.is_valid:
        return "refused"
    # what is cut and united again is what is judged
    held = written
    document = shapely.geometry.mapping(shapely.segmentize(written, 170))
    target = target_of(_listed(document), "a")
    try:
        drawn, _ = place_target(target, place.d, place.bounds)
    except GeoJSONError as error:
        raise error.__context__ or error from None
    points = _grid_points(rng, place.d)
    points = _beside_poles(place, points)
    judge(
        lambda xy: _inside_turned(held, _degrees(place, xy)),
        _inside(drawn, points),
        points,
        "a map in degrees",
    )
    return "read"


def _listed(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _listed(each) for key, each in value.items()}
    return [_listed(each) for each in value] if isinstance(value, tuple | list) else value


def written_in_degrees(rng: np.random.Generator, place: GridMap) -> str:
    """A shape of the grid, written as GeoJSON."""
    d = place.d
    shape = random_rings(rng, rng.uniform(0, d, 2), rng.uniform(0.2, 1, 2) * d, True)
    shape = shape.intersection(shapely.box(0, 0, d, d)).buffer(0)
    if shape.is_empty:
        return "refused"
    try:
        document = feature_collection(shape, Frame(d, place.bounds), member={})
    except GeoJSONError as error:
        # what was learned must be kept: bounds that cannot be written are none
        must(False, f"{place.bounds}: refused after the draw: {error}")
    parts = [shapely.geometry.shape(each["geometry"]) for each in document["features"]]
    must(all(part.is_valid for part in parts), "what is written is not valid")
    west, south, east, north = document.get("bbox", (0, 0, 0, 0))
    for part in parts:
        left, low, right, high = part.bounds
        must(-180 <= left <= right <= 180 and -90 <= low <= high <= 90, "beyond the degrees")
        must(south <= low and high <= north, "the bbox is too small")
        must(west > east or west <= left <= right <= east, "the bbox is too narrow")
        for ring in (each for p in shapely.get_parts(part) for each in (p.exterior, *p.interiors)):
            steps = np.diff(shapely.get_coordinates(ring)[:, 0])
            must(np.abs(steps).max() <= 180, "an edge over half the globe")
    points = _grid_points(rng, d)
    whole = shapely.union_all(parts)
    judge(
        lambda xy: _inside(shape, xy),
        _inside_turned(whole, _degrees(place, points)),
        points,
        "what is written",
    )
    return "read"


def from_another_box(rng: np.random.Generator, place: GridMap, number: int) -> str:
    """A shape of another box: a layer in its system, and a drawing whose frame changes."""
    other = place.bounds
    if rng.random() < 0.8:
        other = random_box(rng, number // _SYSTEMS)
    there = GridMap(place.d, other)
    d = place.d
    shape = random_rings(rng, rng.uniform(0, d, 2), rng.uniform(0.2, 1, 2) * d, True)
    shape = shape.intersection(shapely.box(0, 0, d, d)).buffer(0)
    if shape.is_empty:
        return "refused"
    own = shapely.transform(shape, lambda xy: _own(there, xy))
    got = on_grid(own, other.crs, place)
    at = _moved(_degrees(place, np.full((1, 2), d / 2)), LONLAT, other.crs)[0]
    points = _beside_poles(place, _grid_points(rng, d))

    def truth(xy: _Points, by_degrees: bool = False) -> NDArray[np.bool_]:
        if other.crs == place.bounds.crs:
            here = _own(place, xy)
            turned = _in_turns(other.crs)
            return _inside_turned(own, here) if turned else _inside(own, here)
        if by_degrees or LONLAT in (other.crs, place.bounds.crs):
            here = _moved_there(_degrees(place, xy), other.crs, at, back=True)
        else:  # as points go that are brought from the one to the other
            here = _moved_there(_own(place, xy), other.crs, at, True, place.bounds.crs)
        if _in_turns(other.crs):
            return _inside_turned(own, here)
        finite = np.isfinite(here).all(axis=1)
        # another turn of a cylinder is beyond the box, or the box is of that turn
        return np.asarray(_inside(own, np.where(finite[:, None], here, 1e30)))

    try:
        judge(truth, _inside(got, points), points, "from another box")
    except Broken:
        # PROJ has two ways between systems: polygons that hold a pole take that by degrees
        tips = _moved(np.array([[0.0, 90.0], [0.0, -90.0]]), LONLAT, other.crs)
        west, south, east, north = own.bounds
        if not any(west <= x <= east and south <= y <= north for x, y in tips.tolist()):
            raise
        by_degrees = functools.partial(truth, by_degrees=True)
        judge(by_degrees, _inside(got, points), points, "from another box")
    frames = Frame(d, other), Frame(d, place.bounds)
    drawing = Drawing.of(shape, d)
    must(GridChange(*frames).drawing(drawing).region().is_valid, "the drawing is not valid")
    return "read"


def run_places(data: bytes) -> str:
    """One box, and shapes that come to it and leave it."""
    try:
        number = int(data)
    except ValueError:
        return "refused"
    rng = np.random.default_rng(abs(number))
    try:
        place = GridMap(int(rng.choice([64, 1024])), random_box(rng, abs(number)))
    except (BoundsError, CrsError, ProjError):
        return "refused"
    choice = rng.integers(3)
    try:
        if choice == 0:
            return read_in_degrees(rng, place)
        if choice == 1:
            return written_in_degrees(rng, place)
        return from_another_box(rng, place, abs(number))
    except ProjError:
        return "refused"
    except (BoundsError, CrsError, GeoJSONError) as error:
        must("reaches over its edge" not in str(error), f"{place.bounds}: {error}")
        return "refused"


def place_seeds() -> list[bytes]:
    """Numbers to begin with."""
    codes()
    return [str(number).encode() for number in range(20)]


_part: list[int] = []


def another_number(_data: bytes, rng: Random, _seeds: list[bytes]) -> bytes:
    """Any number whose systems are of this process's part."""
    parts = _SYSTEMS // _AT_ONCE
    if not _part:  # a process begins
        _part.append(rng.randrange(parts))
    first, second = (_part[0] + parts * rng.randrange(_AT_ONCE) for _ in range(2))
    return str(first + _SYSTEMS * (second + _SYSTEMS * rng.randrange(2**30))).encode()


KINDS = {"places": Kind("places", place_seeds, another_number, run_places, framed=True)}
