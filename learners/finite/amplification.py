"""Makes one private learner that fails with probability beta of one that fails half of the time.

Nissim's lecture (*Private Learning 1*; Kasiviswanathan et al. 2008): confidence is amplified by
log(1/beta) runs.  Here for any private learner:

1. every example goes to one of T runs, with probability q each, or to the test, by a coin of its
   own;
2. the learner is run on each of the T parts, with all of epsilon;
3. of the runs' hypotheses one is drawn, P(h) proportional to exp(-rate * mistakes of h on the
   test); runs that gave no hypothesis are left out.

An example is in one run or in the test, so that all of it costs what one run costs: (epsilon,
delta), docs/privacy.md, lemma F5.

How many examples.  Let a run on n0(a) examples or more err on more than a with probability at most
f (the lecture's 1/2).  Of beta a third each, b, goes to three faults:

all runs bad     f^T <= b;
a part too small every part has n0 examples but with probability b / T each, if n q = n0 + L +
                 sqrt(L^2 + 2 L n0), L = ln(T/b) (Chernoff: P(Binomial(n, q) <= n0) <=
                 exp(-(n q - n0)^2 / (2 n q)));
a bad choice     a hypothesis of error above alpha is drawn while one errs on a or less.  For 0 <=
                 t <= rate that has probability at most E exp(-t D), D the difference of their
                 mistakes on the test.  An example is decided wrongly by the bad one alone with
                 probability p+, by the good one alone with p-, so it gives 1 - p+ (1 - exp(-t)) +
                 p- (exp(t) - 1), most if none is decided wrongly by both: m = 1 - alpha (1 -
                 exp(-t)) + a (exp(t) - 1), least at t = ln(alpha/a) / 2.  An example is tested with
                 probability w: T (1 - w (1 - m))^n <= b.

a is no matter of the run: the best of a few is taken.

Departs from the source, which repeats runs on the whole sample with epsilon decreased: at epsilon/T
a run needs some T times as many examples, so parts take no more.  A learner whose n grows with
ln(1/beta) by itself, such as the exponential mechanism, needs none of this.  The parity learner
(:mod:`learners.boolean.parity`) has its own: one coin says both in which block an equation is and
whether it is used, which wastes none, and its blocks are good or silent, so no test is needed.  Run
through this module its draws would be others, and its examples more.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from geometry.arrays import Ints
from geometry.coordinates import unmasked
from learners.core.sklearn_support import WithParameters, predict_as_came, share_right
from learners.declaration import check_open_unit
from learners.privacy.accounting import Neighbours, pure_budget
from learners.privacy.exponential_mechanism import exponential_index, private_rate
from learners.privacy.noise import below_array
from learners.privacy.randomness import below, open_source

#: Denominator of the probabilities: coins are exact.
COIN = 1 << 48

#: Errors of a good run that are tried, in parts of alpha.
_PARTS_OF_ALPHA = (1 / 8, 1 / 4, 1 / 2, 3 / 4)


@dataclass(frozen=True, slots=True)
class AmplificationPlan:
    """What a run does, fixed by public numbers: T `runs`, to a given one of which an example
    belongs with probability q, `used` / COIN; and the rate in nats per mistake in the test."""

    runs: int
    used: int
    rate: Fraction

    @property
    def tested(self) -> int:
        """w * COIN: what the runs leave is the test's."""
        return COIN - self.runs * self.used

    def examples_needed(self, base: Callable[[float], int], alpha: float, beta: float) -> int:
        """n for error at most alpha with probability 1 - beta, see the module; the plan must have
        been made for this beta.

        base(a) says how many examples one run needs for error at most a, except with the
        probability that the plan was made for.  Raises ValueError if alpha or beta is not in (0,
        1).
        """
        check_open_unit(alpha=alpha, beta=beta)
        share, log_part = self.used / COIN, math.log(3 * self.runs / beta)
        found = []
        for part in _PARTS_OF_ALPHA:
            enough = base(part * alpha)
            spread = log_part + math.sqrt(log_part**2 + 2 * log_part * enough)
            t = min(float(self.rate), -math.log(part) / 2)
            # 1 - m
            worth = alpha * -math.expm1(-t) - part * alpha * math.expm1(t)
            tests = log_part / -math.log1p(-self.tested / COIN * worth) if worth > 0 else math.inf
            found.append(max((enough + spread) / share, tests))
        return math.ceil(min(found))


def plan_amplification(
    epsilon: float,
    beta: float,
    neighbours: Neighbours = "add-remove",
    failure: float = 0.5,
    test_share: float = 0.25,
) -> AmplificationPlan:
    """Choose the number of runs at epsilon, of one and of all.

    beta and `failure`, with which one run may fail, are probabilities in (0, 1); `test_share`, in
    (0, 1), is the share of the examples on which the runs are compared.  Raises ValueError if a
    parameter is out of range.
    """
    check_open_unit(beta=beta, failure=failure, test_share=test_share)
    runs = max(1, math.ceil(math.log(beta / 3) / math.log(failure)))
    rate = private_rate(pure_budget(epsilon, neighbours), one_way=True)
    return AmplificationPlan(runs, math.floor((1 - test_share) * COIN / runs), rate)


