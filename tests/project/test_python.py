"""`import geodp`: quick, whole, and the same as the command line."""

import ast
import builtins
import doctest
import inspect
import json
import re
import sys
from pathlib import Path

import numpy as np
import pytest
import shapely

import geodp
import learners
from geodp import Bounds, Examples, GridMap, LearnedShape
from geodp_app.cli import main
from geodp_app.files.learned_file import learned_text
from geodp_app.files.points import format_examples
from geometry.grid import checked_bounds
from learners.core.estimator import Estimator
from learners.core.examples import check_points
from learners.registry import LEARNERS

geopandas = pytest.importorskip("geopandas", reason="the extra geo")
pyplot = pytest.importorskip("matplotlib.pyplot", reason="the extra plot")
pandas = pytest.importorskip("pandas", reason="the extra geo")

BOX = (6.0, 36.0, 19.0, 48.0)
GRID = 64
BOXES = {
    "degrees": checked_bounds(BOX),
    "metres": checked_bounds((480_000, 4_980_000, 600_000, 5_100_000), "EPSG:32633"),
    "across": Bounds(170, -20, -170, -10),
}


@pytest.fixture(scope="module")
def examples() -> Examples:
    return geodp.sample("L", 4_000, grid=GRID, bounds=BOX, seed=1)


@pytest.fixture(scope="module")
def shape(examples: Examples) -> LearnedShape:
    return geodp.learn(examples, epsilon=2.0, support=0.3, seed=3)


def own(examples: Examples, bounds: Bounds) -> np.ndarray:
    """The examples' coordinates in the system of bounds."""
    return GridMap(GRID, bounds).to_own(examples.points.astype(float))


# -- the import ------------------------------------------------------------------------------------


def test_every_public_name_is_there_and_no_other() -> None:
    assert len(set(geodp.__all__)) == len(geodp.__all__)
    for name in geodp.__all__:
        assert getattr(geodp, name) is not None, name
    assert dir(geodp) == sorted(geodp.__all__)
    with pytest.raises(AttributeError, match="no attribute 'fit'"):
        geodp.fit  # noqa: B018


def test_type_checkers_know_every_name() -> None:
    """The imports that they alone see have all that is loaded when it is asked for."""
    outcome = set(re.findall(r"(\w+) as \1\b", Path(geodp.__file__).read_text(encoding="utf-8")))
    lazy = set(geodp.__all__) - set(vars(geodp)) | set(learners.__all__)
    assert lazy <= outcome <= set(geodp.__all__)


def test_every_package_says_that_it_is_typed() -> None:
    root = Path(geodp.__file__).parent
    for package in ("assets", "geodp_app", "geometry", "learners"):
        assert (root / package / "py.typed").is_file(), package


def test_every_public_name_has_an_example() -> None:
    """They run with all docstrings; of some it is in that of the module or a function of it."""
    finder = doctest.DocTestFinder()
    of_module = "".join(e.source for test in finder.find(geodp, "geodp") for e in test.examples)

    def shown(name: str) -> bool:
        found = finder.find(getattr(geodp, name), name)
        own = any(test.examples for test in found if test.name == name)
        return own or re.search(rf"geodp\.{name}\b", of_module) is not None

    bare = [name for name in geodp.__all__ if not shown(name)]
    assert bare == []


# -- errors ----------------------------------------------------------------------------------------

PUBLIC_ERRORS = {
    name for name in geodp.__all__
    if isinstance(found := getattr(geodp, name), type) and issubclass(found, BaseException)
}  # fmt: skip
#: Classes that the functions of geodp do not let out, and what comes of them.
NOT_LET_OUT = {
    "Cancelled": "of the window, and of whoever watches a run",
    "CrsError": "a BoundsError, GeoJSONError or InputError",
    "DamagedFileError": "an InputError",
    "GeodpError": "of QGIS",
    "NotMeasuredError": "of geodp plan",
    "PeerGone": "of the window",
    "PictureError": "of pictures of the window",
    "UnknownExampleError": "an InputError",
    "UnknownIconError": "of the window",
}


def documented_errors() -> set[tuple[str, str]]:
    """Where, and what, by the sections Raises of all public names and their methods."""
    found = set()
    for name in geodp.__all__:
        value = getattr(geodp, name)
        members = inspect.getmembers(value) if isinstance(value, type) else []
        of_name = [(name, value), *((f"{name}.{m}", v) for m, v in members if m[0] != "_")]
        for where, each in of_name:
            text = inspect.getdoc(each) or ""
            for section in re.findall(r"^Raises\n-+\n(.*?)(?=^\w+\n-{3,}|\Z)", text, re.M | re.S):
                lines = [line for line in section.splitlines() if line[:1].strip()]
                found |= {(where, error) for line in lines for error in line.split(", ")}
    return found


