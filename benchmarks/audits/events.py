"""An audit: how much privacy a learner is seen to lose, by running it.

A learner runs many times on two neighbouring samples.  If some event has probability p on one and
q on the other, the learner cannot be (epsilon, delta)-DP for any epsilon < ln((p - delta) / q).
A bound of p from below and one of q from above (Clopper and Pearson 1934) bound that number from
below: an audit *refutes* a claim below its bound.  It proves no claim; that is for docs/privacy.md.
A learner that is not private claims nothing; any claim can be put to the test for it.

The event decides how much is seen.  It is looked for on one half of the runs and tested on the
other half, which played no part in its choice: so the bound holds at the stated confidence
however long the search was.  In the first half all candidate pairs of samples share the runs; the
second half goes to the one pair and event whose bound promises to be the largest, by Wilson's
intervals.  Outcomes are put into order by a quarter of all runs, and the events that this makes
are judged by another: else the largest promise would be that of the greatest accident.

Events of a statistic of the release, a tuple of whole numbers: the sets of outcomes whose ratio of
counts is above a level (the most powerful by the lemma of Neyman and Pearson), and the same for
all numbers but the last, with that one above or below a limit.

Cf. Ding, Wang, Wang, Zhang, Kifer 2018, *Detecting violations of differential privacy*; Jagielski,
Ullman, Oprea 2020, *Auditing differentially private machine learning*.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, Protocol

from numpy.typing import ArrayLike

from learners.core.accuracy import clopper_pearson
from learners.privacy.accounting import PrivacySpent

Outcome = tuple[int, ...]

#: What is looked at in a release.
Statistic = Callable[[Any], Outcome]

#: Called with the number of runs done.
Watch = Callable[[int], None]

#: Standard deviations of the intervals by which candidate events are judged.
_CAUTION = 2.5

#: Most limits of the last number, and most outcomes of an event, that are tried.
_MOST_LIMITS = 64

#: Points of the curve of bounds.
_CURVE = 24


class Auditable(Protocol):
    """A learner with one release; its sample is a pair (X, y)."""

    @property
    def release_(self) -> Any:
        """What it publishes: it has a member `privacy`."""

    def fit(self, X: Any, y: Any) -> Any:
        """Fit the learner to a sample X, y."""


@dataclass(frozen=True, slots=True)
class Pair:
    """Two neighbouring samples, each a pair (X, y).

    Attributes
    ----------
    name : str
        For people.
    sample, neighbour : (array, array)
    """

    name: str
    sample: tuple[ArrayLike, ArrayLike]
    neighbour: tuple[ArrayLike, ArrayLike]


@dataclass(frozen=True, slots=True)
class Event:
    """A set of releases.

    Attributes
    ----------
    statistic : str
        Name of the statistic that decides.
    cases : frozenset of tuple of int
        Outcomes in the event; with a limit, all their numbers but the last.
    limit : int or None
        Of the last number.
    upwards : bool
        Whether the last number must be at least the limit; else at most.
    swapped : bool
        Whether the event is likelier on the neighbour than on the sample.
    """

    statistic: str
    cases: frozenset[Outcome]
    limit: int | None = None
    upwards: bool = True
    swapped: bool = False

    def holds(self, outcome: Outcome) -> bool:
        """Whether an outcome of the statistic is in it."""
        if self.limit is None:
            return outcome in self.cases
        if not outcome or outcome[:-1] not in self.cases:
            return False
        return outcome[-1] >= self.limit if self.upwards else outcome[-1] <= self.limit

    def __str__(self) -> str:
        cases = sorted(self.cases)
        listed = ", ".join(str(c[0] if len(c) == 1 else c) for c in cases[:4])
        if len(cases) > 4:
            listed += f" and {len(cases) - 4} more"
        if self.limit is None:
            return f"{self.statistic} is {listed}"
        first = f"{self.statistic} is " + (f"{listed}, " if cases != [()] else "")
        return f"{first}at {'least' if self.upwards else 'most'} {self.limit}"


@dataclass(frozen=True, slots=True)
class Audit:
    """Outcome of an audit.

    Attributes
    ----------
    epsilon, delta : float
        The claim: what the releases state, or what was asked of a learner that states nothing.
    pair : str
        The pair of samples that was tested.
    event : Event
    likely, unlikely : int
        How often the event was seen in the tested runs on the sample where it is likelier, and on
        the other one.
    runs : int
        Tested runs on each of the two samples.
    searched : int
        Runs that the search used, in all.
    confidence : float
        That `lower` is no more than what the learner loses, and that `upper` is no less than what
        it loses by this event; each for itself.
    lower, upper : float
        Bounds of ln((p - delta) / q), in nats; lower is at least 0.
    curve : tuple of (int, float)
        Lower bounds after so many of the tested runs; only the last one was chosen in advance.
    """

    epsilon: float
    delta: float
    pair: str
    event: Event
    likely: int
    unlikely: int
    runs: int
    searched: int
    confidence: float
    lower: float
    upper: float
    curve: tuple[tuple[int, float], ...]

    @property
    def refuted(self) -> bool:
        """Whether the learner loses more than it claims, at the confidence."""
        return self.lower > self.epsilon

    def to_dict(self) -> dict[str, Any]:
        """The object as plain dictionaries, lists, numbers and strings, ready for JSON."""
        return {
            "claim": {"epsilon": self.epsilon, "delta": self.delta},
            "lower": self.lower,
            "upper": None if math.isinf(self.upper) else self.upper,
            "confidence": self.confidence,
            "refuted": self.refuted,
            "pair": self.pair,
            "event": str(self.event),
            "likely": self.likely,
            "unlikely": self.unlikely,
            "runs": self.runs,
            "searched": self.searched,
        }


def audit(
    factory: Callable[[], Auditable],
    sample: tuple[ArrayLike, ArrayLike],
    neighbour: tuple[ArrayLike, ArrayLike],
    events: Mapping[str, Statistic],
    runs: int,
    *,
    confidence: float = 0.999,
    claim: tuple[float, float] | None = None,
    watch: Watch | None = None,
) -> Audit:
    """Audit a learner on one pair of samples; see :func:`audit_pairs`."""
    pair = Pair("the given samples", sample, neighbour)
    return audit_pairs(
        factory, [pair], events, runs, confidence=confidence, claim=claim, watch=watch
    )


def audit_pairs(
    factory: Callable[[], Auditable],
    pairs: Sequence[Pair],
    events: Mapping[str, Statistic],
    runs: int,
    *,
    confidence: float = 0.999,
    claim: tuple[float, float] | None = None,
    watch: Watch | None = None,
) -> Audit:
    """Search for the pair and the event that show most, and bound what they show.

    Parameters
    ----------
    factory : callable
        Makes a fresh learner; every run has its own.
    pairs : sequence of Pair
    events : mapping of str to callable
        Statistics of a release by their names.
    runs : int
        Of the learner, in all: half for the search, half for the test.
    confidence : float
        Of the bound, in (0, 1).
    claim : (float, float), optional
        epsilon and delta that are put to the test, of a learner that claims nothing; by default
        what its release states.
    watch : callable, optional
        Called after every run with the number of runs so far; may raise.

    Raises
    ------
    ValueError
        If there is nothing to search, a sample gets less than one run, the confidence is out of
        range, or a release states no privacy.
    """
    if not pairs or not events:
        raise ValueError("an audit needs a pair of samples and a statistic at least")
    share = runs // (4 * len(pairs))
    if share < 2:
        raise ValueError(f"runs must be at least {8 * len(pairs)} here, got {runs}")
    if not 0 < confidence < 1:
        raise ValueError(f"the confidence must lie strictly between 0 and 1, got {confidence}")
    runner = _Runner(factory, events, watch)
    epsilon, delta = claim or runner.claim(pairs[0])
    found = [
        (worth, pair, event)
        for pair in pairs
        for worth, event in _candidates(runner.counts(pair, share), delta)
    ]
    _, pair, event = max(found, key=lambda one: one[0])
    spent = 2 * share * len(pairs)
    seen = runner.test(pair, event, max(1, (runs - spent) // 2))
    curve = tuple(
        (count, _bounds(*_sums(seen[:count]), count, delta, confidence)[0])
        for count in _checkpoints(len(seen))
    )
    likely, unlikely = _sums(seen)
    lower, upper = _bounds(likely, unlikely, len(seen), delta, confidence)
    return Audit(
        epsilon, delta, pair.name, event, likely, unlikely, len(seen), spent,
        confidence, lower, upper, curve,
    )  # fmt: skip


class _Sides(NamedTuple):
    """How often each outcome was seen where it is meant to be likelier, and on the other side."""

    more: Counter[Outcome]
    less: Counter[Outcome]

    @classmethod
    def empty(cls) -> _Sides:
        return cls(Counter(), Counter())

    def swapped(self) -> _Sides:
        return _Sides(self.less, self.more)

    def cut(self, limit: int, upwards: bool) -> _Sides:
        """By all numbers but the last, where that one is on the right side of the limit."""
        cut = _Sides.empty()
        for before, after in zip(self, cut, strict=True):
            for outcome, count in before.items():
                if outcome and (outcome[-1] >= limit if upwards else outcome[-1] <= limit):
                    after[outcome[:-1]] += count
        return cut


#: By statistic, of the runs that put outcomes into order and of those that judge the events.
_Counts = dict[str, tuple[_Sides, _Sides]]


class _Runner:
    """Runs learners and counts."""

    def __init__(
        self,
        factory: Callable[[], Auditable],
        events: Mapping[str, Statistic],
        watch: Watch | None,
    ) -> None:
        self._factory = factory
        self._events = events
        self._watch = watch
        self._done = 0

    def claim(self, pair: Pair) -> tuple[float, float]:
        """The epsilon and delta that a release states."""
        spent = self._release(pair.sample).privacy
        if not isinstance(spent, PrivacySpent):
            raise ValueError("the learner claims no privacy: say which claim is to be tested")
        return spent.epsilon, spent.delta

    def counts(self, pair: Pair, runs: int) -> _Counts:
        """Outcomes of so many runs on each of the two samples, the first and the second half."""
        counts: _Counts = {name: (_Sides.empty(), _Sides.empty()) for name in self._events}
        for i in range(runs):
            for side, sample in enumerate((pair.sample, pair.neighbour)):
                release = self._run(sample)
                for name, statistic in self._events.items():
                    half = counts[name][2 * i >= runs]
                    (half.less if side else half.more)[statistic(release)] += 1
        return counts

    def test(self, pair: Pair, event: Event, runs: int) -> list[tuple[bool, bool]]:
        """Whether the event was seen, run by run: where it is likelier, and on the other sample."""
        statistic = self._events[event.statistic]
        order = (pair.sample, pair.neighbour)
        first, second = order[::-1] if event.swapped else order
        return [
            (
                event.holds(statistic(self._run(first))),
                event.holds(statistic(self._run(second))),
            )
            for _ in range(runs)
        ]

    def _run(self, sample: tuple[ArrayLike, ArrayLike]) -> Any:
        release = self._release(sample)
        self._done += 1
        if self._watch is not None:
            self._watch(self._done)
        return release

    def _release(self, sample: tuple[ArrayLike, ArrayLike]) -> Any:
        model = self._factory()
        model.fit(*sample)
        return model.release_


def _candidates(counts: _Counts, delta: float) -> Iterator[tuple[float, Event]]:
    """Events in both directions, and what each is worth."""
    for name, (first, second) in counts.items():
        runs = second.more.total()
        for swapped in (False, True):
            order, judge = (first.swapped(), second.swapped()) if swapped else (first, second)
            for cases, a, b in _prefixes(order, judge):
                yield _worth(a, b, runs, delta), Event(name, cases, swapped=swapped)
            lasts = sorted({outcome[-1] for side in order for outcome in side if outcome})
            for limit in lasts[:: 1 + len(lasts) // _MOST_LIMITS]:
                for upwards in (True, False):
                    parts = order.cut(limit, upwards), judge.cut(limit, upwards)
                    for cases, a, b in _prefixes(*parts):
                        worth = _worth(a, b, runs, delta)
                        yield worth, Event(name, cases, limit, upwards, swapped)


def _prefixes(order: _Sides, judge: _Sides) -> Iterator[tuple[frozenset[Outcome], int, int]]:
    """The outcomes of the largest ratio, of the two largest, and so on, with their counts."""

    def ratio(outcome: Outcome) -> tuple[float, Outcome]:
        # half a count more for each: what was never seen may still happen
        return (order.less[outcome] + 0.5) / (order.more[outcome] + 0.5), outcome

    a = b = 0
    cases: list[Outcome] = []
    for outcome in sorted(order.more, key=ratio)[:_MOST_LIMITS]:
        cases.append(outcome)
        a, b = a + judge.more[outcome], b + judge.less[outcome]
        yield frozenset(cases), a, b


def _worth(a: int, b: int, runs: int, delta: float) -> float:
    """About the bound that the counts themselves would give: by Wilson's intervals."""
    p = 1 - _wilson_upper(runs - a, runs)
    if p <= delta:
        return -math.inf
    return math.log((p - delta) / _wilson_upper(b, runs))


