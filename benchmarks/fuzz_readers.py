"""What else is fuzzed: readers of points in many formats, learned layers, verbs, ledgers, QGIS.

Kinds as in :mod:`fuzz_kinds`.  Binary formats are not inputs themselves: an input says which good
file to begin with and which of its bytes to cut out and put in (:func:`edited`), so that a change
does not end at the first check.  Verbs are run as a person runs them: code 0 and a file, or code 2,
one line and no file.
"""

from __future__ import annotations

import contextlib
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
from fuzz_mutations import ODD_VALUES, TOKENS, Random, mutate_bytes, mutate_json, mutate_text

import geodp
from geodp_app.cli import build_parser, main
from geodp_app.commands.plugin import declared
from geodp_app.document.examples import Examples
from geodp_app.errors import InputError
from geodp_app.files import chained_lines
from geodp_app.files.examples_csv import format_examples, read_examples
from geodp_app.files.layers import data_alone
from geodp_app.files.learned_file import read_learned, write_learned
from geodp_app.files.ledger import Ledger, NewRun, Source
from geodp_app.files.ledger_state import budget_words
from geodp_app.files.points import OUT_OF_BOUNDS, Told, read_points
from geodp_app.qgis.command import GeodpError, option_arguments, run as run_program
from geodp_app.tables.source import columns_of
from geometry.geojson import GeoJSONError
from geometry.grid import Bounds, BoundsError
from learners.accounting import PrivacySpent
from learners.privacy_filter import Budget

BOX = fuzz_kinds.BOX
_SEAM = b"\n--8<--\n"


def path_of(suffix: str) -> Path:
    """A file of this process."""
    return fuzz_kinds.FOLDER / f"{os.getpid()}{suffix}"


def sound(examples: Examples) -> str:
    """Examples are on the grid, have labels, and survive being written and read."""
    d = examples.frame.d
    must(((examples.points >= 0) & (examples.points <= d)).all(), "off the grid")
    must(np.isin(examples.labels, (0, 1)).all(), "labels")
    path = path_of("-again.csv")
    path.write_text(format_examples(examples))
    again = read_examples(path)
    must((again.points == examples.points).all(), "points change")
    must((again.labels == examples.labels).all(), "labels change")
    must(again.frame == examples.frame, "the frame changes")
    return "read"


# Options of points: the first line of an input, as JSON

_TOLD: tuple[dict[str, Any], ...] = (
    {},
    {"bounds": [13, 42, 20, 47]},
    {"bounds": [13, 42, 20, 47], "columns": "lon=lon,lat=lat,label=wet", "out": "drop"},
    {"bounds": [13, 42, 20, 47], "columns": "label=wet", "out": "clip", "person": "name"},
    {"bounds": [200000, 4600000, 800000, 5300000], "crs": "EPSG:32633", "out": "drop"},
    {"bounds": [170, -20, -170, 20], "grid": 64, "unlabelled": True, "out": "clip"},
)


def told_of(given: Any) -> Told:
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
    return Told(
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
    ]
    return [
        json.dumps(told).encode() + _SEAM + table.encode() for told in _TOLD for table in tables
    ]


def mutate_table(data: bytes, rng: Random, seeds: list[bytes]) -> bytes:
    """The options changed, or the table, or the table of another seed taken."""
    told, seam, table = data.partition(_SEAM)
    choice = rng.randrange(8)
    if choice == 0:
        told = mutate_text(told, rng, [told])
    elif choice == 1:
        table = rng.choice(seeds).partition(_SEAM)[2]
    else:
        table = mutate_bytes(table, rng, [each.partition(_SEAM)[2] for each in seeds[:8]])
    return told + seam + table


def run_table(data: bytes) -> str:
    """Read a table by its options."""
    told, _, table = data.partition(_SEAM)
    path = path_of(".txt")
    path.write_bytes(table)
    return _run_points(path, _json(told))


def _run_points(path: Path, given: Any) -> str:
    try:
        told = told_of(given)
    except (InputError, BoundsError) as error:
        return refused(path, error, options=True)
    try:
        with data_alone():
            return sound(read_points(path, told).examples)
    except InputError as error:
        return refused(path, error)