def test_whatever_geodp_raises_can_be_caught_from_geodp() -> None:
    """By what is documented, and by the classes of errors that the product has."""
    found = documented_errors()
    assert {"InputError", "BoundsError", "GeoJSONError", "NotFittedError"} <= {e for _, e in found}
    known = PUBLIC_ERRORS | {
        name for name, value in vars(builtins).items()
        if isinstance(value, type) and issubclass(value, Exception)
    }  # fmt: skip
    assert [each for each in sorted(found) if each[1] not in known] == []
    root, bases = Path(geodp.__file__).parent, {}
    for folder in ("assets", "geodp_app", "geometry", "learners"):
        for path in (root / folder).rglob("*.py"):
            for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
                if isinstance(node, ast.ClassDef):
                    bases[node.name] = {ast.unparse(base).split(".")[-1] for base in node.bases}

    def caught(name: str, by: set[str]) -> bool:
        return name in by or any(caught(base, by) for base in bases.get(name, ()))

    python = known - PUBLIC_ERRORS
    errors = {name for name in bases if caught(name, python | {"BaseException"})}
    assert errors >= PUBLIC_ERRORS
    assert {each for each in errors if not caught(each, PUBLIC_ERRORS)} == set(NOT_LET_OUT)


def test_every_function_says_what_is_wrong_with_what_is_none(tmp_path: Path) -> None:
    nonsense, held = object(), []
    for name, call in {
        "areas": lambda: geodp.areas(nonsense, nonsense),
        "compare": lambda: geodp.compare(nonsense),
        "learn": lambda: geodp.learn(nonsense),
        "load": lambda: geodp.load(nonsense),
        "read_points": lambda: geodp.read_points(nonsense),
        "rehearse": lambda: geodp.rehearse(nonsense, 10),
        "sample": lambda: geodp.sample(nonsense, 10),
        "save": lambda: geodp.save(nonsense, tmp_path / "h.geojson"),
    }.items():
        held.append(name)
        with pytest.raises(geodp.InputError, match=r"\bnot (from )?object"):
            call()
    assert held == [name for name in geodp.__all__ if inspect.isfunction(getattr(geodp, name))]
    with pytest.raises(geodp.NotFittedError):
        geodp.areas(geodp.QuadtreeLearner(), nonsense)
    with pytest.raises(geodp.NotFittedError):
        geodp.save(geodp.QuadtreeLearner(), tmp_path / "h.geojson")


# -- examples --------------------------------------------------------------------------------------


def test_examples_do_not_show_themselves(examples: Examples) -> None:
    assert "private" in repr(examples)
    assert "4000" not in repr(examples)
    assert "array" not in repr(examples)


