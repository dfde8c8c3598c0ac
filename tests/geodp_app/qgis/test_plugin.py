"""The plugin for QGIS, without QGIS: its zip, and its way to the program."""

import ast
import configparser
import io
import json
import os
import stat
import sys
import xml.etree.ElementTree as ElementTree
import zipfile
from pathlib import Path
from typing import Any

import pytest

from geodp_app.cli import build_parser, main
from geodp_app.commands import arguments
from geodp_app.commands.plugin import FOLDER, declared, plugin_zip
from geodp_app.qgis.command import (
    Cancelled,
    GeodpError,
    box_edges,
    environment,
    find_program,
    option_arguments,
    run,
    titles_of,
)
from learners import __version__
from learners.registry import offered

DECLARED = json.loads(json.dumps(declared()))


def typed(verb: str, **values: Any) -> Any:
    """What the program's own parser makes of the options that the plugin types."""
    where = {"learn": ["p.csv", "-o", "l.gpkg"], "compare": ["p.csv"]}[verb]
    options = option_arguments(DECLARED["verbs"][verb], values)
    return build_parser().parse_args([verb, *where, *options])


@pytest.mark.parametrize(
    ("edges", "degrees", "expected"),
    [
        ((170, -20, 190, -10), True, (170, -20, -170, -10)),
        ((-190, 50, -150, 60), True, (170, 50, -150, 60)),
        ((185, 50, 200, 60), True, (-175, 50, -160, 60)),
        ((170, -1, 180, 1), True, (170, -1, 180, 1)),
        ((-200, -90, 200, 90), True, (-180, -90, 180, 90)),
        ((170, -1, 540, 1), True, (-180, -1, 180, 1)),
        ((140, -1, 180.5, 1), True, (140, -1, -179.5, 1)),
        ((-5e6, 0, 5e6, 1), False, (-5e6, 0, 5e6, 1)),
    ],
)
def test_an_extent_across_the_antimeridian_is_a_box(edges, degrees, expected):
    assert box_edges(edges, degrees) == expected


# -- options -----------------------------------------------------------------------------------


@pytest.mark.parametrize("learner", [each.id for each in offered("learn")])
def test_what_is_shown_and_left_alone_is_each_learners_own_default(learner: str) -> None:
    options = DECLARED["verbs"]["learn"]
    shown = {name for each in DECLARED["learners"] for name in each["parameters"]}
    values = {name: options[name]["default"] for name in shown if name in options}
    found, resolved = arguments.resolved_learner(typed("learn", learner=learner, **values), "learn")
    assert found.id == learner
    assert resolved == {each.name: each.default for each in found.parameters if not each.of_python}


@pytest.mark.parametrize("learner", offered("learn"), ids=lambda each: each.id)
def test_every_parameter_reaches_the_learner(learner: Any) -> None:
    for parameter in learner.parameters:
        if parameter.of_python:
            continue
        option = DECLARED["verbs"]["learn"][parameter.name]
        if parameter.choices:
            values = [value for value, _ in parameter.choices]
            assert {value for value, _ in option["choices"]} >= set(values)
        elif parameter.kind == "whole number":
            values = [int(max(parameter.low, 1)), 2]
        else:
            values = [0.123456789012, 1e-7]
        assert option["kind"] == parameter.kind
        assert option["low"] <= parameter.low
        assert option["high"] is None or option["high"] >= parameter.high
        for value in values:
            given = typed("learn", learner=learner.id, **{parameter.name: value})
            _, resolved = arguments.resolved_learner(given, "learn")
            assert resolved[parameter.name] == value


def test_other_options_reach_the_program() -> None:
    found = typed("learn", grid=512, out_of_bounds="drop", seed=None, rows=3)
    assert (found.grid, found.out_of_bounds, found.seed, found.rows) == (512, "drop", None, 3)
    assert DECLARED["verbs"]["learn"]["rows"]["low"] == 1
    found = typed("compare", learners=["tiles", "quadtree"], holdout=0.3, neighbours="replace-one")
    assert found.learners == ("tiles", "quadtree")
    assert (found.holdout, found.neighbours) == (0.3, "replace-one")
    neighbours = DECLARED["verbs"]["compare"]["neighbours"]["choices"]
    assert [value for value, _ in neighbours] == ["add-remove", "replace-one"]


# -- the program -------------------------------------------------------------------------------


@pytest.fixture
def program(tmp_path: Path) -> Any:
    """Makes a program `geodp` of some lines of Python; its path."""

    def make(lines: str, folder: str = "bin") -> Path:
        path = tmp_path / folder / "geodp"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(f"#!{sys.executable}\nimport os, signal, sys, time\n{lines}\n")
        path.chmod(path.stat().st_mode | stat.S_IXUSR)
        return path

    return make


