"""Labels by any name, and rows that are not usable: the same by every format and every road.

Right values are read off the rows by hand: a few lines of Python that know no file.
"""

import json
import sys
from collections.abc import Callable, Sequence
from dataclasses import replace
from itertools import pairwise, product
from pathlib import Path
from typing import Any

import geopandas
import numpy as np
import pandas
import pytest
import shapely
from counted import Cells, cells as counted
from terminal import geodp as command

import geodp
from geodp import Bounds, Frame, InputError
from geodp_app.files.import_file import Columns
from geodp_app.files.import_rows import MOST_LABELS, Meaning, check_rows, read_rows
from geodp_app.files.points import PointOptions, in_system, open_import, read_points
from geodp_app.tables.counts import read_counts
from geodp_app.tables.source import table_source
from learners.core.examples import LabelWords

BOX = Bounds(0, 0, 100, 50)
GRID = 100

#: Longitude, latitude and label, each row with what it is: place and label may be none.
ROWS: list[tuple[float | None, float | None, str | None]] = [
    (10.0, 5.0, "Flooded"), (20.0, 10.0, "dry"), (30.0, 15.0, " flooded "), (40.0, 20.0, None),
    (None, 25.0, "flooded"), (60.0, None, "dry"), (70.0, 35.0, "unknown"), (80.0, 40.0, "damp"),
    (90.0, 45.0, "DRY"), (None, None, None), (15.0, 45.0, "damp"),
]  # fmt: skip

Found = Cells


def right(inside: Sequence[str], outside: Sequence[str]) -> Found:
    """What the rows say: by hand."""
    found: Found = Cells()
    for lon, lat, label in ROWS:
        word = (label or "").strip().lower()
        if lon is None or lat is None or not word:
            continue
        if word in inside or not outside or word in outside:
            found[round(lon), round(2 * lat), int(word in inside)] += 1
    return found


# -- formats ------------------------------------------------------------------------------------


def frame() -> pandas.DataFrame:
    return pandas.DataFrame(ROWS, columns=["lon", "lat", "label"])


def geo_frame() -> geopandas.GeoDataFrame:
    places = [None if None in row[:2] else shapely.Point(row[:2]) for row in ROWS]
    return geopandas.GeoDataFrame({"label": [row[2] for row in ROWS]}, geometry=places, crs=4326)


def text(path: Path) -> None:
    frame().to_csv(path, index=False)


def semicolons(path: Path) -> None:
    frame().to_csv(path, index=False, sep=";", decimal=",")


def parquet(path: Path) -> None:
    frame().to_parquet(path)


def layer(path: Path) -> None:
    # no index of places that are none
    geo_frame().to_file(path, **({"SPATIAL_INDEX": "NO"} if path.suffix == ".fgb" else {}))


def places(path: Path) -> None:
    geo_frame().to_parquet(path)


FORMATS: dict[str, Callable[[Path], None]] = {
    "p.csv": text, "q.csv": semicolons, "p.parquet": parquet, "p.geojson": layer,
    "p.gpkg": layer, "p.shp": layer, "p.fgb": layer, "q.parquet": places,
}  # fmt: skip

# -- roads --------------------------------------------------------------------------------------


def by_command(path: Path, inside: Sequence[str], outside: Sequence[str]) -> Found:
    """The options as they are typed, up to what is learned from."""
    from geodp_app.commands import Parser, points

    parser = Parser()
    points.add_points_options(parser, "grid")
    options = parser.parse_args([
        f"--grid={GRID}", "--bounds=0,0,100,50", "--unusable=drop",
        *([f"--inside={','.join(inside)}"] if inside else []),
        *([f"--outside={','.join(outside)}"] if outside else []),
    ])  # fmt: skip
    found = points.read(path, options, quiet=True)
    return counted(found.points, found.labels)


def by_python(path: Path, inside: Sequence[str], outside: Sequence[str]) -> Found:
    found = geodp.read_points(
        path, bounds=BOX, grid=GRID, inside=inside, outside=outside or None, unusable="drop"
    )
    return counted(found.points, found.labels)


def by_frame(path: Path, inside: Sequence[str], outside: Sequence[str]) -> Found:
    own = geopandas.read_file(path) if path.suffix in (".gpkg", ".shp", ".fgb") else frame()
    found = geodp.read_points(
        own, bounds=BOX, grid=GRID, inside=inside, outside=outside, unusable="drop"
    )
    return counted(found.points, found.labels)


