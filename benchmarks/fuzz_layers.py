"""What else is fuzzed: points and learned shapes in formats of GIS programs, and Parquet.

Kinds as in :mod:`fuzz_kinds`.  Binary formats are not inputs themselves: an input says which good
file to begin with and which of its bytes to cut out and put in (:func:`edited`), so that a change
does not end at the first check.
"""

from __future__ import annotations

import functools
import io
import json
import os
import tempfile
import warnings
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import fuzz_kinds
import numpy as np
import shapely
from fuzz_kinds import Kind, must
from fuzz_mutations import TOKENS, Random, mutate_json, mutate_text
from fuzz_tables import TOLD, json_of, path_of, refused, run_points

from geodp import LearnedShape, save
from geodp_app.cli import data_alone
from geodp_app.files.learned_file import read_learned
from geometry.errors import InputError
from geometry.geojson import GeoJSONError

# Layers that GDAL and pyarrow read: a good file, and edits of its bytes

#: Formats of points; parts of a shapefile.
_FORMATS = (".gpkg", ".fgb", ".shp", ".parquet", ".geojson", ".kml")
_PARTS = (".shp", ".shx", ".dbf", ".prj")
_FORMATS_LEARNED = (".gpkg", ".fgb", ".shp", ".parquet")


@functools.cache
def good_points(ending: str) -> dict[str, bytes]:
    """A small layer of points with fields, by the endings of its files."""
    import geopandas

    frame = geopandas.GeoDataFrame(
        {"wet": [1, 0, 1], "name": ["a", "b", None], "depth": [0.5, float("nan"), 2.0]},
        geometry=[shapely.Point(14, 43), shapely.Point(15.5, 44.25), shapely.Point(19, 46)],
        crs="EPSG:4326",
    )
    with tempfile.TemporaryDirectory() as folder, warnings.catch_warnings(action="ignore"):
        path = Path(folder) / f"a{ending}"
        if ending == ".parquet":
            frame.to_parquet(path)
        else:
            frame.to_file(path, engine="pyogrio", driver={".kml": "KML"}.get(ending))
        return {each.suffix: each.read_bytes() for each in Path(folder).iterdir()}


@functools.cache
def good_learned(ending: str) -> dict[str, bytes]:
    """A learned shape as a layer, by the endings of its files."""
    work, run = next(iter(fuzz_kinds.stored_runs()))
    assert run.release is not None
    with tempfile.TemporaryDirectory() as folder, warnings.catch_warnings(action="ignore"):
        save(LearnedShape(run.release, work.frame), Path(folder) / f"a{ending}")
        return {each.suffix: each.read_bytes() for each in Path(folder).iterdir()}


def edited(good: Mapping[str, bytes], edits: Any) -> dict[str, bytes]:
    """The parts of a file with edits: [part, place, bytes to cut out, hex to put in]."""
    made = dict(good)
    for part, at, cut, put in edits:
        name = sorted(made)[part % len(made)]
        old = made[name]
        at %= len(old) + 1
        made[name] = old[:at] + bytes.fromhex(put) + old[at + cut :]
    return made


def layer_seeds() -> list[bytes]:
    """Every format, unharmed, with the options that fit."""
    for ending in _FORMATS:
        good_points(ending)
    outcome = ({"bounds": [13, 42, 20, 47], "columns": "label=wet"}, *TOLD[3:])
    return [
        json.dumps({"of": ending, "told": each, "edits": []}).encode()
        for ending in _FORMATS
        for each in outcome
    ]


def learned_layer_seeds() -> list[bytes]:
    """Every format of learned shapes."""
    for ending in _FORMATS_LEARNED:
        good_learned(ending)
    return [json.dumps({"of": ending, "edits": []}).encode() for ending in _FORMATS_LEARNED]


def mutate_edits(data: bytes, rng: Random, seeds: list[bytes]) -> bytes:
    """Another edit, or one less; sometimes other options."""
    member = json_of(data)
    edits = list(member.get("edits", ()))[-12:]
    if edits and not rng.randrange(4):
        del edits[rng.randrange(len(edits))]
    if "told" in member and not rng.randrange(8):
        member["told"] = mutate_json(member["told"], rng) if rng.randrange(4) else {}
    for _ in range(1 + rng.getrandbits(1)):
        at = rng.randrange(200) if rng.getrandbits(1) else rng.randrange(1 << 17)
        cut = rng.choice((0, 1, 1, 1, 2, 4, 8, 64, 1 << 16))
        same = bytes(rng.randrange(256) for _ in range(min(cut, 8)))
        put = rng.choice((same, same, same, b"", b"\xff" * min(cut, 8), rng.choice(TOKENS)[:64]))
        edits.append([rng.randrange(4), at, cut, put.hex()])
    return json.dumps({**member, "edits": edits}).encode()


