"""Explains in whole sentences why a step chose its piece, what a run looks for next, and what it
came to.  Private, as they count examples; what is published is not.

The score is spelled out with its own numbers (:mod:`learners.core.selection`), so that a reader can
add it up; the noisy count in it is published, everything else is not.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from geodp_app.formatting import SPACE, amount, count, counted, decimal, percentage
from geodp_app.runs.figures import FiguresView
from geodp_app.runs.protocol import AsGood
from geodp_app.runs.run_log import RunLog
from geometry.tiling import EdgeZone
from learners.core.learned_shape import check_of
from learners.core.records import StepRecord, StepRelease, TileStep
from learners.core.releases import PiecesRelease, Release, support_words
from learners.core.selection import Role
from learners.cover.set_cover import rate_before_sharpening
from learners.declaration import Learner
from learners.privacy.accounting import ChargeName

#: Estimated shares below this are no more than "less than" their upper end.
_LEAST_PERCENT = 0.01
#: What a piece is called.
_PIECES = {1: "halfplane", 3: "triangle"}
#: What is said of the last tile or zone, if more is changed than it.
_TIDIED = (
    " It is the last: slits and teeth at borders that noise alone explains are gone now, and "
    "what was drawn of one side is one line."
)


#: Said of the numbers of a step in a run with a check.
UNSEEN = " Counted without the examples that are kept for the check."


def why(
    record: StepRecord, learner: Learner, role: Role | None, k: int, wrong_before: int | None = None
) -> str:
    """Sentences about a step: what the piece did, with the numbers of its score; or that it found
    nothing.

    Parameters
    ----------
    learner : Learner
        What is declared of the run's learner.
    role : {"disjunction", "conjunction"} or None
        Of the run.
    k : int
        Of the run; read where the step has a noisy count.
    wrong_before : int, optional
        Of the zone of an edge, how many of its examples were labelled wrongly before the step.
    """
    if record.release.zone is not None:
        what = _zone(record, record.release.zone, wrong_before)
    elif record.release.tile is not None:
        what = _tile(record)
    else:
        what = _cover(record, _piece_name(record.release, learner), role, k)
    return what + (_TIDIED if record.release.tidied is not None else "")


def _piece_name(release: StepRelease | TileStep, learner: Learner) -> str:
    """A halfplane, a triangle, or what the learner declares its pieces to be."""
    halfplanes = len(release.halfplanes)
    if learner.piece == "halfplane" and halfplanes != 1:
        return "piece"  # that of a threshold that labels everything 0
    return _PIECES.get(halfplanes, learner.piece or "piece")


def odds_words(as_good: Sequence[AsGood]) -> str:
    """How much of the probability halfplanes as good or better had, of edges 1, 2, ... in order;
    empty where that is not known."""
    shares = []
    for each in as_good:
        little = not each.exact and 100 * each.share < _LEAST_PERCENT
        shares.append(f"less than {_percent(each.high)}" if little else _percent(each.share))
    estimated = "" if all(each.exact for each in as_good) else "estimated"
    if len(shares) > 1:
        end = f" ({estimated})" if estimated else ""
        return f"Chance of an edge as good, the others given: {_listed(shares)}{end}."
    for share, each in zip(shares, as_good, strict=True):
        low, high = amount(100 * each.low, 2), _percent(each.high)
        interval = f" ({estimated}: {low} to {high})" if estimated else ""
        return f"Chance of one as good or better: {share}{interval}."
    return ""


def _percent(share: float) -> str:
    return f"{amount(100 * share, 2)}{SPACE}%"


def score_words(gained: int, lost: int, left: int, need: float | None, score: float) -> str:
    """The score as an equation of its numbers, where they make it.

    `gained`, `lost`, `left`: examples that the piece decided rightly and wrongly, and those
    it should have but did not.  `need`: b/k; None for a learner without a noisy count, whose score
    is what is gained less what is lost, or minus what is wrong.
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


