"""Defines the public frame of the examples: the integer grid and where on the globe it lies.

Both are public inputs.  Bounds are never taken from private examples: a box that
hugs the data would reveal its extreme points.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np

from geometry.arrays import Floats, Ints
from geometry.crs import LONLAT, CrsError, canonical_crs, is_degrees, reproject, turn_of
from geometry.errors import one_line, refusals


class BoundsError(ValueError):
    """A coordinate lies outside the public bounds, or the bounds themselves are unusable."""


#: No coordinate is as large; whole numbers may be beyond all floats.
_TOO_FAR = 1e300


@dataclass(frozen=True, slots=True)
class Bounds:
    """A public box of longitudes and latitudes, or of another coordinate reference system.

    In degrees south < north within -90..90, and west and east within -180..180: west > east is a
    box across the antimeridian, at most 180 degrees wide.  In another system west < east and
    south < north, in its units.

    Attributes
    ----------
    west, south, east, north : float
    crs : str
        As :func:`geometry.crs.canonical_crs` names it.

    Raises
    ------
    BoundsError
        If a value is not finite, out of range, or the box is empty; if the system is unknown, or
        the box lies beyond its reach.
    """

    west: float
    south: float
    east: float
    north: float
    crs: str = field(default=LONLAT, kw_only=True)

    def __post_init__(self) -> None:
        for name in ("west", "south", "east", "north"):
            if isinstance(value := getattr(self, name), np.generic):
                object.__setattr__(self, name, value.item())
        values = self.as_tuple()
        if not all(is_number(v) and abs(v) < _TOO_FAR for v in values):
            raise BoundsError(f"bounds {values} must be finite numbers")
        if self.crs != LONLAT:
            self._check_other_system()
            return
        if not (min(self.west, self.east) >= -180 and max(self.west, self.east) <= 180):
            raise BoundsError(
                f"bounds need west and east within -180..180, got west = {self.west}, "
                f"east = {self.east}"
            )
        if self.west == self.east or (self.crosses and not 0 < self.size[0] <= 180):
            raise BoundsError(
                f"bounds need -180 <= west < east <= 180, got west = {self.west}, "
                f"east = {self.east} (west > east is a box across the antimeridian, at most half "
                "the globe wide)"
            )
        if not (-90 <= self.south < self.north <= 90):
            raise BoundsError(
                f"bounds need -90 <= south < north <= 90, got south = {self.south}, "
                f"north = {self.north}"
            )

    def _check_other_system(self) -> None:
        with refusals("bounds", CrsError, BoundsError):
            canonical = canonical_crs(self.crs)
            if canonical != self.crs:
                raise BoundsError(f"bounds in {self.crs!r}: the system is called {canonical!r}")
            corners = reproject(np.array([self.low, self.high]), self.crs, LONLAT, self.middle)
        if not (self.west < self.east and self.south < self.north):
            raise BoundsError(f"bounds need west < east and south < north, got {self.as_tuple()}")
        if np.isnan(corners).any() or not self._reached():
            raise BoundsError(
                f"bounds {self.as_tuple()} lie beyond the reach of {self.crs[:40]}: take a smaller "
                "box, or a system that is made for there"
            )

    def _reached(self) -> bool:
        """Whether each place of the box is one of the globe, and no two the same."""
        sides = [np.linspace(a, b, 33) for a, b in zip(self.low, self.high, strict=True)]
        own = np.stack(np.meshgrid(*sides), axis=-1).reshape(-1, 2)
        lonlat = reproject(own, self.crs, LONLAT, self.middle)
        turn = abs(turn_of(self.crs))
        if np.abs(lonlat[:, 1]).max() > 90 + 1e-6 or (turn and self.size[0] > turn * (1 + 1e-6)):
            return False
        back = self.unrolled(reproject(lonlat, LONLAT, self.crs, self.middle))
        # there and back is a share of a grid step, or a centimetre: a conic map has a gap at a pole
        middle = lonlat[len(lonlat) // 2]
        beside = middle + [0.0, -0.01 if middle[1] > 0 else 0.01]
        kilometre = np.ptp(reproject(np.array([middle, beside]), LONLAT, self.crs), axis=0).max()
        return bool(np.abs(back - own).max() <= 2**-16 * min(self.size) + 1e-5 * kilometre)

    @classmethod
    def of_json(cls, data: Any) -> Bounds:
        """Bounds from what :meth:`to_json` made.

        Raises
        ------
        BoundsError
            If it is something else, or no bounds.
        """
        if (
            not isinstance(data, list)
            or len(data) not in (4, 5)
            or not all(map(is_number, data[:4]))
        ):
            raise BoundsError(f"must be four numbers, not {one_line(repr(data))}")
        if len(data) == 5 and not isinstance(data[4], str):
            raise BoundsError(f"a reference system must be a text, not {one_line(repr(data[4]))}")
        with refusals(kind=OverflowError, told=BoundsError):
            numbers = [float(value) for value in data[:4]]
            return cls(*numbers, crs=data[4] if len(data) == 5 else LONLAT)

    def to_json(self) -> list[float | str]:
        """The four numbers, and the system if it is not longitude and latitude on WGS 84."""
        return [*self.as_tuple(), *(() if self.crs == LONLAT else (self.crs,))]

    def as_tuple(self) -> tuple[float, float, float, float]:
        """(west, south, east, north) in the system's units."""
        return self.west, self.south, self.east, self.north

    @property
    def in_degrees(self) -> bool:
        """Whether the system's axes are longitude and latitude."""
        return is_degrees(self.crs)

    @property
    def crosses(self) -> bool:
        """Whether it lies across the antimeridian."""
        return self.west > self.east

    @property
    def low(self) -> tuple[float, float]:
        """The corner at (0, 0) of a grid."""
        return self.west, self.south

    @property
    def high(self) -> tuple[float, float]:
        """The opposite corner; across the antimeridian longitudes go on after 180."""
        return self.east + 360 if self.crosses else self.east, self.north

    @property
    def size(self) -> tuple[float, float]:
        """Width and height of the box, in the units of its coordinate system."""
        return self.high[0] - self.west, self.north - self.south

    @property
    def middle(self) -> tuple[float, float]:
        """Its middle, which chooses the operation to degrees for all of it (`crs.reproject`)."""
        return (self.west + self.high[0]) / 2, (self.south + self.north) / 2

    def middle_in(self, crs: str) -> tuple[float, float]:
        """Where its middle lies in a system: what lies there is moved to the box as it is."""
        if crs == self.crs:
            return self.middle
        x, y = reproject(self.to_lonlat(np.array([self.middle])), LONLAT, crs)[0].tolist()
        return x, y

    @property
    def aspect(self) -> float:
        """Width over height on the ground, at the middle latitude; within 0.1..10."""
        # a step of longitude is shorter the nearer it is to a pole; other units are lengths
        middle = math.radians((self.south + self.north) / 2)
        cosine = max(math.cos(middle), 0.05) if self.in_degrees else 1.0
        width, height = self.size
        return min(max(width * cosine / height, 0.1), 10.0)

    def spanned_by(self, own: Floats) -> bool:
        """Whether it is the extent of points of its own system, shape (n, 2), to nine digits."""
        if not len(own):
            return False
        own, near = self.unrolled(own), 1e-9 * np.array(self.size)
        # column by column: along the other axis it takes numpy twenty times as long
        ends = [(x.min() - low, x.max() - high)
                for x, low, high in zip(own.T, self.low, self.high, strict=True)]  # fmt: skip
        return bool((np.abs(np.transpose(ends)) <= near).all())

    def unrolled(self, own: Floats) -> Floats:
        """Coordinates of the box's own system, (n, 2), with longitudes that go on after 180.

        So does the first coordinate of any system that begins again after a turn.
        """
        if self.crs == LONLAT and not self.crosses:
            return own
        on = own[:, 0] + abs(turn_of(self.crs))
        within = on <= self.high[0] + 1e-9 * self.size[0]
        wrapped = (own[:, 0] < self.west) & (self.crosses | within)
        return np.column_stack([np.where(wrapped, on, own[:, 0]), own[:, 1]])

    def nearest(self, own: Floats) -> Floats:
        """The nearest places of the box to such coordinates, (n, 2); degrees go round the globe."""
        x, turn = own[:, 0], abs(turn_of(self.crs))

        def beyond(x: Floats) -> Floats:
            return np.maximum(self.west - x, x - self.high[0])

        for other in (own[:, 0] - turn, own[:, 0] + turn):
            x = np.where(beyond(other) < beyond(x), other, x)
        return np.column_stack([x, own[:, 1]]).clip(self.low, self.high)

    def rolled(self, own: Floats) -> Floats:
        """What :meth:`unrolled` made, with longitudes within -180..180 again."""
        return np.where(own > 180, own - 360, own) if self.crosses else own

    def of_lonlat(self, lonlat: Floats) -> Floats:
        """Degrees (lon, lat), shape (n, 2), in the box's own system; NaN beyond its reach."""
        return self.of_system(np.asarray(lonlat, dtype=np.float64), LONLAT)

    def of_system(self, xy: Floats, crs: str) -> Floats:
        """Points of a system, shape (n, 2), in the box's own; NaN beyond its reach."""
        own = self.reached(xy, crs)
        return self.unrolled(own) if self.crs == crs else self.held(own)

    def reached(self, xy: Floats, crs: str) -> Floats:
        """As :meth:`of_system`, but not held: what rounding puts beyond the border stays there."""
        return reproject(xy, crs, self.crs, self.middle_in(self.crs if crs == LONLAT else crs))

    def held(self, own: Floats) -> Floats:
        """Points that come from another system, with those by the border on it, shape (n, 2).

        The way there and back is rounded, and PROJ's between datums is off by a millimetre: a point
        of the border must not fall out of the box.
        """
        own = self.unrolled(own)
        held = own.clip(self.low, self.high)
        by = 1e-9 * np.array(self.size) + (2e-8 if self.in_degrees else 2e-3)
        return np.where(np.abs(held - own) <= by, held, own)

    def to_lonlat(self, own: Floats) -> Floats:
        """Coordinates of the box's own system, shape (n, 2), in degrees (lon, lat).

        Longitudes may go on after 180 or before -180, so that a shape stays in one piece.
        """
        degrees = reproject(own, self.crs, LONLAT, self.middle)
        if self.crs == LONLAT or not len(degrees):
            return degrees
        middle = reproject(np.array([self.middle]), self.crs, LONLAT, self.middle)[0, 0]
        turns = np.rint((middle - degrees[:, 0]) / 360)
        return np.column_stack([degrees[:, 0] + 360 * turns, degrees[:, 1]])


