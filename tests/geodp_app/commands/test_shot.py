"""`geodp shot` and `geodp open`: pictures without a display, and clear refusals."""

import json
import os
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
import shapely
from PySide6.QtGui import QImage
from PySide6.QtTest import QTest
from terminal import fails, started
from window_driver import Kept

from geodp_app.cli import main
from geodp_app.document.targets import example_work
from geodp_app.document.work import RunSettings, SampleSettings, Work
from geodp_app.files.learned_file import read_learned
from geodp_app.files.session import save_session
from geodp_app.progress import COMPILING
from geodp_app.views.widgets import tasks
from geodp_app.views.window import app as window_shot

#: Runs `geodp shot` in the test's folder; returns its exit code and what it said.
Shot = Callable[..., tuple[int, str]]


@pytest.fixture
def shot(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> Shot:
    """In this process: to start one takes longer than most pictures."""

    def run(*arguments: str) -> tuple[int, str]:
        code = main(["shot", *arguments])
        QTest.qWait(1)  # the window goes: the next would be dressed together with it
        return code, capsys.readouterr().err

    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(tasks, "ProcessLink", Kept)
    # Qt tells the application alone what it has to say
    monkeypatch.setattr(window_shot, "qInstallMessageHandler", lambda handler: None)
    return run


def colours(path: Path) -> set[int]:
    image = QImage(str(path))
    return {
        image.pixel(x, y) for x in range(0, image.width(), 5) for y in range(0, image.height(), 5)
    }


def test_a_picture_and_the_learned_shape(tmp_path: Path) -> None:
    done = started(
        "shot", "-o", "w.png", "--example", "tri", "--n", 4000, "--learner", "tiles",
        "--theme", "dark", "--size", "1280x800", "--learned", "l.geojson", cwd=tmp_path,
        env={**os.environ, "DISPLAY": "", "WAYLAND_DISPLAY": ""},
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    image = QImage(str(tmp_path / "w.png"))
    assert (image.width(), image.height()) == (1280, 800)
    assert len(colours(tmp_path / "w.png")) > 100
    learned = json.loads((tmp_path / "l.geojson").read_text())
    assert learned["geodp"]["release"]["privacy"]["private"] is True
    outcome = [
        line for line in done.stderr.splitlines() if line != COMPILING
    ]  # a first run says so
    assert outcome[0] == "w.png: 16 of 16 steps, finished"
    assert outcome[1].startswith("l.geojson: lies at 0..1 degrees")  # the triangle lies nowhere
    assert len(outcome) == 2


def test_within_clips_the_picture_and_the_learned_shape(shot: Shot, tmp_path: Path) -> None:
    half = {"type": "Polygon", "coordinates": [[[0, 0], [512, 0], [512, 1024], [0, 1024], [0, 0]]]}
    mask = tmp_path / "half.geojson"
    mask.write_text(json.dumps({**half, "geodp": {"frame": "grid", "grid": 1024}}))
    given = ["--example", "tri", "--n", "2000", "--learner", "tiles", "--size", "1280x800"]
    code, err = shot("-o", "w.png", *given, "--within", "half.geojson", "--learned", "l.geojson")
    assert code == 0, err
    learned = read_learned(tmp_path / "l.geojson")
    expected = learned.release.shape().intersection(shapely.box(0, 0, 512, 1024))
    assert 0 < expected.area < 0.9 * learned.release.shape().area
    assert learned.target.on_grid(1024).symmetric_difference(expected).area < 1e-3
    assert learned.shape.clipped_to == "half.geojson"
    # degrees mean nothing to a triangle that lies nowhere
    (tmp_path / "w.png").unlink()
    mask.write_text(json.dumps({**half, "coordinates": [[[0, 0], [9, 0], [9, 9], [0, 0]]]}))
    code, err = shot("-o", "w.png", *given, "--within", "half.geojson")
    assert code == 2
    assert "Could not clip the result to half.geojson" in err
    assert "is in degrees, and where the grid lies is not known" in err
    assert not (tmp_path / "w.png").exists()


def test_a_picture_at_twice_the_pixels_before_any_step(shot: Shot, tmp_path: Path) -> None:
    code, err = shot(
        "-o", "w.png", "--example", "star", "--n", "500", "--steps", "0",
        "--size", "1280x800", "--scale", "2", "--quiet",
    )  # fmt: skip
    assert (code, err) == (0, "")
    image = QImage(str(tmp_path / "w.png"))
    assert (image.width(), image.height()) == (2560, 1600)


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["-o", "w.png", "--size", "10x10"], "size"),
        (["-o", "w.png", "--steps", "-1"], "--steps: must not be negative"),
        (["-o", "w.png", "--steps", "\u00b2"], "--steps: '\u00b2' is not an integer"),
        (["-o", "w.png", "--seed", "2147483648"], "--seed: must be at most 2147483647"),
        (["-o", "w.png", "--example", "nowhere"], "nowhere"),
        (["-o", "missing/w.png"], "missing"),
        (["-o", "w.gif"], "end the name in .png"),
        (["-o", "w.png", "--learner", "nobody"], "'nobody': use cover, tiles, convex,"),
        (["-o", "w.png", "--learner", "tiles", "--k", "3"], "--k means nothing to tiles"),
        (
            ["-o", "w.png", "--learner", "greedy-cover", "--epsilon", "1"],
            "--epsilon means nothing to greedy-cover",
        ),
    ],
)
def test_wrong_arguments_are_one_line_and_write_nothing(
    tmp_path, monkeypatch, capsys, arguments, said
):
    monkeypatch.chdir(tmp_path)
    assert said in fails(capsys, "shot", *arguments)
    assert list(tmp_path.iterdir()) == []


