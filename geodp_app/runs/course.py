"""Lists the stops of a run's timeline: pieces, then redrawn edges, then its end (decision 36)."""

from __future__ import annotations

import bisect
import itertools
from dataclasses import dataclass
from typing import NamedTuple

from geodp_app.runs.run_log import RunLog
from learners.core.selection import PIECE_SIZE


class Stop(NamedTuple):
    """A step at which a run can be looked at, 0 before the first, and what it is called."""

    step: int
    title: str


@dataclass(frozen=True, slots=True)
class Course:
    """The stops at which a run can be looked at, and how many are still to come.

    Attributes
    ----------
    stops : tuple of Stop
        In order, the first before the first step.  Where a run is over the last is its end, a step
        later than the last step.
    first : int
        How many stops its first act will have; what follows sharpens.
    planned : int
        How many stops there will be after the one before the first step; 0 as long as that is not
        known.
    sharpens : bool
        Whether there is a second act.
    """

    stops: tuple[Stop, ...] = (Stop(0, "No steps yet"),)
    first: int = 0
    planned: int = 0
    sharpens: bool = False

    def position(self, step: int) -> int:
        """Place among the stops of the last one that is not after a step."""
        return bisect.bisect_right([stop.step for stop in self.stops], step) - 1

    @classmethod
    def of(cls, log: RunLog, *, opened: bool, public: bool = False) -> Course:
        """That of a run.

        Its second act has one stop, or where it is `opened` one for each edge.  Edges that no
        example is nearest to are left out, but not of what is to be `public`.
        """
        steps: list[int] = []
        records, edge = log.records, -1
        for record in records:
            if not public and log.idle(record):
                continue
            zone = record.release.zone
            if zone is not None and zone.edge_number == edge:
                steps.pop()
            steps.append(record.step)
            edge = -1 if zone is None else zone.edge_number
        first, sharpens = log.first_act, log.settings.sharpened
        if sharpens and not opened:
            steps = steps[: log.triangles] + steps[log.triangles :][-1:]
        planned = first + 1
        if sharpens:
            done = records[-1].release.zone if records else None
            past = 0 if done is None else done.edge_number + 1
            edges = first * PIECE_SIZE["triangle"]
            planned += max(0, len(steps) - log.triangles) + edges - past if opened else 1
        stops = [Stop(step, log.title(step)) for step in (0, *steps)]
        if log.release is not None:
            stops.append(Stop(len(records) + 1, "The end"))
        return cls(tuple(stops), first, max(planned, len(stops) - 1) if first else 0, sharpens)

    def gains(self, log: RunLog) -> tuple[int, ...]:
        """Examples gained from each stop to the next, of the run that it is of; of the end, none.
        Private."""
        steps = [stop.step for stop in self.stops]
        if log.release is not None and len(steps) > 2:  # what is changed at last belongs to it
            steps[-2:] = [len(log.records)] * 2
        return tuple(sum(log.gains[start:end]) for start, end in itertools.pairwise(steps))
