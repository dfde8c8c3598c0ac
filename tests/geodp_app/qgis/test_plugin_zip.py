"""`geodp plugin` writes what QGIS installs."""

from __future__ import annotations

import ast
import configparser
import io
import json
import xml.etree.ElementTree as ElementTree
import zipfile
from pathlib import Path

import pytest

from geodp_app.cli import main
from geodp_app.commands.plugin import FOLDER, plugin_zip
from learners import __version__

ROOT = Path(__file__).parents[3]
ZIP = plugin_zip()


@pytest.fixture
def members() -> dict[str, bytes]:
    with zipfile.ZipFile(io.BytesIO(ZIP)) as packed:
        return {name: packed.read(name) for name in packed.namelist()}


def test_all_of_it_lies_in_one_folder_that_hides_no_other_package(members):
    assert {Path(name).parts[0] for name in members} == {FOLDER}
    assert FOLDER not in ("geodp", "geodp_app")
    modules = {path.name for path in (ROOT / "geodp_app/qgis").glob("*.py")}
    others = {"metadata.txt", "declared.json", "icon.svg", "LICENSE"}
    assert {Path(name).name for name in members} == modules | others
    assert members[f"{FOLDER}/LICENSE"] == (ROOT / "LICENSE").read_bytes()
    ElementTree.fromstring(members[f"{FOLDER}/icon.svg"])


def test_it_says_what_qgis_wants_to_know(members: dict[str, bytes]) -> None:
    read = configparser.ConfigParser()
    read.read_string(members[f"{FOLDER}/metadata.txt"].decode())
    about = read["general"]
    assert about["version"] == json.loads(members[f"{FOLDER}/declared.json"])["version"]
    assert about["version"] == __version__
    assert about["hasProcessingProvider"] == "yes"
    assert f"{FOLDER}/{about['icon']}" in members
    assert all(about[key] for key in ("name", "description", "about", "qgisMinimumVersion"))


def test_its_modules_are_read_by_the_oldest_python_of_qgis(members: dict[str, bytes]) -> None:
    for name, text in members.items():
        if name.endswith(".py"):
            tree = ast.parse(text, name, feature_version=(3, 9))
            ours = [
                node.module
                for node in ast.walk(tree)
                if isinstance(node, ast.ImportFrom) and not node.level
                if (node.module or "").partition(".")[0] in ("geodp_app", "learners", "geometry")
            ]
            assert not ours, name


def test_it_has_the_same_bytes_each_time(tmp_path: Path) -> None:
    path = tmp_path / "geodp_qgis.zip"
    assert main(["plugin", "-o", str(path), "--quiet"]) == 0
    assert path.read_bytes() == ZIP


def test_another_ending_is_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["plugin", "-o", str(tmp_path / "plugin.py")]) == 2
    assert "end the name in .zip" in capsys.readouterr().err
