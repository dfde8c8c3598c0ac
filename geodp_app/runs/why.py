"""Why a step chose its piece, in whole sentences.  Private: they count examples.

The score is spelled out with its own numbers (:mod:`learners.core.selection`), so that a reader can
add it up; the noisy count in it is published, everything else is not.
"""

from __future__ import annotations

from dataclasses import dataclass

from geodp_app.formatting import SPACE, amount, count, decimal
from geodp_app.runs.protocol import AsGood
from geometry.edge_zones import EdgeZone
from learners.core.records import StepRecord, StepRelease, TileStep
from learners.core.selection import Role
from learners.declaration import Learner

#: Estimated shares below this are no more than "less than" their upper end.
_LEAST_PERCENT = 0.01
#: What a piece is called.
_PIECES = {1: "halfplane", 3: "triangle"}
#: What is said of the last tile or zone, if more is changed than it.
_TIDIED = (
    " It is the last: slits and teeth at borders that noise alone explains are gone now, and "
    "what was drawn of one side is one line."
)


@dataclass(frozen=True, slots=True)
class Why:
    """What is said of one step.

    Attributes
    ----------
    what : str
        What the piece did, with the numbers of its score; or that it found nothing.
    odds : str
        How likely a piece as good was; empty where that is not known.
    found : bool
        Whether the step gained anything.
    """

    what: str
    odds: str
    found: bool


def why(
    record: StepRecord,
    learner: Learner,
    role: Role | None,
    k: int,
    as_good: AsGood | None = None,
    wrong_before: int | None = None,
) -> Why:
    """Sentences about a step.

    Parameters
    ----------
    record : StepRecord
    learner : Learner
        What is declared of the run's learner.
    role : {"disjunction", "conjunction"} or None
        Of the run.
    k : int
        Of the run; read where the step has a noisy count.
    as_good : AsGood, optional
    wrong_before : int, optional
        Of the zone of an edge, how many of its examples were labelled wrongly before the step.
    """
    name = piece_name(record.release, learner)
    if record.release.zone is not None:
        what, found = _zone(record, record.release.zone, wrong_before)
    elif record.release.tile is not None:
        what, found = _tile(record)
    else:
        what, found = _cover(record, name, role, k)
    if record.release.tidied is not None:
        what += _TIDIED
    return Why(what, odds_words(as_good) if found else "", found)


def piece_name(release: StepRelease | TileStep, learner: Learner) -> str:
    """A halfplane, a triangle, or what the learner declares its pieces to be."""
    if release.tile is not None:
        return "halfplane" if len(release.piece) == 1 else "piece"
    halfplanes = len(release.halfplanes)
    if learner.piece == "halfplane" and halfplanes != 1:
        return "piece"  # that of a threshold that labels everything 0
    return _PIECES.get(halfplanes, learner.piece or "piece")


def odds_words(as_good: AsGood | None) -> str:
    """How much of the probability pieces as good or better had."""
    if as_good is None:
        return ""
    chance = "Chance of one as good or better:"
    if as_good.exact:
        return f"{chance} {_percent(as_good.share)}."
    low, high = _percent(as_good.low), _percent(as_good.high)
    if 100 * as_good.share < _LEAST_PERCENT:
        return f"{chance} less than {high} (estimated)."
    return f"{chance} {_percent(as_good.share)} (estimated: {low} to {high})."


def _percent(share: float) -> str:
    return f"{amount(100 * share, 2)}{SPACE}%"


def score_words(gained: int, lost: int, left: int, need: float | None, score: float) -> str:
    """The score as an equation of its numbers, where they make it.

    Parameters
    ----------
    gained, lost, left : int
        Examples that the piece decided rightly and wrongly, and those it should have but did not.
    need : float or None
        b/k; None for a learner without a noisy count, whose score is what is gained less what is
        lost, or minus what is wrong.
    score : float
    """
    if need is None and score == gained - lost:
        return f"Score: {count(gained)} − {count(lost)} = {decimal(score)}."
    if need is None and score == -left - lost:
        wrong = f"{_minus(left)} (left open) − {count(lost)} (wrong)"
        return f"Score: {wrong} = {decimal(score)}."
    if need is None:
        return f"Score: {decimal(score)}."
    short = gained - need
    signed = f"{count(gained)} {'−' if need >= 0 else '+'} {decimal(abs(need))}"
    return f"Score, the worse of {signed} = {decimal(short)} and {_minus(lost)}: {decimal(score)}."


