"""The learned shape as a layer for GIS programs: GeoPackage, FlatGeobuf, GeoParquet, shapefile.

The layer lies in the coordinate reference system of the bounds, so that edges are straight, and a
style for QGIS is written beside it.  GeoPackage and GeoParquet carry the member ``geodp`` of the
GeoJSON file in their metadata, and with it the exact hypothesis; the others hold polygons alone.
"""

from __future__ import annotations

import io
import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import shapely
from numpy.typing import NDArray
from shapely.geometry import MultiPolygon, Polygon
from shapely.geometry.base import BaseGeometry

from geodp_app.errors import InputError
from geodp_app.files.gdal_layers import layer_files
from geodp_app.files.layers import missing_library, reading
from geometry.crs import LONLAT, CrsError, settled_crs
from geometry.files import atomic_write_all
from geometry.geojson_write import placed_shape
from geometry.globe import within_180
from geometry.grid import GridMap
from geometry.polygons import orient_valid

#: Formats by the ending of a name.
SHAPE_FORMATS = {
    ".gpkg": "GPKG", ".fgb": "FlatGeobuf", ".shp": "ESRI Shapefile", ".parquet": "Parquet"
}  # fmt: skip

#: Name of the member ``geodp`` in the metadata of a file.
_MEMBER = "geodp"

#: A shapefile's texts are at most so long.
_LONGEST = 254


def is_layer(path: str | os.PathLike[str]) -> bool:
    """Whether a name's ending is one of a GIS format."""
    return Path(path).suffix.lower() in SHAPE_FORMATS


def write_layers(
    path: str | os.PathLike[str],
    shapes: Mapping[str, BaseGeometry],
    place: GridMap,
    member: Mapping[str, Any],
    about: Mapping[str, str | float],
) -> None:
    """Write shapes as features of one layer, each with the name of its layer.

    Parameters
    ----------
    path : path-like
    shapes : mapping
        Polygonal shapes in grid units by name, such as "learned" and "support".
    place : GridMap
    member : mapping
        What is published of the run, JSON values only.
    about : mapping
        Fields that every feature has.

    Raises
    ------
    InputError
        If a library is missing, or the file cannot be written in this format.
    OSError
        If it cannot be written; files that were there are then unchanged.
    """
    path = Path(path)
    placed = {
        name: placed_shape(shape, place.d, place, degrees=False) for name, shape in shapes.items()
    }
    placed = {name: shape for name, shape in placed.items() if not shape.is_empty}
    columns: dict[str, list[Any]] = {
        "layer": list(placed),
        **{name: [value] * len(placed) for name, value in about.items()},
    }
    many = np.array([_many(each) for each in placed.values()], dtype=object)
    crs, text = place.bounds.crs, json.dumps(dict(member))
    driver = SHAPE_FORMATS[path.suffix.lower()]
    if driver == "Parquet":
        files = {path: _parquet_bytes(path, columns, many, crs, text)}
    else:
        fields = [(name, _field(values)) for name, values in columns.items()]
        metadata = {_MEMBER: text} if driver == "GPKG" else None
        files = layer_files(path, driver, many, fields, "MultiPolygon", crs, metadata)
    atomic_write_all([(path.with_suffix(".qml"), style()), *files.items()])


def _field(values: list[Any]) -> NDArray[Any]:
    if all(isinstance(value, float) for value in values):
        return np.array(values, dtype=np.float64)
    return np.array([str(value)[:_LONGEST] for value in values], dtype=object)


def _many(shape: BaseGeometry) -> BaseGeometry:
    return shapely.MultiPolygon([shape]) if shape.geom_type == "Polygon" else shape


def _parquet_bytes(
    path: Path, about: Mapping[str, list[Any]], shapes: NDArray[Any], crs: str, member: str
) -> bytes:
    try:
        import pyarrow
        from pyarrow import parquet
        from pyproj import CRS
    except ImportError as error:
        raise InputError(missing_library(str(path.name), "pyarrow", error)) from None
    columns = {**about, "geometry": shapely.to_wkb(shapes).tolist()}
    geometry = {
        "encoding": "WKB",
        "geometry_types": ["MultiPolygon"],
        "crs": CRS.from_user_input(crs).to_json_dict(),
    }
    geo = {"version": "1.1.0", "primary_column": "geometry", "columns": {"geometry": geometry}}
    schema = pyarrow.schema(
        [
            (name, pyarrow.binary() if name == "geometry" else
             pyarrow.float64() if values and isinstance(values[0], float) else pyarrow.string())
            for name, values in columns.items()
        ],
        metadata={"geo": json.dumps(geo), _MEMBER: member},
    )  # fmt: skip
    buffer = io.BytesIO()
    parquet.write_table(pyarrow.table(columns, schema=schema), buffer)
    return buffer.getvalue()


