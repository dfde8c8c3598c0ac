"""How many examples suffice for polygons, and what a given number guarantees.

Source: KMMS claim 3.1 (set cover with noisy counts), the exponential mechanism's tail over a
finite class, and a relative uniform-convergence bound, with every constant kept.  The guarantee
assumes that the examples are independent draws and that k pieces of the lattice (halfplanes
for a convex polygon, triangles for a union) err on none of them.

Write m = ceil(2k ln(2/alpha)) for the steps, scale = m / epsilon_noise for the noise of each
count, and split beta in three equal parts b.  Then, with probability at least 1 - beta:

noise        |b_j - count| stays within Delta of its centre in all m steps, Delta = ceil(scale *
             ln(m/b)); the learner's threshold lies in [count - 2 Delta, count].
selection    each piece scores at least -lambda, lambda = (ln|pieces| + ln(m/b)) / eta: the best
             score, 0, is attained by at least one lattice piece, so by a share of at least
             1/|pieces| of the base measure.
training     a step with more than 4 Delta examples left gains at least 1/(2k) of them, less
             lambda, and loses at most lambda.  So at most max(alpha n/2, 4 Delta) + 2k lambda
             examples are left in the end, and m lambda are lost on the way.  KMMS bound this by
             max(alpha n/2, 4 Delta) + 4k lambda ln(2/alpha); the form here is never larger.
new points   error <= e + 2 sqrt(e A) + 4 A, e the training error, A = (ln S(2n) + ln(4/b)) / n
             (relative deviations: Vapnik and Chervonenkis 1974; Bousquet, Boucheron, Lugosi
             2004, section 3).  S(N) <= (N^2 - N + 2)^edges is the number of ways in which
             `edges` halfplanes can label N points (Cover 1965): no VC constant is involved.

All of it is a worst case.  A run with the learner's own defaults usually does far better.

n does not grow with d where it is large: from d = 256 on 64-bit side tests leave fewer bits to the
lattice, so it has fewer pieces, lambda is smaller, and the planned n falls a little.  That is no
gain: the lattice fits less (:func:`lattice_note`).

One triangle that is drawn by its mistakes (docs/decisions/0020-one-triangle.md) is a draw by the
exponential mechanism alone: :func:`drawn_alone` has what its theorem is asked with.

To be compared, by teachers: what KMMS's proof asks for with the constants that it prints.  Their
theorems state orders of growth; these constants stand in the claims behind them:

claim 3.1    m = 2k ln(2/alpha) steps; counts within Delta = (m/epsilon) ln(m/beta); if every
             selection loses at most lambda, the result errs on at most max{alpha n/2, 4 Delta} +
             4 k lambda ln(2/alpha) of n examples
theorem 3.2  a selection may fail with probability beta / (4 k ln(2/alpha))
claim 3.4    selections with epsilon^ = epsilon / (2 ln(e/delta)) each, for epsilon < 1
lemma 4.6    a halfplane of the grid 0..d: lambda = (8/epsilon^) ln(2d/beta').  By the same proof,
             three at once lose at most three times that
prop. 2.5    a piece of a finite class H: lambda = (2/epsilon^) ln(|H|/beta')

So n examples are enough for a share alpha of mistakes *on the sample*; for new points KMMS print no
constant.  The counts spend epsilon beside the selections' epsilon, which is left as printed.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, Literal

from geometry.halfplane import FINE_D, HalfplaneLattice
from learners.core.checks import check_open_unit, within_floats
from learners.cover.other_accounts import AccountChoice, by_account
from learners.cover.set_cover import plan_budget, theorem_steps
from learners.finite.sample_sizes import MAX_EXAMPLES, least_count
from learners.parameters import log_over
from learners.privacy.accounting import AccountName, Neighbours, check_budget

LearnerName = Literal["cover", "convex-cover"]

#: Halfplanes in one piece.
_EDGES: dict[LearnerName, int] = {"cover": 3, "convex-cover": 1}


@dataclass(frozen=True, slots=True)
class Setting:
    """Public parameters of a run to be planned.

    Attributes
    ----------
    k : int
        Number of pieces that a good hypothesis needs.
    beta : float
        Probability, in (0, 1), with which the guarantee may fail.
    epsilon, delta : float
    lattice : HalfplaneLattice
    learner : {"cover", "convex-cover"}
    neighbours : {"add-remove", "replace-one"}
    account : {"optimal", "naive", "basic", "zcdp", "set-cover"}
        Of the selections.  Runs have the optimal one; others are there to be compared.

    Raises
    ------
    ValueError
        If a parameter is out of range.
    """

    k: int
    beta: float
    epsilon: float
    delta: float
    lattice: HalfplaneLattice
    learner: LearnerName = "cover"
    neighbours: Neighbours = "add-remove"
    account: AccountChoice = "optimal"

    def __post_init__(self) -> None:
        if self.k < 1:
            raise ValueError(f"k must be at least 1, got {self.k}")
        check_open_unit(beta=self.beta)
        if self.learner not in _EDGES:
            raise ValueError(f"unknown learner {self.learner!r}: use 'cover' or 'convex-cover'")
        check_budget(self.epsilon, self.delta)

    @property
    def pieces(self) -> int:
        """Number of lattice pieces (ordered tuples of halfplanes)."""
        halfplanes = self.lattice.points_per_sheet * len(self.lattice.sheets)
        return int(halfplanes ** _EDGES[self.learner])


@dataclass(frozen=True, slots=True)
class Plan:
    """What n examples guarantee; all figures are worst cases.

    Attributes
    ----------
    setting : Setting
    alpha : float or None
        Bound on the error on new points, failing with probability at most beta; None if
        nothing below 1/2 is guaranteed.
    examples : int or None
        Number of examples n; None if no n up to MAX_EXAMPLES suffices.
    steps : int
        m, the number of steps that the guarantee needs.
    learner_beta : float
        The learner's own beta (for its thresholds) that the guarantee needs.
    eta : float
        Nats per example in each selection.
    account : str
        The account that grants eta.
    noise : int
        Delta, in examples.
    selection_loss : float
        lambda, in examples a step.
    training_error : float or None
        Bound on the share of wrong examples in the sample.
    """

    setting: Setting
    alpha: float | None
    examples: int | None
    steps: int
    learner_beta: float
    eta: float
    account: AccountName
    noise: int
    selection_loss: float
    training_error: float | None

    def to_dict(self) -> dict[str, Any]:
        """The setting and the figures as values of JSON, by name."""
        s = self.setting
        return {
            "learner": s.learner,
            "k": s.k,
            "epsilon": s.epsilon,
            "delta": s.delta,
            "neighbours": s.neighbours,
            "grid": s.lattice.d,
            "measure": s.lattice.measure,
            "beta": s.beta,
            "alpha": self.alpha,
            "examples": self.examples,
            "steps": self.steps,
            "learner_beta": self.learner_beta,
            "eta": self.eta,
            "account": self.account,
            "noise": self.noise,
            "selection_loss": self.selection_loss,
            "training_error": self.training_error,
        }


@within_floats
def examples_needed(setting: Setting, alpha: float) -> Plan:
    """The least n that guarantees error at most alpha on new points.

    Raises
    ------
    ValueError
        If alpha is not in (0, 1), or the budget is too small to run at all.
    """
    check_open_unit(alpha=alpha)
    run = _Run.of(setting, alpha)
    if run.error(MAX_EXAMPLES) > alpha:
        return run.plan(None, None)
    return run.plan(alpha, least_count(lambda n: run.error(n) <= alpha))


@within_floats
def error_guaranteed(setting: Setting, examples: int) -> Plan:
    """The least alpha, within 1 part in 1000, that n examples guarantee; void from 1/2 up.

    Raises
    ------
    ValueError
        If examples < 1, or the budget is too small to run at all.
    """
    if examples < 1:
        raise ValueError(f"the number of examples must be at least 1, got {examples}")
    low, high = 0.0, 0.5
    run = _Run.of(setting, high)
    if run.error(examples) >= high:
        return run.plan(None, examples)
    while high - low > 1e-3 * high:
        middle = (low + high) / 2
        attempt = _Run.of(setting, middle)
        if attempt.error(examples) <= middle:
            high, run = middle, attempt
        else:
            low = middle
    return run.plan(high, examples)


def lattice_note(lattice: HalfplaneLattice) -> str | None:
    """What a guarantee for k pieces of a lattice as coarse as this one assumes; None of a fine one.

    KMMS's observation 4.1, that every halfplane has a member that labels all grid points like it,
    fails at large d (:mod:`geometry.halfplane`).
    """
    if lattice.d <= FINE_D:
        return None
    # of an edge's ends half a step; by the source's box its slope moves in steps, too
    reach = (1 if lattice.measure == "chord" else 1 + lattice.d) / (2 << lattice.bits)
    return (
        f"At d = {lattice.d:,} the class of halfplanes is coarse: some shapes of k pieces have no "
        f"fit without mistakes, as they have up to d = {FINE_D:,}. Every edge is met within "
        f"{reach:.2g} of a grid unit, so only points as near to an edge can come out wrong for "
        "that; the guarantee is for shapes that fit."
    )


@within_floats
def drawn_alone(setting: Setting) -> dict[str, Any]:
    """What the theorem "private-finite" is asked with about one triangle drawn by its mistakes.

    Its "epsilon" is the rate of the draw, in nats per mistake.  That is more than a pure guarantee
    of the same epsilon grants: delta pays for the rest.

    Raises
    ------
    ValueError
        If the setting is not one triangle, or the budget is too small to run at all.
    """
    if (setting.learner, setting.k) != ("cover", 1):
        raise ValueError(f"k = {setting.k} pieces of {setting.learner!r} are not drawn alone")
    budget = plan_budget(
        setting.epsilon, setting.delta, 1, setting.beta, setting.neighbours, private=True,
        noise_share=0.0,
    )  # fmt: skip
    # one mistake more or less: replacing an example was paid for in the rate
    return {"size": setting.pieces, "epsilon": budget.eta, "neighbours": "add-remove"}


@dataclass(frozen=True, slots=True)
class _Run:
    """The quantities of one run; see the module docstring."""

    setting: Setting
    alpha: float
    steps: int
    eta: float
    account: AccountName
    noise: int
    loss: float

    @classmethod
    def of(cls, setting: Setting, alpha: float) -> _Run:
        steps = theorem_steps(setting.k, alpha)
        third = setting.beta / 3
        budget = plan_budget(
            setting.epsilon, setting.delta, steps, third, setting.neighbours, private=True
        )
        budget = by_account(budget, setting.account)
        loss = (math.log(setting.pieces) + log_over(steps, third)) / budget.eta
        return cls(setting, alpha, steps, budget.eta, budget.spent.account, budget.margin, loss)

    def training_error(self, examples: int) -> float:
        """Bound on the share of the sample that the hypothesis gets wrong."""
        left = max(self.alpha * examples / 2, 4 * self.noise)
        return min(1.0, (left + (2 * self.setting.k + self.steps) * self.loss) / examples)

    def error(self, examples: int) -> float:
        """Bound on the error on new points."""
        e, n = self.training_error(examples), examples
        edges = self.steps * _EDGES[self.setting.learner]
        dichotomies = edges * math.log((2 * n) ** 2 - 2 * n + 2)
        a = (dichotomies + log_over(12, self.setting.beta)) / n
        return min(1.0, e + 2 * math.sqrt(e * a) + 4 * a)

    def plan(self, alpha: float | None, examples: int | None) -> Plan:
        return Plan(
            setting=self.setting,
            alpha=alpha,
            examples=examples,
            steps=self.steps,
            learner_beta=self.setting.beta / 3,
            eta=self.eta,
            account=self.account,
            noise=self.noise,
            selection_loss=self.loss,
            training_error=None if examples is None else self.training_error(examples),
        )


# -- KMMS's own constants ----------------------------------------------------------------------


def printed_selection_epsilon(epsilon: float, delta: float) -> float:
    """epsilon^ of each selection, claim 3.4."""
    return epsilon / (2 * (1 - math.log(delta)))


def printed_selection_failure(k: int, alpha: float, beta: float) -> float:
    """beta' of each selection, theorem 3.2."""
    return beta / (4 * k * math.log(2 / alpha))


def printed_halfplanes_loss(edges: int, d: int, epsilon: float, beta: float) -> float:
    """lambda of a piece of so many halfplanes, in examples; lemma 4.6."""
    return 8 * edges / epsilon * math.log(2 * d / beta)


def printed_finite_loss(log_size: float, epsilon: float, beta: float) -> float:
    """lambda of a piece of a finite class of size exp(log_size), in examples; proposition 2.5."""
    return 2 / epsilon * (log_size - math.log(beta))


def printed_sample_examples(k: int, alpha: float, beta: float, epsilon: float, loss: float) -> int:
    """The least n that claim 3.1 makes err on at most alpha n of its own examples.

    Parameters
    ----------
    k : int
        Pieces of a good hypothesis.
    alpha, beta : float
        In (0, 1).
    epsilon : float
        Of the noisy counts.
    loss : float
        lambda, in examples.
    """
    steps = 2 * k * math.log(2 / alpha)
    margin = steps / epsilon * math.log(steps / beta)
    lost = 4 * k * loss * math.log(2 / alpha)
    return math.ceil(max(2 * lost, 4 * margin + lost) / alpha)
