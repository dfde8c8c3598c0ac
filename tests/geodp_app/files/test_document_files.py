"""Files in and out of a document: targets, examples, exports, the list of recent files."""

import errno
import json
import os
import stat
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import shapely
from hypothesis import example, given, settings, strategies as st
from known_targets import square_geojson
from run_records import stored

from assets import example_path
from geodp import Bounds, Frame, InputError
from geodp_app.document.document import Document
from geodp_app.document.work import SampleSettings, Work
from geodp_app.drawing.shapes import Drawing, Shape
from geodp_app.files import document_files
from geodp_app.files.session import RecentFiles, save_session
from geometry.geojson import read_geojson

BOX = Bounds(13.0, 42.0, 20.0, 47.0)
SQUARE = Shape(((10, 10), (50, 10), (50, 50), (10, 50)), (((20, 20), (30, 20), (20, 30)),))
CSV = "x,y,label\n3,4,1\n50,60,0\n"
MARKED = '# geodp {"grid": 200, "bounds": [13, 42, 20, 47]}\n' + CSV


def document(**fields: Any) -> Document:
    fields = {"drawing": Drawing(100, (SQUARE,)), "sampling": SampleSettings(n=200), **fields}
    return Document(Work(**fields))


def corners(document: Document) -> set[tuple[int, int]]:
    return {point for shape in document.drawing.shapes for point in shape.outer}


# -- targets ------------------------------------------------------------------------------------


def test_a_target_becomes_the_drawing_on_the_current_grid_with_its_bounds(write):
    d = document()
    d.sample()
    before = d.work
    opened = document_files.import_target(write("t.geojson", square_geojson(10, 20)), d)
    assert d.drawing.grid == 100
    assert d.work.bounds == Bounds(9, 9, 21, 21)
    assert corners(d) == {(8, 8), (92, 8), (92, 92), (8, 92)}
    assert (d.work.name, d.work.examples) == ("t", None)
    assert (opened.kind, opened.run) == ("target", None)
    assert opened.note == "t.geojson: shapes: 1, vertices: 4"
    assert d.undo() == "import t.geojson"
    assert d.work is before


def test_a_target_on_another_grid_is_scaled_and_lies_nowhere(write):
    d = document(bounds=BOX)
    target = square_geojson(10, 20, frame="grid", grid=50)
    document_files.import_target(write("t.geojson", target), d)
    assert corners(d) == {(20, 20), (40, 20), (40, 40), (20, 40)}
    assert d.work.bounds is None


def test_a_target_is_put_where_imported_examples_are(write):
    d = document()
    document_files.import_examples(write("p.csv", MARKED), d)
    document_files.import_target(example_path("croatia"), d)
    assert d.work.frame == Frame(200, BOX) == d.work.examples.frame
    there = read_geojson(example_path("croatia")).on_grid(200, BOX)
    assert d.drawing.region().symmetric_difference(there).area < 0.5 * there.length
    square = square_geojson(10, 20, frame="grid", grid=50)
    document_files.import_target(write("t.geojson", square), d)
    assert d.work.frame == Frame(200, BOX) == d.work.examples.frame
    assert corners(d) == {(40, 40), (80, 40), (80, 80), (40, 80)}


def test_imported_examples_without_a_place_are_kept_and_get_one(write):
    d = document()
    document_files.import_examples(write("p.csv", CSV), d)
    document_files.import_target(write("t.geojson", square_geojson(10, 20)), d)
    assert d.work.examples.frame == Frame(100, Bounds(9, 9, 21, 21))
    assert d.work.examples.points.tolist() == [[3, 4], [50, 60]]


def test_points_and_lines_in_a_target_are_counted(write):
    features = [
        {"type": "Feature", "properties": {}, "geometry": geometry}
        for geometry in (square_geojson(1, 2), {"type": "Point", "coordinates": [1, 1]})
    ]
    path = write("t.json", {"type": "FeatureCollection", "features": features})
    opened = document_files.open_any(path, document())
    assert opened.note == "t.json: shapes: 1, vertices: 4; 1 points or lines left out"


def test_a_target_outside_the_bounds_of_the_examples_is_refused(write):
    d = document()
    document_files.import_examples(write("p.csv", MARKED), d)
    before = d.work
    with pytest.raises(InputError, match=r"t.geojson: nothing .* on a grid of size 200 within"):
        document_files.import_target(write("t.geojson", square_geojson(-50, -40)), d)
    assert d.work is before


def test_a_speck_is_refused_rather_than_imported_as_nothing(write):
    target = square_geojson(0.1, 0.2, frame="grid", grid=100)
    with pytest.raises(InputError, match=r"t.geojson: nothing .* on a grid of size 100$"):
        document_files.import_target(write("t.geojson", target), document())


# -- examples -----------------------------------------------------------------------------------


