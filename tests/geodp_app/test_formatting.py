"""Numbers are written one way everywhere."""

import math

import pytest
from hypothesis import given, strategies as st
from step_figures import with_errors

from geodp_app.formatting import amount, count, counted, duration, percentage
from geodp_app.runs.figures import (
    ErrorScale,
    FiguresView,
    Selecting,
    budget_text,
    step_ticks,
)
from learners.core.selection import SelectionProgress


@pytest.mark.parametrize(
    ("share", "text"),
    [
        (0, "0 %"),
        (0.00001, "< 0.01 %"),
        (0.0054, "0.54 %"),
        (0.09996, "10.0 %"),
        (1, "100.0 %"),
        (None, "–"),
        (math.nan, "–"),
    ],
)
def test_percentages(share: float | None, text: str) -> None:
    assert percentage(share).replace("\u00a0", " ") == text


@pytest.mark.parametrize(
    ("value", "text"), [(0, "0"), (999, "999"), (12430, "12,430"), (-12345, "−12,345"), (None, "–")]
)
def test_counts(value: int | None, text: str) -> None:
    assert count(value) == text


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (0, "0"),
        (0.0653, "0.0653"),
        (999.6, "1,000"),
        (1e-6, "10⁻⁶"),
        (-3.25e-9, "−3.25·10⁻⁹"),
        (math.inf, "–"),
        (None, "–"),
    ],
)
def test_amounts(value: float | None, text: str) -> None:
    assert amount(value) == text


@pytest.mark.parametrize(
    ("seconds", "text"),
    [
        (0.25, "250 ms"),
        (0.9996, "1.0 s"),
        (9.96, "10 s"),
        (99.6, "1.7 min"),
        (36000, "10.0 h"),
        (None, "–"),
    ],
)
def test_durations(seconds: float | None, text: str) -> None:
    assert duration(seconds).replace("\u00a0", " ") == text


@given(st.floats(1e-4, 1e5))
def test_a_longer_time_is_never_written_as_a_shorter_one(seconds: float) -> None:
    units = {"ms": 1e-3, "s": 1.0, "min": 60.0, "h": 3600.0}
    number, unit = duration(seconds).split("\u00a0")
    assert float(number) * units[unit] == pytest.approx(seconds, rel=0.06, abs=6e-4)


def test_the_budget_is_spent_of_epsilon() -> None:
    view = FiguresView(step=3, steps=12, epsilon=1.0, epsilon_so_far=0.25)
    assert budget_text(view) == "0.25 of ε = 1"
    assert view.share_spent == 0.25
    assert budget_text(FiguresView(epsilon=2.0)) == "ε = 2"
    assert budget_text(FiguresView(guarantee="greedy", epsilon=1.0)) == "–"
    assert FiguresView(epsilon=1.0, epsilon_so_far=1.0 + 1e-12).share_spent == 1


def test_how_hard_a_selection_is() -> None:
    selecting = Selecting(4, SelectionProgress(12430, 8112, 0.0), 1.2)
    assert selecting.text().replace("\u00a0", " ") == "Selecting… 12,430 trials, 8,112 boxes, 1.2 s"
    assert Selecting(4).text() == "Selecting…"


POINTS = st.lists(
    st.builds(
        lambda step, fp, fn, test: with_errors(step, fp + fn, fp, fn, test),
        st.integers(0, 99),
        st.floats(0, 0.5),
        st.floats(0, 0.5),
        st.none() | st.floats(0, 1),
    ),
    max_size=20,
).map(tuple)


@given(POINTS, st.booleans(), st.integers(2, 12))
def test_all_errors_and_ticks_lie_on_the_scale(points, log, most):
    scale = ErrorScale.of(points, log=log)
    bottom, top = scale.ends()
    assert bottom < top
    shares = [share for p in points for share in p.errors if share is not None]
    heights = scale.heights(shares)
    assert ((bottom <= heights) & (heights <= top)).all()
    ticks = scale.ticks(most)
    assert len(ticks) <= most
    assert all(bottom <= height <= top for height, _ in ticks)
    assert len({text for _, text in ticks}) == len(ticks)


def test_ticks_are_round() -> None:
    plain = ErrorScale(False, 0.0, 0.44)
    assert [text.replace("\u00a0", " ") for _, text in plain.ticks(6)] == [
        "0 %",
        "10 %",
        "20 %",
        "30 %",
        "40 %",
    ]
    log = ErrorScale(True, 0.0008, 0.3)
    assert [text.replace("\u00a0", " ") for _, text in log.ticks(3)] == ["0.1 %", "1 %", "10 %"]


@given(st.integers(0, 5000), st.integers(2, 40))
def test_step_ticks_are_few_and_start_at_nothing(last: int, most: int) -> None:
    ticks = step_ticks(last, most)
    assert ticks[0] == 0
    assert ticks[-1] <= last
    assert len(ticks) <= most


def test_one_of_something_is_not_some_of_it() -> None:
    said = [counted(n, "new point") for n in (0, 1, 2, 12_430)]
    assert said == ["no new points", "1 new point", "2 new points", "12,430 new points"]
