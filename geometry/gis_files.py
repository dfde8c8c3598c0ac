"""Opens GIS files: what GDAL reads, through pyogrio, and Parquet files, through pyarrow; and reads
the polygons in them.

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
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import shapely
from shapely.geometry import MultiPolygon, Polygon
from shapely.geometry.base import BaseGeometry

from geometry.crs import LONLAT, CrsError, canonical_crs
from geometry.errors import InputError, refusals
from geometry.geojson import BESIDE, TargetFile, stated_place
from geometry.geojson_reading import GeoJSONError, invalidity, short
from geometry.globe import LONGEST_EDGE, within_180
from geometry.polygons import polygon_parts

#: Metadata of a layer that geodp wrote, as GDAL has it.
OWN = "geodp"

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
PARQUET, DAMAGED = b"PAR1", "cannot be read as Parquet"


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


#: What GDAL knows descriptions by, within their first bytes, in small letters.
_REFERS = (b"<ogrvrtdatasource", b"<vrtdataset", b"<ogrwfsdatasource", b"wfs_capabilities",
           b"<gdal_wms", b"gdal_streamed_alg")  # fmt: skip
_HEADER = 1 << 14


def refuse_reference(name: str, data: bytes | None = None) -> None:
    """Refuse a file, by its path or what is read of it already, that says where data lie and holds
    none.

    In a program of somebody else's GDAL may be loaded already, with all that it follows.  Raises
    InputError if it is one, or holds one, and nobody has set GDAL_SKIP.
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


@contextmanager
def parquet_file(name: str, data: bytes | None) -> Iterator[Any]:
    """A Parquet file, open; its name is a path and nothing else."""
    parquet = library("pyarrow.parquet", name)
    with io.BytesIO(data) if data is not None else open(name, "rb") as source:
        yield parquet.ParquetFile(source)


def geo_member(name: str, schema: Any) -> tuple[str | None, str | None, str | None]:
    """The column of places of a Parquet file, their system and encoding; None without GeoParquet.

    Raises InputError if what the file says of its places is no GeoParquet.
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

    Raises InputError if it is not installed: how that is done.
    """
    try:
        return importlib.import_module(module)
    except ImportError as error:
        raise InputError(
            f"{name}: to read {Path(name).suffix or 'this'} files {module.partition('.')[0]} is "
            f"needed, which is not installed ({error.name or error}): pip install 'geodp[geo]'"
        ) from None


def read_polygons(
    path: Path, layer: str | None = None, *, option: str = "", every: bool = False
) -> TargetFile:
    """The polygons of a GIS file and its member ``geodp``.

    `layer` is one of a file with several; `option` names what asks for it, and then none of several
    is guessed.

    Unless `every` feature is meant, those beside a shape of geodp are left out, by their field
    ``layer``; points, lines and what is empty are in any case.

    Raises InputError if the file cannot be read, or the outline of a feature crosses itself.
    """
    name = os.fspath(path)
    if path.suffix.lower() != ".parquet":
        wkb, layers, crs, text = _of_gdal(name, layer, option)
    elif layer is None:
        wkb, layers, crs, text = _of_parquet(name)
    else:
        raise InputError(f"{name}: has no layers: leave {option} out")
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
        if own == BESIDE and not every:
            continue
        found = valid_polygons(shape, f"{name}: feature {i + 1}")
        skipped += not found
        kept += found
        rows += [i] * len(found)
    with refusals(name, (CrsError, GeoJSONError)):
        system = LONLAT if crs is None else canonical_crs(crs)
        grid, bounds = stated_place(member)
    kept = in_range(kept, system, name)
    about = grid, bounds, path.stem, member, skipped, system, tuple(rows), len(shapes)
    return TargetFile(tuple(kept), "lonlat", *about)


def valid_polygons(shape: BaseGeometry | None, where: str) -> list[BaseGeometry]:
    """What is polygonal of a geometry, in as many parts as it has; none of points and lines.

    Raises InputError if an outline crosses itself.
    """
    whole = isinstance(shape, Polygon | MultiPolygon) and not shape.is_empty
    found = [shape] if whole else [] if shape is None else polygon_parts(shape)
    for each in found:
        if not shapely.is_valid(each):
            raise InputError(f"{where}: {invalidity(each)}")
    return found