def test_examples_bring_their_frame_and_the_drawing_follows(write):
    d = document()
    before = d.work
    opened = document_files.import_examples(write("p.csv", MARKED), d)
    assert d.work.frame == Frame(200, BOX) == d.work.examples.frame
    assert not d.work.simulated
    assert corners(d) == {(20, 20), (100, 20), (100, 100), (20, 100)}
    assert (opened.kind, opened.note) == ("examples", "p.csv: 2 examples, 1 with label 1")
    d.edit("draw", Drawing(200))
    assert d.work.examples is not None
    d.undo()
    assert d.undo() == "import p.csv"
    assert d.work is before


def test_examples_that_say_nothing_take_the_frame_of_the_document(write):
    d = document(bounds=BOX)
    document_files.import_examples(write("p.csv", CSV), d)
    assert d.work.examples.frame == Frame(100, BOX)
    document_files.import_examples(write("q.csv", "lon,lat,label\n13,47,1\n"), d)
    assert d.work.examples.points.tolist() == [[0, 100]]


def test_wrong_examples_leave_the_document_alone(write):
    d = document()
    with pytest.raises(InputError, match=r"row 1 \(line 2\), column x: 101 is off the grid 0..100"):
        document_files.import_examples(write("p.csv", "x,y,label\n101,4,1\n"), d)
    with pytest.raises(InputError, match="lon,lat need public bounds"):
        document_files.import_examples(write("p.csv", "lon,lat,label\n13,47,1\n"), d)
    assert not d.history.undo_label


# -- opening anything ---------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["a.geodp", "a.zip", "a", "a.csv"])
def test_a_session_is_opened_whatever_it_is_called(tmp_path, name):
    work = document(name="kept").work
    save_session(tmp_path / name, work, stored())
    d = document()
    d.set_run(k=9)
    opened = document_files.open_any(tmp_path / name, d)
    assert (opened.kind, opened.run) == ("session", stored())
    assert d.work == work
    assert (d.path, d.history.dirty, d.history.undo_label) == (tmp_path / name, False, None)


@pytest.mark.parametrize(
    ("name", "content", "kind"),
    [
        ("a.geojson", square_geojson(1, 2), "target"),
        ("a.txt", square_geojson(1, 2), "target"),
        ("a.JSON", b"\xef\xbb\xbf\n " + json.dumps(square_geojson(1, 2)).encode(), "target"),
        ("a.csv", CSV, "examples"),
        ("a.CSV", MARKED, "examples"),
    ],
)
def test_files_are_known_by_content_then_by_suffix(write, name, content, kind):
    assert document_files.open_any(write(name, content), document()).kind == kind


def test_missing_files_and_folders_are_named(tmp_path):
    for suffix in (".geodp", ".geojson", ".csv", ""):
        with pytest.raises(InputError, match=r"gone.*: cannot be read: No such file or directory"):
            document_files.open_any(tmp_path / f"gone{suffix}", document())
    with pytest.raises(InputError, match="gone: cannot be read"):
        document_files.import_target(tmp_path / "gone", document())
    with pytest.raises(InputError, match="is not a file"):
        document_files.open_any(tmp_path, document())
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(InputError, match="is not a file"):
        document_files.open_any(tmp_path / "pipe", document())


# -- exports ------------------------------------------------------------------------------------


@pytest.mark.parametrize("bounds", [None, BOX])
def test_an_exported_target_is_read_back_as_it_was_drawn(tmp_path, bounds):
    path = tmp_path / "t.geojson"
    d = document(bounds=bounds, name="field")
    document_files.export_target(path, d.work)
    assert path.stat().st_mode & 0o777 == 0o600  # a curator's, as the examples are
    other = document(drawing=Drawing(100))
    document_files.import_target(path, other)
    assert other.drawing.region().equals(d.drawing.region())
    assert (other.work.bounds, other.work.name) == (bounds, "field")


points = st.tuples(st.integers(0, 40), st.integers(0, 40))
rings = st.lists(points, min_size=3, max_size=8).map(tuple)


@given(st.lists(st.builds(Shape, rings), min_size=1, max_size=4), st.sampled_from([None, BOX]))
@example(
    shapes=[Shape(((0, 0), (7, 1), (0, 2), (8, 1))), Shape(((1, 0), (0, 0), (7, 1), (0, 7)))],
    bounds=None,
)
@settings(max_examples=60, deadline=None)
def test_the_file_has_the_region_of_any_drawing(tmp_path_factory, shapes, bounds):
    work = Work(drawing=Drawing(40, tuple(shapes)), bounds=bounds)
    region = work.drawing.region()
    path = tmp_path_factory.getbasetemp() / "any.geojson"
    if region.is_empty:
        return
    document_files.export_target(path, work)
    back = read_geojson(path).on_grid(40, bounds)
    # Not by their difference: GEOS gets it wrong where vertices differ in the last digit.  Nor by
    # the distance of their boundaries: a hole thinner than a float's step is not written.
    assert back.area == pytest.approx(region.area, abs=1e-6)
    assert region.buffer(1e-6).covers(back)
    assert back.buffer(1e-6).covers(region)
    grid = np.stack(np.meshgrid(np.arange(41), np.arange(41)), -1).reshape(-1, 2) + 0.5
    clear = shapely.distance(region.boundary, shapely.points(grid)) > 1e-6
    inside = [shapely.intersects_xy(shape, grid[clear]) for shape in (region, back)]
    assert (inside[0] == inside[1]).all()