def _write_parts(parts: Mapping[str, bytes]) -> None:
    for old in fuzz_kinds.FOLDER.glob(f"{os.getpid()}-layer*"):
        old.unlink()
    for ending, data in parts.items():
        path_of(f"-layer{ending}").write_bytes(data)


def run_layer(data: bytes) -> str:
    """Read points of a layer."""
    member = json_of(data)
    _write_parts(edited(good_points(member["of"]), member["edits"]))
    return run_points(path_of(f"-layer{member['of']}"), member["told"])


def run_learned_layer(data: bytes) -> str:
    """Read a learned shape of a layer; its exact hypothesis, if it is there, labels points."""
    member = json_of(data)
    _write_parts(edited(good_learned(member["of"]), member["edits"]))
    return _run_learned(path_of(f"-layer{member['of']}"))


def _run_learned(path: Path) -> str:
    try:
        with data_alone():
            learned = read_learned(path)
    except (GeoJSONError, InputError) as error:
        return refused(path, error)
    if learned.release is not None:
        labels = learned.release.predict(np.array([[0, 0], [learned.release.d, 0]]))
        must(set(labels.tolist()) <= {0, 1}, "labels")
    else:
        must(shapely.is_valid(learned.target.geometry), "not valid")
    return "read"


# Parquet: what its metadata say, and what its columns hold


def parquet_seeds() -> list[bytes]:
    """GeoParquet of points and of a learned shape, and plain Parquet."""
    from pyarrow import parquet

    learned = parquet.read_table(io.BytesIO(good_learned(".parquet")[".parquet"]))
    metadata = {k.decode(): json.loads(v) for k, v in learned.schema.metadata.items()}
    shapes = [[name, [_shown(v) for v in learned[name].to_pylist()]]
              for name in learned.column_names]  # fmt: skip
    places = [[14.0, 43.0], [15.5, 44.25]]
    points = [["wet", [1, 0]], ["geometry", [shapely.Point(p).wkb.hex() for p in places]]]
    plain = [["lon", [14.0, 15.5]], ["lat", [43.0, 44.25]], ["wet", [True, False]]]
    records = [["wet", ["yes", "no"]], ["geometry", [{"x": 14.0, "y": 43.0}, {"x": 15, "y": 44}]]]
    geo = {"version": "1.1.0", "primary_column": "geometry",
           "columns": {"geometry": {"encoding": "WKB", "geometry_types": ["Point"]}}}  # fmt: skip
    outcome = {"bounds": [13, 42, 20, 47], "columns": "label=wet"}
    point = json.loads(json.dumps(geo).replace("WKB", "point"))
    members: list[Any] = [
        {"told": None, "columns": shapes, "metadata": metadata},
        {"told": outcome, "columns": points, "metadata": {"geo": geo}},
        {"told": outcome, "columns": records, "metadata": {"geo": point}},
        {"told": outcome, "columns": plain, "metadata": {}},
    ]
    return [json.dumps(member).encode() for member in members]


def _shown(value: Any) -> Any:
    return value.hex() if isinstance(value, bytes) else value


def run_parquet(data: bytes) -> str:
    """Read a Parquet file as points, and as a learned shape."""
    import pyarrow
    from pyarrow import parquet

    member = json_of(data)
    path = path_of(".parquet")
    try:
        columns = {
            str(name): [bytes.fromhex(v) if name == "geometry" and type(v) is str else v
                        for v in values]
            for name, values in member["columns"]
        }  # fmt: skip
        metadata = {str(k): json.dumps(v) for k, v in member["metadata"].items()}
        table = pyarrow.table(columns).replace_schema_metadata(metadata)
        parquet.write_table(table, path)
    except (pyarrow.ArrowException, ValueError, TypeError, KeyError, AttributeError, OverflowError):
        return "refused"  # there is no such file
    if member.get("told") is None:
        return _run_learned(path)
    return run_points(path, member["told"])


KINDS = {
    kind.name: kind
    for kind in (
        Kind("layers", layer_seeds, mutate_edits, run_layer, framed=True),
        Kind("learned-layers", learned_layer_seeds, mutate_edits, run_learned_layer, framed=True),
        Kind("parquet", parquet_seeds, mutate_text, run_parquet),
    )
}