def by_table(path: Path, inside: Sequence[str], outside: Sequence[str]) -> Found:
    source = table_source(f"{path.suffix[1:]}:{path}")
    words = LabelWords.named(inside, outside)
    found = read_counts(source, PointOptions(GRID, BOX, labels=words, unusable="drop"))
    assert found.dropped == len(ROWS) - sum(right(inside, outside).values())
    return counted(found.counts.points, found.counts.labels, found.counts.amounts)


def by_window(path: Path, inside: Sequence[str], outside: Sequence[str]) -> Found:
    """What the dialog takes where one label is chosen for each, and rows are left out."""
    file = open_import(path)
    rows = read_rows(file, Columns(0, 1, file.columns.index("label")))
    assert rows is not None
    meaning = Meaning("degrees", Frame(GRID, BOX), inside[0], outside[0])
    examples = check_rows(in_system(file, rows, BOX), meaning).examples
    return counted(examples.points, examples.labels)


CHOICES = {
    "one": (["flooded"], []),
    "two": (["flooded", "damp"], []),
    "both": (["flooded"], ["dry"]),
    "several outside": (["flooded"], ["dry", "damp"]),
    "none of them occurs": (["wet"], []),
}


def by_qgis(path: Path, inside: Sequence[str], outside: Sequence[str]) -> Found:
    """What the plugin writes of a layer and types, without QGIS."""
    from geodp_app.cli import build_parser
    from geodp_app.commands import points
    from geodp_app.commands.plugin import declared
    from geodp_app.qgis.command import option_arguments

    rows: Any = ROWS
    if path.suffix in (".gpkg", ".shp", ".fgb", ".geojson"):
        layer = geopandas.read_file(path)
        places = [(None, None) if p is None else (p.x, p.y) for p in layer.geometry]
        rows = [(*place, label) for place, label in zip(places, layer["label"], strict=True)]
    cells = [["" if pandas.isna(value) else str(value) for value in row] for row in rows]
    written = path.with_name("in_QGIS.csv")
    written.write_text("\n".join(["lon,lat,label", *(",".join(row) for row in cells)]))
    values = {"grid": GRID, "unusable": "drop", "inside": ",".join(inside) or None,
              "outside": ",".join(outside) or None}  # fmt: skip
    typed = option_arguments(json.loads(json.dumps(declared()))["verbs"]["learn"], values)
    options = build_parser().parse_args(
        ["learn", str(written), "--bounds=0,0,100,50", *typed, "--output=l.gpkg"]
    )
    found = points.read(written, options, quiet=True)
    return counted(found.points, found.labels)


#: Every road with every format that it reads, and with every choice that it can be given: the
#: dialog asks for one label each.
ASKED = [
    *((road, name, [*CHOICES][(i + j) % len(CHOICES)])
      for i, road in enumerate((by_command, by_python, by_frame, by_qgis))
      for j, name in enumerate(FORMATS)),
    *((by_table, *each) for each in product(("p.csv", "q.csv", "p.parquet"), CHOICES)),
    *((by_window, name, "both") for name in FORMATS),
]  # fmt: skip


@pytest.mark.parametrize(("road", "name", "choice"), ASKED)
def test_every_road_reads_the_labels_that_are_named_and_drops_what_is_not_usable(
    tmp_path, road, name, choice
):
    FORMATS[name](tmp_path / name)
    assert road(tmp_path / name, *CHOICES[choice]) == right(*CHOICES[choice])


@pytest.mark.parametrize("name", FORMATS)
def test_nothing_is_dropped_unasked(tmp_path: Path, name: str) -> None:
    FORMATS[name](tmp_path / name)
    with pytest.raises(InputError, match=r"is empty.*unusable drop leaves such rows out"):
        geodp.read_points(tmp_path / name, bounds=BOX, inside="flooded")


def test_advice_is_about_what_is_wrong_and_not_about_what_a_cell_says(tmp_path: Path) -> None:
    path = tmp_path / "p.csv"
    path.write_text("lon,lat,label\noutside the bounds,1,1\n")
    with pytest.raises(InputError, match="is not a number; unusable drop leaves such rows out"):
        geodp.read_points(path, bounds=BOX)


