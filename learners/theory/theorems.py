"""Lists every theorem that states a number of examples, in one table and in both directions.

A :class:`Theorem` says how many examples (for experts: rounds) suffice for error at most alpha,
except with probability beta.  :func:`examples_for` asks it; :func:`alpha_for` inverts it by
bisection; :func:`theorem_of` finds the one about a learner's run.  Where a proof in this package
keeps every constant, the theorem is `exact`; where the sources give an order of growth only, the
number is its value with constant 1, and says O(.).

The derivations stand where the functions are: :mod:`learners.theory.cover_sizes` (polygons, covers
of any class), :mod:`learners.boolean.consistent_conjunction`, :mod:`learners.finite.sample_sizes`,
:mod:`learners.finite.amplification`, :mod:`learners.boolean.parity`,
:mod:`learners.finite.experts`, :mod:`learners.stability.query_sizes` (votes of chunks),
:mod:`learners.theory.pac`.
"""

from __future__ import annotations

import math
from bisect import bisect_left
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any

from geometry.halfplane import HalfplaneLattice
from geometry.lift import ConicLattice
from learners.boolean import consistent_conjunction
from learners.declaration import check_open_unit
from learners.finite import experts, sample_sizes
from learners.finite.amplification import plan_amplification
from learners.finite.sample_sizes import MAX_EXAMPLES, least_count
from learners.privacy.accounting import inner_budget
from learners.stability import query_sizes
from learners.stability.query_sizes import QuerySizes
from learners.theory import cover_sizes
from learners.theory.cover_sizes import CoverPlan
from learners.theory.pac import generalization_gap
from learners.theory.rule_of_thumb import within_floats

#: What a theorem may ask for besides alpha and beta, and what it is.
PARAMETERS: dict[str, str] = {
    "k": "pieces, or literals, of a good hypothesis",
    "d": "size of the grid, or number of variables or bits",
    "size": "number of hypotheses |C|",
    "vc": "VC dimension",
    "experts": "number of experts N",
    "queries": "number of queries m, at public points",
    "halts": "number of queries T that may cost something",
    "gamma": "error of the best hypothesis",
    "stable": "c, of a learner that is c/n-stable on average",
    "epsilon": "privacy parameter",
    "delta": "privacy parameter",
    "neighbours": "add-remove or replace-one",
}

#: n, or a run with its n; None where no n is known to suffice.
Sizes = int | CoverPlan | QuerySizes | None


@dataclass(frozen=True, slots=True)
class Theorem:
    """One promise.

    Attributes
    ----------
    name : str
    promise : str
        What n examples suffice for, in words.
    source : str
    needs : tuple of str
        Names from :data:`PARAMETERS`.
    sizes : callable
        Of alpha, beta and what it needs, by keyword: :data:`Sizes`.
    learners : tuple of str
        Those of the registry whose runs it is about.
    takes : tuple of str
        Further parameters of theirs, which have defaults.
    exact : bool
        Whether every constant is kept; else O(.) with constant 1.
    counted : str
        What n counts.
    necessary : bool
        Whether n is needed by every learner, rather than enough for this one.
    """

    name: str
    promise: str
    source: str
    needs: tuple[str, ...]
    sizes: Callable[..., Sizes]
    learners: tuple[str, ...] = ()
    takes: tuple[str, ...] = ()
    exact: bool = True
    counted: str = "examples"
    necessary: bool = False


def _printed_order(*, alpha: float, beta: float, k: int, d: int, epsilon: float) -> int:
    return math.ceil(k / (alpha * epsilon) * math.log(d / (alpha * beta)))


def _private(needed: Callable[..., int], *, agnostic: bool = False) -> Callable[..., int]:
    def sizes(*, size: int, alpha: float, beta: float, epsilon: float, neighbours: Any) -> int:
        inner = inner_budget(epsilon, 0.0, neighbours)[0]
        return needed(size, alpha, beta, inner, agnostic=agnostic)

    return sizes


def _amplified(*, size: int, alpha: float, beta: float, epsilon: float, neighbours: Any) -> int:
    plan = plan_amplification(epsilon, beta, neighbours)
    one_run = partial(sample_sizes.private_examples, size, beta=0.5, rate=float(plan.rate))
    return plan.examples_needed(one_run, alpha, beta)


def _private_line(*, d: int, **asked: Any) -> int:
    return _private(sample_sizes.private_examples)(size=2**d + 1, **asked)


