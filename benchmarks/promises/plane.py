"""Rows of the plane: halfplanes and their dual plane, convex polygons, unions of polygons.

Kaplan, Mansour, Matias, Stemmer 2019 (KMMS), sections 4 and 5.  Examples are drawn as counts of a
small grid, which has the same law, so that the n that is planned can be drawn at all.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterator
from fractions import Fraction
from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from geometry.arrangement import LatticePolygon, arrange
from geometry.grid_counts import GridCounts
from geometry.halfplane import Halfplane, HalfplaneLattice, Sheet, admitted_parts, area
from learners.baselines.greedy import GreedyConvexLearner, GreedyUnionLearner
from learners.core.records import inside_piece, predict_pieces
from learners.core.selection import Role, mistakes_score
from learners.cover.polygons import ConvexPolygonLearner, PolygonUnionLearner
from learners.envelope.envelope_selection import EnvelopeSelection
from learners.privacy.composition import run_delta
from learners.privacy.randomness import SeededRandom
from learners.theory.cover_sizes import (
    CoverPlan,
    printed_finite_loss,
    printed_halfplanes_loss,
    printed_selection_epsilon,
)
from learners.theory.pac import check_promise
from learners.theory.theorems import examples_for, find_theorem, plan_for, theorem_of
from promises.row import Row, Verdict, always, exact, simulated

DELTA = 1e-6

# -- 6: Observation 4.1: a member for every halfplane ------------------------------------------


def dichotomies(points: NDArray[np.int64]) -> set[tuple[bool, ...]]:
    """All labellings of points (m, 2) by closed halfplanes, exactly.

    Each is that of a line through two of them, but for a turn by next to nothing: points on the
    line are then divided between its two ends.
    """
    found = {(True,) * len(points), (False,) * len(points)}
    for i, j in itertools.permutations(range(len(points)), 2):
        along = points[j] - points[i]
        apart = points - points[i]
        left = apart[:, 0] * along[1] - apart[:, 1] * along[0]
        on = np.flatnonzero(left == 0)
        order = on[np.argsort(apart[on] @ along, kind="stable")]
        for cut in range(len(order) + 1):
            for first in (order[:cut], order[cut:]):
                label = left > 0
                label[first] = True
                found.add(tuple(label.tolist()))
    return found


def has_member(
    lattice: HalfplaneLattice, points: NDArray[np.int64], inside: tuple[bool, ...]
) -> bool:
    """Whether some member of the lattice labels the points so."""
    c0, c1, scale = lattice.basis
    for sheet in lattice.sheets:
        sides = []
        for (x, y), held in zip(points.tolist(), inside, strict=True):
            along, across = (x, y) if sheet.flat else (y, x)
            a, b, c = c0 - c1 * along, along, scale * across
            if held != sheet.upper:
                # the line is at the point or above it; or, of what is outside, strictly above
                sides.append((a, b, c + (not held)))
            else:
                sides.append((-a, -b, -c + (not held)))
        for part in admitted_parts(lattice):
            if LatticePolygon.of((*part.closed, *sides)).count:
                return True
    return False


def _whole_grid(runs: int) -> Verdict:
    """All labellings of all grid points, d = 1 .. runs; the empty one apart."""
    outcome, missing = [], 0
    for d in range(1, runs + 1):
        points = np.indices((d + 1, d + 1)).reshape(2, -1).T
        labels = dichotomies(points)
        lattice = HalfplaneLattice(d)
        missing += sum(any(one) and not has_member(lattice, points, one) for one in labels)
        outcome.append(f"{len(labels):,} at d = {d}")
    return exact(
        missing == 0, f"labellings of all grid points: {', '.join(outcome)}; {missing} lack"
    )


def _sextets(d: int, runs: int) -> Iterator[NDArray[np.int64]]:
    """Six grid points near a line, or anywhere, by turns."""
    for i in range(runs):
        rng = np.random.default_rng([d, i])
        if i % 2:
            yield rng.integers(0, d + 1, (6, 2))
            continue
        ends = rng.integers(0, d + 1, (2, 2))
        shares = rng.random((6, 1))
        near = ends[0] + shares * (ends[1] - ends[0])
        yield np.clip(np.rint(near).astype(np.int64) + rng.integers(-1, 2, (6, 2)), 0, d)


def _large(sizes: tuple[int, ...]) -> Callable[[int], Verdict]:
    def check(runs: int) -> Verdict:
        outcome, lacking = [], 0
        for d in sizes:
            lattice, missing, many = HalfplaneLattice(d), 0, 0
            for points in _sextets(d, runs):
                labels = [one for one in dichotomies(points) if any(one)]
                many += len(labels)
                missing += sum(not has_member(lattice, points, one) for one in labels)
            outcome.append(f"{missing:,} of {many:,} lack at d = {d:,}")
            lacking += missing
        return always(lacking == 0, "; ".join(outcome))

    return check


def _nearest(runs: int) -> Verdict:
    """A line through real heights in the square, and the member next to it, in fractions."""
    worst = Fraction(0)
    for i in range(runs):
        d = 1 << (i % 21)
        lattice = HalfplaneLattice(d)
        rng = np.random.default_rng(i)
        # heights of the line at x = 0 and x = d, in lattice units, to 2^-20 of one
        u, v = (Fraction(int(h), 1 << 20) for h in rng.integers(0, (d << lattice.bits) << 20, 2))
        member = lattice.halfplane(Sheet.FLAT_ABOVE, round(u), round(v))
        worst = max(worst, abs(member.u - u), abs(member.v - v))
    return exact(worst <= Fraction(1, 2), f"{float(worst):.4f} lattice units at most, {runs} lines")


# -- 6: regions of the dual plane, and lemma 4.6 -----------------------------------------------


def _regions(runs: int) -> Verdict:
    """All regions of all dual lines of small grids, in fractions."""
    least, agree = Fraction(1 << 60), True
    for d in range(1, runs + 1):
        lattice = HalfplaneLattice(d, "paper", bits=0)
        points = np.indices((d + 1, d + 1)).reshape(2, -1).T
        found = arrange(lattice, Sheet.FLAT_ABOVE, points)
        sizes = (area(cell.vertices) for cell in found.cells)
        least = min(least, *(size * d**4 for size in sizes if size > 0))
        fine = arrange(HalfplaneLattice(d, "paper"), Sheet.FLAT_ABOVE, points)
        ordered = np.array(fine.examples)
        for cell in fine.cells:
            held = cell.lattice_points
            for rank in {0, held.count // 2, held.count - 1} if held.count else ():
                member = Halfplane(fine.lattice, Sheet.FLAT_ABOVE, *held.point(rank))
                inside = member.contains(ordered)
                agree &= cell.inside == sum(1 << int(j) for j in np.flatnonzero(inside))
    outcome = f"the least area is {float(least):.3f} / d^4, d up to {runs}"
    return exact(least >= Fraction(1, 4) and agree, f"{outcome}; its halfplanes label alike")


_D, _BETA = 8, 0.1


def _grid(d: int) -> NDArray[np.int64]:
    return np.indices((d + 1, d + 1)).reshape(2, -1).T.astype(np.int64)


def _one_halfplane(
    lattice: HalfplaneLattice, epsilon: float, lost: float
) -> Callable[[int], Verdict]:
    """A draw with weights exp(epsilon q), where some halfplane makes no mistake."""
    selection = EnvelopeSelection(lattice, "halfplane")
    grid = _grid(lattice.d)

    def run(i: int) -> float:
        rng = np.random.default_rng(i)
        labels = _halfplane(lattice, rng, grid).contains(grid)
        rows = rng.integers(0, len(grid), 400)
        counts = GridCounts.of_examples(grid[rows], labels[rows], lattice.d)
        score = mistakes_score(counts.positives)
        drawn = selection.select(counts, score, epsilon, SeededRandom(i)).piece
        return float(np.count_nonzero(inside_piece(drawn, grid[rows]) != labels[rows]))

    return lambda runs: simulated(check_promise(run, alpha=lost, beta=_BETA, runs=runs))


_RATE = 1.0
_PRINTED_LOSS = printed_halfplanes_loss(1, _D, _RATE, _BETA)
_CHORD = HalfplaneLattice(_D)
_CHORD_LOSS = printed_finite_loss(
    math.log(_CHORD.points_per_sheet * len(_CHORD.sheets)), 2 * _RATE, _BETA
)

# -- 3, 6: claims 3.4 and 4.3 ------------------------------------------------------------------


def _claim(runs: int) -> Verdict:
    """Selections alone, by the closed form that no class of pieces exceeds (lemma 4)."""
    worst = 0.0
    for i in range(runs):
        epsilon, delta = 0.05 * (1 + i % 19), 10.0 ** -(1 + i % 8)
        steps = (1, 4, 30, 1000)[i % 4]
        each = printed_selection_epsilon(epsilon, delta)
        # weights exp(epsilon^ q / 2), and SelectHalfplane's exp(epsilon^ q) at half of it
        worst = max(worst, run_delta(each / 2, steps, epsilon) / delta)
    return exact(worst <= 1, f"at most {worst:.2g} of delta, in {runs} settings")


# -- 7, 8: planned covers ----------------------------------------------------------------------


def _halfplane(
    lattice: HalfplaneLattice, rng: np.random.Generator, grid: NDArray[np.int64]
) -> Halfplane:
    """A random member that holds some of the grid points, not all."""
    while True:
        sheet = lattice.sheets[int(rng.integers(len(lattice.sheets)))]
        u, v = (int(t) for t in rng.integers(lattice.low, lattice.high + 1, 2))
        if lattice.admits(u, v):
            member = lattice.halfplane(sheet, u, v)
            if 0.1 < member.contains(grid).mean() < 0.95:
                return member


@cache
def _target(d: int, role: Role, k: int, seed: int) -> NDArray[np.bool_]:
    """Labels of the grid's points by at most k random pieces; both are frequent."""
    lattice, grid = HalfplaneLattice(d), _grid(d)
    rng = np.random.default_rng([d, k, seed])
    edges = 1 if role == "conjunction" else 3
    while True:
        pieces = tuple(
            tuple(_halfplane(lattice, rng, grid) for _ in range(edges))
            for _ in range(int(rng.integers(1, k + 1)))
        )
        truth = predict_pieces(role, pieces, grid)
        if 0.1 < truth.mean() < 0.7:
            return truth


