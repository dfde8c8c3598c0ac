"""What a cover's run asks its sampler for."""

from typing import Any

import pytest

from learners.cover import cover_run


def watched_selections(monkeypatch: pytest.MonkeyPatch) -> list[tuple[Any, float]]:
    """The score and the rate of every selection from now on, in turn; the list grows."""
    made, asked = cover_run.make_selection, []

    class Watched:
        def __init__(self, *arguments: Any) -> None:
            self.inner = made(*arguments)

        def select(self, counts: Any, score: Any, rate: float, *others: Any) -> Any:
            asked.append((score, rate))
            return self.inner.select(counts, score, rate, *others)

    monkeypatch.setattr(cover_run, "make_selection", Watched)
    return asked
