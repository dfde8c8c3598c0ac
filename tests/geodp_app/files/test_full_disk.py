"""A disk that fills while a library writes: one line, nothing half-written, old files as they were.

At every limit and on real disks: benchmarks/layer_faults.py.
"""

import contextlib
import errno
import json
import os
import subprocess
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import pytest
import shapely
from terminal import fails, geodp, started

from geodp import Bounds, Frame, InputError, LearnedShape, save
from geodp_app.document.work import Work
from geodp_app.files import gdal_layers
from geodp_app.files.autosave import Autosave
from geodp_app.files.points import PointOptions, read_points
from geodp_app.files.points_out import points_files
from geodp_app.files.writing import NewFile, atomic_write_all, write_files
from learners import PolygonUnionLearner
from learners.core.releases import Release

resource = pytest.importorskip("resource", reason="limits are POSIX's")
FRAME = Frame(64, Bounds(13, 42, 20, 47))
LEARNED = (".geojson", ".gpkg", ".fgb", ".shp", ".parquet")
POINTS = (".csv", ".geojson", ".gpkg", ".fgb", ".shp", ".parquet")


@contextlib.contextmanager
def files_of_at_most(size: int) -> Iterator[None]:
    """No file grows beyond so many bytes; a write that would make it says "File too large"."""
    import signal

    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    handler = signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
        signal.signal(signal.SIGXFSZ, handler)


@pytest.fixture(scope="module")
def release() -> Release:
    points = np.stack(np.meshgrid(np.arange(65), np.arange(65)), -1).reshape(-1, 2)
    labels = ((points - 30) ** 2).sum(axis=1) < 400
    return PolygonUnionLearner(epsilon=4.0, grid=64, seed=2).fit(points, labels).release_


@pytest.fixture(params=[*(("learned", e) for e in LEARNED), *(("points", e) for e in POINTS)],
                ids=lambda param: "".join(param))  # fmt: skip
def write(
    request: pytest.FixtureRequest, release: Release, tmp_path: Path
) -> tuple[str, Callable[[Path], None]]:
    """An ending, and what writes a file that has it."""
    what, ending = request.param
    if what == "learned":
        return ending, lambda path: save(LearnedShape(release, FRAME), path, overwrite=True)
    places = np.random.default_rng(0).uniform([13, 42], [20, 47], (120, 2))
    source = tmp_path / "source.csv"
    source.write_text(
        "lon,lat,note\n" + "".join(f"{x:.6f},{y:.6f},{'a note' * 5}\n" for x, y in places)
    )
    read = read_points(source, PointOptions(bounds=FRAME.bounds, labelled=False))
    added = {"predicted": np.arange(120) % 2}

    def write_points(path: Path) -> None:
        write_files(points_files(path, source, read, added, overwrite=True))

    return ending, write_points


def held(folder: Path) -> dict[str, bytes]:
    return {each.name: each.read_bytes() for each in folder.iterdir()}


