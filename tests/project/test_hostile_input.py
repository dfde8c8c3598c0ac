"""Nonsense is refused in one line, in bounded time.  The long versions: benchmarks/fuzz.py and
benchmarks/extremes.py.
"""

import io
import json
import os
import struct
import subprocess
import sys
import time
import zipfile
import zlib
from collections.abc import Callable
from fractions import Fraction
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest
import shapely
from hypothesis import given, settings, strategies as st
from programs import program
from shapely.geometry import Polygon, box
from terminal import fails, started

from geodp import Bounds, BoundsError, GeoJSONError, InputError
from geodp_app.cli import main
from geodp_app.document.checks import MOST_CROSSINGS
from geodp_app.document.document import Document
from geodp_app.document.work import Work
from geodp_app.drawing.shapes import Drawing, Shape
from geodp_app.files import csv_table
from geodp_app.files.document_files import import_target
from geodp_app.files.import_formats import open_frame
from geodp_app.files.learned_file import read_learned
from geodp_app.files.ledger import Ledger, NewRun, Source
from geodp_app.files.points import PointOptions, read_examples, read_opened, read_points
from geodp_app.files.session import load_session, save_session
from geometry.geojson import MAX_CROSSINGS, read_geojson
from geometry.grid import checked_bounds
from geometry.polygons import contains_points, even_odd_region
from geometry.rings import crossings_up_to

#: Seconds of this process: only what hangs takes so many.
HANGS = 60


