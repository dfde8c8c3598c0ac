"""Poses questions about the steps of a run, from its log; says what one report changes, and what
may still be asked after a run by votes.  Private.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np

from geodp_app.document.examples import Examples
from geodp_app.formatting import amount
from geodp_app.runs.odds import ConicQuestion
from geodp_app.runs.protocol import Change, ReportQuestion, ShadeQuestion, ShareQuestion, WhyNone
from geodp_app.runs.run_log import RunLog
from geometry.arrays import Flags
from geometry.halfplane import HalfplaneLattice
from geometry.lift import Conic
from learners.core.records import inside_piece
from learners.core.selection import Score, mistakes_score, set_cover_score
from learners.cover.set_cover import score_k
from learners.privacy.accounting import PrivacySpent


def halts_left(log: RunLog) -> int | None:
    """How many questions may still go without an answer; None of a run that is not remembered."""
    if log.questions:
        return log.questions[-1].release.halts_left
    return None if log.votes is None else log.votes.halts_left + log.settings["kept"]


def refusal(log: RunLog | None, ready: bool) -> str:
    """Why no point can be asked about, in a sentence; empty if one can.

    `ready`: whether the learner's process holds the chunks of this run.
    """
    if log is None or "votes" not in log.settings.declared.shows:
        return "Points are asked about after a run of the learner Triangles by votes."
    if log.release is None:
        return "Points can be asked about when the run is finished."
    if not log.settings["kept"]:
        return "This run kept no halt for you: set “Kept for you” to 1 or more, and run again."
    left = halts_left(log)
    if left == 0:
        return "The halts are used up: no more points are answered."
    if not ready or left is None:
        return "The chunks of this run are gone: sessions do not keep them. Run again to ask."
    if log.questions and log.questions[-1].release.queries_left == 0:
        return "The queries are used up: no more points are answered."
    return ""


def shade_question(log: RunLog, step: int, edge: int = 0, resolution: int = 96) -> ShadeQuestion:
    """Why was this halfplane chosen in that step, the piece's others given?  Raises ValueError if
    the step has not been made, or its piece has no such halfplane.

    Parameters
    ----------
    step : int
        From 1.
    edge : int
        Which halfplane of the piece moves.
    resolution : int
        Of the raster, if there are many lines.
    """
    release = log.record(step).release
    piece = release.halfplanes
    if not 0 <= edge < len(piece):
        raise ValueError(f"halfplane {edge} is outside 0..{len(piece) - 1}")
    points, labels = log.seen_by(step)
    if release.tile is not None:
        lattice = log.tile_lattice(step)
        labels = labels if release.inside else ~labels
        score = mistakes_score(int(np.count_nonzero(labels)))
    else:
        lattice = HalfplaneLattice(log.grid, log.settings.piece_measure)
        score = _cover_score(log, release.threshold, labels)
    return ShadeQuestion(
        points=points,
        labels=labels,
        lattice=lattice,
        score=score,
        rate=_rate(log, score, step),
        others=piece[:edge] + piece[edge + 1 :],
        resolution=resolution,
    )


def conic_question(log: RunLog, step: int) -> ConicQuestion:
    """Why was this disc or ellipse chosen in that step, and not one of its form elsewhere?  Raises
    ValueError if the step, from 1, has not been made or chose no disc or ellipse."""
    release = log.record(step).release
    piece = release.piece
    if len(piece) != 1 or not isinstance(piece[0], Conic):
        raise ValueError(f"step {step} chose no disc or ellipse")
    points, labels = log.seen_by(step)
    score = _cover_score(log, release.threshold, labels)
    return ConicQuestion(piece[0], points, labels, score, _rate(log, score, step))


def _rate(log: RunLog, score: Score, step: int) -> float:
    """Nats per unit of the integer score; 0 where pieces are not drawn by these scores alone."""
    # these are not drawn from the pieces that are shaded by weights of the examples
    other_odds = "odds" not in log.settings.declared.shows
    # nobody knows which examples were kept for a check
    checked = log.settings.checked
    # the first half of the tiles, one colour of a chessboard, knows nothing of its neighbours
    alone = (len(log.tiling) + 1) // 2 if log.settings.by_tiles else step
    unknown = other_odds or checked or step > alone
    return 0.0 if unknown else log.record(step).diagnostics.rate / score.k


def _cover_score(
    log: RunLog, threshold: int | None, labels: Flags, more: tuple[int, int] = (0, 0)
) -> Score:
    """The score of a step of a cover; without a noisy count, gain less loss or mistakes.

    `more` are negatives and positives beyond those of the labels.
    """
    positives = int(np.count_nonzero(labels)) + more[1]
    negatives = int(np.count_nonzero(~labels)) + more[0]
    assert log.role is not None  # a cover has one
    if threshold is not None:
        return set_cover_score(
            log.role, score_k(log.settings["k"]), threshold, positives, negatives
        )
    if log.settings.declared.private:
        return mistakes_score(positives)
    if log.role == "disjunction":
        return Score(1, 0, 0, total=True)
    return Score(1, -positives, negatives, total=True)


def report_question(
    log: RunLog, step: int, edge: int, point: tuple[int, int], label: bool, present: bool
) -> ReportQuestion:
    """What an example changes in the law of one halfplane of a step.  Raises ValueError if the step
    has not been made, its piece has no such halfplane, or it was not drawn by weights of the
    examples.

    Parameters
    ----------
    step : int
        From 1.
    edge : int
        Which halfplane of the piece moves.
    point : (int, int)
        Where the example lies, in grid units.
    present : bool
        Whether it is one of the run's examples; else it is put there.
    """
    shaded = shade_question(log, step, edge)
    if not shaded.rate:
        raise ValueError("this step is not drawn with probabilities that an example changes")
    released = [record.release for record in log.records[:step]]
    release = released[-1]
    more = -1 if present else 1
    place = np.array([point])
    why_none: WhyNone | None = None
    if (tile := release.tile) is not None:
        if not tile.holds(place)[0]:
            why_none = "elsewhere"
        x, y = tile.to_own_frame(place)[0].tolist()
        point, label = (x, y), label == release.inside
        other = mistakes_score(int(np.count_nonzero(shaded.labels)) + more * label)
    else:
        decided = log.role == "disjunction"
        if any(inside_piece(earlier.piece, place)[0] == decided for earlier in released[:-1]):
            why_none = "decided"
        one = (more * (not label), more * label)
        other = _cover_score(log, release.threshold, shaded.labels, one)
    piece = release.halfplanes
    return ReportQuestion(shaded, piece[edge], point, label, present, other, why_none)


def share_question(log: RunLog, step: int) -> ShareQuestion | None:
    """The question for a step of a run; None where its law is another one, as that of tiles.
    Raises ValueError if the step, from 1, has not been made."""
    release = log.record(step).release
    piece = release.halfplanes
    if release.tile is not None or not piece:
        return None
    shaded = replace(shade_question(log, step), others=())
    return ShareQuestion(shaded, piece) if shaded.rate else None


# -- what one report changes ---------------------------------------------------------------------

_NOTHING: dict[WhyNone, str] = {
    "decided": "An earlier step has decided it, so it changes nothing in this step.",
    "outside": (
        "It lies outside the edges that are held fixed, so it changes nothing for this edge: "
        "choose another one."
    ),
    "elsewhere": "It lies in another tile, so it changes nothing in this one.",
}


@dataclass(frozen=True, slots=True)
class OneReport:
    """An example of the sample, or one that is put there."""

    #: Grid units.
    point: tuple[int, int]
    label: bool
    #: Whether it is in the sample.
    present: bool

    @property
    def words(self) -> str:
        """Say the report's label, where it is, and whether the sample holds it."""
        label, (x, y) = "positive" if self.label else "negative", self.point
        where = f"at ({x}, {y})"
        if self.present:
            return f"A {label} report {where}, one of the sample."
        return f"A {label} report {where}, put there: it is not in the sample."


