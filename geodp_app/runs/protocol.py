"""Defines the messages between the window and the learner's process.  Plain picklable values.

The process answers requests one at a time, in order:

    Prepare   Preparing (only if something is compiled), Prepared
    Refine
    Start     Started
    Next      Progressed (any number), Stepped; after the last step also Finished
    Ask       Answered
    Query     Queried
    Cancel    Stopped, also from inside a Next

or with Failed.  A question gives way to whatever is asked after it.  Replies carry the number of
the run they belong to, so that what arrives late from a cancelled run can be dropped.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np

from geodp_app.document.work import RunSettings, Work
from geodp_app.runs.figures import Selecting
from geometry.arrays import Flags, Floats, Ints
from geometry.halfplane import Halfplane, HalfplaneLattice, Sheet
from learners.core.records import Piece, StepRecord
from learners.core.releases import Release
from learners.core.selection import HeavyBox, Score, SheetDensities
from learners.privacy.accounting import PrivacySpent
from learners.stability.classifiers import QueryRecord
from learners.stability.sample_and_aggregate import VoteView


@dataclass(frozen=True, slots=True)
class Job:
    """A run to be made on points of shape (n, 2).  Private: it holds the examples.

    One `at_once` makes all steps without being asked for each, and tells nothing of its boxes.
    """

    points: Ints
    labels: Flags
    grid: int
    settings: RunSettings
    at_once: bool = False

    @classmethod
    def of(cls, work: Work, *, at_once: bool = False) -> Job:
        """A run on the examples of a work, which has some."""
        examples = work.examples
        assert examples is not None
        labels = examples.labels.astype(np.bool_)
        return cls(examples.points, labels, work.drawing.grid, work.run, at_once)

    def same(self, other: Job) -> bool:
        """Whether it is the same run on the same examples."""
        one, two = ((job.grid, job.settings, job.at_once) for job in (self, other))
        return (
            one == two
            and np.array_equal(self.points, other.points)
            and np.array_equal(self.labels, other.labels)
        )


@dataclass(frozen=True, slots=True)
class Window:
    """A rectangle of dual points, u0 <= u <= u1 and v0 <= v <= v1, in grid units."""

    u0: float
    u1: float
    v0: float
    v1: float

    @property
    def width(self) -> float:
        """The window's extent in u, in dual units."""
        return self.u1 - self.u0

    @property
    def height(self) -> float:
        """The window's extent in v, in dual units."""
        return self.v1 - self.v0

    def grown(self, share: float) -> Window:
        """The window with `share` of its size added on each side."""
        du, dv = share * self.width, share * self.height
        return Window(self.u0 - du, self.u1 + du, self.v0 - dv, self.v1 + dv)

    def within(self, other: Window) -> Window:
        """The common part, or an empty window on the border of `other`."""
        u0, u1 = (min(max(u, other.u0), other.u1) for u in (self.u0, self.u1))
        v0, v1 = (min(max(v, other.v0), other.v1) for v in (self.v0, self.v1))
        return Window(u0, u1, v0, v1)

    def holds(self, u: float, v: float) -> bool:
        """Whether a dual point lies in it."""
        return self.u0 <= u <= self.u1 and self.v0 <= v <= self.v1


def extent(lattice: HalfplaneLattice) -> Window:
    """The square that holds the region of any sheet."""
    unit = 1 << lattice.bits
    low, high = lattice.low / unit, lattice.high / unit
    return Window(low, high, low, high)


