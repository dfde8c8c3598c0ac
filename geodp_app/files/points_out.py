"""Writes rows of a file with new columns beside their own, in the same format or another.

All that is theirs stays as it is: the text of a CSV file, the members of GeoJSON, and of a layer or
a Parquet file fields with their types, geometries, the reference system and the order.  Another
format keeps what it can hold.  A new column gives way where a name is taken.
"""

from __future__ import annotations

import codecs
import csv
import io
import json
import os
import re
from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime, timedelta
from itertools import pairwise
from operator import add
from pathlib import Path
from typing import Any

import numpy as np
import shapely
from numpy.typing import NDArray

from geodp_app.files.csv_table import CsvRows, Head, plain_parts
from geodp_app.files.gdal_layers import free_name, gdal_option, layer_files, on_lines
from geodp_app.files.import_file import ImportFile
from geodp_app.files.import_formats import chosen_layer
from geodp_app.files.points import MAP_ENDINGS, PointsRead, look
from geodp_app.files.writing import DRIVERS, NewFile, check_kept
from geometry.arrays import Floats, Ints
from geometry.crs import LONLAT, canonical_crs, is_degrees
from geometry.geojson_reading import SEQUENCES, objects
from geometry.geojson_write import unit_box_map
from geometry.gis_files import geo_member, library, plain_path, polygon_layer, reading

#: What a text may begin with to say its encoding.
_MARKS = {
    codecs.BOM_UTF8: "utf-8", codecs.BOM_UTF16_LE: "utf-16-le", codecs.BOM_UTF16_BE: "utf-16-be",
}  # fmt: skip
#: A line end that is no newline nor before one, and what stands for it before a newline: no text
#: that is read holds that character.
_LONE, _CARRIAGE = re.compile(r"\r(?!\n)"), "\0"
#: Of shapely, the first of the types of several points, lines or polygons.
_MULTIPLE = 4
_WHOLE = re.compile(r"-?(0|[1-9]\d{0,17})")
#: So many digits before the point that a float has all of them: ids that are longer are text.
_NUMBER = re.compile(r"-?(0|[1-9]\d{0,14})([.,]\d+)?([eE][+-]?\d+)?")

#: New columns by name, shape (n,) each, of whole numbers or of others; NaN is none.
Added = Mapping[str, NDArray[Any]]


def points_files(
    path: str | os.PathLike[str],
    source: Path,
    read: PointsRead | ImportFile,
    added: Added,
    *,
    layer: str | None = None,
    overwrite: bool = False,
) -> list[NewFile]:
    """Rows of a file with new columns, as files; those of points for their owner alone.

    Raises InputError if a library is missing, the points cannot be written in this format, or
    something is there that is to be kept; OSError if the source cannot be read any more.

    Parameters
    ----------
    path : path-like
        Its ending says the format: CSV without one.
    source : Path
        Where the rows were read from.
    read : PointsRead or ImportFile
        n rows, without labels: which of them, and where they lie; or all rows of a layer of other
        shapes, which keep their places.
    added : mapping
        New columns by name; a name that is taken gets an underscore.
    layer : str, optional
        Of a file with several.
    overwrite : bool
        Whether what is there may go though geodp has not written it.
    """
    check_kept(path, overwrite=overwrite)
    path, kind = Path(path), look(os.fspath(source))[0]
    lines = path.suffix.lower() in SEQUENCES
    driver = "GeoJSON" if lines else DRIVERS.get(path.suffix.lower())
    points = read if isinstance(read, PointsRead) else None
    file = read.file if isinstance(read, PointsRead) else read
    kept = np.arange(len(next(iter(added.values())))) if points is None else points.rows
    private = points is not None
    if driver is None:
        rows = file.reader
        text = (_csv(source, rows.head, kept, added) if isinstance(rows, CsvRows)
                else _cells(file, kept, added, private))  # fmt: skip
        return [NewFile(path, text, private)]
    # on lines no system can be stated
    if driver == "GeoJSON" and kind == "map" and not (lines and file.crs not in (None, LONLAT)):
        return [NewFile(path, _map(source, path, kept, added), private)]
    pyarrow = library("pyarrow", path.name)
    if driver == "Parquet" and kind == "parquet":
        return [NewFile(path, _parquet(source, kept, added, pyarrow), private)]
    found = _of_csv(file, pyarrow) if kind == "csv" else rows_of(source, layer, areal=not private)
    table, geometry, shape, crs, fid = found
    table = table.take(kept)
    box = None if points is None else points.examples.frame.bounds
    if points is not None and (geometry is None or points.on_grid):
        if geometry is not None:
            table = table.drop_columns([geometry])
        own, crs = _places(points)
        geometry, shape = free_name("geometry", table.column_names), "Point"
        column = pyarrow.array(shapely.to_wkb(shapely.points(own)), pyarrow.binary())
        table = table.append_column(geometry, column)
    table = _with(table, added, pyarrow)
    assert geometry is not None  # rows that are no points have their own
    files = layer_files(path, table, geometry, shape, crs, fid=fid, box=box, overwrite=overwrite)
    return [NewFile(each, data, private) for each, data in files.items()]


