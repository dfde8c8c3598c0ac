"""Draws of the envelope sampler against the law that the arrangement enumerates."""

from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import ModuleType

import numpy as np
import pytest
from arrangement_laws import arrangement_law
from chi_square import assert_drawn_from, power
from counted import counted, of_rows
from numpy.typing import NDArray
from quick_draws import QuickBits, one_sample

from geometry.grid_counts import GridCounts
from geometry.halfplane import Halfplane, HalfplaneLattice
from learners.core.records import inside_piece
from learners.core.selection import Score, Selected, set_cover_score
from learners.cover.arrangement_selection import ArrangementSelection
from learners.envelope import close_pairs, envelope_selection, race, strands
from learners.envelope.boxes import SHEETS
from learners.envelope.envelope_selection import EnvelopeSelection
from learners.envelope.partition import BOXES
from learners.envelope.target import Target, make_target
from learners.privacy.randomness import SeededRandom


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


def _by_rows(rows: list[tuple[bool, ...]], probabilities: np.ndarray) -> Counter[tuple[bool, ...]]:
    """The law of classifications, which several outcomes of an arrangement may share."""
    law: Counter[tuple[bool, ...]] = Counter()
    for inside, probability in zip(rows, probabilities.tolist(), strict=True):
        law[inside] += probability
    return law


def assert_same_law(
    selection: EnvelopeSelection,
    points: np.ndarray,
    labels: np.ndarray,
    score: Score,
    rate: float,
    draws: int,
    seed: int,
    *,
    surely: float = 0.995,
    off: float = 0.25,
) -> list[Selected]:
    """Chi-square of the classifications drawn against the enumerated law; the draws.

    There must be enough of them: a rate that is higher or lower by the share `off` is caught with
    probability above `surely`.
    """
    oracle = ArrangementSelection(selection.lattice, selection.piece)
    counts = counted(points, labels, selection.lattice.d)
    outcomes = arrangement_law(oracle, counts, score, rate)
    rows = [of_rows(outcome.inside, counts, points) for outcome in outcomes]
    law = _by_rows(rows, np.array([outcome.probability for outcome in outcomes]))
    values = np.array([outcome.value for outcome in outcomes])
    for wrong in (1 - off, 1 + off):
        tilt = np.exp((wrong - 1) * rate * (values - values.max()))
        weights = tilt * [outcome.probability for outcome in outcomes]
        assert power(law, _by_rows(rows, weights / weights.sum()), draws) > surely
    source = QuickBits(seed)
    drawn: Counter[tuple[bool, ...]] = Counter()
    with one_sample():
        selected = [selection.select(counts, score, rate, source) for _ in range(draws)]
    for one in selected:
        inside = inside_piece(one.piece, points)
        drawn[tuple(bool(x) for x in inside)] += 1
    assert_drawn_from(law, drawn, draws, outcomes=5)
    return selected


def factorise_everything(
    monkeypatch: pytest.MonkeyPatch, module: ModuleType = envelope_selection
) -> None:
    """No box is too long to be factorised in draws of that module, or too early for triangles."""
    plain = make_target

    def wide(lattice: HalfplaneLattice, *arguments: object) -> Target:
        target = plain(lattice, *arguments)  # type: ignore[arg-type]
        return target._replace(narrow=lattice.high - lattice.low)

    monkeypatch.setattr(module, "make_target", wide)
    monkeypatch.setattr(strands, "_PLAIN_BOXES", 0)


def pair_all(patch: pytest.MonkeyPatch) -> None:
    """Whatever may be a close pair is one, in cells as large as the square."""
    patch.setattr(close_pairs, "_FEW", 1 << 40)
    patch.setattr(close_pairs, "_LEAST", 1)
    patch.setattr(close_pairs, "_SHARE", 1.0)
    patch.setattr(close_pairs, "_EXAMPLES_IN_CELL", 1 << 40)


@contextmanager
def watched_strands(
    look: Callable[[list[strands.Strand]], None] = lambda _: None,
) -> Iterator[list[strands.Strand]]:
    """The strands of a draw as they are at its end; `look` is called before every slice of work."""
    seen: list[strands.Strand] = []
    plain = race.strands_behind

    def spy(now: list[strands.Strand]) -> list[strands.Strand]:
        seen[:] = now
        look(now)
        return plain(now)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(race, "strands_behind", spy)
        yield seen


def strands_of_a_draw(
    selection: EnvelopeSelection, counts: GridCounts, score: Score, rate: float
) -> list[strands.Strand]:
    """The strands of one seeded draw, as they are at its end."""
    with watched_strands() as seen:
        selection.select(counts, score, rate, SeededRandom(3))
    return seen


def pieces_in_boxes(
    strand: strands.Strand, lattice: HalfplaneLattice, count: int, rng: np.random.Generator
) -> Iterator[tuple[NDArray[np.int64], tuple[Halfplane, ...]]]:
    """Some of its boxes, with a triangle each: of those drawn, the ones in the class."""
    boxes = strand.partition.boxes[: strand.partition.tally[BOXES]]
    for box in boxes[rng.integers(0, len(boxes), count)]:
        piece = []
        for e in range(3):
            u = int(rng.integers(box[4 * e], box[4 * e + 1]))
            v = int(rng.integers(box[4 * e + 2], box[4 * e + 3]))
            if lattice.admits(u, v):
                sheet = lattice.sheets[int(box[SHEETS]) >> (3 * e) & 7]
                piece.append(lattice.halfplane(sheet, u, v))
        if len(piece) == 3:
            yield box, tuple(piece)