def find_report(
    examples: Examples, point: tuple[int, int], radius: float, label: bool
) -> OneReport:
    """The example nearest to a place within a radius, else a new one there with this label."""
    if len(examples.points):
        gaps = np.hypot(*(examples.points - np.array(point)).T)
        nearest = int(np.argmin(gaps))
        if gaps[nearest] <= radius:
            x, y = examples.points[nearest].tolist()
            return OneReport((x, y), bool(examples.labels[nearest]), present=True)
    return OneReport(point, label, present=False)


def change_words(change: Change, eta: float, spent: PrivacySpent | None) -> str:
    """What the report changes here, and how much it can change at most."""
    most = f"at most {_times(eta)} in the whole step (η = {amount(eta)})"
    run = ""
    if spent is not None and not spent.private:
        run = " The run is seeded and can be repeated: it promises nothing."
    elif spent is not None:
        but = f", but for a probability of δ = {amount(spent.delta)}" if spent.delta else ""
        most_of_run = f"{_times(spent.epsilon)} (ε = {amount(spent.epsilon)})"
        run = f" In the whole run: at most {most_of_run}{but}."
    if change.why_none is not None:
        return f"{_NOTHING[change.why_none]} Any report could change a probability {most}.{run}"
    here = "more" if change.chosen >= 0 else "less"
    about = "about " if change.error else ""
    chosen = f"{about}{_times(abs(change.chosen))} {here} likely" if change.chosen else "as likely"
    others = f"{about}{_times(change.largest)} more or less at most" if change.largest else "too"
    return (
        f"With it the edge that was chosen is {chosen}; any other, {others}. One report can change "
        f"a probability {most}.{run}"
    )


def _times(log_ratio: float) -> str:
    """e to the power, with as many digits as tell it from 1."""
    if log_ratio > 50:
        return f"e^{amount(log_ratio)} times"
    factor = math.exp(log_ratio)
    digits = 3 if factor >= 1.1 or factor == 1 else 3 + math.ceil(-math.log10(factor - 1))
    return f"{amount(factor, min(digits, 8))} times"
