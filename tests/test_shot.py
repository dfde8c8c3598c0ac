"""`geodp shot` and `geodp open`: pictures without a display, and clear refusals."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from PySide6.QtGui import QImage

from geodp_app.cli import main
from geodp_app.compiling import COMPILING


def shot(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    """Run in a process of its own, as a person would."""
    return subprocess.run(
        [sys.executable, "-m", "geodp_app", "shot", *arguments],
        cwd=folder,
        env={**os.environ, "DISPLAY": "", "WAYLAND_DISPLAY": ""},
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )


def colours(path: Path) -> set[int]:
    image = QImage(str(path))
    return {
        image.pixel(x, y) for x in range(0, image.width(), 5) for y in range(0, image.height(), 5)
    }


def test_a_picture_and_the_learned_shape(tmp_path: Path) -> None:
    done = shot(
        tmp_path, "-o", "w.png", "--example", "tri", "--n", "3000", "--theme", "dark",
        "--size", "1280x800", "--learned", "l.geojson",
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    image = QImage(str(tmp_path / "w.png"))
    assert (image.width(), image.height()) == (1280, 800)
    assert len(colours(tmp_path / "w.png")) > 100
    learned = json.loads((tmp_path / "l.geojson").read_text())
    assert learned["geodp"]["release"]["privacy"]["private"] is True
    told = [line for line in done.stderr.splitlines() if line != COMPILING]  # a first run says so
    assert told[0] == "w.png: 1 of 1 steps, finished"
    assert told[1].startswith("l.geojson: lies at 0..1 degrees")  # the triangle lies nowhere
    assert len(told) == 2


def test_a_picture_at_twice_the_pixels_before_any_step(tmp_path: Path) -> None:
    done = shot(
        tmp_path, "-o", "w.png", "--example", "star", "--n", "500", "--steps", "0",
        "--size", "1280x800", "--scale", "2", "--quiet",
    )  # fmt: skip
    assert (done.returncode, done.stderr) == (0, "")
    image = QImage(str(tmp_path / "w.png"))
    assert (image.width(), image.height()) == (2560, 1600)


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["-o", "w.png", "--size", "10x10"], "size"),
        (["-o", "w.png", "--steps", "-1"], "steps"),
        (["-o", "w.png", "--example", "nowhere"], "nowhere"),
        (["-o", "missing/w.png"], "missing"),
    ],
)
def test_wrong_arguments_are_one_line_and_write_nothing(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    arguments: list[str],
    said: str,
) -> None:
    monkeypatch.chdir(tmp_path)
    assert main(["shot", *arguments]) == 2
    err = capsys.readouterr().err
    assert len(err.splitlines()) == 1
    assert said in err
    assert list(tmp_path.iterdir()) == []


def test_a_run_that_has_no_shape_yet_leaves_no_picture_either(tmp_path: Path) -> None:
    done = shot(tmp_path, "-o", "w.png", "--example", "tri", "--n", "500", "--steps", "0",
                "--learned", "l.geojson", "--size", "1280x800")  # fmt: skip
    assert done.returncode == 2
    assert "--learned needs a finished run" in done.stderr
    assert list(tmp_path.iterdir()) == []


def test_a_picture_of_a_file_is_its_owners_alone_but_in_the_release_view(tmp_path: Path) -> None:
    (tmp_path / "p.csv").write_text("x,y,label\n3,4,1\n500,600,0\n")
    argv = ["--file", "p.csv", "--size", "1280x800", "--quiet"]
    for view, mode in (("curator", 0o600), ("release", 0o644)):
        (tmp_path / "w.png").touch()
        (tmp_path / "w.png").chmod(0o644)
        done = shot(tmp_path, "-o", "w.png", *argv, "--view", view)
        assert done.returncode == 0, done.stderr
        assert (tmp_path / "w.png").stat().st_mode & 0o777 == mode


def test_a_file_that_is_none_is_refused(tmp_path: Path) -> None:
    (tmp_path / "x.geojson").write_text("{")
    done = shot(tmp_path, "-o", "w.png", "--file", "x.geojson")
    assert done.returncode == 2
    assert "x.geojson" in done.stderr
    assert not (tmp_path / "w.png").exists()


def test_open_needs_a_display_and_a_file_that_is_there(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["open", str(tmp_path / "no.geodp")]) == 2
    assert "no such file" in capsys.readouterr().err
    assert main(["open"]) == 2  # tests run off-screen
    assert "geodp shot" in capsys.readouterr().err
