"""Answers about the dual plane against enumerated laws and counts made one by one."""

import math
from collections import Counter
from dataclasses import replace

import numpy as np
import pytest
import shapely
from arrangement_laws import arrangement_law
from counted import counted, of_rows
from hypothesis import given, settings, strategies as st
from signatures import signature

from geodp_app.document.document import Document
from geodp_app.document.work import Work
from geodp_app.drawing.shapes import Drawing, Shape
from geodp_app.runs.edge_law import shade
from geodp_app.runs.protocol import ShadedSheet, ShadeQuestion, Window
from geodp_app.runs.score_raster import pixel_centres
from geometry.halfplane import Halfplane, HalfplaneLattice, Sheet
from learners.core.records import inside_piece
from learners.core.selection import Score, mistakes_score, set_cover_score
from learners.cover.arrangement_selection import ArrangementSelection


def question(
    d: int,
    n: int,
    seed: int,
    *,
    measure: str = "chord",
    role: str = "disjunction",
    threshold: int | None = 3,
    k: int = 2,
    rate: float = 0.8,
    others: tuple[Halfplane, ...] = (),
) -> ShadeQuestion:
    rng = np.random.default_rng(seed)
    points = rng.integers(0, d + 1, (n, 2))
    if n > 2:
        points[-1] = points[0]
    labels = (points.sum(axis=1) < d) ^ (rng.random(n) < 0.15)
    lattice = HalfplaneLattice(d, measure)  # type: ignore[arg-type]
    score = score_of(role, k, threshold, labels)
    return ShadeQuestion(points, labels, lattice, score, rate, others, 12)


def score_of(role: str, k: int, threshold: int | None, labels: np.ndarray) -> Score:
    """A set cover's score; without a threshold, gain less loss."""
    positives, negatives = int(labels.sum()), int((~labels).sum())
    if threshold is not None:
        return set_cover_score(role, k, threshold, positives, negatives)  # type: ignore[arg-type]
    if role == "disjunction":
        return Score(k, 0, 0, total=True)
    return Score(k, -k * positives, k * negatives, total=True)