def _parity(*, d: int, alpha: float, beta: float) -> int:
    # some parity of 2^d; the log alone fits into a float
    needed = d * math.log(2) + math.log(1 / beta)
    return math.ceil(needed / -math.log1p(-alpha))


def _private_parity(
    *, d: int, alpha: float, beta: float, epsilon: float, neighbours: Any
) -> int | None:
    # it brings compiled loops along, which the window's process has not
    from learners.boolean.parity import plan_parity

    return plan_parity(epsilon, neighbours, beta).examples_needed(d, alpha, beta)


def _hedge(*, alpha: float, beta: float, **of: int) -> int:
    del beta  # the losses may be an adversary's; the bound is on the expected regret
    count, bound, rate = of["experts"], experts.regret_bound, experts.hedge_rate
    return least_count(lambda n: bound(count, n, rate(count, n)) <= alpha * n)


def _private_experts(
    *, alpha: float, beta: float, epsilon: float, delta: float, neighbours: Any, **of: int
) -> int | None:
    del beta

    def enough(n: int) -> bool:
        plan = experts.plan_experts(of["experts"], n, epsilon, delta, neighbours)
        return plan.regret <= alpha * n

    return least_count(enough) if enough(10**9) else None


def _generalization(*, alpha: float, beta: float, epsilon: float, neighbours: Any) -> int | None:
    per_replacement = epsilon * (1 if neighbours == "replace-one" else 2)

    def enough(n: int) -> bool:
        return generalization_gap(n, per_replacement, beta) <= alpha

    return least_count(enough) if enough(MAX_EXAMPLES) else None


_KMMS = "Kaplan, Mansour, Matias, Stemmer 2019"
_NISSIM = "Nissim, Private Learning 1, 2017"
_NIKOLOV = "Nikolov, CSC2412"
_NOTES = "lecture notes, Private and PAC; experts"
_BTT = "Bassily, Thakurta, Thakkar 2018"
_KASIVISWANATHAN = f"{_NISSIM}; Kasiviswanathan et al. 2008"
_COVER = "constants of learners/theory/cover_sizes.py"
_VOTES = "constants of learners/stability/query_sizes.py"
_ORDER = "(k / (alpha epsilon)) log(d / (alpha beta)), up to logarithms"
_CLAIMS = f"{_KMMS}, claims 3.1 and 3.4, "
_APPROXIMATE = ("epsilon", "delta", "neighbours")
_PURE = ("epsilon", "neighbours")
_POLYGONS = ("k", "d", *_APPROXIMATE)
_ASKED = ("queries", *_APPROXIMATE)

_triangles = partial(cover_sizes.polygon_examples, edges=3)
_halfplanes = partial(cover_sizes.polygon_examples, edges=1)

