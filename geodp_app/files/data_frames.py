"""Reads points of pandas or geopandas data frames, as files of points are read.

Nothing is imported: a data frame is known by its columns, a geopandas one by its geometry.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from geodp_app.errors import InputError
from geodp_app.files.csv_table import geometry_column
from geodp_app.files.import_file import ImportFile
from geodp_app.files.layers import AXES, ArrayRows
from geometry.coordinates import has_geometry

#: What messages call a data frame.
_NAME = "the data frame"


def is_data_frame(value: object) -> bool:
    """Whether something is a data frame."""
    return hasattr(value, "columns") and hasattr(value, "iloc")


def open_frame(frame: Any) -> ImportFile:
    """A data frame as a file of points; of geopandas with its places and their system.

    Raises
    ------
    InputError
        If it has no columns.
    """
    names = [str(name) for name in frame.columns]
    if not names:
        raise InputError(f"{_NAME} has no columns")
    columns, places, crs = list(range(len(names))), None, None
    if has_geometry(frame):
        places = np.asarray(frame.geometry.array, dtype=object)
        crs = None if frame.crs is None else frame.crs.to_wkt()
        columns = [i for i in columns if names[i] != str(frame.geometry.name)]
    values = [_values(frame.iloc[:, i]) for i in columns]
    names = [names[i] for i in columns]
    if places is None and (found := geometry_column(names)) is not None:
        places = values[found]
    rows = ArrayRows(values, len(frame), places)
    placed, loose = places is not None, not has_geometry(frame)
    heads = (*AXES, *names) if placed else names
    return ImportFile(_NAME, heads, rows, placed=placed, crs=crs, loose=loose)


def _values(column: Any) -> NDArray[Any]:
    """A column's values, None where there is none; numbers in their width."""
    missing = np.asarray(column.isna(), dtype=bool)
    kind = getattr(column.dtype, "numpy_dtype", column.dtype)  # of pandas' own numbers
    if isinstance(kind, np.dtype) and kind.kind == "f":
        return np.asarray(column.to_numpy(dtype=kind, na_value=np.nan))
    values = np.asarray(column)
    if not missing.any():
        return values
    values = values.astype(object)
    values[missing] = None
    return values