@dataclass(frozen=True, slots=True)
class ShadeQuestion:
    """How good would the piece be if one of its halfplanes were another one?"""

    #: The examples that the step saw, in the frame of the lattice.
    points: Ints
    labels: Flags
    lattice: HalfplaneLattice
    #: Of the step.
    score: Score
    #: eta / score.k: nats per unit of the integer score; 0 of a choice that is not drawn by these
    #: scores alone.
    rate: float
    #: The piece's halfplanes that are held fixed.
    others: tuple[Halfplane, ...]
    #: Samples along a side of a raster.
    resolution: int = 96
    #: Cells are exact up to so many distinct examples inside the others.
    most_lines: int = 120
    #: Sheets to make rasters of, and the part of each; by default the whole of all.  Cells are of
    #: all sheets in any case, for their probabilities need them all.
    windows: dict[Sheet, Window] | None = None


@dataclass(frozen=True, slots=True)
class ShadedCell:
    """A cell of the arrangement in one sheet."""

    #: Shape (m, 2): corners (u, v) in grid units (lattice units / 2**bits), counterclockwise.
    #: Convex but for the corners (0, 0) and (d, d) of the chord measure's region.
    outline: Floats
    #: In examples.
    score: float
    #: Of the whole cell, given the other halfplanes; sums to 1 over all sheets.
    probability: float


@dataclass(frozen=True, slots=True)
class ShadedSheet:
    """One sheet, shaded: exact cells for a small sample, else a raster."""

    #: Value of geometry.halfplane.Sheet.
    sheet: int
    #: Empty when there are too many lines.
    cells: tuple[ShadedCell, ...]
    #: Shape (resolution, resolution): exact scores at a raster of lattice points, [i, j] at the
    #: centre of the i-th column in u and j-th row in v; NaN where the lattice has no halfplane.
    scores: Floats | None
    #: What the raster covers; for cells the sheet's whole square.
    window: Window


#: Why an example changes nothing in a step: an earlier step has decided it; it lies outside the
#: halfplanes that are held fixed; it lies in another tile.
WhyNone = Literal["decided", "outside", "elsewhere"]


@dataclass(frozen=True, slots=True)
class ReportQuestion:
    """How would the law of one halfplane differ with an example more, or one less?

    The noisy count of the step is held fixed.
    """

    #: The step as it was; its rate is above 0.
    step: ShadeQuestion
    #: What it drew.
    chosen: Halfplane
    #: Where the example lies, in the frame of the lattice.
    point: tuple[int, int]
    #: As labels of the step's examples are.
    label: bool
    #: Whether it is one of these; else it is put there.
    present: bool
    #: Of the step, the example being there if it is not, and missing if it is.
    other_score: Score
    #: If it is known already that the example changes nothing.
    why_none: WhyNone | None = None


@dataclass(frozen=True, slots=True)
class ShareQuestion:
    """How likely was it that a halfplane of the drawn piece became as good a one, or a better one,
    the others given?  Asked of each.

    No halfplane of the step is held fixed; its rate is above 0.
    """

    step: ShadeQuestion
    piece: Piece


@dataclass(frozen=True, slots=True)
class AsGood:
    """The answer for one halfplane: a share, 0..1, and an interval around it.  Private.

    The interval holds it in about 95 of 100 cases; both its ends are the share where it is exact.
    """

    share: float
    low: float
    high: float
    exact: bool


Question = ShadeQuestion | ReportQuestion | ShareQuestion


@dataclass(frozen=True, slots=True)
class ChangedSheet:
    """What an example changes on one sheet."""

    #: The step as it was.  Its cells are those of all examples, the one asked for included.
    shaded: ShadedSheet
    #: ln P_with(h) / P_without(h), of each cell, shape (m,), or of each pixel, shape (resolution,
    #: resolution), NaN where the lattice has no halfplane.  Within -eta .. eta.
    log_ratios: Floats


@dataclass(frozen=True, slots=True)
class Change:
    """What one example changes in the law of one step's halfplane.  Private."""

    #: As of a ShadeQuestion; empty if it changes nothing.
    sheets: tuple[ChangedSheet, ...]
    #: The log ratio of the halfplane that was drawn.
    chosen: float
    #: The largest absolute value: of all halfplanes of the lattice for cells, of pixels and the
    #: chosen one for rasters.
    largest: float
    #: All log ratios are off by the same number, about this (one standard error); 0 for cells.
    error: float
    #: Why it changes nothing.
    why_none: WhyNone | None = None