def drawn(
    truth: NDArray[np.bool_], grid: NDArray[np.int64], d: int, n: int, seed: int
) -> tuple[GridCounts, NDArray[np.float64]]:
    """Counts of n examples, and the weights of the grid's points: heavy and light ones, and each
    label has its share."""
    rng = np.random.default_rng([n, seed])
    weights = np.exp(rng.normal(0, rng.uniform(0, 2), len(grid)))
    for label in (truth, ~truth):
        weights[label] *= rng.uniform(0.3, 1) / weights[label].sum()
    weights /= weights.sum()
    amounts = rng.multinomial(n, weights)
    seen = amounts > 0
    entries = np.column_stack([grid[seen], truth[seen], amounts[seen]])
    return GridCounts.of_entries(entries, d, grid.shape[1]), weights


def covered(
    target: Callable[[int], NDArray[np.bool_]], grid: NDArray[np.int64], d: int, n: int,
    alpha: float, make: Callable[[int], Any], *, on_sample: bool = False, beta: float = _BETA,
) -> Callable[[int], Verdict]:  # fmt: skip
    """The verdict on a learner's promise for n examples; its error on new points, or its own.

    Parameters
    ----------
    target : callable
        Labels of the grid's points, of the number of the run.
    make : callable
        The learner of that run.
    """

    def run(i: int) -> float:
        truth = target(i)
        counts, weights = drawn(truth, grid, d, n, i)
        model = make(i).fit_counts(counts)
        if on_sample:
            wrong = model.predict(counts.points) != counts.labels
            return float(counts.amounts[wrong].sum() / n)
        return float(weights[model.predict(grid) != truth].sum())

    return lambda runs: simulated(check_promise(run, alpha=alpha, beta=beta, runs=runs))


