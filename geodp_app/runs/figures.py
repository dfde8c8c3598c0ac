"""Works out what panels and pictures show of a run, as plain values: errors, figures, budget."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Literal

import numpy as np

from geodp_app.files.run_record import Question
from geodp_app.formatting import MISSING, SPACE, amount, count, counted, duration, percentage
from geometry.arrays import Floats
from learners.core.records import StepDiagnostics
from learners.core.releases import Release
from learners.core.selection import SelectionProgress
from learners.privacy.accounting import AccountName, Relation
from learners.registry import RELATIONS
from learners.stability.sample_and_aggregate import VoteProgress, VoteView

#: Why a run's statement holds, or why there is none.
Guarantee = Literal["private", "seeded", "greedy"]

_ACCOUNTS: dict[AccountName, str] = {
    "optimal": "set cover, optimal",
    "basic": "basic composition",
    "zcdp": "zCDP",
    "set-cover": "set cover",
    "advanced": "advanced composition",
    "stability": "sparse vector",
}
#: Why a run is not private; empty if it is.
BANNERS: dict[Guarantee, str] = {
    "private": "",
    "seeded": "Not private: the run is seeded.",
    "greedy": "Not private: no noise is drawn.",
}


@dataclass(frozen=True, slots=True)
class Selecting:
    """A selection under way.  All but the step is private."""

    #: The step it will make, from 1.
    step: int
    #: What the learner says of it, without its tables.
    done: SelectionProgress | None = None
    seconds: float = 0.0

    @property
    def votes(self) -> VoteView | None:
        """Of a run by votes, once its chunks are trained."""
        return self.done.votes if isinstance(self.done, VoteProgress) else None

    def text(self) -> str:
        """One line."""
        done, votes = self.done, self.votes
        if votes is not None:
            asked, left = len(votes.asked), votes.queries_left
            queries = "query" if left == 1 else "queries"
            return f"Asking… {counted(asked, 'point')} answered, {count(left)} {queries} left"
        if done is None or not done.trials:
            return "Selecting…"
        trials, boxes = count(done.trials), count(done.boxes)
        if isinstance(done, VoteProgress):
            return f"Training… {trials} of {boxes} chunks"
        return f"Selecting… {trials} trials, {boxes} boxes, {duration(self.seconds)}"


@dataclass(frozen=True, slots=True)
class FiguresView:
    """The figures at one step; None where there is no value."""

    #: The step at the cursor (0: before the first), and how many there will be (0: not known).
    step: int = 0
    steps: int = 0
    #: The same in words.  Published.
    title: str = "No steps yet"
    #: Whether the whole run is shown, and not one of its steps.
    at_end: bool = False
    #: What the learner's own books say of the step.  Private.
    known: StepDiagnostics | None = None
    #: On examples that the learner did not see, 0..1.  Private.
    test_error: float | None = None
    #: Positive examples inside the shape so far, and all of them.  Private.
    positives_covered: int | None = None
    positives: int | None = None
    #: The noisy count the piece was judged by.  Published.
    threshold: int | None = None
    #: Of the whole run.
    epsilon: float | None = None
    delta: float | None = None
    #: Of the steps up to the cursor.
    epsilon_so_far: float | None = None
    #: Nats per example in each selection.
    eta: float | None = None
    #: How steps are charged together, what may differ, and whether the statement holds.
    account: AccountName | None = None
    neighbours: Relation | None = None
    guarantee: Guarantee = "private"

    @property
    def errors(self) -> tuple[float | None, ...]:
        """Test error, empirical error, and its parts: false positives and false negatives."""
        k = self.known
        if k is None:
            return self.test_error, None, None, None
        return self.test_error, k.empirical_error, k.false_positive_rate, k.false_negative_rate

    @property
    def published(self) -> FiguresView:
        """The same without what is private."""
        return replace(self, known=None, test_error=None, positives_covered=None, positives=None)

    @property
    def share_spent(self) -> float:
        """The part of epsilon that is spent so far, 0 to 1."""
        if not self.epsilon or self.epsilon_so_far is None:
            return 0.0
        return min(max(self.epsilon_so_far / self.epsilon, 0.0), 1.0)


@dataclass(frozen=True, slots=True)
class Figure:
    """A labelled number, ready to show."""

    label: str
    value: str
    tip: str


#: Of each error, in the order of :attr:`FiguresView.errors`.
_ERRORS = (
    ("Test error", "On examples the learner did not see"),
    ("Empirical error", "On the learner's examples"),
    ("False positives", "Learned as inside though labelled 0, of the learner's examples"),
    ("False negatives", "Learned as outside though labelled 1, of the learner's examples"),
)

_COVERED = "Examples labelled 1 inside the shape so far, of all, also those kept for a check"


def error_figures(view: FiguresView) -> tuple[Figure, ...]:
    """Errors of the shape so far.  Private."""
    errors = zip(_ERRORS, view.errors, strict=True)
    return (
        *(Figure(label, percentage(share), tip) for (label, tip), share in errors),
        Figure("Positives covered", _covered(view), _COVERED),
    )


_TAKEN = "Examples that this step decided; by tiles, those that the tile labels 1"
_STEP = (
    ("Positives taken", _TAKEN),
    ("Negatives taken", _TAKEN),
    ("Score", "Of the chosen piece, in examples"),
    ("Time", "Of this step; it depends on the examples"),
    ("Trials", "Pieces the sampler proposed"),
    ("Boxes", "Into which the sampler cut the dual plane"),
)


def step_figures(view: FiguresView) -> tuple[Figure, ...]:
    """The step at the cursor.  Private."""
    k, values = view.known, [MISSING] * len(_STEP)
    if k is not None:
        values = [count(k.positives_taken), count(k.negatives_taken), amount(k.score, 4)]
        values += [duration(k.seconds), count(k.trials), count(k.boxes)]
    return tuple(
        Figure(label, value, tip) for (label, tip), value in zip(_STEP, values, strict=True)
    )


def release_figures(view: FiguresView) -> tuple[Figure, ...]:
    """What the step publishes, and the guarantee.  Public."""
    private = view.guarantee != "greedy"
    account = _ACCOUNTS[view.account] if view.account and private else MISSING
    neighbours = (
        dict(RELATIONS.choices)[view.neighbours].lower() if view.neighbours and private else MISSING
    )
    return (
        Figure("Noisy threshold", count(view.threshold), "Released: the count of gain, with noise"),
        Figure("η per step", amount(view.eta), "Nats per example in each selection"),
        Figure("Account", account, "How the steps are charged together, which grants this η"),
        Figure("δ", amount(view.delta if private else None), "Probability outside the guarantee"),
        Figure("Neighbours", neighbours, "What may differ between two samples that look alike"),
    )


def budget_text(view: FiguresView) -> str:
    """Epsilon spent so far, of how much."""
    if view.guarantee == "greedy" or view.epsilon is None:
        return MISSING
    if view.epsilon_so_far is None:
        return f"ε = {amount(view.epsilon)}"
    return f"{amount(view.epsilon_so_far)} of ε = {amount(view.epsilon)}"


def _covered(view: FiguresView) -> str:
    if view.positives_covered is None:
        return MISSING
    if not view.positives:
        return count(view.positives_covered)
    return percentage(view.positives_covered / view.positives)


#: No run has so many examples that a smaller error than this could be told from none.
_LEAST = 1e-9

#: Round numbers within a decade.
_ROUND = (1, 2, 5)


@dataclass(frozen=True, slots=True)
class ErrorScale:
    """From shares 0..1 to heights in the plot."""

    log: bool
    #: Shares at the bottom and the top; on a logarithmic scale what is below `low`, such as 0, is
    #: drawn at `low`.
    low: float
    high: float

    @classmethod
    def of(cls, points: tuple[FiguresView, ...], *, log: bool) -> ErrorScale:
        """A scale on which the errors of all these steps can be seen."""
        shares = [share for p in points for share in p.errors if share]
        high = max([_LEAST, *shares]) if shares else 1.0
        if not log:
            return cls(False, 0.0, high * 1.08)
        return cls(True, max(min([high / 10, *shares]), _LEAST / 10) / 2, high * 1.4)

    def heights(self, shares: Sequence[float | None]) -> Floats:
        """Where shares are drawn, shape (n,)."""
        values = np.asarray(shares, np.float64)
        return np.log10(np.maximum(values, self.low)) if self.log else values

    def ends(self) -> tuple[float, float]:
        """Heights of the bottom and the top."""
        bottom, top = self.heights((self.low, self.high))
        return float(bottom), float(top)

    def ticks(self, most: int) -> list[tuple[float, str]]:
        """Heights and labels of at most `most` round shares (at least two)."""
        shares = self._decades(most) if self.log else _even(self.high, most)
        labels = [f"{100 * share:.10g}{SPACE}%" for share in shares]
        return list(zip(self.heights(shares).tolist(), labels, strict=True))

    def _decades(self, most: int) -> list[float]:
        first, last = math.floor(math.log10(self.low)), math.ceil(math.log10(self.high))
        shares: list[float] = []
        for factors in (_ROUND, (1,)):
            shares = [f * 10.0**e for e in range(first, last + 1) for f in factors]
            shares = [share for share in shares if self.low <= share <= self.high]
            if len(shares) <= most:
                return shares
        return shares[:: math.ceil(len(shares) / max(most, 2))]


def step_ticks(last: int, most: int) -> list[int]:
    """At most `most` round step numbers in 0..last (at least two)."""
    for factor in (m * 10**e for e in range(6) for m in _ROUND):
        if last // factor + 1 <= max(most, 2):
            return list(range(0, last + 1, factor))
    return [0, last]


def _even(high: float, most: int) -> list[float]:
    for step in (m * 10.0**e for e in range(-12, 1) for m in _ROUND):
        if high / step + 1 <= max(most, 2):
            return [i * step for i in range(math.floor(high / step) + 1)]
    return [0.0]


@dataclass(frozen=True, slots=True)
class Published:
    """All that the release view is given of a run; of one that has not ended, nothing."""

    release: Release | None = None
    #: Of the step shown, without what is private.
    figures: FiguresView = field(default_factory=FiguresView)
    #: Without how the chunks voted.
    questions: tuple[Question, ...] = ()