@pytest.mark.parametrize("old", [False, True], ids=["new", "old"])
def test_a_layer_that_does_not_fit_leaves_everything_as_it_was(tmp_path, monkeypatch, write, old):
    ending, do = write
    out, temporary = tmp_path / "out", tmp_path / "temporary"
    out.mkdir()
    temporary.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(temporary))
    do(out / f"a{ending}")
    full = held(out)
    # a style that is there is not written again
    sizes = sorted(len(data) for name, data in full.items() if not (old and ".qml" in name))
    limits = {0, 4096, sizes[-1] // 2, *(size - 1 for size in sizes)}
    for limit in sorted(limits):
        for each in out.iterdir():
            each.unlink()
        before = {name: b"old " + name.encode() for name in full if old}
        for name, data in before.items():
            (out / name).write_bytes(data)
        if limit >= sizes[-1]:
            continue
        with files_of_at_most(limit), pytest.raises((OSError, InputError)):
            do(out / f"a{ending}")
        assert held(out) == before, limit
        assert os.listdir(temporary) == []


@pytest.mark.parametrize(
    "ending", [".csv", ".gpkg", ".fgb", pytest.param(".shp", id="shp, by way of a folder")]
)
def test_the_command_ends_with_one_line(tmp_path, capsys, release, ending):
    learned, points = tmp_path / "learned.geojson", tmp_path / "points.csv"
    save(LearnedShape(release, FRAME), learned)
    points.write_text("lon,lat\n" + "14.5,43.5\n" * 100)
    output = tmp_path / f"a{ending}"
    predict = ["predict", learned, points, "--bounds", "13,42,20,47", "-o", output, "--overwrite"]
    assert geodp(*predict) == 0
    before = held(tmp_path)
    with files_of_at_most(output.stat().st_size - 1):
        outcome = fails(capsys, *predict)
    assert outcome.startswith(f"geodp: {output}: cannot be written: ")
    assert "make room there" in outcome
    assert held(tmp_path) == before


def test_a_ledger_that_does_not_fit_is_not_begun(tmp_path, capsys):
    begin = ["ledger", tmp_path / "a.ledger", "--new", "--epsilon", "1"]
    for limit in (0, 4096):
        with files_of_at_most(limit):
            assert "cannot be written: " in fails(capsys, *begin)
        assert held(tmp_path) == {}
    assert geodp(*begin) == 0


def test_a_recovery_that_does_not_fit_leaves_the_last_as_it_was(tmp_path):
    kept = Autosave(tmp_path)
    kept.save(Work(name="first"), Path("a.geodp"))
    (folder,) = tmp_path.iterdir()
    before = held(folder)
    with files_of_at_most(0), pytest.raises(InputError, match="make room there"):
        kept.save(Work(name="second"), Path("b.geodp"))
    assert held(folder) == before
    kept.save(Work(name="third"))
    assert json.loads((folder / "owner").read_bytes())["original"] is None


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="there is no device that is full")
def test_standard_output_that_is_full_is_told_in_one_line() -> None:
    with open("/dev/full", "w") as full:
        done = started("learners", capture_output=False, stdout=full, stderr=subprocess.PIPE)
    assert done.returncode == 2
    assert done.stderr.startswith("geodp: standard output or the cache of compiled loops: cannot")
    assert done.stderr.count("\n") == 1


def test_files_that_belong_together_are_all_there_or_none(tmp_path, monkeypatch):
    for name in "ab":
        (tmp_path / name).write_text("old")
    real, calls = os.fsync, []

    def fail_late(handle: int) -> None:
        calls.append(handle)
        if len(calls) == 3:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        real(handle)

    monkeypatch.setattr(os, "fsync", fail_late)
    with pytest.raises(OSError, match="No space left on device") as raised:
        atomic_write_all([NewFile(tmp_path / name, "new") for name in "abc"])
    assert raised.value.filename == str(tmp_path / "c")
    assert held(tmp_path) == {"a": b"old", "b": b"old"}
    monkeypatch.undo()
    atomic_write_all([NewFile(tmp_path / name, "new") for name in "abc"])
    assert held(tmp_path) == dict.fromkeys("abc", b"new")


def test_a_shapefile_that_lacks_anything_is_seen(tmp_path: Path) -> None:
    import pyogrio

    shapes = np.array([shapely.box(0, 0, 1, 1), shapely.box(3, 3, 4, 5)], dtype=object)
    path = tmp_path / "a.shp"
    pyogrio.raw.write(
        str(path), geometry=shapely.to_wkb(shapes), driver="ESRI Shapefile", crs="EPSG:4326",
        field_data=[np.array(["one", "two"], dtype=object)], encoding="UTF-8",
        fields=np.array(["name"], dtype=object), geometry_type="Polygon",
    )  # fmt: skip
    parts = {each.suffix: each.read_bytes() for each in tmp_path.iterdir()}
    assert gdal_layers.is_whole(parts, 2)
    assert not gdal_layers.is_whole(parts, 3)
    for ending, data in parts.items():
        for cut in (len(data), *range(2, len(data), 7)):  # the last byte of .dbf is a mark alone
            assert not gdal_layers.is_whole({**parts, ending: data[: len(data) - cut]}, 2)
        rest = {name: part for name, part in parts.items() if name != ending}
        assert not gdal_layers.is_whole(rest, 2)
    dbf = parts[".dbf"]
    assert not gdal_layers.is_whole({**parts, ".dbf": dbf[:-9] + b"\0" * 4 + dbf[-5:]}, 2)
    assert gdal_layers._same_places(str(path), shapes)
    hole = parts[".shp"][:-20] + b"\0" * 16 + parts[".shp"][-4:]
    path.write_bytes(hole)
    assert gdal_layers.is_whole({**parts, ".shp": hole}, 2)
    assert not gdal_layers._same_places(str(path), shapes)
