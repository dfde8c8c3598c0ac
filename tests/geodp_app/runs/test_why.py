"""Why a step chose its piece, and how likely others were in its place, by counting."""

import itertools
import math
import re
from dataclasses import replace
from functools import cache

import numpy as np
import pytest
from any_pieces import all_halfplanes, holds
from finished_runs import begun, logged

from geodp import Examples, Frame
from geodp_app.document.work import RunSettings
from geodp_app.runs.odds import Candidate, ConicQuestion, WhatIf, centres_inside, ratio_words
from geodp_app.runs.protocol import AsGood, ShadeQuestion
from geodp_app.runs.questions import shade_question
from geodp_app.runs.run_log import RunLog
from geodp_app.runs.why import aim_words, odds_words, published_words, score_words, summary, why
from geometry.halfplane import HalfplaneLattice, Sheet
from geometry.lift import Conic, ConicLattice
from learners.core.records import Piece, StepRecord, StepRelease, TileStep, inside_piece
from learners.core.selection import POWER, Score, mistakes_score, set_cover_score

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


@pytest.mark.parametrize(
    ("learner", "said"),
    [
        ("discs", "One disc covers the shape. Positives that it covers, less negatives: "),
        (
            "threshold",
            "One halfplane bounds the shape. Negatives that it leaves out, less positives: ",
        ),
    ],
)
def test_one_piece_is_said_to_gain_what_it_decides_rightly_less_wrongly(learner, said):
    points, labels = sample()
    settings = RunSettings(learner, epsilon=2.0, k=1, n_steps=1, seed=2)
    log = logged(settings, Examples(points, labels.astype(np.int64), Frame(GRID)))
    (record,) = log.records
    _, right, wrong = counted(log, record)
    assert min(right, wrong) > 0
    words = summary(log).partition(". Wrong")[0]
    assert words.startswith(said)
    assert number(words.rpartition(" ")[2]) == right - wrong


@pytest.mark.parametrize(
    ("learner", "label", "said"),
    [
        ("cover", 0, "One triangle covers nothing. "),
        ("threshold", 1, "One halfplane bounds nothing. "),
    ],
)
def test_pieces_that_gain_nothing_are_not_said_to_make_the_shape(learner, label, said):
    points, k = sample()[0], None if learner == "threshold" else 1
    settings = RunSettings(learner, epsilon=20.0, k=k, n_steps=k, seed=2)
    log = logged(settings, Examples(points, np.full(len(points), label), Frame(GRID)))
    assert summary(log).startswith(said)


def test_a_threshold_that_labels_everything_0_is_no_triangle() -> None:
    """It takes three halfplanes to say so."""
    points = np.array([(0, 0), (0, GRID), (GRID, 0), (GRID, GRID)] * 20)
    settings = RunSettings("threshold", epsilon=20.0, seed=2)
    log = logged(settings, Examples(points, np.zeros(80, dtype=np.int64), Frame(GRID)))
    assert log.release is not None
    assert len(log.records[0].release.halfplanes) == 3
    assert ": 1 piece." in published_words(log.release)


def test_a_seeded_run_is_not_said_to_be_publishable() -> None:
    release = finished("tiles").release
    assert release is not None
    for private, begins in ((False, "Not to be published"), (True, "May be published: ")):
        told = replace(release, privacy=replace(release.privacy, private=private))
        assert published_words(told).startswith(begins)
        assert ("is spent in name only" in published_words(told)) != private


def test_the_end_says_of_which_examples_and_of_which_shape_its_errors_are() -> None:
    points, labels = sample()
    settings = RunSettings("tiles", epsilon=2.0, tiles=2, check=0.3, seed=2)
    log = logged(settings, Examples(points, labels.astype(np.int64), Frame(GRID)))
    seen = sum(r.diagnostics.positives_alive + r.diagnostics.negatives_alive for r in log.records)
    assert seen < len(points)
    assert " of the examples not kept for the check" in summary(log)
    assert "Wrong before the shape was clipped: " in summary(log, clipped=True)
    assert summary(log).startswith("4 tiles make up the square, each with labels of its own. ")
    one = logged(settings.with_(tiles=1), log.work.examples)
    assert summary(one).startswith("One tile is the whole square. Wrong at the end: ")


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


# -- candidates in place of a chosen halfplane -----------------------------------------------------


