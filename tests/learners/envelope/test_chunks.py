"""Compiled draws from 16-bit chunks, by enumerating the chunks."""

import math
from collections import Counter
from decimal import Decimal, localcontext
from fractions import Fraction
from itertools import pairwise

import numpy as np
import pytest
from compiled import compiled
from numpy.typing import NDArray

from learners.envelope import chunks as draws

exponential, less = compiled(draws.exponential), compiled(draws.less)
uniform_below = compiled(draws.uniform_below)

ALL = 1 << 16


def tape(*chunks: int) -> NDArray[np.uint16]:
    return np.array(chunks, dtype=np.uint16)


# -- less ----------------------------------------------------------------------------------


def measure_of_less(p: float) -> Fraction:
    """P(U < p) by trying every chunk at every depth that is reached."""
    total, given = Fraction(0), Fraction(1)
    prefix: list[int] = []
    while True:
        depth = len(prefix) + 1
        buffer = tape(*prefix, 0, 0)
        given /= ALL
        undecided = []
        for chunk in range(ALL):
            buffer[depth - 1] = chunk
            below, at = less(p, buffer, 0)
            if at > depth:
                undecided.append(chunk)
            elif below:
                total += given
        if not undecided:
            return total
        (only,) = undecided
        prefix.append(only)


@pytest.mark.parametrize("p", [0.5, 1 / 3, 2.0**-20, 0.3 * 2.0**-16, 1 - 2.0**-40, 65535.5 / 65536])
def test_less_has_exactly_the_probability_of_the_double(p: float) -> None:
    assert measure_of_less(p) == Fraction(p)


def test_less_compares_all_bits_of_the_double() -> None:
    rng = np.random.default_rng(0)
    for _ in range(2000):
        p = float(rng.random()) * 2.0 ** -float(rng.integers(0, 60))
        chunks = rng.integers(0, ALL, 8).astype(np.uint16)
        # agree with p on the first chunks, so that deep ones decide
        scaled = Fraction(p)
        for i in range(int(rng.integers(0, 6))):
            scaled *= ALL
            chunks[i] = math.floor(scaled)
            scaled -= math.floor(scaled)
        u = sum(Fraction(int(c), ALL ** (i + 1)) for i, c in enumerate(chunks))
        assert less(p, chunks, 0)[0] == (u < Fraction(p))