@pytest.mark.parametrize("name", ["p.csv", "p.parquet", "p.gpkg"])
def test_labels_may_be_numbers_and_truth(tmp_path: Path, name: str) -> None:
    table = pandas.DataFrame({"lon": [1.0, 2, 3, 4], "lat": 1.0, "label": [2, 7, 3, 2]})
    truth = table.assign(label=table["label"] == 2)
    for each, inside, found in (
        (table, "2", [1, 0, 0, 1]), (table, "2.0,7", [1, 1, 0, 1]), (truth, "False", [0, 1, 1, 0])
    ):  # fmt: skip
        path = tmp_path / name
        if name == "p.csv":
            each.to_csv(path, index=False)
        elif name == "p.parquet":
            each.to_parquet(path)
        else:
            own = geopandas.points_from_xy(each["lon"], each["lat"])
            geopandas.GeoDataFrame(each[["label"]], geometry=own, crs=4326).to_file(path)
        words = LabelWords.named(inside.split(","))
        got = read_points(path, PointOptions(GRID, BOX, labels=words)).examples
        assert got.labels.tolist() == found
        typed: Any = each["label"].iloc[0].item() if inside == "2" else inside.split(",")
        assert geodp.read_points(each, bounds=BOX, inside=typed).labels.tolist() == found
        if name != "p.gpkg":
            source = table_source(f"{path.suffix[1:]}:{path}")
            counts = read_counts(source, PointOptions(GRID, BOX, labels=words)).counts
            assert counts.positives == sum(found)


@pytest.mark.parametrize("kind", ["csv", "parquet"])
@pytest.mark.parametrize("inside", [(), ("υγρός",), ("NASS", "İç"), ("９", "flooded")])
def test_a_label_says_in_a_table_what_it_says_in_a_file(tmp_path, kind, inside):
    labels = ["υγρός", "ΥΓΡΌΣ", "naß", "nass", "İç", "\ufb02ooded", "flooded\u3000", "yes\u3000",
              "９", "１", "0_1", "inside", "INSİDE", "-1", "1.0", "\u00a0", "2"]  # fmt: skip
    table = pandas.DataFrame({"x": range(len(labels)), "y": 0, "label": labels})
    path = tmp_path / f"p.{kind}"
    table.to_csv(path, index=False) if kind == "csv" else table.to_parquet(path)
    options = PointOptions(64, labels=LabelWords.named(inside), unusable="drop")
    read = read_points(path, options).examples
    found = read_counts(table_source(f"{kind}:{path}"), options).counts
    assert counted(found.points, found.labels, found.amounts) == counted(read.points, read.labels)


@pytest.mark.parametrize(
    ("inside", "outside", "found"),
    [(["2"], ["1"], [(1, 0, 0), (2, 0, 1)]), (["0"], ["2"], [(0, 0, 1), (2, 0, 0)]),
     (["0"], ["1"], [(0, 0, 1), (1, 0, 0)]), (["-1"], ["2"], [(2, 0, 0), (3, 0, 1)])],
)  # fmt: skip
def test_a_1_or_0_that_is_not_named_says_neither(tmp_path, inside, outside, found):
    path = tmp_path / "p.csv"
    path.write_text("x,y,label\n0,0,0\n1,0,1\n2,0,2\n3,0,-1\n")
    words = LabelWords.named(inside, outside)
    options = PointOptions(64, labels=words, unusable="drop")
    read = read_points(path, options)
    assert read.dropped == 2
    assert counted(read.examples.points, read.examples.labels) == dict.fromkeys(found, 1)
    counts = read_counts(table_source(f"csv:{path}"), options).counts
    assert counted(counts.points, counts.labels, counts.amounts) == dict.fromkeys(found, 1)
    first = next(label for label in ("0", "1", "2") if label not in inside + outside)
    with pytest.raises(InputError, match=f"'{first}' means neither inside nor outside"):
        geodp.read_points(path, inside=inside, outside=outside)


def test_whole_numbers_beyond_the_doubles_are_labels_apart(tmp_path: Path) -> None:
    table = pandas.DataFrame({"x": [1, 2], "y": 0, "label": [2**53, 2**53 + 1]})
    table.to_parquet(tmp_path / "p.parquet")
    options = PointOptions(64, labels=LabelWords.named([str(2**53 + 1)]))
    found = read_counts(table_source(f"parquet:{tmp_path}/p.parquet"), options).counts
    assert counted(found.points, found.labels, found.amounts) == {(1, 0, 0): 1, (2, 0, 1): 1}