#: Fields and geometries, the name of the column of these, their kind and system, and the name of
#: the column that numbers them.
_Found = tuple[Any, str | None, str, str | None, str | None]


def rows_of(source: Path, layer: str | None, *, areal: bool = True) -> _Found:
    """All rows of a file that is no text, of polygons or of points; errors as
    :func:`points_files`."""
    pyarrow, own = library("pyarrow", source.name), os.fspath(source)
    found = look(own)[0]
    if found == "parquet":
        return _of_parquet(source)
    pyogrio = library("pyogrio", source.name)
    if areal:
        layer = polygon_layer(own, layer)["layer_name"]
    # GeoJSON is what was read as such, whatever its name says
    named = source.suffix.lower() in MAP_ENDINGS or found != "map"
    with reading(own), plain_path(own) as path:
        path = path if named else f"GeoJSON:{path}"
        layer = chosen_layer(source.name, pyogrio.list_layers(path), layer)
        info = pyogrio.read_info(path, layer=layer)
        with gdal_option("OGR_FLATGEOBUF_STREAM_BASE_IMPL", "YES"):  # the other fails at a null
            meta, table = pyogrio.read_arrow(
                path, layer=layer, return_fids=True, datetime_as_string=True
            )
        held = meta["geometry_name"] or "wkb_geometry"
        for name, kind in zip(meta["fields"], meta["ogr_types"], strict=True):
            if kind == "OFTDateTime":
                place = table.column_names.index(name)
                times = _times(table[name].to_pylist(), pyarrow)
                table = table.set_column(place, name, times)
    geometry, kind, crs = None, "Point", None  # of fields alone
    if held in table.column_names:
        kind, wkb = meta["geometry_type"] or "Unknown", table[held].to_pylist()
        if kind.startswith(("Polygon", "LineString")):  # so shapefiles call layers of several, too
            types = shapely.get_type_id(shapely.from_wkb(wkb, on_invalid="ignore"))
            kind = "Unknown" if np.any(types >= _MULTIPLE) else kind
        table, crs = table.drop_columns([held]), meta["crs"]
        geometry = meta["geometry_name"] or free_name("geom", table.column_names)
        table = table.append_column(geometry, pyarrow.array(wkb, pyarrow.binary()))
    # the numbers come first, under the name that the file has for them, if it keeps any; last, for
    # a table without a column has no rows
    fid = info["fid_column"] or None
    return table if fid is not None else table.remove_column(0), geometry, kind, crs, fid


def _places(read: PointsRead) -> tuple[Floats, str]:
    """Where the rows lie, and in which system."""
    # without bounds a grid goes to 0..1 degrees, as learned shapes do
    place = read.examples.frame.place or unit_box_map(read.examples.frame.d)
    own = place.to_own(read.places) if read.on_grid else read.places
    return place.bounds.rolled(own), place.bounds.crs


def beside(added: Added, taken: Sequence[str]) -> Added:
    """The new columns, by names that are nobody's yet."""
    return {free_name(name, taken): values for name, values in added.items()}


def _plain(values: NDArray[Any]) -> list[Any]:
    """Numbers as Python's own; None for NaN."""
    return [None if value != value else value for value in values.tolist()]


def _with(table: Any, added: Added, pyarrow: Any) -> Any:
    for name, values in beside(added, table.column_names).items():
        kind = pyarrow.float64() if values.dtype.kind == "f" else pyarrow.int32()
        table = table.append_column(name, pyarrow.array(_plain(values), kind))
    return table


