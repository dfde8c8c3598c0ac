"""GIS files, read: layers of points and of polygons by GDAL, through pyogrio, and Parquet files,
through pyarrow.

Both libraries are extras (pip install 'geodp[geo]') and are loaded when such a file is opened.
"""

from __future__ import annotations

import importlib
import io
import json
import os
import re
import tempfile
import warnings
import zipfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import shapely
from shapely.geometry import MultiPolygon, Polygon
from shapely.geometry.base import BaseGeometry

from geodp_app.errors import InputError
from geodp_app.files.csv_table import BATCH, GEOMETRY, Batch, Column, geometry_column
from geometry.crs import LONLAT, CrsError, canonical_crs
from geometry.geojson import TargetFile, stated_place
from geometry.geojson_rings import GeoJSONError, invalidity, short
from geometry.globe import within_180
from geometry.polygons import polygon_parts

#: Metadata of a layer that geodp wrote, as GDAL has it.
OWN = "geodp"

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

#: The first bytes of a Parquet file, and what is said of one that is damaged.
PARQUET, _DAMAGED = b"PAR1", "cannot be read as Parquet"


@dataclass(frozen=True, slots=True)
class ArrayRows:
    """Rows of columns in memory.

    Attributes
    ----------
    columns : sequence of ndarray or list, shape (n,) each
    n : int
    geometries : sequence, shape (n,), or None
        The column of geometries, if there is one.
    """

    columns: Sequence[Column]
    n: int
    geometries: Column | None = None

    def batches(self, places: Sequence[int], *, numbers: bool = False) -> Iterator[Batch]:
        """The columns at these places, of all rows in order."""
        found = [self.geometries if place == GEOMETRY else self.columns[place] for place in places]
        for start in range(0, self.n, BATCH):
            stop = min(start + BATCH, self.n)
            some = [column[start:stop] for column in found if column is not None]
            yield Batch(some, stop - start, stop / self.n)


@dataclass(frozen=True, slots=True)
class Layer:
    """Features of a layer.

    Attributes
    ----------
    names : tuple of str
        Of its fields.
    rows : ArrayRows
    crs : str or None
        Coordinate reference system, as an authority's code or WKT.
    """

    names: tuple[str, ...]
    rows: ArrayRows
    crs: str | None


@dataclass(frozen=True, slots=True)
class ParquetRows:
    """Rows of a Parquet file.

    Attributes
    ----------
    name : str
    data : bytes or None
        What is in it, where it can be read only once.
    names : tuple of str
        Of the columns beside the places.
    geometry : str or None
        Name of the column that holds the places, if one does.
    crs : str or None
    """

    name: str
    data: bytes | None
    names: tuple[str, ...]
    geometry: str | None
    crs: str | None

    def batches(self, places: Sequence[int], *, numbers: bool = False) -> Iterator[Batch]:
        """The columns at these places, of all rows in order."""
        named = [str(self.geometry) if at == GEOMETRY else self.names[at] for at in places]
        with (
            reading(self.name, "cannot be read as Parquet"),
            _parquet(self.name, self.data) as file,
        ):
            n, done = file.metadata.num_rows, 0
            for batch in file.iter_batches(BATCH, columns=named):
                done += batch.num_rows
                columns = [_values(batch.column(name)) for name in named]
                yield Batch(columns, batch.num_rows, min(1.0, done / max(1, n)))


def _values(column: Any) -> Column:
    """Values of Arrow: numbers as they are, in their width; all else as Python has it."""
    import pyarrow.types as kinds

    number = kinds.is_floating(column.type) or (
        kinds.is_integer(column.type) and not column.null_count
    )
    if number:
        return np.asarray(column.to_numpy(zero_copy_only=False))
    values: list[Any] = column.to_pylist()
    return values


@contextmanager
def reading(name: str, what: str = "cannot be read") -> Iterator[None]:
    """Whatever a library raises meanwhile says that the file is damaged, as InputError."""
    try:
        with warnings.catch_warnings(action="ignore"):  # what matters is an error
            yield
    except InputError:
        raise
    except Exception as error:  # libraries raise what they like, even UnboundLocalError
        text = " ".join(str(error).split()) or type(error).__name__
        raise InputError(f"{name}: {what}: {text[:200]}") from None


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


#: What GDAL knows descriptions by, within their first bytes, in small letters.
_REFERS = (b"<ogrvrtdatasource", b"<vrtdataset", b"<ogrwfsdatasource", b"wfs_capabilities",
           b"<gdal_wms", b"gdal_streamed_alg")  # fmt: skip
_HEADER = 1 << 14


