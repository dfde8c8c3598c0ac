"""`geodp demo`: a shape and a picture from one command."""

from __future__ import annotations

import os

from geodp_app.cli import main
from geodp_app.files.learned_file import read_learned


def test_the_demo_leaves_a_shape_and_a_picture(tmp_path, capsys):
    argv = ["demo", "--example", "tri", "--n", "20000", "--folder", str(tmp_path)]
    assert main(argv) == 0
    assert sorted(os.listdir(tmp_path)) == ["learned.geojson", "learned.png"]
    assert (tmp_path / "learned.png").read_bytes().startswith(b"\x89PNG\r\n")
    assert read_learned(tmp_path / "learned.geojson").release is not None
    err = capsys.readouterr().err
    assert "(1, 1e-40)-differentially private" in err
    assert str(tmp_path / "learned.png") in err


def test_the_demo_goes_without_a_picture_when_qt_cannot_start(tmp_path, capsys, monkeypatch):
    from geodp_app.errors import PictureError
    from geodp_app.views import offscreen

    def broken() -> None:
        raise PictureError("Qt cannot start: libEGL.so.1")

    monkeypatch.setattr(offscreen, "start_qt", broken)
    argv = ["demo", "--example", "tri", "--n", "2000", "--folder", str(tmp_path)]
    assert main(argv) == 0
    assert os.listdir(tmp_path) == ["learned.geojson"]
    assert "No picture: Qt cannot start: libEGL.so.1" in capsys.readouterr().err