def in_range(shapes: list[BaseGeometry], crs: str, name: str) -> list[BaseGeometry]:
    """The same shapes; those in degrees with longitudes within -180..180, and edges that GeoJSON
    can hold.

    Raises InputError if what should be degrees is none.
    """
    if crs != LONLAT or not shapes:
        return shapes
    west, south, east, north = shapely.total_bounds(shapes)
    if not (west >= -360 and east <= 360 and south >= -90 and north <= 90):
        raise InputError(
            f"{name}: holds no degrees, and states no other coordinate reference system"
        )
    return [shapely.segmentize(within_180(shape), LONGEST_EDGE) for shape in shapes]


def _shape_of(wkb: bytes) -> BaseGeometry | None:
    if not isinstance(wkb, bytes):
        raise TypeError(f"{type(wkb).__name__} is no geometry")
    shape: BaseGeometry | None = shapely.from_wkb(wkb, on_invalid="ignore")
    return shape


#: Geometries as WKB, the layer that each says it is of, their system, and the member's text.
_Read = tuple[list[bytes | None], list[str | None], str | None, str | bytes | None]


def _of_gdal(name: str, layer: str | None, option: str) -> _Read:
    pyogrio, info = library("pyogrio", name), polygon_layer(name, layer, option)
    with reading(name), plain_path(name) as path:
        meta, _, wkb, fields = pyogrio.raw.read(path, layer=info["layer_name"], force_2d=True)
    names = list(meta["fields"])
    layers = fields[names.index("layer")].tolist() if "layer" in names else [None] * len(wkb)
    return list(wkb), layers, meta["crs"], (info.get("layer_metadata") or {}).get(OWN)


def polygon_layer(name: str, layer: str | None = None, option: str = "") -> dict[str, Any]:
    """What GDAL says of the layer that is meant; errors and parameters as :func:`read_polygons`."""
    pyogrio = library("pyogrio", name)
    with reading(name), plain_path(name) as path:
        placed = [each for each, kind in pyogrio.list_layers(path) if kind is not None]
        infos = [pyogrio.read_info(path, layer=each) for each in placed]
    return _only(name, infos, layer, option)


class SeveralLayersError(InputError):
    """A file has several layers, `layers` by their names, and none of them is said to be meant."""

    def __init__(self, message: str, layers: list[str]) -> None:
        super().__init__(message)
        self.layers = layers


def _only(
    name: str, infos: list[dict[str, Any]], wanted: str | None, option: str
) -> dict[str, Any]:
    """The layer that is meant: the wanted or the only one, else that of geodp, of polygons, or
    called as the file; where an option may say which, no more than the only one of polygons.
    InputError if there is none, or several may be."""
    names = [str(info["layer_name"]) for info in infos]
    layers = ", ".join(names) or "none"
    if wanted is not None:
        if wanted not in names:
            raise InputError(f"{name}: has no layer {wanted!r}, but {layers}")
        return infos[names.index(wanted)]
    areal = [info for info in infos if "Polygon" in str(info["geometry_type"])]
    own = [info for info in infos if OWN in (info.get("layer_metadata") or {})]
    called = [info for info in infos if info["layer_name"] == Path(name).stem]
    for chosen in (infos, areal) if option else (infos, own, areal, called):
        if len(chosen) == 1:
            return chosen[0]
    if option:
        named = [str(info["layer_name"]) for info in areal] or names
        words = f"{name}: has several layers: name one with {option}: {layers}"
        raise SeveralLayersError(words, named)
    raise InputError(
        f"{name}: has several layers ({layers}): copy the one that is meant, by "
        f"ogr2ogr one.gpkg {Path(name).name} LAYER"
    )


def _of_parquet(name: str) -> _Read:
    with reading(name), parquet_file(name, None) as file:
        table = file.read()
        column, crs, _ = geo_member(name, table.schema)
        if column is None:
            raise InputError(f"{name}: has no places; GeoParquet says which column holds them")
        named = "layer" in table.column_names
        layers = table["layer"].to_pylist() if named else [None] * len(table)
        places = table[column].to_pylist()
    return places, layers, crs, (table.schema.metadata or {}).get(OWN.encode())