def test_learner_k_and_epsilon_are_those_asked_for(shot: Shot, tmp_path: Path) -> None:
    code, err = shot(
        "-o", "w.png", "--example", "tri", "--n", "500", "--learner", "convex-cover",
        "--k", "2", "--epsilon", "3", "--size", "800x600", "--learned", "l.geojson",
    )  # fmt: skip
    assert code == 0, err
    assert "w.png: 6 of 6 steps, finished" in err
    release = json.loads((tmp_path / "l.geojson").read_text())["geodp"]["release"]
    assert release["privacy"]["epsilon"] == 3
    assert (release["learner"], release["role"]) == ("ConvexPolygonLearner", "conjunction")


@pytest.mark.parametrize(
    ("name", "content", "more", "reason"),
    [
        ("x.geojson", "{", [], "x.geojson: not JSON"),
        ("p.csv", "a,b,c\n1,2,1\n", [], "missing column x, y or label"),
        ("s.geodp", Work(sampling=SampleSettings(distribution="painted")), [], "painted"),
        ("s.geodp", replace(example_work("tri"), run=RunSettings(learner="tiles")), ["--k", "3"],
         "--k means nothing to tiles"),
    ],
)  # fmt: skip
def test_a_file_that_cannot_be_run_on_is_refused(shot, tmp_path, name, content, more, reason):
    if isinstance(content, str):
        (tmp_path / name).write_text(content)
    else:
        save_session(tmp_path / name, content)
    code, err = shot("-o", "w.png", "--file", name, *more)
    assert code == 2
    assert reason in err
    assert len(err.splitlines()) == 1
    assert not (tmp_path / "w.png").exists()


def test_a_run_that_has_no_shape_yet_leaves_no_picture_either(shot: Shot, tmp_path: Path) -> None:
    code, err = shot("-o", "w.png", "--example", "tri", "--n", "500", "--steps", "0",
                "--learned", "l.geojson", "--size", "1280x800")  # fmt: skip
    assert code == 2
    assert "--learned needs a finished run" in err
    assert list(tmp_path.iterdir()) == []


def test_a_picture_of_a_file_is_its_owners_alone_but_in_the_release_view(shot, tmp_path):
    (tmp_path / "p.csv").write_text("x,y,label\n3,4,1\n500,600,0\n")
    argv = ["--file", "p.csv", "--learner", "threshold", "--size", "1280x800", "--quiet"]
    for view, mode in (("curator", 0o600), ("release", 0o644)):
        (tmp_path / "w.png").touch()
        (tmp_path / "w.png").chmod(0o644)
        code, err = shot("-o", "w.png", *argv, "--view", view)
        assert code == 0, err
        assert (tmp_path / "w.png").stat().st_mode & 0o777 == mode


def test_open_needs_a_display_and_a_file_that_is_there(tmp_path, monkeypatch, capsys):
    assert "no such file" in fails(capsys, "open", tmp_path / "no.geodp")
    assert "geodp shot" in fails(capsys, "open")  # tests run off-screen
