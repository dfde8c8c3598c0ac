"""Makes the bytes of a layer for GIS programs, whole or not at all, and the same whenever written.

GDAL does not always tell of a write that failed: on a disk that fills it may leave a file without
its end, and end well.  So it writes into memory, and the bytes go to the disk by
:mod:`geodp_app.files.writing`.  A shapefile, which is several files, and a GeoPackage that holds
other layers go to a folder only; a shapefile that is found there is looked through.

No file holds the time at which it was written: when a run ended is not released.
"""

from __future__ import annotations

import contextlib
import io
import json
import os
import re
import sqlite3
import tempfile
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import shapely
import shapely.geometry
from numpy.typing import NDArray

from geodp_app.files.writing import DRIVERS, OR_ELSE, interrupts_wait
from geometry.arrays import Floats
from geometry.crs import LONLAT, canonical_crs, reproject, written_crs
from geometry.errors import InputError
from geometry.geojson_reading import RECORD, SEQUENCES
from geometry.gis_files import OWN, library, plain_path, reading
from geometry.globe import in_degrees
from geometry.grid import Bounds

#: What formats that would say when they were written say instead.
_NO_TIME, _NO_DAY = "1970-01-01T00:00:00.000Z", "1970-01-01"
#: Name of a shapefile in its folder: GDAL may take a person's for an address or an archive.
_MADE = "made"
#: Bytes of the head of .shp and .shx.
_HEAD = 100

_MARK = re.compile(r"[^\w\s]")


#: Metadata by which a layer of rows is known to be geodp's.
_WRITTEN = {"written_by": "geodp"}


def layer_files(
    path: Path,
    table: Any,
    geometry: str,
    kind: str,
    crs: str | None,
    *,
    member: str | None = None,
    fid: str | None = None,
    box: Bounds | None = None,
    overwrite: bool = False,
) -> dict[Path, bytes]:
    """What a layer's files are to hold, the file of the path itself last.

    Raises InputError if a library is missing, the format does not hold this, a layer is there that
    is to be kept, or there is no room for a shapefile in the folder for temporary files.

    Parameters
    ----------
    path : Path
        Where the layer is to be; its stem is the layer's name and its ending says the format.
        Nothing is written there.
    table : pyarrow.Table
        Fields, and one column of geometries as WKB.
    geometry : str
        The name of that column.
    kind : str
        "Point", "MultiPolygon", ..., "Unknown".
    crs : str or None
        None writes none.
    member : str, optional
        JSON that goes into the layer's metadata, where the format has such.
    fid : str, optional
        The column that numbers the features, where the format has such.
    box : Bounds, optional
        Where the features lie: it chooses the way to degrees, where they are written in such.
    overwrite : bool
        Whether a layer of this name that geodp has not written may go.  Other layers of a
        GeoPackage stay.
    """
    driver = "GeoJSON" if path.suffix.lower() in SEQUENCES else DRIVERS[path.suffix.lower()]
    crs = None if crs is None else written_crs(crs)
    if driver == "Parquet":
        return {path: _parquet_bytes(path, table, geometry, kind, crs, member)}
    if driver == "GeoJSON":
        return {path: _geojson_bytes(path, table, geometry, crs, box)}
    pyogrio = library("pyogrio", path.name)
    options: dict[str, Any] = {"encoding": "UTF-8"}
    # GDAL, as most formats, does not tell capitals from small letters here
    renamed = dict(zip(table.column_names, distinct(table.column_names), strict=True))
    table, geometry = table.rename_columns(list(renamed.values())), renamed[geometry]
    if driver == "FlatGeobuf":
        options["SPATIAL_INDEX"] = "NO"  # it would put features in another order
    elif driver == "GPKG":
        options["GEOMETRY_NAME"] = geometry
        others = [name for name in table.column_names if name != fid]
        options["FID"] = fid or free_name("fid", others)
        options["layer_metadata"] = _WRITTEN if member is None else {OWN: member}
    elif driver == "ESRI Shapefile":
        options["DBF_DATE_LAST_UPDATE"] = _NO_DAY

    def write(to: io.BytesIO | str, layer: str) -> None:
        no_time = gdal_option("OGR_CURRENT_DATE", _NO_TIME)
        with warnings.catch_warnings(action="ignore"), no_time:  # a name or a text that is cut
            pyogrio.write_arrow(
                table, to, layer=layer, driver=driver, geometry_name=geometry,
                geometry_type=kind, crs=crs, **options,
            )  # fmt: skip

    try:
        if driver == "ESRI Shapefile":
            shapes = shapely.from_wkb(np.array(table[geometry].to_pylist(), dtype=object))
            return _shapefile(path, write, shapes, placed=crs is not None)
        # a GeoPackage has no layer whose name begins with a mark
        layer = f"_{path.stem}" if driver == "GPKG" and _MARK.match(path.stem) else path.stem
        if driver == "GPKG":
            layer, more = _layer_there(path, layer, overwrite=overwrite)
            if more:
                return {path: _among_others(path, layer, write)}
        memory = io.BytesIO()
        write(memory, layer)
        return {path: memory.getvalue()}
    except RuntimeError as error:  # as all of pyogrio's errors are
        words = " ".join(str(error).split())
        raise InputError(f"{path}: cannot be written: {words}") from None