def test_whatever_is_wrong_can_be_caught_from_the_one_import(examples, tmp_path):
    frame = pandas.DataFrame({"x": [1], "y": [2], "label": [1]})
    placed = pandas.DataFrame({"lon": [1.0], "lat": [91.0], "label": [1]})
    unnamed = pandas.DataFrame({"lon": [1.0], "lat": [9.0], "seen": ["yes"], "by": ["me"]})
    box = (0, 0, 2, 90)
    (tmp_path / "no.geojson").write_text('{"type": "Feature"}')
    wrong = [
        (lambda: geodp.read_points(placed, bounds=box), "the data frame: row 1, column lat"),
        (
            lambda: geodp.read_points(placed, bounds=box),
            "; out_of_bounds drop leaves such rows out",
        ),
        (lambda: geodp.read_points(unnamed, bounds=box), "name yours: columns label=NAME"),
        (lambda: geodp.sample("L", 10, noise=2), "noise within"),
        (lambda: geodp.learn(examples, "union"), "now called cover or tiles"),
        (lambda: geodp.learn(examples, k=3), "with k pieces it is learner cover"),
        (lambda: geodp.learn(examples, "convex-cover"), "convex-cover needs k: edges"),
        (lambda: geodp.learn(examples, epsilon=-1), "tiles: epsilon"),
        (lambda: geodp.sample("atlantis", 5), "atlantis: there is no such file, and no .*: L"),
        (lambda: geodp.sample("L", 2.5), "n must be a whole number, got 2.5"),
        (lambda: geodp.sample("L", 5, grid="a"), "grid must be a whole number"),
        (lambda: geodp.sample("L", 5, distribution="odd"), "unknown distribution 'odd'"),
        (lambda: geodp.read_points([[1, 2]]), "a file or a data frame, not from list; arrays"),
        (lambda: geodp.read_points(frame, grid=True), "grid must be a whole number"),
        (lambda: geodp.read_points(frame, grid=2**21), "grid must be at most 1,048,576"),
        (
            lambda: geodp.read_points(placed, bounds=box, out_of_bounds="Drop"),
            "refuse or drop or clip",
        ),
        (lambda: geodp.read_points(frame, columns={"label": 2}), "label must be a column's name"),
        (lambda: geodp.read_points(frame, inside=[[1]]), "one value or several are wanted"),
        (lambda: geodp.read_points(frame, crs="EPSG:3035"), "give bounds in its units"),
        (lambda: geodp.read_points("my--file.csv"), "my--file.csv: "),
        (lambda: geodp.learn(np.zeros((3, 2))), "a file or a data frame, not from ndarray"),
        (lambda: geodp.learn(examples, grid=8), "read already take no grid"),
        (lambda: geodp.learn(frame, "tiles", grid=8, levels=3), "levels means nothing to tiles"),
        (lambda: geodp.learn(examples, epsilon="1"), "tiles: epsilon must be a finite number"),
        (lambda: geodp.learn(examples, seed=-1), "seed must be a whole number of at least 0"),
        (lambda: geodp.learn(examples, tiles=10**400), "tiles must be a whole number and lie"),
        (lambda: geodp.compare(examples, []), "there is no learner to compare"),
        (lambda: geodp.compare(examples, holdout=1), "holdout must lie strictly between 0 and 1"),
        (lambda: geodp.compare(frame, grid=8, tiles=2), "compare takes no tiles"),
        (lambda: geodp.compare(examples, ["tiles"], k=3), "^k is for learners .*; tiles take no k"),
        (lambda: geodp.rehearse("L", 9, k=3), "^k is for .*; tiles, histogram, quadtree take no k"),
        (lambda: geodp.compare(examples, ["tiles", "discs"]), "discs needs k: discs that cover"),
        (lambda: geodp.load(tmp_path / "none.geojson"), "there is no such file"),
        (lambda: geodp.save(3, tmp_path / "a.geojson"), "is saved, not int"),
        (lambda: geodp.load(tmp_path), f"{tmp_path}: Is a directory"),
        (lambda: geodp.load("a\0b.geojson"), "there is no such file"),
        (lambda: geodp.load(True), "path must be a path, not bool"),  # no number of a stream
        (lambda: geodp.load(None), "path must be a path, not None"),
        (lambda: geodp.read_points(tmp_path), "cannot be read: Is a directory"),
        (lambda: geodp.read_points(frame, columns="x=x"), "columns must be a mapping of names"),
        (lambda: geodp.read_points(frame, id=3), "id must be a text, not int"),
        (lambda: geodp.sample(7, 5), "target must be a path, not int"),
        (lambda: geodp.sample("L", 5, grid=10**30), "grid must be at most 1,048,576, not 1,000,"),
        (lambda: geodp.sample("L", 10**30), "n must be within 0..1e9"),
        (lambda: geodp.save(geodp.QuadtreeLearner, "a.geojson"), "is saved, not ABCMeta"),
        (lambda: geodp.sample(tmp_path, 5), f"{tmp_path}: Is a directory"),
        (lambda: geodp.learn(examples, ledger=2), "ledger must be a path, not int"),
        (lambda: geodp.learn(examples, geodp.QuadtreeLearner()), "learner must be a name, such as"),
        (lambda: geodp.compare(examples, 5), "a learner must be a name, such as 'tiles', not int"),
    ]
    for call, message in wrong:
        with pytest.raises(geodp.InputError, match=message):
            call()
    shape = geodp.learn(examples, seed=1)
    for place, message in ((tmp_path / "no" / "a.geojson", "No such file or directory"),
                           (tmp_path, "Is a directory")):  # fmt: skip
        with pytest.raises(geodp.InputError, match=message):
            geodp.save(shape, place)
    with pytest.raises(geodp.GeoJSONError):
        geodp.sample(tmp_path / "no.geojson", 5)
    for call, message in (
        (lambda: geodp.read_points(frame, bounds=pandas.DataFrame({"x": [1]})), "not x 0 1$"),
        (lambda: geodp.read_points(placed, bounds=(0, 0, 2)), "four numbers west"),
        (lambda: geodp.read_points(placed, bounds=BOXES["degrees"], crs="EPSG:32633"),
         "have their own"),
        (lambda: geodp.Bounds(1, 2, 3, "4"), "must be finite numbers"),
        (lambda: geodp.Bounds(1, 2, 10**400, 4), "must be finite numbers"),
    ):  # fmt: skip
        with pytest.raises(geodp.BoundsError, match=message):
            call()


