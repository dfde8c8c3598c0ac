"""Draws against the law that they must follow."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from scipy import stats


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
    # outcomes expected fewer than eight times are judged together
    common = [outcome for outcome, p in law.items() if p * draws >= 8]
    observed = [drawn[outcome] for outcome in common]
    expected = [law[outcome] * draws for outcome in common]
    rest = draws - sum(expected)
    if rest >= 8:
        observed.append(draws - sum(observed))
        expected.append(rest)
    else:
        expected = [each * sum(observed) / sum(expected) for each in expected]
    assert len(common) >= outcomes
    assert stats.chisquare(observed, expected).pvalue > 1e-3