# fmt: off
THEOREMS: tuple[Theorem, ...] = (
    Theorem(
        "cover", "the private union of triangles, if k triangles err on no example",
        f"{_KMMS}, theorem 5.1, {_COVER}", _POLYGONS, _triangles, ("cover",), ("measure",),
    ),
    Theorem(
        "convex-cover", "the private convex polygon, if k halfplanes err on no example",
        f"{_KMMS}, theorem 4.7, {_COVER}", _POLYGONS, _halfplanes, ("convex-cover",), ("measure",),
    ),
    Theorem(
        "cover-naive",
        "the same as cover, by naive composition: to be compared, no run is charged so",
        f"{_KMMS}, example 3.3 and theorem 5.1, {_COVER}", _POLYGONS,
        partial(_triangles, account="naive"), takes=("measure",),
    ),
    Theorem(
        "convex-cover-naive",
        "the same as convex-cover, by naive composition: to be compared, no run is charged so",
        f"{_KMMS}, example 3.3 and theorem 4.7, {_COVER}", _POLYGONS,
        partial(_halfplanes, account="naive"), takes=("measure",),
    ),
    Theorem(
        "convex-cover-printed", "the private convex polygon of k edges, as printed",
        f"{_KMMS}, theorem 4.7: {_ORDER}", ("k", "d", "epsilon"), _printed_order, exact=False,
    ),
    Theorem(
        "cover-printed", "the private union of polygons of k edges in all, as printed",
        f"{_KMMS}, theorem 5.1: {_ORDER}", ("k", "d", "epsilon"), _printed_order, exact=False,
    ),
    Theorem(
        "cover-constants",
        "the private union of triangles, errors on the sample alone, by the constants as printed",
        f"{_CLAIMS}lemma 4.6", ("k", "d", "epsilon", "delta"),
        partial(cover_sizes.printed_examples, edges=3),
    ),
    Theorem(
        "convex-cover-constants",
        "the private convex polygon, errors on the sample alone, by the constants as printed",
        f"{_CLAIMS}lemma 4.6", ("k", "d", "epsilon", "delta"),
        partial(cover_sizes.printed_examples, edges=1),
    ),
    Theorem(
        "set-cover-constants",
        "the private union of k of |C| pieces, errors on the sample alone, by the constants as "
        "printed", f"{_CLAIMS}proposition 2.5", ("k", "size", "epsilon", "delta"),
        cover_sizes.printed_examples,
    ),
    Theorem(
        "set-cover",
        "the private union (or intersection) of k of |C| pieces, if some k err on no example",
        f"{_KMMS}, theorem 3.2", ("k", "size", *_APPROXIMATE), cover_sizes.set_cover_examples,
    ),
    Theorem(
        "conic-cover",
        "the private union of k of |C| discs or ellipses, if some k err on no example",
        f"{_KMMS}, theorem 3.2, its law softened", ("k", "size", *_APPROXIMATE),
        partial(cover_sizes.set_cover_examples, softened=True), ("discs", "ellipses"),
    ),
    Theorem(
        "conjunction", "the private conjunction (or disjunction) of k of 2d literals",
        f"{_KMMS}, theorem 3.5 (and claims 3.1, 3.4)", _POLYGONS, cover_sizes.cover_examples,
    ),
    Theorem(
        "conjunction-naive", "the same by naive composition", f"{_KMMS}, example 3.3", _POLYGONS,
        partial(cover_sizes.cover_examples, account="naive"),
    ),
    Theorem(
        "conjunction-strawman",
        "the private conjunction by a list of good literals, in proportion to d: to be compared",
        f"{_KMMS}, introduction; Gupta et al. 2010; {_COVER}", _POLYGONS,
        cover_sizes.strawman_examples,
    ),
    Theorem(
        "conjunction-greedy", "the greedy conjunction of k of 2d literals, without privacy",
        f"{_KMMS}, section 3; Blumer et al. 1987", ("k", "d"),
        consistent_conjunction.greedy_examples,
    ),
    Theorem(
        "conjunction-consistent", "any conjunction that errs on no example",
        f"{_NOTES}; Blumer et al. 1987", ("d",), consistent_conjunction.consistent_examples,
    ),
    Theorem(
        "monotone-consistent", "any conjunction without negations that errs on no example",
        f"{_NOTES}, theorem 1", ("d",),
        partial(consistent_conjunction.consistent_examples, monotone=True),
    ),
    Theorem(
        "monotone-private-consistent",
        "the private consistency learner over the 2^d conjunctions without negations",
        _NOTES, ("d", *_PURE), partial(consistent_conjunction.consistency_examples, monotone=True),
    ),
    Theorem(
        "conjunction-private-consistent",
        "the private consistency learner over all 3^d + 1 conjunctions",
        _NOTES, ("d", *_PURE), consistent_conjunction.consistency_examples,
    ),
    Theorem(
        "occam", "any of |C| hypotheses that errs on no example",
        _NISSIM, ("size",), sample_sizes.consistent_examples,
    ),
    Theorem(
        "points", "the learner of points: the positive one, or none; however many points there are",
        f"{_NISSIM}, example 0: O(ln(1/beta) / alpha)", (), sample_sizes.one_sided_examples,
    ),
    Theorem(
        "thresholds",
        "the learner of thresholds: up to the last positive example; however many there are",
        f"{_NISSIM}, example 1: O(1)", (), sample_sizes.one_sided_examples,
    ),
    Theorem(
        "erm", "the best of |C| hypotheses on the examples, above the best there is",
        _NIKOLOV, ("size",), sample_sizes.agnostic_examples,
    ),
    Theorem(
        "uniform-convergence",
        "all of |C| hypotheses: error on the examples and on new ones differ by at most alpha",
        _NIKOLOV, ("size",), sample_sizes.uniform_convergence_examples,
    ),
    Theorem(
        "private-finite",
        "the exponential mechanism over |C| hypotheses, one of which never errs",
        _KASIVISWANATHAN, ("size", *_PURE), _private(sample_sizes.private_examples),
        ("threshold",),
    ),
    Theorem(
        "private-points",
        "the exponential mechanism over 2^d points and the concept that labels everything 0",
        f"{_NISSIM}: O(d)", ("d", *_PURE), _private_line,
    ),
    Theorem(
        "private-thresholds", "the exponential mechanism over 2^d + 1 thresholds",
        f"{_NISSIM}: O(d)", ("d", *_PURE), _private_line,
    ),
    Theorem(
        "private-finite-agnostic",
        "the exponential mechanism over |C| hypotheses, above the best there is",
        f"{_NISSIM}; {_NIKOLOV}", ("size", *_PURE),
        _private(sample_sizes.private_examples, agnostic=True),
    ),
    Theorem(
        "private-finite-amplified",
        "the same draw, as if a run failed half of the time: several runs and a private choice",
        f"{_NISSIM}: log(1/beta) runs; constants of learners/finite/amplification.py",
        ("size", *_PURE), _amplified,
    ),
    Theorem(
        "laplace-losses", "noise on all |C| losses, one of which is never above 0",
        _NIKOLOV, ("size", *_PURE), _private(sample_sizes.laplace_examples),
    ),
    Theorem(
        "laplace-losses-agnostic", "noise on all |C| losses, above the best there is",
        _NIKOLOV, ("size", *_PURE), _private(sample_sizes.laplace_examples, agnostic=True),
    ),
    Theorem(
        "vc", "any consistent concept of a class of this VC dimension",
        f"{_NISSIM}; Blumer, Ehrenfeucht, Haussler, Warmuth 1989, theorem 2.1", ("vc",),
        sample_sizes.consistent_size,
    ),
    Theorem(
        "vc-lower", "every learner needs as many, for some target and distribution",
        f"{_NISSIM}; Ehrenfeucht, Haussler, Kearns, Valiant 1989, theorem 1", ("vc",),
        sample_sizes.lower_bound_size, necessary=True,
    ),
    Theorem(
        "vc-agnostic",
        "the best concept on the examples of a class of this VC dimension, above the best there is",
        "Vapnik, Chervonenkis 1971; constants of learners/finite/sample_sizes.py", ("vc",),
        sample_sizes.agnostic_size,
    ),
    Theorem("parity", "Gaussian elimination over GF(2)", _NISSIM, ("d",), _parity),
    Theorem(
        "private-parity", "the private parity learner, amplified",
        _KASIVISWANATHAN, ("d", *_PURE), _private_parity,
    ),
    Theorem(
        "experts", "multiplicative weights: mean expected regret against the best of N experts",
        _NOTES, ("experts",), _hedge, counted="rounds",
    ),
    Theorem(
        "private-experts",
        "private multiplicative weights: mean expected regret, the account corrected",
        _NOTES, ("experts", *_APPROXIMATE), _private_experts, counted="rounds",
    ),
    Theorem(
        "queries",
        "votes of chunks: at most alpha m of m queries are answered wrong or not at all, if some "
        "concept never errs", f"{_BTT}, theorem 4.3 (and corollary 4.1), {_VOTES}",
        ("vc", *_ASKED), query_sizes.query_sizes,
    ),
    Theorem(
        "queries-agnostic",
        "votes of chunks: at most alpha m of m queries are answered wrong or not at all, alpha "
        "above 3 gamma", f"{_BTT}, theorem 4.4 (and corollary 4.1), {_VOTES}",
        ("vc", "gamma", *_ASKED), partial(query_sizes.query_sizes, agnostic=True),
    ),
    Theorem(
        "labels",
        "a hypothesis learned from private labels of m public points, if some concept never errs",
        f"{_BTT}, theorem 4.6, {_VOTES}", ("vc", *_ASKED), query_sizes.label_sizes,
    ),
    Theorem(
        "labels-agnostic",
        "a hypothesis learned from private labels of m public points, alpha above 7 gamma",
        f"{_BTT}, theorem 4.7, {_VOTES}", ("vc", "gamma", *_ASKED),
        partial(query_sizes.label_sizes, agnostic=True),
    ),
    Theorem(
        "soft-queries",
        "m private predictions within alpha of what is expected of one model, if all but T of "
        "these are within nu/4 of 0 or 1, nu = 1 / ceil(3 / (4 alpha)) the width",
        f"{_BTT}, theorem 5.14, {_VOTES}", ("halts", "stable", *_ASKED), query_sizes.soft_sizes,
    ),
    Theorem(
        "generalization",
        "an epsilon-private learner: error on the examples and on new ones differ by at most alpha",
        f"{_NISSIM}: O(ln(1/beta) / epsilon^2) for alpha of order epsilon; constants of "
        "learners/theory/pac.py", _PURE, _generalization,
    ),
)
# fmt: on


