"""Questions about a run: what may still be asked after one by votes, or why nothing can be; and
what is asked about a step of any, from the run's log.

Private.  The question of a shading is made by the log itself (:meth:`RunLog.question`).
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from geodp_app.runs.protocol import ReportQuestion, ShareQuestion, WhyNone
from geodp_app.runs.run_log import RunLog
from learners.records import TileStep, halfplanes_of, inside_piece
from learners.scores import mistakes_score, set_cover_score


def halts_left(log: RunLog) -> int | None:
    """How many questions may still go without an answer; None of a run that is not remembered."""
    if log.questions:
        return log.questions[-1].release.halts_left
    return None if log.votes is None else log.votes.halts_left + log.settings.kept


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
    if not log.settings.kept:
        return "This run kept no halt for you: set “Kept for you” to 1 or more, and run again."
    left = halts_left(log)
    if left == 0:
        return "The halts are used up: no more points are answered."
    if not ready or left is None:
        return "The chunks of this run are gone: sessions do not keep them. Run again to ask."
    if log.questions and log.questions[-1].release.queries_left == 0:
        return "The queries are used up: no more points are answered."
    return ""


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
    shaded = log.question(step, edge)
    if not shaded.rate:
        raise ValueError("this step is not drawn with probabilities that an example changes")
    released = [record.release for record in log.records[:step]]
    release = released[-1]
    more = -1 if present else 1
    positives = int(np.count_nonzero(shaded.labels))
    negatives = len(shaded.labels) - positives
    place = np.array([point])
    why_none: WhyNone | None = None
    if isinstance(release, TileStep):
        if not release.tile.holds(place)[0]:
            why_none = "elsewhere"
        x, y = release.tile.to_own_frame(place)[0].tolist()
        point, label = (x, y), label == release.inside
        other = mistakes_score(positives + more * label)
    else:
        assert log.role is not None  # a cover has one
        for earlier in released[:-1]:
            if inside_piece(earlier.piece, place)[0] == (log.role == "disjunction"):
                why_none = "decided"
        positives, negatives = positives + more * label, negatives + more * (not label)
        if release.threshold is None:
            other = mistakes_score(positives)
        else:
            other = set_cover_score(
                log.role, shaded.score.k, release.threshold, positives, negatives
            )
    piece = halfplanes_of(release.piece)
    return ReportQuestion(shaded, piece[edge], point, label, present, other, why_none)


def share_question(log: RunLog, step: int) -> ShareQuestion | None:
    """The question for a step of a run; None where its law is another one, as that of tiles.

    Raises
    ------
    ValueError
        If the step, from 1, has not been made.
    """
    if not 1 <= step <= len(log.records):
        raise ValueError(f"step {step} is outside 1..{len(log.records)}")
    release = log.records[step - 1].release
    piece = halfplanes_of(release.piece)
    if isinstance(release, TileStep) or not piece:
        return None
    shaded = replace(log.question(step), others=())
    return ShareQuestion(shaded, piece) if shaded.rate else None
