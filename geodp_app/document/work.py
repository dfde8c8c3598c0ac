"""The state of the window's work, as frozen values: what undo steps through and sessions keep.

Nothing here is released.  A run and its records are kept apart (:mod:`geodp_app.runs`).
"""

from __future__ import annotations

from dataclasses import dataclass, field, fields
from typing import Any

from geodp_app.document.charges import RunCharge
from geodp_app.document.examples import Examples, Frame
from geodp_app.document.mask import Mask
from geodp_app.document.sampling import Distribution
from geodp_app.drawing.shapes import Drawing
from geometry.grid import Bounds
from geometry.halfplane import Measure
from learners.accounting import Neighbours, Relation
from learners.declaration import Learner
from learners.registry import BY_ID, offered
from learners.set_cover import Finish, Pieces, default_steps

#: Learners that the window offers, by id (:mod:`learners.registry`).
LEARNERS: tuple[str, ...] = tuple(learner.id for learner in offered("window"))


@dataclass(frozen=True, slots=True)
class SampleSettings:
    """How simulated examples are drawn from the target.

    Attributes
    ----------
    n : int
    distribution : {"uniform", "clustered", "gaussian", "painted"}
    noise : float
        Probability, in 0..1, that a label is flipped.
    seed : int or None
        Of the simulation (not of the learner); None for another sample each time.
    dabs : tuple of (x, y, r)
        Where a painted sample comes from: discs in grid units, one equally likely as another.
    """

    n: int = 10_000
    distribution: Distribution = "uniform"
    noise: float = 0.0
    seed: int | None = 1
    dabs: tuple[tuple[int, int, int], ...] = ()


@dataclass(frozen=True, slots=True)
class RunSettings:
    """Public parameters of a run, named as the learners name them.

    Attributes
    ----------
    learner : one of :data:`LEARNERS`
    k, n_steps, beta, measure, finish, tiles, support, chunks, halts, kept, direction :
        Of learners that have such a parameter; None leaves it to the learner.  In the window a
        halt is kept for questions, so that there is something to ask after a run.  Directions are
        those of :data:`learners.registry.DIRECTION`.
    neighbours : {"add-remove", "replace-one", "replace-label"}
        The last of a learner that can protect labels alone.
    seed : int or None
        Makes a run reproducible and therefore not private.
    """

    learner: str = "cover"
    epsilon: float = 1.0
    delta: float = 1e-6
    k: Pieces = 4
    n_steps: int | None = None
    beta: float = 0.1
    neighbours: Relation = "add-remove"
    measure: Measure = "chord"
    seed: int | None = None
    finish: Finish = "sharpen"
    tiles: int | None = None
    support: float | None = None
    chunks: int | None = None
    halts: int = 2
    kept: int = 1
    direction: str | None = None

    @property
    def declared(self) -> Learner:
        """What is declared of the learner."""
        return BY_ID[self.learner]

    @property
    def private(self) -> bool:
        """Whether a run with these settings is differentially private."""
        return self.declared.private and self.seed is None

    @property
    def by_tiles(self) -> bool:
        """Whether each step of a run labels a tile of its own."""
        return self.declared.by_tiles

    @property
    def sharpened(self) -> bool:
        """Whether the edges of a cover's triangles are drawn again at its end."""
        return self.has("finish") and self.finish == "sharpen" and self.k != 1

    @property
    def alone(self) -> bool:
        """Whether a run is one draw, of a triangle by its mistakes, without a noisy count."""
        single = self.k == 1 and self.n_steps in (None, 1)
        return self.has("finish") and self.finish == "sharpen" and single

    @property
    def cover_steps(self) -> int:
        """Pieces of a cover with a number of steps, or the most if the run itself finds k; a
        sharpened run has the zones' steps beside."""
        if self.n_steps is not None:
            return self.n_steps
        return default_steps(self.k, sharpened=self.sharpened)

    @property
    def curved(self) -> bool:
        """Whether pieces are discs or ellipses: no halfplanes, and so no dual plane."""
        return self.declared.curved

    @property
    def piece_measure(self) -> Measure:
        """Of the lattice of all pieces; that of learners without a choice is the default."""
        return "chord" if self.declared.parameter("measure") is None else self.measure

    def has(self, name: str) -> bool:
        """Whether the learner has a parameter of that name."""
        return self.declared.parameter(name) is not None

    @property
    def takes_k(self) -> bool:
        """Whether the learner takes this k, or has none."""
        k = self.declared.parameter("k")
        return k is None or k.accepts(self.k)

    @property
    def fits(self) -> bool:
        """Whether the learner can protect what `neighbours` says."""
        if self.neighbours != "replace-label":
            return True
        learner = BY_ID.get(self.learner)
        relation = None if learner is None else learner.parameter("neighbours")
        return relation is not None and relation.accepts(self.neighbours)

    @property
    def whole_neighbours(self) -> Neighbours:
        """What a learner protects that can protect whole examples only."""
        return "add-remove" if self.neighbours == "replace-label" else self.neighbours

    def parameters(self) -> dict[str, Any]:
        """Parameters of the learner that are set here, without the grid."""
        names = [field.name for field in fields(self) if field.name != "learner"]
        return {name: getattr(self, name) for name in names if self.has(name)}


@dataclass(frozen=True, slots=True)
class Work:
    """Everything a person can edit, at one moment.

    Attributes
    ----------
    name : str
        Of the drawing; the title of pictures and the first guess of file names.
    drawing : Drawing
    bounds : Bounds or None
        Public bounds of the grid in degrees.
    sampling : SampleSettings
    run : RunSettings
    examples : Examples or None
        Private.  Simulated, or imported (`simulated` is False: then the drawing does not label
        them).
    simulated : bool
    k_drawn : bool
        Whether k follows the drawing (:mod:`geodp_app.document.suggested_k`).
    spent : tuple of RunCharge
        Of the private runs on these examples, in order; they go where the examples go.
    within : Mask or None
        What the learned shape is clipped to, when it is shown and exported.
    ledger : str or None
        Path of the ledger (:mod:`geodp_app.files.ledger`) of imported examples; it goes where they
        go.
    """

    name: str = "untitled"
    drawing: Drawing = field(default_factory=lambda: Drawing(1024))
    bounds: Bounds | None = None
    sampling: SampleSettings = field(default_factory=SampleSettings)
    run: RunSettings = field(default_factory=RunSettings)
    examples: Examples | None = None
    simulated: bool = True
    k_drawn: bool = True
    spent: tuple[RunCharge, ...] = ()
    within: Mask | None = None
    ledger: str | None = None

    @property
    def frame(self) -> Frame:
        """The grid of the work, and its bounds in degrees if it has any."""
        return Frame(self.drawing.grid, self.bounds)
