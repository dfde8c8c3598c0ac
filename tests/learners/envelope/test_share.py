"""The share of pieces as good as the chosen one, against laws enumerated over small lattices."""

from __future__ import annotations

import itertools
import math
from collections import Counter
from dataclasses import replace
from functools import cache

import numpy as np
import pytest
from arrangement_laws import arrangement_law
from chi_square import assert_drawn_from
from concept_laws import grid_points, mask_of, pieces_by_mask
from counted import counted
from finished_runs import finished
from grids import cornered

from geodp_app.runs.protocol import AsGood, ShadeQuestion, ShareQuestion
from geodp_app.runs.questions import share_question
from geodp_app.runs.shading import as_good
from geometry.grid_counts import GridCounts
from geometry.halfplane import Halfplane, HalfplaneLattice
from learners.core.records import inside_piece
from learners.core.selection import PieceKind, Score, set_cover_score
from learners.cover.arrangement_selection import ArrangementSelection
from learners.envelope.annealing import Annealing
from learners.envelope.envelope_selection import EnvelopeSelection
from learners.privacy.randomness import SeededRandom

LATTICES = {"chord": HalfplaneLattice(3, bits=0), "paper": HalfplaneLattice(2, "paper", bits=0)}

masks = cache(lambda measure, edges: pieces_by_mask(LATTICES[measure], edges)[edges])


def score_of(role: str, labels: np.ndarray) -> Score:
    positives = int(labels.sum())
    return set_cover_score(role, 2, 5, positives, len(labels) - positives)  # type: ignore[arg-type]


def law(
    measure: str, edges: int, points: np.ndarray, labels: np.ndarray, score: Score, rate: float
) -> Counter[int]:
    """Probability of each score, over all lattice pieces."""
    places = [mask_of((grid_points(LATTICES[measure].d) == p).all(axis=1)) for p in points]
    weights: Counter[int] = Counter()
    for mask, count in masks(measure, edges).items():
        held = np.array([bool(mask & place) for place in places])
        value = score.value(int((held & labels).sum()), int((held & ~labels).sum()))
        weights[value] += count * math.exp(rate * value)  # type: ignore[assignment]
    total = math.fsum(weights.values())
    return Counter({value: weight / total for value, weight in weights.items()})


FINE = HalfplaneLattice(8)


def law_of_scores(piece: PieceKind, counts: GridCounts, score: Score, rate: float) -> Counter[int]:
    """The same on a fine lattice, by the arrangement."""
    found: Counter[int] = Counter()
    for outcome in arrangement_law(ArrangementSelection(FINE, piece), counts, score, rate):
        found[outcome.value] += outcome.probability  # type: ignore[assignment]
    return found


@pytest.mark.parametrize("role", ["disjunction", "conjunction"])
@pytest.mark.parametrize(("measure", "edges"), [("chord", 1), ("paper", 1), ("chord", 3)])
def test_the_share_is_that_of_the_enumerated_law(measure: str, edges: int, role: str) -> None:
    """The interval is of two standard errors, so one in twenty may miss it; no four errors."""
    held = [share_held(measure, edges, role, seed) for seed in range(4)]
    assert sum(held) >= 3


def share_held(measure: str, edges: int, role: str, seed: int) -> bool:
    """Whether the interval holds the enumerated share; all that is certain is asserted."""
    lattice = LATTICES[measure]
    points, labels = cornered(lattice.d, 20, seed)
    score, rate = score_of(role, labels), 0.35
    kind = "halfplane" if edges == 1 else "triangle"
    counts = counted(points, labels, lattice.d)
    selection = EnvelopeSelection(lattice, kind, table_bytes=1 << 20)  # type: ignore[arg-type]
    piece = selection.select(counts, score, rate, SeededRandom(seed)).piece
    held = inside_piece(piece, points)
    value = score.value(int((held & labels).sum()), int((held & ~labels).sum()))
    expected = law(measure, edges, points, labels, score, rate)
    share = math.fsum(p for v, p in expected.items() if v >= value)
    step = ShadeQuestion(points, labels, lattice, score, rate, ())
    question = ShareQuestion(step, tuple(h for h in piece if isinstance(h, Halfplane)))
    ways = [as_good(question)]
    if edges == 1:
        assert ways[0].exact
        assert ways[0].low == ways[0].share == ways[0].high
        assert ways[0].share == pytest.approx(share, abs=1e-9)
        ways = [as_good(replace(question, step=replace(step, most_lines=0)))]
        examples = counted(points, labels, lattice.d)
        again, error = Annealing(examples, lattice, score, rate, 1).run(lambda: None).share(value)
        assert abs(again - share) < 4 * error
    (found,) = ways
    assert not found.exact
    assert abs(found.share - share) <= found.high - found.low
    assert found.high - found.low < 0.3
    return found.low <= share <= found.high