def distinct(names: Sequence[str]) -> list[str]:
    """The names; one that an earlier one equals but for capitals gets underscores.

    Examples
    --------
    >>> distinct(["name", "NAME", "fid", "fid"])
    ['name', 'NAME_', 'fid', 'fid_']
    """
    found: list[str] = []
    for name in names:
        found.append(free_name(name, found))
    return found


def free_name(name: str, taken: Sequence[str]) -> str:
    """The name, with underscores until it is nobody's, capital letters or not."""
    lower = {each.lower() for each in taken}
    while name.lower() in lower:
        name += "_"
    return name


@contextlib.contextmanager
def gdal_option(name: str, value: str) -> Iterator[None]:
    """GDAL has an option meanwhile."""
    import pyogrio

    before = pyogrio.get_gdal_config_option(name)
    pyogrio.set_gdal_config_options({name: value})
    try:
        yield
    finally:
        pyogrio.set_gdal_config_options({name: before})


def _layer_there(path: Path, layer: str, *, overwrite: bool) -> tuple[str, bool]:
    """The name of the layer that is to be written, which has the capitals of one that is there; and
    whether a GeoPackage is there that holds more.

    Raises InputError if it is open in another program, or its layer of this name is not one of
    geodp.
    """
    import pyogrio

    name = os.path.abspath(path)  # never taken for an address
    if not os.path.isfile(name) or not os.path.getsize(name):
        return layer, False
    try:
        with contextlib.closing(sqlite3.connect(name, timeout=1)) as database:
            if database.execute("PRAGMA journal_mode").fetchone()[0] == "wal":
                # what is in the log beside it goes into the file, or the new one is damaged by it
                database.execute("PRAGMA journal_mode=DELETE").fetchone()
            tables = {row[0] for row in database.execute("SELECT table_name FROM gpkg_contents")}
            styles = "SELECT count(*) FROM sqlite_master WHERE name = 'layer_styles'"
            styled = bool(database.execute(styles).fetchone()[0])
    except sqlite3.DatabaseError as error:
        opened = "locked" in str(error) or "busy" in str(error)
        if opened and isinstance(error, sqlite3.OperationalError):
            raise InputError(
                f"{path}: is open in another program: close it there, or write to another file"
            ) from None
        if overwrite:
            return layer, False
        raise InputError(f"{path}: is there already, and no GeoPackage: {OR_ELSE}") from None
    # SQLite does not tell apart capitals and small letters of ASCII
    same = [name for name in tables if name.encode().lower() == layer.encode().lower()]
    layer, others = (*same, layer)[0], styled or tables != set(same)
    if same and not overwrite:
        with contextlib.suppress(InputError), reading(str(path)), plain_path(str(path)) as own:
            info = pyogrio.read_info(own, layer=layer)
            if {OWN, *_WRITTEN} & set(info.get("layer_metadata") or {}):
                return layer, others
        raise InputError(f"{path}: has a layer {layer} that geodp has not written: {OR_ELSE}")
    return layer, others


def _among_others(path: Path, layer: str, write: Callable[[str, str], None]) -> bytes:
    """A GeoPackage with its layers and a new one, or one instead of the old of its name."""
    with _folder() as folder:
        made = os.path.join(folder, f"{_MADE}.gpkg")
        with (
            contextlib.closing(sqlite3.connect(os.path.abspath(path))) as old,
            contextlib.closing(sqlite3.connect(made)) as new,
        ):
            old.backup(new)
        write(made, layer)
        return Path(made).read_bytes()


@contextlib.contextmanager
def _folder() -> Iterator[str]:
    """A folder that is gone in the end, also if Ctrl+C is pressed while it goes."""
    with interrupts_wait(), tempfile.TemporaryDirectory(prefix="geodp-") as folder:
        yield folder


def _parquet_bytes(
    path: Path, table: Any, geometry: str, kind: str, crs: str | None, member: str | None
) -> bytes:
    parquet = library("pyarrow.parquet", path.name)
    column: dict[str, Any] = {
        "encoding": "WKB", "geometry_types": [] if kind == "Unknown" else [kind], "crs": None,
    }  # fmt: skip
    if crs is not None:
        column["crs"] = library("pyproj", path.name).CRS.from_user_input(crs).to_json_dict()
    geo = {"version": "1.1.0", "primary_column": geometry, "columns": {geometry: column}}
    metadata = {"geo": json.dumps(geo), **({} if member is None else {OWN: member})}
    buffer = io.BytesIO()
    parquet.write_table(table.replace_schema_metadata(metadata), buffer)
    return buffer.getvalue()


