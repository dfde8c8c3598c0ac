"""Public points that a person asks about after a run by votes, and what may still be asked.

The point and its answer are released; how the chunks voted is not.  Sessions keep the former.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

from learners.stability.classifiers import QueryDiagnostics
from learners.stability.stable_queries import QueryRelease

if TYPE_CHECKING:
    from geodp_app.runs.run_log import RunLog

Point = tuple[int, int]


@dataclass(frozen=True, slots=True)
class Question:
    """A point and its answer.

    Attributes
    ----------
    point : (int, int)
        Grid units.
    release : QueryRelease
    diagnostics : QueryDiagnostics or None
        Private; None where it was not kept.
    """

    point: Point
    release: QueryRelease
    diagnostics: QueryDiagnostics | None = None

    @property
    def answer(self) -> str:
        """What is released of it, in two words."""
        value = self.release.value
        return "not answered" if value is None else f"answered {value}"

    @property
    def votes(self) -> str:
        """How the chunks voted (private); empty where it was not kept."""
        known = self.diagnostics
        if known is None:
            return ""
        zeros, ones = known.votes
        return f"{ones} for 1, {zeros} for 0; distance to instability {known.distance}"


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


def question_line(question: Question) -> dict[str, Any]:
    """What a session keeps of a question, as JSON values."""
    return {"kind": "question", "point": list(question.point), **asdict(question.release)}


def read_question(data: dict[str, Any], grid: int, before: Sequence[Question]) -> Question:
    """Read what :func:`question_line` wrote.

    Raises
    ------
    ValueError, KeyError, TypeError
        If it is not, or does not follow the questions before it.
    """
    fields = {name: value for name, value in data.items() if name not in ("kind", "point")}
    release = QueryRelease(**fields)
    x, y = data["point"]
    question = Question((x, y), release)
    counts = (x, y, release.query, release.halts_left, release.queries_left)
    if any(isinstance(n, bool) or not isinstance(n, int) or n < 0 for n in counts):
        raise ValueError("a question's numbers are whole and not negative")
    if max(x, y) > grid:
        raise ValueError(f"the point ({x}, {y}) is off the grid 0..{grid}")
    if (release.value, release.status) not in (
        (0, "answered"), (1, "answered"), (None, "unstable"),
    ) or isinstance(release.value, bool):  # fmt: skip
        raise ValueError("a question is answered 0 or 1, or not at all")
    if before:
        last = before[-1].release
        halts = last.halts_left - (release.status == "unstable")
        follows = (last.query + 1, halts, last.queries_left - 1)
        told = (release.query, release.halts_left, release.queries_left)
        if told != follows or last.halts_left == 0:
            raise ValueError("a question does not follow the one before it")
    return question