@dataclass(frozen=True, slots=True)
class AmplifiedDiagnostics:
    """What only the curator may see: the examples of each run, those of the test, and the mistakes
    of each run's hypothesis on it, None where it gave none."""

    examples: tuple[int, ...]
    tested: int
    mistakes: tuple[int | None, ...]


class AmplifiedLearner(WithParameters):
    """Several runs of a private learner on parts of the sample, and a private choice among them.

    Parameters
    ----------
    learner : estimator
        One of this package's, private and of examples that stand alone: with parameters `epsilon`,
        `neighbours` and `seed`, and a `release_` from which it predicts, and which states what a
        run costs and so what all of them cost.  A run whose `predict` raises a ValueError when
        asked about no point at all gave no hypothesis.
    beta : float
        Probability with which the choice may fail, given enough examples.
    failure : float
        Probability with which one run may fail.
    test_share : float
        Share of the examples, in (0, 1), on which the runs are compared.
    seed : int, optional
        Makes the runs reproducible and therefore not private; the release says so.

    Attributes
    ----------
    release_ : object
        That of the chosen run, under the name of this learner; what may be published.  If no run
        gave a hypothesis it is the first run's.
    bounds_ : Bounds or None
        Where the grid of a learner of regions lies.
    diagnostics_ : AmplifiedDiagnostics

    Examples
    --------
    >>> import numpy as np
    >>> from learners.boolean.parity import PrivateParityLearner
    >>> X = np.random.default_rng(0).integers(0, 2, (2000, 5))
    >>> one = PrivateParityLearner(beta=None)  # ends without an answer half of the time
    >>> model = AmplifiedLearner(learner=one, beta=0.01, seed=1).fit(X, X[:, 1] ^ X[:, 3])
    >>> model.release_.parity, model.privacy_.epsilon
    ((0, 1, 0, 1, 0), 1.0)
    """

    learner: Any
    beta: float = 0.1
    failure: float = 0.5
    test_share: float = 0.25
    seed: int | None = None

    positive: Any = None
    predict, score = predict_as_came, share_right

    def fit(self, X: ArrayLike, y: ArrayLike) -> Self:
        """Learn from examples.

        Parameters
        ----------
        X : array, shape (n, ...)
            As the learner takes them.
        y : array, shape (n,)
            Labels 0 or 1.

        Raises
        ------
        ValueError
            If an example or a parameter is out of range, the learner is not private, or it has a
            seed of its own.
        """
        configured = self._fresh()
        given = configured._given()
        plan = plan_amplification(
            given["epsilon"],
            configured.beta,
            given["neighbours"],
            configured.failure,
            configured.test_share,
        )
        rows = unmasked(X)
        labels = self._check_labels(y, len(rows))
        source = open_source(configured.seed)
        run_of = below_array(source, COIN, len(rows)) // plan.used
        models = []
        for number in range(plan.runs):
            seed = None if configured.seed is None else below(source, 1 << 63)
            model = type(self.learner)(**{**given, "seed": seed})
            models.append(model.fit(rows[run_of == number], labels[run_of == number]))
        test, truth = rows[run_of >= plan.runs], labels[run_of >= plan.runs]
        able = [i for i, model in enumerate(models) if _answers(model, rows[:0])]
        mistakes = [int(np.count_nonzero(models[i].predict(test) != truth)) for i in able]
        chosen = able[exponential_index(source, -np.array(mistakes), plan.rate)] if able else 0
        sizes = np.bincount(run_of[run_of < plan.runs], minlength=plan.runs)
        made = dict(zip(able, mistakes, strict=True))
        self.diagnostics_ = AmplifiedDiagnostics(
            tuple(sizes.tolist()), len(test), tuple(made.get(i) for i in range(plan.runs))
        )
        released, self.bounds_ = models[chosen].release_, getattr(models[chosen], "bounds_", None)
        # no learner states parameters of these names
        own = (("amplified", type(self.learner).__name__), ("runs", plan.runs))
        self.release_ = replace(
            released,
            learner=type(self).__name__,
            parameters=(*own, ("tested", configured.test_share), *released.parameters),
        )
        return self

    def _zeros_and_ones(self, X: ArrayLike) -> Ints:
        # what a private learner predicts is a function of its release
        release, asked = self._fitted(), type(self.learner)(**self.learner.get_params())
        asked.release_, asked.bounds_ = release, self.bounds_
        return np.asarray(asked.predict(X))

    def _given(self) -> dict[str, Any]:
        """Parameters of the learner, checked as far as they matter here."""
        validated = getattr(self.learner, "validated", lambda: self.learner)
        # its runs are told 0 and 1
        given: dict[str, Any] = validated().get_params() | {"positive": None}
        missing = {"epsilon", "neighbours", "seed"} - set(given)
        if missing:
            name = type(self.learner).__name__
            raise ValueError(
                f"{name} has no parameter {', '.join(sorted(missing))}: only a private learner can "
                "be amplified"
            )
        if given["seed"] is not None:
            raise ValueError("give the seed to AmplifiedLearner, not to the learner of its runs")
        return given


def _answers(model: Any, nothing: NDArray[Any]) -> bool:
    """Whether a run gave a hypothesis: a matter of its release, not of any example."""
    try:
        model.predict(nothing)
    except ValueError:
        return False
    return True