@pytest.fixture
def fuzz(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    return program("fuzz", monkeypatch)


def refusal(read: Callable[[Path], object], path: Path, kind: type[Exception] = InputError) -> str:
    """The one line that refuses a file, within a bounded time."""
    begun = time.process_time()
    with pytest.raises(kind) as caught:
        read(path)
    assert time.process_time() - begun < HANGS
    text = str(caught.value)
    assert text.startswith(f"{path}: ")
    assert "\n" not in text
    return text.removeprefix(f"{path}: ")


# Fuzzing, shortly


#: Inputs of each kind, fewer where one takes long.
MUTATIONS = dict.fromkeys(("csv", "geojson", "session", "learned", "gestures"), 400) | {
    "tables": 400, "parquet": 300, "ledger": 150, "layers": 80, "frames": 60, "command": 40,
    "predict": 30, "learned-layers": 12, "render": 16,
}  # fmt: skip


@pytest.mark.parametrize("name", MUTATIONS)
def test_some_hundred_mutations_find_nothing(fuzz: ModuleType, name: str) -> None:
    if name in ("layers", "learned-layers", "parquet", "frames", "predict"):
        for library in ("geopandas", "pyogrio", "pyarrow", "pyproj"):
            pytest.importorskip(library)
    tally = fuzz.Tally(name, "mutation")
    inputs = MUTATIONS[name]
    fuzz.mutation_batch(fuzz.KINDS[name], inputs, f"{name} of the suite", fuzz.Watched(), tally)
    assert tally.findings == {}
    assert tally.inputs == inputs
    assert tally.read > 0
    assert tally.refused > 0 or name == "gestures"
    assert min(tally.read, tally.refused) > 20 or inputs < 400 or name == "gestures"


def test_what_breaks_hangs_or_dies_is_found(fuzz: ModuleType) -> None:
    def run(data: bytes) -> str:
        if data == b"raise":
            raise KeyError("no")
        if data == b"die":
            os._exit(3)
        if data == b"hang":
            time.sleep(60)
        return "read"

    for word, finding in ((b"raise", "KeyError"), (b"die", "ends the"), (b"hang", "hangs")):
        kind = fuzz.Kind("none", lambda: [b"x"], lambda *_, w=word: w, run)
        fuzz._SEEDS.pop("none", None)
        tally = fuzz.run_batch(kind, "mutation", 3, "1", patience=0.5 if word == b"hang" else HANGS)
        (found,) = tally.findings
        assert finding in found
        assert tally.findings[found] == word.hex()


@settings(max_examples=150)
@given(
    st.text(max_size=80), st.sampled_from(["", "x,y,label\n", '# geodp {"grid": 9}\nx,y,label\n'])
)
def test_any_text_is_a_table_or_refused(text: str, head: str) -> None:
    path = Path(f"/tmp/geodp-hostile-{os.getpid()}.csv")
    path.write_bytes((head + text).encode("utf-8", "replace"))
    said = ""
    try:
        examples = read_examples(path)
        assert examples.points.shape == (len(examples.labels), 2)
    except InputError as error:
        said = str(error)
    finally:
        path.unlink()
    assert len(said.splitlines()) <= 1


# CSV


def test_a_long_number_that_is_none_is_refused_at_once(write: Any) -> None:
    path = write("a.csv", f"x,y,label\n{'1' * 100_000}x,1,1\n")
    assert "is not a number" in refusal(read_examples, path)


@pytest.mark.parametrize(
    ("head", "message"),
    [
        ("# geodp " + "[" * 100_000, "must be followed by a JSON object"),
        ('# geodp {"bounds": [1' + "0" * 400 + ", 0, 1, 1]}", "bounds in its first line"),
        ('# geodp {"bounds": "0123"}', "bounds in its first line: must be four numbers"),
        ('# geodp {"bounds": [false, 0, true, 1]}', "must be four numbers"),
        ('# geodp {"grid": "a\\nb"}', "its first line says grid 'a\\nb'"),
        ('# geodp {"grid": ' + "9" * 4000 + "}", "its first line says grid 9999"),
    ],
)
def test_a_hostile_first_line_is_refused(write: Any, head: str, message: str) -> None:
    path = write("a.csv", f"{head}\nx,y,label\n1,1,1\n")
    text = refusal(read_examples, path)
    assert message in text
    assert len(text) < 300


def test_a_hostile_header_is_refused(write: Any) -> None:
    path = write("a.csv", '"' + "x" * 200_000 + '"\n1,1,1\n')
    assert "line 1: field larger than" in refusal(read_examples, path)


@pytest.mark.skipif(not os.path.exists("/dev/zero"), reason="no endless device")
def test_an_endless_file_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(csv_table, "MAX_BYTES", 10_000)
    assert "larger than 10,000 bytes" in refusal(read_examples, Path("/dev/zero"))


# GeoJSON and drawings


def strips(n: int) -> list[Polygon]:
    """n strips across n others: they cross 4 n^2 times."""
    along = [box(0, (i + 0.2) / n, 1, (i + 0.7) / n) for i in range(n)]
    return along + [box((i + 0.2) / n, 0, (i + 0.7) / n, 1) for i in range(n)]


def collection(shapes: list[Polygon]) -> dict[str, Any]:
    features = [
        {"type": "Feature", "properties": {}, "geometry": shapely.geometry.mapping(shape)}
        for shape in shapes
    ]
    return {"type": "FeatureCollection", "features": features}


def test_outlines_that_cross_too_often_are_refused_before_they_are_united(write: Any) -> None:
    path = write("a.geojson", collection(strips(400)))
    target = read_geojson(path)
    # labels need no union
    assert not contains_points(target.figure(8, Bounds(0, 0, 1, 1)), [[8, 8]]).any()
    outcome = f"a: the features' outlines cross more than {MAX_CROSSINGS:,} times"
    with pytest.raises(GeoJSONError, match=outcome):
        target.on_grid(8, Bounds(0, 0, 1, 1))
    few = read_geojson(write("b.geojson", collection(strips(12)))).geometry
    assert few.area == pytest.approx(0.75)


def test_a_polygon_of_a_hundred_thousand_vertices_is_read(write: Any) -> None:
    angle = np.linspace(0, 2 * np.pi, 100_001)
    ring = np.column_stack([10 + np.cos(angle), 10 + np.sin(angle)])
    ring[-1] = ring[0]
    begun = time.process_time()
    target = read_geojson(write("a.geojson", collection([Polygon(ring)])))
    assert shapely.get_num_coordinates(target.geometry) == 100_001
    assert time.process_time() - begun < HANGS


@given(st.integers(0, 10**6), st.integers(2, 12), st.sampled_from([5, 100]))
@settings(max_examples=60)
def test_crossings_are_counted(seed: int, n: int, d: int) -> None:
    edges = np.random.default_rng(seed).integers(0, d, (n, 4)).astype(float)
    true = sum(_proper(edges[i], edges[j]) for i in range(n) for j in range(i))
    assert crossings_up_to(10**6, edges) == true
    if true:
        assert crossings_up_to(0, edges) > 0


def _proper(one: Any, other: Any) -> bool:
    """Whether two segments cross inside of both, by solving for where."""
    ax, ay, bx, by, cx, cy, dx, dy = (Fraction(v) for v in (*one, *other))
    whole = (bx - ax) * (dy - cy) - (by - ay) * (dx - cx)
    if not whole:
        return False
    t = ((cx - ax) * (dy - cy) - (cy - ay) * (dx - cx)) / whole
    u = ((cx - ax) * (by - ay) - (cy - ay) * (bx - ax)) / whole
    return 0 < t < 1 and 0 < u < 1


@given(st.integers(0, 10**6), st.integers(3, 14), st.sampled_from([4, 30, 1 << 20]))
@settings(max_examples=60)
def test_a_ring_that_crosses_itself_counts_even_odd(seed: int, n: int, d: int) -> None:
    rng = np.random.default_rng(seed)
    ring = rng.integers(0, d + 1, (n, 2)).astype(float)
    region = even_odd_region(ring)
    assert shapely.is_valid(region)
    points = rng.uniform(0, d, (200, 2))
    start, end = ring, np.roll(ring, -1, axis=0)
    for x, y in points:
        across = (start[:, 1] > y) != (end[:, 1] > y)
        with np.errstate(divide="ignore", invalid="ignore"):
            at = start[:, 0] + (y - start[:, 1]) / (end - start)[:, 1] * (end - start)[:, 0]
        odd = int((across & (at > x)).sum()) % 2 == 1
        point = shapely.Point(x, y)
        assert shapely.intersects(region, point) == odd or (
            shapely.distance(shapely.LinearRing(ring), point) < 1e-6 * d
        )


def test_a_scribble_has_a_region_in_moments() -> None:
    ring = np.random.default_rng(1).integers(0, 1 << 20, (200, 2))
    begun = time.process_time()
    region = Shape(tuple(map(tuple, ring.tolist()))).region()
    assert time.process_time() - begun < HANGS
    assert shapely.is_valid(region)
    assert region.area > 0


def test_a_session_with_a_drawing_that_crosses_too_often_is_refused(tmp_path: Path) -> None:
    ring = np.random.default_rng(1).integers(0, 1025, (2000, 2)).tolist()
    path = tmp_path / "a.geodp"
    save_session(path, Work(drawing=Drawing(1024, (Shape(tuple(map(tuple, ring))),))))
    text = refusal(load_session, path)
    assert text == f"session.json: the drawing's outlines cross more than {MOST_CROSSINGS:,} times"


def test_a_shape_thinner_than_its_bounds_resolve_is_placed(write: Any) -> None:
    ring = [[0, 0], [40, 0], [40, 1e-9], [0, 1e-9], [0, 0]]
    path = write("a.geojson", {"type": "Polygon", "coordinates": [ring]})
    document = Document()
    import_target(path, document)
    bounds = document.work.bounds
    assert bounds.south < 0 < bounds.north


def test_a_refusal_of_geojson_is_short(write: Any) -> None:
    wide = {"x" * 80 + str(i): ["y" * 80] * 5 for i in range(5)}
    path = write("a.geojson", {"type": "FeatureCollection", "features": [wide]})
    assert len(refusal(read_geojson, path, GeoJSONError)) <= 400
    path = write("b.geojson", '{"type": "Polygon", "coordinates": [' + "9" * 4000 + ".0]}")
    assert len(refusal(read_geojson, path, GeoJSONError)) <= 400


# Sessions


@pytest.fixture
def good(tmp_path: Path) -> bytes:
    save_session(tmp_path / "good.geodp", Work())
    return (tmp_path / "good.geodp").read_bytes()


@pytest.mark.parametrize("method", [zipfile.ZIP_BZIP2, zipfile.ZIP_LZMA])
def test_members_that_may_ask_for_gigabytes_are_refused(tmp_path, good, method):
    path = tmp_path / "a.geodp"
    with zipfile.ZipFile(io.BytesIO(good)) as old, zipfile.ZipFile(path, "w", method) as new:
        for name in old.namelist():
            new.writestr(name, old.read(name))
    assert "session.json: is damaged: squeezed in an odd way" in refusal(load_session, path)


def test_an_lzma_member_with_a_damaged_body_is_refused(tmp_path: Path, good: bytes) -> None:
    path = tmp_path / "a.geodp"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_LZMA) as archive:
        archive.writestr("session.json", os.urandom(500))
    data = bytearray(path.read_bytes())
    data[60:200] = bytes(140)
    path.write_bytes(data)
    refusal(load_session, path)


