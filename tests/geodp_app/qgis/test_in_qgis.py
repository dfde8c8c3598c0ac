"""The plugin in QGIS itself: what its algorithms make is what the command makes.

QGIS starts once, for all tests.  On Debian: apt-get install --no-install-recommends qgis
"""

import json
import os
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path
from typing import Any

import geopandas
import numpy as np
import pytest
import shapely
from terminal import geodp

from geodp import Bounds, GridMap, areas as measure
from geodp_app.commands.plugin import declared, plugin_zip
from geodp_app.files.learned_file import read_learned, read_shape
from geodp_app.files.ledger import Ledger
from learners.privacy.several_runs import Budget

ROOT = Path(__file__).parents[3]
GRID = 64
METRES = Bounds(500_000.0, 4_990_000.0, 580_000.0, 5_090_000.0, crs="EPSG:32633")
BOX = "500000,580000,4990000,5090000 [EPSG:32633]"
FIELDS = ["wet:string", "who:integer", "height:double"]


def python_of_qgis() -> str:
    """The Python that finds QGIS; empty if there is none."""
    for python in ("/usr/bin/python3", shutil.which("python3")):
        if python and not subprocess.run(
            [python, "-c", "import qgis.core"], capture_output=True, check=False
        ).returncode:  # fmt: skip
            return python
    return ""


PYTHON = python_of_qgis()
pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(
        not PYTHON, reason="QGIS is not installed (apt-get install --no-install-recommends qgis)"
    ),
]


def reports(n: int) -> list[list[Any]]:
    """Points in metres, wet in a disc, each of a person and at a height."""
    rng = np.random.default_rng(7)
    xy = rng.uniform((500_001, 4_990_001), (579_999, 5_089_999), (n, 2))
    wet = np.hypot(*(xy - (540_000, 5_040_000)).T) < 25_000
    return [
        [x, y, "yes" if inside else "no", i % 1000, i / 4]
        for i, ((x, y), inside) in enumerate(zip(xy.tolist(), wet.tolist(), strict=True))
    ]


POINTS = reports(3_000)
MEMORY = {"points": POINTS, "fields": FIELDS, "crs": "EPSG:32633"}
LEARN: dict[str, Any] = {
    "LABEL": "wet", "EXTENT": BOX, "GRID": GRID, "LEARNER": "Tiles", "EPSILON": 2.0, "SEED": 3,
}  # fmt: skip


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("qgis")
    (folder / "plugin.zip").write_bytes(plugin_zip())
    with zipfile.ZipFile(folder / "plugin.zip") as packed:
        packed.extractall(folder / "plugins")
    # the command is on PATH; Python beside it would be taken for that of QGIS
    (folder / "bin").mkdir()
    command = folder / "bin" / "geodp"
    command.write_text(f'#!/bin/sh\nexec {sys.executable} -m geodp_app "$@"\n')
    command.chmod(0o755)
    (folder / "beside").mkdir()
    Ledger.create(folder / "beside" / "geodp.ledger", budget=Budget(1.5, 1e-6))
    features = [
        {
            "type": "Feature",
            "properties": {"wet": i % 2},
            "geometry": {"type": "Point", "coordinates": [13 + i / 50, 45.5]},
        }
        for i in range(40)
    ]
    collection = {"type": "FeatureCollection", "features": features}
    (folder / "beside" / "p.geojson").write_text(json.dumps(collection))
    boxes = [shapely.box(490e3, 4.98e6, 540e3, 5.09e6), shapely.box(5e5, 5.04e6, 58e4, 5.2e6)]
    places = geopandas.GeoSeries(boxes, crs=32633)
    districts = geopandas.GeoDataFrame({"name": ["west", "north"]}, geometry=places)
    districts.to_crs(4326).to_file(folder / "d.gpkg")
    rows = "\n".join(f"{x!r},{y!r},{wet},{who}" for x, y, wet, who, _ in POINTS)
    (folder / "p.csv").write_text(f"x,y,label,who\n{rows}\n")
    return folder


