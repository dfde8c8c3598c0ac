"""How many independent examples a learner of a finite class needs, with exact constants.

alpha is the error (or the loss, of losses in [0, 1]) that may be exceeded with probability at
most beta; L = ln(number of hypotheses / beta).  Let h be *bad* if it must not be chosen, M(h) its
mistakes (or losses) on the sample, h* a best hypothesis.

realizable   M(h*) = 0.  The mechanism with weights exp(-r M) chooses a bad h, of error a > alpha,
             with probability at most E exp(-r M(h)) = (1 - a (1 - exp(-r)))^n, for h* alone
             weighs 1.  Over all h: |C| (1 - alpha (1 - exp(-r)))^n <= beta.  A consistent learner
             is r = infinity.
agnostic     h is bad if its error exceeds that of h* by more than alpha.  D = M(h) - M(h*) is a
             sum of n terms in [-1, 1] of mean above alpha.  h is chosen with probability at
             most E min(1, exp(-r D)) <= E exp(-t D) for 0 <= t <= r.  exp is convex, so each term
             gives at most cosh t - alpha sinh t, least at t = artanh alpha.  Over all h: |C|
             (cosh t - alpha sinh t)^n <= beta.  Without privacy (1 - alpha^2)^(n/2).

These proofs need neither uniform convergence nor a division of alpha and beta; from
artanh(alpha) on, privacy costs an agnostic learner no more examples.  The sources (Nissim,
Nikolov, Kasiviswanathan et al. 2008) have O(L/(r alpha)) and O(L/(r alpha) + L/alpha^2).

one-sided    Points and thresholds, any consistent concept (Nissim's O(1)): an all-0 answer, or a
             border at the outermost example of one label, errs on one set of points only, and if
             that has probability above alpha no example may lie in it: (1 - alpha)^n <= beta,
             whatever the size of the class.

uniform      all |M(h)/n - error of h| <= alpha: 2 |C| exp(-2 n alpha^2) <= beta (Hoeffding).
laplace      all noises are within W = ceil(s ln(2 |C|/beta)) with probability 1 - beta/2, s their
             scale (docs/privacy.md, lemma 3);
             then a bad h is chosen only if M(h) - M(h*) <= 2 W.  By the moments above, with any
             t > 0: (2 |C|/beta) exp(2 t W) (...)^n <= 1; the best of a few t is taken.
"""

from __future__ import annotations

import math
from collections.abc import Callable

from learners.parameters import check_open_unit
from learners.privacy.accounting import noise_scale

#: Beyond this many examples a promise is void, and none are searched for.
MAX_EXAMPLES = 10**15


def least_count(enough: Callable[[int], bool], above: int = 0) -> int:
    """The least n > above with enough(n), of a condition that stays true from some n on."""
    low, high = above, above + 1
    while not enough(high):
        low, high = high, 2 * high
    # whatever rounding does, the condition was seen to hold at what is returned
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if enough(middle) else (middle, high)
    return high


def consistent_examples(size: int, alpha: float, beta: float) -> int:
    """n for a consistent learner (Occam): |C| (1 - alpha)^n <= beta."""
    log_size = _check(size, alpha, beta)
    return math.ceil(log_size / -math.log1p(-alpha))


def one_sided_examples(alpha: float, beta: float) -> int:
    """n for the consistent learner of points or of thresholds: (1 - alpha)^n <= beta."""
    return consistent_examples(1, alpha, beta)


def agnostic_examples(size: int, alpha: float, beta: float) -> int:
    """n for empirical risk minimization to come within alpha of the best hypothesis."""
    log_size = _check(size, alpha, beta)
    return math.ceil(log_size / _agnostic(alpha, math.atanh(alpha)))


def uniform_convergence_examples(size: int, alpha: float, beta: float) -> int:
    """n for every hypothesis' average on the sample to be within alpha of its expectation."""
    log_size = _check(size, alpha, beta)
    return math.ceil((log_size + math.log(2)) / (2 * alpha**2))


def private_examples(
    size: int, alpha: float, beta: float, rate: float, *, agnostic: bool = False
) -> int:
    """n for the exponential mechanism with weights exp(-rate * mistakes).

    Parameters
    ----------
    size : int
        Number of hypotheses.
    alpha, beta : float
        In (0, 1).
    rate : float
        epsilon, or epsilon/2 when an example is replaced: nats per mistake, or per unit of a
        loss in [0, 1].
    agnostic : bool
        Whether alpha is meant above the best hypothesis' error; else some hypothesis errs
        nowhere.

    Raises
    ------
    ValueError
        If a parameter is out of range.
    """
    log_size = _check(size, alpha, beta)
    if not rate > 0:
        raise ValueError(f"rate must be positive, got {rate}")
    if agnostic:
        return math.ceil(log_size / _agnostic(alpha, min(rate, math.atanh(alpha))))
    return math.ceil(log_size / _realizable(alpha, rate))


def laplace_examples(
    size: int, alpha: float, beta: float, epsilon: float, *, agnostic: bool = False
) -> int:
    """n for the baseline with noise on every hypothesis; epsilon for add/remove neighbours."""
    log_size = _check(size, alpha, beta) + math.log(2)
    reach = 2 * math.ceil(float(noise_scale(epsilon, size)) * log_size)
    moment = _agnostic if agnostic else _realizable
    top = math.atanh(alpha) if agnostic else 20.0
    rates = [top * 2 ** (-i / 8) for i in range(200)]
    # the moments' logs vanish with the rate, so small ones divide by next to nothing
    return math.ceil(
        min((log_size + t * reach) / moment(alpha, t) for t in rates if moment(alpha, t) > 0)
    )


def _realizable(alpha: float, rate: float) -> float:
    """-ln E exp(-rate M) of one example, error alpha."""
    return -math.log1p(alpha * math.expm1(-rate))


def _agnostic(alpha: float, rate: float) -> float:
    """-ln(cosh t - alpha sinh t), t at most artanh alpha."""
    return -math.log1p(2 * math.sinh(rate / 2) ** 2 - alpha * math.sinh(rate))


def _check(size: int, alpha: float, beta: float) -> float:
    """ln(size / beta)."""
    if size < 1:
        raise ValueError(f"there must be at least one hypothesis, got {size}")
    check_open_unit(alpha=alpha, beta=beta)
    return math.log(size) - math.log(beta)