def refuse_reference(name: str, data: bytes | None = None) -> None:
    """Refuse a file that says where data lie and holds none.

    In a program of somebody else's GDAL may be loaded already, with all that it follows.

    Parameters
    ----------
    name : str
        Path.
    data : bytes, optional
        What is in it, where it is read already.

    Raises
    ------
    InputError
        If it is one, or holds one, and nobody has set GDAL_SKIP.
    """
    starts = [] if data is None else [data[:_HEADER]]
    if data is None and os.path.isfile(name):
        with suppress(OSError), open(name, "rb") as file:
            starts.append(file.read(_HEADER))
    packed = io.BytesIO(data) if data is not None else name
    if starts and starts[0].startswith(b"PK"):
        with (
            suppress(OSError, ValueError, RuntimeError, NotImplementedError, zipfile.BadZipFile),
            zipfile.ZipFile(packed) as archive,
        ):
            for member in archive.namelist():
                with archive.open(member) as part:
                    starts.append(part.read(_HEADER))
    found = any(mark in start.lower() for start in starts for mark in _REFERS)
    # a person's own GDAL_SKIP says what is followed
    if found and os.environ.get("GDAL_SKIP") in (None, ",".join(REFERRING)):
        raise InputError(
            f"{name}: says where data lie, in other files or on servers, and is not followed: "
            "name a file that holds them"
        )


@contextmanager
def plain_path(name: str) -> Iterator[str]:
    """A path that no library takes for an address, a connection or a part of an archive, of a file
    that holds its data."""
    path = os.path.abspath(name)
    refuse_reference(name)
    if not re.search(r"[!;?*\[\]\x00-\x1f]|://", path):
        yield path
        return
    with tempfile.TemporaryDirectory(prefix="geodp-") as folder:
        own = Path(path)
        for each in own.parent.iterdir():  # what lies beside it belongs to it
            if each.name.startswith(own.stem):
                os.symlink(each, os.path.join(folder, "points" + each.name[len(own.stem) :]))
        yield os.path.join(folder, "points" + own.suffix)


def open_layer(name: str, layer: str | None = None, data: bytes | None = None) -> Layer:
    """Read a layer of points with GDAL.

    Parameters
    ----------
    name : str
        Path.
    layer : str, optional
        By default the only one that may hold points.
    data : bytes, optional
        What is in the file, where it can be read only once.

    Raises
    ------
    InputError
        If pyogrio is missing, GDAL cannot read the file, or it has no such layer.
    """
    pyogrio = library("pyogrio", name)
    with reading(name), plain_path(name) as path:
        source = path if data is None else data
        if data is not None:
            refuse_reference(name, data)
        chosen = chosen_layer(name, pyogrio.list_layers(source), layer)
        meta, _, wkb, fields = pyogrio.raw.read(source, layer=chosen, force_2d=True)
    n = len(wkb) if wkb is not None else len(fields[0]) if fields else 0
    return Layer(tuple(map(str, meta["fields"])), ArrayRows(fields, n, wkb), meta["crs"])


def chosen_layer(name: str, listed: Any, wanted: str | None) -> str:
    """The wanted layer of those that a file lists, or the only one that may hold points.

    Raises
    ------
    InputError
        If there is none, or there are several.
    """
    layers = [(str(layer), kind) for layer, kind in listed]
    names = [layer for layer, _ in layers]
    if wanted is not None:
        if wanted not in names:
            raise InputError(f"{name}: has no layer {wanted!r}, but {', '.join(names) or 'none'}")
        return wanted
    of_points = [
        layer for layer, kind in layers
        if kind and any(word in kind for word in ("Point", "Unknown", "Collection"))
    ]  # fmt: skip
    if len(of_points) == 1:
        return of_points[0]
    if of_points:
        raise InputError(f"{name}: has several layers: name one with --layer: {', '.join(names)}")
    raise InputError(f"{name}: has no layer of points")


def open_parquet(name: str, data: bytes | None = None) -> ParquetRows:
    """Look at a Parquet file, with or without places in the form of GeoParquet.

    Raises
    ------
    InputError
        If pyarrow is missing, or the file is damaged.
    """
    with reading(name, _DAMAGED), _parquet(name, data) as file:
        schema = file.schema_arrow
        columns = list(schema.names)
    primary, crs, encoding = geo_member(name, schema)
    if encoding not in (None, "WKB", "point"):
        raise InputError(
            f"{name}: its places are encoded as {short(encoding)}: they must be points"
        )
    names = tuple(each for each in columns if each != primary)
    if primary is None and (found := geometry_column(names)) is not None:
        primary = names[found]
    return ParquetRows(name, data, names, primary, crs)


@contextmanager
def _parquet(name: str, data: bytes | None) -> Iterator[Any]:
    """A Parquet file, open; its name is a path and nothing else."""
    parquet = library("pyarrow.parquet", name)
    with io.BytesIO(data) if data is not None else open(name, "rb") as source:
        yield parquet.ParquetFile(source)


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


def library(module: str, name: str) -> Any:
    """A module that a file needs.

    Raises
    ------
    InputError
        If it is not installed: how that is done.
    """
    try:
        return importlib.import_module(module)
    except ImportError as error:
        raise InputError(
            f"{name}: to read {Path(name).suffix or 'this'} files {module.partition('.')[0]} is "
            f"needed, which is not installed ({error.name or error}): pip install 'geodp[geo]'"
        ) from None