def test_a_bomb_is_refused_before_it_goes_off(tmp_path: Path) -> None:
    path = tmp_path / "a.geodp"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("session.json", b" " * (30 << 20))
    assert "squeezed more than" in refusal(load_session, path)
    # a directory that lies: 100 bytes are told, 30 MiB would come
    data = bytearray(path.read_bytes())
    directory = data.index(b"PK\x01\x02")
    for at in (22, directory + 24):
        struct.pack_into("<L", data, at, 100)
    struct.pack_into("<L", data, directory + 16, zlib.crc32(b" " * 100))
    path.write_bytes(data)
    refusal(load_session, path)


@pytest.mark.parametrize("name", ["../evil", "/etc/evil", "..\\evil", "session.json/", "a\0b"])
def test_members_that_would_leave_their_folder_are_refused(tmp_path, good, name):
    path = tmp_path / "in" / "a.geodp"
    path.parent.mkdir()
    path.write_bytes(good)
    link = zipfile.ZipInfo(name)
    link.external_attr = 0o120777 << 16  # a symbolic link
    with zipfile.ZipFile(path, "a") as archive:
        archive.writestr(link, "/etc/passwd")
    assert "does not belong here" in refusal(load_session, path)
    assert sorted(os.listdir(tmp_path)) == ["good.geodp", "in"]
    assert os.listdir(path.parent) == ["a.geodp"]


