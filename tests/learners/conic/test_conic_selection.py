"""Discs and ellipses: counts, bounds, the sampler's law against enumeration, and learners."""

import itertools

import numpy as np
import pytest
from compiled import compiled
from conics import assert_draws_follow_the_law, law, score_of, target_of, value_of
from counted import counted

from geometry.grid_counts import GridCounts
from geometry.lift import ConicLattice
from learners.core.selection import (
    Cancelled,
    Score,
    SelectionProgress,
    set_cover_score,
    softened_nats,
    softened_shortfall,
)
from learners.curved import conic_boxes as boxes
from learners.curved.selection import MOST, ConicSelection, Tables, count_areas, make_tables
from learners.envelope import target as of_law
from learners.privacy.randomness import SeededRandom


def random_examples(d: int, n: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    points = rng.integers(0, d + 1, (n, 2))
    points[-1] = points[0]
    return points, (points.sum(axis=1) < d) ^ (rng.random(n) < 0.2)


def full(values: object) -> np.ndarray:
    """Parameters as the compiled loops take them."""
    padded = np.zeros(5, dtype=np.int64)
    padded[: len(values)] = values  # type: ignore[arg-type]
    return padded


def test_areas_count_what_lies_below_and_to_the_left() -> None:
    points, labels = random_examples(6, 40, seed=1)
    for label, area in zip((False, True), count_areas(counted(points, labels, 6)), strict=True):
        mine = points[labels == label]
        for j, i in itertools.product(range(8), range(8)):
            assert area[j, i] == np.count_nonzero((mine[:, 0] < i) & (mine[:, 1] < j))


@pytest.mark.parametrize("kind", ["disc", "ellipse"])
@pytest.mark.parametrize(("d", "bits"), [(5, 0), (12, -1), (100, 3), (700, -1), (2048, -1)])
def test_one_member_holds_as_many_as_its_own_test_says(kind: str, d: int, bits: int) -> None:
    lattice = ConicLattice(d, kind, bits)
    points, labels = random_examples(d, 3000, seed=d)
    area = count_areas(counted(points, labels, d))[1]
    target = target_of(lattice, Score(1, 0, 0))
    rng = np.random.default_rng(d)
    for _ in range(60):
        theta = rng.integers(lattice.low, np.array(lattice.high) + 1)
        held = np.count_nonzero(lattice.conic(*theta).contains(points[labels]))
        assert boxes.exact_count(target, area, full(theta)) == held


@pytest.mark.parametrize("kind", ["disc", "ellipse"])
@pytest.mark.parametrize(("d", "bits"), [(5, 0), (12, -1), (100, 3), (700, -1)])
def test_no_member_leaves_the_bounds_of_its_box(kind: str, d: int, bits: int) -> None:
    lattice = ConicLattice(d, kind, bits)
    points, labels = random_examples(d, 4000, seed=d)
    area = count_areas(counted(points, labels, d))[1]
    target = target_of(lattice, Score(1, 0, 0))
    rng = np.random.default_rng(d + 1)
    least, most = np.array(lattice.low), np.array(lattice.high)
    for _ in range(150):
        size = rng.choice([0, 1, 2, 1 << lattice.bits, lattice.side // 8, lattice.side])
        low = rng.integers(least, most + 1)
        high = np.minimum(most, low + rng.integers(0, size + 1, len(low)))
        corners = [low, high, *(np.where(rng.random(len(low)) < 0.5, low, high) for _ in range(4))]
        members = [*corners, *(rng.integers(low, high + 1) for _ in range(4))]
        counts = [boxes.exact_count(target, area, full(theta)) for theta in members]
        for stride in (1, 2, 5, 64):
            outer = boxes.outer_count(target, area, full(low), full(high), stride)
            inner = boxes.inner_count(target, area, full(low), full(high), stride)
            assert inner <= min(counts)
            assert max(counts) <= outer


@pytest.mark.parametrize("kind", ["disc", "ellipse"])
def test_the_bounds_of_a_single_member_are_tight(kind: str) -> None:
    lattice = ConicLattice(60, kind)
    points, labels = random_examples(60, 3000, seed=3)
    area = count_areas(counted(points, labels, 60))[1]
    target = target_of(lattice, Score(1, 0, 0))
    rng = np.random.default_rng(6)
    for _ in range(100):
        theta = full(rng.integers(lattice.low, np.array(lattice.high) + 1))
        held = boxes.exact_count(target, area, theta)
        assert boxes.outer_count(target, area, theta, theta, 1) == held
        assert boxes.inner_count(target, area, theta, theta, 1) == held


@pytest.mark.parametrize(
    ("kind", "d", "bits", "draws", "rule", "max_boxes"),
    [
        # every pair of a kind and a rule
        ("disc", 4, 0, 1900, "cover", 4),
        ("disc", 2, 1, 1900, "mistakes", 1 << 16),
        ("ellipse", 2, 0, 2600, "cover", 1 << 16),
        ("ellipse", 2, 0, 2600, "mistakes", 1),
    ],
)
def test_draws_follow_the_enumerated_law(kind, d, bits, draws, rule, max_boxes):
    """The number of boxes must not matter."""
    counts = counted(*random_examples(d, 25, seed=7), d)
    assert_draws_follow_the_law(
        ConicLattice(d, kind, bits), counts, score_of(rule, counts), 0.55, (0.75, 1.25),
        draws, max_boxes, 4 * d + max_boxes,
    )  # fmt: skip


@pytest.mark.parametrize(("kind", "d"), [("disc", 3), ("ellipse", 1)])
def test_one_example_moves_no_probability_by_more_than_eta(kind: str, d: int) -> None:
    """The whole law, for every neighbour, given the noisy count; and the bound is attained,
    up to the softening, where pieces fit: all do where every label is 1 and the noisy count 0.
    """
    lattice = ConicLattice(d, kind, 0)
    points, labels = random_examples(d, 12, seed=2)
    eta, k = 0.4, 2

    def chances(xy: np.ndarray, y: np.ndarray, noisy: int) -> np.ndarray:
        counts = counted(xy, y, d)
        score = set_cover_score("disjunction", k, noisy, counts.positives, counts.negatives)
        return np.array(list(law(lattice, counts, score, eta / k).values()))

    spread = []
    cells = range(d + 1)
    samples = ((labels, 3), (np.ones(12, dtype=bool), 0))
    for (own, noisy), x, y, label in itertools.product(samples, cells, cells, (False, True)):
        after = chances(np.vstack([points, [[x, y]]]), np.append(own, label), noisy)
        loss = np.log(after / chances(points, own, noisy))
        assert np.abs(loss).max() <= eta + 1e-9
        spread.append(loss.max() - loss.min())
    assert max(spread) <= eta + 1e-9
    assert max(spread) > 0.99 * eta


def test_the_watch_sees_the_envelope_sink_and_can_stop_it() -> None:
    lattice = ConicLattice(256, "ellipse")
    points, labels = random_examples(256, 4000, seed=4)
    score = set_cover_score("disjunction", 1, 1000, int(labels.sum()), int((~labels).sum()))
    seen: list[SelectionProgress] = []

    def watch(progress: SelectionProgress) -> None:
        seen.append(progress)
        if len(seen) == 4:
            raise Cancelled

    with pytest.raises(Cancelled):
        ConicSelection(lattice).select(
            counted(points, labels, 256), score, 0.8, SeededRandom(1), watch
        )
    masses = [progress.log_mass for progress in seen]
    assert masses == sorted(masses, reverse=True)
    assert seen[-1].boxes > seen[0].boxes > 1


def test_a_softened_score_moves_by_at_most_the_score() -> None:
    for rate in (1e-3, 0.4, 16.0):
        nats = [softened_nats(value, rate) for value in range(-3000, 1)]
        moved = np.diff(nats)
        assert moved.min() > 0
        assert moved.max() <= rate
        assert nats[-1] == 0.0
        for value in (-3000, -7, 0):
            fallen = -softened_nats(value, rate)
            assert softened_shortfall(fallen) == pytest.approx(-rate * value, rel=1e-12)


def test_a_score_above_0_is_refused() -> None:
    points, labels = random_examples(8, 20, seed=1)
    with pytest.raises(ValueError, match="at most 0"):
        ConicSelection(ConicLattice(8, "disc")).select(
            counted(points, labels, 8), Score(1, 0, 5), 1.0, SeededRandom(1)
        )


def test_too_many_boxes_are_refused() -> None:
    with pytest.raises(ValueError, match="max_boxes"):
        ConicSelection(ConicLattice(4, "disc"), (1 << 22) + 1)


# -- points of both labels ------------------------------------------------------------------

greatest_score = compiled(of_law.greatest_score)
examples_of = compiled(of_law.examples_of)


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
    lower = target_of(ConicLattice(4, "disc"), Score(1, -130, 0))
    assert greatest_score(lower, everywhere, 0, (1 << 12) - 1, 0, 0) == -70
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
def test_draws_with_shared_points_follow_the_enumerated_law(kind, bits, rule, points, max_boxes):
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


@pytest.mark.parametrize("eta", [0.05, 20.0])
@pytest.mark.parametrize("d", [1, 2048])
@pytest.mark.parametrize("kind", ["disc", "ellipse"])
def test_many_examples_of_both_labels_in_one_place_end_a_draw_soon(kind, d, eta):
    """Counted apart they take a few boxes; otherwise more than four millions."""
    for points in ([(d, d)], [(d // 2, d // 2)], [(d // 2, d // 2), (d // 2, d // 2 + 1)]):
        counts = heaps(d, *((x, y, 100, 100) for x, y in points))
        score = set_cover_score("disjunction", 1, counts.positives - 5, counts.positives, 0)
        selection = ConicSelection(ConicLattice(d, kind))
        selected = selection.select(counts, score, eta, SeededRandom(1), no_longer)
        assert selected.progress.boxes < 10_000
