"""Selection by the arrangement: its law, its draws, and its privacy, by enumeration."""

import math
from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction
from functools import cache
from itertools import combinations_with_replacement, product

import numpy as np
import pytest
from any_pieces import all_halfplanes
from arrangement_laws import Outcome, arrangement_law
from chi_square import assert_drawn_from
from counted import counted, of_rows

from geometry.halfplane import HalfplaneLattice
from learners.core.selection import Score, SelectionProgress, set_cover_score
from learners.cover import arrangement_selection
from learners.cover.arrangement_selection import (
    ArrangementSelection,
    Classes,
    halfplane_classes,
    integer_weights,
)
from learners.privacy.randomness import SeededRandom

Example = tuple[tuple[int, int], bool]
slow = pytest.mark.slow
Value = Callable[[tuple[bool, ...]], int]

LATTICES = [
    HalfplaneLattice(1, "chord", 1),
    HalfplaneLattice(2, "chord", 0),
    HalfplaneLattice(3, "chord", 1),
    HalfplaneLattice(1, "paper", 0),
    HalfplaneLattice(2, "paper", 1),
]


def sample(d: int, n: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Random examples, repeated and contradictory ones among them."""
    rng = np.random.default_rng(seed)
    points = rng.integers(0, d + 1, (n, 2))
    return points, rng.random(n) < 0.5


def law_of_rows(
    selection: ArrangementSelection,
    points: np.ndarray,
    labels: np.ndarray,
    score: Score,
    rate: float,
) -> list[Outcome]:
    """The law, by what is said of each row."""
    counts = counted(points, labels, selection.lattice.d)
    return [
        replace(outcome, inside=of_rows(outcome.inside, counts, points))
        for outcome in arrangement_law(selection, counts, score, rate)
    ]


def role_score(role: str, k: int, noisy: int, labels: np.ndarray) -> Score:
    """The set-cover score of a sample that is alive as a whole."""
    positives = int(np.count_nonzero(labels))
    return set_cover_score(role, k, noisy, positives, len(labels) - positives)


def kmms_score(role: str, k: int, noisy: int, labels: np.ndarray) -> Value:
    """k times KMMS's min(gain - b/k, -loss), as the source says it, of what a piece holds."""

    def value(held: tuple[bool, ...]) -> int:
        # a disjunction covers what a piece holds, a conjunction what it leaves out
        covered = [h == (role == "disjunction") for h in held]
        wanted = [bool(y) == (role == "disjunction") for y in labels]
        gain = sum(c and w for c, w in zip(covered, wanted, strict=True))
        loss = sum(c and not w for c, w in zip(covered, wanted, strict=True))
        return min(k * gain - noisy, -k * loss)

    return value


def brute_law(
    counts: Counter[tuple[bool, ...]], value: Value, rate: float
) -> dict[tuple[bool, ...], tuple[int, int, float]]:
    """Count, value and probability by classification, of so many pieces each."""
    values = {held: value(held) for held in counts}
    top = max(values.values())
    masses = {h: counts[h] * math.exp(rate * (values[h] - top)) for h in counts}
    total = math.fsum(masses.values())
    return {h: (counts[h], values[h], masses[h] / total) for h in counts}


def assert_same_law(found: list, expected: dict) -> None:
    """Same outcomes, exact counts and values, probabilities to twelve digits."""
    assert len(found) == len(expected)
    for outcome in found:
        count, value, probability = expected[outcome.inside]
        assert (outcome.count, outcome.value) == (count, value)
        assert outcome.probability == pytest.approx(probability, rel=1e-12)
    assert math.fsum(outcome.probability for outcome in found) == pytest.approx(1, rel=1e-12)


@pytest.mark.parametrize("role", ["disjunction", "conjunction"])
@pytest.mark.parametrize("lattice", LATTICES, ids=str)
def test_the_halfplane_law_is_the_enumerated_one(lattice: HalfplaneLattice, role: str) -> None:
    """Every lattice halfplane tried, samples with repeated points included."""
    for n, seed in ((0, 0), (1, 1), (4, 2), (7, 3)):
        points, labels = sample(lattice.d, n, seed)
        score = role_score(role, 3, 2, labels)
        inside = Counter(tuple(h.contains(points).tolist()) for h in all_halfplanes(lattice))
        law = law_of_rows(ArrangementSelection(lattice, "halfplane"), points, labels, score, 0.4)
        assert_same_law(law, brute_law(inside, kmms_score(role, 3, 2, labels), 0.4))


@pytest.mark.parametrize("role", ["disjunction", "conjunction"])
@pytest.mark.parametrize(
    "lattice",
    [
        HalfplaneLattice(1, "chord", 0),
        HalfplaneLattice(2, "chord", 0),
        HalfplaneLattice(1, "paper", 0),
    ],
    ids=str,
)
def test_the_triangle_law_is_the_enumerated_one(lattice: HalfplaneLattice, role: str) -> None:
    """Every ordered triple of lattice halfplanes tried."""
    for n, seed in ((0, 0), (2, 1), (5, 2)):
        points, labels = sample(lattice.d, n, seed)
        score = role_score(role, 2, 1, labels)
        one = np.array([h.contains(points) for h in all_halfplanes(lattice)])
        codes = one @ (1 << np.arange(n)) if n else np.zeros(len(one), dtype=np.int64)
        triples = codes[:, None, None] & codes[:, None] & codes
        inside = Counter(
            {
                tuple(bool(code >> i & 1) for i in range(n)): count
                for code, count in enumerate(np.bincount(triples.ravel()).tolist())
                if count
            }
        )
        law = law_of_rows(ArrangementSelection(lattice, "triangle"), points, labels, score, 0.7)
        assert_same_law(law, brute_law(inside, kmms_score(role, 2, 1, labels), 0.7))


def test_the_law_at_the_finest_resolution_covers_the_lattice() -> None:
    """Counts sum to the class: (4 sheets * points)^1 and ^3."""
    lattice = HalfplaneLattice(1024)
    points, labels = sample(1024, 8, 4)
    score = role_score("disjunction", 2, 3, labels)
    whole = 4 * lattice.points_per_sheet
    for piece, size in (("halfplane", 1), ("triangle", 3)):
        law = law_of_rows(ArrangementSelection(lattice, piece), points, labels, score, 0.3)
        assert sum(outcome.count for outcome in law) == whole**size


def test_triangles_are_drawn_by_the_law() -> None:
    """By classification, and each of the three halfplanes by its enumerated marginal."""
    lattice = HalfplaneLattice(1, "chord", 0)
    points, labels = np.array([(0, 0), (1, 0), (1, 1), (1, 1)]), np.array([1, 0, 1, 1], dtype=bool)
    score = role_score("disjunction", 2, 2, labels)
    selection = ArrangementSelection(lattice, "triangle")
    prepared = selection.prepare(counted(points, labels, lattice.d), score, 0.5)
    source, draws = SeededRandom(6), 20_000
    pieces = [prepared.draw(source) for _ in range(draws)]

    law = {o.inside: o.probability for o in law_of_rows(selection, points, labels, score, 0.5)}
    held = [np.all([h.contains(points) for h in piece], axis=0).tolist() for piece in pieces]
    found = Counter(tuple(h) for h in held)
    assert_drawn_from(law, found, draws, outcomes=4)

    halfplanes = all_halfplanes(lattice)
    inside = {h: h.contains(points) for h in halfplanes}
    density = {
        o.inside: o.probability / o.count
        for o in law_of_rows(selection, points, labels, score, 0.5)
    }
    marginal = {
        first: math.fsum(
            density[tuple((inside[first] & inside[second] & inside[third]).tolist())]
            for second, third in product(halfplanes, repeat=2)
        )
        for first in halfplanes
    }
    for position in range(3):
        drawn = Counter(piece[position] for piece in pieces)
        assert_drawn_from(marginal, drawn, draws, outcomes=12)
    uniform = dict.fromkeys(halfplanes, 1 / len(halfplanes))
    with pytest.raises(AssertionError):
        assert_drawn_from(uniform, Counter(piece[0] for piece in pieces), draws, outcomes=12)


def test_select_reports_its_cells_and_mass_and_draws_a_member_of_the_class() -> None:
    """log_mass is the log of the mean weight under the base measure."""
    lattice = HalfplaneLattice(3, "chord", 1)
    points, labels = sample(3, 6, 2)
    score = role_score("conjunction", 2, 1, labels)
    seen: list[SelectionProgress] = []
    selection = ArrangementSelection(lattice, "halfplane")
    chosen = selection.select(counted(points, labels, 3), score, 0.3, SeededRandom(1), seen.append)
    assert len(chosen.piece) == 1
    assert chosen.piece[0] in all_halfplanes(lattice)
    values = [
        score.value(int((held & labels).sum()), int((held & ~labels).sum()))
        for held in (h.contains(points) for h in all_halfplanes(lattice))
    ]
    mean = math.fsum(math.exp(0.3 * value) for value in values) / len(values)
    assert chosen.progress.log_mass == pytest.approx(math.log(mean), rel=1e-12)
    assert [p.boxes for p in seen] == sorted(p.boxes for p in seen)
    assert seen[-1] == chosen.progress
    again = selection.select(counted(points, labels, 3), score, 0.3, SeededRandom(1))
    assert again == chosen


def test_integer_weights_are_exponentials_to_a_relative_two_to_the_minus_60() -> None:
    """Far below the range of doubles too: ratios of neighbouring values are all exp(rate)."""
    rate = 0.625
    weights, scale = integer_weights(range(-4000, 1), rate)
    assert min(weights.values()) >= 2**64
    assert abs(Fraction(weights[0], 2**scale) - 1) < Fraction(1, 2**60)
    # e^(5/8) by its series, the remainder below 1/40!
    step = sum(Fraction(5, 8) ** i / math.factorial(i) for i in range(40))
    for value in range(-4000, 0):
        ratio = Fraction(weights[value + 1], weights[value])
        assert abs(ratio / step - 1) < Fraction(1, 2**60)


def test_too_large_samples_are_refused() -> None:
    """Before the arrangement is built, or before triples are combined."""
    points, labels = sample(100, 30, 1)
    score = role_score("disjunction", 2, 3, labels)
    lattice, counts = HalfplaneLattice(100), counted(points, labels, 100)
    with pytest.raises(ValueError, match="may have more than 3727 cells"):
        ArrangementSelection(lattice, "halfplane", max_cells=3727).prepare(counts, score, 0.1)
    with pytest.raises(ValueError, match="combinations of classes"):
        ArrangementSelection(lattice, "triangle", max_triples=1000).prepare(counts, score, 0.1)


@pytest.mark.parametrize("rate", [-0.1, math.inf, math.nan])
def test_unusable_rates_are_refused(rate: float) -> None:
    """A rate is finite and not negative."""
    points, labels = sample(3, 4, 1)
    selection = ArrangementSelection(HalfplaneLattice(3), "halfplane")
    with pytest.raises(ValueError, match="rate"):
        law_of_rows(selection, points, labels, role_score("disjunction", 1, 0, labels), rate)


# Privacy: every pair of neighbouring small samples, against the density of single pieces.


@cache
def classes_of(lattice: HalfplaneLattice, points: frozenset[tuple[int, int]]) -> Classes:
    return halfplane_classes(lattice, points)


@pytest.fixture
def _cached_classes(monkeypatch: pytest.MonkeyPatch) -> None:
    """Build the arrangement once for each set of points; labels do not change it."""

    def classes(lattice: HalfplaneLattice, points: list, _watch: object = None) -> Classes:
        return classes_of(lattice, frozenset(points))

    monkeypatch.setattr(arrangement_selection, "halfplane_classes", classes)


def grid_behaviours(lattice: HalfplaneLattice, piece: str) -> np.ndarray:
    """Distinct ways in which pieces classify the whole grid, shape (behaviours, (d + 1)^2)."""
    grid = np.array(list(product(range(lattice.d + 1), repeat=2)))
    rows = np.unique([h.contains(grid) for h in all_halfplanes(lattice)], axis=0)
    if piece == "halfplane":
        return rows
    pairs = np.unique((rows[:, None] & rows).reshape(-1, len(grid)), axis=0)
    return np.unique((pairs[:, None] & rows).reshape(-1, len(grid)), axis=0)


def log_densities(
    selection: ArrangementSelection,
    behaviours: np.ndarray,
    examples: tuple[Example, ...],
    role: str,
    k: int,
    noisy: int,
    eta: float,
) -> np.ndarray:
    """ln probability of one lattice piece of each behaviour, shape (behaviours,)."""
    d = selection.lattice.d
    points = np.array([point for point, _ in examples], dtype=np.int64).reshape(-1, 2)
    labels = np.array([label for _, label in examples], dtype=bool)
    score = role_score(role, k, noisy, labels)
    law = law_of_rows(selection, points, labels, score, eta / k)
    density = {o.inside: math.log(o.probability / o.count) for o in law}
    columns = behaviours[:, points[:, 0] * (d + 1) + points[:, 1]]
    return np.array([density[tuple(row)] for row in columns.tolist()])


@pytest.mark.usefixtures("_cached_classes")
@pytest.mark.parametrize(
    ("lattice", "piece", "most", "role"),
    [
        # both roles of every measure and piece
        (HalfplaneLattice(1, "chord", 1), "halfplane", 5, "disjunction"),
        (HalfplaneLattice(2, "chord", 0), "halfplane", 3, "conjunction"),
        pytest.param(HalfplaneLattice(2, bits=0), "halfplane", 4, "disjunction", marks=slow),
        (HalfplaneLattice(3, "chord", 1), "halfplane", 2, "disjunction"),
        (HalfplaneLattice(2, "paper", 0), "halfplane", 3, "conjunction"),
        (HalfplaneLattice(1, "paper", 0), "halfplane", 4, "disjunction"),
        (HalfplaneLattice(1, "chord", 0), "triangle", 4, "conjunction"),
        (HalfplaneLattice(2, "chord", 0), "triangle", 3, "disjunction"),
        (HalfplaneLattice(1, "paper", 0), "triangle", 4, "conjunction"),
        (HalfplaneLattice(1, "paper", 0), "triangle", 3, "disjunction"),
    ],
    ids=str,
)
def test_neighbouring_samples_have_laws_within_eta(lattice, piece, most, role):
    """Add one labelled example to every sample of up to most - 1: |ln ratio| and its range."""
    k, eta = 2, 0.8
    selection = ArrangementSelection(lattice, piece)
    behaviours = grid_behaviours(lattice, piece)
    labelled = list(product(product(range(lattice.d + 1), repeat=2), (False, True)))
    worst, widest = 0.0, 0.0
    for noisy in (-1, 2):
        known: dict[tuple[Example, ...], np.ndarray] = {}
        for n in range(most + 1):
            for examples in combinations_with_replacement(labelled, n):
                here = log_densities(selection, behaviours, examples, role, k, noisy, eta)
                known[examples] = here
                for i in range(n):
                    ratio = here - known[examples[:i] + examples[i + 1 :]]
                    worst = max(worst, float(np.abs(ratio).max()))
                    widest = max(widest, float(np.ptp(ratio)))
    assert worst <= eta + 1e-9
    assert widest <= eta + 1e-9
    # the bounds are not idle: some pair of samples uses the whole range
    assert widest >= eta - 1e-9
    assert worst >= 0.9 * eta