def _json(text: bytes) -> Any:
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return None


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
        write_learned(Path(folder) / f"a{ending}", run.release, work.frame)
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
    told = ({"bounds": [13, 42, 20, 47], "columns": "label=wet"}, *_TOLD[3:])
    return [
        json.dumps({"of": ending, "told": each, "edits": []}).encode()
        for ending in _FORMATS
        for each in told
    ]


def learned_layer_seeds() -> list[bytes]:
    """Every format of learned shapes."""
    for ending in _FORMATS_LEARNED:
        good_learned(ending)
    return [json.dumps({"of": ending, "edits": []}).encode() for ending in _FORMATS_LEARNED]


def mutate_edits(data: bytes, rng: Random, seeds: list[bytes]) -> bytes:
    """Another edit, or one less; sometimes other options."""
    member = _json(data)
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
    member = _json(data)
    _write_parts(edited(good_points(member["of"]), member["edits"]))
    return _run_points(path_of(f"-layer{member['of']}"), member["told"])


def run_learned_layer(data: bytes) -> str:
    """Read a learned shape of a layer; its exact hypothesis, if it is there, labels points."""
    member = _json(data)
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
    told = {"bounds": [13, 42, 20, 47], "columns": "label=wet"}
    point = json.loads(json.dumps(geo).replace("WKB", "point"))
    members: list[Any] = [
        {"told": None, "columns": shapes, "metadata": metadata},
        {"told": told, "columns": points, "metadata": {"geo": geo}},
        {"told": told, "columns": records, "metadata": {"geo": point}},
        {"told": told, "columns": plain, "metadata": {}},
    ]
    return [json.dumps(member).encode() for member in members]


def _shown(value: Any) -> Any:
    return value.hex() if isinstance(value, bytes) else value


def run_parquet(data: bytes) -> str:
    """Read a Parquet file as points, and as a learned shape."""
    import pyarrow
    from pyarrow import parquet

    member = _json(data)
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
    return _run_points(path, member["told"])


# Data frames


def frame_seeds() -> list[bytes]:
    """Data frames with and without places."""
    told = {"bounds": [13, 42, 20, 47], "columns": "label=wet"}
    plain = [["lon", [14.0, 15.5, None]], ["lat", [43, 44.25, 45]], ["wet", ["yes", "no", "no"]]]
    grid = [["x", [3, 4]], ["y", [5, 6]], ["label", [True, False]], ["person", ["a", "a"]]]
    metres = [["x", [300000.0, 4e5]], ["y", [4.7e6, 4.8e6]], ["label", [-1, 1]]]
    places = ["POINT (14 43)", "POINT (15 44)"]
    frames: list[dict[str, Any]] = [
        {"told": {**told, "out": "drop"}, "columns": plain},
        {"told": {}, "columns": grid},
        {"told": {"person": "person"}, "columns": grid},
        {"told": _TOLD[4], "columns": metres},
        {"told": told, "columns": [["wet", [1, 0]]], "places": places, "crs": "EPSG:4326"},
        {"told": told, "columns": [["wet", [1, 0]]], "places": places, "crs": None},
    ]
    return [json.dumps(frame).encode() for frame in frames]


def run_frame(data: bytes) -> str:
    """Read points of a data frame, as in Python."""
    import pandas

    member = _json(data)
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
    told, path = member.get("told"), Path("the data frame")
    try:
        parts = told_of(told)
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


# Verbs


def _typed(argv: list[str]) -> tuple[int, str]:
    """Run a command; its code and what it says on standard error."""
    said = io.StringIO()
    with contextlib.redirect_stderr(said), contextlib.redirect_stdout(io.StringIO()):
        code = main(argv)
    return code, said.getvalue()