@pytest.mark.parametrize("placed", [False, True])
def test_data_frames_and_files_are_learned_from_as_they_are_read(examples, placed, tmp_path):
    lonlat = own(examples, BOXES["degrees"])
    frame = pandas.DataFrame({"lon": lonlat[:, 0], "lat": lonlat[:, 1], "label": examples.labels})
    if placed:
        points = geopandas.points_from_xy(*lonlat.T)
        frame = geopandas.GeoDataFrame({"label": examples.labels}, geometry=points, crs=4326)
    expected = geodp.learn(examples, "quadtree", seed=1)
    learned = geodp.learn(frame, "quadtree", bounds=BOX, grid=np.int64(GRID), seed=1)
    assert (learned.release, learned.frame) == (expected.release, expected.frame)
    (tmp_path / "p.csv").write_text(format_examples(examples))
    assert geodp.learn(tmp_path / "p.csv", "quadtree", seed=1).release == expected.release
    rows = geodp.compare(frame, "quadtree", bounds=BOX, grid=GRID, test=examples, seed=1)
    assert [row.release for row in rows] == [expected.release]
    # a test that says nothing of its place lies where the examples do
    for learn_from in (examples, tmp_path / "p.csv"):
        assert geodp.compare(learn_from, "quadtree", test=frame, seed=1)[0].errors == rows[0].errors


def test_learn_takes_data_frames_whose_labels_are_words() -> None:
    """Columns by any names, in any of pandas' types; of geopandas in any system."""
    rng = np.random.default_rng(1)
    lon, lat = rng.uniform(7, 18, 900), rng.uniform(37, 47, 900)
    wet = np.where(lon < 12, "Yes", "no")
    frame = pandas.DataFrame({"where_x": lon, "where_y": lat, "seen": wet, "note": "a"})
    columns = {"lon": "where_x", "lat": "where_y", "label": "seen"}
    options = {"learner": "quadtree", "grid": GRID, "seed": 1}
    expected = geodp.learn(frame, bounds=BOX, columns=columns, **options)
    assert expected.predict([[8.0, 40.0], [17.0, 40.0]]).tolist() == [1, 0]
    places = geopandas.GeoDataFrame(
        {"seen": wet == "Yes"}, geometry=geopandas.points_from_xy(lon, lat), crs=4326
    )
    for other in (
        frame.astype({"seen": "category", "where_x": "Float64"}),
        frame.astype({"seen": "string"}).set_index("note"),
        places.to_crs(3035).astype({"seen": "boolean"}),
    ):
        named = {"label": "seen"} if "where_x" not in other else columns
        assert geodp.learn(other, bounds=BOX, columns=named, **options) == expected
    with pytest.raises(geodp.InputError, match="neither inside nor outside"):
        geodp.learn(frame.replace("Yes", "maybe"), bounds=BOX, columns=columns, **options)


def test_bounds_of_numpys_numbers_are_written_as_pythons(tmp_path: Path) -> None:
    box = geodp.Bounds(*np.array([6, 36, 19, 48], dtype=np.float32))
    examples = geodp.sample("L", np.int64(200), grid=np.uint8(16), bounds=box, seed=np.int8(1))
    geodp.save(geodp.learn(examples, "quadtree", seed=1), tmp_path / "a.geojson")
    assert geodp.load(tmp_path / "a.geojson").frame.bounds == box


def test_a_release_names_the_persons_whose_rows_were_read() -> None:
    rows = {"x": [1, 2, 3] * 50, "y": [1, 2, 3] * 50, "label": [1, 0, 1] * 50}
    frame = pandas.DataFrame(rows | {"reporter": [f"p{i // 3}" for i in range(150)]})
    found = geodp.read_points(frame, grid=16, id="reporter")
    assert len(found.labels) == 50
    learned = geodp.learn(found)
    assert "one row of each reporter" in learned.statement
    assert dict(learned.release.parameters)["unit"] == "reporter"


def test_several_rows_of_each_person_are_charged_together() -> None:
    rows = {"x": [1, 2, 3] * 50, "y": [1, 2, 3] * 50, "label": [1, 0, 1] * 50}
    frame = pandas.DataFrame(rows | {"reporter": [f"p{i // 2}" for i in range(150)]})
    found = geodp.read_points(frame, grid=16, id="reporter", rows=3)
    assert len(found.labels) == 3 * 75
    learned = geodp.learn(frame, "histogram", grid=16, id="reporter", rows=3)
    assert "Each reporter counts as 3 examples" in learned.statement
    assert (learned.privacy.epsilon, learned.privacy.rows) == (1.0, 3)
    assert learned.accounting["charges"][0]["epsilon"] == 1.0
    with pytest.raises(geodp.InputError, match="several of one person are not"):
        geodp.learn(found, check=0.1)
    with pytest.raises(geodp.InputError, match="takes one row of each person"):
        geodp.compare(found, "quadtree")
    with pytest.raises(geodp.InputError, match="give id, too"):
        geodp.read_points(frame, grid=16, rows=3)


