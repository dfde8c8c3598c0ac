"""Declared learners at the edge: the short version of `benchmarks/extremes.py --registry`."""

from types import ModuleType

import pytest
from programs import program

from learners.registry import BY_ID

#: Whose runs take a moment at every size.
QUICK = (
    "tiles", "histogram", "quadtree", "conjunction", "private-parity", "parity",
    "private-finite-class", "private-empirical-risk", "consistent-disjunction",
)  # fmt: skip


@pytest.fixture
def extremes(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    return program("extremes", monkeypatch)


@pytest.mark.parametrize("name", QUICK)
def test_a_declared_learner_ends_on_few_examples(name: str, extremes: ModuleType) -> None:
    cases = list(extremes.declared_cases(BY_ID[name]))
    assert len(cases) >= 7
    outcome = [work().split(":")[0] for _, work in cases]
    assert set(outcome) <= {"ends", "refuses"}
    assert outcome.count("ends") > len(outcome) / 2


def test_every_declared_learner_has_cases(extremes: ModuleType) -> None:
    for learner in BY_ID.values():
        size = extremes.domains(learner)[0]
        extremes.built(learner, size, 1.0)
        assert len(list(extremes.few(learner, size))) == 7


def test_a_refusal_of_several_lines_is_a_finding(extremes: ModuleType) -> None:
    assert extremes.refusal(ValueError("give k")) == "refuses: give k"
    for text in ("", "two\nlines", "x" * 401):
        with pytest.raises(AssertionError, match="no clear line"):
            extremes.refusal(ValueError(text))