def _texts(values: NDArray[Any]) -> list[str]:
    if values.dtype.kind != "f":  # few of them differ
        known = {value: str(value) for value in np.unique(values).tolist()}
        return [known[value] for value in values.tolist()]
    return ["" if value is None else str(value) for value in _plain(values)]


# CSV


def _csv(source: Path, head: Head, kept: Ints, added: Added) -> bytes:
    """The same text with more cells: delimiter, quotes, line ends, marks and comments stay."""
    data = source.read_bytes()
    mark, encoding = next(
        ((mark, encoding) for mark, encoding in _MARKS.items() if data.startswith(mark)),
        (b"", "utf-8"),
    )
    text = data[len(mark) :].decode(encoding)
    if "\r" in text:  # each line ends with a newline, whatever stands before it
        text = _LONE.sub(f"{_CARRIAGE}\n", text)
    *above, text = text.split("\n", head.lines)
    between, named = head.delimiter, beside(added, head.names)
    above[-1] = _longer(above[-1], between.join(("", *named)))
    cells = [""] * len(kept)
    for values in named.values():
        cells = list(map(add, cells, (between + cell for cell in _texts(values))))
    parts, before = ["\n".join((*above, ""))], 0
    longer = _longer if "\r" in text or _CARRIAGE in text else add
    for rows in _records(text, between):
        first, last = np.searchsorted(kept, [before, before + len(rows)]).tolist()
        some = rows
        if last - first < len(rows):
            some = [rows[i - before] for i in kept[first:last].tolist()]
        parts += ["\n".join(map(longer, some, cells[first:last])), "\n"] if some else []
        before += len(rows)
    if not text.endswith("\n") and before - 1 in kept[-1:]:
        parts.pop()
    return mark + "".join(parts).replace(f"{_CARRIAGE}\n", "\r").encode(encoding)


def _longer(row: str, cells: str) -> str:
    """A row with more cells before its end."""
    bare = row.rstrip(f"\r\n{_CARRIAGE}")
    return bare + cells + row[len(bare) :]


def _records(text: str, delimiter: str) -> Iterator[list[str]]:
    """The text of some rows at a time, without a newline at the end; empty lines are none."""
    for start, stop, plain in plain_parts(text, 0, len(text), delimiter):
        piece = text[start:stop]
        if plain is None:
            lines, ends = list(io.StringIO(piece)), [0]
            bare = (line.rstrip(f"\r\n{_CARRIAGE}") + "\n" for line in lines)
            reader = csv.reader(bare, delimiter=delimiter)
            ends += [reader.line_num for _ in reader]
            found = ["".join(lines[a:b]).removesuffix("\n") for a, b in pairwise(ends)]
        elif '"' in piece:
            found = [piece[a + 1 : b] for a, b in pairwise((-1, *plain.ends.tolist()))]
        else:
            found = piece.split("\n")
        yield [row for row in found if row not in ("", "\r", _CARRIAGE)]


def _cells(file: ImportFile, kept: Ints, added: Added, points: bool) -> bytes:
    """Features or rows as text; points come first, under names that say what they are, other shapes
    are left out."""
    first = 0 if points else 2 * file.placed
    columns = list(file.columns[first:])
    if file.placed and points:
        degrees = file.crs is None or is_degrees(canonical_crs(file.crs))
        ours = columns[:2] if degrees else ["x", "y"]
        columns[:2] = [free_name(name, columns[2:]) for name in ours]
    named = beside(added, columns)
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow([*columns, *named])
    new = zip(*map(_texts, named.values()), strict=True)
    wanted = dict(zip(kept.tolist(), new, strict=True))
    for i, (row, _, _) in enumerate(file.rows):
        if i in wanted:
            writer.writerow([*row[first:], *wanted[i]])
    return text.getvalue().encode()


def _of_csv(file: ImportFile, pyarrow: Any) -> _Found:
    """The cells of a CSV file; a column is of numbers if each cell is one, written plainly."""
    first = 2 * file.placed
    names: list[str] = []
    for each in file.columns[first:]:
        names.append(free_name(each, [name for name in names if name == each]))
    rows = [row[first:] for row, _, _ in file.rows]
    columns = [
        _typed([row[i] for row in rows], file.decimal_comma, pyarrow) for i in range(len(names))
    ]
    return pyarrow.table(columns, names=names), None, "Point", None, None


