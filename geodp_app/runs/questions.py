"""What may still be asked after a run by votes, or why nothing can be."""

from __future__ import annotations

from geodp_app.runs.run_log import RunLog


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