def read_layers(
    path: str | os.PathLike[str],
) -> tuple[BaseGeometry, str, dict[str, Any], str | None]:
    """The shape of a GIS file, its system, its member ``geodp`` and the name of its first feature.

    Features of another layer than "learned" are left out where the file tells layers apart.

    Returns
    -------
    shape : shapely geometry
        Valid, empty if there are no polygons; degrees are within -180..180.
    crs : str
    member : dict
        Empty if there is none.
    name : str or None

    Raises
    ------
    InputError
        If the file cannot be read.
    """
    name = os.fspath(path)
    ending = Path(name).suffix.lower()
    wkb, layers, crs, member = _parquet(name) if ending == ".parquet" else _gdal(name)
    with reading(name):
        shapes = [shapely.from_wkb(each, on_invalid="ignore") for each in wkb]
    kept = [
        shape
        for shape, layer in zip(shapes, layers, strict=True)
        if isinstance(shape, Polygon | MultiPolygon) and layer in (None, "learned")
    ]
    try:
        system = LONLAT if crs is None else settled_crs(crs)
    except CrsError as error:
        raise InputError(f"{name}: {error}") from None
    shape = orient_valid(shapely.union_all(kept))
    return within_180(shape) if system == LONLAT else shape, system, member, Path(name).stem


_Read = tuple[list[bytes | None], list[str | None], str | None, dict[str, Any]]


def _gdal(name: str) -> _Read:
    try:
        import pyogrio
    except ImportError as error:
        raise InputError(missing_library(name, "pyogrio", error)) from None
    with reading(name):
        info = pyogrio.read_info(name)
        meta, _, wkb, fields = pyogrio.raw.read(name, force_2d=True)
    names = list(meta["fields"])
    layers = fields[names.index("layer")].tolist() if "layer" in names else [None] * len(wkb)
    text = (info.get("layer_metadata") or {}).get(_MEMBER)
    return list(wkb), layers, meta["crs"], _member(name, text)


def _parquet(name: str) -> _Read:
    from geodp_app.files.layers import geo_member, parquet_module

    parquet = parquet_module(name)
    with reading(name):
        table = parquet.read_table(name)
    column, crs, _ = geo_member(name, table.schema)
    if column is None:
        raise InputError(f"{name}: has no places; GeoParquet says which column holds them")
    with reading(name):
        named = "layer" in table.column_names
        layers = table["layer"].to_pylist() if named else [None] * len(table)
        places = table[column].to_pylist()
    text = (table.schema.metadata or {}).get(_MEMBER.encode())
    return places, layers, crs, _member(name, text)


def _member(name: str, text: str | bytes | None) -> dict[str, Any]:
    if text is None:
        return {}
    try:
        member = json.loads(text)
    except ValueError:
        member = None
    if not isinstance(member, dict):
        raise InputError(f"{name}: its metadata {_MEMBER!r} is no JSON object")
    return member


def style() -> str:
    """How QGIS draws the layer: the learned shape in green, support hatched, in one file."""
    symbols = [
        ("learned", "The learned shape", "SimpleFill", {
            "color": "0,158,115,60", "outline_color": "0,158,115,255", "outline_width": "0.6",
            "style": "solid"}),
        ("support", "Enough reports", "SimpleFill", {
            "color": "102,102,102,0", "outline_color": "102,102,102,255", "outline_width": "0.3",
            "outline_style": "dash", "style": "no"}),
    ]  # fmt: skip
    categories = "".join(
        f'<category render="true" symbol="{i}" value="{layer}" label="{label}"/>'
        for i, (layer, label, _, _) in enumerate(symbols)
    )
    drawn = "".join(
        f'<symbol type="fill" name="{i}" alpha="1" clip_to_extent="1"><layer class="{kind}" '
        'enabled="1" locked="0" pass="0"><Option type="Map">'
        + "".join(f'<Option type="QString" name="{k}" value="{v}"/>' for k, v in options.items())
        + "</Option></layer></symbol>"
        for i, (_, _, kind, options) in enumerate(symbols)
    )
    return (
        "<!DOCTYPE qgis PUBLIC 'http://mrcc.com/qgis.dtd' 'SYSTEM'>\n"
        '<qgis version="3.22.0" styleCategories="Symbology">\n'
        '<renderer-v2 type="categorizedSymbol" attr="layer" enableorderby="0" '
        'symbollevels="0" forceraster="0">'
        f"<categories>{categories}</categories><symbols>{drawn}</symbols></renderer-v2>\n"
        "<layerGeometryType>2</layerGeometryType>\n</qgis>\n"
    )