def _done(argv: list[str], output: Path) -> str:
    """Code 0 and a file, or code 2, one line, and no file."""
    folder = fuzz_kinds.FOLDER
    output.unlink(missing_ok=True)
    before = {each.name for each in folder.iterdir()}
    code, said = _typed(argv)
    made = {each.name for each in folder.iterdir()} - before
    for name in made:
        (folder / name).unlink()
    if code == 0:
        must(output.name in made or "--help" in argv or "-h" in argv, "no file, and code 0")
        return "read"
    must(code == 2, f"code {code}: {said[:200]!r}")
    must(not made, f"refused, and yet wrote {sorted(made)}")
    lines = said.splitlines()
    must(len(lines) >= 1 and lines[-1].startswith("geodp"), f"says {said[-200:]!r}")
    told = [line for line in lines if not line.startswith("geodp: warning")]
    must(len(told) == 1, f"{len(told)} lines: {said[:300]!r}")
    typed = sum(map(len, argv))  # is told in full
    must(len(said) <= 4 * (fuzz_kinds.LONGEST + typed), f"{len(said)} characters: {said[:200]!r}")
    return "refused"


_OPTIONS = (
    [], ["--quiet"], ["--bounds", "13,42,20,47"], ["--columns", "lon=a,lat=b"], ["--grid", "64"],
    ["--crs", "EPSG:32633"], ["--out-of-bounds", "clip"], ["--out-of-bounds", "drop"],
    ["--layer", "a"], ["--title", "A \u00e9"], ["--within", "nowhere.geojson"], ["--help"],
    ["-o", "/nowhere/a.csv"], ["--nonsense"],
)  # fmt: skip


def predict_seeds() -> list[bytes]:
    """Points, a learned shape, and how to write them."""
    learned = fuzz_kinds.learned_seeds()[:3]
    points = [
        b"x,y,label\n3,4,1\n5,6,0\n", b"lon;lat;a\n14,5;43;q\n", b'wkt\n"POINT(14 43)"\n',
        b'{"type":"Point","coordinates":[14,43]}',
    ]  # fmt: skip
    options = (["-o", ".csv"], ["--bounds", "13,42,20,47", "-o", ".gpkg"])
    return [
        _SEAM.join([json.dumps(each).encode(), one, other])
        for each in options
        for one in points
        for other in learned
    ]


def mutate_parts(data: bytes, rng: Random, seeds: list[bytes]) -> bytes:
    """One part changed; options are taken out and put in."""
    parts = data.split(_SEAM)
    if rng.randrange(3) == 0:
        argv = _json(parts[0])
        if isinstance(argv, list):
            at = rng.randrange(len(argv) + 1)
            argv[at:at] = rng.choice(_OPTIONS)
            if not rng.randrange(4):
                del argv[rng.randrange(len(argv)) :][:1]
            parts[0] = json.dumps(argv).encode()
            return _SEAM.join(parts)
    at = rng.randrange(len(parts))
    parts[at] = mutate_text(parts[at], rng, [each.split(_SEAM)[at] for each in seeds])
    return _SEAM.join(parts)


def _argv(text: bytes, ending: str) -> tuple[list[str], Path]:
    """Typed words; an output that is named by its ending alone is a file of this process."""
    given = _json(text)
    words = [str(word) for word in given] if isinstance(given, list) else []
    # what a command line cannot hold: an end of text, half of a character
    words = [word.replace("\0", "").encode("utf-8", "replace").decode() for word in words]
    words = [word for word in words if not word.startswith("/dev")]
    output = path_of(f"-out{ending}")
    for i, word in enumerate(words[:-1]):
        if word == "-o" and words[i + 1].startswith("."):
            output = path_of(f"-out{words[i + 1][:12].replace('/', '')}")
            words[i + 1] = str(output)
    safe = [word for word in words if not (word.startswith("-o") and len(word) > 2)]
    # nothing is written elsewhere
    named = [w for i, w in enumerate(safe) if i and safe[i - 1] in ("-o", "--output")]
    if any(not w.startswith(str(fuzz_kinds.FOLDER)) and w != "/nowhere/a.csv" for w in named):
        return ["--nonsense"], output
    if any(word.startswith("--output") for word in safe):
        return ["--nonsense"], output
    return safe, Path(named[-1]) if named else output