def _cover(
    role: Role, d: int, k: int, n: int, alpha: float, make: Callable[[int], Any],
    *, on_sample: bool = False,
) -> Callable[[int], Verdict]:  # fmt: skip
    """The same of at most k random halfplanes or triangles."""
    return covered(
        lambda i: _target(d, role, k, i), _grid(d), d, n, alpha, make, on_sample=on_sample
    )


_ALPHA, _K = 0.25, 2


def _asked(k: int, d: int) -> dict[str, Any]:
    """What the theorems of covers are asked with."""
    return {"k": k, "d": d, "epsilon": 1.0, "delta": DELTA, "neighbours": "add-remove"}


@cache
def _plan(learner: str, k: int) -> CoverPlan:
    plan = plan_for(find_theorem(learner), _ALPHA, _BETA, _asked(k, _D))
    assert isinstance(plan, CoverPlan)
    return plan


def _planned(learner: str, k: int) -> int:
    n = _plan(learner, k).examples
    assert n is not None
    return n


def _told(learner: str, k: int) -> dict[str, Any]:
    plan = _plan(learner, k)
    return {"k": k, "n_steps": plan.steps, "beta": plan.beta, "grid": _D}


def _printed_n(learner: str, k: int) -> int:
    """By KMMS's printed constants, for errors on the sample."""
    n = examples_for(find_theorem(f"{learner}-constants"), _ALPHA, _BETA, _asked(k, _D))
    assert n is not None
    return n


