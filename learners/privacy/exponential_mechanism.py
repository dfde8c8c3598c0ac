"""Draws exactly from the exponential mechanism over a finite list.

Pieces of the plane are drawn by :mod:`learners.envelope`, or from all cells of an arrangement by
:mod:`learners.cover.arrangement_selection`.

Of N candidates with whole scores q_i the draw returns index i with probability proportional to
exp(rate * q_i): exactly, for any rational rate, in integer arithmetic (McSherry, Talwar 2007; KMMS
proposition 2.5, Nikolov's notes).  Nothing is rounded in the law, so nothing is charged for
arithmetic.

How (docs/privacy.md, lemma X2): candidates are counted by their gap g = max q - q_i, and the gap is
the inverse of the exact cumulative law at a uniform number u, revealed bit by bit until integer
bounds of the cumulative weights decide.  Then one of its candidates is drawn uniformly.

Departs from the sources: they weigh with real numbers; in floating point the law would depend
on rounding, and the guarantee with it (Mironov 2012; Ilvento 2020).  Ilvento restricts rates to
those with a dyadic e^-rate; inverting the law lazily needs no restriction.

The time depends on the scores (so on the sample), as every sampler's here does; O(N) and some
hundred multiplications of 128-bit integers when the rate times the range of scores is moderate.

The Laplace mechanism, for numbers rather than candidates:
:func:`learners.privacy.noise.discrete_laplace` with scale D / epsilon, added to a count of
sensitivity D, is epsilon-DP; many at once: :func:`learners.privacy.noise.discrete_laplace_array`.
Proofs: docs/privacy.md, lemmas X1, X2 and
3.
"""

from __future__ import annotations

import math
from decimal import (
    MAX_EMAX,
    MIN_EMIN,
    ROUND_CEILING,
    ROUND_FLOOR,
    ROUND_HALF_EVEN,
    Context,
    Decimal,
)
from fractions import Fraction
from functools import lru_cache

import numpy as np
from numpy.typing import ArrayLike, NDArray

from geometry.arrays import Floats, Ints
from learners.privacy.randomness import RandomSource, below

#: Bits of the uniform number that are revealed at first; doubled whenever they do not decide.
_FIRST_BITS = 64
#: Bits of the weights beyond those of the uniform number, so that it is what leaves doubt.
_GUARD_BITS = 48
#: Rounding of one operation of doubles.
_ROUNDING = 2.0**-53
#: Largest sum of multiplicities.
_MOST = 1 << 62


def exponential_index(
    source: RandomSource,
    scores: ArrayLike,
    rate: float | Fraction,
    multiplicities: ArrayLike | None = None,
) -> int:
    """An index i with probability exactly proportional to multiplicity_i * exp(rate * score_i).

    Parameters
    ----------
    source : RandomSource
    scores : array of int, shape (N,)
        Within int64.
    rate : float or Fraction
        Nats for each unit of score, positive; a float stands for the rational number it is.
    multiplicities : array of int, shape (N,), optional
        How many candidates each entry stands for, at least 0 and not all 0; by default 1.
        Their sum must not exceed 2^62.

    Returns
    -------
    int
        In 0..N-1.

    Raises
    ------
    ValueError
        If there are no candidates, or scores, rate or multiplicities are of another kind.

    Notes
    -----
    Which rate makes the draw private: :func:`private_rate`.
    """
    exact_rate = _positive("rate", rate)
    values = _whole("scores", scores)
    if multiplicities is None:
        return _draw(source, values, exact_rate, None)
    counts = _whole("multiplicities", multiplicities)
    if counts.shape != values.shape:
        raise ValueError(
            f"scores and multiplicities differ in shape: {values.shape} and {counts.shape}"
        )
    if counts.min() < 0:
        raise ValueError("multiplicities must not be negative")
    # a sum of doubles is within a factor 2 of the truth
    if counts.sum(dtype=np.float64) > _MOST / 2 and sum(counts.tolist()) > _MOST:
        raise ValueError("the multiplicities sum to more than 2**62")
    present = np.flatnonzero(counts)
    if len(present) == 0:
        raise ValueError("there is no candidate: all multiplicities are 0")
    return int(present[_draw(source, values[present], exact_rate, counts[present])])


def private_rate(
    epsilon: float | Fraction, sensitivity: int | Fraction = 1, *, one_way: bool = False
) -> Fraction:
    """The rate at which a draw is epsilon-DP, as an exact fraction.

    One neighbouring step moves every score by at most the sensitivity D.  Then the draw with
    rate epsilon / (2 D) is epsilon-DP.  If the step moves all scores in one direction (all up by
    0..D, or all down by 0..D), rate epsilon / D is enough, and the draw has bounded range epsilon
    and so is epsilon^2/8-zCDP (docs/privacy.md, lemma X1).  Rates are per unit of the score that
    is passed: with scores multiplied by k to make them whole, D is multiplied too.

    Parameters
    ----------
    epsilon : float or Fraction
    sensitivity : int or Fraction
    one_way : bool

    Raises
    ------
    ValueError
        If epsilon or sensitivity is not positive and finite.
    """
    moved = _positive("sensitivity", sensitivity)
    return _positive("epsilon", epsilon) / (moved if one_way else 2 * moved)


