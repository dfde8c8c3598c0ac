"""Examples as CSV: what is read, what is refused, and how the fault is named."""

import tracemalloc
from pathlib import Path
from unittest import mock

import numpy as np
import pytest
from hypothesis import example, given, settings, strategies as st

from geodp import Bounds, Examples, Frame, InputError
from geodp_app.files import csv_table
from geodp_app.files.import_file import guess_columns
from geodp_app.files.import_rows import Meaning, check_rows, read_rows
from geodp_app.files.points import (
    PointOptions,
    format_examples,
    open_import,
    read_examples,
    read_points,
)

BOX = Bounds(13.0, 42.0, 20.0, 47.0)
MARK = '# geodp {"grid": 1024, "bounds": [13.0, 42.0, 20.0, 47.0]}\n'


def random_examples(n: int, frame: Frame, seed: int = 0) -> Examples:
    rng = np.random.default_rng(seed)
    return Examples(rng.integers(0, frame.d + 1, (n, 2)), rng.integers(0, 2, n), frame)


@pytest.mark.parametrize("frame", [Frame(7), Frame(4096, BOX)])
def test_what_is_written_is_read_back_with_its_frame(write, frame):
    examples = random_examples(500, frame)
    back = read_examples(write("p.csv", format_examples(examples)))
    assert (back.points == examples.points).all()
    assert (back.labels == examples.labels).all()
    assert back.frame == frame
    assert back.points.dtype == back.labels.dtype == np.int64


@pytest.mark.parametrize(
    "text",
    [
        "x,y,label\n3,4,1\n5,6,0\n",
        "x,y,label\r\n3,4,1\r\n5,6,0\r\n",
        "x,y,label\r3,4,1\r5,6,0",
        "\ufeffx,y,label\n3,4,1\n5,6,0",
        "x,y,label\n3,4,1\n5,6,0\n\n\n",
        "x,y,label\n3,4,1\n5,6,0\n  \n \t\n",
        "x,y,label\n\n3,4,1\n\n5,6,0\n",
        "# made by hand\n\nx,y,label\n3,4,1\n5,6,0\n",
        " X , Y , Label \n 3 , 4 , 1 \n 5 , 6 , 0 \n",
        "x,y,label\n3.0,4.0,1.0\n5e0,+6,0\n",
        '"x","y","label"\n"3","4","1"\n"5","6","0"\n',
        "label,y,x\n1,4,3\n0,6,5\n",
        "id,x,y,label,name\n7,3,4,1,a\n8,5,6,0,b\n",
        'name,y,label,x\n"a, b",4,1,3\n"c ""d""",6,0,5\n\n',
    ],
)
def test_every_way_of_writing_the_same_two_examples(write, text):
    examples = read_examples(write("p.csv", text))
    assert examples.points.tolist() == [[3, 4], [5, 6]]
    assert examples.labels.tolist() == [1, 0]
    assert examples.frame == Frame(1024)


def test_arguments_come_before_the_file_before_the_fallback(write):
    plain, marked = (
        write("a.csv", "x,y,label\n3,4,1\n"),
        write("b.csv", MARK + "x,y,label\n3,4,1\n"),
    )
    other = Frame(64, Bounds(0, 0, 1, 1))
    assert read_examples(plain, fallback=other).frame == other
    assert read_points(plain, PointOptions(9, BOX), other).examples.frame == Frame(9, BOX)
    assert read_examples(marked, fallback=other).frame == Frame(1024, BOX)
    assert read_points(marked, PointOptions(1024, BOX)).examples.frame == Frame(1024, BOX)


@pytest.mark.parametrize(
    ("text", "frame"),
    [
        ("x,y,label\n", Frame(1024)),
        ("x,y,label", Frame(1024)),
        ("id,label,y,x\n\n \t\n", Frame(1024)),
        (MARK + "x,y,label\n", Frame(1024, BOX)),
        (MARK + "lon,lat,label\n\n", Frame(1024, BOX)),
    ],
)
@pytest.mark.filterwarnings("error")
def test_a_header_without_rows_is_a_sample_of_no_examples(write, text, frame):
    examples = read_examples(write("p.csv", text))
    assert examples.points.shape == (0, 2)
    assert examples.labels.shape == (0,)
    assert examples.points.dtype == examples.labels.dtype == np.int64
    assert examples.frame == frame
    again = read_examples(write("q.csv", format_examples(examples)))
    assert len(again.labels) == 0
    assert again.frame == frame


BAD_ROWS = [
    ("3,4,0.5", "column label: '0.5' means neither inside nor outside"),
    ("3,-Infinity,1", "column y: -Infinity is not finite"),
    ("1e999,4,1", "column x: 1e999 is not finite"),
    ("3.5,4,1", "column x: 3.5 is not a whole number: x,y are places on the grid"),
    ("3,1025,1", "column y: 1025 is off the grid 0..1024"),
    ("-1,4,1", "column x: -1 is off the grid 0..1024"),
    ("３,4,1", "column x: '３' is not a number"),
    ("3,4", "has 3 fields, the header has 4"),
    ("3,4,1,5", "has 5 fields, the header has 4"),
    ("# 3,4,1", "column x: '# 3' is not a number"),
    ('"3,4",4,1', "column x: '3,4' is not a number"),
]


