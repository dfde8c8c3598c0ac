"""Works out what each step of a run may spend of epsilon and delta, and states what the run cost;
warns of budgets that protect hardly anybody.

Neighbours add or remove one labelled example.  Given the same noisy count, one example moves the
score of every piece by at most 1 and all in the same direction, so a selection with weight
exp(eta * q) has bounded range eta: it is eta-DP and eta^2/8-zCDP.  What several steps cost
together: :mod:`learners.privacy.composition`.

The samplers' floating-point arithmetic is charged too: but for events of probability below
NEGLECTED, every selection is within a factor exp(+-ARITHMETIC) of its stated law
(learners/envelope/envelope_selection.py).
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace
from fractions import Fraction
from typing import Literal

from learners.privacy.randomness import RUN, new_run_id

#: How charges are put together: the closed form of a set cover (lemma 4); their sum; zCDP, the
#: set-cover account or advanced composition of selections, beside the sum of counts (lemma A1);
#: unanswered queries, with what their margin leaves to delta (lemmas S2 to S5).
AccountName = Literal["optimal", "basic", "zcdp", "set-cover", "advanced", "stability"]

#: What is charged for, by the one name that it has for every learner.
ChargeName = Literal[
    "noisy counts",
    "noisy literals",
    "selections",
    "sharpening",
    "noisy number of examples",
    "noisy number of mistakes",
    "noisy cells",
    "support counts",
    "tile counts",
    "noisy splits",
    "noisy sums of losses",
    "parities",
    "unanswered queries",
    "noisy votes",
    "check counts",
]
Neighbours = Literal["add-remove", "replace-one"]

#: What a statement may be about; "replace-label" protects labels only: points and n are public.
Relation = Literal["add-remove", "replace-one", "replace-label"]

#: What is charged for examples that the others never see: of these and the rest the larger counts.
APART: ChargeName = "check counts"

#: Nats per example that are used at most, whatever epsilon would allow: a rate below the granted
#: one is as private and more.  Beyond it a draw gains nothing but the time to rule out every piece
#: with one mistake more, which are e^16 times less likely each.
MOST_RATE = 16.0

#: Bound on |ln(actual law / stated law)| of one selection's draw.
ARITHMETIC = 2.0**-38

#: Bound on the probability of the events that the arithmetic of one selection's draw neglects.
NEGLECTED = 2.0**-180

#: The least delta that can be asked for.  It pays for all that a run by tiles neglects, at any
#: epsilon: :func:`neglected_delta` of one draw at MOST_RATE, or of two, is below it.
LEAST_DELTA = 1e-40

#: Part of delta, at least, that pays for what the arithmetic of the draws in zones neglects.
ZONES_DELTA = 2.0**-20

#: Part of a rate, or of delta, that pays for the rounding of an account's own lines.
GIVEN_UP = 1e-9

#: Examples that a person may have at most.
MOST_ROWS = 1000

#: Bound on the relative rounding of what group privacy makes of delta.
_GROUP_ROUNDING = 1e-12

#: From this epsilon / 2 on, delta / (1 + exp(epsilon / 2)) may be no normal double: 0 is less.
_VANISHING = 600.0


@dataclass(frozen=True, slots=True)
class Charge:
    """What released values of one kind cost.

    Attributes
    ----------
    name : str
    each : float
        One of them alone is so much DP, in nats, when one example is added or removed.
    times : int
        How many of them one example can move.  Of values that see examples of their own, such as
        cells and tiles, it is 1, however many there are.
    """

    name: ChargeName
    each: float
    times: int = 1

    @property
    def alone(self) -> float:
        """Epsilon of all of them by the sum, as if nothing else were released."""
        return self.each * self.times


@dataclass(frozen=True, slots=True)
class PrivacySpent:
    """The privacy statement of a release.

    Attributes
    ----------
    epsilon, delta : float
        Guarantee of the whole run, for the stated neighbours.
    neighbours : {"add-remove", "replace-one", "replace-label"}
    account : {"optimal", "basic", "zcdp", "set-cover", "advanced", "stability"}
        How the charges are put together.
    charges : tuple of Charge
        What the run is made of, always for examples that are added or removed: by "basic" they sum
        up to epsilon at most, or to half of it when an example is replaced.  By "optimal" their sum
        may exceed epsilon: that all of them lose so much in one run is so rare that delta covers
        it (and no account grants selections more for all classes of pieces).
    private : bool
        False when a seed made the randomness reproducible.
    run : str or None
        Public name of the run, so that nobody counts it twice or takes two for one: 32 random
        hexadecimal digits, drawn beside all else.  None of a run that is not private, so that the
        same seed gives the same release, and of one that is not begun.
    rows : int
        Examples of each person.  From two on, epsilon and delta are about a person with all of
        them, and a charge still about one (docs/privacy.md, lemma T2).
    """

    epsilon: float
    delta: float
    neighbours: Relation
    account: AccountName
    charges: tuple[Charge, ...]
    private: bool
    run: str | None = field(default=None, compare=False)
    rows: int = 1

    def of_run(self, run: str | None = None) -> PrivacySpent:
        """The statement of the run of that name, or of a new one; unchanged if not private.

        Raises
        ------
        ValueError
            If no file of a release would be read with that name.
        """
        if run is not None and not RUN.fullmatch(str(run)):
            raise ValueError(f"a run's name is 32 hexadecimal digits in small letters, not {run!r}")
        return replace(self, run=run or new_run_id()) if self.private else self

    def charge(self, name: ChargeName) -> Charge | None:
        """The charge of that name; None if there is none."""
        return next((charge for charge in self.charges if charge.name == name), None)

    @property
    def of_one(self) -> PrivacySpent:
        """The statement about one of a person's examples."""
        if self.rows == 1:
            return self
        epsilon, delta = one_of_several(self.epsilon, self.delta, self.rows)
        if math.isclose(delta, LEAST_DELTA, rel_tol=1e-9):
            delta = LEAST_DELTA
        return replace(self, epsilon=epsilon, delta=delta, rows=1)

    @property
    def learned(self) -> PrivacySpent:
        """The same without what counts apart."""
        return replace(self, charges=tuple(one for one in self.charges if one.name != APART))

    @property
    def steps(self) -> int:
        """Steps over which the run is charged; 1 if all is spent in the first."""
        return max((charge.times for charge in self.charges), default=1)