def _cover(record: StepRecord, name: str, role: Role | None, k: int) -> str:
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
        return (
            f"Found nothing: this {name} takes none of the {_examples(still, labels[0])} still "
            f"open. {score}"
        )
    return (
        f"{verb} {count(right)} of the {_examples(still, labels[0])} left and "
        f"{count(wrong) if wrong else 'no'} {labels[1]} one{'s' if wrong > 1 else ''}. "
        f"{wanted}{score}"
    )


def _examples(many: int, label: str) -> str:
    return f"{count(many)} {label} example{'' if many == 1 else 's'}"


def _tile(record: StepRecord) -> str:
    known, step = record.diagnostics, record.release
    held = known.positives_alive + known.negatives_alive
    wrong = round(-known.score)
    where = f"The tile holds {count(held)} example{'' if held == 1 else 's'}"
    mistakes = f"{count(wrong)} of them wrong: score {decimal(-wrong)}."
    return f"{where}. {_labelled(step, 'All of it is', 'it')}, {mistakes}"


def _labelled(step: StepRelease | TileStep, alone: str, them: str) -> str:
    """How a piece labels what is looked at; `alone` begins the sentence where it has no edge."""
    inside, edges = int(step.inside), len(step.piece)
    if not edges:
        return f"{alone} labelled {inside}"
    by = "A halfplane labels" if edges == 1 else f"{edges} halfplanes label"
    return f"{by} {them} {inside} inside and {1 - inside} outside"


def _zone(record: StepRecord, zone: EdgeZone, before: int | None) -> str:
    known, step = record.diagnostics, record.release
    held = known.positives_alive + known.negatives_alive
    wrong = round(-known.score)
    draws = f"Draws {zone.name} again"
    if not held:
        return f"{draws}; no example is nearest to it. Score: 0."
    near = f"among the {count(held)} examples" if held > 1 else "by the one example"
    were = "" if before is None else f" ({count(before) if before else 'none'} before)"
    mistakes = f"{count(wrong) if wrong else 'none'} wrongly{were}. Score: {decimal(-wrong)}."
    are, them = ("all are", "them") if held > 1 else ("it is", "it")
    what = _labelled(step, f"No edge is needed: {are}", them)
    return f"{draws}, {near} nearest to it. {what}, {mistakes}"


def aim_words(log: RunLog) -> str:
    """What the next step of a run will look for; empty where none is to come."""
    if log.release is not None or (log.planned and len(log.records) >= log.planned):
        return ""
    declared, pieces = log.settings.declared, log.first_act
    last = log.records[-1] if log.records else None
    if log.settings.sharpened and pieces and len(log.records) >= pieces:
        aim = (
            "Next: an edge drawn again, with as few mistakes as possible among the examples "
            "nearest to it."
        )
        return aim + _likelier(log, sharpening=True)
    if log.settings.by_tiles:
        return "Next: the piece with the fewest mistakes in the next tile."
    known = None if last is None else last.diagnostics
    if log.role == "conjunction":
        left = log.negatives if known is None else known.negatives_alive - known.negatives_taken
        wanted = "outside it as many of the {}negatives left"
        spared = "positives"
    elif log.role == "disjunction":
        left = log.positives if known is None else known.positives_alive - known.positives_taken
        wanted = "as many of the {}uncovered positives"
        spared = "negatives"
    else:
        return ""
    piece = declared.piece or "piece"
    article = "an" if piece[0] in "aeiou" else "a"
    # before the first step nobody knows how many are kept for a check
    many = "" if known is None and log.settings.checked else f"{count(left)} "
    aim = f"Next: {article} {piece} with {wanted.format(many)} and as few {spared} as possible."
    return aim + _likelier(log)