_ALONE_ALPHA = 0.05
_ALONE_ASKED = theorem_of("cover", {**_asked(1, _D), "measure": "chord"}, _D, alone=True)
assert _ALONE_ASKED is not None
_ALONE = examples_for(_ALONE_ASKED[0], _ALONE_ALPHA, _BETA, _ALONE_ASKED[1])


def _growth(learner: str) -> Callable[[int], Verdict]:
    """How the planned n grows as k doubles, and as d is raised to its square."""

    def needed(k: int, d: int, account: str) -> int:
        theorem = find_theorem(learner if account == "optimal" else f"{learner}-naive")
        n = examples_for(theorem, 0.1, 0.1, _asked(k, d))
        assert n is not None
        return n

    def check(runs: int) -> Verdict:
        del runs
        power = {
            account: math.log2(needed(128, 64, account) / needed(64, 64, account))
            for account in ("optimal", "naive")
        }
        by_size = needed(16, 256, "optimal") / needed(16, 16, "optimal")
        outcome = f"n grows as k^{power['optimal']:.2f}, naively as k^{power['naive']:.2f}; from "
        outcome += f"d = 16 to 256 by a factor {by_size:.2f}"
        good = power["optimal"] < 1.2 and power["naive"] > 1.4 and by_size < 2
        return exact(good, outcome)

    return check


# -- 9: without privacy ------------------------------------------------------------------------


def _consistent(
    make: Callable[[int, int], Any], role: Role, k: int, d: int, n: int
) -> Callable[[int], Verdict]:
    grid, steps = _grid(d), math.ceil(k * math.log(n))

    def check(runs: int) -> Verdict:
        wrong = 0
        for i in range(runs):
            truth = _target(d, role, k, i)
            counts, _ = drawn(truth, grid, d, n, i)
            model = make(k, steps).fit_counts(counts)
            wrong += bool((model.predict(counts.points) != counts.labels).any())
        return always(wrong == 0, f"{wrong} of {runs} samples of {n:,} had a mistake")

    return check


def _greedy_union(k: int, steps: int) -> GreedyUnionLearner:
    return GreedyUnionLearner(k=k, n_steps=steps, grid=8, max_boxes=1 << 12)


