"""Distance to instability: one query, answered exactly or not at all (algorithm 2).

f(D) is released if its distance to instability plus DiscreteLaplace(1/epsilon) exceeds w, the least
whole number with P(noise > w) <= delta; BTT's ln(1/delta)/epsilon is at most one more.
(epsilon, delta)-DP: docs/privacy.md, lemma S5.  A function that is further than
w + ln(1/beta)/epsilon from instability is answered with probability 1 - beta.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

from learners.accounting import Neighbours, PrivacySpent, check_budget, noise_scale
from learners.noise import discrete_laplace
from learners.randomness import RandomSource
from learners.stability.margins import least_margin, tail
from learners.stability.sparse_vector import stability_spent


@dataclass(frozen=True, slots=True)
class DistanceTest:
    """Noise and margin of one test.

    Attributes
    ----------
    scale : Fraction
        Of the integer Laplace noise.
    margin : int
        w.
    spent : PrivacySpent
    """

    scale: Fraction
    margin: int
    spent: PrivacySpent

    @classmethod
    def plan(
        cls,
        epsilon: float,
        delta: float,
        neighbours: Neighbours = "add-remove",
        private: bool = True,
    ) -> DistanceTest:
        """The test that is (epsilon, delta)-DP.

        Raises
        ------
        ValueError
            If a parameter states no guarantee.
        """
        check_budget(epsilon, delta)
        scale = noise_scale(epsilon, 1)
        margin = least_margin(lambda w: tail(scale, w), delta * (1 - 1e-9))
        spent = stability_spent(epsilon, delta, neighbours, private, epsilon0=epsilon, halts=1)
        return cls(scale, margin, spent)

    def answer(self, value: int, distance: int, source: RandomSource) -> int | None:
        """The value, or None (⊥).

        Parameters
        ----------
        value : int
            f(D).
        distance : int
            Neighbouring steps that leave f(D) the same whatever one further step does; a bound
            from below will do if one step moves it by at most 1.
        source : RandomSource
        """
        if distance < 0:
            raise ValueError(f"a distance is at least 0, got {distance}")
        passed = distance + discrete_laplace(source, self.scale) > self.margin
        return value if passed else None
