"""Reads where points are, as people have them: arrays, data frames, GeoDataFrames and GeoSeries.

Nothing is imported for them: a data frame is known by its columns, one of geopandas by its
geometry and its reference system.  What a point becomes depends on that point and on public bounds
alone (docs/privacy.md, lemma T0).
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import shapely
from numpy.typing import NDArray

from geometry.arrays import Floats, Ints
from geometry.crs import CrsError, canonical_crs
from geometry.errors import refusals
from geometry.geojson_reading import short
from geometry.grid import NAMES_OF_AXES, Bounds, plain_name


def unmasked(values: Any) -> NDArray[Any]:
    """Values as an array; of a masked array only if nothing is masked.

    Raises
    ------
    ValueError
        With the first row that is masked: what lies under a mask is not to be counted.
    """
    if isinstance(values, np.ma.MaskedArray):
        mask = np.ma.getmaskarray(values)
        if mask.any():
            row = int(np.argwhere(mask)[0, 0]) if mask.ndim else 0
            raise ValueError(f"row {row} is masked: leave such rows out, X[~mask] and y[~mask]")
    return np.asarray(values)


def has_geometry(X: object) -> bool:
    """Whether something is a GeoDataFrame or a GeoSeries of geopandas."""
    return hasattr(X, "geometry") and hasattr(X, "crs")


def coordinates(X: Any, bounds: Bounds) -> NDArray[Any]:
    """Coordinates of points, in the system of the bounds, of an array, a data frame, a GeoDataFrame
    or a GeoSeries.

    Two columns are longitude and latitude, or easting and northing, in the system of the bounds;
    what comes of them is as the array is.  Of geopandas it is the geometry that counts, in its own
    system; without one in that of the bounds: float of shape (n, 2), NaN where there is no point or
    where the bounds' system does not reach.  Raises ValueError if a geometry is no point.
    """
    if not has_geometry(X):
        return unmasked(X)
    shapes = np.asarray(X.geometry.array, dtype=object)
    for row, what in odd_shapes(shapes).items():
        raise ValueError(f"row {row}: {what.removeprefix('is ')}")
    with refusals(kind=CrsError, told=ValueError):
        crs = bounds.crs if X.crs is None else canonical_crs(X.crs.to_wkt())
        return bounds.of_system(_xy(shapes), crs)


def refuse_swapped(X: Any) -> None:
    """Refuse a data frame whose first two columns are called as the second and the first of a
    point; an array cannot be told from one in the other order.

    Raises
    ------
    ValueError
        Which columns, and how they go.
    """
    names = [] if has_geometry(X) else [str(name) for name in getattr(X, "columns", ())[:2]]
    plain = [plain_name(name) for name in names]
    for first, second, _ in NAMES_OF_AXES if len(plain) == 2 else ():
        if plain[0].startswith(second) and plain[1].startswith(first):
            raise ValueError(
                f"columns are {', '.join(names)}: {names[1]} comes before {names[0]}; give them in "
                "that order"
            )


@dataclass(frozen=True, slots=True)
class Places:
    """Where the points of a column of geometries are: `xy`, float of shape (n, 2), NaN where there
    is none; `faults`, why a geometry is no point; and `systems`, int of shape (n,), the code of
    EPSG that a geometry states for itself, 0 where it states none."""

    xy: Floats
    faults: dict[int, str]
    systems: Ints


_EMPTY = "is an empty point, without coordinates"
_SRID = re.compile(r"\s*SRID=(\d{1,9});", re.IGNORECASE)
_HEX = re.compile(r"\s*(?:0[01](?:[0-9a-f]{2})+)\s*", re.IGNORECASE)


#: How WKB of two coordinates begins where the lower byte comes first, and its length.
_HEAD, _LENGTH = np.array([1, 1, 0, 0, 0], dtype=np.uint8), 21


def points_of_wkb(data: Any, sizes: Any) -> Floats | None:
    """Coordinates, shape (n, 2), of WKB one after the other, each of so many bytes; None if one is
    no point of two finite coordinates, or written in another way."""
    if set(sizes) != {_LENGTH}:
        return None
    rows = np.frombuffer(data, dtype=np.uint8).reshape(-1, _LENGTH)
    xy = np.ascontiguousarray(rows[:, 5:]).view("<f8").astype(np.float64, copy=False)
    plain = (rows[:, :5] == _HEAD).all() and np.isfinite(xy).all()
    return xy if plain else None


def read_places(values: Sequence[Any] | NDArray[Any]) -> Places:
    """Points of geometries in any of the forms that tables have.

    Parameters
    ----------
    values : sequence, shape (n,), or ndarray of float, shape (n, 2)
        Shapely's, WKB as bytes or in hexadecimal digits, WKT, each with a system (SRID) or not;
        objects of GeoJSON; records of x and y; None.  Or their finite coordinates.
    """
    n = len(values)
    plain = values if isinstance(values, np.ndarray) and values.ndim == 2 else None
    if plain is None and set(map(type, values)) == {bytes}:
        plain = points_of_wkb(b"".join(values), map(len, values))
    if plain is not None:
        return Places(plain, {}, np.zeros(n, dtype=np.int64))
    shapes, systems = np.empty(n, dtype=object), np.zeros(n, dtype=np.int64)
    faults: dict[int, str] = {}
    forms: dict[str, list[int]] = {"wkt": [], "wkb": []}
    raw = list(values)
    for i, value in enumerate(raw):
        if isinstance(value, str):
            stated = _SRID.match(value)
            if stated:
                systems[i] = int(stated[1])
                raw[i] = value = value[stated.end() :]
            hexadecimal = _HEX.fullmatch(value)
            if hexadecimal:
                raw[i] = bytes.fromhex(value.strip())
            forms["wkb" if hexadecimal else "wkt"].append(i)
        elif isinstance(value, bytes):
            forms["wkb"].append(i)
        elif isinstance(value, dict):
            shapes[i] = _point_of(value, i, faults)
        elif isinstance(value, shapely.Geometry):
            shapes[i] = value
        elif value is not None and value == value:
            faults[i] = f"{_cut(value)!r} is not a point"
    for form, read in (("wkt", shapely.from_wkt), ("wkb", shapely.from_wkb)):
        some = forms[form]
        given = np.array([raw[i] for i in some] + [None], dtype=object)[:-1]
        with np.errstate(all="ignore"):  # a coordinate of 1e400 is found with the others
            found = read(given, on_invalid="ignore")
        shapes[some] = found
        for i in np.array(some, dtype=np.int64)[shapely.is_missing(found)].tolist():
            if form == "wkb" or raw[i].strip():
                faults[i] = f"{_cut(values[i])!r} is not a point"
    own = shapely.get_srid(shapes)
    systems = np.where((systems == 0) & (own > 0), own, systems)
    odd = odd_shapes(shapes)
    shapes[list(odd)] = None
    for i in np.flatnonzero(shapely.is_missing(shapes)).tolist():
        faults.setdefault(i, odd.get(i, "is empty"))
    xy = _xy(shapes)
    for i in np.flatnonzero(~np.isfinite(xy).all(axis=1)).tolist():
        faults.setdefault(i, "is a point whose coordinates are not finite")
    return Places(xy, faults, systems)


def _point_of(value: dict[str, Any], i: int, faults: dict[int, str]) -> Any:
    """The point of a record or of an object of GeoJSON; None with a fault if it is none."""
    kind, at = value.get("type"), value.get("coordinates")
    if "type" not in value:
        at = [value.get("x"), value.get("y")]
    elif kind == "MultiPoint" and isinstance(at, list) and len(at) == 1:
        at = at[0]
    elif kind != "Point":
        several = f" of {len(at)} points" if kind == "MultiPoint" and isinstance(at, list) else ""
        faults[i] = _odd(kind, several) if isinstance(kind, str) else f"{short(value)} is no point"
        return None
    if not isinstance(at, list) or len(at) < 2 or None in at[:2]:
        faults[i] = _EMPTY
        return None
    for number in at[:2]:
        if isinstance(number, bool) or not isinstance(number, int | float):
            faults[i] = f"{short(number)} is not a number"
            return None
        try:
            finite = abs(float(number)) < np.inf
        except OverflowError:
            finite = False
        if not finite:
            faults[i] = f"{short(number)} is not finite"
            return None
    return shapely.Point(float(at[0]), float(at[1]))


def odd_shapes(shapes: NDArray[Any]) -> dict[int, str]:
    """What those are that are neither missing nor one point."""
    kinds, parts = shapely.get_type_id(shapes), shapely.get_num_geometries(shapes)
    alone = (kinds == 0) | ((kinds == 4) & (parts == 1))
    empty = alone & shapely.is_empty(shapes)
    odd = {int(i): _EMPTY for i in np.flatnonzero(empty)}
    for i in np.flatnonzero((kinds >= 0) & ~alone).tolist():
        several = f" of {parts[i]} points" if kinds[i] == 4 else ""
        odd[i] = _odd(shapes[i].geom_type, several)
    return dict(sorted(odd.items()))


def _odd(kind: str, several: str) -> str:
    split = ": make single points of it" if several else ""
    return f"is a {kind[:40]}{several}, where a point was expected{split}"


def _cut(value: Any) -> str:
    text = value.hex() if isinstance(value, bytes) else str(value).strip()
    return text if len(text) <= 40 else text[:37] + "..."


def _xy(shapes: NDArray[Any]) -> Floats:
    """Of points, and of those that are alone in a MultiPoint; NaN where there is none."""
    alone = shapely.get_type_id(shapes) == 4
    points = np.where(alone, shapely.get_geometry(shapes, 0), shapes)
    return np.column_stack([shapely.get_x(points), shapely.get_y(points)]).astype(np.float64)
