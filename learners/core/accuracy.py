"""Tells how right a learned shape is, by examples that were kept from the learner (a *check*).

1. Each example goes, by a coin of a public rate that looks at nothing, either to the learner or to
   the check.
2. The learner runs on its part as it would on a sample of its own.
3. The check's part is counted by label and by where it lies, in four noisy counts: right and wrong
   inside the shape, right and wrong outside.

Both have all of epsilon (docs/privacy.md, lemma 11).  From the counts anyone can tell, with stated
confidence, the share of reports like these that lie on the right side (:meth:`Check.share`): the
limits of Clopper and Pearson (1934) with the noise counted in.  How many examples were counted is
not released; what it may be is bounded by the noisy counts, and a part of the error goes to that
(Berger and Boos, *P values maximized over a confidence set for the nuisance parameter*, 1994).

Also bounds of probabilities and of means from independent draws: Clopper and Pearson's exact
interval, and the empirical Bernstein bound of Maurer and Pontil (2009, theorem 4), by which the
mean of n draws from an interval of length r, of sample variance V, is within sqrt(2 V ln(2/p) / n)
+ 7 r ln(2/p) / (3 (n - 1)) of the expectation, on either side except with probability p.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import lru_cache
from typing import Any, Literal, TypeVar, get_args

import numpy as np

from geometry.arrays import Floats, Ints
from geometry.grid_counts import GridCounts
from learners.declaration import check_open_unit
from learners.privacy.accounting import (
    MOST_RATE,
    Charge,
    Neighbours,
    PrivacySpent,
    noise_scale,
    pure_budget,
)
from learners.privacy.noise import discrete_laplace_array, most_noise
from learners.privacy.randomness import RandomSource

#: Whether something holds, at a confidence; "open" if the draws are too few to tell.
Verdict = Literal["yes", "no", "open"]


def verdict(yes: bool, no: bool) -> Verdict:
    """What bounds tell: whether they show that something holds, or that it does not."""
    return "yes" if yes else "no" if no else "open"


def clopper_pearson(failures: int, runs: int, confidence: float) -> tuple[float, float]:
    """Bounds of a probability of which `failures` of `runs` trials are seen.

    Each bound alone holds with the given confidence, whatever the probability is.

    Raises
    ------
    ValueError
        If a number is out of range.
    """
    if not 0 <= failures <= runs or runs < 1 or not 0 < confidence < 1:
        raise ValueError(
            "failures must lie in 0..runs, runs be at least 1 and the confidence in (0, 1); got "
            f"{failures}, {runs}, {confidence}"
        )
    # loaded here: most that is imported from this package needs no scipy (decision 21)
    from scipy.special import betaincinv

    # P(at least so many | p) is a beta law's distribution at p, and so is P(at most so many | p)
    level = 1 - confidence
    lower = betaincinv(failures, runs - failures + 1, level) if failures else 0.0
    upper = betaincinv(failures + 1, runs - failures, confidence) if failures < runs else 1.0
    return float(lower), float(upper)


def mean_bounds(values: Floats, length: float, risk: float) -> tuple[Floats, Floats]:
    """Bounds of expectations, each failing with probability at most half of `risk`.

    Parameters
    ----------
    values : ndarray of float64, shape (K, ...)
        Independent draws along the first axis, K at least 2, from an interval.
    length : float
        Of the interval.
    risk : float
        In (0, 1).

    Raises
    ------
    ValueError
        If there are fewer than two draws.
    """
    n = len(values)
    if n < 2:
        raise ValueError(f"two models are needed at least, got {n}")
    check_open_unit(risk=risk)
    log = math.log(4 / risk)
    variance = values.var(axis=0, ddof=1)
    off = np.sqrt(2 * variance * log / n) + 7 * length * log / (3 * (n - 1))
    mean = values.mean(axis=0)
    return mean - off, mean + off


#: Confidence of each statement about a share.
CONFIDENCE = 0.95

#: Names of the counts, as parameters of a release.
COUNTS = ("right_inside", "wrong_inside", "right_outside", "wrong_outside")

#: Coins are drawn with so many bits: a rate is a multiple of 2**-16.
_BITS = 16

#: Coins that are drawn at a time.
_BLOCK = 1 << 22

#: Part of the error that pays for not knowing how many examples were counted.
_FOR_TOTAL = 0.1

#: Steps to which values of the noise are rounded up, in its scale; and where they end, in it.
_FINE, _REACH = 16, 24

_R = TypeVar("_R")

Where = Literal["all", "outside", "inside"]


@dataclass(frozen=True, slots=True)
class Check:
    """What a check has released.

    Attributes
    ----------
    part : float
        The share of the examples that the coins gave to it.
    right_inside, wrong_inside, right_outside, wrong_outside : int
        Noisy numbers of examples, by where they lie; right inside are those labelled 1.
    scale : Fraction
        Of the integer Laplace noise of each.
    """

    part: float
    right_inside: int
    wrong_inside: int
    right_outside: int
    wrong_outside: int
    scale: Fraction

    def share(self, where: Where = "all", confidence: float = CONFIDENCE) -> tuple[float, float]:
        """Between what limits the share lies of reports on the right side of the shape.

        Reports like these: independent draws from where the examples come from.  The limits hold
        with at least this confidence, each side with half of the error, whatever the noise was.

        Parameters
        ----------
        where : {"all", "outside", "inside"}
            Of which reports.
        confidence : float
            Strictly between 0 and 1.

        Returns
        -------
        low, high : float
            0 and 1 where the counts say nothing.
        """
        check_open_unit(confidence=confidence)
        right = {"inside": self.right_inside, "outside": self.right_outside}
        wrong = {"inside": self.wrong_inside, "outside": self.wrong_outside}
        places = [*right] if where == "all" else [where]
        numbers = (sum(side[place] for place in places) for side in (wrong, right))
        low, high = share_limits(*numbers, len(places), self.scale, 1 - confidence)
        return 1 - high, 1 - low

    def shares(self) -> dict[str, list[float]]:
        """The limits of each share by name, JSON-ready."""
        return {where: list(self.share(where)) for where in get_args(Where)}

    def words(self, *, clipped: bool = False) -> str:
        """What it says of the shape, which was counted whole, in two sentences."""
        whole = " before it was clipped" if clipped else ""
        kept = f"Checked by {100 * self.part:g} % of the reports, which the learner did not see"
        if self.share() == (0.0, 1.0):
            return f"{kept}: too few to say anything."
        return (
            f"{kept}: of reports like these, {self.range()} lie on the right side of the "
            f"shape{whole}; of those inside it {self.range('inside')}, of those outside "
            f"{self.range('outside')}. "
            f"Each range holds with {100 * CONFIDENCE:g} % confidence, the noise counted in."
        )

    def range(self, where: Where = "all") -> str:
        """The limits of a share in per cent, rounded outwards to a digit behind the point."""
        low, high = self.share(where)
        low, high = math.floor(1000 * low + 1e-9) / 10, math.ceil(1000 * high - 1e-9) / 10
        return f"{low:g} to {high:g} %"


def with_check(spent: PrivacySpent | None, part: float) -> PrivacySpent:
    """The statement of a run that is checked besides.

    Raises
    ------
    ValueError
        If the part is none, or the run is not private.
    """
    check_open_unit(check=part)
    if spent is None:
        raise ValueError("check is for private learners: compare tests the others")
    neighbours: Neighbours = "add-remove" if spent.neighbours == "add-remove" else "replace-one"
    each = min(pure_budget(spent.epsilon, neighbours), MOST_RATE)
    noise_scale(each, 1)  # refuses an epsilon that is too small
    return replace(spent, charges=(*spent.charges, Charge("check counts", each)))


def divided(counts: GridCounts, part: float, source: RandomSource) -> tuple[GridCounts, GridCounts]:
    """What goes to the learner, and what to the check: a coin for every example.

    The rate of the coins is the multiple of 2**-16 nearest to `part`, and neither 0 nor 1.
    """
    rate = min(max(1, round(part * 2**_BITS)), 2**_BITS - 1)
    ends, held = np.cumsum(counts.amounts), np.zeros(len(counts), dtype=np.int64)
    for first in range(0, counts.n, _BLOCK):
        many = min(_BLOCK, counts.n - first)
        coins = np.frombuffer(source.bytes(2 * many), dtype="<u2") < rate
        entries = np.searchsorted(ends, np.flatnonzero(coins) + first, side="right")
        held += np.bincount(entries, minlength=len(held))
    return _of_amounts(counts, counts.amounts - held), _of_amounts(counts, held)


def _of_amounts(counts: GridCounts, amounts: Ints) -> GridCounts:
    """So many examples of each entry."""
    rows = np.flatnonzero(amounts)
    found = counts.where(rows)
    return GridCounts(found.d, found.points, found.labels, amounts[rows])


def checked(release: _R, held: GridCounts, part: float, source: RandomSource) -> _R:
    """A release with the four noisy counts of the examples that were kept from its learner.

    Parameters
    ----------
    release : Release
        Its statement says what they cost (:func:`with_check`).
    held : GridCounts
    part : float
    source : RandomSource
    """
    given: Any = release
    charge = given.privacy.charge("check counts")
    inside = given.predict(held.points) == 1
    # right inside, wrong inside, right outside, wrong outside
    places = np.where(inside, 0, 2) + (inside != held.labels)
    true = held.by_group(places, len(COUNTS)).sum(axis=0)
    noise = discrete_laplace_array(source, noise_scale(charge.each, 1), len(COUNTS))
    noisy = zip(COUNTS, (true + noise).tolist(), strict=True)
    whole: _R = replace(given, parameters=(*given.parameters, ("check", part), *noisy))
    return whole


@lru_cache(maxsize=256)
def share_limits(
    wrong: int, right: int, several: int, scale: Fraction, error: float
) -> tuple[float, float]:
    """Limits of a share p, of W of N drawn with probability p each, by two noisy numbers.

    Parameters
    ----------
    wrong, right : int
        W and N - W, each with the noise of so many counts.
    several : int
        1 or 2.
    scale : Fraction
        Of the integer Laplace noise of a count.
    error : float
        Probability with which p may lie outside, at most.

    Returns
    -------
    low, high : float
    """
    (values, masses), total = _noise(scale, several), wrong + right
    for_total = error * _FOR_TOTAL / 2
    reach = most_noise(scale, 2 * several, for_total)
    least, most = total - reach, total + reach
    each = error / 2 - for_total

    def at_least(p: float) -> float:  # P(W + noise >= wrong), at most
        return float(masses @ _binomial_tail(most, p, wrong - values))

    def at_most(p: float) -> float:  # P(W + noise <= wrong), at most
        return float(masses @ (1 - _binomial_tail(least, p, wrong + values + 1)))

    low = 0.0 if most < 1 else _crossing(at_least, each)
    high = 1.0 if least < 1 else 1 - _crossing(lambda q: at_most(1 - q), each)
    return low, high


def _binomial_tail(n: int, p: float, k: Ints) -> Floats:
    """P(W >= k) of a binomial number W of n draws, n >= 1."""
    from scipy.special import betainc

    inner = np.clip(k, 1, n)
    tail = betainc(inner, n - inner + 1, p)
    return np.where(k <= 0, 1.0, np.where(k > n, 0.0, tail))


def _crossing(rising: Callable[[float], float], level: float) -> float:
    """A number up to which a function of 0..1 that rises stays at or below a level, from below."""
    low, high = 0.0, 1.0
    if rising(low) > level:
        return low
    for _ in range(40):
        middle = (low + high) / 2
        low, high = (middle, high) if rising(middle) <= level else (low, middle)
    return low


@lru_cache(maxsize=64)
def _noise(scale: Fraction, several: int) -> tuple[Ints, Floats]:
    """Values, rising, and their probabilities: a law above that of a sum of so many noises and of
    its negative, values rounded up to a grid; tails go to its last value."""
    step = max(1, int(scale) // _FINE)
    last = math.ceil(_REACH * float(scale) / step)
    values = step * np.arange(-last - 1, last + 1)
    below = np.exp(-np.abs(values + (values >= 0)) / float(scale)) / (1 + math.exp(-1 / scale))
    masses = one = np.diff(np.where(values < 0, below, 1 - below))  # P(noise <= value) differ
    first = int(values[1])
    for _ in range(several - 1):
        masses = np.convolve(masses, one)
    masses[-1] += max(0.0, 1 - float(masses.sum()))
    return several * first + step * np.arange(len(masses)), masses