def wedge(lattice: HalfplaneLattice) -> tuple[Halfplane, Halfplane]:
    """x >= d/5 and a slanted upper boundary: most of the square."""
    unit, d = 1 << lattice.bits, lattice.d
    if lattice.measure == "paper":
        upper = lattice.halfplane(Sheet.FLAT_BELOW, d * unit, -unit // 3)
        return lattice.halfplane(Sheet.FLAT_ABOVE, d * unit // 5, 0), upper
    upper = lattice.halfplane(Sheet.FLAT_BELOW, d * unit, d * unit // 2)
    return lattice.halfplane(Sheet.STEEP_RIGHT, d * unit // 5, d * unit // 5), upper


def score_by_hand(
    q: ShadeQuestion,
    piece: tuple[Halfplane, ...],
    threshold: int | None = 3,
    role: str = "disjunction",
) -> float:
    """The score, in examples, from the definition of gains and losses."""
    inside = inside_piece(piece, q.points)
    decided = inside if role == "disjunction" else ~inside
    gain_label = role == "disjunction"
    gain = int(np.count_nonzero(decided & (q.labels == gain_label)))
    loss = int(np.count_nonzero(decided & (q.labels != gain_label)))
    return gain - loss if threshold is None else min(gain - threshold / q.score.k, -loss)


def centres_of(lattice: HalfplaneLattice, resolution: int) -> np.ndarray:
    """Pixel centres of a whole square."""
    unit = 1 << lattice.bits
    return pixel_centres(lattice, lattice.low / unit, lattice.high / unit, resolution)


def cells_of(sheets: tuple[ShadedSheet, ...]) -> list[tuple[int, shapely.Polygon, float, float]]:
    return [
        (sheet.sheet, shapely.Polygon(cell.outline), cell.score, cell.probability)
        for sheet in sheets
        for cell in sheet.cells
    ]


@pytest.mark.parametrize("role", ["disjunction", "conjunction"])
@pytest.mark.parametrize("measure", ["chord", "paper"])
def test_cells_have_the_law_of_the_arrangement_selection(measure: str, role: str) -> None:
    q = question(8, 12, 8, measure=measure, role=role)
    selection = ArrangementSelection(q.lattice, "halfplane")
    law: Counter[tuple[bool, ...]] = Counter()
    values = {}
    counts = counted(q.points, q.labels, q.lattice.d)
    for outcome in arrangement_law(selection, counts, q.score, q.rate):
        inside = of_rows(outcome.inside, counts, q.points)
        law[inside] += outcome.probability
        values[inside] = outcome.value / q.score.k
    drawn: Counter[tuple[bool, ...]] = Counter()
    for sheet, polygon, cell_score, probability in cells_of(shade(q)):
        point = polygon.representative_point()
        inside = signature(q, sheet, point.x, point.y)
        drawn[inside] += probability
        if inside in values:
            assert cell_score == values[inside]
    assert len(drawn) > 30
    # cells of the border alone are not drawn; they hold a few lattice points of 2**40
    assert sum(drawn.values()) == pytest.approx(1.0, abs=1e-5)
    for inside, probability in law.items():
        assert drawn[inside] == pytest.approx(probability, abs=1e-5)


@pytest.mark.parametrize("measure", ["chord", "paper"])
@pytest.mark.parametrize("threshold", [4, None])
def test_with_two_edges_held_cells_weigh_area_times_exponential(measure, threshold):
    """The base measure is a product and the lattice is fine, so areas stand for counts."""
    lattice = HalfplaneLattice(16, measure)  # type: ignore[arg-type]
    others = wedge(lattice)
    q = question(16, 25, 3, measure=measure, threshold=threshold, rate=0.3, others=others)
    cells = cells_of(shade(q))
    weights = [
        polygon.area * math.exp(q.rate * q.score.k * cell_score)
        for _, polygon, cell_score, _ in cells
    ]
    total = sum(weights)
    for (sheet, polygon, cell_score, probability), weight in zip(cells, weights, strict=True):
        assert probability == pytest.approx(weight / total, rel=1e-3, abs=1e-7)
        point = polygon.representative_point()
        unit = 1 << lattice.bits
        moving = Halfplane(lattice, Sheet(sheet), round(point.x * unit), round(point.y * unit))
        if polygon.area > 1e-6:
            assert cell_score == score_by_hand(q, (moving, *others), threshold)
    assert len(cells) > 20


@settings(max_examples=25, deadline=None)
@given(st.integers(2, 24), st.integers(0, 14), st.integers(0, 10**6))
def test_cells_tile_the_region_and_none_is_cut_along_the_diagonal(d, n, seed):
    for sheet in shade(question(d, n, seed)):
        polygons = [shapely.Polygon(cell.outline) for cell in sheet.cells]
        assert all(polygon.is_valid for polygon in polygons)
        assert sum(polygon.area for polygon in polygons) == pytest.approx(3 * d * d)
        for cell in sheet.cells:
            on = np.isclose(cell.outline[:, 0], cell.outline[:, 1], rtol=0, atol=1e-12)
            edges = on & np.roll(on, -1)
            assert not edges.any()


def test_no_examples_make_one_cell_a_sheet() -> None:
    sheets = shade(question(16, 0, 0))
    assert [len(sheet.cells) for sheet in sheets] == [1, 1, 1, 1]
    assert [sheet.cells[0].probability for sheet in sheets] == [0.25] * 4
    assert [sheet.window for sheet in sheets] == [Window(-16, 32, -16, 32)] * 4


def test_huge_scores_neither_overflow_nor_vanish() -> None:
    q = question(8, 10, 2, threshold=10**6, rate=90.0)
    probabilities = [p for *_, p in cells_of(shade(q))]
    assert all(math.isfinite(p) for p in probabilities)
    assert sum(probabilities) == pytest.approx(1.0)


def test_only_examples_inside_the_other_edges_make_lines() -> None:
    lattice = HalfplaneLattice(16)
    q = question(16, 300, 1, others=wedge(lattice))
    held = inside_piece(q.others, q.points)
    lines = len(np.unique(q.points[held], axis=0))
    assert lines < len(np.unique(q.points, axis=0))
    assert shade(replace(q, most_lines=lines))[0].cells
    assert shade(replace(q, most_lines=lines - 1))[0].scores is not None


@pytest.mark.parametrize(("d", "measure"), [(20, "chord"), (20, "paper"), (5000, "chord")])
@pytest.mark.parametrize(
    ("role", "threshold", "held"),
    [
        ("disjunction", 7, True),
        ("disjunction", None, True),
        ("conjunction", 7, False),
        ("conjunction", None, False),
    ],
)
def test_a_raster_counts_like_one_by_one(d, measure, role, threshold, held):
    lattice = HalfplaneLattice(d, measure)  # type: ignore[arg-type]
    others = wedge(lattice) if held else ()
    q = question(d, 400, 5, measure=measure, role=role, threshold=threshold, others=others)
    q = replace(q, most_lines=0)
    centres = centres_of(lattice, q.resolution)
    sheets = shade(q)
    assert [sheet.sheet for sheet in sheets] == [int(sheet) for sheet in lattice.sheets]
    seen = set()
    for sheet in sheets:
        assert sheet.cells == ()
        assert sheet.scores is not None
        for i, u in enumerate(centres.tolist()):
            for j, v in enumerate(centres.tolist()):
                if not lattice.admits(u, v):
                    assert math.isnan(sheet.scores[i, j])
                    continue
                moving = lattice.halfplane(Sheet(sheet.sheet), u, v)
                by_hand = score_by_hand(q, (moving, *others), threshold, role)
                assert sheet.scores[i, j] == by_hand
                seen.add(sheet.scores[i, j])
    assert len(seen) > 10


@pytest.mark.parametrize("measure", ["chord", "paper"])
def test_a_window_is_counted_at_its_own_pixels(measure: str) -> None:
    """Beyond the square, and where the lattice has no halfplane, nothing is known."""
    lattice = HalfplaneLattice(20, measure)  # type: ignore[arg-type]
    unit = 1 << lattice.bits
    low, high = lattice.low / unit, lattice.high / unit
    corner = high / 2 if measure == "chord" else high
    windows = {
        Sheet.FLAT_ABOVE: Window(high - 4, high + 4, corner - 6, corner + 2),
        Sheet.FLAT_BELOW: Window(11.25, 12.5, 0.125, 1.125),
    }
    q = question(20, 400, 5, measure=measure, others=wedge(lattice))
    q = replace(q, most_lines=0, resolution=16, windows=windows)
    sheets = {s.sheet: s for s in shade(q)}
    # sheets that are not asked for are not made
    assert list(sheets) == [Sheet.FLAT_ABOVE, Sheet.FLAT_BELOW]
    for number, window in windows.items():
        sheet = sheets[number]
        assert sheet.window == window
        assert sheet.scores is not None
        known = 0
        for i, j in np.ndindex(16, 16):
            u = round((window.u0 + (i + 0.5) / 16 * window.width) * unit)
            v = round((window.v0 + (j + 0.5) / 16 * window.height) * unit)
            if lattice.admits(u, v):
                moving = lattice.halfplane(number, u, v)
                assert sheet.scores[i, j] == score_by_hand(q, (moving, *q.others))
                known += 1
            else:
                assert math.isnan(sheet.scores[i, j])
        assert (known == 256) == (number == Sheet.FLAT_BELOW)
        assert known > 20
    # by default all are made, and whole
    whole = shade(replace(q, windows=None))
    assert [s.sheet for s in whole] == list(lattice.sheets)
    assert {s.window for s in whole} == {Window(low, high, low, high)}


@pytest.mark.parametrize("most_lines", [0, 120])
def test_the_score_of_a_tile_is_minus_its_mistakes(most_lines: int) -> None:
    q = question(20, 60, 4)
    score = mistakes_score(int(q.labels.sum()))
    lattice, unit = q.lattice, 1 << q.lattice.bits
    sheets = shade(replace(q, score=score, most_lines=most_lines))
    for number, u, v in ((Sheet.FLAT_BELOW, 9.3, 11.1), (Sheet.STEEP_RIGHT, 5.2, -3.4)):
        if most_lines:
            cells = [c for c in cells_of(sheets) if c[0] == number]
            ((*_, found, _),) = [c for c in cells if c[1].contains(shapely.Point(u, v))]
            moving = lattice.halfplane(number, round(u * unit), round(v * unit))
        else:
            centres = centres_of(lattice, q.resolution).tolist()
            i, j = (int(np.abs(np.array(centres) / unit - c).argmin()) for c in (u, v))
            moving = lattice.halfplane(number, centres[i], centres[j])
            found = sheets[number].scores[i, j]  # type: ignore[index]
        assert found == -np.count_nonzero(moving.contains(q.points) != q.labels)


def test_pixel_centres_are_the_nearest_lattice_points() -> None:
    lattice = HalfplaneLattice(5, bits=1)
    width = lattice.high - lattice.low
    for resolution in (1, 7, 96):
        exact = lattice.low + (np.arange(resolution) + 0.5) * width / resolution
        assert np.abs(centres_of(lattice, resolution) - exact).max() <= 0.5
    assert pixel_centres(lattice, 1.5, 2.5, 4).tolist() == [3, 4, 4, 5]


@pytest.mark.parametrize("most_lines", [0, 120])
def test_the_watch_ends_the_work(most_lines: int) -> None:
    class Enough(Exception):
        pass

    looks = []

    def watch() -> None:
        looks.append(1)
        if len(looks) == 3:
            raise Enough

    with pytest.raises(Enough):
        shade(replace(question(16, 50, 1), most_lines=most_lines), watch)


def test_a_law_whose_masses_fall_below_what_floats_hold_is_shaded_all_the_same() -> None:
    """Two discs, all of whose points the halfplane should cut off: weighed anew, it is drawn."""
    document = Document(Work(drawing=Drawing(256, (disc(90, 100, 55), disc(180, 180, 50)))))
    document.set_sampling(n=6_000)
    document.sample()
    examples = document.work.examples
    labels = examples.labels != 0
    score = Score(1, -int(np.count_nonzero(labels)), 29)
    q = ShadeQuestion(examples.points, labels, HalfplaneLattice(256), score, 0.802, (), 8)
    assert all(sheet.scores is not None for sheet in shade(q))


def disc(x: int, y: int, r: int) -> Shape:
    """With 48 corners."""
    angle = np.linspace(0, 2 * np.pi, 48, endpoint=False)
    corners = zip((x + r * np.cos(angle)).tolist(), (y + r * np.sin(angle)).tolist(), strict=True)
    return Shape(tuple((round(u), round(v)) for u, v in corners))
