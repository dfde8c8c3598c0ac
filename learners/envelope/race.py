"""Runs *strands*, parts of the search, until one has the first acceptance by their common clock.

A strand that runs alone is divided as soon as it is worth its while, in the beginning and again
when the others have ended, so two are at work whatever part of the class is hard.  Why the first
acceptance has the law of a draw, in whatever order they run: docs/privacy.md, lemma E4; how far
their clocks are rounded, and when one may be left out: lemma 5.

All pieces accepted before one moment of the clock are independent draws from the law; when that is
depends on work and on how many there are, not on which.  More draws than the one that is released
are for the curator alone (:func:`draw_again`): their bits come from a seeded stream of their own.
"""

from __future__ import annotations

import functools
import math
import os
import threading
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor, wait
from dataclasses import replace
from typing import Any

import numpy as np

from geometry.halfplane import Halfplane, HalfplaneLattice
from learners.core.selection import Cancelled, Selected, SelectionProgress, Watch
from learners.envelope import core
from learners.envelope.boxes import SHEETS
from learners.envelope.partition import (
    BOXES,
    COMPACTIONS,
    EXACT,
    FACTORISED,
    FORGOTTEN,
    TRIALS,
    best_bound,
    halve,
    weigh,
)
from learners.envelope.strands import Strand, piece_at
from learners.envelope.views import edge_density, heaviest_boxes
from learners.privacy.randomness import SeededRandom

#: Strands that run side by side at most.  Fixed, so that a seed means one run.
STRANDS = 2

#: Threads for all strands but one, which the caller's thread runs.
_POOL = ThreadPoolExecutor(STRANDS - 1, thread_name_prefix="strand")


def _renew_pool() -> None:
    global _POOL
    _POOL = ThreadPoolExecutor(STRANDS - 1, thread_name_prefix="strand")


if hasattr(os, "register_at_fork"):
    # a forked process has its parent's pool, but not the threads: it would wait for ever
    os.register_at_fork(after_in_child=_renew_pool)

#: A strand that runs alone is divided once it has so many boxes; quick draws need no second one.
_WORTH_TWO = 1 << 12

#: Slices of work that strands side by side do at most before all wait for each other.
_LONGEST_TURN = 24

#: Within a turn no strand is so many slices ahead of another; it hears so late of the other's end.
_AHEAD = 4

#: Final boxes that a watched selection remembers.
_FINAL_BOXES = 64

#: A strand in turn runs until its clock is so many times the foremost one: turns stay few.
_LEAD = 2

#: Below this total mass the reference score is chosen anew.
_LIGHT = 1e-50


