"""Integer Laplace noise, exactly.

The discrete Laplace law P(z) proportional to exp(-|z| / scale), scale = s / t a
ratio of integers, drawn with integer arithmetic alone (Canonne, Kamath, Steinke
2020, *The discrete Gaussian for differential privacy*, algorithms 1 and 2).
Adding it to a count of sensitivity 1 is (t / s)-differentially private with no
floating-point caveat (docs/privacy.md, lemma 3).
"""

from __future__ import annotations

from fractions import Fraction

from learners.randomness import RandomSource, below, bernoulli


def bernoulli_exp(source: RandomSource, gamma: Fraction) -> bool:
    """True with probability exactly exp(-gamma), gamma >= 0 rational."""
    if gamma < 0:
        raise ValueError(f"gamma must not be negative, got {gamma}")
    while gamma > 1:
        if not _bernoulli_exp_unit(source, Fraction(1)):
            return False
        gamma -= 1
    return _bernoulli_exp_unit(source, gamma)


def _bernoulli_exp_unit(source: RandomSource, gamma: Fraction) -> bool:
    """Algorithm 1 for 0 <= gamma <= 1: the parity of a run of Bernoulli(gamma / i)."""
    i = 1
    while bernoulli(source, gamma.numerator, gamma.denominator * i):
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