def is_number(value: Any) -> bool:
    """Whether a value is a number of Python's, and no truth value."""
    return isinstance(value, int | float) and not isinstance(value, bool)


@dataclass(frozen=True, slots=True)
class GridMap:
    """Affine map between the grid {0..d}^2 and public bounds, in the system of these.

    x = 0 is west, x = d east, y = 0 south, y = d north.
    """

    d: int
    bounds: Bounds

    def to_lonlat(self, xy: Floats) -> Floats:
        """Grid coordinates, shape (n, 2), to degrees (lon, lat), shape (n, 2).

        Longitudes may go on after 180 or before -180, so that a shape stays in one piece.
        """
        return self.bounds.to_lonlat(self.to_own(xy))

    def to_own(self, xy: Floats) -> Floats:
        """Grid coordinates, shape (n, 2), in the system of the bounds, shape (n, 2)."""
        b = self.bounds
        xy = np.asarray(xy, dtype=np.float64)
        out: Floats = np.array(b.low) + xy * (np.array(b.size) / self.d)
        # rounding may step over the edge, and then the point could not be read back
        return np.clip(out, b.low, b.high)

    def to_grid(self, lonlat: Floats) -> Ints:
        """Degrees (lon, lat), shape (n, 2), to the nearest grid point, shape (n, 2) int64.

        Raises
        ------
        BoundsError
            If a coordinate is outside the bounds; the message names the first such row.
        """
        return self.own_to_grid(self.bounds.of_lonlat(lonlat))

    def own_to_grid(self, own: Floats) -> Ints:
        """Coordinates of the bounds' own system, (n, 2), to the nearest grid point; errors as
        :meth:`to_grid`."""
        b = self.bounds
        own = b.unrolled(np.asarray(own, dtype=np.float64))
        within = (own >= b.low) & (own <= b.high)
        if not within.all():
            row = int(np.flatnonzero(~within.all(axis=1))[0])
            first, second = own[row]
            raise BoundsError(
                f"row {row}: ({first}, {second}) is outside the bounds {b.as_tuple()}"
            )
        return np.rint(self.own_to_grid_float(own)).astype(np.int64)

    def own_to_grid_float(self, own: Floats) -> Floats:
        """Coordinates of the bounds' own system, (n, 2), to real grid coordinates."""
        return np.asarray((own - np.array(self.bounds.low)) * (self.d / np.array(self.bounds.size)))


