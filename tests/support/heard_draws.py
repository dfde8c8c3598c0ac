"""What is asked of the two draws that nearly all others are made of, and answers of one's own.

Their laws are enumerated in test_noise and test_exponential_mechanism.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np

from learners.curved import selection as selections
from learners.privacy.randomness import SeededRandom


def silent_noise(monkeypatch: Any, module: Any, noise: Sequence[int] | None = None) -> list[Any]:
    """Scale and count of every noise that the module draws from now on; the list grows.

    It is zero, or as given.
    """
    asked = []

    def array(source: object, scale: object, count: int) -> Any:
        asked.append((scale, count))
        return np.array([0] * count if noise is None else noise[:count], dtype=np.int64)

    monkeypatch.setattr(module, "discrete_laplace_array", array)
    if hasattr(module, "discrete_laplace"):
        monkeypatch.setattr(module, "discrete_laplace", lambda *given: int(array(*given, 1)[0]))
    return asked


def heard_choices(monkeypatch: Any, module: Any, index: int = 0) -> list[Any]:
    """Scores, rate and multiplicities of every list that the module draws from; it gets `index`."""
    heard = []

    def choose(source: object, scores: Any, rate: object, multiplicities: object = None) -> int:
        heard.append((np.asarray(scores).tolist(), rate, multiplicities))
        return index

    monkeypatch.setattr(module, "exponential_index", choose)
    return heard


def assert_listed(
    monkeypatch: Any, selection: Any, law: tuple[Any, ...], pieces: list[Any], values: Any
) -> None:
    """The selection draws from the list of these pieces by these scores, at the rate of its law."""
    for index in {0, len(pieces) - 1, *range(3, len(pieces), 1 + len(pieces) // 40)}:
        heard = heard_choices(monkeypatch, selections, index)
        assert selection.select(*law, SeededRandom(1)).piece == pieces[index]
        assert heard == [(np.asarray(values).tolist(), law[2], None)]
