"""What else is fuzzed: tables of points as text, and data frames, under any options.

Kinds as in :mod:`fuzz_kinds`.  The first line of an input says, as JSON, what a person tells about
the points; :mod:`fuzz_layers` and :mod:`fuzz_verbs` use that, too.
"""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import fuzz_kinds
import shapely
from fuzz_kinds import Kind, sound
from fuzz_mutations import Random, mutate_bytes, mutate_text

import geodp
from geodp_app.cli import data_alone
from geodp_app.files.points import OUT_OF_BOUNDS, PointOptions, read_points
from geodp_app.tables.source import columns_of
from geometry.errors import InputError
from geometry.grid import Bounds, BoundsError

SEAM = b"\n--8<--\n"


def path_of(suffix: str) -> Path:
    """A file of this process."""
    return fuzz_kinds.FOLDER / f"{os.getpid()}{suffix}"


# Options of points: the first line of an input, as JSON

TOLD: tuple[dict[str, Any], ...] = (
    {},
    {"bounds": [13, 42, 20, 47]},
    {"bounds": [13, 42, 20, 47], "columns": "lon=lon,lat=lat,label=wet", "out": "drop"},
    {"bounds": [13, 42, 20, 47], "columns": "label=wet", "out": "clip", "person": "name"},
    {"bounds": [200000, 4600000, 800000, 5300000], "crs": "EPSG:32633", "out": "drop"},
    {"bounds": [170, -20, -170, 20], "grid": 64, "unlabelled": True, "out": "clip"},
)


def told_of(given: Any) -> PointOptions:
    """What options say; InputError or BoundsError if they are none."""
    if not isinstance(given, dict):
        raise InputError("no options")
    box = given.get("bounds")
    crs = given.get("crs") if isinstance(given.get("crs"), str) else None
    bounds = None
    if isinstance(box, list) and len(box) == 4 and all(type(v) in (int, float) for v in box):
        bounds = geodp_bounds(tuple(box), crs)
    grid = given.get("grid")
    out = given.get("out")
    person, columns = given.get("person"), given.get("columns")
    return PointOptions(
        grid if type(grid) is int and 1 <= grid <= 1 << 20 else None,
        bounds,
        columns_of(columns) if isinstance(columns, str) else {},
        bounds.crs if crs and bounds else None,
        given["layer"] if isinstance(given.get("layer"), str) else None,
        out if out in OUT_OF_BOUNDS else "refuse",
        person if isinstance(person, str) else None,
        labelled=not given.get("unlabelled"),
    )


def geodp_bounds(box: tuple[float, ...], crs: str | None) -> Bounds:
    """Bounds as the command line makes them."""
    from geometry.grid import checked_bounds

    return checked_bounds(box, crs)


def refused(path: Path, error: Exception, *, options: bool = False) -> str:
    """A refusal is one line, which names the file or is about an option."""
    return fuzz_kinds.refused(path, error, typed=options)


# Text tables: separators, words, points as text


def table_seeds() -> list[bytes]:
    """Tables as people have them, under each of the options."""
    tables = [
        "lon;lat;wet;name\n14,5;43,25;yes;a\n15,1;44;no;b\n",
        "\ufeffLongitude\tLatitude\tlabel\n14.5\t43\tTrue\n15\t44\tFalse\n",
        "wkt|wet|name\nPOINT (14.5 43)|inside|a\nSRID=4326;POINT Z(15 44 3)|outside|b\n",
        "name,geometry,wet\na,POINT(14 43),1\nb,POINT(19 46),-1\n",
        "x,y,label\n300000,4700000,1\n400000.5,4800000,0\n",
        "lng,lat,wet,name\n175,3,t,a\n-175,4,f,a\n,5,f,b\n",
        "x,y,label\n3,4,1\n5,6,0\n",
        '"lon","lat","wet"\n"14","43","ja"\n',
        "sep=;\nlon;lat;wet;name\n14,5;43;1,0;7\n15;44;0,0;7.0\n",
        'lon,lat,wet,name\n14, 43, "yes", "a, b"\n15,44,no,007\n',
        "geom,longitude,latitude,wet\n0101000000000000000000000000000000000000000,14,43,1\n",
        f"the_geom,wet\n{shapely.to_wkb(shapely.Point(14, 43), hex=True)},1\nPOINT EMPTY,0\n",
        'wkt,wet\n"SRID=4267;POINT (14 43)",1\n"SRID=32633;MULTIPOINT ((3e5 5e6))",0\n',
        "lon,lat,lon,wet\n14,43,15,1\n",
        "x,y,lon,lat,label,Label\n3,4,14,43,1,0\n",
        '\x1e{"type":"Feature","properties":{"wet":1},"geometry":'
        '{"type":"Point","coordinates":[14,43]}}\n{"type":"Point","coordinates":[]}\n',
        '{"type":"FeatureCollection","crs":{"type":"name","properties":{"name":"EPSG:4267"}},'
        '"features":[]}',
    ]
    texts = [table.encode() for table in tables]
    texts += [tables[0].encode("utf-16"), tables[0].encode("latin-1") + b"\xe9"]
    return [json.dumps(outcome).encode() + SEAM + text for outcome in TOLD for text in texts]