# -- learning --------------------------------------------------------------------------------------


@pytest.mark.parametrize("learner", ["tiles", "histogram"])
def test_learn_is_what_the_command_does(examples, learner, tmp_path, capsys):
    (tmp_path / "p.csv").write_text(format_examples(examples))
    argv = ["learn", tmp_path / "p.csv", "--learner", learner, "--seed", 5, "--quiet"]
    assert main([str(each) for each in [*argv, "-o", tmp_path / "h.geojson"]]) == 0
    learned = geodp.learn(examples, learner, seed=5)
    assert learned.to_geojson() == json.loads((tmp_path / "h.geojson").read_text())
    geodp.save(learned, tmp_path / "again.geojson")
    assert (tmp_path / "again.geojson").read_bytes() == (tmp_path / "h.geojson").read_bytes()


@pytest.mark.parametrize("where", BOXES)
def test_learners_take_coordinates_of_the_bounds(examples: Examples, where: str) -> None:
    """Arrays, data frames, and geopandas in any system, are the same grid points."""
    bounds = BOXES[where]
    xy = own(examples, bounds)
    if bounds.crosses:  # as people write it, also there
        xy = np.column_stack([np.where(xy[:, 0] > 180, xy[:, 0] - 360, xy[:, 0]), xy[:, 1]])
    of_grid = geodp.QuadtreeLearner(grid=GRID, seed=1).fit(examples.points, examples.labels)
    model = geodp.QuadtreeLearner(grid=GRID, seed=1, bounds=bounds)
    columns = ["lon", "lat"] if bounds.in_degrees else ["east", "north"]
    series = geopandas.GeoSeries(geopandas.points_from_xy(*xy.T), crs=bounds.crs)
    forms = [xy, xy.tolist(), pandas.DataFrame(xy, columns=columns), series]
    forms.append(geopandas.GeoDataFrame(geometry=series.to_crs(4326)))
    for X in forms:
        fitted = model.fit(X, examples.labels.astype(bool))
        assert fitted.release_ == of_grid.release_
        assert fitted.bounds_ == bounds
        np.testing.assert_array_equal(fitted.predict(X), of_grid.predict(examples.points))
        assert fitted.score(X, examples.labels) == of_grid.score(examples.points, examples.labels)
    learned = fitted.placed()
    np.testing.assert_array_equal(learned.predict(xy), of_grid.predict(examples.points))
    assert not hasattr(model.fit(series, examples.labels), "feature_names_in_")


@pytest.mark.parametrize("where", BOXES)
def test_what_a_point_becomes_depends_on_it_alone(examples: Examples, where: str) -> None:
    """Whatever others are there: so one point more is one example more (lemma T0)."""
    bounds = BOXES[where]
    places = own(examples, bounds)[:60]
    series = geopandas.GeoSeries(geopandas.points_from_xy(*places.T), crs=bounds.crs)
    for X in (places, series, series.to_crs(3857)):
        whole = check_points(X, GRID, bounds=bounds)
        np.testing.assert_array_equal(whole, examples.points[:60])
        for some in (slice(7, 8), slice(20, 60)):
            np.testing.assert_array_equal(check_points(X[some], GRID, bounds=bounds), whole[some])


def test_points_that_lie_nowhere_are_refused() -> None:
    placed = geodp.QuadtreeLearner(grid=GRID, seed=1, bounds=BOX)
    bare = geodp.QuadtreeLearner(grid=GRID)
    squares = geopandas.GeoSeries([shapely.Point(7, 40), shapely.box(7, 40, 8, 41)], crs=4326)
    for model, X, error, message in (
        (placed, [[7.0, 40.0], [5.0, 40.0]], geodp.BoundsError,
         r"row 1: \(5.0, 40.0\) is outside the bounds"),
        (placed, [[7.0, np.nan]], ValueError, "row 0: .* holds NaN"),
        (placed, squares, ValueError, "row 1: a Polygon, where a point was expected"),
        (bare, squares[:1], ValueError, "points of geopandas need bounds="),
        (bare, [[7.5, 40.0]], ValueError, "degrees and metres need bounds="),
        (geodp.QuadtreeLearner(bounds="italy"), [[7.5, 40.0]], geodp.BoundsError, "four numbers"),
    ):  # fmt: skip
        with pytest.raises(error, match=message):
            model.fit(X, [0, 1][: len(X)])