@pytest.mark.parametrize(("row", "reason"), BAD_ROWS)
def test_a_bad_row_is_named(write, row, reason):
    """Beside a column that is not asked for."""
    path = write("p.csv", f"id,x,y,label\n7,1,2,1\n\n7,{row}\n7,5,6,0\n")
    with pytest.raises(InputError) as caught:
        read_examples(path)
    message = str(caught.value)
    assert message.startswith(f"{path}: row 2 (line 4)")
    assert reason in message
    assert "\n" not in message


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        ("", "the file is empty"),
        (" \n\n", "the file is empty"),
        ("# only a comment\n", "has no header"),
        ("x,y\n3,4\n", "missing column x, y or label"),
        ("lon,label\n3,4\n", "missing column x, y or label"),
        ("3,4,1\n", "line 1 holds numbers; put a line above it"),
        ("x,x,y,label\n1,1,2,1\n", "columns 'x' and 'x' have one name"),
        ("lon,lat,label\n3,4,1\n", "need public bounds"),
        ("x,y,label\n3,4,1\n5,\x006,0\n", "line 3 holds a NUL byte"),
        (b"x,y,label\n3,4,1\n\xff,6,0\n", "line 3 is not UTF-8"),
        ("# geodp {oops\nx,y,label\n3,4,1\n", "line 1: '# geodp' must be followed by a JSON"),
        ('x,y,label\n3,4,1\n1,2,"5 inches\n3,4,0\n', "line 3: a quote begins a cell and none ends"),
        (
            'x,y,label\n3,4,1\n1,2,"5" inches\n3,4,0\n',
            "line 3: a quote begins a cell and none ends",
        ),
        ('# geodp {"grid": 0}\nx,y,label\n3,4,1\n', "grid 0"),
        ('# geodp {"grid": 1048577}\nx,y,label\n3,4,1\n', "grid 1048577"),
        ('# geodp {"grid": true}\nx,y,label\n3,4,1\n', "grid True"),
        ('# geodp {"bounds": [5, 0, 1, 1]}\nx,y,label\n3,4,1\n', "bounds in its first line"),
        ('# geodp {"bounds": [1, 2]}\nx,y,label\n3,4,1\n', "bounds in its first line"),
    ],
)
def test_a_bad_file_is_named(write, content, reason):
    path = write("p.csv", content)
    with pytest.raises(InputError) as caught:
        read_examples(path)
    assert str(caught.value).startswith(f"{path}: ")
    assert reason in str(caught.value)


#: Cells as people write them, and some on which readers of CSV differ.
CELLS = st.one_of(
    st.sampled_from(
        [
            "1", "0", "12.5", "-0", "+1", " 3", "4 ", "\t5", "6\x0c", "7\x1c", "8\xa0", "9\u3000",
            "1e2", "1E-3", "5.", ".5", ".", "1_0", "0x10", "1d5", "1,5", "1,5,3", "1.5,2", "1e999",
            "-1e999", "1e-400", "nan", "NaN", "inf", "-Infinity", "1" * 40, "9007199254740993",
            "0.1000000000000000055511151231257827", "8.41e21", "2.2250738585072011e-308", "1" * 400,
            "\uff13", "\u0663", "\u2212" "1", "yes", "No", "true", "1.0", "T", "ja", "na\xefve",
            "\U0001f600", "", " ", "#", "# 1", "a b", "'1'", "1;2", "a|b", "POINT (1 2)",
        ]
    ),
    st.floats(allow_nan=False, allow_infinity=False).map(repr),
    st.integers(-(10**25), 10**25).map(str),
    st.text(" 0123456789.,+-eE_naif\t#x;\u0660", max_size=9),
)  # fmt: skip
#: The same in quotes, well and badly.
QUOTED = st.one_of(
    CELLS,
    CELLS.map(lambda cell: f'"{cell}"'),
    st.text('"\n\r, ;1a', max_size=6).map(lambda t: '"' + t.replace('"', '""') + '"'),
    CELLS.map(lambda cell: f' "{cell}"'),
    st.sampled_from(['"', '""', '"""', '""""', '5"', '"a"b', '"1" ', '" ""x"" "', 'a "b" c']),
)
HEADS = ["x,y,label", "label,who,x,y", "who,lon,lat,label,note", "wkt,label", "y,x,label,geom"]


@st.composite
def tables(draw: st.DrawFn) -> str:
    """A CSV text, well or badly formed."""
    head, sep = draw(st.sampled_from(HEADS)), draw(st.sampled_from(",;\t|"))
    width = head.count(",") + 1
    cells = draw(st.sampled_from([CELLS, QUOTED, st.sampled_from(["1", "2.5", "0", '"3"', "x"])]))
    rows = st.lists(cells, min_size=width, max_size=width).map(sep.join)
    odd = draw(st.booleans())
    ragged = st.lists(cells, max_size=width + 1).map(sep.join)
    lines = draw(st.lists(rows | ragged | st.sampled_from(["", " "]) if odd else rows, max_size=9))
    above = draw(st.sampled_from(["", "", "\ufeff", f"sep={sep}\n", '# geodp {"grid": 8}\n']))
    end = draw(st.sampled_from(["\n", "\n", "\r\n", "\r"]))
    text = (
        above + head.replace(",", sep) + "\n" + "\n".join(lines) + draw(st.sampled_from(["", "\n"]))
    )
    return text.replace("\n", end)