def _likelier(log: RunLog, *, sharpening: bool = False) -> str:
    """How the odds follow the score."""
    privacy = log.privacy
    act: ChargeName = "sharpening" if sharpening else "selections"
    charge = None if privacy is None else privacy.charge(act)
    if charge is None:
        return " The best one is taken." if not log.settings.declared.private else ""
    rate, about = charge.each, ""
    if log.settings.sharpened and not sharpening:
        # the step's own rate goes by a noisy count that is drawn with it
        about = "about "
        known = log.records[-1].diagnostics if log.records else None
        left = log.positives if known is None else known.positives_alive - known.positives_taken
        rate = rate_before_sharpening(rate, left, log.positives)
    times = f"e^{amount(rate, 2)}"
    if rate < math.log(1_000):
        times += f" ≈ {amount(math.exp(rate), 3)}"
    return f" One example better is {about}{times} times as likely."


def summary(log: RunLog, *, clipped: bool = False) -> str:
    """What a finished run came to, and what it publishes."""
    release, end = log.release, log.figures(len(log.records))
    assert release is not None
    errors = _errors(log, end, clipped=clipped)
    return f"{_gained(log)} {errors} {published_words(release, clipped=clipped)}"


def _gained(log: RunLog) -> str:
    """How many pieces, and what each of them gained."""
    piece, made = log.settings.declared.piece or "step", log.triangles
    if not made:
        tiles = len(log.records)
        each = f"{count(tiles)} tiles make up the square, each with labels of its own."
        return each if tiles > 1 else "One tile is the whole square."
    gained = _listed([count(gain) if gain else "none" for gain in log.gains[:made]])
    what, less, does = "Positives that no earlier one covers", "negatives", "cover"
    if log.role == "conjunction":
        what, less, does = "Negatives that no earlier one leaves out", "positives", "bound"
    if made == 1:
        what, many = what.replace("no earlier one", "it"), f"One {piece} {does}s"
    else:
        many = f"{count(made)} {piece}s {does}"
    shape = "the shape" if any(log.gains[:made]) else "nothing"
    return f"{many} {shape}. {what}, less {less}: {gained}."


def _errors(log: RunLog, end: FiguresView, *, clipped: bool) -> str:
    test, empirical, *_ = end.errors
    held_out = "" if test is None else f", {percentage(test)} of others"
    seen = " not kept for the check" if log.settings.checked else ""
    when = "before the shape was clipped" if clipped else "at the end"
    text = f"Wrong {when}: {percentage(empirical)} of the examples{seen}{held_out}."
    if log.settings.sharpened and log.triangles:
        before = log.figures(log.triangles).errors[1]
        text = f"Wrong after the triangles: {percentage(before)}. {text}"
    return text


def published_words(release: Release, *, clipped: bool = False) -> str:
    """What a release holds, by what was charged for it, what it costs, how right it is if that was
    checked, and where it had reports."""
    privacy = release.privacy
    if privacy is None:
        return "Nothing to publish: no noise was drawn, so the shape is not private."
    pieces = [step for step in release.steps if step.tile is None]
    tiles = len(release.steps) - len(pieces)
    meets = isinstance(release, PiecesRelease) and release.role == "conjunction"
    three = not meets and any(len(step.halfplanes) == 3 for step in pieces)
    held = [counted(len(pieces), "triangle" if three else "piece")] if pieces else []
    edges = f"{'its' if len(pieces) == 1 else 'their'} edges drawn again"
    labels = edges if pieces else f"the labels of {counted(tiles, 'tile')}"
    held += [labels] if tiles else []
    drawn = ("selections", "sharpening")
    held += [charge.name for charge in privacy.charges if charge.name not in drawn]
    may, spent = "May be published", "is spent"
    if not privacy.private:
        may, spent = "Not to be published, as a seeded run is not private", "is spent in name only"
    told = [f"{may}: {_listed(held)}. ε = {amount(privacy.epsilon)} {spent}."]
    check, support = check_of(release), support_words(release)
    told += [] if check is None else [check.words(clipped=clipped)]
    told += [f"{support[0].upper()}{support[1:]}."] if support else []
    return " ".join(told).replace(" %", f"{SPACE}%")


def _listed(parts: Sequence[str]) -> str:
    return " and ".join(filter(None, (", ".join(parts[:-1]), *parts[-1:])))