# requests


@dataclass(frozen=True, slots=True)
class Prepare:
    """Compile or load the loops."""


@dataclass(frozen=True, slots=True)
class Refine:
    """Prepare for a run that may be started, for as long as nothing else is asked.

    Nothing is drawn for it, and nothing answered.
    """

    job: Job


@dataclass(frozen=True, slots=True)
class Start:
    """Begin a run; nothing is selected yet, but of one at once everything.

    Without a job it is that of the last Refine.
    """

    run: int
    job: Job | None


@dataclass(frozen=True, slots=True)
class Next:
    """Make the next step of the run."""

    run: int


@dataclass(frozen=True, slots=True)
class Ask:
    """Answer a question about the dual plane."""

    run: int
    question: Question
    tag: int


@dataclass(frozen=True, slots=True)
class Query:
    """Have public points labelled by the chunks of a run by votes that has ended.

    `points` are of int64, shape (m, 2), grid units.
    """

    run: int
    points: Ints


@dataclass(frozen=True, slots=True)
class Cancel:
    """End the run, even from inside a selection; the answer is always Stopped."""

    run: int


Request = Prepare | Refine | Start | Next | Ask | Query | Cancel

# replies


@dataclass(frozen=True, slots=True)
class Preparing:
    """Loops are being compiled: it will take some 15 seconds, once."""


@dataclass(frozen=True, slots=True)
class Prepared:
    """Ready for a run."""


@dataclass(frozen=True, slots=True)
class Started:
    """The job was accepted; steps may be asked for.  `plan` is what the run will spend."""

    run: int
    plan: PrivacySpent | None


@dataclass(frozen=True, slots=True)
class Progressed(Selecting):
    """From inside a selection, at most every tenth of a second.  Private.

    `views` are the sampler's heaviest boxes, in units of the lattice; `density` holds, for each
    sheet (a value of geometry.halfplane.Sheet), the expected number of the piece's halfplanes in
    each pixel of its square, float32 of shape (r, r), [i, j] in column i of u and row j of v: by
    the sampler's boxes, which only bound the law.  Both are empty where there are none, and of a
    tile.
    """

    run: int = 0
    views: tuple[HeavyBox, ...] = ()
    density: SheetDensities = ()


@dataclass(frozen=True, slots=True)
class Stepped:
    """A step is done.  Private: `views`, the sampler's heaviest boxes at its end, in units of the
    step's lattice; `votes`, what a run by votes has asked.
    """

    run: int
    record: StepRecord
    views: tuple[HeavyBox, ...] = ()
    votes: VoteView | None = None


@dataclass(frozen=True, slots=True)
class Finished:
    """The last step is done: what may be published."""

    run: int
    release: Release


@dataclass(frozen=True, slots=True)
class Stopped:
    """The selection was cancelled; nothing was released."""

    run: int


@dataclass(frozen=True, slots=True)
class Failed:
    """One line for the person."""

    run: int
    message: str


@dataclass(frozen=True, slots=True)
class Queried:
    """Answers at public points, or in one line why there are none.

    Private: the diagnostics of each record; its release is public.
    """

    run: int
    points: Ints
    records: tuple[QueryRecord, ...] = ()
    refused: str = ""


Answer = tuple[ShadedSheet, ...] | Change | tuple[AsGood, ...]


@dataclass(frozen=True, slots=True)
class Answered:
    """The answer to a question, by its kind: sheets, a change, or a share.

    None if another request came first: the question gave way, and may be asked again.
    """

    run: int
    tag: int
    answer: Answer | None


Reply = (
    Preparing | Prepared | Started | Progressed | Stepped | Finished | Stopped | Failed | Queried
    | Answered
)  # fmt: skip
