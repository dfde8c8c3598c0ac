"""Poses questions about the steps of a run, from its log; and tells what may still be asked after
one by votes, or why nothing can be.  Private.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from geodp_app.runs.protocol import ReportQuestion, ShadeQuestion, ShareQuestion, WhyNone
from geodp_app.runs.run_log import RunLog
from geodp_app.runs.what_if import ConicQuestion
from geometry.halfplane import HalfplaneLattice
from geometry.lift import Conic
from learners.core.records import inside_piece
from learners.core.selection import Score, mistakes_score, set_cover_score
from learners.cover.set_cover import score_k


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
        for earlier in released[:-1]:
            if inside_piece(earlier.piece, place)[0] == (log.role == "disjunction"):
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
