"""A selection is one draw from the exponential mechanism over pieces, by their scores.

It draws a piece theta (one halfplane, or three whose intersection is a triangle) with probability
proportional to mu(theta) * exp(rate * value(theta)), mu uniform over the lattice of
:mod:`geometry.halfplane` (a product of three for a triangle), value an integer function of two
counts, :class:`Score`.

KMMS section 3 scores a piece by min{gain - b/k, -loss}.  In a disjunction a piece gains the
positive examples inside it and loses the negative ones; in a conjunction it gains the negative
examples *outside* and loses the positive ones outside.  Multiplied by k and written with the counts
inside, both become

    value = min(k * P + c_pos, -k * N + c_neg),

so a selection needs to know nothing about roles.  For fixed b, adding one example moves value / k
by at most 1, and by the same sign for every piece (docs/privacy.md, lemma 1).
"""

from __future__ import annotations

import math
import threading
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from dataclasses import dataclass, field
from typing import Any, Literal, Protocol, TypeVar

import numpy as np
from numpy.typing import NDArray

from geometry.arrays import Ints
from geometry.grid_counts import GridCounts
from geometry.halfplane import Region

# a score is of a role, as the declarations are
from learners.declaration import Role as Role
from learners.privacy.randomness import RandomSource


@dataclass(frozen=True, slots=True)
class Score:
    """Integer score of a piece holding P positives, N negatives: min(k*P + c_pos, -k*N + c_neg).

    Attributes
    ----------
    k : int
        Number of edges the hypothesis may need; one example moves the value by at most k.
    c_pos, c_neg : int
        Constants of the role, the noisy count and the examples still alive.
    total : bool
        The sum of the two parts in place of the smaller one.
    """

    k: int
    c_pos: int
    c_neg: int
    total: bool = False

    def value(self, positives: int, negatives: int) -> int:
        """Score of a piece that holds that many alive positive and negative examples."""
        gained, lost = self.k * positives + self.c_pos, -self.k * negatives + self.c_neg
        return gained + lost if self.total else min(gained, lost)

    def values(self, positives: Ints, negatives: Ints) -> Ints:
        """Scores of many pieces at once."""
        gained, lost = self.k * positives + self.c_pos, -self.k * negatives + self.c_neg
        return gained + lost if self.total else np.minimum(gained, lost)


#: Power of the law of :func:`softened_nats` (docs/decisions/0019-softened-scores.md).
POWER = 64


def softened_nats(value: float, rate: float) -> float:
    """Log of a piece's weight where scores are softened: -POWER * ln(1 + rate * -value / POWER).

    `value` is at most 0.  Near 0 that is rate * value; it rises with the value, by less than `rate`
    a unit (docs/privacy.md, lemma L1), and the slower the less a piece fits.

    Parameters
    ----------
    value : float
        Integer score.
    rate : float
        Nats per unit of it, at 0.
    """
    return -POWER * math.log1p(-value * rate / POWER)


def softened_shortfall(nats: float) -> float:
    """rate * -value of a piece whose weight is e^-nats: the inverse of :func:`softened_nats`."""
    return POWER * math.expm1(nats / POWER)


def set_cover_score(role: Role, k: int, noisy: int, positives: int, negatives: int) -> Score:
    """KMMS's score for one step.

    Parameters
    ----------
    role : {"disjunction", "conjunction"}
    k : int
        Edges (disjunction: triangles; conjunction: halfplanes) of a good hypothesis.
    noisy : int
        b_j, the noisy lower estimate of how many examples are left to gain.
    positives, negatives : int
        Examples still alive (exact; they only shift both arguments of the minimum, and
        reach the output through the selection alone).
    """
    if role == "disjunction":
        return Score(k, -noisy, 0)
    return Score(k, -k * positives, k * negatives - noisy)


def mistakes_score(outside: int) -> Score:
    """Minus the number of mistakes of a piece that labels its inside 1 and the rest 0.

    Adding one example changes it by 0 or -1, for every piece.

    Parameters
    ----------
    outside : int
        Positive examples in all: those that a piece does not hold are mistakes.
    """
    return Score(1, -outside, 0, total=True)


#: Number of halfplanes whose intersection is one piece.
PIECE_SIZE = {"halfplane": 1, "triangle": 3}
PieceKind = Literal["halfplane", "triangle"]

#: Called now and then from inside a selection with what it has done so far; it may raise
#: Cancelled, and then nothing is released.
Watch = Callable[["SelectionProgress"], None]


#: A picture of each sheet, values of geometry.halfplane.Sheet: [i, j] in column i of u, row j of v.
SheetDensities = tuple[tuple[int, NDArray[np.float32]], ...]


class Cancelled(Exception):
    """The person asked to stop; nothing has been released."""


@dataclass(frozen=True, slots=True)
class HeavyBox:
    """A box of the envelope's partition that holds much of its mass (private).

    Attributes
    ----------
    sheets : tuple of int
        Values of geometry.halfplane.Sheet, one a halfplane of the piece.
    rectangles : tuple of (u0, u1, v0, v1)
        Dual points of each halfplane, half-open, in lattice units.
    share : float
        Of the envelope's mass, 0..1.
    """

    sheets: tuple[int, ...]
    rectangles: tuple[tuple[int, int, int, int], ...]
    share: float


