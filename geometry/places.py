"""Where points are, as people have them: arrays, data frames, GeoDataFrames and GeoSeries.

Nothing is imported for them: a data frame is known by its columns, one of geopandas by its
geometry and its reference system.  What a point becomes depends on that point and on public bounds
alone (docs/privacy.md, lemma T0).
"""

from __future__ import annotations

from typing import Any

import numpy as np
import shapely
from numpy.typing import NDArray

from geometry.crs import CrsError, settled_crs
from geometry.grid import Bounds


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
    """Coordinates of points, in the system of the bounds.

    Parameters
    ----------
    X : array, data frame, GeoDataFrame or GeoSeries
        Two columns are longitude and latitude, or easting and northing, in the system of the
        bounds.  Of geopandas it is the geometry that counts, in its own system; without one in
        that of the bounds.
    bounds : Bounds

    Returns
    -------
    ndarray
        As the array is; of geopandas float of shape (n, 2), NaN where there is no point or where
        the bounds' system does not reach.

    Raises
    ------
    ValueError
        If a geometry is no point, or columns are latitude and longitude.
    """
    if not has_geometry(X):
        _refuse_swapped(X)
        return unmasked(X)
    shapes = np.asarray(X.geometry.array, dtype=object)
    for row, what in odd_shapes(shapes).items():
        raise ValueError(f"row {row}: {what}, where a point was expected")
    points = single_points(shapes)
    xy = np.column_stack([shapely.get_x(points), shapely.get_y(points)]).astype(np.float64)
    try:
        return bounds.of_system(xy, bounds.crs if X.crs is None else settled_crs(X.crs.to_wkt()))
    except CrsError as error:
        raise ValueError(str(error)) from None


def _refuse_swapped(X: Any) -> None:
    """An array cannot be told from one in the other order; the names of columns can."""
    names = [str(name).strip().lower() for name in getattr(X, "columns", ())]
    if len(names) == 2 and names[0].startswith("lat") and names[1].startswith(("lon", "lng")):
        raise ValueError(
            f"columns are {', '.join(map(str, X.columns))}: longitude comes before latitude"
        )


def odd_shapes(shapes: NDArray[Any]) -> dict[int, str]:
    """What those are that are neither missing nor one point."""
    kinds = shapely.get_type_id(shapes)
    wrong = (kinds > 0) & ~((kinds == 4) & (shapely.get_num_geometries(shapes) == 1))
    return {int(i): f"a {shapes[i].geom_type}" for i in np.flatnonzero(wrong)}


def single_points(shapes: NDArray[Any]) -> NDArray[Any]:
    """Points as they are, and those that are alone in a MultiPoint."""
    alone = shapely.get_type_id(shapes) == 4
    return np.asarray(np.where(alone, shapely.get_geometry(shapes, 0), shapes))
