"""Defines the state of the window's work as frozen values, which undo and sessions keep.

Nothing here is released.  A run and its records are kept apart (:mod:`geodp_app.runs`).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, fields
from typing import Any, Literal, get_args

from geodp_app.document.examples import Examples, Frame
from geodp_app.drawing.shapes import Drawing
from geodp_app.formatting import amounts, runs_words
from geometry.grid import Bounds
from geometry.halfplane import Measure
from geometry.mask import Mask
from learners.cover.set_cover import default_steps
from learners.declaration import Learner, Parameter
from learners.privacy.accounting import Neighbours, PrivacySpent
from learners.privacy.several_runs import together
from learners.registry import BY_ID, offered

Distribution = Literal["uniform", "clustered", "gaussian", "painted"]
DISTRIBUTIONS: tuple[Distribution, ...] = get_args(Distribution)

#: A disc (x, y, r) of a painted sample, in grid units.
Dab = tuple[int, int, int]

#: Learners that the window offers, by id (:mod:`learners.registry`).
LEARNERS: tuple[str, ...] = tuple(learner.id for learner in offered("window"))

#: Every declaration of a parameter that the window has a field for, by its name.
PARAMETERS: dict[str, tuple[Parameter, ...]] = {
    name: tuple(each for one in offered("window") if (each := one.parameter(name)))
    for learner in offered("window")
    for name in (each.name for each in learner.parameters if not each.of_code)
}


@dataclass(frozen=True, slots=True)
class SampleSettings:
    """How simulated examples are drawn from the target."""

    n: int = 10_000
    distribution: Distribution = "uniform"
    #: Probability, in 0..1, that a label is flipped.
    noise: float = 0.0
    #: Of the simulation (not of the learner); None for another sample each time.
    seed: int | None = 1
    #: Tuple of (x, y, r): where a painted sample comes from: discs in grid units, one equally
    #: likely as another.
    dabs: tuple[Dab, ...] = ()


@dataclass(frozen=True, slots=True, init=False)
class RunSettings:
    """A learner, and a value of each parameter in :data:`PARAMETERS`.

    Values of parameters that the learner does not have are kept for those that have them.  What is
    not given is as declared of the learner.  Raises ValueError if no learner has a parameter of
    that name.

    Parameters
    ----------
    learner : one of :data:`LEARNERS`
    **values
        By name; they are not compared with what is declared (:func:`check_run`).

    Examples
    --------
    >>> run = RunSettings("tiles", epsilon=2.0)
    >>> run["epsilon"], run["tiles"], run.with_(tiles=5)["tiles"]
    (2.0, None, 5)
    """

    learner: str
    values: tuple[tuple[str, Any], ...]

    def __init__(self, learner: str = "cover", **values: Any) -> None:
        for name in values:
            if name not in PARAMETERS:
                raise ValueError(f"{name}: there is no such parameter")
        object.__setattr__(self, "learner", learner)
        known = tuple(
            (name, values[name] if name in values else self.declaration(name).default)
            for name in sorted(PARAMETERS)
        )
        object.__setattr__(self, "values", known)

    def __getitem__(self, name: str) -> Any:
        return dict(self.values)[name]

    def with_(self, learner: str | None = None, **values: Any) -> RunSettings:
        """These settings with others; another learner keeps what it takes."""
        if learner is None:
            return RunSettings(self.learner, **dict(self.values) | values)
        new = RunSettings(learner)
        own = {name: new.declaration(name) for name in PARAMETERS if new.has(name)}
        kept = {n: v for n, v in self.values if n not in own or own[n].accepts(v)}
        return RunSettings(learner, **kept | values)

    def declaration(self, name: str) -> Parameter:
        """What the learner declares of a parameter, or the first that does."""
        return self._own(name) or PARAMETERS[name][0]

    def _own(self, name: str) -> Parameter | None:
        learner = BY_ID.get(self.learner)  # the name may be a file's, and nobody's
        return None if learner is None else learner.parameter(name)

    def to_dict(self) -> dict[str, Any]:
        """All of it by name, as JSON values."""
        return {"learner": self.learner, **dict(self.values)}

    @classmethod
    def from_dict(cls, data: Any) -> RunSettings:
        """The inverse of :meth:`to_dict`; what is missing is as declared, but for the learner.
        Raises ValueError or KeyError if it is no object, has no learner, or a name that nobody
        declares."""
        if not isinstance(data, dict):
            raise ValueError(f"the settings of a run must be an object, not {data!r:.60}")
        return cls(data["learner"], **{k: v for k, v in data.items() if k != "learner"})

    @property
    def declared(self) -> Learner:
        """What is declared of the learner."""
        return BY_ID[self.learner]

    @property
    def private(self) -> bool:
        """Whether a run with these settings is differentially private."""
        return self.declared.private and self["seed"] is None

    @property
    def checked(self) -> bool:
        """Whether a run keeps examples for a check, of which the learner sees nothing."""
        return bool(self.parameters().get("check"))

    @property
    def by_tiles(self) -> bool:
        """Whether each step of a run labels a tile of its own."""
        return self.declared.by_tiles

    @property
    def sharpened(self) -> bool:
        """Whether the edges of a cover's triangles are drawn again at its end."""
        return self.has("finish") and self["finish"] == "sharpen" and self["k"] != 1

    @property
    def alone(self) -> bool:
        """Whether a run is one draw, of a triangle by its mistakes, without a noisy count."""
        single = self["k"] == 1 and self["n_steps"] in (None, 1)
        return self.has("finish") and self["finish"] == "sharpen" and single

    @property
    def cover_steps(self) -> int:
        """Pieces of a cover with a number of steps, or the most if the run itself finds k; a
        sharpened run has the zones' steps beside."""
        steps: int | None = self["n_steps"]
        return default_steps(self["k"], triangles=self.has("finish")) if steps is None else steps

    @property
    def curved(self) -> bool:
        """Whether pieces are discs or ellipses: no halfplanes, and so no dual plane."""
        return self.declared.curved

    @property
    def piece_measure(self) -> Measure:
        """Of the lattice of all pieces; that of learners without a choice is the default."""
        return self["measure"] if self.has("measure") else "chord"

    def has(self, name: str) -> bool:
        """Whether the learner has a parameter of that name."""
        return self._own(name) is not None

    @property
    def whole_neighbours(self) -> Neighbours:
        """What a learner protects that can protect whole examples only."""
        return "add-remove" if self["neighbours"] == "replace-label" else self["neighbours"]

    def of_whole_examples(self) -> dict[str, Any]:
        """Every parameter by name, as theorems ask for them, of neighbours that have whole examples
        apart."""
        return {**dict(self.values), "neighbours": self.whole_neighbours}

    def parameters(self) -> dict[str, Any]:
        """Parameters of the learner that are set here, without the grid."""
        return {name: value for name, value in self.values if self.has(name)}


