"""Integer Laplace noise: the law enumerated exactly, and the sampler against the law."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Callable
from fractions import Fraction

import pytest

from learners import noise
from learners.accounting import noise_scale
from learners.noise import bernoulli_exp, discrete_laplace
from learners.randomness import SeededRandom


class Restart(Exception):
    """The sampler rejected its draw and began again."""


class TooRare(Exception):
    """The path is less likely than the enumeration cares for."""


class Tree:
    """Runs a program once for every path of its random choices.

    `choose(weights)` returns the index of a branch; probabilities are the weights.
    """

    def __init__(self, rare: float) -> None:
        self.rare = rare
        self.path: list[int] = []

    def choose(self, weights: list[Fraction | float]) -> int:
        if self.depth == len(self.path):
            self.path.append(0)
            self.widths.append(len(weights))
        branch = self.path[self.depth]
        self.probability = self.probability * weights[branch]
        self.depth += 1
        if self.probability < self.rare:
            raise TooRare
        return branch

    def outcomes(self, program: Callable[[], object]) -> dict[object, Fraction | float]:
        """Probability of each result over all paths that are not too rare."""
        law: dict[object, Fraction | float] = defaultdict(Fraction)
        self.path, self.widths = [], []
        while True:
            self.depth, self.probability = 0, Fraction(1)
            try:
                result = program()
            except TooRare:
                pass
            except Restart:
                law["restart"] += self.probability
            else:
                law[result] += self.probability
            while self.path and self.path[-1] == self.widths[-1] - 1:
                self.path.pop()
                self.widths.pop()
            if not self.path:
                return law
            self.path[-1] += 1


@pytest.mark.parametrize(
    "gamma", [Fraction(0), Fraction(1, 7), Fraction(1, 2), Fraction(1), Fraction(5, 3), Fraction(4)]
)
def test_bernoulli_exp_has_probability_exp_minus_gamma(
    monkeypatch: pytest.MonkeyPatch, gamma: Fraction
) -> None:
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
def test_discrete_laplace_has_the_stated_law(
    monkeypatch: pytest.MonkeyPatch, scale: Fraction
) -> None:
    law = enumerated(monkeypatch, scale)
    p = math.exp(-1 / scale)
    for z in range(-30, 31):
        assert law.get(z, 0.0) == pytest.approx((1 - p) / (1 + p) * p ** abs(z), abs=1e-11)


@pytest.mark.parametrize("scale", SCALES, ids=str)
def test_neighbouring_counts_differ_by_the_stated_ratio_and_attain_it(
    monkeypatch: pytest.MonkeyPatch, scale: Fraction
) -> None:
    law = enumerated(monkeypatch, scale)
    bound = math.exp(1 / scale)
    # a noisy count b of c and of c + 1: P(b - c) against P(b - c - 1)
    ratios = [law[z] / law[z - 1] for z in range(-5, 7) if law.get(z, 0) > 1e-6 < law.get(z - 1, 0)]
    assert max(ratios) == pytest.approx(bound, rel=1e-4)
    assert min(ratios) == pytest.approx(1 / bound, rel=1e-4)


def chi_square(scale: Fraction, draws: int, law_scale: Fraction) -> tuple[float, int]:
    """Of seeded draws of one scale against the law of another; cells, tails pooled."""
    source = SeededRandom(2024)
    p = math.exp(-1 / law_scale)
    reach = math.ceil(math.log(draws / 20) * law_scale)
    counts = [0] * (2 * reach + 1)
    for _ in range(draws):
        counts[min(max(discrete_laplace(source, scale), -reach), reach) + reach] += 1
    law = [(1 - p) / (1 + p) * p ** abs(z) for z in range(-reach, reach + 1)]
    law[0] = law[-1] = p**reach / (1 + p)
    assert sum(law) == pytest.approx(1)
    found = sum((n - draws * q) ** 2 / (draws * q) for n, q in zip(counts, law, strict=True))
    return found, 2 * reach


@pytest.mark.parametrize("scale", [Fraction(1, 2), Fraction(3, 2), Fraction(10**9, 123_456_789)])
def test_draws_follow_the_law(scale: Fraction) -> None:
    found, freedom = chi_square(scale, 6000, scale)
    assert found < freedom + 5 * math.sqrt(2 * freedom)


def test_the_chi_square_would_notice_a_scale_off_by_a_tenth() -> None:
    found, freedom = chi_square(Fraction(3, 2), 6000, Fraction(5, 3))
    assert found > freedom + 5 * math.sqrt(2 * freedom)


def test_the_learners_scale_is_a_ratio_the_sampler_takes() -> None:
    scale = noise_scale(0.2, 12)
    draws = [abs(discrete_laplace(SeededRandom(i), scale)) for i in range(300)]
    assert sum(draws) / 300 == pytest.approx(float(scale), rel=0.2)


def test_impossible_parameters_are_refused() -> None:
    with pytest.raises(ValueError, match="scale must be positive"):
        discrete_laplace(SeededRandom(0), Fraction(0))
    with pytest.raises(ValueError, match="must not be negative"):
        bernoulli_exp(SeededRandom(0), Fraction(-1, 2))
