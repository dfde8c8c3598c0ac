"""Points of both labels: what is taken out, bounds of boxes, the law, and that draws end."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from compiled import compiled
from conics import assert_draws_follow_the_law, score_of, target_of, value_of

from geometry.grid_counts import GridCounts
from geometry.lift import ConicLattice
from learners.core.selection import (
    Cancelled,
    Score,
    SelectionProgress,
    set_cover_score,
)
from learners.curved import conic_boxes as boxes
from learners.curved.conic_selection import MOST, ConicSelection, Tables, count_areas, make_tables
from learners.envelope import shared_points
from learners.privacy.randomness import SeededRandom

greatest_score = compiled(shared_points.greatest_score)
examples_of = compiled(shared_points.examples_of)


def heaps(d: int, *each: tuple[int, int, int, int]) -> GridCounts:
    """Points (x, y) with so many negatives and positives."""
    rows = [(x, y, label, n) for x, y, *both in each for label, n in enumerate(both)]
    return GridCounts.of_entries(np.array(rows), d)


def scattered(d: int, points: int, seed: int) -> GridCounts:
    """Heavy points of both labels in random places, and single examples in others."""
    rng = np.random.default_rng(seed)
    where = rng.permutation((d + 1) ** 2)
    heavy = [(i // (d + 1), i % (d + 1), *rng.integers(10, 40, 2)) for i in where[:points]]
    single = [(i // (d + 1), i % (d + 1), i % 2, 1 - i % 2) for i in where[points : 3 * points]]
    return heaps(d, *heavy, *single)  # type: ignore[arg-type]


def box_of(target: boxes.ConicTarget, tables: Tables, low: object, high: object) -> np.ndarray:
    """A box of parameters, as one is at first, counted and bounded."""
    box = np.zeros(boxes.WIDTH, dtype=np.int64)
    box[boxes.LOW : boxes.LOW + target.size] = low
    box[boxes.HIGH : boxes.HIGH + target.size] = high
    box[boxes.POSITIVES] = tables.positives[-1, -1]
    box[boxes.SOME] = (1 << len(tables.shared)) - 1
    boxes.recount(target, tables, box)
    return box


def test_points_of_both_labels_are_taken_out_and_nothing_else() -> None:
    counts = heaps(9, (1, 2, 30, 9), (4, 4, 8, 8), (5, 0, 3, 50), (7, 7, 90, 0), (8, 8, 0, 90))
    tables = make_tables(counts, eta=1.0)
    assert tables.shared.tolist() == [[30, 9], [8, 8]]
    left = counts.where(~(counts.points[:, None] == [(1, 2), (4, 4)]).all(axis=2).any(axis=1))
    for area, plain in zip(tables[:2], count_areas(left), strict=True):
        assert (area == plain).all()
    cells = np.diff(np.diff(tables.points, axis=0), axis=1)
    assert {(x, y): int(cells[y, x]) for y, x in np.argwhere(cells)} == {(1, 2): 1, (4, 4): 2}


def test_light_points_and_one_among_very_many_are_left_where_they_are() -> None:
    counts = heaps(9, (1, 2, 30, 9), (4, 4, 8, 8))
    assert len(make_tables(counts, eta=0.4).shared) == 0
    assert len(make_tables(counts, eta=0.45).shared) == 1
    alike = [(x, y, 50, 50) for x in range(10) for y in range(10)]
    assert len(make_tables(heaps(9, *alike[:40]), eta=1.0).shared) == MOST
    assert len(make_tables(heaps(9, *alike), eta=1.0).shared) == 0
    assert len(make_tables(heaps(9), eta=1.0).shared) == 0


@pytest.mark.parametrize("size", ["few", "many"])
@pytest.mark.parametrize("kind", ["disc", "ellipse"])
def test_a_word_names_the_points_that_a_shape_holds(kind: str, size: str) -> None:
    """In tables of 32 and of 64 bits."""
    counts = scattered(20, MOST, seed=3)
    if size == "many":
        counts = GridCounts(20, counts.points, counts.labels, counts.amounts << 30)
    tables = make_tables(counts, eta=1.0)
    assert tables.points.itemsize == (4 if size == "few" else 8)
    assert len(tables.shared) == MOST
    cells = np.diff(np.diff(tables.points.astype(np.int64), axis=0), axis=1).T
    points = np.array([np.argwhere(cells == 1 << i)[0] for i in range(MOST)])
    lattice = ConicLattice(20, kind)
    target = target_of(lattice, Score(1, 0, 0))
    rng = np.random.default_rng(4)
    for _ in range(100):
        theta = np.zeros(5, dtype=np.int64)
        theta[: target.size] = rng.integers(lattice.low, np.array(lattice.high) + 1)
        inside = lattice.conic(*theta[: target.size]).contains(points)
        word = boxes.exact_count(target, tables.points, theta)
        assert word == sum(1 << i for i in np.flatnonzero(inside).tolist())
        for label in (0, 1):
            assert examples_of(tables.shared, label, word) == tables.shared[inside, label].sum()


@pytest.mark.parametrize("total", [False, True])
def test_the_greatest_score_is_that_of_the_best_way_to_hold_open_points(total: bool) -> None:
    rng = np.random.default_rng(5)
    lattice = ConicLattice(4, "disc")
    for _ in range(200):
        m = int(rng.integers(1, 9))
        shared = rng.integers(0, 30, (m, 2))
        held, other = (int(one) for one in rng.integers(0, 1 << m, 2))
        tried, plain = other & ~held, rng.integers(0, 20, 2)
        score = Score(int(rng.integers(1, 4)), -int(rng.integers(0, 90)), 0, total)
        ways = [word for word in range(1 << m) if word & ~tried == 0]
        best = max(
            score.value(
                int(plain[1]) + sum(int(shared[i, 1]) for i in range(m) if (held | way) >> i & 1),
                int(plain[0]) + sum(int(shared[i, 0]) for i in range(m) if (held | way) >> i & 1),
            )
            for way in ways
        )
        found = greatest_score(target_of(lattice, score), shared, held, tried, plain[1], plain[0])
        if len(ways) <= 64:
            assert found == best
        assert found >= best


def test_points_beyond_those_tried_in_all_ways_hardly_loosen_the_bound() -> None:
    """Twelve points of 10 and 10 and a score of at most min(10 m - 120, -10 m), m held."""
    score, everywhere = Score(1, -120, 0), np.full((12, 2), 10)
    target = target_of(ConicLattice(4, "disc"), score)
    assert greatest_score(target, everywhere, 0, (1 << 12) - 1, 0, 0) == -60
    # no number of them scores what a mix promises
    assert (
        greatest_score(
            target_of(ConicLattice(4, "disc"), Score(1, -130, 0)),
            everywhere,
            0,
            (1 << 12) - 1,
            0,
            0,
        )
        == -70
    )
    uneven = np.array([[40 - i, 30 + i] for i in range(12)])
    best = max(
        score.value(int(uneven[list(held), 1].sum()), int(uneven[list(held), 0].sum()))
        for m in range(13)
        for held in itertools.combinations(range(12), m)
    )
    assert best <= greatest_score(target, uneven, 0, (1 << 12) - 1, 0, 0) <= best + 12


@pytest.mark.parametrize(("kind", "d", "bits"), [("disc", 4, 1), ("ellipse", 3, 0)])
def test_no_member_scores_more_than_its_box_promises(kind: str, d: int, bits: int) -> None:
    """Every member of random boxes; and a box of one disc promises what that scores."""
    lattice = ConicLattice(d, kind, bits)
    rng = np.random.default_rng(6)
    least, most = np.array(lattice.low), np.array(lattice.high)
    attained = 0
    for seed in range(60):
        counts = scattered(d, 5, seed)
        score = set_cover_score("disjunction", 2, 90, counts.positives, counts.negatives)
        target, tables = target_of(lattice, score), make_tables(counts, eta=1.0)
        assert len(tables.shared) == 5
        low = rng.integers(least, most + 1)
        high = np.minimum(most, low + rng.integers(0, 4, len(low)))
        bound = box_of(target, tables, low, high)[boxes.BOUND]
        spans = (range(a, b + 1) for a, b in zip(low, high, strict=True))
        values = [value_of(lattice, counts, score, theta) for theta in itertools.product(*spans)]
        assert max(values) <= bound
        attained += max(values) == bound
        # an outline of an ellipse through an example is rounded to the safe side
        assert box_of(target, tables, low, low)[boxes.BOUND] >= values[0]
        if kind == "disc":
            assert box_of(target, tables, low, low)[boxes.BOUND] == values[0]
    assert attained > 10


@pytest.mark.parametrize(
    ("kind", "bits", "rule", "points", "max_boxes"),
    [
        # every pair of a kind, a rule and a number of points
        ("disc", 1, "cover", 2, 1),
        ("disc", 1, "mistakes", 9, 64),
        ("ellipse", 0, "cover", 9, 64),
        ("ellipse", 0, "mistakes", 2, 1 << 16),
    ],
)
def test_draws_follow_the_enumerated_law(kind, bits, rule, points, max_boxes):
    """With two shared points and with more than are tried in all ways."""
    lattice = ConicLattice(2, kind, bits)
    amounts = [(14, 17), (18, 13), *[(11 + i, 17 - i) for i in range(7)]]
    places = [(1, 1), (0, 2), (0, 0), (0, 1), (1, 0), (1, 2), (2, 0), (2, 1), (2, 2)]
    alone = [(x, y, x, 2 - x) for x, y in places[points:]]
    counts = heaps(2, *((*p, *n) for p, n in zip(places[:points], amounts, strict=False)), *alone)
    score = score_of(rule, counts)
    rate = 0.4 / score.k
    assert len(make_tables(counts, rate * score.k).shared) == points
    assert_draws_follow_the_law(
        lattice, counts, score, rate, (0.5, 2), 3000, max_boxes, points + max_boxes
    )


def no_longer(progress: SelectionProgress) -> None:
    """A watch: stops a draw that takes very many trials."""
    if progress.trials > 20_000:
        raise Cancelled


@pytest.mark.parametrize("eta", [0.05, 0.8, 20.0])
@pytest.mark.parametrize("d", [1, 64, 2048])
@pytest.mark.parametrize("kind", ["disc", "ellipse"])
def test_many_examples_of_both_labels_in_one_place_end_a_draw_soon(kind, d, eta):
    """Counted apart they take a few boxes; otherwise more than four millions."""
    for points in ([(d, d)], [(d // 2, d // 2)], [(d // 2, d // 2), (d // 2, d // 2 + 1)]):
        counts = heaps(d, *((x, y, 100, 100) for x, y in points))
        score = set_cover_score("disjunction", 1, counts.positives - 5, counts.positives, 0)
        selection = ConicSelection(ConicLattice(d, kind))
        selected = selection.select(counts, score, eta, SeededRandom(1), no_longer)
        assert selected.progress.boxes < 10_000