@pytest.mark.parametrize(
    "names",
    ["x y", "Lon LAT", "longitude latitude", "point_x point_y", "easting northing", "col row",
     "lon_deg lat_deg", "x y label"],
)  # fmt: skip
def test_columns_of_a_frame_are_never_taken_for_each_other(names: str, shape: LearnedShape) -> None:
    first, second, *more = names.split()
    right = pandas.DataFrame(1, index=[0, 1], columns=[first, second])
    swapped = pandas.DataFrame(1, index=[0, 1], columns=[second, first, *more])
    reason = f"are {second}, {first}: {first} comes before {second}; give them in that order"
    placed = geodp.QuadtreeLearner(grid=GRID, seed=1, bounds=(0, 0, 9, 9))
    for model in (placed, geodp.QuadtreeLearner(grid=GRID, seed=1)):
        assert len(model.fit(right, [0, 1]).predict(right)) == 2
        for frame in (swapped, geopandas.GeoDataFrame(swapped)):
            with pytest.raises(ValueError, match=reason):
                model.fit(frame, [0, 1])
    with pytest.raises(ValueError, match=reason):
        shape.predict(swapped)
    # of a geometry the columns beside it say nothing
    placed.fit(geopandas.GeoDataFrame(swapped, geometry=shapely.points([[1, 1]] * 2)), [0, 1])


# -- what is shown ---------------------------------------------------------------------------------


def test_a_learner_shows_what_its_learned_shape_shows(examples: Examples) -> None:
    model = geodp.PolygonUnionLearner(grid=GRID, bounds=BOX, seed=3)
    assert model._repr_html_() is None
    with pytest.raises(ValueError, match="has not been fitted yet"):
        model.to_geojson()
    model.fit(own(examples, BOXES["degrees"]), examples.labels)
    learned = geodp.learn(examples, seed=3)
    assert learned.release == model.release_
    assert model.to_geojson() == learned.to_geojson()
    assert model.to_geojson() == json.loads(learned_text(model.release_, examples.frame))
    assert model._repr_html_() == learned._repr_html_()
    assert model.to_geodataframe().equals(learned.to_geodataframe())


@pytest.mark.parametrize("where", BOXES)
def test_a_geodataframe_lies_in_the_system_of_the_bounds(shape: LearnedShape, where: str) -> None:
    learned = LearnedShape(shape.release, geodp.Frame(GRID, BOXES[where]))
    found = learned.to_geodataframe()
    assert found["layer"].tolist() == ["learned", "support"]
    assert found.crs.to_epsg() == (32633 if where == "metres" else 4326)
    assert found.geometry.is_valid.all()
    assert found.geometry[0].equals(learned.polygons)
    assert found.geometry[1].equals(learned.support)
    share = shape.release.shape().area / GRID**2
    size = np.prod(BOXES[where].size)
    assert learned.polygons.area / size == pytest.approx(share, rel=1e-9)
    assert geodp.learn(geodp.sample("L", 500, grid=GRID), seed=1).to_geodataframe().crs is None


@pytest.mark.parametrize("where", [*BOXES, "nowhere"])
def test_polygons_of_a_learner_lie_where_its_plot_does(examples: Examples, where: str) -> None:
    bounds = BOXES.get(where)
    model = geodp.QuadtreeLearner(grid=GRID, seed=1, bounds=bounds)
    model.fit(examples.points if bounds is None else own(examples, bounds), examples.labels)
    shape = model.release_.shape()
    assert shape.area > 100
    if bounds is None:
        assert model.polygons_.equals(shape)
        return
    moved = shapely.transform(shape, GridMap(GRID, bounds).to_own)
    if bounds.crosses:  # it is cut there
        east = shapely.box(180, -90, 190, 90)
        back = shapely.transform(moved & east, lambda xy: xy - (360, 0))
        moved = shapely.union(moved - east, back)
    assert model.polygons_.symmetric_difference(moved).area <= 1e-9 * moved.area
    assert model.polygons_.equals(model.placed().polygons)


@pytest.mark.parametrize("where", [*BOXES, "nowhere"])
def test_a_plot_holds_the_points_that_are_inside(shape: LearnedShape, where: str) -> None:
    bounds = BOXES.get(where)
    learned = LearnedShape(shape.release, geodp.Frame(GRID, bounds))
    _, axes = pyplot.subplots()
    assert learned.plot(axes, facecolor="red", label="here") is axes
    patch, hatched = axes.patches
    assert patch.get_label() == "here"
    assert patch.get_facecolor() == (1, 0, 0, 1)
    grid = np.random.default_rng(1).uniform(0, GRID, (500, 2))
    place = grid if bounds is None else GridMap(GRID, bounds).to_own(grid)
    for drawn, there in (
        (patch, shape.release.shape()),
        (hatched, shapely.box(0, 0, GRID, GRID) - shape.release.support.shape(GRID)),
    ):
        # rings of holes go the other way round: the winding number tells
        inside = shapely.contains_xy(there, grid)
        np.testing.assert_array_equal(drawn.get_path().contains_points(place), inside)
    low, high = ((0, 0), (GRID, GRID)) if bounds is None else (bounds.low, bounds.high)
    assert (axes.get_xlim(), axes.get_ylim()) == ((low[0], high[0]), (low[1], high[1]))
    # width over height of the picture, as of the ground
    ratio = (high[0] - low[0]) / (high[1] - low[1]) / axes.get_aspect()
    assert ratio == pytest.approx(1.0 if bounds is None else bounds.aspect)
    pyplot.close(axes.figure)


