"""Draws integer Laplace noise, exactly.

The discrete Laplace law P(z) proportional to exp(-|z| / scale), scale = s / t a
ratio of integers, drawn with integer arithmetic alone (Canonne, Kamath, Steinke
2020, *The discrete Gaussian for differential privacy*, algorithms 1 and 2).
Adding it to a count of sensitivity 1 is (t / s)-differentially private with no
floating-point caveat (docs/privacy.md, lemma 3).

For many counts at once (:func:`discrete_laplace_array`) each line of the algorithms is carried out
for all draws that still wait for it.  A draw that is rejected waits for the next
round and takes fresh bits, so the draws are independent and each has exactly the stated law: only
integers are drawn and compared.

A coin of probability u / (s i) is one of 1 / i and, if it shows heads, one of u / s: so no product
grows beyond 64 bits.
"""

from __future__ import annotations

import math
from bisect import bisect_left
from fractions import Fraction
from functools import lru_cache

import numpy as np

from geometry.arrays import Flags, Ints
from learners.privacy.randomness import RandomSource, below, bernoulli

#: Noise of a larger scale is told in steps, for :func:`most_noise`.
_FINEST = 500

#: Largest bounds of draws, and numerators of scales: noise then fits into 64 bits.
_MOST_BITS, _SCALE_BITS = 62, 48


def discrete_laplace_array(source: RandomSource, scale: Fraction, count: int) -> Ints:
    """Independent integers z with P(z) proportional to exp(-|z| / scale), int64 of shape (count,).

    Raises
    ------
    ValueError
        If the scale is not positive, or its numerator has more than 48 bits.
    """
    if scale <= 0:
        raise ValueError(f"scale must be positive, got {scale}")
    s, t = scale.numerator, scale.denominator
    if s.bit_length() > _SCALE_BITS:
        raise ValueError(f"the scale's numerator must have at most {_SCALE_BITS} bits, got {s}")
    noise = np.zeros(count, dtype=np.int64)
    waiting = np.arange(count)
    while len(waiting):
        u = below_array(source, s, len(waiting))
        kept = exp_coins(source, u, s)
        magnitude = magnitudes(u[kept], geometric_array(source, int(kept.sum())), s, t)
        negative = below_array(source, 2, len(magnitude)) == 1
        # zero would be drawn twice as often as it should, once with each sign
        drawn = ~(negative & (magnitude == 0))
        noise[waiting[kept][drawn]] = np.where(negative, -magnitude, magnitude)[drawn]
        done = np.zeros(len(waiting), dtype=np.bool_)
        done[np.flatnonzero(kept)[drawn]] = True
        waiting = waiting[~done]
    return noise


def below_array(source: RandomSource, bound: int, count: int) -> Ints:
    """Uniform integers in 0..bound-1, int64 of shape (count,), exact, by rejection."""
    if not 1 <= bound <= 1 << _MOST_BITS:
        raise ValueError(f"bound must lie in 1..2**{_MOST_BITS}, got {bound}")
    numbers = np.zeros(count, dtype=np.int64)
    bits = (bound - 1).bit_length()
    if bits == 0:
        return numbers
    size = next(size for size in (1, 2, 4, 8) if 8 * size >= bits)
    filled = 0
    while filled < count:
        drawn = np.frombuffer(source.bytes(size * (count - filled)), dtype=f"<u{size}")
        shifted = (drawn >> (8 * size - bits)).astype(np.int64)
        taken = shifted[shifted < bound]
        numbers[filled : filled + len(taken)] = taken
        filled += len(taken)
    return numbers


def exp_coins(source: RandomSource, u: Ints, s: int) -> Flags:
    """True with probability exactly exp(-u / s), independently, for integers 0 <= u <= s.

    Algorithm 1: the parity of a run of coins of probability u / (s i), i = 1, 2, ...
    """
    odd = np.ones(len(u), dtype=np.bool_)
    waiting = np.arange(len(u))
    i = 1
    while len(waiting):
        waiting = waiting[below_array(source, i, len(waiting)) == 0]
        waiting = waiting[below_array(source, s, len(waiting)) < u[waiting]]
        odd[waiting] ^= True
        i += 1
    return odd


