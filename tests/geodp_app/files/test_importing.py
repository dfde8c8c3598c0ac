"""Files of examples with columns of any names: guesses, rows that do not fit, bounds of maps."""

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from assets import example_path, land_path
from geodp import Bounds, Frame, InputError
from geodp_app.files.document_files import bounds_of_map
from geodp_app.files.import_file import Columns, guess_columns
from geodp_app.files.import_rows import (
    MOST_LABELS,
    MOST_TOLD,
    CheckedRows,
    Meaning,
    check_rows,
    guess_labels,
    read_rows,
)
from geodp_app.files.points import open_import
from geometry.geojson import read_geojson
from learners.core.examples import normal

BOX = Bounds(10, 40, 20, 50)

Write = Callable[[str, object], Path]


def check(path: Path, meaning: Meaning, columns: Columns | None = None) -> CheckedRows:
    file = open_import(path)
    rows = read_rows(file, columns or guess_columns(file.columns, file.preview)[0])
    assert rows is not None
    return check_rows(rows, meaning)


def outcome(checked: CheckedRows) -> list[tuple[int, int | None, str, str]]:
    return [(each.row, each.line, each.column, each.reason) for each in checked.misfits]


# -- guesses ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("names", "places", "kind"),
    [
        ("x,y,label", (0, 1, 2), "grid"),
        ("Label, LAT, Lon", (2, 1, 0), "degrees"),
        ("longitude,latitude,flooded", (0, 1, 2), "degrees"),
        ("id,lng,lat,class,note", (1, 2, 3), "degrees"),
        ("long,lat,y", (0, 1, 2), "degrees"),
        ("Easting,Northing,inside,x", (0, 1, 2), "grid"),
        ("id,x,y,comment,colour", (1, 2, None), "grid"),
        ("id,x,y,burned", (1, 2, 3), "grid"),
        ("fid,lon,lat,easting,northing,time,burned", (1, 2, 6), "degrees"),
        ("a,b,label", (None, None, 2), "degrees"),
        ("a,b,c", (None, None, None), "degrees"),
    ],
)
def test_columns_are_guessed_from_their_names(names, places, kind):
    assert guess_columns(names.split(",")) == (Columns(*places), kind)


def test_a_column_of_yes_and_no_is_a_label_where_no_name_tells() -> None:
    names = ["id", "lon", "lat", "wet", "note"]
    rows = [["7", "1", "2", "yes", "a"], ["8", "1", "2", "No", "b"]]
    assert guess_columns(names, rows)[0] == Columns(1, 2, 3)
    both = [[*row[:4], "no"] for row in rows]
    assert guess_columns(names, both)[0].label is None  # two might be


@pytest.mark.parametrize(
    ("found", "pair"),
    [
        ([], ("1", "0")),
        (["0"], ("1", "0")),
        (["no", "yes"], ("yes", "no")),
        (["false", "true", "unknown"], ("true", "false")),
        (["-1", "1"], ("1", "-1")),
        (["1"], ("1", "0")),
        (["wet", "dry"], (None, None)),
        (["yes", "no", "1", "0"], (None, None)),
    ],
)
def test_labels_are_guessed_from_words_alone(found, pair):
    assert guess_labels(found) == pair


def test_what_makes_no_difference_between_labels() -> None:
    assert [normal(text) for text in (" Yes", "1.0", "+1", "00", "2.0", "nan", "")] == [
        "yes", "1", "1", "0", "2.0", "nan", "",
    ]  # fmt: skip


# -- files --------------------------------------------------------------------------------------


def test_points_of_a_map_are_rows_with_their_properties_as_columns(write: Write) -> None:
    def feature(geometry: object, **properties: object) -> object:
        return {"type": "Feature", "properties": properties, "geometry": geometry}

    def point(*at: object) -> object:
        return {"type": "Point", "coordinates": at}

    features = [
        feature(point(12.5, 45, 300.0), wet=True, street="A"),
        feature(point(15, 40), wet=False, depth=None),
        feature({"type": "LineString", "coordinates": [[1, 2], [3, 4]]}, wet=True),
        feature(None, wet=True),
        feature(point("x", 40), wet=False),
        feature(point(15, 40)),
    ]
    path = write("p.geojson", {"type": "FeatureCollection", "features": features})
    file = open_import(path)
    assert file.placed
    assert file.columns == ("longitude", "latitude", "wet", "street", "depth")
    assert guess_columns(file.columns, file.preview) == (Columns(0, 1, 2), "degrees")
    checked = check(path, Meaning("degrees", Frame(100, BOX), "true", "false"))
    assert checked.examples.points.tolist() == [[25, 50], [50, 0]]
    assert checked.examples.labels.tolist() == [1, 0]
    assert outcome(checked) == [
        (3, None, "longitude", "is a LineString, where a point was expected"),
        (4, None, "longitude", "is empty"),
        (5, None, "longitude", "'x' is not a number"),
        (6, None, "wet", "is empty"),
    ]