def utility_loss(log_candidates: float, rate: float | Fraction, beta: float) -> float:
    """What a draw may fall short of the best score with probability at most beta.

    The bound L = (ln N + ln(1/beta)) / rate: each of at most N candidates that fall short by more
    than L has at most exp(-rate L) times the best one's probability, so together at most
    N exp(-rate L) = beta (KMMS proposition 2.5, with epsilon/2 for their rate).  If B candidates
    attain the best score, ln(N / B) may stand for ln N.

    Parameters
    ----------
    log_candidates : float
        ln N, at least 0.
    rate : float or Fraction
    beta : float
        In (0, 1).

    Returns
    -------
    float
        In units of the score.
    """
    if not 0 < beta < 1:
        raise ValueError(f"beta must lie strictly between 0 and 1, got {beta}")
    if not log_candidates >= 0:
        raise ValueError(f"log_candidates must be at least 0, got {log_candidates}")
    return (log_candidates + log_over(1, beta)) / float(_positive("rate", rate))


def _positive(name: str, number: float | Fraction) -> Fraction:
    """A number as the fraction it is; a ValueError unless it is positive and finite."""
    if not (isinstance(number, Fraction) or math.isfinite(number)) or number <= 0:
        raise ValueError(f"{name} must be a positive number, got {number}")
    return Fraction(number)


def _whole(name: str, numbers: ArrayLike) -> Ints:
    """An int64 array of shape (N,), N >= 1."""
    array = np.asarray(numbers)
    if array.ndim != 1:
        raise ValueError(f"{name} must have shape (N,), got {array.shape}")
    if len(array) == 0:
        raise ValueError(f"there is no candidate: {name} is empty")
    if array.dtype.kind not in "iu":
        raise ValueError(f"{name} must be whole numbers, got an array of {array.dtype}")
    if array.dtype.kind == "u" and int(array.max()) >= 1 << 63:
        raise ValueError(f"{name} must be below 2**63, got {int(array.max())}")
    return array.astype(np.int64, copy=False)


def _draw(source: RandomSource, scores: Ints, rate: Fraction, counts: Ints | None) -> int:
    """The draw; every entry of `counts` is at least 1."""
    # modulo 2^64 the difference is the true one, even where int64 would overflow
    gaps = scores.max().astype(np.uint64) - scores.astype(np.uint64)
    gap = _draw_gap(source, gaps, rate, counts)
    members = np.flatnonzero(gaps == np.uint64(gap))
    if counts is None:
        return int(members[below(source, len(members))])
    sums = np.cumsum(counts[members])
    return int(members[np.searchsorted(sums, below(source, int(sums[-1])), side="right")])


def _draw_gap(
    source: RandomSource, gaps: NDArray[np.uint64], rate: Fraction, counts: Ints | None
) -> int:
    """A gap g with probability proportional to (candidates of gap g) * exp(-rate g)."""
    total = len(gaps) if counts is None else int(counts.sum())
    bits, uniform = _FIRST_BITS, _random_bits(source, _FIRST_BITS)
    while True:
        # a tail of all candidates, and the errors of all weights, stay below 2^-bits
        precision = bits + total.bit_length() + _GUARD_BITS
        # gaps beyond weigh less than 2^-precision each: exp(-0.7) < 1/2
        reach = int(Fraction(7 * precision, 10) / rate)
        near, number = _count_gaps(gaps, counts, reach)
        gap = decide_in_doubles(uniform, near, number, rate) if bits == _FIRST_BITS else None
        if gap is None:
            tail = total - int(number.sum())
            gap = _decide(uniform, bits, _weights(near, number, rate, precision), tail)
        if gap is not None:
            return gap
        uniform = uniform << bits | _random_bits(source, bits)
        bits *= 2