_SETTING = f"random {{}} on a grid of {_D}, random weights, epsilon = 1, delta = 1e-6, "
_EVERY = "Every constant kept."
_OWN = "The chord lattice in place of the source's box, and the optimal account."
_TIME = (
    "The source's time is polynomial in n, and so is that of selection='arrangement'; the default "
    "sampler's is measured, not proved (docs/decisions/0018)."
)
_N47, _N51 = _planned("convex-cover", _K), _planned("cover", 1)
_KEPT = f"error at most {_ALPHA:g} with probability {1 - _BETA:g}"
_PAPER: dict[str, Any] = {"measure": "paper"}

ROWS: tuple[Row, ...] = (
    Row(
        (6,), "KMMS, observation 4.1",
        "Every halfplane has a member of the lattice that labels all grid points like it.",
        "all labellings of all grid points, d = 1, 2, 3, 4", _whole_grid, 4, 2,
        "The chord lattice has no empty halfplane; the source's box (measure paper) has.",
    ),
    Row(
        (6,), "KMMS, observation 4.1, at large d",
        "Every halfplane has a member that labels six points, near a line or anywhere, like it.",
        "d = 1,024 and 16,384", _large((1 << 10, 1 << 14)), 60, 4,
    ),
    Row(
        (6,), "KMMS, observation 4.1, at the largest d",
        "Every halfplane has a member that labels six points, near a line or anywhere, like it.",
        "d = 131,072 and 1,048,576", _large((1 << 17, 1 << 20)), 60, 8,
        "64-bit side tests leave steps of 2^-b grid units, b = (60 - 3 log2 d) / 2: some "
        "halfplanes have no member that labels like them, and a shape of k pieces may then have no "
        "fit without mistakes.",
        known_wrong=True,
    ),
    Row(
        (6,), "geometry/halfplane.py, for KMMS's observation 4.1",
        "Every line through the square has a member within half a lattice step of it everywhere "
        "in the square.",
        "d = 1, 2, 4, ..., 2^20: a lattice step is 2^-20 grid units up to d = 64, 2^-15 at 1,024, "
        "1 at 2^20", _nearest, 2_100, 210,
    ),
    Row(
        (6,), "KMMS, claim 4.5 and observation 4.4",
        "Every region of the dual plane has area at least d^-4 / 4, and its halfplanes label all "
        "examples alike.",
        "all grid points as examples, d = 1, 2, 3", _regions, 3, 2,
        "The printed proof bounds the distance of two corners, which does not bound an area; the "
        "claim itself holds here.",
    ),
    Row(
        (6,), "KMMS, lemma 4.6",
        "A halfplane drawn with weights exp(epsilon q) falls short of the best by at most "
        f"(8/epsilon) ln(2d/beta), with probability {1 - _BETA:g}.",
        f"the source's box, d = {_D}, 400 examples, epsilon = {_RATE:g}: {_PRINTED_LOSS:.1f}",
        _one_halfplane(HalfplaneLattice(_D, "paper"), _RATE, _PRINTED_LOSS), 200, 20,
    ),
    Row(
        (6,), "KMMS, lemma 4.6, on the chord lattice",
        "The same by at most (ln|H| + ln(1/beta)) / epsilon.",
        f"d = {_D}, 400 examples, epsilon = {_RATE:g}: {_CHORD_LOSS:.1f}",
        _one_halfplane(_CHORD, _RATE, _CHORD_LOSS), 200, 20,
    ),
    Row(
        (3, 6), "KMMS, claims 3.4 and 4.3",
        "Selections of epsilon / (2 ln(e/delta)) each are (epsilon, delta)-DP together, however "
        "many.",
        "epsilon 0.05 to 0.95, delta 1e-1 to 1e-8, 1 to 1,000 steps", _claim, 152, 19,
        "The noisy counts' epsilon comes on top in the source; here it is part of epsilon.",
    ),
    Row(
        (7,), "KMMS, theorem 4.7",
        f"The private convex polygon of k edges: {_KEPT}.",
        f"{_SETTING.format('convex polygons')}k = {_K}, n = {_N47:,}",
        _cover(
            "conjunction", _D, _K, _N47, _ALPHA,
            lambda i: ConvexPolygonLearner(**_told("convex-cover", _K), seed=i),
        ),
        1_000, 30, f"{_EVERY} {_OWN} {_TIME}",
    ),
    Row(
        (7,), "KMMS, theorem 4.7, in the source's own box",
        f"The same on the sample, at KMMS's printed constants: {_KEPT}.",
        f"{_SETTING.format('convex polygons')}k = {_K}, n = {_printed_n('convex-cover', _K):,}",
        _cover(
            "conjunction", _D, _K, _printed_n("convex-cover", _K), _ALPHA,
            lambda i: ConvexPolygonLearner(**_told("convex-cover", _K), **_PAPER, seed=i),
            on_sample=True,
        ),
        500, 10, "Claim 3.1, 3.4 and lemma 4.6 as printed, for errors on the sample: for new "
        "points the source has no constant.",
    ),
    Row(
        (7, 12), "KMMS, theorem 4.7, the order as printed",
        "n grows as k and as log d, up to logarithms; naively as k^1.5.",
        "planned n, alpha = beta = 0.1, epsilon = 1: k = 64 and 128, d = 16 and 256",
        _growth("convex-cover"), 1, 1,
        "Past d = 256 the lattice is coarser, so the planned n falls a little.",
    ),
    Row(
        (8,), "KMMS, theorem 5.1",
        f"The private union of triangles, without sharpening: {_KEPT}.",
        f"{_SETTING.format('triangles')}k = 1, n = {_N51:,}",
        _cover(
            "disjunction", _D, 1, _N51, _ALPHA,
            lambda i: PolygonUnionLearner(**_told("cover", 1), finish="none", seed=i),
        ),
        400, 3, f"{_EVERY} {_OWN} {_TIME}",
    ),
    Row(
        (8,), "KMMS, theorem 5.1, at KMMS's printed constants",
        f"The same on the sample: {_KEPT}.",
        f"{_SETTING.format('unions of triangles')}k = {_K}, n = {_printed_n('cover', _K):,}",
        _cover(
            "disjunction", _D, _K, _printed_n("cover", _K), _ALPHA,
            lambda i: PolygonUnionLearner(**_told("cover", _K), finish="none", seed=i),
            on_sample=True,
        ),
        300, 2, "Claim 3.1, 3.4 and lemma 4.6 as printed, for errors on the sample; the chord "
        "lattice.",
    ),
    Row(
        (8, 12), "KMMS, theorem 5.1, the order as printed",
        "n grows as k and as log d, up to logarithms; naively as k^1.5.",
        "planned n, alpha = beta = 0.1, epsilon = 1: k = 64 and 128, d = 16 and 256",
        _growth("cover"), 1, 1,
    ),
    Row(
        (8, 16), "docs/decisions/0020, for KMMS's theorem 5.1",
        f"One triangle drawn by its mistakes: error at most {_ALONE_ALPHA:g} with probability "
        f"{1 - _BETA:g}.",
        f"{_SETTING.format('triangles')}n = {_ALONE:,}",
        _cover(
            "disjunction", _D, 1, _ALONE or 0, _ALONE_ALPHA,
            lambda i: PolygonUnionLearner(k=1, grid=_D, seed=i),
        ),
        150, 5, "The default of k = 1; the source draws it by its set-cover score.",
    ),
    Row(
        (9,), "KMMS, section 3, on triangles",
        "The greedy cover of k ln n triangles errs on no example, if k triangles do not.",
        "random unions of two triangles on a grid of 8, n = 500",
        _consistent(
            _greedy_union, "disjunction", 2, 8, 500
        ),
        20, 1,
    ),
    Row(
        (9,), "KMMS, section 3, on halfplanes",
        "The greedy intersection of k ln n halfplanes errs on no example, if k do not.",
        "random convex polygons of up to four edges on a grid of 16, n = 2,000",
        _consistent(
            lambda k, steps: GreedyConvexLearner(k=k, n_steps=steps, grid=16), "conjunction", 4, 16,
            2_000,
        ),
        60, 4,
    ),
)  # fmt: skip
