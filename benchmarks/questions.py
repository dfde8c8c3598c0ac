"""What a selection is asked: the questions of private runs, asked alone or listened to."""

from __future__ import annotations

import resource
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass, field

import numpy as np
from common import DELTA, EPSILON, GRID, OCTAGON, draw_sample
from numpy.typing import NDArray

from geodp_app.document.work import Distribution
from geometry.grid_counts import GridCounts
from geometry.halfplane import HalfplaneLattice, Measure, Sheet
from learners.core.records import StepRecord
from learners.core.selection import (
    PIECE_SIZE,
    PieceKind,
    Role,
    Sampler,
    Score,
    Selected,
    SelectionProgress,
    Watch,
)
from learners.cover.set_cover import plan_budget, private_steps
from learners.privacy.randomness import RandomSource, SeededRandom

#: The learners' own default.
BETA = 0.1


@dataclass(frozen=True, slots=True)
class Time:
    """Seconds of one piece of work and of a part of it, the process's peak MB, and a remark."""

    seconds: float
    memory: float
    part: float = 0.0
    note: str = ""


def peak_memory() -> float:
    """Largest resident size of this process so far, in MB."""
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak / 1e6 if sys.platform == "darwin" else peak * 1024 / 1e6


@dataclass(frozen=True, slots=True)
class Case:
    """A sample and the run on it: an intersection of halfplanes for the octagon, else a union."""

    target: str
    k: int
    n: int
    d: int = GRID
    distribution: Distribution = "uniform"
    measure: Measure = "chord"

    @property
    def lattice(self) -> HalfplaneLattice:
        return HalfplaneLattice(self.d, self.measure)

    @property
    def piece(self) -> PieceKind:
        return "halfplane" if self.target == OCTAGON else "triangle"

    def sample(self, seed: int) -> tuple[NDArray[np.int64], NDArray[np.bool_]]:
        """Points and labels."""
        return draw_sample(self.target, self.distribution, self.n, self.d, seed)

    def run(self, selection: Sampler, seed: int) -> Iterator[StepRecord]:
        """The private run of k steps."""
        role: Role = "conjunction" if self.target == OCTAGON else "disjunction"
        counts = GridCounts.of_examples(*self.sample(seed), self.d)
        return private_steps(
            counts,
            role=role,
            k=self.k,
            budget=plan_budget(EPSILON, DELTA, self.k, BETA, "add-remove", False),
            selection=selection,
            source=SeededRandom(seed),
        )


@dataclass(frozen=True, slots=True)
class Question:
    """What one selection is asked."""

    lattice: HalfplaneLattice
    counts: GridCounts
    score: Score
    rate: float
    source: RandomSource

    @property
    def points(self) -> NDArray[np.int64]:
        """The examples one by one, shape (n, 2)."""
        return np.repeat(self.counts.points, self.counts.amounts, axis=0)

    @property
    def labels(self) -> NDArray[np.bool_]:
        """Their labels, shape (n,)."""
        return np.repeat(self.counts.labels, self.counts.amounts)


@dataclass(slots=True)
class Listener:
    """A selection that passes questions on and keeps the times; alone it answers anything."""

    lattice: HalfplaneLattice
    piece: PieceKind
    inner: Sampler | None = None
    questions: list[Question] = field(default_factory=list)
    times: list[Time] = field(default_factory=list)

    def select(
        self,
        counts: GridCounts,
        score: Score,
        rate: float,
        source: RandomSource,
        watch: Watch | None = None,
    ) -> Selected:
        """See :meth:`learners.core.selection.Sampler.select`."""
        if self.inner is None:
            self.questions.append(Question(self.lattice, counts, score, rate, source))
            answer = (self.lattice.halfplane(Sheet.FLAT_ABOVE, 0, 0),) * PIECE_SIZE[self.piece]
            return Selected(answer, SelectionProgress(0, 0, 0.0))
        start = time.perf_counter()
        selected = self.inner.select(counts, score, rate, source, watch)
        seconds = time.perf_counter() - start
        progress = selected.progress
        note = f"{progress.boxes:,} boxes, {progress.trials:,} trials"
        self.times.append(Time(seconds, peak_memory(), note=note))
        return selected


def first_question(case: Case, seed: int) -> Question:
    """What the first step of a run asks."""
    listener = Listener(case.lattice, case.piece)
    next(case.run(listener, seed))
    return listener.questions[0]