#: What neighbours differ in, in words.
_NEIGHBOURS: dict[Relation, str] = {
    "add-remove": "adding or removing one labelled example",
    "replace-one": "replacing one labelled example by another",
    "replace-label": "replacing the label of one example (the points are not protected)",
}


#: The same where each person has several examples.
_PERSONS: dict[Relation, str] = {
    "add-remove": "adding or removing one person, who counts as {} labelled examples",
    "replace-one": "replacing one person, who counts as {} labelled examples, by another",
}


def privacy_statement(privacy: PrivacySpent | None) -> str:
    """The guarantee in one sentence."""
    if privacy is None:
        return "Not private: the learner drew no noise."
    if not privacy.private:
        return "Not private: the run was seeded, so its noise can be reproduced."
    texts = _NEIGHBOURS if privacy.rows == 1 else _PERSONS
    return (
        f"({privacy.epsilon:g}, {privacy.delta:g})-differentially private with respect to "
        f"{texts[privacy.neighbours].format(privacy.rows)}."
    )


def one_of_several(epsilon: float, delta: float, rows: int) -> tuple[float, float]:
    """What each of a person's examples may cost, if all of them cost (epsilon, delta): lemma T2.

    Raises
    ------
    ValueError
        If there are no examples, or too many, or epsilon is too large for several.
    """
    if not 1 <= rows <= MOST_ROWS:
        raise ValueError(f"a person has 1 to {MOST_ROWS} rows, not {rows}")
    if rows == 1:
        return epsilon, delta
    each = epsilon / rows
    if Fraction(each) * rows > Fraction(epsilon):
        each = math.nextafter(each, 0.0)
    return each, delta / _group_factor(each, rows) * (1 - _GROUP_ROUNDING)