def mutate_table(data: bytes, rng: Random, seeds: list[bytes]) -> bytes:
    """The options changed, or the table, or the table of another seed taken."""
    outcome, seam, table = data.partition(SEAM)
    choice = rng.randrange(8)
    if choice == 0:
        outcome = mutate_text(outcome, rng, [outcome])
    elif choice == 1:
        table = rng.choice(seeds).partition(SEAM)[2]
    else:
        table = mutate_bytes(table, rng, [each.partition(SEAM)[2] for each in seeds[:20]])
    return outcome + seam + table


def run_table(data: bytes) -> str:
    """Read a table by its options."""
    outcome, _, table = data.partition(SEAM)
    path = path_of(".txt")
    path.write_bytes(table)
    return run_points(path, json_of(outcome))


def run_points(path: Path, given: Any) -> str:
    try:
        outcome = told_of(given)
    except (InputError, BoundsError) as error:
        return refused(path, error, options=True)
    try:
        with data_alone():
            return sound(read_points(path, outcome).examples)
    except InputError as error:
        return refused(path, error)


def json_of(text: bytes) -> Any:
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return None


# Data frames


def frame_seeds() -> list[bytes]:
    """Data frames with and without places."""
    outcome = {"bounds": [13, 42, 20, 47], "columns": "label=wet"}
    plain = [["lon", [14.0, 15.5, None]], ["lat", [43, 44.25, 45]], ["wet", ["yes", "no", "no"]]]
    grid = [["x", [3, 4]], ["y", [5, 6]], ["label", [True, False]], ["person", ["a", "a"]]]
    metres = [["x", [300000.0, 4e5]], ["y", [4.7e6, 4.8e6]], ["label", [-1, 1]]]
    places = ["POINT (14 43)", "POINT (15 44)"]
    frames: list[dict[str, Any]] = [
        {"told": {**outcome, "out": "drop"}, "columns": plain},
        {"told": {}, "columns": grid},
        {"told": {"person": "person"}, "columns": grid},
        {"told": TOLD[4], "columns": metres},
        {"told": outcome, "columns": [["wet", [1, 0]]], "places": places, "crs": "EPSG:4326"},
        {"told": outcome, "columns": [["wet", [1, 0]]], "places": places, "crs": None},
    ]
    return [json.dumps(frame).encode() for frame in frames]


def run_frame(data: bytes) -> str:
    """Read points of a data frame, as in Python."""
    import pandas

    member = json_of(data)
    try:
        names = [name if type(name) in (str, int) else str(name) for name, _ in member["columns"]]
        series = [pandas.Series(values) for _, values in member["columns"]]
        frame = pandas.concat(series, axis=1) if series else pandas.DataFrame()
        frame.columns = pandas.Index(names)
        if member.get("places"):
            import geopandas

            places = [shapely.from_wkt(str(w), on_invalid="ignore") for w in member["places"]]
            frame = geopandas.GeoDataFrame(frame, geometry=places, crs=member["crs"])
    except Exception:  # pandas makes no such frame
        return "refused"
    outcome, path = member.get("told"), Path("the data frame")
    try:
        parts = told_of(outcome)
    except (InputError, BoundsError) as error:
        return refused(path, error, options=True)
    try:
        examples = geodp.read_points(
            frame,
            bounds=parts.bounds,
            grid=parts.grid,
            columns=parts.columns,
            out_of_bounds=parts.out_of_bounds,
            id=parts.person,
        )
    except (InputError, BoundsError) as error:
        return refused(path, error, options=True)
    return sound(examples)


KINDS = {
    kind.name: kind
    for kind in (
        Kind("tables", table_seeds, mutate_table, run_table),
        Kind("frames", frame_seeds, mutate_text, run_frame),
    )
}