def find_theorem(name: str) -> Theorem:
    """The theorem of this name.

    Raises
    ------
    ValueError
        If there is none.
    """
    for theorem in THEOREMS:
        if theorem.name == name:
            return theorem
    known = ", ".join(theorem.name for theorem in THEOREMS)
    raise ValueError(f"unknown theorem {name!r}: use one of {known}")


def theorem_of(
    learner: str, parameters: Mapping[str, Any], grid: int, *, alone: bool = False
) -> tuple[Theorem, dict[str, Any]] | None:
    """The theorem about the runs of a learner, and what it is asked with; None if there is none.

    Parameters
    ----------
    learner : str
        Of the registry.
    parameters : mapping
        Of the learner, by name.
    grid : int
        d.
    alone : bool
        Whether the run is one triangle, drawn by its mistakes (docs/decisions/0020).

    Raises
    ------
    ValueError
        If the grid is too large for the learner's pieces, or the budget too small to run at all.
    """
    asked = {**parameters, "d": grid}
    if alone:
        lattice = HalfplaneLattice(grid, asked["measure"])
        budget = (asked[name] for name in _APPROXIMATE)
        asked |= {
            "size": cover_sizes.piece_count(lattice, 3),
            "epsilon": cover_sizes.triangle_rate(*budget), "neighbours": "add-remove",
        }  # fmt: skip
        return find_theorem("private-finite"), asked
    theorem = next((one for one in THEOREMS if learner in one.learners), None)
    if theorem is None or asked.get("k") == "auto":
        return None
    if learner == "threshold":
        from learners.cover.threshold_learner import threshold_class_size

        asked["size"] = threshold_class_size(grid, asked["direction"])
    elif "size" in theorem.needs:
        asked["size"] = ConicLattice(grid, "disc" if learner == "discs" else "ellipse").members
    return theorem, asked


