"""Draws of the envelope sampler against the law that the arrangement enumerates."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest
from arrangement_laws import arrangement_law
from chi_square import assert_drawn_from
from counted import counted, of_rows
from quick_draws import QuickBits, one_sample

from geometry.halfplane import HalfplaneLattice
from learners.arrangement_selection import ArrangementSelection
from learners.envelope import envelope_selection
from learners.envelope.envelope_selection import EnvelopeSelection
from learners.envelope.target import Target, make_target
from learners.records import inside_piece
from learners.scores import Score, set_cover_score
from learners.selection import Selected


def random_examples(d: int, n: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Positives around one corner, with a few labels flipped and a repeated point."""
    rng = np.random.default_rng(seed)
    points = rng.integers(0, d + 1, (n, 2))
    points[-1] = points[0]
    labels = (points.sum(axis=1) < d) ^ (rng.random(n) < 0.15)
    return points, labels


def score_of(role: str, k: int, labels: np.ndarray, noisy: int) -> Score:
    """The role's score for these labels."""
    positives = int(labels.sum())
    return set_cover_score(role, k, noisy, positives, len(labels) - positives)


def assert_same_law(
    selection: EnvelopeSelection,
    points: np.ndarray,
    labels: np.ndarray,
    score: Score,
    rate: float,
    draws: int,
    seed: int,
) -> list[Selected]:
    """Chi-square of the classifications drawn against the enumerated law; the draws."""
    oracle = ArrangementSelection(selection.lattice, selection.piece)
    law: Counter[tuple[bool, ...]] = Counter()
    counts = counted(points, labels, selection.lattice.d)
    for outcome in arrangement_law(oracle, counts, score, rate):
        law[of_rows(outcome.inside, counts, points)] += outcome.probability
    source = QuickBits(seed)
    drawn: Counter[tuple[bool, ...]] = Counter()
    with one_sample():
        selected = [selection.select(counts, score, rate, source) for _ in range(draws)]
    for one in selected:
        inside = inside_piece(one.piece, points)
        drawn[tuple(bool(x) for x in inside)] += 1
    assert_drawn_from(law, drawn, draws, outcomes=5)
    return selected


def factorise_everything(monkeypatch: pytest.MonkeyPatch) -> None:
    """No box is too long to be factorised."""
    plain = make_target

    def wide(lattice: HalfplaneLattice, *arguments: object) -> Target:
        target = plain(lattice, *arguments)  # type: ignore[arg-type]
        return target._replace(narrow=lattice.high - lattice.low)

    monkeypatch.setattr(envelope_selection, "make_target", wide)