def test_a_link_is_followed_and_a_loop_refused(tmp_path: Path, good: bytes) -> None:
    link, loop = tmp_path / "link.geodp", tmp_path / "loop.geodp"
    link.symlink_to(tmp_path / "good.geodp")
    assert load_session(link).work == Work()
    loop.symlink_to(loop)
    assert "cannot be read" in refusal(load_session, loop)


# Learners at the edge


@pytest.fixture
def extremes(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    return program("extremes", monkeypatch)


@pytest.mark.parametrize("name", ["tiles", "threshold", "histogram", "quadtree"])
@pytest.mark.parametrize("d", [1, 64])
def test_samples_without_area_or_sense(extremes: ModuleType, name: str, d: int) -> None:
    for _, sample in extremes.samples(d, 60):
        assert extremes.run(name, d, 1.0, sample) == "ends"


@pytest.mark.slow
@pytest.mark.parametrize(
    "name",
    ["tiles", "cover", "convex-cover", "threshold", "discs", "ellipses", "greedy-cover",
     "greedy-convex", "histogram", "quadtree"],
)  # fmt: skip
def test_every_learner_at_every_edge(extremes: ModuleType, name: str) -> None:
    for _, what, work in extremes.cases((name,)):
        answer, seconds, mib = extremes.apart(work, patience=120)
        expected = ("refuses: ",) if "to be refused" in what else ("ends", "refuses: ")
        assert answer.startswith(expected), f"{what}: {answer}"
        assert mib < extremes.MOST_MIB, f"{what}: {mib} MiB, {seconds:.1f} s"


# -- layers, ledgers and data frames that are damaged ---------------------------------------------


def test_a_damaged_page_of_a_parquet_file_is_refused(tmp_path: Path) -> None:
    """Its schema is read before, and is whole."""
    pyarrow = pytest.importorskip("pyarrow")
    parquet = pytest.importorskip("pyarrow.parquet")
    path = tmp_path / "a.parquet"
    columns = {"x": [3, 4], "y": [5, 6], "label": [0, 1]}
    parquet.write_table(pyarrow.table(columns), path)
    data = path.read_bytes()
    path.write_bytes(data[:4] + b"\xff" * 16 + data[20:])
    assert refusal(read_points, path).startswith("cannot be read as Parquet: ")


@pytest.mark.parametrize(
    "crs", [7, [], True, "\ud800", 'LOCAL_CS["nowhere",UNIT["m",1],AXIS["x",EAST]]']
)
def test_a_system_that_is_none_is_refused(tmp_path: Path, crs: Any) -> None:
    pytest.importorskip("pyproj")
    pyarrow = pytest.importorskip("pyarrow")
    parquet = pytest.importorskip("pyarrow.parquet")
    geometry = {"encoding": "WKB", "crs": crs}
    geo = {"primary_column": "geometry", "columns": {"geometry": geometry}}
    table = pyarrow.table({"geometry": [shapely.Point(14, 43).wkb], "label": [1]})
    path = tmp_path / "a.parquet"
    parquet.write_table(table.replace_schema_metadata({"geo": json.dumps(geo)}), path)
    outcome = PointOptions(bounds=Bounds(13, 42, 20, 47))
    refusal(lambda p: read_points(p, outcome), path)
    refusal(read_learned, path)


def test_places_that_are_no_bytes_are_refused(tmp_path: Path) -> None:
    pyarrow = pytest.importorskip("pyarrow")
    parquet = pytest.importorskip("pyarrow.parquet")
    geo = {"primary_column": "geometry", "columns": {"geometry": {"encoding": "WKB"}}}
    path = tmp_path / "a.parquet"
    for places in ([7], [{"x": 1.0}], [[b"\x01"]], [False]):
        table = pyarrow.table({"geometry": places, "label": [1]})
        parquet.write_table(table.replace_schema_metadata({"geo": json.dumps(geo)}), path)
        refusal(read_learned, path)


def test_a_ledger_that_is_put_back_lets_nothing_begin(tmp_path: Path) -> None:
    """However late: the head is compared where the run is entered, too."""
    ledger, source = Ledger.create(tmp_path / "geodp.ledger"), Source("a")
    old = ledger.path.read_bytes()
    ledger.begin([NewRun("learn", "", None)], source)
    head = ledger.state().head
    ledger.begin([NewRun("learn", "", None)], source, head)
    ledger.path.write_bytes(old)
    with pytest.raises(InputError, match=r"was never its head: .*; nothing was drawn"):
        ledger.begin([NewRun("learn", "", None)], source, head)
    assert ledger.path.read_bytes() == old


def test_columns_of_one_name_twice_are_no_fault_of_a_data_frame() -> None:
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame([[3, 4, 1, 9, 9], [5, 6, 0, 9, 9]])
    frame.columns = ["x", "y", "label", "note", "note"]
    assert read_opened(open_frame(frame), PointOptions()).examples.labels.tolist() == [1, 0]


def test_bounds_beyond_all_numbers_are_refused() -> None:
    with pytest.raises(BoundsError, match="four numbers"):
        checked_bounds((0, 0, 10**400, 1))


READ = (".csv", ".txt", ".geojson", ".gpkg", ".shp", ".fgb", ".parquet", ".kml", ".zip")
WRITTEN = (".geojson", ".gpkg", ".shp", ".fgb", ".parquet")


@pytest.mark.parametrize(
    "content", [b"", b"\0" * 500, b"PAR1", b"SQLite format 3\0", b"fgb\3fgb\0"]
)
def test_bad_files_of_every_format_end_with_one_line_and_no_file(content, tmp_path, capsys):
    good = tmp_path / "good.csv"
    good.write_text("x,y,label\n3,4,1\n")
    for ending in READ:
        bad = tmp_path / f"bad{ending}"
        bad.write_bytes(content)
        commands = (
            ["learn", bad, "--bounds", "13,42,20,47", "-o", tmp_path / "out.gpkg"],
            ["predict", bad, good, "-o", tmp_path / "out.csv"],
            ["predict", good, bad, "-o", tmp_path / "out.csv"],
            ["evaluate", bad, good],
            ["render", bad, "-o", tmp_path / "out.svg"],
        )
        for command in commands:
            _refuses(command, tmp_path, {"good.csv", bad.name}, capsys)
        bad.unlink()


@pytest.mark.parametrize("ending", WRITTEN)
def test_what_cannot_be_written_ends_with_one_line_and_no_file(ending, tmp_path, capsys):
    good = tmp_path / "good.csv"
    good.write_text("x,y,label\n3,4,1\n")
    (tmp_path / f"folder{ending}").mkdir()
    (tmp_path / f"taken{ending}").symlink_to(good)
    there = {"good.csv", f"folder{ending}", f"taken{ending}"}
    learn = ["learn", good, "--learner", "quadtree"]
    for out in (f"nowhere/a{ending}", f"folder{ending}", f"taken{ending}", "a.docx"):
        _refuses([*learn, "-o", tmp_path / out], tmp_path, there, capsys)
        _refuses(["predict", good, good, "-o", tmp_path / out], tmp_path, there, capsys)
    if ending != ".geojson":
        _refuses([*learn, "--raw-grid", "-o", tmp_path / f"a{ending}"], tmp_path, there, capsys)


def _refuses(
    command: list[Any], folder: Path, there: set[str], capsys: pytest.CaptureFixture[str]
) -> None:
    fails(capsys, *command, *(["--quiet"] if command[0] != "evaluate" else []))
    assert {each.name for each in folder.iterdir()} == there, command


def test_a_message_does_not_obey_what_a_file_holds(tmp_path, capsys):
    """A column whose name clears the screen is shown with a mark."""
    path = tmp_path / "a.csv"
    for label, code in (("1", 0), ("maybe", 2)):
        path.write_text(f"x,y,\x1b[2Jlabel\n1,2,{label}\n")
        assert main(["learn", str(path), "-o", str(path.with_suffix(".geojson"))]) == code
        assert "\ufffd[2Jlabel" in (outcome := capsys.readouterr().err)
        assert "\x1b" not in outcome


# -- files that refer to others ------------------------------------------------------------------


@pytest.mark.parametrize("name", ["points.gpkg", "points.zip"])
def test_a_layer_that_only_says_where_data_lie_is_not_followed(tmp_path: Path, name: str) -> None:
    """GDAL would open what it names: another file, or a server."""
    (tmp_path / "secret.csv").write_text("longitude,latitude,label\n15.5,45.5,1\n")
    text = (
        "<OGRVRTDataSource><OGRVRTLayer name='secret'>"
        f"<SrcDataSource>{tmp_path / 'secret.csv'}</SrcDataSource>"
        "<GeometryType>wkbPoint</GeometryType>"
        "<GeometryField encoding='PointFromColumns' x='longitude' y='latitude'/>"
        "</OGRVRTLayer></OGRVRTDataSource>"
    )
    if name.endswith(".zip"):
        with zipfile.ZipFile(tmp_path / name, "w") as packed:
            packed.writestr("points.vrt", text)
    else:
        (tmp_path / name).write_text(text)
    argv = ["learn", name, "--bounds", "15,45,16,46", "-o", "l.geojson", "--learner", "quadtree"]
    clean = {key: value for key, value in os.environ.items() if key != "GDAL_SKIP"}
    outcome = []
    for skip in ({}, {"GDAL_SKIP": "HTTP"})[: 1 + name.endswith(".zip")]:  # or the person wants it
        done = started(*argv, cwd=tmp_path, env={**clean, **skip})
        outcome.append((done.returncode, "is not followed" in done.stderr))
    assert outcome == [(2, True), (0, False)][: len(outcome)]


REFERENCES = {
    "vrt.gml": "<OGRVRTDataSource><OGRVRTLayer name='s'><SrcDataSource>/vsicurl/{there}/v.csv"
    "</SrcDataSource></OGRVRTLayer></OGRVRTDataSource>",
    "wfs.kml": "<OGRWFSDataSource><URL>{there}/wfs</URL></OGRWFSDataSource>",
    "capable.gml": "<?xml version='1.0'?><wfs:WFS_Capabilities version='1.1.0'><OperationsMetadata>"
    "<Operation name='GetFeature'><DCP><HTTP><Get href='{there}/wfs'/></HTTP></DCP></Operation>"
    "</OperationsMetadata></wfs:WFS_Capabilities>",
    "piped.gpkg": '{{"type": "gdal_streamed_alg", "command_line": "gdal vector pipeline ! read '
    '/vsicurl/{there}/g.csv ! write --of stream"}}',
}
#: What is read, and names addresses that are not asked.
QUIET = {
    "schema.gml": '<ogr:c xmlns:xsi="http://www.w3.org/2001/XMLSchema-instance" '
    'xsi:schemaLocation="http://a.invalid/ {there}/s.xsd" xmlns:ogr="http://a.invalid/" '
    'xmlns:gml="http://www.opengis.net/gml"><gml:featureMember><ogr:p><ogr:g><gml:Point>'
    "<gml:coordinates>15.5,45.5</gml:coordinates></gml:Point></ogr:g><ogr:label>1</ogr:label>"
    "</ogr:p></gml:featureMember></ogr:c>",
    "link.kml": '<kml xmlns="http://www.opengis.net/kml/2.2"><Document><NetworkLink><Link><href>'
    "{there}/k.kml</href></Link></NetworkLink><Placemark><name>1</name><Point><coordinates>"
    "15.5,45.5</coordinates></Point></Placemark></Document></kml>",
}
_ASKED = """
import http.server, sys, threading
asked = []
class Server(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        asked.append(self.path)
        self.send_response(404)
        self.end_headers()
    do_HEAD = do_POST = do_GET
    def log_message(self, *what): pass
server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Server)
threading.Thread(target=server.serve_forever, daemon=True).start()
there = f"http://127.0.0.1:{server.server_port}"
import pyogrio, geodp
for name in sys.argv[1:]:
    text = open(name).read().format(there=there)
    open(name, "w").write(text)
    if name.endswith(".gml") and name.startswith("vrt"):
        import zipfile
        with zipfile.ZipFile("packed.zip", "w") as packed:
            packed.writestr("p.vrt", text)
    for each in [name, "packed.zip"][: 1 + name.startswith("vrt")]:
        for read in (lambda: geodp.read_points(each, bounds=(15, 45, 16, 46), columns=
                         {"label": "Name"} if name == "link.kml" else None),
                     lambda: geodp.load(each)):
            try:
                read()
                print(each, "read")
            except (geodp.InputError, geodp.GeoJSONError) as error:
                print(each, "not followed" in str(error))
print(asked)
"""


def test_nothing_asks_the_network_in_a_program_of_somebody_else(tmp_path: Path) -> None:
    """GDAL is loaded there already, with all that it follows."""
    for name, text in {**REFERENCES, **QUIET}.items():
        (tmp_path / name).write_text(text)
    clean = {key: value for key, value in os.environ.items() if key != "GDAL_SKIP"}
    done = subprocess.run(
        [sys.executable, "-c", _ASKED, *REFERENCES, *QUIET], cwd=tmp_path, env=clean,
        capture_output=True, text=True, check=True,
    )  # fmt: skip
    *outcome, asked = done.stdout.splitlines()
    assert asked == "[]"
    each = {f"{name} True" for name in (*REFERENCES, "packed.zip")}
    assert {line for line in outcome if line.endswith("True")} >= each
    assert {line for line in outcome if line.endswith("read")} == {f"{name} read" for name in QUIET}