@within_floats
def plan_for(theorem: Theorem, alpha: float, beta: float, parameters: Mapping[str, Any]) -> Sizes:
    """The run that the promise is for, where the theorem chooses any of its public numbers, or n;
    parameters and errors as of :func:`examples_for`."""
    missing = [name for name in theorem.needs if parameters.get(name) is None]
    if missing:
        wanted = ", ".join(f"{name} ({PARAMETERS[name]})" for name in missing)
        raise ValueError(f"theorem {theorem.name!r} needs {wanted}")
    check_open_unit(alpha=alpha, beta=beta)
    asked = {name: parameters[name] for name in theorem.needs}
    asked |= {name: parameters[name] for name in theorem.takes if name in parameters}
    return theorem.sizes(alpha=alpha, beta=beta, **asked)


def examples_for(
    theorem: Theorem, alpha: float, beta: float, parameters: Mapping[str, Any]
) -> int | None:
    """The least n by this theorem; None if none is known to suffice.

    Parameters
    ----------
    theorem : Theorem
    alpha, beta : float
        In (0, 1).
    parameters : mapping
        By name; those that the theorem does not need are left aside.

    Raises
    ------
    ValueError
        If a parameter is missing or out of range, or the budget too small to run at all.

    Examples
    --------
    >>> examples_for(find_theorem("occam"), alpha=0.1, beta=0.1, parameters={"size": 1000})
    88
    """
    found = plan_for(theorem, alpha, beta, parameters)
    return found.examples if isinstance(found, CoverPlan | QuerySizes) else found


@within_floats
def alpha_for(theorem: Theorem, n: int, beta: float, parameters: Mapping[str, Any]) -> float | None:
    """The least alpha of three digits that n suffice for; None if no alpha below 1/2 is.

    So what is printed of it is as much as is proved, and an alpha of three digits comes back from
    the n that was found for it.  For a necessary number, the least alpha that n does not rule out.

    Raises
    ------
    ValueError
        If n < 1, or a parameter is missing or out of range.
    """
    if n < 1:
        raise ValueError(f"n must be at least 1, got {n}")

    def enough(i: int) -> bool:
        needed = examples_for(theorem, _of_three_digits(i), beta, parameters)
        return needed is not None and needed <= n

    # the lower bound is proved for alpha up to 1/8 only
    last = _LAST_NEEDED if theorem.necessary else _LAST
    if not enough(last):
        return None
    return _of_three_digits(bisect_left(range(last), True, key=enough))


#: Of the numbers of three digits from 1e-12 on, those that are 1/2 and 1/8.
_LAST, _LAST_NEEDED = 11 * 900 + 400, 11 * 900 + 25


def _of_three_digits(i: int) -> float:
    """The i-th such number, as it is typed."""
    power, digits = divmod(i, 900)
    return float(f"{100 + digits}e{power - 14}")
