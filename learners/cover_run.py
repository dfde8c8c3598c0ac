"""What the learners by private set cover share: parameters, budget and sampler of a run."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, ClassVar, Literal

from geometry.grid_counts import MOST_EXAMPLES, GridCounts
from geometry.halfplane import HalfplaneLattice, Measure
from learners.accounting import Neighbours, PrivacySpent
from learners.arrangement_selection import ArrangementSelection
from learners.envelope.envelope_selection import EnvelopeSelection
from learners.estimator import CountedEstimator, check_count
from learners.randomness import RandomSource, open_source
from learners.records import StepRecord, StepRelease, TileStep
from learners.releases import Release
from learners.selection import PieceKind, Sampler, Selection, Watch
from learners.set_cover import (
    Budget,
    Pieces,
    default_steps,
    noise_share,
    plan_budget,
    private_steps,
    theorem_steps,
)
from learners.sklearn_support import keyword_parameters

SelectionName = Literal["envelope", "arrangement"]


@dataclass(frozen=True, slots=True)
class CoverRun:
    """A set cover under way.

    Attributes
    ----------
    counts : GridCounts
    steps : iterator of StepRecord
        Not yet begun.
    budget : Budget
    source : RandomSource
    watch : callable or None
    """

    counts: GridCounts
    steps: Iterator[StepRecord]
    budget: Budget
    source: RandomSource
    watch: Watch | None


@keyword_parameters()
class CoverEstimator(CountedEstimator):
    """What learners by private set cover share: checks, budget, and the stream of steps."""

    #: Whether k may be "auto".
    finds_k: ClassVar[bool] = False

    epsilon: float = 1.0
    delta: float = 1e-6
    k: Pieces | None = 4
    grid: int = 1024
    n_steps: int | None = None
    beta: float = 0.1
    neighbours: Neighbours = "add-remove"
    seed: int | None = None

    def _cover(
        self,
        counts: GridCounts,
        make: Callable[[], Sampler],
        watch: Watch | None,
    ) -> tuple[Iterator[StepRecord], PrivacySpent, tuple[tuple[str, Any], ...]]:
        """The run, what it spends, and its public parameters.

        Raises
        ------
        ValueError
            If a parameter is out of range, or k is too large for so many examples.
        """
        k, budget = self._plan_cover()
        if k != "auto" and k * counts.n > MOST_EXAMPLES:
            raise ValueError(
                f"k = {k} pieces and so many examples make scores beyond {MOST_EXAMPLES}, where "
                "arithmetic is exact: use a smaller k, or fewer examples"
            )
        source = open_source(self.seed)
        stream = private_steps(
            counts,
            role=self.role,
            k=k,
            budget=budget,
            selection=make(),
            source=source,
            watch=watch,
            sharpened=self._sharpened,
        )
        parameters = (("k", k), ("steps", budget.steps), ("beta", self.beta))
        return *self._finished(CoverRun(counts, stream, budget, source, watch)), parameters

    @property
    def _sharpened(self) -> bool:
        """Whether something follows the cover."""
        return False

    def _alone(self, steps: int) -> bool:
        """Whether one piece is all there is, drawn by its mistakes without a noisy count."""
        return False

    def _finished(self, run: CoverRun) -> tuple[Iterator[StepRecord], PrivacySpent]:
        """All steps of a run whose cover is under way, and what it spends."""
        return run.steps, run.budget.spent

    def plan(self) -> PrivacySpent | None:
        """What a run with these parameters will spend, by public numbers alone."""
        return self._plan_cover()[1].spent

    def _plan_cover(self) -> tuple[Pieces, Budget]:
        """k, and the budget of the run."""
        k = self._check_k()
        n_steps = self._step_count(k)
        if not 0 < self.beta < 1:
            raise ValueError(f"beta must lie strictly between 0 and 1, got {self.beta}")
        return k, self._plan_steps(n_steps)

    def _check_k(self) -> Pieces:
        if self.k is None:
            raise ValueError("k is missing: give the number of pieces")
        if self.k != "auto":
            return check_count("k", self.k)
        if not self.finds_k:
            raise ValueError("k = 'auto' is for unions of triangles: give the number of pieces")
        return "auto"

    def _plan_steps(self, steps: int) -> Budget:
        private = self.seed is None
        share = 0.0 if self._alone(steps) else noise_share(self._check_k())
        return plan_budget(
            self.epsilon, self.delta, steps, self.beta, self.neighbours, private, share
        )

    def _keep_pieces(
        self,
        stream: Iterator[StepRecord],
        spent: PrivacySpent,
        make: Callable[[str, PrivacySpent | None, list[tuple[Any, ...]], tuple[int, ...]], Release],
    ) -> Iterator[StepRecord]:
        """Pass the records on, and keep the release once the run is complete.

        `make` makes it of the learner's name, the privacy statement, the pieces and the noisy
        counts; for pieces that are no halfplanes.
        """

        def release(
            name: str, privacy: PrivacySpent | None, released: list[StepRelease | TileStep]
        ) -> Release:
            taken = [step for step in released if isinstance(step, StepRelease)]
            thresholds = tuple(step.threshold or 0 for step in taken)
            return make(name, privacy, [step.piece for step in taken], thresholds)

        return self._keep(stream, release, spent)

    def _step_count(self, k: Pieces) -> int:
        if self.n_steps is not None:
            return check_count("the number of steps", self.n_steps)
        return default_steps(k)


@keyword_parameters(after={"n_steps": ["alpha"], "neighbours": ["measure", "selection"]})
class PrivateSetCover(CoverEstimator):
    """The private set-cover learner; its two named forms fix the role and the piece.

    Parameters
    ----------
    epsilon, delta : float
        Privacy of the whole run.
    k : int
        Pieces of a good hypothesis: triangles that cover the region, or edges of the convex
        polygon.
    grid : int
        d: examples have integer coordinates in 0..d.
    n_steps : int, optional
        Steps m of the run, one piece each.  By default 1 for k = 1, else 3k, or with `alpha`
        the source's ceil(2k ln(2/alpha)).
    alpha : float, optional
        Error aimed at, in (0, 1): only chooses the number of steps.
    beta : float
        Probability, in (0, 1), with which some noisy count may exceed the true one.
    neighbours : {"add-remove", "replace-one"}
    measure : {"chord", "paper"}
        Base measure of the dual plane, see :class:`geometry.halfplane.HalfplaneLattice`.
    selection : {"envelope", "arrangement"}
        The sampler: both draw from the same law up to their rounding, which is charged; the second
        only for tiny samples.
    seed : int, optional
        Makes the run reproducible and therefore not private; the release says so.

    Attributes
    ----------
    release_ : Release
        What may be published.
    """

    piece: ClassVar[PieceKind]

    alpha: float | None = None
    measure: Measure = "chord"
    selection: SelectionName = "envelope"

    def _run(self, counts: GridCounts, watch: Watch | None) -> Iterator[StepRecord]:
        lattice = HalfplaneLattice(self.grid, self.measure)
        stream, spent, parameters = self._cover(
            counts, lambda: make_selection(self.selection, lattice, self.piece), watch
        )
        return self._publish(stream, lattice, parameters, spent)

    def _step_count(self, k: Pieces) -> int:
        if self.n_steps is not None or self.alpha is None:
            return super()._step_count(k)
        if k == "auto":
            raise ValueError("alpha chooses the number of steps by k: give k, or no alpha")
        if not 0 < self.alpha < 1:
            raise ValueError(f"alpha must lie strictly between 0 and 1, got {self.alpha}")
        return theorem_steps(k, self.alpha)


def make_selection(name: str, lattice: HalfplaneLattice, piece: PieceKind) -> Selection:
    """The sampler of that name.

    Raises
    ------
    ValueError
        If there is none.
    """
    if name == "envelope":
        return EnvelopeSelection(lattice, piece)
    if name == "arrangement":
        return ArrangementSelection(lattice, piece)
    raise ValueError(f"unknown selection {name!r}: use 'envelope' or 'arrangement'")