def on_lines(features: Sequence[Mapping[str, Any]], path: Path) -> bytes:
    """Features as a GeoJSON text sequence, each on a line of its own (RFC 8142), by the ending of
    the name with marks between them or without."""
    mark = RECORD if path.suffix.lower() == ".geojsons" else ""
    texts = (json.dumps(each, ensure_ascii=False, default=_as_json) for each in features)
    return "".join(f"{mark}{text}\n" for text in texts).encode()


def _geojson_bytes(
    path: Path, table: Any, geometry: str, crs: str | None, box: Bounds | None
) -> bytes:
    """GeoJSON (RFC 7946): in degrees, and no system is stated."""
    own = LONLAT if crs is None else canonical_crs(crs)
    at = None if box is None else box.middle_in(own)

    def degrees(xyz: Floats) -> Floats:
        return np.column_stack([reproject(xyz[:, :2], own, LONLAT, at), xyz[:, 2:]])

    shapes = shapely.from_wkb(np.array(table[geometry].to_pylist(), dtype=object))
    areal = np.isin(shapely.get_type_id(shapes), (3, 6)) & (own != LONLAT)
    for i in np.flatnonzero(areal).tolist():  # their edges bend
        west, south, east, north = shapes[i].bounds
        middle = ((west + east) / 2, (south + north) / 2) if at is None else at
        fine = max(east - west, north - south) * 2.0**-20
        shapes[i] = in_degrees(shapely.force_2d(shapes[i]), own, fine, middle)
    flat = ~shapely.has_z(shapes)
    for some, z in ((flat & ~areal, False), (~flat, True)):
        shapes[some] = shapely.transform(shapes[some], degrees, include_z=z)
    features = [
        {
            "type": "Feature",
            "properties": properties,
            "geometry": None if shape is None else shapely.geometry.mapping(shape),
        }
        for properties, shape in zip(
            table.drop_columns([geometry]).to_pylist(), shapes.tolist(), strict=True
        )
    ]
    if path.suffix.lower() in SEQUENCES:
        return on_lines(features, path)
    collection = {"type": "FeatureCollection", "features": features}
    return (json.dumps(collection, ensure_ascii=False, default=_as_json) + "\n").encode()


def _as_json(value: Any) -> str:
    """Dates and times as ISO says them, bytes as hexadecimal digits."""
    return value.hex() if isinstance(value, bytes) else str(value.isoformat())


def _shapefile(
    path: Path, write: Callable[[str, str], None], shapes: NDArray[Any], *, placed: bool
) -> dict[Path, bytes]:
    """The parts of a shapefile, by way of a folder."""
    why = ""
    with _folder() as folder:
        made = os.path.join(folder, f"{_MADE}.shp")
        try:
            write(made, _MADE)
            parts = {each.suffix: each.read_bytes() for each in Path(folder).iterdir()}
            whole = is_whole(parts, len(shapes), placed=placed) and _same_places(made, shapes)
        except RuntimeError as error:
            whole, why = False, f" ({' '.join(str(error).split())})"
    if not whole:
        raise InputError(
            f"{path}: cannot be written: a shapefile is made in {tempfile.gettempdir()} first, and "
            f"did not arrive there whole{why}: make room there, or write .gpkg"
        )
    main = parts.pop(".shp")
    return {path.with_suffix(ending): parts[ending] for ending in sorted(parts)} | {path: main}


def is_whole(parts: Mapping[str, bytes], n: int, *, placed: bool = True) -> bool:
    """Whether nothing is missing of a shapefile of n features, by the lengths that it tells.

    One that is `placed` says in which coordinate reference system.

    A hole in the records of fields is seen too: spaces fill them up, never zeros.
    """
    shp, shx, dbf = (parts.get(ending, b"") for ending in (".shp", ".shx", ".dbf"))
    head, record = (int.from_bytes(dbf[at : at + 2], "little") for at in (8, 10))
    return (
        len(shp) >= _HEAD
        and len(shp) == 2 * int.from_bytes(shp[24:28], "big")
        and len(shx) == _HEAD + 8 * n
        and head > 0
        and len(dbf) >= head + record * n
        and b"\0" not in dbf[head:]
        and parts.get(".cpg") == b"UTF-8"
        and (not placed or parts.get(".prj", b"").rstrip().endswith(b"]"))
    )


def _same_places(made: str, shapes: NDArray[Any]) -> bool:
    """Whether the coordinates arrived, in whatever order rings are written."""
    import pyogrio

    with warnings.catch_warnings(action="ignore"):
        try:
            _, _, wkb, _ = pyogrio.raw.read(made, columns=[])
        except RuntimeError:  # as all of its errors are
            return False
    found = shapely.from_wkb(wkb, on_invalid="ignore")
    return np.array_equal(_sorted(found), _sorted(shapes))


def _sorted(shapes: NDArray[Any]) -> Floats:
    places: Floats = shapely.get_coordinates(shapes)
    return places[np.lexsort(places.T)]