@dataclass(frozen=True, slots=True)
class Frame:
    """The public frame of examples: a grid {0..d}^2 and where it lies, if anywhere.

    Attributes
    ----------
    d : int
        Grid size.
    bounds : Bounds or None
        Public bounds; None for a grid that is nowhere on the globe.
    """

    d: int
    bounds: Bounds | None = None

    @property
    def place(self) -> GridMap | None:
        """From the grid to where it lies, if anywhere."""
        return None if self.bounds is None else GridMap(self.d, self.bounds)


#: Bounds, or their four numbers west, south, east, north.
Box = Bounds | Sequence[float]


def checked_bounds(box: Box, crs: str | None = None) -> Bounds:
    """Bounds of four numbers in a system by any of its names; bounds as they are.

    Raises
    ------
    BoundsError
        If they are none, there is no such system, or one is told of bounds that have theirs.
    """
    if isinstance(box, Bounds):
        if crs is not None:
            raise BoundsError("crs is the system of four numbers; these bounds have their own")
        return box
    try:
        numbers = [float(value) for value in box]
    except (TypeError, ValueError, OverflowError):
        numbers = []
    if len(numbers) != 4:
        given = one_line(repr(box))
        raise BoundsError(f"bounds are four numbers west, south, east, north, not {given}")
    with refusals(kind=CrsError, told=BoundsError):
        return Bounds(*numbers, crs=LONLAT if crs is None else canonical_crs(crs))


#: Names of coordinates, without signs and capitals, by what they mean, and whether these are places
#: on a grid, or in degrees or the units of bounds; earlier ones are preferred.
NAMES_OF_AXES: tuple[tuple[tuple[str, ...], tuple[str, ...], Literal["grid", "degrees"]], ...] = (
    (("x",), ("y",), "grid"),
    (("lon", "lng", "long", "longitude"), ("lat", "latitude"), "degrees"),
    (("pointx",), ("pointy",), "degrees"),
    (("easting", "east"), ("northing", "north"), "grid"),
    (("col", "column"), ("row",), "grid"),
)


def plain_name(name: str) -> str:
    """A column's name without signs and capitals."""
    return "".join(c for c in name.casefold() if c.isalnum())
