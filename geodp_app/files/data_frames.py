"""Data frames of points, of pandas or geopandas, as files of points are read.

Nothing is imported: a data frame is known by its columns, a geopandas one by its geometry.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice
from typing import Any

import numpy as np
import shapely
from numpy.typing import NDArray

from geodp_app.errors import InputError
from geodp_app.files.import_file import PREVIEW, ImportFile
from geodp_app.files.layers import AXES, BATCH, LayerRows, Row, as_cells
from geometry.places import has_geometry, odd_shapes, single_points

#: What messages call a data frame.
_NAME = "the data frame"


@dataclass(frozen=True, slots=True)
class _ArrayRows:
    """Rows of columns in memory."""

    columns: list[NDArray[Any]]

    def __iter__(self) -> Iterator[Row]:
        n = len(self.columns[0])
        for start in range(0, n, BATCH):
            cells = [as_cells(column[start : start + BATCH].tolist()) for column in self.columns]
            for i, row in enumerate(zip(*cells, strict=True), start + 1):
                yield [*row], None, i / n


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
    if not has_geometry(frame):
        rows: _ArrayRows | LayerRows = _ArrayRows(
            [_values(frame.iloc[:, i]) for i in range(len(names))]
        )
        return _opened(tuple(names), rows, crs=None, placed=False)
    places = frame.geometry
    fields = [i for i, name in enumerate(names) if name != str(places.name)]
    shapes = np.asarray(places.array, dtype=object)
    points = single_points(shapes)
    columns = (*AXES, *(names[i] for i in fields))
    crs = None if frame.crs is None else frame.crs.to_wkt()
    x, y = shapely.get_x(points), shapely.get_y(points)
    of_points = LayerRows(
        columns, x, y, odd_shapes(shapes), [_values(frame.iloc[:, i]) for i in fields], crs
    )
    return _opened(columns, of_points, crs=crs, placed=True)


def _values(column: Any) -> NDArray[Any]:
    """A column's values, None where there is none."""
    missing = np.asarray(column.isna(), dtype=bool)
    values = np.asarray(column)
    if not missing.any():
        return values
    values = values.astype(object)
    values[missing] = None
    return values


def _opened(
    columns: tuple[str, ...], rows: _ArrayRows | LayerRows, *, crs: str | None, placed: bool
) -> ImportFile:
    preview = tuple(tuple(row) for row, _, _ in islice(rows, PREVIEW))
    return ImportFile(_NAME, columns, {}, preview, rows, placed, crs)