def test_nothing_drawn_is_not_exported(tmp_path):
    with pytest.raises(InputError, match="nothing is drawn: draw a shape first"):
        document_files.export_target(tmp_path / "t.geojson", Work())
    assert not (tmp_path / "t.geojson").exists()


@pytest.mark.parametrize(
    ("ending", "kind"),
    [
        (".geojson", "GeoJSON"),
        (".json", "GeoJSON"),
        (".gpkg", "GeoPackage"),
        (".fgb", "FlatGeobuf"),
        (".shp", "Shapefile"),
        (".parquet", "GeoParquet"),
    ],
)
def test_an_export_tells_its_format_place_and_content(tmp_path, ending, kind):
    release = stored().release
    assert release.privacy is not None
    path = tmp_path / f"flood{ending}"
    outcome = document_files.export_release(path, release, Frame(100, BOX))
    polygons = len(shapely.get_parts(release.shape()))
    assert path.exists()
    held = "1 polygon and its" if polygons == 1 else f"{polygons} polygons and their"
    assert outcome == f"{kind} written: {path.name} in {tmp_path}; {held} privacy statement"
    nowhere = document_files.export_release(path, release, Frame(100))
    assert nowhere == f"{outcome}; at 0..1 degrees: no bounds are known"
    # a seeded run is not private, and its file says so
    seeded = replace(release, privacy=replace(release.privacy, private=False))
    outcome = document_files.export_release(path, seeded, Frame(100, BOX))
    assert outcome.endswith(" and the statement that the run is not private")


EXPORTS = [
    lambda path: document_files.export_target(path, document().work),
    lambda path: document_files.export_release(path, stored().release, Frame(100)),
    lambda path: document_files.export_steps(path, stored().records),
    lambda path: document_files.export_examples(path, sampled()),
]


def sampled():
    d = document()
    d.sample()
    return d.work.examples


@pytest.mark.parametrize("export", EXPORTS)
def test_what_cannot_be_written_is_said_and_the_old_file_stays(tmp_path, monkeypatch, export):
    with pytest.raises(InputError, match=f"{tmp_path}: cannot be written: Is a directory"):
        export(tmp_path)
    with pytest.raises(InputError, match="no/a: cannot be written: No such file or directory"):
        export(tmp_path / "no" / "a")
    path = tmp_path / "a"
    path.write_text("old")

    def full(*_: Any) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(InputError, match="a: cannot be written: No space left on device; the file"):
        export(path)
    monkeypatch.undo()
    assert path.read_text() == "old"
    assert os.listdir(tmp_path) == ["a"]


# -- recent files -------------------------------------------------------------------------------


def test_recent_files_are_newest_first_without_doubles_and_at_most_ten(tmp_path, monkeypatch):
    files = [tmp_path / f"{i}.geodp" for i in range(13)]
    for file in files:
        file.touch()
    recent = RecentFiles(tmp_path / "config" / "geodp")
    assert recent.paths() == ()
    for file in files:
        recent.add(file)
    monkeypatch.chdir(tmp_path)
    recent.add("5.geodp")
    expected = [files[5], *(file for file in reversed(files[3:]) if file != files[5])]
    assert list(recent.paths()) == expected
    assert list(RecentFiles(tmp_path / "config" / "geodp").paths()) == expected
    # names of private files
    assert stat.S_IMODE((tmp_path / "config" / "geodp" / "recent.json").stat().st_mode) == 0o600


def test_missing_files_are_left_out_and_come_back(tmp_path):
    recent, file = RecentFiles(tmp_path), tmp_path / "a.geodp"
    file.touch()
    recent.add(file)
    file.rename(tmp_path / "b")
    assert recent.paths() == ()
    (tmp_path / "b").rename(file)
    assert recent.paths() == (file,)


@pytest.mark.parametrize(
    "content",
    [b"", b"{", b"{}", b"7", b"null", b"\xff\xfe", b"[" * 10**5, b'[7, null, "", "a\\u0000b", []]'],
)
def test_a_damaged_list_is_an_empty_one_and_can_be_added_to(tmp_path, content):
    (tmp_path / "recent.json").write_bytes(content)
    recent = RecentFiles(tmp_path)
    assert recent.paths() == ()
    recent.add(tmp_path / "recent.json")
    assert recent.paths() == (tmp_path / "recent.json",)


def test_a_list_that_cannot_be_written_is_let_be(tmp_path):
    (tmp_path / "file").touch()
    recent = RecentFiles(tmp_path / "file" / "config")
    recent.add(tmp_path / "file")
    assert recent.paths() == ()


def test_odd_names_survive(tmp_path):
    file = tmp_path / os.fsdecode(b"a\xff \xe6\xb4\xaa.geodp")
    file.touch()
    recent = RecentFiles(tmp_path)
    recent.add(file)
    assert recent.paths() == (Path(file),)