def test_a_population_has_the_scores_of_the_law() -> None:
    """All of them, not only those above the chosen one; on a fine lattice, by the arrangement."""
    lattice = FINE
    points, labels = cornered(8, 9, 5)
    score, counts = score_of("disjunction", labels), counted(points, labels, 8)
    expected = law_of_scores("triangle", counts, score, 0.8)
    population = Annealing(counts, lattice, score, 0.8, 3).run(lambda: None)
    for value in expected:
        share, error = population.share(value)
        assert abs(share - math.fsum(p for v, p in expected.items() if v >= value)) < 4 * error
        assert error < 0.06


def test_draws_for_the_curator_are_independent_draws_from_the_law() -> None:
    lattice = FINE
    points, labels = cornered(8, 12, 3)
    score, counts = score_of("disjunction", labels), counted(points, labels, 8)
    expected = law_of_scores("halfplane", counts, score, 0.9)
    selection = EnvelopeSelection(lattice, "halfplane", table_bytes=1 << 20)
    pieces, log_mass = selection.draw_for_curator(counts, score, 0.9, 3000, 10**7)
    assert len(pieces) >= 2000
    seen: Counter[int] = Counter()
    for piece in pieces:
        held = inside_piece(piece, points)
        seen[score.value(int((held & labels).sum()), int((held & ~labels).sum()))] += 1
    assert_drawn_from(expected, seen, len(pieces), outcomes=5)
    # the mass: every lattice halfplane has exp(rate * value)
    top = max(expected)
    size = len(lattice.sheets) * lattice.points_per_sheet
    number = size * law_of_scores("halfplane", counts, score, 0.0)[top]
    assert log_mass == pytest.approx(
        math.log(number) + 0.9 * top - math.log(expected[top]), abs=4 / math.sqrt(len(pieces))
    )


@pytest.mark.parametrize("kind", ["halfplane", "triangle"])
def test_no_release_depends_on_what_is_asked(kind: str) -> None:
    """Questions between two draws leave the second one as it is."""
    lattice = HalfplaneLattice(16)
    points, labels = cornered(16, 200, 1)
    score, counts = score_of("disjunction", labels), counted(points, labels, 16)
    selection = EnvelopeSelection(lattice, kind, table_bytes=1 << 20)  # type: ignore[arg-type]

    def two(asking: bool) -> list[object]:
        source, drawn = SeededRandom(4), []
        for _ in range(2):
            drawn.append(selection.select(counts, score, 0.3, source).piece)
            if asking:
                selection.draw_for_curator(counts, score, 0.3, 5, 1000)
                Annealing(counts, lattice, score, 0.3, 1).run(lambda: None, 10)
        return drawn

    assert two(True) == two(False)


def test_a_run_asks_about_covers_that_are_drawn() -> None:
    log, _ = finished("convex-cover", 60)
    question = share_question(log, 2)
    assert question.piece == log.records[1].release.piece
    assert question.step.others == ()
    found = as_good(question)
    assert isinstance(found, AsGood)
    assert 0 < found.share <= 1
    for learner, n in (("greedy-cover", 60), ("tiles", 200)):
        others, _ = finished(learner, n)
        assert {share_question(others, i + 1) for i in range(len(others.records))} == {None}
    with pytest.raises(ValueError, match="outside"):
        share_question(log, 9)


def test_the_watch_ends_annealing() -> None:
    points, labels = cornered(16, 50, 1)
    looks = itertools.count()

    def watch() -> None:
        if next(looks) == 3:
            raise InterruptedError

    annealing = Annealing(
        counted(points, labels, 16), HalfplaneLattice(16), score_of("disjunction", labels), 0.3, 3
    )
    with pytest.raises(InterruptedError):
        annealing.run(watch)
