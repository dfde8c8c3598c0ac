"""What a cover's run asks its sampler for."""

from typing import Any

import pytest

from learners.cover import cover_run


def watched_selections(monkeypatch: pytest.MonkeyPatch) -> list[tuple[Any, float]]:
    """The score and the rate of every selection from now on, in turn; the list grows."""
    asked: list[tuple[Any, float]] = []

    class Watched:
        def __init__(self, inner: Any) -> None:
            self.inner = inner

        def select(self, counts: Any, score: Any, rate: float, *others: Any) -> Any:
            asked.append((score, rate))
            return self.inner.select(counts, score, rate, *others)

    for name in ("EnvelopeSelection", "ArrangementSelection"):
        made = getattr(cover_run, name)
        monkeypatch.setattr(
            cover_run, name, lambda *arguments, made=made: Watched(made(*arguments))
        )
    return asked
