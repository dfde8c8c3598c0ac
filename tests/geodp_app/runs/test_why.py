"""Why a step chose its piece: the sentences' numbers are the examples', counted one by one."""

from __future__ import annotations

import re
from dataclasses import replace
from functools import cache

import numpy as np
import pytest
from finished_runs import logged

from geodp import Examples, Frame
from geodp_app.document.work import RunSettings
from geodp_app.runs.protocol import AsGood
from geodp_app.runs.questions import shade_question
from geodp_app.runs.run_log import RunLog
from geodp_app.runs.why import odds_words, score_words, why
from learners.core.records import StepRecord, StepRelease, TileStep, inside_piece

GRID, N, K = 64, 2_000, 3
_NUMBER = r"(−?[\d,]+(?:\.\d+)?)"


def sample(n: int = N) -> tuple[np.ndarray, np.ndarray]:
    """A diamond, with three labels of a hundred flipped."""
    rng = np.random.default_rng(1)
    points = rng.integers(0, GRID + 1, (n, 2))
    return points, (np.abs(points - 30).sum(axis=1) < 22) ^ (rng.random(n) < 0.03)


@cache
def finished(learner: str) -> RunLog:
    """A run to its end; a greedy search ends early, on few examples."""
    points, labels = sample(40 if learner == "greedy-cover" else N)
    settings = RunSettings(learner, epsilon=2.0, k=K, n_steps=6, seed=2, tiles=3, finish="none")
    given = {"max_boxes": 4096} if learner == "greedy-cover" else {}
    return logged(settings, Examples(points, labels.astype(np.int64), Frame(GRID)), **given)


def said(log: RunLog, record: StepRecord) -> str:
    return why(record, log.settings.declared, log.role, K)


def number(text: str) -> float:
    return float(text.replace(",", "").replace("−", "-"))


def numbers(pattern: str, text: str) -> list[float]:
    """Numbers of a sentence that is all there."""
    found = re.fullmatch(pattern.replace("#", _NUMBER), text)
    assert found, f"{text!r} is not {pattern!r}"
    return [number(each) for each in found.groups() if each is not None]


def near(value: float) -> object:
    """To the two decimals that are written."""
    return pytest.approx(value, abs=0.005001)


def counted(log: RunLog, record: StepRecord) -> tuple[int, int, int]:
    """Examples still open, and those that the piece decides rightly and wrongly; by hand."""
    points, labels = log._examples.points, log._examples.labels
    outside, still = log.role == "conjunction", np.ones(len(points), dtype=bool)
    for earlier in log.records[: record.step]:
        taken = inside_piece(earlier.release.piece, points) != outside
        before, still = still, still & ~taken
    decided, wanted = before & ~still, labels != outside
    return (
        int((before & wanted).sum()),
        int((decided & wanted).sum()),
        int((decided & ~wanted).sum()),
    )


@pytest.mark.parametrize(
    ("learner", "verb", "right", "wrong"),
    [
        ("cover", "Covers", "positive", "negative"),
        ("discs", "Covers", "positive", "negative"),
        ("convex-cover", "Cuts off", "negative", "positive"),
    ],
)
def test_a_step_of_a_cover_says_what_it_decided_and_how_its_score_adds_up(
    learner, verb, right, wrong
):
    log = finished(learner)
    assert len(log.records) - log.gains.count(0) > 2
    for record in log.records:
        b = record.release.threshold  # type: ignore[union-attr]
        still, gained, lost = counted(log, record)
        if not gained:
            assert f"takes none of the {still} {right} examples" in said(log, record)
            continue
        what, score = said(log, record).split(" Score, the worse of ")
        pattern = (
            rf"{verb} # of the # {right} examples? left and (?:#|no) {wrong} ones?\. "
            rf"Wanted: # or more \(noisy count # over k = #\) and no {wrong}\."
        )
        found = numbers(pattern, what)
        assert found == [gained, still, *([lost] if lost else []), near(b / K), b, K]
        one, need, short, loss, total = numbers(r"# − # = # and #: #\.", score)
        assert (one, loss) == (gained, -lost)
        assert need == near(b / K)
        assert short == near(gained - b / K)
        assert total == near(min(gained - b / K, -lost))
        assert total == near(record.diagnostics.score)


@pytest.mark.parametrize("learner", ["greedy-cover", "greedy-convex"])
def test_a_greedy_step_gains_less_what_it_loses(learner: str) -> None:
    log = finished(learner)
    for record in log.records:
        still, gained, lost = counted(log, record)
        what, score = said(log, record).split(" Score: ")
        assert "b/k" not in what
        assert numbers(r"\D+# of the # .*", what)[:2] == [gained, still]
        one, other, total = numbers(r"# − # = #\.", score)
        assert (one, other, total) == (gained, lost, gained - lost)
        assert total == record.diagnostics.score