LATTICE = HalfplaneLattice(3, "chord", 1)
CLASS = all_halfplanes(LATTICE)
RNG = np.random.default_rng(6)
POINTS = RNG.integers(0, 4, size=(23, 2))
LABELS = POINTS.sum(axis=1) < 3
LABELS[::7] = ~LABELS[::7]
#: Most of the square, not all of it.
OTHERS: Piece = (
    LATTICE.halfplane(Sheet.FLAT_ABOVE, 1, 0),
    LATTICE.halfplane(Sheet.STEEP_LEFT, 6, 4),
)
SCORES = {
    "disjunction": set_cover_score("disjunction", 3, 14, 11, 12),
    "conjunction": set_cover_score("conjunction", 2, 9, 11, 12),
    "mistakes": mistakes_score(11),
}
ETA = 0.7


def counts(piece: Piece) -> tuple[int, int]:
    """Positive and negative examples in a piece, one by one."""
    found = [0, 0]
    for (x, y), label in zip(POINTS.tolist(), LABELS.tolist(), strict=True):
        if all(holds(halfplane, x, y) for halfplane in piece):
            found[0 if label else 1] += 1
    return found[0], found[1]


def question(score: Score, others: Piece = OTHERS, rate: float | None = None) -> ShadeQuestion:
    rate = ETA / score.k if rate is None else rate
    return ShadeQuestion(POINTS, LABELS, LATTICE, score, rate, others)


@pytest.mark.parametrize("name", SCORES)
@pytest.mark.parametrize(("edge", "others"), [(0, ()), (0, OTHERS), (1, OTHERS), (2, OTHERS)])
def test_counts_scores_and_odds_are_those_of_the_exponential_mechanism(name, edge, others):
    """Over the whole class: the odds are those of two probabilities that sum to 1."""
    score, chosen = SCORES[name], CLASS[77]
    piece = (*others[:edge], chosen, *others[edge:])
    what_if = WhatIf(question(score, others), piece, edge)
    candidates = [what_if.judge(halfplane) for halfplane in CLASS]
    values = []
    for halfplane, candidate in zip(CLASS, candidates, strict=True):
        assert candidate.piece == (*others[:edge], halfplane, *others[edge:])
        held = counts(candidate.piece)
        assert (candidate.positives, candidate.negatives) == held
        values.append(score.value(*held) / score.k)
        assert candidate.score == values[-1]
    weights = np.exp(ETA * np.array(values))
    law = weights / weights.sum()
    assert len(set(values)) > 3
    at_chosen = law[CLASS.index(chosen)]
    odds = [candidate.log_odds for candidate in candidates]
    assert odds == pytest.approx(np.log(law / at_chosen).tolist(), abs=1e-9)
    assert odds[CLASS.index(chosen)] == 0


def test_without_a_law_there_are_no_odds() -> None:
    what_if = WhatIf(question(SCORES["mistakes"], (), rate=0.0), (CLASS[5],), 0)
    candidate = what_if.judge(CLASS[9])
    assert candidate.log_odds is None
    assert "likely" not in candidate.words
    assert candidate.words.startswith(f"{candidate.positives} positive, {candidate.negatives} ")


def test_the_words_are_the_numbers() -> None:
    candidate = Candidate(OTHERS, 1234, 56, -3.25, math.log(8))
    assert candidate.words == (
        "1,234 positive, 56 negative: score −3.25; 8 times more likely than the chosen one"
    )


@pytest.mark.parametrize("log_odds", [-40.0, -9.0, -4.7, -0.5, 0.02, 1.0, 4.5, 9.1, 9.3, 700.0])
def test_odds_are_said_as_times_or_as_a_power_of_ten(log_odds: float) -> None:
    words = ratio_words(log_odds)
    found = re.fullmatch(r"(\S+) times (more|less) likely than the chosen one", words)
    assert found
    assert found.group(2) == ("more" if log_odds > 0 else "less")
    times = found.group(1)
    if times.startswith("10") and times[2:].translate(PLAIN).isdigit():
        assert int(times[2:].translate(PLAIN)) == round(abs(log_odds) / math.log(10))
        assert abs(log_odds) > math.log(1e4)
    else:
        assert float(times.replace(",", "")) == pytest.approx(math.exp(abs(log_odds)), rel=0.05)


PLAIN = str.maketrans("⁰¹²³⁴⁵⁶⁷⁸⁹", "0123456789")


