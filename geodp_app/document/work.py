"""The state of the window's work, as frozen values: what undo steps through and sessions keep.

Nothing here is released.  A run and its records are kept apart (:mod:`geodp_app.runs`).
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Literal, get_args

from geodp_app.document.charges import Charge
from geodp_app.drawing.shapes import Drawing
from geodp_app.examples_csv import Examples, Frame
from geodp_app.sampling import Distribution
from geometry.grid import Bounds
from geometry.halfplane import Measure
from learners.accounting import Neighbours

#: "tiles" and "union" are the union learner without and with k.
LearnerChoice = Literal[
    "tiles",
    "union",
    "convex",
    "threshold",
    "discs",
    "ellipses",
    "stability",
    "greedy-union",
    "greedy-convex",
]
LEARNERS: tuple[LearnerChoice, ...] = get_args(LearnerChoice)


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
        Polygons tile by tile, or by k triangles, or a convex polygon, or a halfplane along an
        axis, or a union of discs or ellipses, or k triangles by votes of chunks; the greedy ones
        are not private.
    k, n_steps, beta :
        Of covers: all but tiles, threshold and stability, which has k alone.
    seed : int or None
        Makes a run reproducible and therefore not private.
    tiles : int or None
        Of a run by tiles, tiles along a side; None lets a noisy count choose.
    """

    learner: LearnerChoice = "tiles"
    epsilon: float = 1.0
    delta: float = 1e-6
    k: int = 4
    n_steps: int | None = None
    beta: float = 0.1
    neighbours: Neighbours = "add-remove"
    measure: Measure = "chord"
    seed: int | None = None
    tiles: int | None = None

    @property
    def private(self) -> bool:
        """Whether a run with these settings is differentially private."""
        return not self.learner.startswith("greedy") and self.seed is None

    @property
    def by_tiles(self) -> bool:
        """Whether each step of a run labels a tile of its own."""
        return self.learner == "tiles"

    @property
    def by_cover(self) -> bool:
        """Whether the run takes k pieces, or a few times as many, one after the other."""
        return self.learner not in ("tiles", "threshold", "stability")

    @property
    def curved(self) -> bool:
        """Whether pieces are discs or ellipses: no halfplanes, and so no dual plane."""
        return self.learner in ("discs", "ellipses")

    @property
    def piece_measure(self) -> Measure:
        """Of the lattice of all pieces: a threshold needs none but the default."""
        return "chord" if self.learner in ("threshold", "stability") else self.measure

    def parameters(self) -> dict[str, Any]:
        """Constructor parameters of the learner, without the grid."""
        names = [] if self.curved or self.learner in ("threshold", "stability") else ["measure"]
        names += ["k", "n_steps"] if self.by_cover else []
        names += ["k"] if self.learner == "stability" else []
        names += ["tiles"] if self.by_tiles else []
        if not self.learner.startswith("greedy"):
            names += ["epsilon", "delta", "neighbours", "seed"]
            names += ["beta"] if self.by_cover else []
        return {name: getattr(self, name) for name in names}


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
    spent : tuple of Charge
        Of the private runs on these examples, in order; they go where the examples go.
    """

    name: str = "untitled"
    drawing: Drawing = field(default_factory=lambda: Drawing(1024))
    bounds: Bounds | None = None
    sampling: SampleSettings = field(default_factory=SampleSettings)
    run: RunSettings = field(default_factory=RunSettings)
    examples: Examples | None = None
    simulated: bool = True
    spent: tuple[Charge, ...] = ()

    @property
    def frame(self) -> Frame:
        """Grid and bounds."""
        return Frame(self.drawing.grid, self.bounds)