def _wilson_upper(seen: int, runs: int) -> float:
    """Upper end of Wilson's interval of a probability."""
    share, slack = seen / runs, _CAUTION**2 / runs
    middle = share + slack / 2
    width = math.sqrt(share * (1 - share) * slack + slack**2 / 4)
    return (middle + width) / (1 + slack)


def _sums(seen: Sequence[tuple[bool, bool]]) -> tuple[int, int]:
    return sum(first for first, _ in seen), sum(second for _, second in seen)


def _checkpoints(runs: int) -> list[int]:
    """Numbers of runs at which the bound is taken down, about evenly spaced in the logarithm."""
    return sorted({max(1, round(runs ** (i / _CURVE))) for i in range(1, _CURVE + 1)})


def _bounds(
    likely: int, unlikely: int, runs: int, delta: float, confidence: float
) -> tuple[float, float]:
    """Bounds of ln((p - delta) / q); each holds at the confidence, shared by two intervals."""
    each = (1 + confidence) / 2
    p_low, p_high = clopper_pearson(likely, runs, each)
    q_low, q_high = clopper_pearson(unlikely, runs, each)
    lower = max(0.0, math.log((p_low - delta) / q_high)) if p_low > delta else 0.0
    if p_high <= delta:
        return lower, 0.0
    return lower, math.log((p_high - delta) / q_low) if q_low > 0 else math.inf