def test_what_is_as_likely_is_said_to_be() -> None:
    for log_odds in (0.0, 0.009, -0.009):
        assert ratio_words(log_odds) == "as likely as the chosen one"


# where else a disc or an ellipse could be: counts, scores and odds against exact membership

SAMPLE = np.random.default_rng(8).integers(0, 65, size=(400, 2))
INSIDE = (SAMPLE[:, 0] - 30) ** 2 + (SAMPLE[:, 1] - 25) ** 2 < 300


def some(kind: str) -> Conic:
    lattice = ConicLattice(64, kind)
    unit = 1 << lattice.bits
    form = (13.5,) if kind == "disc" else (20.25, 9.0, -11.5)
    return lattice.conic(*(round(value * unit) for value in (31.0, 27.5, *form)))


@pytest.mark.parametrize("kind", ["disc", "ellipse"])
def test_every_pixel_counts_what_the_conic_holds_when_it_is_centred_there(kind: str) -> None:
    conic, resolution = some(kind), 23
    counts = centres_inside(conic, SAMPLE, resolution)
    unit, wrong = 1 << conic.lattice.bits, 0
    for i in range(resolution):
        for j in range(resolution):
            p, q = ((c + 0.5) * 64 / resolution for c in (i, j))
            # a lattice point is not the pixel's centre: points near the outline may differ
            near = [
                conic.lattice.conic(x, y, *conic.parameters[2:])
                for x in (math.floor(p * unit), math.ceil(p * unit))
                for y in (math.floor(q * unit), math.ceil(q * unit))
            ]
            held = [int(np.count_nonzero(each.contains(SAMPLE))) for each in near]
            wrong += not min(held) <= counts[i, j] <= max(held)
    assert wrong == 0


@pytest.mark.parametrize("kind", ["disc", "ellipse"])
def test_odds_are_those_of_the_exponential_mechanism_over_centres(kind: str) -> None:
    conic, lattice, rate = some(kind), ConicLattice(64, kind, bits=0), 0.05
    chosen = lattice.conic(*(round(v / (1 << conic.lattice.bits)) for v in conic.parameters))
    score = set_cover_score("disjunction", 2, 120, int(INSIDE.sum()), int((~INSIDE).sum()))
    question = ConicQuestion(chosen, SAMPLE, INSIDE, score, rate)

    def weighed(other: Conic) -> tuple[int, int, int, float]:
        held = other.contains(SAMPLE)
        positives, negatives = int((held & INSIDE).sum()), int((held & ~INSIDE).sum())
        value = score.value(positives, negatives)
        return positives, negatives, value, (1 - rate * value / POWER) ** -POWER

    base = weighed(chosen)[3]
    for p, q in itertools.product(range(0, 65, 8), repeat=2):
        other = lattice.conic(p, q, *chosen.parameters[2:])
        positives, negatives, value, weight = weighed(other)
        judged = question.judge(other)
        assert (judged.positives, judged.negatives) == (positives, negatives)
        assert judged.score == value / score.k
        assert judged.log_odds == pytest.approx(math.log(weight / base), abs=1e-9)


def test_a_choice_that_was_not_drawn_has_no_odds() -> None:
    conic = some("disc")
    judged = ConicQuestion(conic, SAMPLE, INSIDE, Score(1, 0, 0, total=True), 0.0).judge(conic)
    assert judged.log_odds is None
    assert "likely" not in judged.words


def test_centres_stay_in_the_square() -> None:
    question = ConicQuestion(some("disc"), SAMPLE, INSIDE, Score(1, 0, 0), 0.1)
    assert question.at(-3.0, 5.0) is None
    assert question.at(5.0, 64.4) is None
    found = question.at(12.25, 63.5)
    assert found.centre == (12.25, 63.5)
    assert found.parameters[2:] == question.conic.parameters[2:]


@pytest.mark.parametrize(
    ("learner", "piece"), [("cover", "a triangle"), ("discs", "a disc"), ("ellipses", "an ellipse")]
)
def test_what_comes_next_is_named(learner: str, piece: str) -> None:
    points, labels = sample()
    examples = Examples(points, labels.astype(np.int64), Frame(GRID))
    aim = aim_words(begun(RunSettings(learner, k=K), examples))
    assert aim.startswith(f"Next: {piece} with as many of the {labels.sum():,} uncovered positives")
