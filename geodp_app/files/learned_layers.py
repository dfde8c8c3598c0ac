"""The learned shape as a layer for GIS programs: GeoPackage, FlatGeobuf, GeoParquet, shapefile.

The layer lies in the coordinate reference system of the bounds, so that edges are straight, and a
style for QGIS is written beside it.  GeoPackage and GeoParquet carry the member ``geodp`` of the
GeoJSON file in their metadata, and with it the exact hypothesis; the others hold polygons alone.
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import shapely
from shapely.geometry import MultiPolygon, Polygon
from shapely.geometry.base import BaseGeometry

from geodp_app.errors import InputError
from geodp_app.files.gdal_layers import OWN, layer_files
from geodp_app.files.layers import geo_member, library, plain_path, reading
from geometry.crs import LONLAT, CrsError, canonical_crs
from geometry.files import NewFile
from geometry.geojson_rings import invalidity
from geometry.geojson_write import placed_shape
from geometry.globe import within_180
from geometry.grid import GridMap
from geometry.polygons import polygon_parts

#: Endings of names of layers.
SHAPE_FORMATS = {
    ".gpkg": "GeoPackage",
    ".fgb": "FlatGeobuf",
    ".shp": "Shapefile",
    ".parquet": "GeoParquet",
}

#: Name of the member ``geodp`` in the metadata of a file.
_MEMBER = OWN

#: A shapefile's texts are at most so long.
_LONGEST = 254


def is_layer(path: str | os.PathLike[str]) -> bool:
    """Whether a name's ending is one of a GIS format."""
    return Path(path).suffix.lower() in SHAPE_FORMATS


def layer_of_shapes(
    path: str | os.PathLike[str],
    shapes: Mapping[str, BaseGeometry],
    place: GridMap,
    member: Mapping[str, Any],
    about: Mapping[str, str | float],
    *,
    overwrite: bool = False,
) -> list[NewFile]:
    """The files of a layer whose features are shapes, each with the name of its layer.

    A style for QGIS is among them where none is there: one that somebody made stays.

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
    overwrite : bool
        As in :func:`geodp_app.files.gdal_layers.layer_files`.

    Raises
    ------
    InputError
        If a library is missing, or the file cannot be written in this format.
    """
    path = Path(path)
    pyarrow = library("pyarrow", path.name)
    geometry = "geometry" if path.suffix.lower() == ".parquet" else "geom"  # as is usual there
    placed = {
        name: placed_shape(shape, place.d, place, degrees=False) for name, shape in shapes.items()
    }
    placed = {name: shape for name, shape in placed.items() if not shape.is_empty}
    table = pyarrow.table({
        "layer": pyarrow.array(list(placed), pyarrow.string()),
        **{name: _field(value, len(placed), pyarrow) for name, value in about.items()},
        geometry: pyarrow.array(
            [shapely.to_wkb(_many(shape)) for shape in placed.values()], pyarrow.binary()
        ),
    })  # fmt: skip
    files = layer_files(
        path, table, geometry, "MultiPolygon", place.bounds.crs,
        member=json.dumps(dict(member)), overwrite=overwrite,
    )  # fmt: skip
    look = path.with_suffix(".qml")
    styled = [] if os.path.lexists(look) else [NewFile(look, style())]
    return [*styled, *(NewFile(each, data) for each, data in files.items())]


def _field(value: str | float, n: int, pyarrow: Any) -> Any:
    kind = pyarrow.float64() if isinstance(value, float) else pyarrow.string()
    return pyarrow.array([value if isinstance(value, float) else value[:_LONGEST]] * n, kind)


def _many(shape: BaseGeometry) -> BaseGeometry:
    return shapely.MultiPolygon([shape]) if shape.geom_type == "Polygon" else shape


def read_layers(
    path: str | os.PathLike[str],
) -> tuple[tuple[BaseGeometry, ...], str, dict[str, Any], int]:
    """The shapes of a GIS file, their system, its member ``geodp`` and what was left out.

    Features of another layer than "learned" are left out where the file tells layers apart.

    Returns
    -------
    shapes : tuple of shapely geometry
        Valid polygons and multipolygons as they are, which may overlap; degrees are within
        -180..180.
    crs : str
    member : dict
        Empty if there is none.
    skipped : int
        Geometries that are points, lines, null or empty.

    Raises
    ------
    InputError
        If the file cannot be read, or the outline of a feature crosses itself.
    """
    name = os.fspath(path)
    ending = Path(name).suffix.lower()
    wkb, layers, crs, member = _parquet(name) if ending == ".parquet" else _gdal(name)
    with reading(name):
        # one by one, and so never as an array of whatever stands in a row
        shapes = [None if each is None else _shape_of(each) for each in wkb]
    kept: list[BaseGeometry] = []
    skipped = 0
    for i, (shape, layer) in enumerate(zip(shapes, layers, strict=True)):
        if layer not in (None, "learned"):
            continue
        whole = isinstance(shape, Polygon | MultiPolygon) and not shape.is_empty
        found = [shape] if whole else [] if shape is None else polygon_parts(shape)
        skipped += not found
        for each in found:
            if not shapely.is_valid(each):
                raise InputError(f"{name}: feature {i + 1}: {invalidity(each)}")
        kept += found
    try:
        system = LONLAT if crs is None else canonical_crs(crs)
    except CrsError as error:
        raise InputError(f"{name}: {error}") from None
    if system == LONLAT:
        kept = [within_180(shape) for shape in kept]
    return tuple(kept), system, member, skipped


def _shape_of(wkb: bytes) -> BaseGeometry | None:
    if not isinstance(wkb, bytes):
        raise TypeError(f"{type(wkb).__name__} is no geometry")
    shape: BaseGeometry | None = shapely.from_wkb(wkb, on_invalid="ignore")
    return shape


_Read = tuple[list[bytes | None], list[str | None], str | None, dict[str, Any]]


def _gdal(name: str) -> _Read:
    pyogrio = library("pyogrio", name)
    with reading(name), plain_path(name) as path:
        placed = {layer: kind for layer, kind in pyogrio.list_layers(path) if kind is not None}
        infos = [pyogrio.read_info(path, layer=layer) for layer in placed]
        info = _only(name, infos)
        meta, _, wkb, fields = pyogrio.raw.read(path, layer=info["layer_name"], force_2d=True)
    names = list(meta["fields"])
    layers = fields[names.index("layer")].tolist() if "layer" in names else [None] * len(wkb)
    text = (info.get("layer_metadata") or {}).get(_MEMBER)
    return list(wkb), layers, meta["crs"], _member(name, text)


def _only(name: str, infos: list[dict[str, Any]]) -> dict[str, Any]:
    """The layer that is meant: the only one, of geodp, of polygons, or called as the file.

    Raises
    ------
    InputError
        If several may be.
    """
    for chosen in (
        infos,
        [info for info in infos if _MEMBER in (info.get("layer_metadata") or {})],
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


def _parquet(name: str) -> _Read:
    parquet = library("pyarrow.parquet", name)
    with reading(name):
        table = parquet.read_table(os.path.abspath(name))
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