def _typed(cells: list[str], comma: bool, pyarrow: Any) -> Any:
    """A column of numbers, or of text: what has leading zeros or a plus is no number."""
    some = [cell.strip() for cell in cells if cell.strip()]
    if some and all(map(_WHOLE.fullmatch, some)):
        return pyarrow.array([int(c) if c.strip() else None for c in cells], pyarrow.int64())
    if some and all(_NUMBER.fullmatch(c) and (comma or "," not in c) for c in some):
        numbers = [float(c.replace(",", ".")) if c.strip() else None for c in cells]
        return pyarrow.array(numbers, pyarrow.float64())
    return pyarrow.array(cells, pyarrow.string())


# GeoJSON


def _map(source: Path, path: Path, kept: Ints, added: Added) -> bytes:
    """The same document with more properties, or its features on lines."""
    sequence = source.name.lower().endswith(SEQUENCES)
    documents = objects(source.read_bytes(), sequence=sequence)
    listed = [feature for document in documents for feature in _features(document)]
    document = documents[0]
    if len(documents) > 1:  # one on each line
        document = {"type": "FeatureCollection"}
    taken = dict.fromkeys(name for each in listed for name in each.get("properties") or {})
    named = {name: _plain(values) for name, values in beside(added, list(taken)).items()}
    chosen = []
    for i, row in enumerate(kept.tolist()):
        new = {name: values[i] for name, values in named.items()}
        feature = listed[row]
        chosen.append(feature | {"properties": (feature.get("properties") or {}) | new})
    if path.suffix.lower() in SEQUENCES:
        chosen[:1] = [each | {k: v for k, v in document.items() if k == "geodp"}
                      for each in chosen[:1]]  # fmt: skip
        return on_lines(chosen, path)
    if document.get("type") != "FeatureCollection":
        return (json.dumps(chosen[0], ensure_ascii=False) + "\n").encode()
    return (json.dumps(document | {"features": chosen}, ensure_ascii=False) + "\n").encode()


def _features(document: dict[str, Any]) -> list[dict[str, Any]]:
    """The features of an object of GeoJSON; of a geometry one without properties."""
    if document.get("type") == "FeatureCollection":
        return list(document["features"])
    if document.get("type") == "Feature":
        return [document]
    return [{"type": "Feature", "properties": {}, "geometry": document}]


# layers and Parquet


def _times(texts: list[str | None], pyarrow: Any) -> Any:
    """Times as GDAL says them, in their time zone if they have one in common."""
    try:
        found = [None if text is None else datetime.fromisoformat(text) for text in texts]
    except ValueError:
        return pyarrow.array(texts, pyarrow.string())
    zones = {each.utcoffset() for each in found if each is not None}
    zone: str | None = "UTC"
    if zones <= {None}:
        zone = None
    elif len(zones) == 1 and (shift := zones.pop()):
        minutes = shift // timedelta(minutes=1)
        zone = f"{'-' if minutes < 0 else '+'}{abs(minutes) // 60:02}:{abs(minutes) % 60:02}"
    return pyarrow.array(found, pyarrow.timestamp("ms", zone))


def _of_parquet(source: Path) -> _Found:
    """A Parquet file, with its places if it says where they are."""
    name = os.fspath(source)
    with reading(name):
        table = library("pyarrow.parquet", name).read_table(os.path.abspath(source))
    geometry, crs, encoding = geo_member(name, table.schema)
    table = table.replace_schema_metadata(None)
    if geometry is not None and encoding != "WKB":
        table, geometry = table.drop_columns([geometry]), None  # made anew of the places read
    return table, geometry, "Unknown", crs, None


def _parquet(source: Path, kept: Ints, added: Added, pyarrow: Any) -> bytes:
    """The same file with more columns, squeezed as it was."""
    name = os.fspath(source)
    parquet = library("pyarrow.parquet", name)
    with reading(name):
        file = parquet.ParquetFile(os.path.abspath(source))
        table, groups = file.read(), file.metadata.num_row_groups
        squeezed = file.metadata.row_group(0).column(0).compression if groups else "SNAPPY"
    table = _with(table if len(kept) == len(table) else table.take(kept), added, pyarrow)
    buffer = io.BytesIO()
    parquet.write_table(
        table, buffer, compression="NONE" if squeezed == "UNCOMPRESSED" else squeezed
    )
    return buffer.getvalue()