def all_told(path: Path, person: str | None) -> list[object]:
    """All that is read of a file, or why it is refused: by its columns, and as a command does."""
    told: list[object] = []
    try:
        file = open_import(path)
        told += [file.preview, [(cells, line) for cells, line, _ in file.rows]]
        columns, _ = guess_columns(file.columns)
        if columns.complete:
            who = file.columns.index(person) if person in file.columns else None
            rows = read_rows(file, columns, person=who)
            told += [rows.numbers.tobytes(), rows.numbers.shape, rows.codes.tolist(), rows.labels]
            told += [rows.shown, rows.lines.tolist(), rows.faults, rows.persons, rows.nobody]
        options = PointOptions(9, BOX, unusable="drop", person=person, out_of_bounds="drop")
        found = read_points(path, options)
        told += [found.examples.points.tolist(), found.examples.labels.tolist(), found.dropped]
    except InputError as error:
        told.append(str(error))
    return told


@settings(max_examples=250)
@given(tables(), st.sampled_from([None, "who", "label", "x"]), st.sampled_from([3, 20, 1 << 18]))
@example("who,lon,lat,label,note\na,14,43,1\na,14,43,1,b,c\n", None, 1 << 18)
@example('x,y,label,note\n1,2,1,"a\n""b"", c"\n\n3,,0,"d"\n', None, 20)
def test_many_rows_are_read_at_once_as_they_are_one_by_one(tmp_path_factory, text, person, part):
    path = tmp_path_factory.mktemp("rows") / "p.csv"
    path.write_bytes(text.encode())
    with (
        mock.patch.object(csv_table, "PART", part),
        mock.patch.object(csv_table, "LONGEST_PART", 4 * part),
    ):
        at_once = all_told(path, person)
    one_by_one = lambda text, start, end, delimiter: [(start, end, None)]  # noqa: E731
    with mock.patch.object(csv_table, "plain_parts", one_by_one):
        assert at_once == all_told(path, person)


def test_equal_numbers_are_one_label_whatever_other_rows_hold(write):
    """Of a label that is chosen by hand, too: what a row becomes depends on that row alone."""
    for others in ("", "5,6,2.5\n", "5,6,wet\n", '5,6,"2"\n', "5,6\n"):
        file = open_import(write("p.csv", "x,y,label\n1,2,2\n3,4,2.0\n" + others))
        rows = read_rows(file, guess_columns(file.columns)[0])
        checked = check_rows(rows, Meaning("grid", Frame(8), "2", None))
        assert checked.rows[:2].tolist() == [0, 1]


def test_quotes_behind_a_space_are_those_of_the_text(write):
    file = open_import(write("p.csv", 'x,y,label\n1,2, "say ""yes"""\n'))
    assert read_rows(file, guess_columns(file.columns)[0]).shown == ('say "yes"',)


def test_a_row_of_another_length_is_left_out_and_names_nobody(write):
    path = write("p.csv", "who,x,y,label\na,1,2,1\nb,3,4\n")
    found = read_points(path, PointOptions(8, person="who", unusable="drop"))
    assert (found.examples.labels.tolist(), found.dropped) == ([1], 1)


@pytest.mark.parametrize("end", ["", "\n", "\n\n  \n"])
@pytest.mark.parametrize(("between", "who"), [(",", "a "), (",", "a\u00a0"), ("\t", "")])
def test_the_last_row_is_read_as_one_before_others(write, between, who, end):
    head, other, row = (
        between.join(cells) for cells in (["x", "y", "label", "who"], "121a", ["3", "4", "0", who])
    )
    for text in (f"{head}\n{other}\n{row}{end}", f"{head}\n{row}\n{other}\n"):
        file = open_import(write("p.csv", text))
        read = read_rows(file, guess_columns(file.columns)[0], person=3)
        assert set(read.persons) == {"a", who}
        assert not read.faults


def test_two_frames_at_odds_are_refused(write):
    path = write("p.csv", MARK + "x,y,label\n3,4,1\n")
    with pytest.raises(InputError, match="says grid 1024, --grid says 512"):
        read_points(path, PointOptions(512))
    with pytest.raises(InputError, match="says bounds"):
        read_points(path, PointOptions(bounds=Bounds(0, 0, 1, 1)))


@pytest.mark.parametrize("rows", [100_000, pytest.param(1_000_000, marks=pytest.mark.slow)])
def test_rows_fit_in_little_memory(write, rows):
    examples = random_examples(rows, Frame(1024))
    path = write("p.csv", format_examples(examples))
    tracemalloc.start()
    back = read_examples(path)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert (back.points == examples.points).all()
    assert peak < 200 * rows