def test_a_notebook_shows_a_picture_and_the_statement(examples: Examples) -> None:
    private = geodp.learn(examples, epsilon=2.0)
    html = private._repr_html_()
    assert "(2, 1e-40)-differentially private" in html
    assert "<strong" not in html
    # the shape's colour: where too few reports lie is hatched beside it
    (path,) = re.findall(r'<path d="([^"]+)" fill="#009E73"', html)
    rings = [np.array(re.findall(r"[\d.]+", ring), float).reshape(-1, 2)
             for ring in path.split("Z")[:-1]]  # fmt: skip
    drawn = sum(shapely.Polygon(ring).area for ring in rings)  # the L has no holes
    width, height = (float(v) for v in re.findall(r'svg width="(\d+)" height="(\d+)"', html)[0])
    assert width / height == pytest.approx(examples.frame.bounds.aspect, rel=0.01)
    assert drawn / width / height == pytest.approx(private.release.shape().area / GRID**2, abs=0.02)
    lowest = max(ring[:, 1].max() for ring in rings)  # y goes down in pictures
    assert lowest / height == pytest.approx(1 - private.release.shape().bounds[1] / GRID, abs=0.02)


def test_what_is_not_private_says_so_in_a_notebook(examples: Examples) -> None:
    for model in (
        geodp.QuadtreeLearner(grid=GRID, seed=1),
        geodp.GreedyConvexLearner(grid=GRID, k=1, max_boxes=256),
    ):
        html = model.fit(examples.points, examples.labels)._repr_html_()
        assert re.search(r"<strong[^>]*>Not private: .* Do not publish", html)
    assert "grey: too few reports" in geodp.learn(examples, support=0.5)._repr_html_()


@pytest.mark.parametrize(
    "model",
    [
        geodp.ConvexPolytopeLearner(grid=2, k=1, reach=1, levels=2, seed=1),
        geodp.BallUnionLearner(grid=2, k=1, centres=3, levels=2, seed=1),
    ],
    ids=lambda model: type(model).__name__,
)
def test_a_body_in_space_is_told_without_a_picture(
    model: geodp.ConvexPolytopeLearner | geodp.BallUnionLearner,
) -> None:
    X = np.random.default_rng(1).integers(0, 3, (60, 3))
    html = model.fit(X, X[:, 0] > 0)._repr_html_()
    assert "Not private" in html
    assert "<svg" not in html
    assert model.placed().predict(X).tolist() == model.predict(X).tolist()
    with pytest.raises(ValueError, match="no shape in the plane"):
        model.to_geojson()


def test_a_picture_is_small_however_many_corners_there_are() -> None:
    examples = geodp.sample("italy", 30_000, grid=1024, seed=1)
    learned = geodp.learn(examples, "histogram", seed=1)
    assert len(json.dumps(learned.to_geojson())) > 60_000
    assert len(learned._repr_html_()) < 20_000


def test_a_missing_library_is_named(shape: LearnedShape, monkeypatch: pytest.MonkeyPatch) -> None:
    for module in ("geopandas", "matplotlib.pyplot"):
        monkeypatch.setitem(sys.modules, module, None)
    with pytest.raises(ImportError, match=r"geopandas: pip install 'geodp\[geo\]'"):
        shape.to_geodataframe()
    with pytest.raises(ImportError, match=r"matplotlib: pip install 'geodp\[plot\]'"):
        shape.plot()


# -- files -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("ending", ["geojson", "gpkg", "parquet"])
def test_what_is_saved_is_loaded(shape: LearnedShape, tmp_path: Path, ending: str) -> None:
    geodp.save(shape, tmp_path / f"h.{ending}")
    again = geodp.load(tmp_path / f"h.{ending}")
    assert again == shape
    assert "Not private" in repr(again)
    with pytest.raises(geodp.InputError, match="end the name in"):
        geodp.save(shape, tmp_path / "h.txt")
    geodp.save(shape, tmp_path / "h.fgb")
    with pytest.raises(geodp.InputError, match="polygons alone"):
        geodp.load(tmp_path / "h.fgb")


