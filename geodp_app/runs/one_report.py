"""Compares the law of a step's halfplane with one example (a report) and without it, also in words.

The noisy count b of the step and the piece's other halfplanes are held fixed.  With u(h) the
change of the score, in examples, that the example brings to the piece with h, and P the law of
:mod:`geodp_app.runs.edge_law`,

    ln P_with(h) / P_without(h) = eta * u(h) - ln R,    R = Z_with / Z_without.

**It lies in -eta .. eta.**  A score moves by at most 1, for all pieces the same way (lemma 1 of
docs/privacy.md): let all u lie in 0..1, or else all in -1..0.  R is the mean of exp(eta * u) under
P_without, so ln R lies between the least and the greatest value of eta * u, in an interval of
length eta that has 0 at one end; and so do both terms of the difference.  The same holds for an
R that is a mean over some draws, which is how it is estimated for many examples.

Few lines: one ratio a cell, exactly.  Many: a raster of ratios, in which eta * u is exact and ln R
off by about `Change.error`.  Private, all of it.

Complexity: as :mod:`geodp_app.runs.edge_law`.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from geodp_app.document.examples import Examples
from geodp_app.formatting import amount
from geodp_app.runs.edge_law import (
    counted,
    draw_cells,
    draws,
    held_examples,
    rasters,
    weigh_cells,
)
from geodp_app.runs.protocol import Change, ChangedSheet, ReportQuestion, WhyNone
from geometry.grid_counts import GridCounts
from geometry.halfplane import HalfplaneLattice, Sheet
from learners.privacy.accounting import PrivacySpent

_NOTHING: dict[WhyNone, str] = {
    "decided": "An earlier step has decided it, so it changes nothing in this step.",
    "outside": (
        "It lies outside the edges that are held fixed, so it changes nothing for this edge: "
        "choose another one."
    ),
    "elsewhere": "It lies in another tile, so it changes nothing in this one.",
}


@dataclass(frozen=True, slots=True)
class OneReport:
    """An example of the sample, or one that is put there.

    Attributes
    ----------
    point : (int, int)
        Grid units.
    label : bool
    present : bool
        Whether it is in the sample.
    """

    point: tuple[int, int]
    label: bool
    present: bool

    @property
    def words(self) -> str:
        """Say the report's label, where it is, and whether the sample holds it."""
        label, (x, y) = "positive" if self.label else "negative", self.point
        where = f"at ({x}, {y})"
        if self.present:
            return f"A {label} report {where}, one of the sample."
        return f"A {label} report {where}, put there: it is not in the sample."


def find_report(
    examples: Examples, point: tuple[int, int], radius: float, label: bool
) -> OneReport:
    """The example nearest to a place within a radius, else a new one there with this label."""
    if len(examples.points):
        gaps = np.hypot(*(examples.points - np.array(point)).T)
        nearest = int(np.argmin(gaps))
        if gaps[nearest] <= radius:
            x, y = examples.points[nearest].tolist()
            return OneReport((x, y), bool(examples.labels[nearest]), present=True)
    return OneReport(point, label, present=False)


def change_words(change: Change, eta: float, spent: PrivacySpent | None) -> str:
    """What the report changes here, and how much it can change at most."""
    most = f"at most {_times(eta)} in the whole step (η = {amount(eta)})"
    run = ""
    if spent is not None and not spent.private:
        run = " The run is seeded and can be repeated: it promises nothing."
    elif spent is not None:
        but = f", but for a probability of δ = {amount(spent.delta)}" if spent.delta else ""
        most_of_run = f"{_times(spent.epsilon)} (ε = {amount(spent.epsilon)})"
        run = f" In the whole run: at most {most_of_run}{but}."
    if change.why_none is not None:
        return f"{_NOTHING[change.why_none]} Any report could change a probability {most}.{run}"
    here = "more" if change.chosen >= 0 else "less"
    about = "about " if change.error else ""
    return (
        f"With it the edge that was chosen is {about}{_times(abs(change.chosen))} {here} likely; "
        f"any other, {about}{_times(change.largest)} more or less at most. One report can change "
        f"a probability {most}.{run}"
    )


def _times(log_ratio: float) -> str:
    """e to the power, with as many digits as tell it from 1."""
    if log_ratio > 50:
        return f"e^{amount(log_ratio)} times"
    factor = math.exp(log_ratio)
    digits = 3 if factor >= 1.1 or factor == 1 else 3 + math.ceil(-math.log10(factor - 1))
    return f"{amount(factor, min(digits, 8))} times"


Floats = NDArray[np.float64]


def change(question: ReportQuestion, watch: Callable[[], None] = lambda: None) -> Change:
    """The log ratios all over the dual plane.

    Parameters
    ----------
    question : ReportQuestion
    watch : callable, optional
        Called several times a second; what it raises ends the work.
    """
    point = np.array([question.point])
    if question.why_none is None and not all(h.contains(point)[0] for h in question.step.others):
        question = replace(question, why_none="outside")
    if question.why_none is not None:
        return Change((), 0.0, 0.0, 0.0, question.why_none)
    examples = held_examples(question.step)
    distinct = examples.points[examples.begins]
    if len(distinct) + (not question.present) <= question.step.most_lines:
        # the report's place may hold no example yet
        distinct = np.unique(np.concatenate([distinct, point]), axis=0)
        return _of_cells(question, examples, distinct, watch)
    return _of_rasters(question, examples, watch)