def test_a_row_becomes_what_it_is_whatever_the_others_are(tmp_path: Path) -> None:
    """Lemma T0 with rows dropped: also beyond the labels that are told apart, and where a row that
    is no number stands beside numbers that only some readers take."""
    noise = [f"{i % 100},1,word {i}" for i in range(MOST_LABELS + 50)]
    marked = ["1,1,flooded", "2,1,dry", "\x1f3,1,dry", "x,1,dry", "\u00e9,1,dry",
              "5,1,yes", "6,2", "7,1,", "nan,1,dry", "1_0,1,dry", "8.5,1,dry"]  # fmt: skip

    def of(rows: list[str], **options: Any) -> Found:
        (tmp_path / "p.csv").write_text("x,y,label\n" + "".join(f"{row}\n" for row in rows))
        found = read_points(tmp_path / "p.csv", PointOptions(GRID, unusable="drop", **options))
        assert found.dropped + len(found.examples.labels) == len(rows)
        return counted(found.examples.points, found.examples.labels)

    for words in (LabelWords(), LabelWords.named(["flooded"]), LabelWords.named(["yes"], ["dry"])):
        alone: Found = Cells()
        for row in marked + noise:
            if row in marked or row in noise[-3:]:
                alone += of([row], labels=words)
        for rows in (noise[-3:] + marked, marked[::-1] + noise[-3:]):
            assert of(rows, labels=words) == alone
        whole = of(noise + marked, labels=words)
        assert whole - of(noise[:-3], labels=words) == alone


def test_a_person_s_dropped_rows_stand_in_no_other_s_way(tmp_path: Path) -> None:
    """Lemma T1: of a person's rows that are usable one is taken, by files and tables."""
    rng = np.random.default_rng(5)
    table = pandas.DataFrame({
        "x": rng.integers(0, 9, 400), "y": rng.integers(0, 9, 400), "who": rng.integers(0, 60, 400),
        "label": rng.choice(["flooded", "dry", "", "n/a"], 400),
    })  # fmt: skip
    table.to_csv(tmp_path / "p.csv", index=False)
    table.to_parquet(tmp_path / "p.parquet")
    words = LabelWords.named(["flooded"], ["dry"])
    usable = table[table["label"].isin(["flooded", "dry"])]
    persons = usable["who"].nunique()
    assert 40 < persons <= 60
    options = PointOptions(8, person="who", labels=words, unusable="drop")
    assert len(read_points(tmp_path / "p.csv", options).examples.labels) == persons
    for source in ("csv:p.csv", "parquet:p.parquet"):
        kind, _, file = source.partition(":")
        where = table_source(f"{kind}:{tmp_path / file}")
        for rows in (1, 3):
            found = read_counts(where, replace(options, rows=rows))
            assert found.counts.n == rows * persons
            assert found.dropped == table.drop(usable.index)["who"].nunique()


@pytest.mark.parametrize("kind", ["csv", "parquet"])
def test_rows_that_are_dropped_are_no_part_of_the_points_extent(tmp_path: Path, kind: str) -> None:
    options = PointOptions(GRID, BOX, unusable="drop")
    rows: Any = [(0.0, 0.0, "yes"), (100.0, 50.0, "no"), (100.0, 50.0, "maybe"), (1.0, None, "no")]
    for some, tight in ((rows, True), ([rows[0], *rows[2:]], False)):
        table = pandas.DataFrame(some, columns=["lon", "lat", "label"])
        path = tmp_path / f"p.{kind}"
        table.to_csv(path, index=False) if kind == "csv" else table.to_parquet(path)
        assert read_points(path, options).tight == tight
        assert read_counts(table_source(f"{kind}:{path}"), options, edges=True).tight == tight