def _minus(value: int) -> str:
    return f"−{count(value)}" if value else "0"


def _cover(record: StepRecord, name: str, role: Role | None, k: int) -> tuple[str, bool]:
    known, b = record.diagnostics, record.release.threshold
    right, wrong = known.positives_taken, known.negatives_taken
    still, verb, labels = known.positives_alive, "Covers", ("positive", "negative")
    if role == "conjunction":
        right, wrong, still = wrong, right, known.negatives_alive
        verb, labels = "Cuts off", ("negative", "positive")
    need = None if b is None else b / k
    score = score_words(right, wrong, still - right, need, known.score)
    wanted = ""
    if need is not None:
        enough = f"{decimal(need)} or more" if need > 0 else "any number, even none"
        of = f"noisy count {count(b)} over k = {k}" + (f": {decimal(need)}" if need <= 0 else "")
        wanted = f"Wanted: {enough} ({of}) and no {labels[1]}. "
    if right == 0:
        what = (
            f"Found nothing: the draw fell on a {name} that takes none of the "
            f"{_examples(still, labels[0])} still open. {score}"
        )
        return what, False
    what = (
        f"{verb} {count(right)} of the {_examples(still, labels[0])} left and "
        f"{_wrongly(wrong, labels[1])}. {wanted}{score}"
    )
    return what, right > wrong


def _wrongly(wrong: int, label: str) -> str:
    return f"{count(wrong) if wrong else 'no'} {label} one{'s' if wrong > 1 else ''}"


def _examples(many: int, label: str) -> str:
    return f"{count(many)} {label} example{'' if many == 1 else 's'}"


def _tile(record: StepRecord) -> tuple[str, bool]:
    known, step = record.diagnostics, record.release
    held = known.positives_alive + known.negatives_alive
    wrong = round(-known.score)
    edges = len(step.piece)
    where = f"The tile holds {count(held)} example{'' if held == 1 else 's'}"
    mistakes = f"{count(wrong)} of them wrong: score {decimal(-wrong)}."
    if not edges:
        what = f"{where}. All of it is labelled {int(step.inside)}, {mistakes}"
        return what, False
    by = "A halfplane labels" if edges == 1 else f"{edges} halfplanes label"
    inside = int(step.inside)
    what = f"{where}. {by} it {inside} inside and {1 - inside} outside, {mistakes}"
    return what, True


def _zone(record: StepRecord, zone: EdgeZone, before: int | None) -> tuple[str, bool]:
    known, step = record.diagnostics, record.release
    held = known.positives_alive + known.negatives_alive
    wrong = round(-known.score)
    draws = f"Draws {zone.name} again"
    if not held:
        return f"{draws}; no example is nearest to it. Score: 0.", False
    near = f"among the {count(held)} examples" if held > 1 else "by the one example"
    were = "" if before is None else f" ({count(before) if before else 'none'} before)"
    mistakes = f"{count(wrong) if wrong else 'none'} wrongly{were}. Score: {decimal(-wrong)}."
    inside, edges = int(step.inside), len(step.piece)
    if not edges:
        are = "all are" if held > 1 else "it is"
        what = f"No edge is needed: {are} labelled {inside}, {mistakes}"
    else:
        by = "A halfplane labels" if edges == 1 else f"{edges} halfplanes label"
        them = "them" if held > 1 else "it"
        what = f"{by} {them} {inside} inside and {1 - inside} outside, {mistakes}"
    return f"{draws}, {near} nearest to it. {what}", edges > 0
