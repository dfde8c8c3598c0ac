"""What a cover's run asks its sampler for."""

from typing import Any

import pytest

from learners.cover.arrangement_selection import ArrangementSelection
from learners.envelope.envelope_selection import EnvelopeSelection


def watched_selections(monkeypatch: pytest.MonkeyPatch) -> list[tuple[Any, float]]:
    """The score and the rate of every selection from now on, in turn; the list grows."""
    asked: list[tuple[Any, float]] = []

    def watched(select: Any) -> Any:
        def asking(own: Any, counts: Any, score: Any, rate: float, *others: Any) -> Any:
            asked.append((score, rate))
            return select(own, counts, score, rate, *others)

        return asking

    for sampler in (EnvelopeSelection, ArrangementSelection):
        monkeypatch.setattr(sampler, "select", watched(sampler.select))
    return asked