def _group_factor(each: float, rows: int) -> float:
    """1 + e^each + ... + e^((rows - 1) each): by it group privacy multiplies delta."""
    if rows * each > _VANISHING:
        raise ValueError("epsilon is too large for several rows of a person: choose a smaller one")
    return math.expm1(rows * each) / math.expm1(each) if each else float(rows)


def of_persons(
    spent: PrivacySpent | None, epsilon: float, delta: float, rows: int
) -> PrivacySpent | None:
    """The statement of a run at what :func:`one_of_several` leaves of (epsilon, delta).

    Parameters
    ----------
    spent : PrivacySpent or None
        About one example; None stays None.
    epsilon, delta : float
        What was asked for; delta is what the run uses of it.
    rows : int
        Examples of each person.

    Raises
    ------
    ValueError
        If persons cannot have several examples in such a run.
    """
    if spent is None or rows == 1:
        return spent
    if spent.neighbours not in _PERSONS:
        raise ValueError("labels alone cannot be protected for persons of several rows")
    if spent.charge(APART) is not None:
        raise ValueError(
            "a check takes reports for independent, and several of one person are not: leave out "
            "check, or take one row of each person"
        )
    each, left = one_of_several(epsilon, delta, rows)
    if spent.epsilon != each:
        raise ValueError(f"the run was not made with epsilon = {each!r} for each row")
    if spent.delta != left:
        delta = spent.delta * _group_factor(each, rows) * (1 + _GROUP_ROUNDING)
    return replace(spent, epsilon=epsilon, delta=delta, rows=rows)


def pure_spent(
    epsilon: float, neighbours: Neighbours, private: bool, *charges: Charge
) -> PrivacySpent:
    """The statement of a run that is epsilon-DP with delta = 0, its charges added up."""
    return PrivacySpent(epsilon, 0.0, neighbours, "basic", charges, private)


def after_arithmetic(epsilon: float, delta: float, steps: int) -> tuple[float, float]:
    """What is left of (epsilon, delta) for the ideal laws when the real ones are off.

    Each of m draws has a law within exp(+-ARITHMETIC) of the ideal; if the ideal run is
    (e, d)-DP, the real one is (e + 2 m a, d * exp(m a) )-DP, a = ARITHMETIC.
    """
    slack = steps * ARITHMETIC
    left = epsilon - 2 * slack
    if left <= 0:
        draws = "one selection" if steps == 1 else f"{steps:,} selections"
        raise ValueError(
            f"epsilon is too small to pay for {draws}: by rounding alone they cost more than the "
            "part of it that is theirs; choose a larger one"
        )
    return left, delta * math.exp(-slack)


def neglected_delta(eta: float, draws: int, neighbours: Neighbours) -> float:
    """What events that the samplers' arithmetic neglects add to delta (docs/privacy.md, lemma 5).

    Parameters
    ----------
    eta : float
        Nats per example in every selection.
    draws : int
        Selections whose law an example may change.
    neighbours : {"add-remove", "replace-one"}
    """
    moved = (2 if neighbours == "replace-one" else 1) * eta + 2 * ARITHMETIC
    # rates are at most MOST_RATE; one that is read from a file may be anything
    return draws * (1 + math.exp(min(moved, _VANISHING))) * NEGLECTED


def delta_of_cover(delta: float, eta: float, neighbours: Neighbours) -> float:
    """What the draws of zones at that rate leave of delta to the cover before them (lemma 8).

    An example lies in one zone, and one that is replaced may lie in two.
    """
    return delta - max(ZONES_DELTA * delta, neglected_delta(eta, 2, neighbours))