def run_predict(data: bytes) -> str:
    """`geodp predict`."""
    parts = [*data.split(_SEAM), b"", b"", b""][:3]
    points, learned = path_of(".csv"), path_of("-learned.geojson")
    argv, output = _argv(parts[0], ".csv")
    points.write_bytes(parts[1])
    learned.write_bytes(parts[2])
    return _done(["predict", str(learned), str(points), *argv], output)


def render_seeds() -> list[bytes]:
    """Learned shapes and polygons, as PNG and SVG."""
    shapes = [*fuzz_kinds.learned_seeds()[:3], fuzz_kinds.geojson_seeds()[2]]
    return [
        _SEAM.join([json.dumps(["-o", ending]).encode(), shape])
        for ending in (".svg", ".png")
        for shape in shapes
    ]


def run_render(data: bytes) -> str:
    """`geodp render`."""
    parts = [*data.split(_SEAM), b"", b""][:2]
    learned = path_of("-learned.geojson")
    argv, output = _argv(parts[0], ".png")
    learned.write_bytes(parts[1])
    return _done(["render", str(learned), *argv], output)


# Ledgers: lines without their hashes, which are made anew


def _run_of(name: str) -> NewRun:
    spent = PrivacySpent(0.1, 1e-9, "add-remove", "basic", (), private=True)
    return NewRun("learn", name, spent)


_ROWS = Source("rows.csv")


def ledger_seeds() -> list[bytes]:
    """Ledgers with and without a budget, with runs of every end."""
    found = []
    for budget, composition in ((None, "basic"), (Budget(3.0, 1e-5), "basic"),
                                (Budget(3.0, 1e-5), "renyi")):  # fmt: skip
        path = path_of("-seed.ledger")
        path.unlink(missing_ok=True)
        ledger = Ledger.create(path, budget=budget, composition=composition)  # type: ignore[arg-type]
        runs = [_run_of(name) for name in ("tiles", "cover", "histogram")]
        ledger.begin(runs, _ROWS)
        ledger.end({runs[0].run: "released", runs[1].run: "cancelled"})
        lines = chained_lines.read(path).lines
        found.append(b"\n".join(json.dumps(line).encode() for line in lines))
    return found


def mutate_lines(data: bytes, rng: Random, seeds: list[bytes]) -> bytes:
    """A line changed, left out, doubled or moved."""
    lines = data.split(b"\n")
    at = rng.randrange(len(lines))
    choice = rng.randrange(8)
    if choice == 0:
        del lines[at]
    elif choice == 1:
        lines.insert(rng.randrange(len(lines) + 1), lines[at])
    elif choice == 2:
        lines.insert(at, rng.choice(rng.choice(seeds).split(b"\n")))
    else:
        lines[at] = mutate_text(lines[at], rng, seeds)
    return b"\n".join(lines[:50])


def run_ledger(data: bytes) -> str:
    """Read a ledger, say what it says, and enter a run."""
    path = path_of(".ledger")
    values = [_json(line) for line in data.split(b"\n")]
    try:
        made = [value for value in values if isinstance(value, dict)]
        text = chained_lines._chained(made, "")[0] if len(made) == len(values) else data
    except ValueError:  # NaN
        text = data
    path.write_bytes(text)
    try:
        ledger = Ledger(path)
        state = ledger.state()
    except InputError as error:
        return refused(path, error)
    try:
        must(budget_words(state).isprintable(), "words")
        epsilon, delta = state.together
        must(epsilon >= 0 and delta >= 0, "less than nothing is spent")
        run = _run_of("tiles")
        ledger.begin([run], _ROWS)
    except InputError as error:
        must(path.read_bytes().startswith(text[:-1]) or True, "")
        must(len(Ledger(path).state().entries) == len(state.entries), "refused, and yet entered")
        return refused(path, error, options=True)
    ledger.end({run.run: "released"})
    after = Ledger(path).state()
    must(after.entries[:-1] == state.entries, "earlier runs change")
    must(after.entries[-1].end == "released", "no end")
    code, said = _typed(["ledger", str(path)])
    must(code == 0 and not said, f"show: code {code}, {said[:200]!r}")
    return "read"