# -- few lines: exact cells ------------------------------------------------------------------


def _of_cells(
    question: ReportQuestion,
    examples: GridCounts,
    distinct: NDArray[np.int64],
    watch: Callable[[], None],
) -> Change:
    weighed = weigh_cells(question.step, examples, distinct, watch)
    at = int(np.flatnonzero((distinct == question.point).all(axis=1))[0])
    moves = [_moves(question, each.counts.T, each.inside[:, at]) for each in weighed]
    shares = np.concatenate([each.shares for each in weighed])
    log_r = _log_norm_ratio(question, np.concatenate(moves), shares)
    sheets, largest = [], 0.0
    for each, move in zip(weighed, moves, strict=True):
        shaded, made_of = draw_cells(question.step, each)
        ratio = move - log_r
        sheets.append(ChangedSheet(shaded, ratio[made_of]))
        some = [cell.lattice_points.count > 0 for cell in each.arrangement.cells]
        largest = max(largest, float(np.abs(ratio[some]).max(initial=0.0)))
    return Change(tuple(sheets), _at_chosen(question, examples) - log_r, largest, 0.0)


# -- many lines: rasters -----------------------------------------------------------------------


def _of_rasters(
    question: ReportQuestion, examples: GridCounts, watch: Callable[[], None]
) -> Change:
    step = question.step
    drawn = draws(step, examples, watch)
    moves = []
    for sheet, us, vs, counts in counted(step, examples, drawn, watch):
        moves.append(_moves(question, counts, _holds(step.lattice, sheet, us, vs, question.point)))
    equal = np.full(len(drawn), 1 / len(drawn))
    log_r = _log_norm_ratio(question, np.concatenate(moves), equal)
    error = _error(question, np.concatenate(moves))
    sheets, largest = [], abs(chosen := _at_chosen(question, examples) - log_r)
    for raster in rasters(step, examples, watch):
        inside = _holds(step.lattice, raster.sheet, raster.us, raster.vs, question.point)
        ratios = _moves(question, raster.counts, inside) - log_r
        largest = max(largest, float(np.abs(ratios).max(initial=0.0)))
        sheets.append(ChangedSheet(raster.shaded(step.score), raster.spread(ratios)))
    return Change(tuple(sheets), chosen, largest, error)


# -- both ----------------------------------------------------------------------------------------


def _moves(
    question: ReportQuestion, counts: NDArray[np.int64], inside: NDArray[np.int64]
) -> Floats:
    """eta * u of pieces, by the examples of each label in them as the sample is, shape (2, m), and
    which of them hold the example's place, 0 or 1, shape (m,)."""
    other = counts.copy()
    other[int(question.label)] += -inside if question.present else inside
    now = question.step.score.values(counts[1], counts[0])
    then = question.other_score.values(other[1], other[0])
    gained = now - then if question.present else then - now
    return question.step.rate * gained.astype(np.float64)


def _log_norm_ratio(question: ReportQuestion, moves: Floats, shares: Floats) -> float:
    """ln R, by the mean under the law of the sample as it is."""
    sign = -1.0 if question.present else 1.0
    return sign * math.log(float(np.exp(sign * moves) @ shares))


def _error(question: ReportQuestion, moves: Floats) -> float:
    """Standard error of ln R by draws, as if one more lay as far off as any may.

    So it is not 0 where the draws happen to be alike.
    """
    sign = -1.0 if question.present else 1.0
    ratios = np.exp(sign * moves)
    furthest = math.expm1(question.step.rate * question.step.score.k)
    squares = float(((ratios - ratios.mean()) ** 2).sum()) + furthest**2
    return math.sqrt(squares) / (len(moves) * float(ratios.mean()))


def _at_chosen(question: ReportQuestion, examples: GridCounts) -> float:
    """eta * u of the chosen halfplane."""
    inside = question.chosen.contains(examples.points).astype(np.int64)
    counts = examples.by_group(inside, 2)[:, 1:]
    here = question.chosen.contains(np.array([question.point])).astype(np.int64)
    return float(_moves(question, counts, here)[0])


def _holds(
    lattice: HalfplaneLattice,
    sheet: Sheet,
    us: NDArray[np.int64],
    vs: NDArray[np.int64],
    point: tuple[int, int],
) -> NDArray[np.int64]:
    """Which halfplanes of a sheet hold a grid point, exactly: 0 or 1, shape (m,)."""
    c0, c1, scale = lattice.basis
    t, s = point if sheet.flat else point[::-1]
    above = (c1 * us - vs) * t + scale * s - c0 * us
    held = above >= 0 if sheet.upper else above <= 0
    return held.astype(np.int64)
