"""Rows of GIS files: layers that GDAL reads, through pyogrio, and Parquet files, through pyarrow.

Both libraries are extras (pip install 'geodp[geo]') and are loaded when such a file is opened.
"""

from __future__ import annotations

import json
import os
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import shapely
from numpy.typing import NDArray

from geodp_app.errors import InputError
from geometry.crs import LONLAT
from geometry.geojson_points import as_text
from geometry.geojson_rings import short
from geometry.places import odd_shapes, single_points

#: Names of the columns that stand for a feature's place.
AXES = ("longitude", "latitude")

#: Endings of files that GDAL is asked to read; others are too, if they are no text.
LAYER_ENDINGS = frozenset(
    {".gpkg", ".shp", ".fgb", ".gml", ".kml", ".gpx", ".tab", ".mif", ".gdb", ".sqlite", ".zip"}
)

#: Drivers of GDAL for files that hold no data but say where to fetch it, or what to run for it.
REFERRING = (
    "ADBC", "AmigoCloud", "Carto", "CSW", "EEDA", "Elasticsearch", "GDALG", "GPSBabel", "HTTP",
    "NGW", "OAPIF", "OGCAPI", "OGR_VRT", "PLSCENES", "VRT", "WFS",
)  # fmt: skip

#: The first bytes of a Parquet file.
PARQUET = b"PAR1"

#: Rows that are made text of at a time.
BATCH = 5_000

#: A row's cells as text, its line in the file, and how much of the file has been read with it.
Row = tuple[list[str], int | None, float]


@dataclass(frozen=True, slots=True)
class LayerRows:
    """Features of a layer: both coordinates of a point, then the fields.

    Attributes
    ----------
    columns : tuple of str
    x, y : ndarray of float, shape (n,)
        NaN where there is none.
    odd : dict of int to str
        What a feature is that is no point.
    fields : list of ndarray, shape (n,) each
    crs : str or None
        Coordinate reference system, as an authority's code or WKT.
    """

    columns: tuple[str, ...]
    x: NDArray[np.float64]
    y: NDArray[np.float64]
    odd: dict[int, str]
    fields: list[NDArray[Any]]
    crs: str | None

    def __iter__(self) -> Iterator[Row]:
        n = len(self.x)
        for start in range(0, n, BATCH):
            some = slice(start, start + BATCH)
            columns = [as_cells(column[some].tolist()) for column in (self.x, self.y, *self.fields)]
            for i, row in enumerate(zip(*columns, strict=True), start):
                yield [self.odd[i], "", *row[2:]] if i in self.odd else [*row], None, (i + 1) / n


@dataclass(frozen=True, slots=True)
class ParquetRows:
    """Rows of a Parquet file; of a GeoParquet file the place comes first, as in a layer.

    Attributes
    ----------
    path : str
    columns : tuple of str
    geometry : str or None
        Name of the column that holds the places, if one does.
    crs : str or None
    """

    path: str
    columns: tuple[str, ...]
    geometry: str | None
    crs: str | None

    def __iter__(self) -> Iterator[Row]:
        parquet = parquet_module(self.path)
        with reading(self.path, "cannot be read as Parquet"):
            yield from self._rows(parquet.ParquetFile(self.path))

    def _rows(self, file: Any) -> Iterator[Row]:
        n, done = max(1, file.metadata.num_rows), 0
        names = [name for name in file.schema_arrow.names if name != self.geometry]
        for batch in file.iter_batches(BATCH):
            columns = [as_cells(batch.column(name).to_pylist()) for name in names]
            if self.geometry is not None:
                columns = [*_places(batch.column(self.geometry)), *columns]
            for row in zip(*columns, strict=True):
                done += 1
                yield [*row], None, done / n


@contextmanager
def reading(name: str, what: str = "cannot be read") -> Iterator[None]:
    """Whatever a library raises meanwhile says that the file is damaged, as InputError."""
    try:
        with warnings.catch_warnings(action="ignore"):  # what matters is an error
            yield
    except InputError:
        raise
    except Exception as error:  # libraries raise what they like, even UnboundLocalError
        told = " ".join(str(error).split()) or type(error).__name__
        raise InputError(f"{name}: {what}: {told[:200]}") from None


@contextmanager
def data_alone() -> Iterator[None]:
    """Let GDAL read data alone, if it is loaded meanwhile, here or in a process that is started.

    A file of any name may be a description of other files, servers or programs, and GDAL would
    follow it.  Whoever wants that sets GDAL_SKIP, which then stays as it is.
    """
    # GDAL tells, on standard error, which of these drivers it has not got anyway
    wanted = {"GDAL_SKIP": ",".join(REFERRING), "CPL_LOG": os.devnull}
    ours = {} if "GDAL_SKIP" in os.environ else {
        name: value for name, value in wanted.items() if name not in os.environ
    }  # fmt: skip
    os.environ.update(ours)
    try:
        yield
    finally:
        for name in ours:
            os.environ.pop(name, None)