def run_race(
    strands: list[Strand],
    lattice: HalfplaneLattice,
    log_measure: float,
    watch: Watch | None,
    *,
    in_turns: bool = False,
    stop: Callable[[], bool] | None = None,
) -> tuple[Selected, int]:
    """Run the strands until one has won; what was drawn, and the number of the winner.

    How they take turns decides nothing: strands share no bits, and none depends on another.

    Parameters
    ----------
    strands : list of Strand
        Those that are divided add to it.
    lattice : HalfplaneLattice
    log_measure : float
        Natural log of the whole class's weight at score 0, which `log_mass` is relative to.
    watch : callable, optional
    in_turns : bool
        Run one strand at a time, that whose clock is least.  Side by side they take less time where
        all have much to do, and more work where one of them wins at once.
    stop : callable, optional
        Asked between slices of work; when it says so, nothing is drawn.

    Raises
    ------
    Cancelled
        If the watch raises it, or `stop` says so.
    """
    weigh_all(strands)
    turns = 0
    listen: Callable[[], None] | None = None
    while behind := strands_behind(strands):
        if stop is not None and stop():
            raise Cancelled
        if len(behind) == 1 and not in_turns and behind[0].boxes_used >= _WORTH_TWO:
            behind.append(divide(behind[0], strands))
            strands.append(behind[1])
        horizon = _first_acceptance(strands)
        if in_turns:
            _advance_last(behind, strands, horizon)
        else:
            # longer turns as time goes by: the strands wait for each other at the end of each
            turns += 1
            pair = behind[:STRANDS]
            turn = _Turn(pair, horizon, min(1 + turns // 2, _LONGEST_TURN))
            others = [_POOL.submit(turn.run, i) for i in range(1, len(pair))]
            try:
                turn.run(0, listen)
            finally:
                wait(others)
            for done in others:
                done.result()
        if max(strand.mass for strand in strands) < _LIGHT:
            weigh_all(strands)
        if watch is not None:
            progress = _progress(strands, log_measure)
            partitions = [strand.partition for strand in strands]
            heaviest = functools.partial(heaviest_boxes, partitions, lattice)
            density = functools.partial(edge_density, partitions, lattice)
            watch(replace(progress, heaviest=heaviest, density=density))
            listen = functools.partial(watch, replace(progress, amid=True))
    accepted = [i for i, strand in enumerate(strands) if strand.accepted is not None]
    winner = min(accepted, key=lambda i: strands[i].clock)
    progress = _progress(strands, log_measure)
    if watch is not None:
        # what is handed out must not keep the partition in memory
        partitions = [strand.partition for strand in strands]
        boxes = heaviest_boxes(partitions, lattice, _FINAL_BOXES)
        progress = replace(progress, heaviest=lambda count: boxes[:count])
    return Selected(_drawn_piece(strands[winner], lattice), progress, _details(strands)), winner


def _advance_last(behind: list[Strand], strands: list[Strand], horizon: float) -> None:
    """Run the strand whose clock is least, the heaviest of these, until it is well past others.

    What is beyond another's clock need not be known yet: that one may win before.
    """
    last = min(behind, key=lambda strand: (strand.clock, -strand.mass))
    ahead = max(strand.clock for strand in strands)
    last.advance(min(horizon, _LEAD * ahead) if ahead > last.clock else horizon)


def divide(strand: Strand, strands: Sequence[Strand]) -> Strand:
    """Give every other box of the only one that runs to a new strand, whose clock begins where its
    clock stands.

    What a strand will accept from then on depends on its boxes and its clock, not on how it came
    by them (docs/privacy.md, lemma E4).  Each of the two has half of the room.
    """
    for one in strands:
        if one is not strand:
            one.drop_tables()  # it waits
    strand.partition, given = halve(strand.partition)
    strand.most_boxes //= 2
    strand.plain_boxes //= 2
    for part in (strand.partition, given):
        weigh(strand.target, part)
    return Strand(
        strand.target,
        *strand.new_tables(),
        strand.ordinates,
        given,
        strand.source.spawn(),
        strand.most_boxes,
        strand.plain_boxes,
        strand.expected,
    )


def _drawn_piece(winner: Strand, lattice: HalfplaneLattice) -> tuple[Halfplane, ...]:
    return piece_at(lattice, int(winner.partition.boxes[winner.accepted, SHEETS]), winner.theta)


def _details(strands: list[Strand]) -> dict[str, Any]:
    tally = _tally(strands)
    return {
        "exact_evaluations": tally[EXACT],
        "factorised": tally[FACTORISED],
        "lines": sum(int(strand.tables.used[0]) for strand in strands),
        "compactions": tally[COMPACTIONS],
        "tables_dropped": tally[FORGOTTEN],
        "strands_full": sum(strand.full for strand in strands),
    }


def _progress(strands: list[Strand], log_measure: float) -> SelectionProgress:
    total = sum(strand.mass for strand in strands)
    log_mass = math.log(total) if total > 0 else -math.inf
    log_mass += strands[0].target.rate * strands[0].target.reference
    tally = _tally(strands)
    return SelectionProgress(
        trials=tally[TRIALS], boxes=tally[BOXES], log_mass=log_mass - log_measure
    )


def _tally(strands: list[Strand]) -> list[int]:
    tallies = (strand.partition.tally for strand in strands)
    counts: list[int] = functools.reduce(np.add, tallies).tolist()
    return counts


class _Turn:
    """Strands side by side, each for so many slices of work or until it has no more to do for now.

    Where each of them stops depends on counted work alone, not on which is quicker: so a seed means
    one run.  A strand's end is heard of by the others :data:`_AHEAD` slices later, and ends theirs.
    """

    def __init__(self, strands: Sequence[Strand], horizon: float, slices: int) -> None:
        self._strands, self._horizon, self._slices = strands, horizon, slices
        self._done = [0] * len(strands)
        self._ended = [False] * len(strands)
        self._news = threading.Condition()

    def run(self, number: int, listen: Callable[[], None] | None = None) -> None:
        """Run one of the strands; `listen` is called after each slice, and may end the turn."""
        try:
            while self._done[number] < self._slices and self._goes_on(number):
                strand = self._strands[number]
                strand.advance(self._horizon)
                over = strand.clock > self._horizon or strand.mass < core.TINY
                self._tell(number, strand.accepted is not None or over)
                if self._ended[number]:
                    return
                if listen is not None:
                    listen()
        except BaseException:
            # the others must not wait for it
            self._tell(number, ended=True)
            raise

    def _goes_on(self, number: int) -> bool:
        """Wait until no other strand is too far behind; False once one has ended long enough."""
        others = [other for other in range(len(self._strands)) if other != number]
        heard = self._done[number] - _AHEAD
        with self._news:
            self._news.wait_for(
                lambda: all(self._ended[other] or self._done[other] >= heard for other in others)
            )
            return not any(self._ended[other] and self._done[other] <= heard for other in others)

    def _tell(self, number: int, ended: bool) -> None:
        with self._news:
            self._done[number] += 1
            self._ended[number] = ended
            self._news.notify_all()


def _first_acceptance(strands: list[Strand]) -> float:
    return min((s.clock for s in strands if s.accepted is not None), default=math.inf)


def strands_behind(strands: list[Strand]) -> list[Strand]:
    """Strands that must still run: not accepted, not weightless, clock not past the winner's."""
    horizon = _first_acceptance(strands)
    return [s for s in strands if s.accepted is None and s.clock <= horizon and s.mass >= core.TINY]


def weigh_all(strands: Sequence[Strand]) -> None:
    """Make the best bound of all strands weigh 1, and keep the clocks in step."""
    best = max(int(best_bound(s.target, s.partition)) for s in strands)
    for strand in strands:
        gain = strand.target.rate * (best - strand.target.reference)
        if gain == 0 and strand.mass > 0:
            # all masses are what they would be, and so are their sums
            continue
        strand.target = strand.target._replace(reference=best)
        weigh(strand.target, strand.partition)
        # time runs in units of 1 / mass; it has not begun when the first reference is chosen
        if strand.clock > 0:
            strand.partition.clock[:] *= math.exp(gain)


#: Of the curator's own stream of bits; nothing is released from it.
_SEED = 1


def draw_again(
    strands: list[Strand], lattice: HalfplaneLattice, most: int, work: int
) -> list[tuple[Halfplane, ...]]:
    """Independent draws from the law that the strands refine.

    The strands' boxes may be refined further; their clocks start anew.

    Parameters
    ----------
    strands : list of Strand
        Weighed, and no longer needed for a draw that is released.
    lattice : HalfplaneLattice
    most : int
        Enough draws; a few times as many may be made.
    work : int
        Stop after that much, in units of about a microsecond.

    Returns
    -------
    list of tuple of Halfplane
        Empty where the law is so narrow that none was accepted in time.
    """
    source = SeededRandom(_SEED)
    last = _work(strands) + work
    found: list[tuple[float, tuple[Halfplane, ...]]] = []
    running: list[Strand] = []
    horizon = 0.0
    while len(found) < most and _work(strands) < last:
        if not running or any(strand.mass < core.TINY for strand in running):
            # masses have fallen so far that they are weighed anew; what comes then is as good
            # a draw as what came before, and the clocks begin again
            weigh_all(strands)
            for strand in strands:
                strand.restart(source.spawn())
            running = [strand for strand in strands if strand.mass >= core.TINY]
            found, horizon = [], 1.0 / sum(strand.mass for strand in running)
        horizon *= 2
        for strand in running:
            while strand.clock <= horizon and _work(strands) < last and strand.mass >= core.TINY:
                strand.advance(horizon)
                if strand.accepted is not None:
                    found.append((strand.clock, _drawn_piece(strand, lattice)))
                    strand.accepted = None
    end = min(strand.clock for strand in running)
    return [piece for clock, piece in found if clock < end]


def _work(strands: list[Strand]) -> int:
    return sum(strand.work for strand in strands)
