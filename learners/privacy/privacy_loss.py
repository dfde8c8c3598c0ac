"""States the privacy loss of each charge in the terms of other accountants.

A charge of a :class:`~learners.privacy.accounting.PrivacySpent` is a mechanism with one parameter.
What others need to compose it is here: pure epsilon, zCDP rho, bounded range, and the law of the
privacy loss ln P/P' of the worst pair of neighbours, in closed form (docs/privacy.md, lemma R3):

* a noisy count that one example moves by 1 loses what randomized response loses, exactly; and no
  mechanism of pure epsilon loses more;
* a selection of bounded range eta loses at most eta + 2 ln W, W uniform on exp(-eta) .. 1: the
  least law above all mechanisms of that range.

What a statement says must be what its charges compose to (:func:`check_statement`; lemma 6).

Laws compose adaptively by convolution (Zhu, Dong, Wang, *Optimal accounting of differential privacy
via characteristic function*, 2022, theorem 10).
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import lru_cache
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike

from geometry.arrays import Floats
from learners.privacy.accounting import (
    APART,
    ARITHMETIC,
    LEAST_DELTA,
    MOST_RATE,
    Charge,
    ChargeName,
    Neighbours,
    PrivacySpent,
    Relation,
    delta_of_cover,
    halve_for_replacement,
    neglected_delta,
)
from learners.privacy.composition import (
    MOST_MECHANISMS,
    advanced_epsilon,
    optimal_delta,
    run_epsilon,
    steps_cost,
    zcdp_epsilon,
)

#: What a mechanism is known by: its worst pair of laws.
Kind = Literal["discrete Laplace", "pure", "exponential mechanism"]

_KINDS: dict[ChargeName, Kind] = {
    "noisy counts": "discrete Laplace",
    "noisy literals": "discrete Laplace",
    "selections": "exponential mechanism",
    "sharpening": "exponential mechanism",
    "noisy number of examples": "discrete Laplace",
    "noisy number of mistakes": "discrete Laplace",
    "noisy cells": "pure",  # an example may be spread over four
    "support counts": "discrete Laplace",
    "tile counts": "discrete Laplace",
    "noisy splits": "pure",
    "noisy sums of losses": "pure",
    "parities": "pure",
    "unanswered queries": "pure",
    "noisy votes": "exponential mechanism",
    "check counts": "discrete Laplace",
}

#: Charges that hold for the neighbours of the statement; all others are for examples added or
#: removed, and a replacement is two such steps.
_FOR_ITS_OWN: frozenset[ChargeName] = frozenset({"parities", "unanswered queries", "noisy votes"})

#: Charges of runs in steps, which have accounts beside the sum.
_IN_STEPS: frozenset[ChargeName] = frozenset(
    {"noisy counts", "noisy literals", "selections", "sharpening", "noisy votes"}
)

#: Beyond, exp would overflow; no run has such a rate.
_LARGEST_RATE = 700.0

#: Selections of which one example moves one score up and another down.
_EITHER_WAY: frozenset[ChargeName] = frozenset({"noisy votes"})

FORMAT, VERSION = "geodp accounting", 1

_COMPOSING = (
    "Charges compose adaptively, each `times` times. Their composition at (e, d) makes the whole "
    "(e + besides.epsilon, d * besides.factor + besides.delta)-DP. `whole` is proved besides, and "
    "may be less: take either, not both."
)

_OF_APART = (
    "An example is in what is charged apart or in all the rest, by a coin that looks at nothing: "
    "compose either of them, and take the larger."
)


@dataclass(frozen=True, slots=True)
class LossLaw:
    """The law of the privacy loss L = ln P/P', drawn from P, of a worst pair of laws (P, P').

    It is the same with P and P' exchanged.

    Attributes
    ----------
    kind : {"two points", "log-uniform"}
        Two points: L = size with odds e^size to 1, else -size (randomized response).
        Log-uniform: L = size + 2 ln W, W uniform on e^-size .. 1 (bounded range).
    size : float
        Positive, in nats.
    """

    kind: Literal["two points", "log-uniform"]
    size: float

    def cdf(self, x: ArrayLike) -> Floats:
        """P(L <= x)."""
        at, size = np.asarray(x, dtype=np.float64), self.size
        if self.kind == "two points":
            wrong = math.exp(-size) / (1 + math.exp(-size))
            return np.where(at < -size, 0.0, np.where(at < size, wrong, 1.0))
        inside = np.clip(at, -size, size)
        part = np.exp((inside - size) / 2) * np.expm1(-(inside + size) / 2)
        return np.asarray(part / math.expm1(-size), dtype=np.float64)

    def delta(self, epsilon: ArrayLike) -> Floats:
        """The least delta at each epsilon, of any sign: E[(1 - e^(epsilon - L))+]."""
        e, size = np.asarray(epsilon, dtype=np.float64), self.size
        below = -np.expm1(np.minimum(e, 0.0))
        gap = np.clip(size - e, 0.0, 2 * size)
        if self.kind == "two points":
            inside = -np.expm1(-gap) / (1 + math.exp(-size))
        else:
            inside = np.expm1(-gap / 2) ** 2 / -math.expm1(-size)
        return np.where(e < -size, below, inside)

    def upper_masses(self, step: float) -> dict[int, float]:
        """Probabilities of the loss rounded up to multiples of `step`: never too little is lost.

        Parameters
        ----------
        step : float
            Positive, in nats.

        Returns
        -------
        dict of int to float
            Probability by the number of steps.
        """
        if not step > 0:
            raise ValueError(f"step must be positive, got {step}")
        exact = Fraction(self.size) / Fraction(step)
        first, last = math.ceil(-exact), math.ceil(exact)
        if self.kind == "two points":
            wrong = float(self.cdf(0.0))
            return {first: wrong, last: 1 - wrong} if first < last else {last: 1.0}
        ends = self.cdf(np.arange(first - 1, last + 1) * step)
        masses = np.diff(ends)
        return {i: float(mass) for i, mass in zip(range(first, last + 1), masses, strict=True)}

    def to_dict(self) -> dict[str, Any]:
        """As a JSON-ready object; it says the law in full."""
        if self.kind == "two points":
            wrong = float(self.cdf(0.0))
            return {
                "law": self.kind,
                "losses": [-self.size, self.size],
                "probabilities": [wrong, 1 - wrong],
            }
        return {
            "law": self.kind,
            "range": [-self.size, self.size],
            "cdf": "P(L <= x) = (exp((x - h)/2) - exp(-h)) / (1 - exp(-h)), h = range[1]",
        }


@dataclass(frozen=True, slots=True)
class Mechanism:
    """One of the mechanisms that a charge stands for, for the neighbours of its statement.

    Attributes
    ----------
    kind : {"discrete Laplace", "pure", "exponential mechanism"}
    epsilon : float
        It is so much DP.
    moves : {1, 2}
        Neighbouring steps by which one example is added or removed; 2 for a replacement that is
        charged as two.
    one_way : bool
        Of an exponential mechanism: such a step moves all scores in one direction.
    """

    kind: Kind
    epsilon: float
    moves: int = 1
    one_way: bool = True

    @property
    def rho(self) -> float:
        """It is rho-zCDP: epsilon^2 / 2, and of bounded range epsilon^2 / 8 (lemma 2)."""
        return self.epsilon**2 / (8 if self.kind == "exponential mechanism" else 2)

    @property
    def range(self) -> float:
        """Length of an interval that holds all its losses, between any two neighbours."""
        return self.epsilon * (1 if self.kind == "exponential mechanism" else 2)

    @property
    def loss(self) -> LossLaw:
        """The law of its worst privacy loss."""
        if self.kind == "exponential mechanism":
            return LossLaw("log-uniform", self.epsilon)
        return LossLaw("two points", self.epsilon)

    @property
    def exact(self) -> bool:
        """Whether the law is that of the mechanism itself, and no bound of it."""
        return self.kind == "discrete Laplace" and self.moves == 1

    def to_dict(self) -> dict[str, Any]:
        """As a JSON-ready object."""
        rate = self.epsilon if self.one_way else self.epsilon / 2
        parameters: dict[Kind, dict[str, Any]] = {
            "discrete Laplace": {"scale": self.moves / self.epsilon, "sensitivity": self.moves},
            "exponential mechanism": {"rate": rate, "sensitivity": 1, "one_way": self.one_way},
            "pure": {},
        }
        return {
            "mechanism": self.kind,
            **parameters[self.kind],
            "epsilon": self.epsilon,
            "delta": 0.0,
            "rho": self.rho,
            "range": self.range,
            "loss": {**self.loss.to_dict(), "exact": self.exact},
        }


def mechanism(
    charge: Charge, stated: Relation = "add-remove", relation: Relation | None = None
) -> Mechanism:
    """What a charge stands for.

    Parameters
    ----------
    charge : Charge
    stated : {"add-remove", "replace-one", "replace-label"}
        Neighbours of the statement that it is a part of.
    relation : {"add-remove", "replace-one", "replace-label"}, optional
        Neighbours for which it is told; by default those of the statement.
    """
    relation = stated if relation is None else relation
    own = stated if charge.name in _FOR_ITS_OWN else "add-remove"
    moves = 1 if own == relation or own != "add-remove" else 2
    one_way = moves == 1 and charge.name not in _EITHER_WAY
    return Mechanism(_KINDS[charge.name], charge.each * moves, moves, one_way)


def rounding_epsilon(privacy: PrivacySpent, moves: int = 1) -> float:
    """Bound on |ln(actual law / stated law)| of a run's transcript (docs/privacy.md, lemma 5).

    Where delta is 0, all draws are exact (lemmas X2, F1 and B1).

    Parameters
    ----------
    privacy : PrivacySpent
    moves : {1, 2}
        2 where an example is replaced: it may change twice as many draws.
    """
    return moves * _rounded_draws(privacy) * ARITHMETIC


def delta_besides(privacy: PrivacySpent, moves: int = 1) -> float:
    """What a run's charges leave to delta: neglected events (lemma 5), or the margin of votes (S4).

    Parameters are those of :func:`rounding_epsilon`.
    """
    if privacy.account == "optimal":
        rate = max(
            (c.each for c in privacy.learned.charges if c.name != "noisy counts"), default=0.0
        )
        relation: Neighbours = "replace-one" if moves == 2 else "add-remove"
        return neglected_delta(rate, _rounded_draws(privacy), relation)
    # LEAST_DELTA of a run by tiles pays for either kind of neighbours
    return privacy.delta if privacy.account in ("basic", "stability") else 0.0


def _rounded_draws(privacy: PrivacySpent) -> int:
    if privacy.delta == 0 or privacy.account not in ("basic", "optimal"):
        return 0
    selected = [charge for charge in privacy.charges if charge.name in ("selections", "sharpening")]
    return sum(charge.times for charge in selected)


#: What roundings may make of epsilon, in parts of it; and what those of noise to short
#: fractions may leave of it, which is more.
_ABOVE, _BELOW, _SHORT = 1e-7, 1e-6, 1e-8


@lru_cache(maxsize=4096)
def check_statement(privacy: PrivacySpent) -> None:
    """Refuse a statement that its charges do not compose to, at its own delta, by its own account.

    None of them may cost more.  By the accounts of all learners but experts, votes and those that
    are there to be compared, they do not cost less either, unless a rate is the greatest there is.

    Raises
    ------
    ValueError
        If they do.
    """
    if privacy.rows != 1:
        if privacy.neighbours == "replace-label" or privacy.charge(APART) is not None:
            raise ValueError("no such run has several rows of a person")
        privacy = privacy.of_one
    most = privacy.epsilon * (1 + _ABOVE)
    said = f"(epsilon, delta) = ({privacy.epsilon:g}, {privacy.delta:g})"
    apart = [charge for charge in privacy.charges if charge.name == APART]
    if apart:
        privacy = privacy.learned
        if len(apart) > 1 or apart[0].times > 1:
            raise ValueError("a run is checked once")
        if not mechanism(apart[0], privacy.neighbours).epsilon <= most:
            raise ValueError(f"its check costs more than it says, {said}")
    if not privacy.charges:
        raise ValueError("a statement has charges")
    if sum(charge.times for charge in privacy.charges) > 2 * MOST_MECHANISMS:
        raise ValueError(f"charges of more than {2 * MOST_MECHANISMS:,} values are of no run")
    names = [charge.name for charge in privacy.charges]
    if privacy.neighbours == "replace-label" and not set(names) <= _FOR_ITS_OWN:
        raise ValueError("no run with these charges protects labels alone")
    if privacy.delta < LEAST_DELTA and (privacy.delta or privacy.account != "basic"):
        raise ValueError(f"its charges do not compose to {said}: delta is {LEAST_DELTA:g} at least")
    if privacy.account == "stability" or "unanswered queries" in names:
        if privacy.account != "stability" or names != ["unanswered queries"]:
            raise ValueError("the charges of votes are those of unanswered queries")
        votes = privacy.charges[0]
        with np.errstate(all="ignore"):  # rates that are read may be anything
            delta = optimal_delta(votes.each, votes.times, most)
        if delta > privacy.delta:
            raise ValueError(f"its charges do not compose to {said}")
        return
    if privacy.account not in ("basic", "optimal") and not set(names) <= _IN_STEPS:
        raise ValueError(f"no run with these charges has the account {privacy.account}")
    with np.errstate(all="ignore"):
        found = _composed(privacy)
    if not found <= most:
        raise ValueError(f"its charges compose to epsilon = {found:.6g}, and it says {said}")
    many = any(charge.name == "selections" and charge.times > 1 for charge in privacy.charges)
    exact = privacy.account == "optimal" or (privacy.account == "basic" and not many)
    capped = any(charge.each >= MOST_RATE * (1 - _ABOVE) for charge in privacy.charges)
    room = _BELOW * privacy.epsilon + _SHORT * sum(charge.times for charge in privacy.charges)
    if privacy.account == "basic" and exact and privacy.delta not in (0, LEAST_DELTA):
        raise ValueError(f"delta of charges that add up is 0, or {LEAST_DELTA:g} for arithmetic")
    if exact and not capped and found < privacy.epsilon - room:
        raise ValueError(f"its charges compose to epsilon = {found:.6g}, and it says {said}")


def _composed(privacy: PrivacySpent) -> float:
    """Epsilon of the charges at the statement's delta."""
    if privacy.account == "optimal":
        return _of_a_cover(privacy)
    several = [(c.times, mechanism(c, privacy.neighbours)) for c in privacy.charges]
    moves = 2 if privacy.neighbours == "replace-one" else 1
    basic = math.fsum(times * one.epsilon for times, one in several)
    basic += 2 * rounding_epsilon(privacy, moves)
    if privacy.account == "basic" or privacy.delta == 0:
        return basic
    # a replacement is a selection of twice the range, or two runs
    ways = [_by_account(privacy, moves, privacy.delta)]
    if moves == 2:
        ways.append(
            2 * _by_account(privacy, 1, halve_for_replacement(privacy.epsilon, privacy.delta)[1])
        )
    return min(basic, *ways)


