"""Dual lines as segments, their density, marks and shading, against exact arithmetic."""

from fractions import Fraction
from itertools import product

import numpy as np
import pytest
import shapely
from hypothesis import given, settings, strategies as st

from geodp_app.dual.lines import (
    MOST_DRAWN,
    SOME_DRAWN,
    ExampleLines,
    Raster,
    count_lines,
    cut,
    distances,
    distinct_lines,
    draw_lines,
    ends,
    example_segment,
    held,
    ordinal,
    raster_over,
)
from geodp_app.dual.scene import (
    boxes_on,
    chosen_marks,
    hover_words,
    nearest_mark,
    neighbourhood,
    newest_mark,
    reading_words,
    region_in,
    shading_words,
)
from geodp_app.dual.sheets import (
    Scale,
    SheetValues,
    boundary_ends,
    colours,
    density_scale,
    dual_position,
    equation_words,
    nearest_halfplane,
    region,
    shade_scale,
    shade_values,
    to_the_border,
)
from geodp_app.runs.protocol import ShadedCell, ShadedSheet, Window, extent
from geometry.halfplane import HalfplaneLattice, Sheet, dual_line
from learners.core.selection import HeavyBox

LATTICES = [
    HalfplaneLattice(1, "chord", 1),
    HalfplaneLattice(5, "chord", 2),
    HalfplaneLattice(1024),
    HalfplaneLattice(3, "paper", 0),
    HalfplaneLattice(7, "paper", 3),
]
PAIRS = [(lattice, sheet) for lattice in LATTICES for sheet in lattice.sheets]


