"""The share of edges as good as the chosen one, against laws enumerated over small lattices."""

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

from geodp_app.runs.edge_law import as_good
from geodp_app.runs.protocol import ShadeQuestion, ShareQuestion
from geodp_app.runs.questions import share_question
from geometry.halfplane import Halfplane, HalfplaneLattice
from learners.core.records import inside_piece
from learners.core.selection import Score, set_cover_score
from learners.cover.arrangement_selection import ArrangementSelection
from learners.envelope.envelope_selection import EnvelopeSelection
from learners.privacy.randomness import SeededRandom

LATTICES = {"chord": HalfplaneLattice(3, bits=0), "paper": HalfplaneLattice(2, "paper", bits=0)}

masks = cache(lambda measure: pieces_by_mask(LATTICES[measure], 1)[1])


def score_of(role: str, labels: np.ndarray) -> Score:
    positives = int(labels.sum())
    return set_cover_score(role, 2, 5, positives, len(labels) - positives)  # type: ignore[arg-type]


def law(
    measure: str, points: np.ndarray, labels: np.ndarray, score: Score, rate: float
) -> Counter[int]:
    """Probability of each score, over all halfplanes of the lattice."""
    places = [mask_of((grid_points(LATTICES[measure].d) == p).all(axis=1)) for p in points]
    weights: Counter[int] = Counter()
    for mask, count in masks(measure).items():
        held = np.array([bool(mask & place) for place in places], dtype=np.bool_)
        value = score.value(int((held & labels).sum()), int((held & ~labels).sum()))
        weights[value] += count * math.exp(rate * value)  # type: ignore[assignment]
    total = math.fsum(weights.values())
    return Counter({value: weight / total for value, weight in weights.items()})


@pytest.mark.parametrize("role", ["disjunction", "conjunction"])
@pytest.mark.parametrize(("measure", "edges"), [("chord", 1), ("paper", 1), ("chord", 3)])
def test_shares_are_those_of_the_enumerated_laws(measure: str, edges: int, role: str) -> None:
    """Exact among few lines; among many, intervals are of two standard errors, so one in twenty may
    miss it."""
    held = [one for seed in range(4) for one in shares_held(measure, edges, role, seed)]
    assert len(held) == 4 * edges
    assert sum(held) >= 0.75 * len(held)


def shares_held(measure: str, edges: int, role: str, seed: int) -> list[bool]:
    """Whether the intervals hold the enumerated shares; all that is certain is asserted."""
    lattice = LATTICES[measure]
    points, labels = cornered(lattice.d, 20, seed)
    score, rate = score_of(role, labels), 0.35
    kind = "halfplane" if edges == 1 else "triangle"
    counts = counted(points, labels, lattice.d)
    selection = EnvelopeSelection(lattice, kind, table_bytes=1 << 20)  # type: ignore[arg-type]
    drawn = selection.select(counts, score, rate, SeededRandom(seed)).piece
    piece = tuple(h for h in drawn if isinstance(h, Halfplane))
    held = inside_piece(piece, points)
    value = score.value(int((held & labels).sum()), int((held & ~labels).sum()))
    step = ShadeQuestion(points, labels, lattice, score, rate, ())
    exact = as_good(ShareQuestion(step, piece))
    found = as_good(ShareQuestion(replace(step, most_lines=-1), piece))
    inside = []
    for e, (one, other) in enumerate(zip(exact, found, strict=True)):
        mask = inside_piece(piece[:e] + piece[e + 1 :], points)
        expected = law(measure, points[mask], labels[mask], score, rate)
        share = math.fsum(p for v, p in expected.items() if v >= value)
        assert one.exact
        assert one.low == one.high == one.share == pytest.approx(share, abs=1e-9)
        assert not other.exact
        assert abs(other.share - share) <= other.high - other.low < 0.3
        inside.append(other.low <= share <= other.high)
    return inside


def test_draws_for_the_curator_are_independent_draws_from_the_law() -> None:
    lattice = HalfplaneLattice(8)
    points, labels = cornered(8, 12, 3)
    score, counts = score_of("disjunction", labels), counted(points, labels, 8)
    expected: Counter[int] = Counter()
    for outcome in arrangement_law(ArrangementSelection(lattice, "halfplane"), counts, score, 0.9):
        expected[outcome.value] += outcome.probability  # type: ignore[assignment]
    selection = EnvelopeSelection(lattice, "halfplane", table_bytes=1 << 20)
    pieces = selection.draw_for_curator(counts, score, 0.9, 3000, 10**7)
    assert len(pieces) >= 2000
    seen: Counter[int] = Counter()
    for piece in pieces:
        held = inside_piece(piece, points)
        seen[score.value(int((held & labels).sum()), int((held & ~labels).sum()))] += 1
    assert_drawn_from(expected, seen, len(pieces), outcomes=5)


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
        return drawn

    assert two(True) == two(False)


def test_a_run_asks_about_covers_that_are_drawn() -> None:
    log, _ = finished("convex-cover", 60)
    question = share_question(log, 2)
    assert question.piece == log.records[1].release.piece
    assert question.step.others == ()
    assert all(0 < found.share <= 1 for found in as_good(question))
    for learner, n in (("greedy-cover", 60), ("tiles", 200)):
        others, _ = finished(learner, n)
        assert {share_question(others, i + 1) for i in range(len(others.records))} == {None}
    with pytest.raises(ValueError, match="outside"):
        share_question(log, 9)


@pytest.mark.parametrize("most_lines", [120, 0])
def test_the_watch_ends_the_answer(most_lines: int) -> None:
    log, _ = finished("cover")
    question = share_question(log, 1)
    looks = itertools.count()

    def watch() -> None:
        if next(looks) == 3:
            raise InterruptedError

    question = replace(question, step=replace(question.step, most_lines=most_lines))
    with pytest.raises(InterruptedError):
        as_good(question, watch)