def test_less_reads_no_more_than_it_needs() -> None:
    assert less(0.5, tape(7, 1, 1), 0) == (True, 1)
    assert less(0.5, tape(ALL // 2 + 1, 1), 0) == (False, 1)
    assert less(0.0, tape(0, 0), 0) == (False, 0)
    assert less(0.5, tape(9, ALL - 1, 3), 1) == (False, 2)


def test_less_is_false_when_the_chunks_run_out() -> None:
    assert less(0.5, tape(), 0) == (False, 0)


# -- uniform_below -------------------------------------------------------------------------


@pytest.mark.parametrize("width", [1, 2, 3, 5, 1000, 32768, 32769, 65535, 65536])
def test_uniform_below_is_uniform_over_every_chunk(width: int) -> None:
    # of three chunks, one may be drawn before fewer than three are left
    outcomes = Counter(uniform_below(width, tape(chunk, 0, 0), 0) for chunk in range(ALL))
    kept = {draw: times for (draw, _), times in outcomes.items() if draw >= 0}
    assert sorted(kept) == list(range(width))
    assert set(kept.values()) == {ALL >> (width - 1).bit_length()}
    assert all(at == 1 for _, at in outcomes)


@pytest.mark.parametrize("width", [65537, 3 * ALL, (1 << 27) + 1, 1 << 32])
def test_uniform_below_takes_two_chunks_as_one_number(width: int) -> None:
    mask = (1 << (width - 1).bit_length()) - 1
    for low in (0, 1, 40_000, ALL - 1):
        for high in range(0, ALL, 97):
            draw, at = uniform_below(width, tape(low, high, 0), 0)
            number = (low | high << 16) & mask
            assert (draw, at) == (number if number < width else -1, 2)


@pytest.mark.parametrize("width", [(1 << 32) + 1, 10**12, 1 << 48])
def test_uniform_below_takes_three_chunks_as_one_number(width: int) -> None:
    mask = (1 << (width - 1).bit_length()) - 1
    rng = np.random.default_rng(1)
    for chunks in rng.integers(0, ALL, (3000, 3)).astype(np.uint16):
        number = sum(int(c) << (16 * i) for i, c in enumerate(chunks)) & mask
        expected = number if number < width else -1
        assert uniform_below(width, chunks, 0) == (expected, 3)


def test_uniform_below_draws_again_after_a_rejection() -> None:
    assert uniform_below(5, tape(7, 6, 8 + 3, 0, 0), 0) == (3, 3)


def test_uniform_below_says_when_the_chunks_run_out() -> None:
    assert uniform_below(5, tape(7, 7, 7, 7), 0) == (-1, 2)
    assert uniform_below(5, tape(1, 1), 0) == (-1, 0)


# -- exponential ---------------------------------------------------------------------------


def minus_log(chunks: list[int]) -> Decimal:
    """-ln U to 40 digits: U the middle of the 64 bits after the leading zero chunks."""
    zeros = next(i for i, chunk in enumerate(chunks) if chunk)
    mantissa = sum(c << (16 * (3 - i)) for i, c in enumerate(chunks[zeros : zeros + 4]))
    with localcontext() as context:
        context.prec = 50
        u = (Decimal(mantissa) + Decimal("0.5")) / Decimal(2) ** (64 + 16 * zeros)
        return -u.ln()


def test_exponential_is_minus_the_logarithm() -> None:
    rng = np.random.default_rng(2)
    for zeros in (0, 0, 0, 1, 3, 20):
        for _ in range(150):
            first = [0] * zeros + [int(rng.integers(1, ALL) >> rng.integers(0, 15)) or 1]
            chunks = first + [int(c) for c in rng.integers(0, ALL, 3)]
            exact = minus_log(chunks)
            found, at = exponential(tape(*chunks, 9), 0)
            assert at == zeros + 4
            assert abs(Decimal(found) - exact) <= Decimal(2) ** -46 + exact * Decimal(2) ** -52


def test_exponential_falls_as_the_first_chunk_rises() -> None:
    found = [exponential(tape(chunk, 5, 5, 5, 5), 0)[0] for chunk in range(1, ALL)]
    assert all(a > b for a, b in pairwise(found))


@pytest.mark.parametrize("x", [0.01, 0.14, 1.0, 5.0, 11.0])
def test_exponential_exceeds_x_with_probability_exp_minus_x(x: float) -> None:
    """P(E >= x) is counted over all 2**64 mantissas, by bisection: it decides an acceptance."""

    def value(mantissa: int) -> float:
        chunks = [mantissa >> shift & (ALL - 1) for shift in (48, 32, 16, 0)]
        return float(exponential(tape(*chunks, 0), 0)[0])

    low, high = 1 << 48, (1 << 64) - 1
    assert value(low) >= x > value(high)
    while high - low > 1:
        middle = (low + high) // 2
        if value(middle) >= x:
            low = middle
        else:
            high = middle
    # mantissas 0..low, those with a zero first chunk among them (U < 2**-16)
    counted = Fraction(low + 1, 1 << 64)
    assert float(counted) == pytest.approx(math.exp(-x), rel=2.0**-45, abs=0)


def test_exponential_is_zero_when_the_chunks_run_out() -> None:
    assert exponential(tape(1, 2, 3, 4), 0) == (0.0, 0)


@pytest.mark.parametrize("ones", [3, 4, 10])
def test_short_waits_keep_their_relative_precision(ones: int) -> None:
    """The clocks of strands compare waits, so P(E < x) must be about x however small x is."""
    # U = 0.11...1 00...0 in base 2**16
    found, _ = exponential(tape(*[ALL - 1] * ones, *[0] * 12), 0)
    assert found == pytest.approx(2.0 ** (-16 * ones), rel=2.0**-15, abs=0)