@dataclass(frozen=True, slots=True)
class SelectionProgress:
    """How far a selection is (private: for the curator's eyes only).

    Attributes
    ----------
    trials, boxes : int
        Trials made and boxes of the partition so far (cells, for the arrangement).
    log_mass : float
        Natural log of the envelope's mass relative to the base measure.
    heaviest : callable or None
        heaviest(count) looks up that many of the heaviest boxes, heaviest first.  It reads the
        sampler's own tables and keeps them in memory: call it from inside the watch, or drop it
        before the next selection.  None when there is no partition.
    density : callable or None
        density(resolution) tells where the piece's halfplanes may still lie
        (:func:`learners.envelope.views.edge_density`); it reads the same tables.
    amid : bool
        Told while threads are at work, so that a cancel is heard soon: the numbers are those that
        were told before, and there is nothing to look at.
    """

    trials: int
    boxes: int
    log_mass: float
    heaviest: Callable[[int], tuple[HeavyBox, ...]] | None = field(
        default=None, compare=False, repr=False
    )
    density: Callable[[int], SheetDensities] | None = field(default=None, compare=False, repr=False)
    amid: bool = False

    def work(self) -> dict[str, float]:
        """Its numbers by name, as a step's diagnostics keep them."""
        return {"trials": self.trials, "boxes": self.boxes, "log_mass": self.log_mass}


@dataclass(frozen=True, slots=True)
class Selected:
    """A drawn piece and what the curator may know about the draw.

    `progress.heaviest` holds a few final boxes of a selection that was watched, and no tables;
    `inside` is the label that the piece gives its inside.
    """

    piece: tuple[Region, ...]
    progress: SelectionProgress
    details: dict[str, Any] = field(default_factory=dict)
    inside: bool = True


class Sampler(Protocol):
    """A sampler of the exponential mechanism over a finite class of pieces.

    Its law may be off by what :mod:`learners.privacy.accounting` charges for arithmetic, and no
    more.
    """

    def select(
        self,
        counts: GridCounts,
        score: Score,
        rate: float,
        source: RandomSource,
        watch: Watch | None = None,
    ) -> Selected:
        """Draw one piece.

        Parameters
        ----------
        counts : GridCounts
            Alive examples, on the grid of the class.
        score : Score
        rate : float
            Nats per unit of the integer score (eta / k for eta per example).
        source : RandomSource
        watch : callable, optional
            Progress and cancel.
        """


def check_max_boxes(max_boxes: int) -> None:
    """Refuse more boxes than the proof of the samplers' arithmetic assumes.

    Raises
    ------
    ValueError
        If it does not lie in 1..2**22.
    """
    if not 1 <= max_boxes <= 1 << 22:
        raise ValueError(f"max_boxes must lie in 1..{1 << 22}, got {max_boxes}")


# tasks side by side, in threads

_Task = TypeVar("_Task")
_Outcome = TypeVar("_Outcome")

#: So many threads: more would hold more tables.
_AT_ONCE = 2

#: Seconds between two moments at which Ctrl+C is heard, and between two ticks.
_LISTEN = 0.05


def thread_map(
    work: Callable[[_Task, Callable[[], bool]], _Outcome],
    tasks: Iterable[_Task],
    tick: Callable[[], None] | None = None,
    *,
    short: Callable[[_Task], bool] = lambda _: False,
) -> Iterator[_Outcome]:
    """What comes of the tasks, in their order.

    Parameters
    ----------
    work : callable
        work(task, stopped), in a thread; stopped() says that nobody waits for it any more.
    tasks : iterable
        Taken one by one in the caller's thread, a few ahead.
    tick : callable, optional
        Called in the caller's thread, many times a second while it waits; what it raises ends the
        work.
    short : callable
        Whether a task is done sooner than handed over: the caller's thread does it.
    """
    stopped = threading.Event()
    pool = ThreadPoolExecutor(_AT_ONCE, thread_name_prefix="tile")
    waiting: deque[Future[_Outcome]] = deque()
    patient = True
    try:
        for task in tasks:
            if short(task):
                waiting.append(Future())
                waiting[-1].set_result(work(task, stopped.is_set))
            else:
                waiting.append(pool.submit(work, task, stopped.is_set))
            while sum(not future.done() for future in waiting) > _AT_ONCE:
                _listen(waiting, tick)
            while waiting and waiting[0].done():
                yield waiting.popleft().result()
        while waiting:
            while not waiting[0].done():
                _listen(waiting, tick)
            yield waiting.popleft().result()
    except GeneratorExit:
        # whoever drops this half-way may be Python itself, which looks for garbage amid anything,
        # and may hold a lock that the threads need to end
        patient = False
        raise
    finally:
        stopped.set()
        pool.shutdown(wait=patient, cancel_futures=True)


def _listen(futures: Iterable[Future[_Outcome]], tick: Callable[[], None] | None) -> None:
    """Wait for any of them, a moment at most: not every system lets Ctrl+C end a wait for ever."""
    unfinished = [future for future in futures if not future.done()]
    wait(unfinished, _LISTEN, return_when=FIRST_COMPLETED)
    if tick is not None:
        tick()