@pytest.fixture(scope="module")
def found(folder: Path) -> dict[str, Any]:
    """What QGIS made of all jobs, by their names."""
    out = {name: str(folder / name) for name in ("l.gpkg", "k.geojson", "p.geojson", "r.json")}

    def refused(name: str) -> str:
        return str(folder / f"{name}.gpkg")

    sixty = {**MEMORY, "points": POINTS[:60]}
    learned = {**LEARN, "OUTPUT": out["l.gpkg"], "REPORT": out["r.json"], "SUPPORT": 0.3}
    counted = {
        "INPUT": str(folder / "beside" / "p.geojson"), "LABEL": "wet", "GRID": GRID,
        "EXTENT": "13,14,45,46 [EPSG:4326]", "EPSILON": 1.0, "OUTPUT": str(folder / "c.geojson"),
    }  # fmt: skip
    jobs: dict[str, dict[str, Any]] = {
        "learn": {"run": "geodp:learn", "parameters": learned, **MEMORY},
        "person": {
            "run": "geodp:learn", **MEMORY,
            "parameters": {**LEARN, "PERSON": "who", "OUTPUT": out["k.geojson"]},
        },
        "persons": {
            "run": "geodp:learn", **MEMORY,
            "parameters": {**LEARN, "PERSON": "who", "ROWS": 2, "OUTPUT": out["p.geojson"]},
        },
        "areas": {
            "run": "geodp:areas",
            "parameters": {
                "LEARNED": out["l.gpkg"], "DISTRICTS": str(folder / "d.gpkg"),
                "OUTPUT": str(folder / "a.gpkg"),
            },
        },
        "evaluate": {
            "run": "geodp:evaluate", **MEMORY,
            "parameters": {"LEARNED": out["l.gpkg"], "LABEL": "wet"},
        },
        "predict": {
            "run": "geodp:predict", **sixty, "selected": 40,
            "parameters": {"LEARNED": out["l.gpkg"], "OUTPUT": "memory:"},
        },
        "beyond": {
            "run": "geodp:predict", "points": [[15.5, 45.5], [17.0, 45.0]], "fields": ["a:string"],
            "crs": "EPSG:4326",
            "parameters": {"LEARNED": out["l.gpkg"], "OUTPUT": "memory:", "OUT_OF_BOUNDS": "drop"},
        },
        "compare": {
            "run": "geodp:compare", **MEMORY,
            "parameters": {
                "LABEL": "wet", "EXTENT": BOX, "GRID": GRID, "SEED": 1, "OUTPUT": "memory:",
                "LEARNERS": ["Plain noisy histogram", "Noisy quadtree"],
            },
        },
        "own extent": {
            "run": "geodp:learn", **sixty,
            "parameters": {
                **LEARN, "OUTPUT": refused("own extent"),
                "EXTENT": "{},{},{},{} [EPSG:32633]".format(
                    *(repr(f(each[i] for each in POINTS[:60])) for i in (0, 1) for f in (min, max))
                ),
            },
        },
        "counted": {"run": "geodp:learn", "parameters": counted},
        "too much": {
            "run": "geodp:learn",
            "parameters": {**counted, "OUTPUT": refused("too much")},
        },
        "other ledger": {
            "run": "geodp:learn",
            "parameters": {**counted, "LEDGER": out["r.json"], "OUTPUT": refused("other ledger")},
        },
        "label": {
            "run": "geodp:learn", **sixty,
            "parameters": {**LEARN, "LABEL": "height", "OUTPUT": refused("label")},
        },
        "named": {
            "run": "geodp:learn", **MEMORY,
            "parameters": {
                **LEARN, "INSIDE": "yes", "OUTSIDE": "no", "UNUSABLE": "drop",
                "OUTPUT": str(folder / "n.geojson"),
            },
        },
        "asked": {
            "run": "geodp:learn", **sixty,
            "fields": ["wet:string", "user_id:integer", "height:double"],
            "parameters": {**LEARN, "OUTPUT": refused("asked")},
        },
        "nowhere": {
            "run": "geodp:learn", **sixty, "crs": "",
            "parameters": {**LEARN, "OUTPUT": refused("nowhere")},
        },
        "no program": {
            "run": "geodp:learn", **sixty, "program": str(folder / "plugin.zip"),
            "parameters": {**LEARN, "OUTPUT": refused("no program")},
        },
        "cancelled": {
            "run": "geodp:learn", **MEMORY, "cancel": True,
            "parameters": {**LEARN, "OUTPUT": refused("cancelled")},
        },
    }  # fmt: skip
    own = {name: value for name, value in os.environ.items() if name.startswith("NUMBA")}
    done = subprocess.run(
        [PYTHON, ROOT / "tests" / "support" / "qgis_jobs.py", folder / "plugins"],
        input=json.dumps(list(jobs.values())), capture_output=True, text=True,
        check=False, cwd=folder,
        env=own | {
            "PATH": f"{folder / 'bin'}:/usr/bin:/bin", "HOME": os.environ.get("HOME", str(folder)),
            "QGIS_CUSTOM_CONFIG_PATH": str(folder / "profile"), "QT_QPA_PLATFORM": "offscreen",
            "PYTHONPATH": str(ROOT), "LANG": "C.UTF-8", "PYTHONDONTWRITEBYTECODE": "1",
        },
    )  # fmt: skip
    assert done.stdout.startswith("{"), done.stderr[-2000:]
    outcome = json.loads(done.stdout)
    return {**outcome, **dict(zip(jobs, outcome["jobs"], strict=True))}