#: What the window begins with: triangles alone, whose edges may be drawn again when they are seen;
#: and a halt is kept, so that there is something to ask after a run.
FIRST_RUN = RunSettings("cover", k=4, finish="none", halts=2, kept=1)


@dataclass(frozen=True, slots=True)
class Work:
    """Everything a person can edit, at one moment."""

    #: Of the drawing; the title of pictures and the first guess of file names.
    name: str = "untitled"
    drawing: Drawing = field(default_factory=lambda: Drawing(1024))
    #: Public bounds of the grid in degrees.
    bounds: Bounds | None = None
    sampling: SampleSettings = field(default_factory=SampleSettings)
    run: RunSettings = FIRST_RUN
    #: Private.  Simulated, or imported (`simulated` is False: then the drawing does not label
    #: them).
    examples: Examples | None = None
    simulated: bool = True
    #: Whether k follows the drawing (:mod:`geodp_app.document.suggested_k`).
    k_drawn: bool = True
    #: Of the private runs on these examples, in order; they go where the examples go.
    spent: tuple[RunCharge, ...] = ()
    #: What the learned shape is clipped to, when it is shown and exported.
    within: Mask | None = None
    #: Path of the ledger (:mod:`geodp_app.files.ledger`) of imported examples; it goes where they
    #: go.
    ledger: str | None = None

    @property
    def frame(self) -> Frame:
        """The grid of the work, and its bounds in degrees if it has any."""
        return Frame(self.drawing.grid, self.bounds)

    def is_charged(self, before: Work | None) -> bool:
        """Whether it is the work as it was before, but for what runs spend."""
        if before is None or before.spent is self.spent:
            return False
        kept = (each.name for each in fields(self) if each.name != "spent")
        return all(getattr(self, name) is getattr(before, name) for name in kept)


@dataclass(frozen=True, slots=True)
class RunCharge:
    """What one private run on the examples spends, in full from its first step on: what is done
    after it was cancelled, and why it was, may depend on the examples.
    """

    #: Of the whole run, as its release says or would have said; it has the run's name, so that no
    #: ledger (:mod:`geodp_app.files.ledger`) counts it twice.
    privacy: PrivacySpent
    #: Whether it came to its end; one that was cancelled, failed or is under way did not.
    finished: bool


def spent_words(charges: Sequence[RunCharge], *, under_way: bool = False) -> str:
    """What the runs on one sample cost together; empty if there is but one and it was not given up.

    `under_way`: whether the last of them can still come to its end.
    """
    given_up = sum(not charge.finished for charge in charges) - under_way
    if not charges or (len(charges) < 2 and not given_up):
        return ""
    epsilon, delta = together(charge.privacy for charge in charges)
    labels = any(charge.privacy.neighbours == "replace-label" for charge in charges)
    one = "the label of one example" if labels else "one example"
    mixed = len({charge.privacy.neighbours for charge in charges}) > 1
    about = f" for replacing {one}" if labels or mixed else ""
    several = "" if len(charges) == 1 else "together "
    return f"{runs_words(len(charges), given_up)}: {several}{amounts(epsilon, delta)}{about}"