def read_polygons(path: Path, layer: str | None = None, *, every: bool = False) -> TargetFile:
    """The polygons of a GIS file and its member ``geodp``.

    Unless `every` feature is meant, those of another layer than "learned" are left out where a
    field tells layers apart; so are points, lines and what is empty.

    Raises
    ------
    InputError
        If the file cannot be read, or the outline of a feature crosses itself.
    """
    name = os.fspath(path)
    parquet = path.suffix.lower() == ".parquet"
    wkb, layers, crs, text = _of_parquet(name) if parquet else _of_gdal(name, layer)
    with reading(name):
        # one by one, and so never as an array of whatever stands in a row
        shapes = [None if each is None else _shape_of(each) for each in wkb]
        member = json.loads(text or "{}")
        if not isinstance(member, dict):
            raise TypeError(f"its metadata {OWN!r} is no JSON object")
    kept: list[BaseGeometry] = []
    rows: list[int] = []
    skipped = 0
    for i, (shape, own) in enumerate(zip(shapes, layers, strict=True)):
        if own not in (None, "learned") and not every:
            continue
        found = areal_parts(name, i, shape)
        skipped += not found
        kept += found
        rows += [i] * len(found)
    try:
        system = LONLAT if crs is None else canonical_crs(crs)
        grid, bounds = stated_place(member)
    except (CrsError, GeoJSONError) as error:
        raise InputError(f"{name}: {error}") from None
    if system == LONLAT:
        kept = [within_180(shape) for shape in kept]
    about: dict[str, Any] = {"properties": {}, "member": member, "skipped": skipped}
    about |= {"crs": system, "rows": tuple(rows), "n": len(shapes)}
    return TargetFile(tuple(kept), "lonlat", grid, bounds, path.stem, **about)


def areal_parts(name: str, row: int, shape: BaseGeometry | None) -> list[BaseGeometry]:
    """The polygons of a feature; InputError if an outline crosses itself."""
    whole = isinstance(shape, Polygon | MultiPolygon) and not shape.is_empty
    found = [shape] if whole else [] if shape is None else polygon_parts(shape)
    for each in found:
        if not shapely.is_valid(each):
            raise InputError(f"{name}: feature {row + 1}: {invalidity(each)}")
    return found


def _shape_of(wkb: bytes) -> BaseGeometry | None:
    if not isinstance(wkb, bytes):
        raise TypeError(f"{type(wkb).__name__} is no geometry")
    shape: BaseGeometry | None = shapely.from_wkb(wkb, on_invalid="ignore")
    return shape


#: Geometries as WKB, the layer that each says it is of, their system, and the member's text.
_Read = tuple[list[bytes | None], list[str | None], str | None, str | bytes | None]


def _of_gdal(name: str, layer: str | None) -> _Read:
    pyogrio, info = library("pyogrio", name), polygon_layer(name, layer)
    with reading(name), plain_path(name) as path:
        meta, _, wkb, fields = pyogrio.raw.read(path, layer=info["layer_name"], force_2d=True)
    names = list(meta["fields"])
    layers = fields[names.index("layer")].tolist() if "layer" in names else [None] * len(wkb)
    return list(wkb), layers, meta["crs"], (info.get("layer_metadata") or {}).get(OWN)


def polygon_layer(name: str, wanted: str | None = None) -> dict[str, Any]:
    """What GDAL says of the layer that is meant: the wanted one, the only one, of geodp, of
    polygons, or called as the file.

    Raises
    ------
    InputError
        If there is none of this name, or several may be meant.
    """
    pyogrio = library("pyogrio", name)
    with reading(name), plain_path(name) as path:
        listed = pyogrio.list_layers(path)
        if wanted is not None:
            chosen_layer(name, listed, wanted)
        placed = [layer for layer, kind in listed if kind is not None and wanted in (None, layer)]
        infos: list[dict[str, Any]] = [pyogrio.read_info(path, layer=layer) for layer in placed]
    for chosen in (
        infos,
        [info for info in infos if OWN in (info.get("layer_metadata") or {})],
        [info for info in infos if str(info["geometry_type"]).endswith("Polygon")],
        [info for info in infos if info["layer_name"] == Path(name).stem],
    ):
        if len(chosen) == 1:
            return chosen[0]
    layers = ", ".join(str(info["layer_name"]) for info in infos) or "none"
    raise InputError(
        f"{name}: has several layers ({layers}): copy the one that is meant, by "
        f"ogr2ogr one.gpkg {Path(name).name} LAYER"
    )


def _of_parquet(name: str) -> _Read:
    with reading(name), _parquet(name, None) as file:
        table = file.read()
        column, crs, _ = geo_member(name, table.schema)
        if column is None:
            raise InputError(f"{name}: has no places; GeoParquet says which column holds them")
        named = "layer" in table.column_names
        layers = table["layer"].to_pylist() if named else [None] * len(table)
        places = table[column].to_pylist()
    return places, layers, crs, (table.schema.metadata or {}).get(OWN.encode())