def open_layer(name: str, layer: str | None = None) -> LayerRows:
    """Read a layer of points with GDAL.

    Parameters
    ----------
    name : str
        Path.
    layer : str, optional
        By default the only one that may hold points.

    Raises
    ------
    InputError
        If pyogrio is missing, GDAL cannot read the file, or it has no such layer.
    """
    try:
        import pyogrio
    except ImportError as error:
        raise InputError(missing_library(name, "pyogrio", error)) from None
    with reading(name):
        layers = pyogrio.list_layers(name)
        chosen = _choose(name, [(str(each), kind) for each, kind in layers], layer)
        meta, _, wkb, fields = pyogrio.raw.read(name, layer=chosen, force_2d=True)
        shapes = np.array([], dtype=object) if wkb is None else shapely.from_wkb(wkb)
    odd = odd_shapes(shapes)
    points = single_points(shapes)
    columns = (*AXES, *map(str, meta["fields"]))
    return LayerRows(
        columns, shapely.get_x(points), shapely.get_y(points), odd, fields, meta["crs"]
    )


def _choose(name: str, layers: list[tuple[str, str | None]], wanted: str | None) -> str:
    names = [layer for layer, _ in layers]
    if wanted is not None:
        if wanted not in names:
            raise InputError(f"{name}: has no layer {wanted!r}, but {', '.join(names) or 'none'}")
        return wanted
    of_points = [layer for layer, kind in layers if kind is not None and _may_hold_points(kind)]
    if len(of_points) == 1:
        return of_points[0]
    if of_points:
        raise InputError(f"{name}: has several layers: name one with --layer: {', '.join(names)}")
    raise InputError(f"{name}: has no layer of points")


def _may_hold_points(kind: str) -> bool:
    return any(word in kind for word in ("Point", "Unknown", "Collection"))


def open_parquet(name: str) -> ParquetRows:
    """Look at a Parquet file, with or without places in the form of GeoParquet.

    Raises
    ------
    InputError
        If pyarrow is missing, or the file is damaged.
    """
    arrow = parquet_module(name)
    with reading(name, "cannot be read as Parquet"):
        schema = arrow.read_schema(name)
        columns = list(schema.names)
    primary, crs, encoding = geo_member(name, schema)
    if encoding not in (None, "WKB", "point"):
        raise InputError(
            f"{name}: its places are encoded as {short(encoding)}: they must be points"
        )
    names = tuple(each for each in columns if each != primary)
    return ParquetRows(name, names if primary is None else (*AXES, *names), primary, crs)


def geo_member(name: str, schema: Any) -> tuple[str | None, str | None, str | None]:
    """The column of places of a Parquet file, their system and encoding; None without GeoParquet.

    Raises
    ------
    InputError
        If what the file says of its places is no GeoParquet.
    """
    with reading(name, "what it says of its places is no GeoParquet"):
        member = json.loads((schema.metadata or {}).get(b"geo", b"null"))
        if member is None:
            return None, None, None
        primary = str(member["primary_column"])
        of_column = member["columns"][primary]
        crs, encoding = of_column.get("crs", LONLAT), str(of_column["encoding"])
        if not isinstance(crs, str | dict | None):
            raise TypeError("crs is no coordinate reference system")
        if primary not in schema.names:
            raise InputError(f"{name}: has no column {short(primary)}, though it says so")
    return primary, json.dumps(crs) if isinstance(crs, dict) else crs, encoding


def _places(column: Any) -> tuple[list[str], list[str]]:
    """Both coordinates of each place of a column in WKB, or of records of x and y."""
    values = column.to_pylist()
    if any(isinstance(value, dict) for value in values):
        records = [value or {} for value in values]
        return as_cells([each.get("x") for each in records]), as_cells(
            [e.get("y") for e in records]
        )
    shapes = shapely.from_wkb(values, on_invalid="ignore")
    points = single_points(shapes)
    xs, ys = as_cells(shapely.get_x(points).tolist()), as_cells(shapely.get_y(points).tolist())
    for i, what in odd_shapes(shapes).items():
        xs[i] = what
    return xs, ys


def parquet_module(name: str) -> Any:
    """pyarrow's module of Parquet files.

    Raises
    ------
    InputError
        If it is not installed.
    """
    try:
        import pyarrow.parquet as parquet
    except ImportError as error:
        raise InputError(missing_library(name, "pyarrow", error)) from None
    return parquet


def missing_library(name: str, library: str, error: ImportError) -> str:
    """That a file needs a library, and how to install it."""
    return (
        f"{name}: to read {Path(name).suffix or 'this'} files {library} is needed, which is not "
        f"installed ({error.name or error}): pip install 'geodp[geo]'"
    )


def as_cells(values: list[Any]) -> list[str]:
    """Values as text; empty for none, and for a number that is none."""
    return [value if type(value) is str else _cell(value) for value in values]


def _cell(value: Any) -> str:
    if type(value) is float:
        return repr(value) if value == value else ""
    return as_text(value) if isinstance(value, str | int | None) else str(value)
