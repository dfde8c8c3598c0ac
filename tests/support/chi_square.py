"""Draws against the law that they must follow, and how surely they tell another law from it."""

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import stats

#: Chi-square rejects the law itself with about this probability.
LEVEL = 1e-3

#: Outcomes expected less often than this are judged together.
LEAST = 8


def assert_drawn_from(
    law: Mapping[Any, float], drawn: Mapping[Any, int], draws: int, outcomes: int
) -> None:
    """Chi-square must not reject; the seed is fixed, so it does so always or never.

    Parameters
    ----------
    law : mapping
        Each outcome's probability.
    drawn : Counter
        How often it was drawn; never what the law does not hold.
    draws : int
    outcomes : int
        How many outcomes at least must be judged one by one, for the test to tell something.
    """
    assert set(drawn) <= set(law)
    common = _common(law, draws)
    observed = [drawn[outcome] for outcome in common]
    expected = [law[outcome] * draws for outcome in common]
    rest = draws - sum(expected)
    if rest >= LEAST:
        observed.append(draws - sum(observed))
        expected.append(rest)
    else:
        expected = [each * sum(observed) / sum(expected) for each in expected]
    assert len(common) >= outcomes
    assert stats.chisquare(observed, expected).pvalue > LEVEL


def assert_counted(weights: ArrayLike, counts: NDArray[Any], outcomes: int) -> None:
    """The same of outcomes 0..n-1, and of weights that need not sum to 1."""
    law = np.asarray(weights, dtype=float)
    drawn = [int(count) for count in counts]
    assert not any(count for count, weight in zip(drawn, law, strict=True) if weight == 0)
    of_law = dict(enumerate((law / law.sum()).tolist()))
    assert_drawn_from(of_law, dict(enumerate(drawn)), sum(drawn), outcomes)


def power(law: Mapping[Any, float], other: Mapping[Any, float], draws: int) -> float:
    """Probability that :func:`assert_drawn_from` fails for so many draws from another law.

    By the noncentral chi-square distribution, with the outcomes pooled as there.
    """
    common = _common(law, draws)
    p, q = (np.array([each[outcome] for outcome in common]) for each in (law, other))
    if (1 - p.sum()) * draws < LEAST:
        p, q = p / p.sum(), q / q.sum()
    else:
        p, q = np.append(p, 1 - p.sum()), np.append(q, 1 - q.sum())
    degrees = len(p) - 1
    shift = draws * float(((q - p) ** 2 / p).sum())
    return float(stats.ncx2.sf(stats.chi2.isf(LEVEL, degrees), degrees, shift))


def _common(law: Mapping[Any, float], draws: int) -> list[Any]:
    return [outcome for outcome, p in law.items() if p * draws >= LEAST]
