"""Integer Laplace noise: the law enumerated exactly, and the sampler against the law."""

import math
from collections.abc import Callable
from fractions import Fraction

import numpy as np
import pytest
from chi_square import assert_counted
from every_outcome import Restart, Tree
from noise_laws import laplace, pooled
from numpy.typing import ArrayLike, NDArray
from tape import Tape

from learners.privacy import noise
from learners.privacy.accounting import noise_scale
from learners.privacy.noise import (
    below_array,
    bernoulli_exp,
    discrete_laplace,
    discrete_laplace_array,
    exp_coins,
)
from learners.privacy.randomness import RandomSource, SeededRandom


@pytest.mark.parametrize(
    "gamma", [Fraction(0), Fraction(1, 7), Fraction(1, 2), Fraction(1), Fraction(5, 3), Fraction(4)]
)
def test_bernoulli_exp_has_probability_exp_minus_gamma(monkeypatch, gamma):
    tree = Tree(rare=1e-12)

    def branch(source: object, numerator: int, denominator: int) -> bool:
        p = Fraction(numerator, denominator)
        return tree.choose([p, 1 - p]) == 0

    monkeypatch.setattr(noise, "bernoulli", branch)
    law = tree.outcomes(lambda: bernoulli_exp(SeededRandom(0), gamma))
    # what is left out is less likely than a few times `rare`
    assert float(law[True]) == pytest.approx(math.exp(-gamma), abs=1e-10)
    assert float(law[False]) == pytest.approx(1 - math.exp(-gamma), abs=1e-10)


def enumerated(monkeypatch: pytest.MonkeyPatch, scale: Fraction) -> dict[int, float]:
    """The law of `discrete_laplace`, over every path, given exact building blocks."""
    tree = Tree(rare=1e-13)
    begun = False

    def below(source: object, bound: int) -> int:
        nonlocal begun
        if begun:
            raise Restart
        begun = True
        return tree.choose([Fraction(1, bound)] * bound)

    def coin(source: object, numerator: int, denominator: int) -> bool:
        p = Fraction(numerator, denominator)
        return tree.choose([p, 1 - p]) == 0

    def exponential(source: object, gamma: Fraction) -> bool:
        return tree.choose([math.exp(-gamma), -math.expm1(-gamma)]) == 0

    def program() -> int:
        nonlocal begun
        begun = False
        return discrete_laplace(SeededRandom(0), scale)

    monkeypatch.setattr(noise, "below", below)
    monkeypatch.setattr(noise, "bernoulli", coin)
    monkeypatch.setattr(noise, "bernoulli_exp", exponential)
    law = tree.outcomes(program)
    restarts = float(law.pop("restart"))
    # a restart draws from the same law again
    return {int(z): float(p) / (1 - restarts) for z, p in law.items()}  # type: ignore[call-overload]


SCALES = [Fraction(*ratio) for ratio in ((1, 3), (1, 1), (3, 2), (5, 2), (40, 7), (12, 1))]


@pytest.mark.parametrize("scale", SCALES, ids=str)
def test_discrete_laplace_has_the_stated_law(monkeypatch, scale):
    """So neighbouring counts differ by the stated ratio, and attain it."""
    law, stated = enumerated(monkeypatch, scale), laplace(scale, 30)
    assert [law.get(z, 0.0) for z in range(-30, 31)] == pytest.approx(stated, abs=1e-11)
    # a noisy count b of c and of c + 1: P(b - c) against P(b - c - 1)
    ratios = [law[z] / law[z - 1] for z in range(-5, 7) if law.get(z, 0) > 1e-6 < law.get(z - 1, 0)]
    assert max(ratios) == pytest.approx(math.exp(1 / scale), rel=1e-4)
    assert min(ratios) == pytest.approx(math.exp(-1 / scale), rel=1e-4)


def counted(drawn: ArrayLike, reach: int) -> NDArray[np.int64]:
    """How often each of -reach..reach is drawn; tails pooled."""
    return np.bincount(np.clip(drawn, -reach, reach) + reach, minlength=2 * reach + 1)


def test_impossible_parameters_are_refused() -> None:
    with pytest.raises(ValueError, match="scale must be positive"):
        discrete_laplace(SeededRandom(0), Fraction(0))
    with pytest.raises(ValueError, match="must not be negative"):
        bernoulli_exp(SeededRandom(0), Fraction(-1, 2))
    with pytest.raises(ValueError, match="scale must be positive"):
        discrete_laplace_array(SeededRandom(0), Fraction(0), 3)
    with pytest.raises(ValueError, match="at most 48 bits"):
        discrete_laplace_array(SeededRandom(0), Fraction(1 << 48, 7), 3)
    for bound in (0, (1 << 62) + 1):
        with pytest.raises(ValueError, match=r"must lie in 1..2\*\*62"):
            below_array(SeededRandom(0), bound, 3)


# -- many at once --------------------------------------------------------------------------


def test_rejected_array_integers_are_drawn_again_in_order() -> None:
    # two bits a draw: 3 is rejected
    tape = Tape(bytes([0b01000000, 0b11000000, 0b10111111, 0b11111111, 0b00000001]))
    assert below_array(tape, 3, 3).tolist() == [1, 2, 0]
    assert tape.data == b""


@pytest.mark.parametrize("bound", [1 << 16, (1 << 16) + 1, 10**9, 1 << 32, 1 << 62])
def test_large_array_integers_spread_over_their_range(bound: int) -> None:
    drawn = below_array(SeededRandom(3), bound, 4000)
    assert drawn.dtype == np.int64
    assert 0 <= drawn.min() < bound / 500
    assert bound - bound / 500 < drawn.max() < bound
    assert np.mean(drawn / bound) == pytest.approx(0.5, abs=0.03)