def _random_bits(source: RandomSource, count: int) -> int:
    """A uniform integer of `count` bits, a multiple of 8."""
    return int.from_bytes(source.bytes(count // 8), "big")


def _count_gaps(
    gaps: NDArray[np.uint64], counts: Ints | None, reach: int
) -> tuple[NDArray[np.uint64], Ints]:
    """Gaps up to `reach` that occur, in increasing order, and how many candidates each has."""
    near = gaps <= np.uint64(min(reach, (1 << 64) - 1))
    if counts is None and reach <= 8 * len(gaps):
        number = np.bincount(gaps[near].astype(np.int64))
        present = np.flatnonzero(number)
        return present.astype(np.uint64), number[present]
    distinct, inverse = np.unique(gaps[near], return_inverse=True)
    sums = np.zeros(len(distinct), dtype=np.int64)
    np.add.at(sums, inverse, 1 if counts is None else counts[near])
    return distinct, sums


def _decide(uniform: int, bits: int, weighed: list[tuple[int, int, int]], tail: int) -> int | None:
    """The gap at whose share u falls, u in [uniform, uniform + 1) / 2^bits; None if in doubt.

    With partial sums S_i of the exact weights and Z of all, gap i is drawn if
    S_(i-1) <= u Z < S_i.  `weighed` has lower and upper bounds of each gap's weight, and all
    gaps that are not in it weigh at most `tail` together; they come last.
    """
    least = sum(low for _, low, _ in weighed)
    most = sum(high for _, _, high in weighed) + tail
    # u Z lies in [at_least, under) / 2^bits
    at_least, under = uniform * least, (uniform + 1) * most
    low_sum = high_sum = 0
    for gap, low, high in weighed:
        if at_least < high_sum << bits:
            return None
        low_sum, high_sum = low_sum + low, high_sum + high
        if under <= low_sum << bits:
            return gap
    return None


def decide_in_doubles(
    uniform: int, gaps: NDArray[np.uint64], number: Ints, rate: Fraction
) -> int | None:
    """As :func:`_decide` for the first bits, in doubles, where these cannot err; else None.

    With e = (n + 32) * 2^-53, S_i and Z are within a factor exp(+-e) of the doubles (lemma X2): so
    3 e around u z is margin enough.
    """
    sums = np.cumsum(_approximate_weights(gaps, rate) * number)
    margin = 3 * (len(gaps) + 32) * _ROUNDING
    unit = sums[-1] * 2.0**-_FIRST_BITS
    # S_(i-1) <= u Z is certain below `low`, and u Z < S_i above `high`
    low = float(uniform) * unit * (1 - margin)
    high = float(uniform + 1) * unit * (1 + margin)
    first = int(np.searchsorted(sums, high, side="right"))
    if first == len(sums) or (first > 0 and sums[first - 1] >= low):
        return None
    return int(gaps[first])


def _approximate_weights(gaps: NDArray[np.uint64], rate: Fraction) -> Floats:
    """exp(-rate g), byte by byte of g."""
    weights = np.ones(len(gaps))
    for level in range((int(gaps[-1]).bit_length() + 7) // 8):
        digits = gaps >> np.uint64(8 * level) & np.uint64(255)
        weights *= _table(rate, level)[digits.astype(np.intp)]
    return weights


@lru_cache(maxsize=1 << 8)
def _table(rate: Fraction, level: int) -> Floats:
    """exp(-rate 256^level digit), shape (256,), correctly rounded but for the 40th digit."""
    context = Context(40, ROUND_HALF_EVEN, MIN_EMIN, MAX_EMAX)
    factor = rate * 256**level
    step = context.divide(Decimal(-factor.numerator), Decimal(factor.denominator))
    return np.array([float(context.exp(context.multiply(step, Decimal(i)))) for i in range(256)])


def _weights(
    gaps: NDArray[np.uint64], number: Ints, rate: Fraction, precision: int
) -> list[tuple[int, int, int]]:
    """Each of increasing gaps, the first one 0, with bounds of its weight in units of 2^-precision.

    Each exp(-rate g) from the one before, by one factor exp(-rate (difference)); these repeat.
    """
    low = high = 1 << precision
    last, weighed = 0, []
    for gap, count in zip(gaps.tolist(), number.tolist(), strict=True):
        if gap != last:
            factor_low, factor_high = exp_bounds(rate * (gap - last), precision)
            low = low * factor_low >> precision
            high = -(-high * factor_high >> precision)
            last = gap
        weighed.append((gap, count * low, count * high))
    return weighed


@lru_cache(maxsize=1 << 12)
def exp_bounds(y: Fraction, precision: int) -> tuple[int, int]:
    """Integers low <= exp(-y) 2^precision <= high, y > 0, a unit or two apart.

    The decimal library rounds exp correctly, so its neighbours on either side are bounds, at an
    argument that was rounded up or down.
    """
    digits = math.ceil(precision * 0.302) + 6
    downwards = Context(digits, ROUND_FLOOR, MIN_EMIN, MAX_EMAX)
    upwards = Context(digits, ROUND_CEILING, MIN_EMIN, MAX_EMAX)
    numerator, denominator = Decimal(-y.numerator), Decimal(y.denominator)
    least = downwards.next_minus(downwards.exp(downwards.divide(numerator, denominator)))
    most = upwards.next_plus(upwards.exp(upwards.divide(numerator, denominator)))
    unit = Decimal(1 << precision)
    low, high = downwards.multiply(least, unit), upwards.multiply(most, unit)
    return math.floor(low), min(math.ceil(high), 1 << precision)


def log_over(number: float, share: float) -> float:
    """ln(number / share) of positive numbers, also where the quotient is beyond all floats."""
    quotient = number / share
    return math.log(quotient) if quotient < math.inf else math.log(number) - math.log(share)