def _by_account(privacy: PrivacySpent, moves: int, delta: float) -> float:
    """Epsilon by one of the accounts of lemma A1, for examples that make so many moves."""
    relation: Relation = "add-remove" if moves == 1 else "replace-one"
    drawn = [c for c in privacy.charges if _KINDS[c.name] == "exponential mechanism"]
    beside = math.fsum(c.alone * moves for c in privacy.charges if c not in drawn)
    if len(drawn) != 1 or delta <= 0:
        return math.inf
    one, times = mechanism(drawn[0], privacy.neighbours, relation), drawn[0].times
    if one.kind != "exponential mechanism" or one.epsilon > _LARGEST_RATE:
        return math.inf
    if privacy.account == "zcdp":
        return beside + zcdp_epsilon(times * one.rho, delta)
    if privacy.account == "set-cover":
        return beside + math.expm1(one.epsilon) * (1 - math.log(delta))
    return beside + advanced_epsilon(one.epsilon, times, delta)


def _of_a_cover(privacy: PrivacySpent) -> float:
    """Epsilon by lemma 4, with what lemma 8 draws after it; or by lemma C3."""
    named = {charge.name: charge for charge in privacy.charges}
    odd = set(named) - {"noisy counts", "noisy literals", "selections", "sharpening"}
    selections, counts = named.get("selections"), named.get("noisy counts")
    if odd or selections is None or len(named) != len(privacy.charges):
        raise ValueError("the charges of a cover are those of counts, selections and sharpening")
    if "sharpening" in named and named["sharpening"].times != 1:
        raise ValueError("a cover is sharpened once")
    if counts is not None and counts.times != selections.times:
        raise ValueError("a cover has as many noisy counts as selections")
    moves = 2 if privacy.neighbours == "replace-one" else 1
    literals, sharpening = named.get("noisy literals"), named.get("sharpening")
    if literals is not None:
        delta = (
            privacy.delta
            if moves == 1
            else halve_for_replacement(privacy.epsilon, privacy.delta)[1]
        )
        return moves * max(literals.alone, run_epsilon(selections.each, delta, selections.times))
    if sharpening is None:
        return steps_cost(privacy, selections.times)[0]
    relation: Neighbours = "add-remove" if moves == 1 else "replace-one"
    left = replace(privacy, delta=delta_of_cover(privacy.delta, sharpening.each, relation))
    return steps_cost(left, selections.times)[0] + moves * (sharpening.each + 2 * ARITHMETIC)