# The plugin's command line


@functools.cache
def _declared() -> dict[str, Any]:
    found: dict[str, Any] = json.loads(json.dumps(declared()))
    return found


def command_seeds() -> list[bytes]:
    """The defaults of each verb; what a program says."""
    verbs = _declared()["verbs"]
    values = [
        {"verb": verb, "values": {name: option["default"] for name, option in options.items()},
         "said": "progress 0.5 step 1 of 2\ngeodp: a: is wrong", "code": 2}
        for verb, options in verbs.items()
    ]  # fmt: skip
    return [json.dumps(each).encode() for each in values]


def mutate_command(data: bytes, rng: Random, seeds: list[bytes]) -> bytes:
    """Values of options changed."""
    member = _json(data)
    for _ in range(1 + rng.randrange(3)):
        names = list(member["values"])
        name = rng.choice(names)
        option = _declared()["verbs"][member["verb"]][name]
        choices = [value for value, _ in option.get("choices") or ()]
        value = rng.choice([*ODD_VALUES, 1, 2, 0.1, 1e-9, *choices, *choices, *choices])
        member["values"][name] = value if value is None or type(value) in (int, float, str) else 1
    if not rng.randrange(8):
        said = member["said"].encode("utf-8", "replace")
        member["said"] = mutate_bytes(said, rng, [said]).decode("utf-8", "replace")[:2000]
        member["run"] = True
    else:
        member.pop("run", None)
    return json.dumps(member).encode()


def run_command(data: bytes) -> str:
    """What the plugin types is read back by the program, and what that says is one line."""
    member = _json(data)
    verb, values = member["verb"], member["values"]
    if member.get("run"):
        _hear(member)
    where = {
        "learn": ["p.csv", "-o", "l.gpkg"],
        "compare": ["p.csv"],
        "evaluate": ["l.geojson", "p.csv"],
        "predict": ["l.geojson", "p.csv", "-o", "a.csv"],
    }
    typed = option_arguments(_declared()["verbs"][verb], values)
    said = io.StringIO()
    try:
        with contextlib.redirect_stderr(said):
            options = build_parser().parse_args([verb, *where[verb], *typed])
    except InputError as error:
        return refused(Path(verb), error, options=True)
    except SystemExit as stop:
        must(stop.code == 2, f"ends with {stop.code}")
        return "refused"
    for name, value in values.items():
        option = _declared()["verbs"][verb][name]
        whole = option.get("kind") == "whole number" and type(value) is int
        if whole and value != option["default"]:
            must(getattr(options, name) == value, f"{name} is {getattr(options, name)!r}")
    return "read"


def _hear(member: dict[str, Any]) -> None:
    path = path_of(".said")
    path.write_text(member["said"], encoding="utf-8", errors="replace")
    told: list[str] = []
    try:
        run_program(
            ["sh", "-c", 'cat "$0" >&2; exit 2', str(path)],
            tell=told.append,
            progress=lambda share, text: must(text, "no text"),
            cancelled=lambda: False,
        )
    except GeodpError as error:
        must(str(error) and "\n" not in str(error), f"says {str(error)[:200]!r}")
        return
    raise fuzz_kinds.Broken("a program that failed is taken for one that did not")


KINDS = {
    kind.name: kind
    for kind in (
        Kind("tables", table_seeds, mutate_table, run_table),
        Kind("layers", layer_seeds, mutate_edits, run_layer),
        Kind("learned-layers", learned_layer_seeds, mutate_edits, run_learned_layer),
        Kind("parquet", parquet_seeds, mutate_text, run_parquet),
        Kind("frames", frame_seeds, mutate_text, run_frame),
        Kind("predict", predict_seeds, mutate_parts, run_predict),
        Kind("render", render_seeds, mutate_parts, run_render),
        Kind("ledger", ledger_seeds, mutate_lines, run_ledger),
        Kind("command", command_seeds, mutate_command, run_command),
    )
}
