"""Poses questions about the steps of a run, from its log, and scores the piece that another
halfplane would have made; says what one report changes, and what may still be asked after a run by
votes.  Private.

The law of a step gives every piece of the lattice a probability in proportion to
exp(rate * score), so the odds between two pieces are known exactly without the sum over all.

Of a disc or an ellipse the base measure is uniform over centres and sizes (:mod:`geometry.lift`),
so given its size and form the law of its centre is an exponential mechanism over the lattice of
centres.  An example is in a disc exactly if the disc's centre is in the same disc around the
example: in this plane every disc of that size is a point, and every example a disc.  Ellipses
likewise.  Frame: grid units, the same plane as that of the examples.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from geodp_app.document.examples import Examples
from geodp_app.formatting import amount, count, decimal
from geodp_app.runs.protocol import Change, ReportQuestion, ShadeQuestion, ShareQuestion, WhyNone
from geodp_app.runs.run_log import RunLog
from geometry.halfplane import Halfplane, HalfplaneLattice, Region
from geometry.lift import Conic
from learners.core.records import Piece, inside_piece
from learners.core.selection import Score, mistakes_score, set_cover_score, softened_nats
from learners.cover.set_cover import score_k
from learners.privacy.accounting import PrivacySpent


def halts_left(log: RunLog) -> int | None:
    """How many questions may still go without an answer; None of a run that is not remembered."""
    if log.questions:
        return log.questions[-1].release.halts_left
    return None if log.votes is None else log.votes.halts_left + log.settings["kept"]


def refusal(log: RunLog | None, ready: bool) -> str:
    """Why no point can be asked about, in a sentence; empty if one can.

    Parameters
    ----------
    log : RunLog or None
    ready : bool
        Whether the learner's process holds the chunks of this run.
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
    """Why was this halfplane chosen in that step, the piece's others given?

    Parameters
    ----------
    log : RunLog
    step : int
        From 1.
    edge : int
        Which halfplane of the piece moves.
    resolution : int
        Of the raster, if there are many lines.

    Raises
    ------
    ValueError
        If the step has not been made, or its piece has no such halfplane.
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
    """Why was this disc or ellipse chosen in that step, and not one of its form elsewhere?

    Raises
    ------
    ValueError
        If the step, from 1, has not been made or chose no disc or ellipse.
    """
    release = log.record(step).release
    piece = release.piece
    if len(piece) != 1 or not isinstance(piece[0], Conic):
        raise ValueError(f"step {step} chose no disc or ellipse")
    points, labels = log.seen_by(step)
    score = _cover_score(log, release.threshold, labels)
    return ConicQuestion(piece[0], points, labels, score, _rate(log, score, step))


def _rate(log: RunLog, score: Score, step: int) -> float:
    """Nats per unit of the integer score; 0 where pieces are not drawn by their scores."""
    # these are not drawn from the pieces that are shaded by weights of the examples
    other_odds = "odds" not in log.settings.declared.shows
    eta = None if other_odds else log.eta(step)
    return 0.0 if eta is None else eta / score.k


def _cover_score(
    log: RunLog, threshold: int | None, labels: NDArray[np.bool_], more: tuple[int, int] = (0, 0)
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
    """What an example changes in the law of one halfplane of a step.

    Parameters
    ----------
    log : RunLog
    step : int
        From 1.
    edge : int
        Which halfplane of the piece moves.
    point : (int, int)
        Where the example lies, in grid units.
    label : bool
    present : bool
        Whether it is one of the run's examples; else it is put there.

    Raises
    ------
    ValueError
        If the step has not been made, its piece has no such halfplane, or it was not drawn by
        weights of the examples.
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

    Raises
    ------
    ValueError
        If the step, from 1, has not been made.
    """
    release = log.record(step).release
    piece = release.halfplanes
    if release.tile is not None or not piece:
        return None
    shaded = replace(shade_question(log, step), others=())
    return ShareQuestion(shaded, piece) if shaded.rate else None


# -- what another halfplane, disc or ellipse would have made, and its odds ----------------------

#: Odds beyond these are said as powers of ten.
_PLAIN_ODDS = 1e4


@dataclass(frozen=True, slots=True)
class Candidate:
    """A piece that could have been chosen.

    Attributes
    ----------
    piece : tuple of Region
    positives, negatives : int
        Examples in it, of those that the step saw.
    score : float
        In examples.
    log_odds : float or None
        ln of its probability over that of the chosen piece; None for a choice that was not drawn.
    """

    piece: tuple[Region, ...]
    positives: int
    negatives: int
    score: float
    log_odds: float | None

    @property
    def words(self) -> str:
        """What it would hold, its score and its odds."""
        held = f"{count(self.positives)} positive, {count(self.negatives)} negative"
        text = f"{held}: score {decimal(self.score)}"
        return text if self.log_odds is None else f"{text}; {ratio_words(self.log_odds)}"


class WhatIf:
    """Judges candidates for one halfplane of a piece, the others given.

    Parameters
    ----------
    question : ShadeQuestion
        Of the step; its examples outside the others are never held.
    chosen : tuple of Halfplane
        The piece that was chosen.
    edge : int
        Which of its halfplanes may be another, from 0.
    """

    def __init__(self, question: ShadeQuestion, chosen: Piece, edge: int) -> None:
        held = inside_piece(question.others, question.points)
        points, labels = question.points[held], question.labels[held]
        self._question = replace(question, points=points, labels=labels)
        self._edge, self._chosen = edge, chosen
        self._best = weigh(chosen[edge], self._question)[2]

    def judge(self, halfplane: Halfplane) -> Candidate:
        """The piece with this halfplane in place of the chosen one."""
        positives, negatives, value = weigh(halfplane, self._question)
        rate, k = self._question.rate, self._question.score.k
        piece = (*self._chosen[: self._edge], halfplane, *self._chosen[self._edge + 1 :])
        odds = rate * (value - self._best) if rate else None
        return Candidate(piece, positives, negatives, value / k, odds)


def weigh(region: Region, question: ShadeQuestion | ConicQuestion) -> tuple[int, int, int]:
    """Positives and negatives of a question in a region, and its integer score; exact."""
    inside = region.contains(question.points)
    positives = int(np.count_nonzero(inside & question.labels))
    negatives = int(np.count_nonzero(inside)) - positives
    return positives, negatives, question.score.value(positives, negatives)


def ratio_words(log_odds: float) -> str:
    """How likely a piece was beside the chosen one."""
    if abs(log_odds) < 0.01:
        return "as likely as the chosen one"
    size, more = abs(log_odds), "more" if log_odds > 0 else "less"
    if size < math.log(_PLAIN_ODDS):
        times = amount(math.exp(size), 3 if size < math.log(100) else 2)
    else:
        times = f"10{str(round(size / math.log(10))).translate(_RAISED)}"
    return f"{times} times {more} likely than the chosen one"


_RAISED = str.maketrans("0123456789", "⁰¹²³⁴⁵⁶⁷⁸⁹")


@dataclass(frozen=True, slots=True)
class ConicQuestion:
    """How good would the chosen disc or ellipse be elsewhere?

    Attributes
    ----------
    conic : Conic
        What was chosen.
    points, labels
        The examples that the step saw, grid units.
    score : Score
        Of the step.
    rate : float
        eta / score.k: nats per unit of the integer score where that is 0; 0 when the run is not
        private.
    """

    conic: Conic
    points: NDArray[np.int64]
    labels: NDArray[np.bool_]
    score: Score
    rate: float

    def at(self, x: float, y: float) -> Conic | None:
        """The same form, its centre at the lattice point nearest to (x, y); None off the square."""
        lattice = self.conic.lattice
        p, q = (round(c * (1 << lattice.bits)) for c in (x, y))
        if not (0 <= p <= lattice.side and 0 <= q <= lattice.side):
            return None
        return lattice.conic(p, q, *self.conic.parameters[2:])

    def judge(self, conic: Conic) -> Candidate:
        """What another one would hold, its score, and its odds against the chosen one; exact."""
        positives, negatives, value = weigh(conic, self)
        odds = None
        if self.rate:
            own = weigh(self.conic, self)[2]
            odds = softened_nats(value, self.rate) - softened_nats(own, self.rate)
        return Candidate((conic,), positives, negatives, value / self.score.k, odds)

    def scores(self, resolution: int) -> NDArray[np.float64]:
        """Scores at a raster of centres, to draw: [i, j] at column i of x and row j of y.

        Complexity: O(resolution * n).
        """
        positives, negatives = (
            centres_inside(self.conic, self.points[self.labels == label], resolution)
            for label in (True, False)
        )
        return self.score.values(positives, negatives) / self.score.k


def centres_inside(conic: Conic, points: NDArray[np.int64], resolution: int) -> NDArray[np.int64]:
    """How many points a conic of this form would hold, centred in the middle of each pixel.

    Parameters
    ----------
    conic : Conic
    points : ndarray of int64, shape (n, 2)
    resolution : int
        Pixels along a side of the square [0, d]^2.

    Returns
    -------
    ndarray of int64, shape (resolution, resolution)
        [i, j] in column i of x and row j of y.
    """
    lattice = conic.lattice
    unit, step = float(1 << lattice.bits), lattice.d / resolution
    if lattice.kind == "disc":
        w = h = conic.parameters[2] / unit
        t = 0.0
    else:
        w, h, t = (value / unit for value in conic.parameters[2:])
    reach = t * t + h * h
    x, y = points.astype(np.float64).T
    counts = np.zeros((resolution, resolution), dtype=np.int64)
    for row in range(resolution):
        # centres (p, q) with (X, Y) inside: X - p = w s, where s solves a quadratic inequality
        up = y - (row + 0.5) * step
        near = up * up <= reach
        ups, abscissae = up[near], x[near]
        half = h * np.sqrt(reach - ups * ups)
        first = abscissae - w * (ups * t + half) / reach
        last = abscissae - w * (ups * t - half) / reach
        start = np.clip(np.ceil(first / step - 0.5), 0, resolution).astype(np.int64)
        stop = np.clip(np.floor(last / step - 0.5) + 1, 0, resolution).astype(np.int64)
        stop = np.maximum(start, stop)
        change = np.bincount(start, minlength=resolution + 1)
        change -= np.bincount(stop, minlength=resolution + 1)
        counts[:, row] = np.cumsum(change)[:resolution]
    return counts


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
    """An example of the sample, or one that is put there.

    Attributes
    ----------
    point : (int, int)
        Grid units.
    label : bool
    present : bool
        Whether it is in the sample.
    """

    point: tuple[int, int]
    label: bool
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
    return (
        f"With it the edge that was chosen is {about}{_times(abs(change.chosen))} {here} likely; "
        f"any other, {about}{_times(change.largest)} more or less at most. One report can change "
        f"a probability {most}.{run}"
    )


def _times(log_ratio: float) -> str:
    """e to the power, with as many digits as tell it from 1."""
    if log_ratio > 50:
        return f"e^{amount(log_ratio)} times"
    factor = math.exp(log_ratio)
    digits = 3 if factor >= 1.1 or factor == 1 else 3 + math.ceil(-math.log10(factor - 1))
    return f"{amount(factor, min(digits, 8))} times"
