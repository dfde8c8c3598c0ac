"""What a run looks for next, and what it came to, in whole sentences.

The aim and the summary are private, as they count examples; what is published is not.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from geodp_app.formatting import SPACE, amount, count, counted, percentage
from geodp_app.runs.figures import FiguresView
from geodp_app.runs.run_log import RunLog
from geodp_app.runs.why import Why
from learners.core.accuracy import Check
from learners.core.releases import Release, support_words
from learners.cover.set_cover import rate_before_sharpening
from learners.privacy.accounting import ChargeName


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
        wanted = f"outside it as many of the {count(left)} negatives left"
        spared = "positives"
    elif log.role == "disjunction":
        left = log.positives if known is None else known.positives_alive - known.positives_taken
        wanted = f"as many of the {count(left)} uncovered positives"
        spared = "negatives"
    else:
        return ""
    piece = declared.piece or "piece"
    aim = f"Next: a {piece} with {wanted} and as few {spared} as possible."
    return aim + _likelier(log)


def _likelier(log: RunLog, *, sharpening: bool = False) -> str:
    """How the odds follow the score."""
    privacy = log.privacy
    act: ChargeName = "sharpening" if sharpening else "selections"
    charge = None if privacy is None else privacy.charge(act)
    if charge is None:
        return " The best one is taken." if not log.settings.declared.private else ""
    rate = charge.each
    if log.settings.sharpened and not sharpening:
        known = log.records[-1].diagnostics if log.records else None
        left = log.positives if known is None else known.positives_alive - known.positives_taken
        rate = rate_before_sharpening(rate, left, log.positives)
    times = f"e^{amount(rate, 2)}"
    if rate < math.log(1_000):
        times += f" ≈ {amount(math.exp(rate), 3)}"
    return f" One example better is {times} times as likely."


def summary(log: RunLog, *, clipped: bool = False) -> Why:
    """What a finished run came to, and what it publishes."""
    release, end = log.release, log.figures(len(log.records))
    assert release is not None
    said = (_gained(log), _errors(log, end), published_words(release, clipped=clipped))
    return Why(" ".join(said), "", True)


def _gained(log: RunLog) -> str:
    """How many pieces, and what each was chosen for."""
    piece, made = log.settings.declared.piece or "step", log.triangles
    if not made:
        return f"{counted(len(log.records), 'tile')}, each labelled by its own examples."
    gains = [max(0, right - wrong) for right, wrong in map(log.gain, range(1, made + 1))]
    gained = _listed([count(gain) if gain else "none" for gain in gains])
    if made == 1:
        return f"One {piece}, chosen for what it labels rightly: {gained} examples."
    if log.role == "conjunction":
        return (
            f"{count(made)} {piece}s bound the shape, each chosen for the negatives that it leaves "
            f"out, less the positives: {gained}."
        )
    return (
        f"{count(made)} {piece}s cover the shape, each chosen for the positives that no earlier "
        f"one covers, less the negatives: {gained}."
    )


def _errors(log: RunLog, end: FiguresView) -> str:
    test, empirical, *_ = end.errors
    held_out = "" if test is None else f", {percentage(test)} of others"
    text = f"Wrong at the end: {percentage(empirical)} of the examples{held_out}."
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
    three = any(len(step.halfplanes) == 3 for step in pieces)
    held = [counted(len(pieces), "triangle" if three else "piece")] if pieces else []
    labels = "their edges drawn again" if pieces else f"the labels of {counted(tiles, 'tile')}"
    held += [labels] if tiles else []
    drawn = ("selections", "sharpening")
    held += [charge.name for charge in privacy.charges if charge.name not in drawn]
    seeded = "" if privacy.private else " in name only: a seeded run is not private"
    told = [f"May be published: {_listed(held)}. ε = {amount(privacy.epsilon)} is spent{seeded}."]
    check, support = Check.of(release), support_words(release)
    told += [] if check is None else [check.words(clipped=clipped)]
    told += [f"{support[0].upper()}{support[1:]}."] if support else []
    return " ".join(told).replace(" %", f"{SPACE}%")


def _listed(parts: Sequence[str]) -> str:
    return " and ".join(filter(None, (", ".join(parts[:-1]), *parts[-1:])))