# -- rows that do not fit -----------------------------------------------------------------------

BAD = """# geodp {"grid": 8}
x,y,label
1,2,1

3,4,maybe
,4,0
1e0,5,0
1_0,5,0
2.5,5,1
9,0,0
0,-1,0
nan,1,0
inf,1,0
1,2
0,0,
8,8,0
"""


def test_rows_that_do_not_fit_are_told_by_row_line_column_and_reason(write: Write) -> None:
    checked = check(write("p.csv", BAD), Meaning("grid", Frame(8), "1", "0"))
    assert checked.examples.points.tolist() == [[1, 2], [1, 5], [8, 8]]
    assert checked.examples.labels.tolist() == [1, 0, 0]
    assert outcome(checked) == [
        (2, 5, "label", "'maybe' means neither inside nor outside"),
        (3, 6, "x", "is empty"),
        (5, 8, "x", "'1_0' is not a number"),
        (6, 9, "x", "2.5 is not a whole number"),
        (7, 10, "x", "9 is off the grid 0..8"),
        (8, 11, "y", "-1 is off the grid 0..8"),
        (9, 12, "x", "nan is not finite"),
        (10, 13, "x", "inf is not finite"),
        (11, 14, "", "has 2 fields, the header has 3"),
        (12, 15, "label", "is empty"),
    ]
    assert checked.dropped == 10


def test_of_many_misfits_the_first_are_told_and_all_are_counted(write: Write) -> None:
    n = 12_000  # some blocks
    rows = "".join(f"{i % 5},{i % 7},{'one' if i % 3 else f'other {i}'}\n" for i in range(n))
    path = write("p.csv", "x,y,label\n" + rows)
    file = open_import(path)
    shares: list[float] = []
    read = read_rows(file, Columns(0, 1, 2), tell=shares.append)
    assert len(read.labels) == MOST_LABELS
    assert shares == sorted(shares)
    assert shares[-1] == 1
    checked = check_rows(read, Meaning("grid", Frame(8), "one", None))
    assert (len(checked.examples.labels), checked.dropped) == (8_000, 4_000)
    assert len(checked.misfits) == MOST_TOLD
    assert read_rows(file, Columns(0, 1, 2), stop=lambda: True) is None


def test_the_first_misfits_have_their_reasons_whichever_column_holds_more(write: Write) -> None:
    """A block is read column by column: a hundred bad x, and only then the bad y before them."""
    rows = "1,bad,1\n1,2,\n" + "worse,2,1\n" * (2 * MOST_TOLD) + "3,4,1\n1,2\n"
    read = read_rows(open_import(write("p.csv", "x,y,label\n" + rows)), Columns(0, 1, 2))
    assert read is not None
    checked = check_rows(read, Meaning("grid", Frame(8), "1", None))
    assert (len(checked.examples.labels), checked.dropped) == (1, 2 * MOST_TOLD + 3)
    first, second, *others = checked.misfits
    assert (first.row, first.column, first.reason) == (1, "y", "'bad' is not a number")
    assert (second.row, second.column, second.reason) == (2, "label", "is empty")
    assert {(each.column, each.reason) for each in others} == {("x", "'worse' is not a number")}
    assert [each.row for each in checked.misfits] == list(range(1, MOST_TOLD + 1))


# -- bounds -------------------------------------------------------------------------------------


def test_bounds_come_from_a_map_file_as_stated_or_as_the_box_of_its_shapes(write: Write) -> None:
    croatia = example_path("croatia")
    assert bounds_of_map(croatia) == read_geojson(croatia).bounds
    ring = [[11, 41], [19, 42], [15, 48], [11, 41]]
    assert bounds_of_map(
        write("m.geojson", {"type": "Polygon", "coordinates": [ring]})
    ) == Bounds(11, 41, 19, 48)  # fmt: skip
    assert bounds_of_map(land_path()).north == pytest.approx(83.6)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ({"type": "Point", "coordinates": [11, 41]}, "bounds are taken from shapes only"),
        ({"type": "MultiPoint", "coordinates": [[1, 2], [3, 4]]}, "as points may be private"),
        ("[]", "must be a JSON object"),
    ],
)
def test_bounds_are_never_taken_from_points(write: Write, content: object, message: str) -> None:
    with pytest.raises(InputError, match=message):
        bounds_of_map(write("m.geojson", content))


def test_a_shape_that_lies_nowhere_has_no_bounds() -> None:
    with pytest.raises(InputError, match="lies nowhere on the globe"):
        bounds_of_map(example_path("star"))


def test_the_map_of_land_is_valid_and_no_outline_leaps_across_it() -> None:
    land = read_geojson(land_path()).geometry
    assert land.is_valid
    assert 0.25 < land.area / (360 * 180) < 0.4
    for part in land.geoms:
        xy = np.array(part.exterior.coords)
        leaps = np.abs(np.diff(xy, axis=0))[:, 0] > 61
        assert not leaps.any()