def some_examples(lattice: HalfplaneLattice, n: int = 60) -> np.ndarray:
    """Corners, edges and other points of the grid."""
    d = lattice.d
    corners = list(product((0, d // 2, d), repeat=2))
    inner = np.random.default_rng(1).integers(0, d + 1, size=(n, 2))
    return np.vstack([corners, inner]).astype(np.int64)


def on_line(
    lattice: HalfplaneLattice, sheet: Sheet, example: np.ndarray, u: float, v: float
) -> float:
    """How far (u, v), in grid units, is off the dual line, exactly, in grid steps of height."""
    a, b, c = dual_line(lattice, sheet, (int(example[0]), int(example[1])))
    unit = 1 << lattice.bits
    off = a * Fraction(u) * unit + b * Fraction(v) * unit - c
    return float(abs(off) / ((a + b) * unit))


@pytest.mark.parametrize(("lattice", "sheet"), PAIRS, ids=str)
def test_segments_end_on_the_dual_line_and_on_the_border_of_the_region(lattice, sheet):
    """Chord ends are integers and exact; the whole line within the region is one segment."""
    border = region(lattice).exterior
    for example in some_examples(lattice):
        found = example_segment(lattice, sheet, *example.tolist(), extent(lattice))
        assert found.shape == (2, 2)
        for u, v in found.tolist():
            off = on_line(lattice, sheet, example, u, v)
            assert off == 0 if lattice.measure == "chord" else off < 1e-9
            assert border.distance(shapely.Point(u, v)) < 1e-9
            if lattice.measure == "chord":
                assert lattice.admits(int(u) << lattice.bits, int(v) << lattice.bits)
        a, b, c = dual_line(lattice, sheet, tuple(example.tolist()))
        whole = region(lattice).intersection(
            shapely.LineString(far_ends(a, b, c / (1 << lattice.bits), extent(lattice)))
        )
        assert whole.length == pytest.approx(float(np.hypot(*(found[1] - found[0]))), rel=1e-9)


def far_ends(a: int, b: int, c: float, around: Window) -> list[tuple[float, float]]:
    """Two points of the line a*u + b*v = c outside a window."""
    foot = np.array([a, b]) * c / (a * a + b * b)
    along = np.array([-b, a]) / np.hypot(a, b) * 3 * (around.width + around.height)
    return [tuple(foot - along), tuple(foot + along)]


@settings(max_examples=60, deadline=None)
@given(
    pair=st.sampled_from(PAIRS),
    place=st.tuples(st.floats(0, 1), st.floats(0, 1)),
    log_size=st.floats(-6, 0),
)
def test_a_window_shows_the_lines_that_cross_it_and_only_within(pair, place, log_size):
    """A line of falling slope crosses a box iff its corners lie on different sides."""
    lattice, sheet = pair
    whole = extent(lattice)
    size = whole.width * 10**log_size
    u0, v0 = (whole.u0 + p * (whole.width - size) for p in place)
    window = Window(u0, u0 + size, v0, v0 + size)
    points = some_examples(lattice)
    lines = distinct_lines(points, np.ones(len(points)))
    t, s = lines.on(sheet)
    segments = cut(lattice, t, s, window)
    corners = ends(lattice, t, s, segments)
    slack = 1e-9 * whole.width
    assert (corners[:, 0] >= window.u0 - slack).all()
    assert (corners[:, 0] <= window.u1 + slack).all()
    assert (corners[:, 1] >= window.v0 - slack).all()
    assert (corners[:, 1] <= window.v1 + slack).all()
    shown = set(segments.index.tolist())
    box = shapely.box(window.u0, window.v0, window.u1, window.v1)
    for i in range(len(lines)):
        part = shapely.LineString(
            example_segment(lattice, sheet, int(lines.x[i]), int(lines.y[i]), whole)
        )
        if part.distance(box) > slack:
            assert i not in shown
        elif part.intersection(box.buffer(-slack)).length > 0:
            assert i in shown


def brute_density(
    lattice: HalfplaneLattice, t: np.ndarray, s: np.ndarray, weights: np.ndarray, raster: Raster
) -> np.ndarray:
    """Count lines between the lower left and upper right corners, one by one, in integers."""
    counts = np.zeros((raster.columns, raster.rows), dtype=np.int64)
    for i, j in product(range(raster.columns), range(raster.rows)):
        u, v = raster.u0 + i * raster.width, raster.v0 + j * raster.height
        for x, y, weight in zip(t.tolist(), s.tolist(), weights.tolist(), strict=True):
            a, b, c = dual_line(lattice, Sheet.FLAT_ABOVE, (x, y))
            below = a * u + b * v - c
            above = a * (u + raster.width) + b * (v + raster.height) - c
            counts[i, j] += weight * (below < 0 <= above)
    return counts


@pytest.mark.parametrize("lattice", LATTICES, ids=str)
@pytest.mark.parametrize("cells", [1, 4, 9])
def test_density_is_exact(lattice: HalfplaneLattice, cells: int) -> None:
    """Against brute force, over the whole sheet and over a part of it."""
    points = some_examples(lattice, 12)
    lines = distinct_lines(points, np.arange(len(points)) % 2)
    t, s = lines.on(Sheet.FLAT_ABOVE)
    whole, size = extent(lattice), extent(lattice).width
    part = Window(whole.u0 + size / 5, whole.u0 + size / 2, whole.v0 + size / 3, whole.v1)
    for window in (whole, part):
        raster = raster_over(lattice, window, cells)
        density = count_lines(lattice, t, s, lines.counts, raster)
        expected = brute_density(lattice, t, s, lines.counts, raster)
        if lattice.measure == "chord":  # cells wholly outside the region are not counted
            cell = Window(0, raster.width, 0, raster.height)
            for i, j in product(range(raster.columns), range(raster.rows)):
                gap = abs(raster.v0 - raster.u0 + (j - i) * cell.width)
                if gap > (lattice.d << lattice.bits) + raster.width:
                    expected[i, j] = 0
        assert (density.counts == expected).all()
        assert density.counts.sum() > 0
        assert density.window.u0 <= window.u0
        assert density.window.v1 >= window.v1


def test_a_raster_is_never_finer_than_the_lattice() -> None:
    lattice = HalfplaneLattice(8, "chord", 1)
    raster = raster_over(lattice, Window(1.0, 2.0, 1.0, 2.0), 256)
    assert (raster.columns, raster.rows, raster.width) == (2, 2, 1)


def test_counting_stops_when_told() -> None:
    lattice = HalfplaneLattice(16)
    one = np.array([3])
    raster = raster_over(lattice, extent(lattice))
    assert count_lines(lattice, one, one, None, raster, lambda: True) is None


def test_distinct_lines_keep_every_example_and_its_label() -> None:
    points = np.array([[1, 2], [1, 2], [1, 2], [0, 0], [5, 0]])
    lines = distinct_lines(points, np.array([1, 1, 0, 0, 1]), np.array([1, 1, 1, 1, 0], bool))
    columns = (lines.x, lines.y, lines.positive, lines.counts)
    found = set(zip(*(column.tolist() for column in columns), strict=True))
    assert found == {(1, 2, True, 2), (1, 2, False, 1), (0, 0, False, 1)}
    assert len(distinct_lines(points[:0], np.empty(0))) == 0


def test_halfplanes_hold_the_examples_whose_lines_pass_over_or_under() -> None:
    """The caption's rule, and exact counts, for every sheet."""
    lattice = HalfplaneLattice(9)
    points = some_examples(lattice)
    labels = np.arange(len(points)) % 3 == 0
    lines = distinct_lines(points, labels)
    for sheet in lattice.sheets:
        halfplane = lattice.halfplane(sheet, 3 << lattice.bits, 5 << lattice.bits)
        inside = halfplane.contains(points)
        assert held(lines, halfplane) == (
            int((inside & labels).sum()),
            int((inside & ~labels).sum()),
        )
        for point, holds in zip(points, inside, strict=True):
            a, b, c = dual_line(lattice, sheet, tuple(point.tolist()))
            over = a * halfplane.u + b * halfplane.v <= c
            under = a * halfplane.u + b * halfplane.v >= c
            assert holds == (over if sheet.upper else under)


def many(n: int, d: int = 1024) -> ExampleLines:
    """So many distinct examples, one in three positive."""
    places = np.random.default_rng(2).choice((d + 1) ** 2, n, replace=False)
    points = np.column_stack([places // (d + 1), places % (d + 1)])
    return distinct_lines(points, np.arange(n) % 3 == 0)


@pytest.mark.parametrize(
    ("n", "drawn", "note"),
    [
        (0, 0, "no line here"),
        (1, 1, "1 line"),
        (MOST_DRAWN, MOST_DRAWN, "2,000 lines"),
        (9_001, 1_800, "every 5th of 9,001 lines shown"),
        (20_001, SOME_DRAWN, "20,001 lines, 250 of them drawn"),
    ],
)
def test_few_lines_are_drawn_more_are_thinned_many_are_counted(n, drawn, note):
    lattice = HalfplaneLattice(1024)
    picture = draw_lines(lattice, Sheet.STEEP_LEFT, many(n), extent(lattice))
    assert len(picture.positive) + len(picture.negative) == 2 * drawn
    assert picture.note == note
    assert (picture.density is not None) == (drawn == SOME_DRAWN)


def test_zooming_turns_a_density_into_lines_of_both_kinds() -> None:
    lattice, lines = HalfplaneLattice(1024), many(50_000)
    window = Window(300.0, 301.0, 400.0, 401.0)
    picture = draw_lines(lattice, Sheet.FLAT_ABOVE, lines, window)
    assert picture.density is None
    assert len(picture.positive) > 0
    assert len(picture.negative) > 0
    only = draw_lines(lattice, Sheet.FLAT_ABOVE, lines, window, shown=(True, False))
    assert (only.positive == picture.positive).all()
    assert len(only.negative) == 0


def test_ordinals() -> None:
    assert [ordinal(n) for n in (1, 2, 3, 4, 11, 12, 13, 21, 22, 113)] == [
        *("1st", "2nd", "3rd", "4th", "11th", "12th", "13th", "21st", "22nd", "113th")
    ]


@pytest.mark.parametrize("lattice", LATTICES, ids=str)
def test_the_drawn_region_is_the_admitted_one(lattice: HalfplaneLattice) -> None:
    shape, whole, unit = region(lattice), extent(lattice), 1 << lattice.bits
    rng = np.random.default_rng(3)
    for u, v in rng.uniform(whole.u0, whole.u1, size=(300, 2)):
        point = round(u * unit), round(v * unit)
        assert shape.covers(shapely.Point(point[0] / unit, point[1] / unit)) == lattice.admits(
            *point
        )
    inside, outside = region_in(lattice, whole)
    assert inside.area + outside.area == pytest.approx(whole.width * whole.height)
    assert inside.area == pytest.approx(shape.area)


@settings(max_examples=100, deadline=None)
@given(data=st.data(), pair=st.sampled_from(PAIRS))
def test_a_halfplane_is_found_again_at_its_dual_point(data, pair):
    """Dual point to halfplane and back, also a little off and on the border of the region."""
    lattice, sheet = pair
    span = st.integers(lattice.low, lattice.high)
    u, v = data.draw(st.tuples(span, span).filter(lambda p: lattice.admits(*p)))
    halfplane = lattice.halfplane(sheet, u, v)
    x, y = dual_position(halfplane)
    step = 0.2 / (1 << lattice.bits)
    assert nearest_halfplane(lattice, sheet, x, y) == halfplane
    assert nearest_halfplane(lattice, sheet, x + step, y - step) == halfplane
    assert nearest_halfplane(lattice, sheet, x, 1e9) is None


def test_equations_name_the_points_where_the_boundary_meets_the_edges() -> None:
    lattice = HalfplaneLattice(1024)
    unit = 1 << lattice.bits
    u, v = 312 * unit + unit * 2 // 5, 77 * unit
    words = [equation_words(lattice.halfplane(sheet, u, v)) for sheet in lattice.sheets]
    assert words == [
        "y ≥ line from (0, 312.4) to (1024, 77.0)",
        "y ≤ line from (0, 312.4) to (1024, 77.0)",
        "x ≥ line from (312.4, 0) to (77.0, 1024)",
        "x ≤ line from (312.4, 0) to (77.0, 1024)",
    ]
    paper = HalfplaneLattice(10, "paper")
    halfplane = paper.halfplane(Sheet.FLAT_BELOW, 3 << paper.bits, -(2 << paper.bits))
    assert boundary_ends(halfplane) == (3.0, -17.0)
    assert "(10, −17.0)" in hover_words(halfplane, 1)


def test_marks_are_numbered_and_age() -> None:
    lattice = HalfplaneLattice(64)
    unit = 1 << lattice.bits
    first = tuple(lattice.halfplane(Sheet(i), 5 * unit, 9 * unit) for i in (0, 1, 2))
    second = tuple(lattice.halfplane(Sheet(0), i * unit, 9 * unit) for i in (1, 2, 3))
    marks = chosen_marks((first, second))
    assert [(m.step, m.age) for m in marks] == [(1, 1)] * 3 + [(2, 0)] * 3
    assert [m.text for m in marks] == ["1"] * 3 + ["2, edge 1", "2, edge 2", "2, edge 3"]
    assert chosen_marks(()) == ()
    newest = newest_mark(marks, Sheet.FLAT_ABOVE, edge=1)
    assert (newest.step, newest.edge, newest.u) == (2, 1, 2.0)
    older = newest_mark(marks, Sheet.STEEP_RIGHT)
    assert older.step == 1
    assert newest_mark(marks, Sheet.STEEP_LEFT) is None


def test_the_nearest_mark_is_hit_and_of_two_at_one_place_the_newer() -> None:
    lattice = HalfplaneLattice(64)
    piece = (lattice.halfplane(Sheet(0), 5, 9),)
    marks = chosen_marks((piece, piece))
    pixels = np.array([[10.0, 10.0], [10.0, 10.0]])
    hit = nearest_mark(marks, pixels, (12, 11), 5)
    assert hit.step == 2
    assert nearest_mark(marks, pixels, (30, 11), 5) is None
    assert nearest_mark((), np.empty((0, 2)), (0, 0), 5) is None


@pytest.mark.parametrize("measure", ["chord", "paper"])
def test_a_neighbourhood_shows_some_sixty_lines(measure: str) -> None:
    lattice = HalfplaneLattice(1024, measure)  # type: ignore[arg-type]
    lines = many(20_000)
    at = 400 << lattice.bits, (500 if measure == "chord" else 1) << lattice.bits
    mark = chosen_marks(((lattice.halfplane(Sheet(0), *at),),))[0]
    window = neighbourhood(lattice, mark, lines)
    shown = len(cut(lattice, *lines.on(mark.sheet), window).index)
    assert 50 <= shown <= 70
    gaps = distances(lattice, *lines.on(mark.sheet), mark.u, mark.v)
    assert int((gaps <= window.width / 2).sum()) == pytest.approx(shown, abs=3)


def test_without_examples_a_neighbourhood_depends_on_the_mark_alone() -> None:
    lattice = HalfplaneLattice(1024)
    mark = chosen_marks(((lattice.halfplane(Sheet(0), 1, 2),),))[0]
    window = neighbourhood(lattice, mark, None)
    assert window.width == pytest.approx(extent(lattice).width / 16)


def test_boxes_are_sorted_to_their_sheets_the_heaviest_strongest() -> None:
    light = HeavyBox((0, 2), ((0, 8, 0, 8), (16, 24, 16, 24)), 0.1)
    heavy = HeavyBox((0, 0), ((32, 40, 32, 40), (48, 56, 48, 56)), 0.4)
    found = boxes_on((heavy, light), Sheet.FLAT_ABOVE, 8)
    assert [rectangle[0] for rectangle, _ in found] == [0, 4, 6]
    assert found[0][1] < found[1][1] == 1.0
    assert len(boxes_on((heavy, light), Sheet.STEEP_RIGHT, 8)) == 1
    assert boxes_on((), Sheet.FLAT_ABOVE, 8) == ()


def shaded_cells() -> ShadedSheet:
    """Two triangles that fill a square."""
    lower = ShadedCell(np.array([[0.0, 0], [4, 0], [4, 4]]), -3.0, 0.9)
    upper = ShadedCell(np.array([[0.0, 0], [4, 4], [0, 4]]), -7.0, 0.1)
    edge = ShadedCell(np.array([[0.0, 0], [4, 0]]), -1.0, 0.0)
    return ShadedSheet(0, (edge, lower, upper), None, Window(0.0, 4.0, 0.0, 4.0))


def test_shading_tells_the_value_under_a_point() -> None:
    cells = shaded_cells()
    lookup = SheetValues(cells, shade_values(cells, "probability"))
    assert lookup.at(3.0, 1.0) == 0.9
    assert lookup.at(1.0, 3.0) == 0.1
    assert lookup.at(5.0, 1.0) is None
    scores = np.array([[-4.0, np.nan], [-2.0, 0.0]])
    raster = ShadedSheet(1, (), scores, Window(0.0, 4.0, 0.0, 4.0))
    lookup = SheetValues(raster, shade_values(raster, "score"))
    assert lookup.at(3.0, 1.0) == -2.0
    assert lookup.at(1.0, 3.0) is None
    assert lookup.at(-0.1, 3.0) is None


def test_scales_hold_their_values_and_colours_are_clear_where_nothing_is_known() -> None:
    raster = ShadedSheet(1, (), np.array([[-4.0, np.nan], [-2.0, 0.0]]), Window(0.0, 4.0, 0.0, 4.0))
    scale = shade_scale((raster,), "score")
    assert (scale.low, scale.high) == (-4.0, 0.0)
    grey = np.repeat(np.arange(255, -1, -1, dtype=np.uint8)[:, None], 3, axis=1)
    shades = colours(scale, shade_values(raster, "score"), grey)
    assert shades.shape == (2, 2, 4)
    assert shades[0, 1, 3] == 0
    assert (shades[..., 3] > 0).sum() == 3
    assert [shades[i, j, 0] for i, j in ((0, 0), (1, 0), (1, 1))] == [255, 127, 0]
    likely = shade_scale((raster,), "probability", nats=0.5)
    assert likely.high == 1.0
    assert shade_scale((raster,), "probability") is None
    assert shade_scale((raster,), "off") is None
    assert shade_scale((), "score") is None


def test_ticks_lie_within_the_bar() -> None:
    for scale in (
        Scale(-37_000.0, 0.0, False, False, "score in examples"),
        Scale(1e-5, 0.2, True, True, "probability of the cell"),
        Scale(0.0, 2.0, False, False, "lines per cell"),
        density_scale(np.array([0, 3, 900])),
        density_scale(np.array([1] * 50 + [90_000])),
    ):
        ticks = scale.ticks()
        assert 2 <= len(ticks) <= 7
        assert all(0 <= place <= 1 for place, _ in ticks)
        assert len({text for _, text in ticks}) == len(ticks)


def test_captions_say_what_is_asked() -> None:
    assert "with edge 2 elsewhere, the others fixed" in shading_words("score", 1, 3)
    assert "with edge 2 elsewhere, the other fixed" in shading_words("score", 1, 2)
    assert "edge" not in shading_words("score", 0, 1)
    assert "edge 3" in shading_words("probability", 2, 3)
    assert "Right" in reading_words(HalfplaneLattice(4))
    assert "Right" not in reading_words(HalfplaneLattice(4, "paper"))


def test_a_raster_reaches_under_its_border_and_stays_as_it_is_inside() -> None:
    rng = np.random.default_rng(5)
    raster = rng.normal(size=(12, 9))
    unknown = rng.random((12, 9)) < 0.4
    raster[unknown] = np.nan
    drawn = to_the_border(raster)
    for i, j in np.ndindex(raster.shape):
        around = raster[max(0, i - 1) : i + 2, max(0, j - 1) : j + 2]
        known = around[np.isfinite(around)]
        if np.isfinite(raster[i, j]):
            assert drawn[i, j] == raster[i, j]
        elif len(known):
            assert drawn[i, j] == known.max()
        else:
            assert np.isnan(drawn[i, j])
    assert np.isfinite(drawn[unknown]).any()