def test_every_parameter_has_help_and_the_provider_an_icon(found: dict[str, Any]) -> None:
    assert set(found["helps"]) == {"learn", "evaluate", "predict", "compare", "areas"}
    assert all(text for each in found["helps"].values() for text in each.values())
    assert found["icon"]


def test_a_layer_in_memory_is_learned_as_the_command_learns_it(found, folder):
    job, own = found["learn"], folder / "own.gpkg"
    assert job["error"] == ""
    where = ["--crs", "EPSG:32633", "--bounds", "500000,4990000,580000,5090000", "--grid", GRID]
    argv = ["learn", folder / "p.csv", *where, "--epsilon", 2, "--seed", 3, "--support", 0.3]
    assert geodp(*argv, "-o", own, "--quiet") == 0
    assert read_learned(folder / "l.gpkg").release == read_learned(own).release
    assert json.loads((folder / "r.json").read_text())["statement"].startswith("Not private")
    assert any("not private" in line for line in job["told"])
    assert max(job["progress"]) > 20  # beyond what the writing of points is
    layer = job["layer"]
    assert (layer["crs"], layer["renderer"]) == ("EPSG:32633", "categorizedSymbol")
    assert [row[1] for row in layer["rows"]] == ["learned", "support"]


def test_a_person_is_counted_once_and_named(found: dict[str, Any], folder: Path) -> None:
    assert found["person"]["error"] == ""
    release = read_learned(folder / "k.geojson").release
    assert ("unit", "who") in release.parameters
    assert found["persons"]["error"] == ""
    release = read_learned(folder / "p.geojson").release
    assert ("unit", "who") in release.parameters
    assert release.privacy.rows == 2


def test_districts_are_measured_as_the_command_measures_them(found, folder):
    assert found["areas"]["error"] == ""
    own = measure(read_shape(folder / "l.gpkg"), folder / "d.gpkg")
    layer = found["areas"]["layer"]
    names = list(layer["fields"])
    assert [name for name in names if name != "fid"] == list(own.columns.drop("geometry"))
    rows = [dict(zip(names, row, strict=True)) for row in layer["rows"]]
    assert [row["name"] for row in rows] == ["west", "north"]
    for name in declared()["areas"]:
        assert [row[name] for row in rows] == own[name].tolist()
    assert any("shape_km2" in line for line in found["areas"]["told"])


def test_labels_that_are_named_are_those_of_the_command(found, folder):
    assert found["named"]["error"] == ""
    where = ["--crs", "EPSG:32633", "--bounds", "500000,4990000,580000,5090000", "--grid", GRID]
    argv = ["learn", folder / "p.csv", *where, "--epsilon", 2, "--seed", 3, "--inside", "yes"]
    assert geodp(*argv, "-o", folder / "o.geojson", "--quiet") == 0
    own = read_learned(folder / "o.geojson").release
    assert read_learned(folder / "n.geojson").release == own


def test_figures_are_those_of_the_command(found, folder, capsys):
    argv = ["evaluate", folder / "l.gpkg", folder / "p.csv", "--crs", "EPSG:32633", "--json"]
    assert geodp(*argv) == 0
    figures = json.loads(capsys.readouterr().out)
    results = found["evaluate"]["results"]
    assert {name.lower(): value for name, value in results.items()} == {
        name: figures[name]
        for name in ("error", "errors", "false_positives", "false_negatives", "examples")
    }
    assert results["EXAMPLES"] == len(POINTS)
    assert any("private" in line for line in found["evaluate"]["told"])


