"""How much of a step's law is held by pieces as good as the one that it drew, or better.

For one halfplane and few lines: exactly, by the cells.  For one halfplane and many lines: by
independent draws from the law.  For a triangle, whose draws are too rare: by annealing
(:mod:`learners.envelope.annealing`).  Private, and nothing that is released depends on it.

Complexity: as :mod:`geodp_app.runs.shading`; for a triangle a second or a few.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from geodp_app.runs.protocol import AsGood, ShareQuestion
from geodp_app.runs.shading import (
    Held,
    arrange_all,
    draws,
    multiplicities,
    no_watch,
    probabilities,
    signatures,
)
from geometry.grid_counts import GridCounts
from learners.records import Piece, inside_piece

#: Standard errors on either side of an interval.  An annealed population's own estimate of them is
#: now and then half of what it should be: with three, 94 of 96 intervals held the share.
_ERRORS, _ANNEALED_ERRORS = 2.0, 3.0


def as_good(question: ShareQuestion, watch: Callable[[], None] = no_watch) -> AsGood:
    """The share of the law held by pieces that score as much as the chosen one, or more.

    Parameters
    ----------
    question : ShareQuestion
    watch : callable, optional
        Called several times a second; what it raises ends the work.
    """
    least = int(_values(question, [question.piece])[0])
    if len(question.piece) > 1:
        return _by_annealing(question, least, watch)
    distinct = np.unique(question.step.points, axis=0)
    if len(distinct) <= question.step.most_lines:
        return _by_cells(question, distinct, least, watch)
    return _by_draws(question, least, watch)


def _by_cells(
    question: ShareQuestion, distinct: NDArray[np.int64], least: int, watch: Callable[[], None]
) -> AsGood:
    step = question.step
    arrangements = arrange_all(step.lattice, distinct, watch)
    weights = multiplicities(Held(step.points, step.labels), distinct, step.lattice)
    values = []
    for arrangement in arrangements:
        counts = signatures(arrangement) @ weights
        values.append(step.score.values(counts[:, 1], counts[:, 0]))
    shares = probabilities(arrangements, values, step.rate)
    good = [s[v >= least].sum() for v, s in zip(values, shares, strict=True)]
    share = min(1.0, math.fsum(good))
    return AsGood(share, share, share, exact=True)


def _by_draws(question: ShareQuestion, least: int, watch: Callable[[], None]) -> AsGood:
    step = question.step
    drawn, _ = draws(step, GridCounts.of_examples(step.points, step.labels, step.lattice.d), watch)
    # the chosen halfplane is a draw from that law, too
    found: list[Piece] = [(halfplane,) for halfplane in drawn] or [question.piece]
    good = int(np.count_nonzero(_values(question, found) >= least))
    return AsGood(good / len(found), *_wilson(good, len(found)), exact=False)


def _wilson(good: int, n: int) -> tuple[float, float]:
    """Wilson's interval of a share, `good` of n draws."""
    share, z = good / n, _ERRORS**2 / n
    middle = (share + z / 2) / (1 + z)
    reach = math.sqrt(z * share * (1 - share) + z * z / 4) / (1 + z)
    return max(0.0, middle - reach), min(1.0, middle + reach)


def _by_annealing(question: ShareQuestion, least: int, watch: Callable[[], None]) -> AsGood:
    # compiled: not to be loaded by the window's process
    from learners.envelope.annealing import Annealing

    step = question.step
    examples = GridCounts.of_examples(step.points, step.labels, step.lattice.d)
    annealing = Annealing(examples, step.lattice, step.score, step.rate, len(question.piece))
    share, error = annealing.run(watch).share(least)
    reach = _ANNEALED_ERRORS * error
    return AsGood(share, max(0.0, share - reach), min(1.0, share + reach), exact=False)


def _values(question: ShareQuestion, pieces: list[Piece]) -> NDArray[np.int64]:
    """Scores of pieces."""
    step, counts = question.step, np.zeros((2, len(pieces)), dtype=np.int64)
    for i, piece in enumerate(pieces):
        inside = step.labels[inside_piece(piece, step.points)]
        counts[1, i] = np.count_nonzero(inside)
        counts[0, i] = len(inside) - counts[1, i]
    return step.score.values(counts[1], counts[0])