class Shown:
    """What a person is shown."""

    def __init__(self) -> None:
        self.lines: list[str] = []
        self.progress: list[tuple[float, str]] = []
        self.end = False

    def run(self, *command: object) -> str:
        return run(
            [str(each) for each in command],
            tell=self.lines.append,
            progress=lambda share, text: self.progress.append((share, text)),
            cancelled=lambda: self.end,
        )


def test_the_program_is_the_one_set_then_on_path_then_at_home(program, tmp_path, monkeypatch):
    monkeypatch.setenv("PATH", str(tmp_path / "bin"))
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    with pytest.raises(GeodpError, match="geodp was not found"):
        find_program()
    at_home = program("", "home/.local/bin")
    assert find_program() == str(at_home)
    on_path = program("")
    assert find_program() == str(on_path)
    chosen = program("", "home/venv")
    assert find_program(" ~/venv/geodp ") == str(chosen)
    with pytest.raises(GeodpError, match="/nowhere/geodp: is no program"):
        find_program("/nowhere/geodp")


def test_output_lines_and_progress_come_apart(program: Any) -> None:
    said = "geodp: compiling\\nprogress 0.250 step 2 of 8\\n\\nl.gpkg: ε = 1\\n"
    path = program(f"print('{{}}'); sys.stderr.buffer.write('{said}'.encode())")
    shown = Shown()
    assert shown.run(path) == "{}\n"
    assert shown.lines == ["geodp: compiling", "l.gpkg: ε = 1"]
    assert shown.progress == [(0.25, "step 2 of 8")]


def test_the_one_line_of_a_failure_is_the_error_and_said_once(program: Any) -> None:
    said = "geodp: note\\ngeodp: p.csv: row 3: bad"
    path = program(f"print('{said}', file=sys.stderr); sys.exit(2)")
    shown = Shown()
    with pytest.raises(GeodpError) as failed:
        shown.run(path)
    assert str(failed.value) == "p.csv: row 3: bad"
    assert shown.lines == ["geodp: note"]
    with pytest.raises(GeodpError, match="ended with code 9"):
        shown.run(program("sys.exit(9)"))
    with pytest.raises(GeodpError, match="cannot be run"):
        shown.run("/nowhere/geodp")


def test_a_run_that_is_cancelled_ends_as_by_ctrl_c(program: Any, tmp_path: Path) -> None:
    path = program(
        f"import pathlib; at = pathlib.Path({str(tmp_path)!r}, 'heard')\n"
        "signal.signal(signal.SIGINT, lambda *_: (at.touch(), sys.exit(130)))\n"
        "print('progress 0 waiting', file=sys.stderr, flush=True); time.sleep(60)"
    )
    shown = Shown()
    shown.progress = Ending(shown)
    with pytest.raises(Cancelled):
        shown.run(path)
    assert (tmp_path / "heard").exists()
    # one that was done before it heard has written what it was asked for
    path = program(
        "signal.signal(signal.SIGINT, lambda *_: sys.exit(0))\n"
        "print('{}', flush=True); print('progress 1 writing', file=sys.stderr, flush=True)\n"
        "time.sleep(60)"
    )
    shown = Shown()
    shown.progress = Ending(shown)
    assert shown.run(path) == "{}\n"


class Ending(list):
    """Once there is progress, the person has had enough."""

    def __init__(self, shown: Shown) -> None:
        self.shown = shown

    def append(self, item: Any) -> None:
        self.shown.end = True


def test_the_program_does_not_inherit_what_is_of_qgis_alone() -> None:
    own = {"PATH": "/bin", "PYTHONHOME": "/qgis", "PROJ_LIB": "/qgis/proj", "LANG": "C"}
    assert environment(own) == {"PATH": "/bin", "LANG": "C", "PYTHONIOENCODING": "utf-8"}
    assert "PYTHONHOME" not in environment(os.environ)


def test_no_choice_has_a_comma_which_qgis_takes_for_its_end() -> None:
    options = [one for verb in declared()["verbs"].values() for one in verb.values()]
    chosen = [option for option in options if option.get("choices")]
    assert any("," in title for option in chosen for _, title in option["choices"])
    for option in chosen:
        titles = titles_of(option)
        assert not any("," in title for title in titles.values())
        assert len(set(titles.values())) == len(titles)  # they are told apart still
    assert not any("," in learner["title"] for learner in declared()["learners"])


# -- the zip ---------------------------------------------------------------------------------------


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