@pytest.mark.parametrize("name", ["p.csv", "p.parquet"])
def test_what_lies_elsewhere_or_is_nobody_s_is_refused_all_the_same(tmp_path, name):
    table = pandas.DataFrame({
        "lon": [10.0, 250.0], "lat": 5.0, "label": ["yes", "no"], "who": ["a", "b"]
    })  # fmt: skip
    source = table_source(f"{name[2:]}:{tmp_path / name}")

    def write(each: pandas.DataFrame) -> None:
        if name == "p.csv":
            each.to_csv(tmp_path / name, index=False)
        else:
            each.to_parquet(tmp_path / name)

    def roads(**person: str) -> list[Callable[[], object]]:
        options = PointOptions(GRID, BOX, unusable="drop", person=person.get("who"))
        return [
            lambda: read_points(tmp_path / name, options),
            lambda: read_counts(source, options),
        ]

    write(table)
    for road in roads():
        with pytest.raises(InputError, match=r"column lon: .*is outside the bounds"):
            road()
    write(table.assign(label=["yes", "neither"]))  # both wrong: the row is no example anyway
    for road in roads():
        road()
    write(table.assign(lon=[10.0, float("inf")]))
    for road in roads():
        road()
    write(table.assign(lon=10.0, who=["a", None]))
    for road in roads(who="who"):
        with pytest.raises(InputError, match="column who: "):
            road()


@pytest.mark.parametrize(
    ("inside", "outside", "message"),
    [
        ((), ("dry",), "--outside goes with --inside"),
        (("dry",), ("Dry ",), "'dry' cannot be both"),
        ((" ",), (), "a label is empty"),
        (("2",), ("2.0",), "'2' cannot be both"),
    ],
)
def test_labels_that_contradict_each_other_are_refused(inside, outside, message) -> None:
    with pytest.raises(InputError, match=message):
        LabelWords.named(inside, outside)


@pytest.mark.parametrize("source", [["p.csv"], ["--table", "csv:p.csv"]])
def test_how_many_rows_were_dropped_is_told_at_a_terminal_alone(
    tmp_path, source, monkeypatch, capsys
):
    monkeypatch.chdir(tmp_path)
    text(tmp_path / "p.csv")
    argv = ["learn", *source, "--grid", GRID, "--bounds", "0,0,100,50", "--inside", "flooded",
            "--unusable", "drop", "--seed", 1, "-o", "h.geojson", "--overwrite"]  # fmt: skip
    assert command(*argv) == 0
    assert "dropped" not in capsys.readouterr().err
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True)
    assert command(*argv) == 0
    assert "rows without a usable label or place: 4, dropped" in capsys.readouterr().err


def test_learning_comparing_and_measuring_take_labels_and_rows(tmp_path, capsys):
    rng = np.random.default_rng(2)
    xy = rng.integers(0, 65, (4_000, 2))
    labels = np.where(xy[:, 0] > 32, "flooded", "dry").astype(object)
    labels[:100] = ""
    table = pandas.DataFrame({"x": xy[:, 0], "y": xy[:, 1], "label": labels})
    path = tmp_path / "p.csv"
    table.to_csv(path, index=False)
    how = ["--grid", 64, "--inside", "flooded", "--unusable", "drop"]
    seeded, out = ["--seed", 1], tmp_path / "h.geojson"
    assert command("learn", path, *how, *seeded, "-o", out, "--quiet") == 0
    choice: dict[str, Any] = {"grid": 64, "inside": "flooded", "unusable": "drop"}
    assert geodp.load(out).release == geodp.learn(path, **choice, seed=1).release
    assert geodp.learn(table, **choice, seed=1).release == geodp.load(out).release
    capsys.readouterr()
    assert command("evaluate", out, path, *how[2:], "--json") == 0
    figures = json.loads(capsys.readouterr().out)
    assert figures["examples"] == 3_900
    assert figures["error"] < 0.05
    compared = ["--learners", "quadtree", *how, *seeded, "--json", "--quiet"]
    assert command("compare", path, *compared) == 0
    assert json.loads(capsys.readouterr().out)["learners"][0]["error"] < 0.2
    table.drop(columns="label").assign(y=[None, *xy[1:, 1]]).to_csv(path, index=False)
    argv = ["predict", out, path, "--unusable", "drop", "-o", tmp_path / "q.csv", "--quiet"]
    assert command(*argv) == 0
    assert len((tmp_path / "q.csv").read_text().splitlines()) == 4_000


def test_the_test_means_something() -> None:
    kinds = [right(*choice) for choice in CHOICES.values()]
    assert all(a != b for a, b in pairwise(kinds))