def geometric_array(source: RandomSource, count: int) -> Ints:
    """How often a coin of probability exp(-1) shows heads in a row, int64 of shape (count,)."""
    heads = np.zeros(count, dtype=np.int64)
    waiting = np.arange(count)
    while len(waiting):
        waiting = waiting[exp_coins(source, np.ones(len(waiting), dtype=np.int64), 1)]
        heads[waiting] += 1
    return heads


def magnitudes(u: Ints, v: Ints, s: int, t: int) -> Ints:
    """(u + s v) // t, int64; u < s."""
    most = s * (int(v.max(initial=0)) + 1)
    if max(most, t).bit_length() <= _MOST_BITS:
        return np.asarray((u + s * v) // t)
    exact = [(a + s * b) // t for a, b in zip(u.tolist(), v.tolist(), strict=True)]
    return np.array(exact, dtype=np.int64)


def bernoulli_exp(source: RandomSource, gamma: Fraction) -> bool:
    """True with probability exactly exp(-gamma), gamma >= 0 rational."""
    if gamma < 0:
        raise ValueError(f"gamma must not be negative, got {gamma}")
    numerator, denominator = gamma.as_integer_ratio()
    while numerator > denominator:
        if not _bernoulli_exp_unit(source, 1, 1):
            return False
        numerator -= denominator
    return _bernoulli_exp_unit(source, numerator, denominator)


def _bernoulli_exp_unit(source: RandomSource, numerator: int, denominator: int) -> bool:
    """Algorithm 1 for a rate gamma in 0..1: the parity of a run of Bernoulli(gamma / i)."""
    i = 1
    while bernoulli(source, numerator, denominator * i):
        i += 1
    return i % 2 == 1


def discrete_laplace(source: RandomSource, scale: Fraction) -> int:
    """An integer z with P(z) proportional to exp(-|z| / scale), scale > 0 (algorithm 2)."""
    if scale <= 0:
        raise ValueError(f"scale must be positive, got {scale}")
    s, t = scale.numerator, scale.denominator
    while True:
        u = below(source, s)
        if not bernoulli_exp(source, Fraction(u, s)):
            continue
        v = 0
        while bernoulli_exp(source, Fraction(1)):
            v += 1
        magnitude = (u + s * v) // t
        negative = bernoulli(source, 1, 2)
        if not (negative and magnitude == 0):
            return -magnitude if negative else magnitude


@lru_cache(maxsize=1024)
def most_noise(scale: Fraction, several: int, error: float) -> int:
    """A number that a sum of independent noises exceeds with at most this probability.

    The sum is X - Y, two negative binomial numbers: Laplace noise is the difference of two
    geometric ones.  The least such number, up to a scale of 500; above, at most 2 * several + 1
    steps more, of about a five-hundredth of the scale.  What is told of released noise may be in
    floats.

    Parameters
    ----------
    scale : Fraction
        Of each noise.
    several : int
        How many.
    error : float
        Positive.

    Examples
    --------
    >>> most_noise(Fraction(1), 1, 0.05)
    2
    """
    from scipy.special import betainc

    step = max(1, math.ceil(scale / _FINEST))
    q = math.exp(-step / float(scale))
    last = math.ceil(float(scale) / step * (several + 40))
    reached = betainc(np.arange(1, 2 * last + 2), several, q)  # P(X >= i), from i = 1 on
    masses = -np.diff(np.append(1.0, reached[:last]))

    def beyond(most: int) -> float:  # P(X - Y > most)
        return float(masses @ reached[most : most + last])

    least = bisect_left(range(last), True, key=lambda most: beyond(most) <= error)
    return least if step == 1 else step * (least + several)