def halve_for_replacement(epsilon: float, delta: float) -> tuple[float, float]:
    """Add-remove parameters whose run is (epsilon, delta)-DP when one example is replaced.

    A replacement is one removal and one addition: group privacy of size two.  Where next to nothing
    is left of delta, it is 0.
    """
    half = epsilon / 2
    return half, delta / (1 + math.exp(half)) if half < _VANISHING else 0.0


def inner_budget(epsilon: float, delta: float, neighbours: Neighbours) -> tuple[float, float]:
    """Add-remove parameters of a run that is (epsilon, delta)-DP for these neighbours.

    Raises
    ------
    ValueError
        If there are no such neighbours.
    """
    if neighbours == "replace-one":
        return halve_for_replacement(epsilon, delta)
    if neighbours == "add-remove":
        return epsilon, delta
    raise ValueError(f"neighbours must be 'add-remove' or 'replace-one', got {neighbours!r}")


def pure_budget(epsilon: float, neighbours: Neighbours) -> float:
    """Epsilon for add/remove neighbours of a run that is epsilon-DP, delta = 0, for these.

    Raises
    ------
    ValueError
        If epsilon states no guarantee, or there are no such neighbours.
    """
    check_budget(epsilon, LEAST_DELTA)
    return inner_budget(epsilon, LEAST_DELTA, neighbours)[0]


def noise_scale(epsilon_noise: float, steps: int) -> Fraction:
    """Scale of the integer Laplace noise of each of `steps` counts, at least steps / epsilon."""
    share = Fraction(epsilon_noise) / steps
    # a short fraction keeps the sampler's integers small; rounding the share down is safe
    short = Fraction(int(share * 10**9), 10**9)
    if short <= 0:
        counts = "a noisy count" if steps == 1 else f"{steps:,} noisy counts"
        raise ValueError(
            f"epsilon is too small for {counts}: the part of it that is theirs makes a noise of a "
            "billion examples and more; choose a larger one"
        )
    return 1 / short


def check_budget(epsilon: float, delta: float) -> None:
    """Refuse an epsilon or delta that states no guarantee.

    Raises
    ------
    ValueError
        Unless epsilon is finite and positive and delta lies strictly between 0 and 1.
    """
    if not (math.isfinite(epsilon) and epsilon > 0):
        raise ValueError(f"epsilon must be a positive number, got {epsilon}")
    if not 0 < delta < 1:
        raise ValueError(f"delta must lie strictly between 0 and 1, got {delta}")
    if delta < LEAST_DELTA:
        raise ValueError(f"delta must be at least {LEAST_DELTA}, got {delta}")


#: Larger ones are warned about, and so is a delta of MOST_DELTA itself.
MOST_EPSILON, MOST_DELTA = 20.0, 1e-3


def budget_warning(epsilon: float, delta: float, *, used: bool = True, n: int | None = None) -> str:
    """What is wrong with a budget, in one line; empty if nothing is.

    Parameters
    ----------
    epsilon, delta : float
    used : bool
        Whether the learner needs delta at all.
    n : int, optional
        Number of examples, if it may be told: delta is compared with 1/n.
    """
    sentences = []
    if epsilon > MOST_EPSILON:
        sentences.append(
            f"epsilon = {epsilon:g} protects hardly anybody: a result may be e^{epsilon:g} times "
            "as likely with a report as without it; choose 10 or less"
        )
    if delta >= MOST_DELTA and not used:
        sentences.append(f"delta = {delta:g} would be far too large, but this learner needs none")
    elif used and (delta >= MOST_DELTA or (n is not None and delta > 0 and n >= 1 / delta)):
        sentences.append(
            f"delta = {delta:g} protects hardly anybody: publishing one report in "
            f"{round(1 / delta):,} outright would satisfy it; choose far less than one over the "
            "number of people"
        )
    return "; ".join(sentences)