@pytest.mark.parametrize("learner", ["convex", "threshold"])
def test_a_halfplane_that_is_fitted_scores_minus_what_is_wrong(learner: str) -> None:
    log = finished(learner)
    gaining = [record for record in log.records if counted(log, record)[1]]
    assert gaining
    for record in gaining:
        still, gained, lost = counted(log, record)
        what, score = said(log, record).split(" Score: ")
        assert numbers(r"Cuts off # of the # .*", what)[:2] == [gained, still]
        left, wrong, total = numbers(r"# \(left open\) − # \(wrong\) = #\.", score)
        assert (left, wrong) == (gained - still, lost)
        assert total == left - wrong == record.diagnostics.score


def test_the_score_of_a_step_is_the_question_that_is_asked_about_it() -> None:
    """What other places are judged by is what the sentence says, in the same examples."""
    for learner in ("cover", "convex-cover", "convex", "threshold", "tiles", "greedy-convex"):
        log = finished(learner)
        for record in (each for each in log.records if each.release.piece):
            question = shade_question(log, record.step)
            held = inside_piece(record.release.piece, question.points)
            positives = int((held & question.labels).sum())
            value = question.score.value(positives, int(held.sum()) - positives)
            assert value / question.score.k == pytest.approx(record.diagnostics.score)


def test_a_tile_says_what_it_holds_and_how_many_are_wrong() -> None:
    log = finished("tiles")
    points, labels = sample()
    edges = set()
    for record in log.records:
        step = record.release
        assert isinstance(step, TileStep)
        here = step.tile.holds(points)
        wrong = int((step.predict(points[here]) != labels[here]).sum())
        what = said(log, record)
        held, mistakes, score = numbers(
            r"The tile holds # examples\. .*, # of them wrong: score #\.", what
        )
        assert (held, mistakes, score) == (here.sum(), wrong, record.diagnostics.score)
        inside, many = int(step.inside), len(step.piece)
        edges.add(many)
        if many:
            by = "A halfplane labels" if many == 1 else f"{many} halfplanes label"
            assert f" {by} it {inside} inside and {1 - inside} outside, " in what
        else:
            assert f" All of it is labelled {inside}, " in what
    assert 0 in edges
    assert len(edges) > 1


def test_a_step_that_takes_nothing_right_says_that_it_found_nothing() -> None:
    log = finished("cover")
    first = log.records[0]
    empty = replace(
        first.diagnostics, positives_taken=0, negatives_taken=2, positives_alive=37, score=-2.0
    )
    record = StepRecord(7, 15, StepRelease(first.release.piece, 3), empty)
    found = why(record, log.settings.declared, "disjunction", K)
    assert found == (
        "Found nothing: this triangle takes none of the 37 positive examples "
        "still open. Score, the worse of 0 − 1 = −1 and −2: −2."
    )


@pytest.mark.parametrize(
    ("known", "words"),
    [
        ((AsGood(0.123, 0.123, 0.123, exact=True),), "one as good or better: 12\u00a0%."),
        ((AsGood(1.0, 1.0, 1.0, exact=True),), "one as good or better: 100\u00a0%."),
        (
            (AsGood(0.0456, 0.03, 0.0802, exact=False),),
            "one as good or better: 4.6\u00a0% (estimated: 3 to 8\u00a0%).",
        ),
        (
            (
                AsGood(0.0, 0.0, 0.02, exact=False),
                AsGood(0.5, 0.5, 0.5, exact=True),
                AsGood(0.0002, 0.0, 0.001, exact=False),
            ),
            "an edge as good, the others given: less than 2\u00a0%, 50\u00a0% and 0.02\u00a0% "
            "(estimated).",
        ),
    ],
)
def test_odds_are_shares_in_percent_and_say_when_they_are_estimates(known, words):
    assert odds_words(known) == f"Chance of {words}"
    assert odds_words(()) == ""


def test_a_score_that_its_numbers_do_not_make_stands_alone() -> None:
    assert score_words(5, 2, 4, None, -1.5) == "Score: −1.5."
    assert score_words(721, 0, 9, 705.25, 0) == (
        "Score, the worse of 721 − 705.25 = 15.75 and 0: 0."
    )


def test_a_noisy_count_below_nought_reads_as_a_sentence() -> None:
    log = finished("cover")
    first = log.records[0]
    last = replace(
        first.diagnostics, positives_taken=1, negatives_taken=0, positives_alive=1, score=0.0
    )
    record = StepRecord(9, 15, StepRelease(first.release.piece, -834), last)
    assert why(record, log.settings.declared, "disjunction", 4) == (
        "Covers 1 of the 1 positive example left and no negative one. Wanted: any number, even "
        "none (noisy count −834 over k = 4: −208.5) and no negative. Score, the worse of "
        "1 + 208.5 = 209.5 and 0: 0."
    )