def accounting_document(privacy: PrivacySpent) -> dict[str, Any]:
    """A statement's charges as a JSON-ready object that other accountants can compose.

    Parameters
    ----------
    privacy : PrivacySpent

    Returns
    -------
    dict
        With `whole`, the proved guarantee; `charges`, each with its mechanism, parameters, pure
        epsilon, zCDP rho, bounded range and the law of its privacy loss, for the statement's own
        neighbours; `besides`, what they leave out (rounding, and margins of votes); and of a run
        that was checked `apart`, what is of other examples.

    Examples
    --------
    >>> from learners import NoisyHistogramLearner
    >>> document = accounting_document(NoisyHistogramLearner(epsilon=1.0, cells=4).plan())
    >>> [(charge["mechanism"], round(charge["epsilon"], 6)) for charge in document["charges"]]
    [('pure', 1.0)]
    """
    moves = 2 if privacy.neighbours == "replace-one" else 1
    rounding, apart = rounding_epsilon(privacy, moves), privacy.charge(APART)
    besides = delta_besides(privacy, moves)

    def document(charge: Charge) -> dict[str, Any]:
        described = mechanism(charge, privacy.neighbours).to_dict()
        return {"name": charge.name, "times": charge.times, **described}

    told = [document(one) for one in privacy.charges if one.name != APART]
    if privacy.rows > 1:  # no more is known of several examples than what the whole costs
        whole = Mechanism("pure", privacy.epsilon).to_dict()
        told = [{"name": "the whole run, for all rows of a person", "times": 1, **whole}]
        rounding, besides = 0.0, privacy.delta
    return {
        "format": FORMAT,
        "version": VERSION,
        "private": privacy.private,
        "neighbours": privacy.neighbours,
        "whole": {
            "epsilon": privacy.epsilon,
            "delta": privacy.delta,
            "account": privacy.account,
        },
        "charges": told,
        **({"apart": [document(apart)], "of_apart": _OF_APART} if apart else {}),
        "besides": {
            "epsilon": 2 * rounding,
            "delta": besides,
            "factor": math.exp(rounding),
        },
        "composing": _COMPOSING,
    }