def enumerated_integers(tree: Tree) -> Callable[[RandomSource, int, int], NDArray[np.int64]]:
    """Uniform integers of an enumeration in place of drawn ones."""

    def choose(source: RandomSource, bound: int, count: int) -> NDArray[np.int64]:
        return np.array([tree.choose([Fraction(1, bound)] * bound) for _ in range(count)], int)

    return choose


@pytest.mark.parametrize(("u", "s"), [(0, 2), (1, 2), (1, 3), (2, 3), (1, 1)])
def test_array_coins_have_probability_exp_minus_u_over_s(monkeypatch, u, s):
    tree = Tree(rare=1e-8)
    monkeypatch.setattr(noise, "below_array", enumerated_integers(tree))
    law = tree.outcomes(lambda: bool(exp_coins(SeededRandom(0), np.array([u]), s)[0]))
    assert float(law[True]) == pytest.approx(math.exp(-u / s), abs=1e-5)
    assert float(law[False]) == pytest.approx(1 - math.exp(-u / s), abs=1e-5)


def test_array_coins_are_independent(monkeypatch: pytest.MonkeyPatch) -> None:
    tree = Tree(rare=1e-5)
    monkeypatch.setattr(noise, "below_array", enumerated_integers(tree))
    law = tree.outcomes(lambda: tuple(exp_coins(SeededRandom(0), np.array([1, 2]), 2).tolist()))
    first, second = math.exp(-1 / 2), math.exp(-1)
    for a, b in ((False, False), (False, True), (True, False), (True, True)):
        expected = (first if a else 1 - first) * (second if b else 1 - second)
        assert float(law[a, b]) == pytest.approx(expected, abs=2e-3)


def heads_or_tails(
    tree: Tree,
) -> Callable[[RandomSource, NDArray[np.int64], int], NDArray[np.bool_]]:
    """Coins of probability exp(-u / s) of an enumeration in place of drawn ones."""

    def choose(source: RandomSource, u: NDArray[np.int64], s: int) -> NDArray[np.bool_]:
        chances = [[math.exp(-a / s), -math.expm1(-a / s)] for a in u.tolist()]
        return np.array([tree.choose(list(weights)) == 0 for weights in chances], dtype=bool)

    return choose


@pytest.mark.parametrize("scale", SCALES, ids=str)
def test_array_noise_has_the_stated_law(monkeypatch: pytest.MonkeyPatch, scale: Fraction) -> None:
    tree = Tree(rare=1e-13)
    integers, geometric = enumerated_integers(tree), noise.geometric_array
    rounds = 0

    def below(source: RandomSource, bound: int, count: int) -> NDArray[np.int64]:
        nonlocal rounds
        rounds += 1
        # a remainder and a sign; what comes then belongs to another round
        if rounds > 2:
            raise Restart
        return integers(source, bound, count)

    def runs(source: RandomSource, count: int) -> NDArray[np.int64]:
        if count == 0:
            raise Restart
        return geometric(source, count)

    def program() -> int:
        nonlocal rounds
        rounds = 0
        return int(discrete_laplace_array(SeededRandom(0), scale, 1)[0])

    monkeypatch.setattr(noise, "below_array", below)
    monkeypatch.setattr(noise, "exp_coins", heads_or_tails(tree))
    monkeypatch.setattr(noise, "geometric_array", runs)
    law = tree.outcomes(program)
    restarts = float(law.pop("restart"))
    drawn = [float(law.get(z, 0)) / (1 - restarts) for z in range(-30, 31)]
    assert drawn == pytest.approx(laplace(scale, 30), abs=1e-11)


ARRAY_SCALES = [Fraction(1, 2), noise_scale(0.07, 3)]


@pytest.mark.parametrize("scale", ARRAY_SCALES, ids=str)
def test_arrays_of_noise_follow_the_law(scale: Fraction) -> None:
    draws = 300_000
    reach = math.ceil(math.log(draws / 1000) * scale)
    found = counted(discrete_laplace_array(SeededRandom(11), scale, draws), reach)
    assert_counted(pooled(scale, reach), found, outcomes=2 * reach - 1)
    with pytest.raises(AssertionError):  # a scale off by a fiftieth would be noticed
        assert_counted(pooled(scale * 51 / 50, reach), found, outcomes=2 * reach - 1)


def test_draws_of_an_array_are_independent_of_their_neighbours() -> None:
    drawn = np.clip(discrete_laplace_array(SeededRandom(9), Fraction(3, 2), 200_000), -3, 3) + 3
    pairs = np.bincount(7 * drawn[::2] + drawn[1::2], minlength=49)
    law = pooled(Fraction(3, 2), 3)
    assert_counted(np.outer(law, law).ravel(), pairs, outcomes=49)


def test_magnitudes_are_exact_beyond_64_bits() -> None:
    u, v = [5, (1 << 48) - 2], [1 << 40, 3]
    expected = [(a + ((1 << 48) - 1) * b) // (1 << 70) for a, b in zip(u, v, strict=True)]
    found = noise.magnitudes(np.array(u), np.array(v), (1 << 48) - 1, 1 << 70)
    assert found.tolist() == expected
    assert found.dtype == np.int64
    near = noise.magnitudes(np.array([6]), np.array([4]), 7, 3)
    assert near.tolist() == [(6 + 7 * 4) // 3]