def test_a_clipped_shape_stays_within_the_map(shape: LearnedShape, tmp_path: Path) -> None:
    west = shapely.box(6, 36, 10, 48)
    (tmp_path / "west.geojson").write_text(shapely.to_geojson(west))
    clipped = shape.clip(tmp_path / "west.geojson")
    assert shape.polygons.area > clipped.polygons.area > 0
    assert clipped.polygons.difference(west.buffer(1e-9)).is_empty
    points = np.random.default_rng(1).uniform(BOX[:2], BOX[2:], (300, 2))
    grid = GridMap(GRID, BOXES["degrees"])
    there = grid.to_own(grid.to_grid(points))[:, 0] <= 10
    np.testing.assert_array_equal(clipped.predict(points), shape.predict(points) * there)
    assert clipped.to_geojson()["geodp"]["clipped_to"] == "west.geojson"
    geodp.save(clipped, tmp_path / "h.geojson")
    again = geodp.load(tmp_path / "h.geojson")
    np.testing.assert_array_equal(again.predict(points), clipped.predict(points))
    assert again.polygons.equals(clipped.polygons)


# -- comparing -------------------------------------------------------------------------------------


def test_a_comparison_is_a_table_that_says_what_it_cost(examples: Examples) -> None:
    rows = geodp.compare(examples, ["quadtree", "histogram"], epsilon=2)
    assert [row.name for row in rows] == ["quadtree", "histogram"]
    assert all(0 < row.error < 0.3 for row in rows)
    assert len(repr(rows[0])) < 400
    for shown in (repr(rows), rows._repr_html_()):
        assert "histogram" in shown
        assert "together spend epsilon = 4" in shown
        assert "private examples: for the curator" in shown
    again = geodp.compare(examples, ["quadtree"], test=examples, seed=1)
    assert again[0].tested == 4_000
    assert "Seeded" in repr(again)
    for wrong in ({"names": ["union"]}, {"names": ["discs"]}, {"holdout": 0.0}):
        with pytest.raises(geodp.InputError):
            geodp.compare(examples, **wrong)


def test_k_brings_the_learners_that_need_it() -> None:
    few = geodp.sample("L", 60, grid=8, seed=1)
    rows = geodp.compare(few, k=1, seed=1)
    names = ["tiles", "histogram", "quadtree", "cover", "greedy-cover"]
    assert [row.name for row in rows] == names
    assert [row.record()["k"] for row in rows] == [None, None, None, 1, 1]
    for one in (1.0, np.int64(1)):  # as every other whole number
        assert str(geodp.compare(few, ["greedy-cover"], k=one, seed=1)[0].record()["k"]) == "1"


def test_what_may_differ_is_asked_of_all_that_are_compared_or_rehearsed() -> None:
    few = geodp.sample("L", 60, grid=8, seed=1)
    rows = geodp.compare(few, ["tiles", "greedy-cover"], k=1, neighbours="replace-one", seed=1)
    assert [row.privacy and row.privacy.neighbours for row in rows] == ["replace-one", None]
    told = {"neighbours": "replace-one", "runs": 1, "grid": 8, "seed": 1}
    assert "--neighbours replace-one" in geodp.rehearse("L", 9, "tiles", **told)["command"][0]
    for wrong in (geodp.compare, lambda *given, **more: geodp.rehearse("L", 9, given[1], **more)):
        with pytest.raises(geodp.InputError, match="neighbours"):
            wrong(few, ["tiles"], neighbours="swap")


def test_a_comparison_is_a_tidy_data_frame(examples: Examples) -> None:
    rows = geodp.compare(examples, ["quadtree", "greedy-convex"], epsilon=2, k=1, seed=1)
    frame = rows.to_dataframe()
    assert list(frame["learner"]) == ["quadtree", "greedy-convex"]
    assert list(frame["private"]) == [False, False]  # seeded
    assert frame["epsilon"][0] == 2
    assert frame["epsilon"].isna().tolist() == frame["delta"].isna().tolist() == [False, True]
    for name in ("tested", "false_positives", "false_negatives", "seconds", "bytes", "vertices"):
        assert list(frame[name]) == [getattr(row, name) for row in rows]
        assert frame[name].dtype.kind in "if"
    wrong = frame["false_positives"] + frame["false_negatives"]
    assert np.allclose(frame["error"], wrong / frame["tested"])


def test_all_learners_are_names_of_geodp_and_those_of_the_plane_take_bounds() -> None:
    for learner in LEARNERS:
        found = getattr(geodp, learner.class_name)
        assert found is learner.load()
        in_plane = issubclass(found, Estimator) and found.dimensions == 2
        assert in_plane == ("bounds" in inspect.signature(found).parameters), learner.id