def test_selected_points_get_what_the_shape_says_beside_their_own_fields(found, folder):
    layer = found["predict"]["layer"]
    names = ["wet", "who", "height", "predicted", "supported"]
    assert list(layer["fields"]) == names
    assert layer["fields"]["height"] == "double"
    release = read_learned(folder / "l.gpkg").release
    xy = np.array([[x, y] for x, y, *_ in POINTS[:40]])
    grid = np.rint((xy - (METRES.west, METRES.south)) / (80_000, 100_000) * GRID).astype(int)
    expected = release.predict(grid)
    rows = sorted(layer["rows"], key=lambda row: row[1])
    assert [row[:3] for row in rows] == [each[2:] for each in POINTS[:40]]
    assert [row[3] for row in rows] == expected.tolist()
    assert set(expected.tolist()) == {0, 1}


def test_points_in_degrees_find_their_place_and_those_outside_are_left_out(found):
    assert found["beyond"]["error"] == ""
    layer = found["beyond"]["layer"]
    assert layer["crs"] == "EPSG:4326"
    assert [row[1] for row in layer["rows"]] == [1]
    assert GridMap(GRID, METRES).to_grid(np.array([[15.5, 45.5]])).tolist() == [[31, 31]]


def test_a_run_joins_the_ledger_beside_the_layers_file(found: dict[str, Any], folder: Path) -> None:
    assert found["counted"]["error"] == ""
    (entry,) = Ledger(folder / "beside" / "geodp.ledger").state().entries
    assert (entry.verb, entry.learner, entry.end) == ("learn", "tiles", "released")


def test_a_comparison_is_a_table(found: dict[str, Any]) -> None:
    assert found["compare"]["error"] == ""
    rows = found["compare"]["layer"]["rows"]
    assert [row[0] for row in rows] == ["plain-histogram", "quadtree"]
    assert all(0 < row[4] < 0.5 for row in rows)
    assert any("ε = 2" in line for line in found["compare"]["told"])


@pytest.mark.parametrize(
    ("job", "reason"),
    [
        ("own extent", "is the extent of the points themselves"),
        ("asked", "Field user_id: may say whose a point is"),
        ("label", "in memory: row 2 (line 3), column label: '0.25' means neither"),
        ("too much", "epsilon would be 2, and the budget allows 1.5: 0.5 is left; nothing was"),
        ("other ledger", "is not the ledger of these points"),
        ("nowhere", "its coordinate reference system is not known"),
        ("no program", "plugin.zip: is no program"),
        ("cancelled", "cancelled; nothing was written"),
    ],
)
def test_what_cannot_be_is_said_in_one_line_and_nothing_is_written(found, folder, job, reason):
    assert reason in found[job]["error"]
    outcome = found[job]["error"].removeprefix("Unable to execute algorithm\n")
    assert outcome.count("\n") == 0
    assert not (folder / f"{job}.gpkg").exists()


def test_the_command_of_qgis_lists_the_algorithms(folder: Path) -> None:
    # Debian's wrapper of the name hands on an option that it does not know
    command = shutil.which("qgis_process.bin") or shutil.which("qgis_process")
    if command is None:
        pytest.skip("qgis_process is not installed")
    home = folder / "home"
    profile = home / ".local/share/QGIS/QGIS3/profiles/default"
    shutil.copytree(folder / "plugins", profile / "python/plugins")
    (profile / "QGIS").mkdir()
    (profile / "QGIS/QGIS3.ini").write_text("[PythonPlugins]\ngeodp_qgis=true\n")
    done = subprocess.run(
        [command, "list"], capture_output=True, text=True, check=False,
        env={"PATH": f"{folder / 'bin'}:/usr/bin:/bin", "HOME": str(home),
             "QT_QPA_PLATFORM": "offscreen", "LANG": "C.UTF-8"},
    )  # fmt: skip
    listed = [line.split()[0] for line in done.stdout.splitlines() if "\tgeodp:" in line]
    assert listed == [
        f"geodp:{verb}" for verb in ("areas", "compare", "evaluate", "learn", "predict")
    ]
