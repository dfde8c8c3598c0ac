"""The tables of accuracy.py: what was measured, its means and standard errors, and the goals."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
from accuracy_cases import PARTS, Case, Part
from common import DISTRIBUTIONS, OCTAGON, TARGETS, markdown

from geodp_app.runs.comparison import KINDS

#: Depths of diffprivlib's trees that are tried; deeper ones than a leaf for every example are not.
DEPTHS = (6, 8, 10, 12, 14, 16)

#: Learners beside each other on real data, the first one our default, and what it is held against.
RIVAL = "histogram"
COMPARED = ("tiles", "cover", RIVAL)

#: The best depth in every case, as a row of its own.
BEST = "dp-forest"

#: InterpretML's private boosting.
BOOSTING = "dp-boosting"

#: A network by noisy gradients.
NETWORK = "dp-network"


@dataclass(frozen=True, slots=True)
class Row:
    """What a learner reached in a case: a value a seed; none, and a note, when it failed."""

    case: Case
    learner: str
    errors: tuple[float, ...] = ()
    seconds: tuple[float, ...] = ()
    sizes: tuple[int, ...] = ()
    note: str = ""


def depth_of(name: str) -> int | None:
    """Depth in the name of a row of diffprivlib's forest; None for other rows."""
    head, _, depth = name.rpartition("-")
    return int(depth) if head == BEST else None


def title(name: str) -> str:
    """A row's heading."""
    if name in KINDS:
        return KINDS[name].title
    if name == "forest":
        return "random forest (scikit-learn)"
    if name == BOOSTING:
        return "private boosting of directions (InterpretML)"
    if name == NETWORK:
        return "network of 64 units by noisy gradients (DP-SGD)"
    depth = depth_of(name)
    return "random forest (diffprivlib), " + ("best depth" if depth is None else f"depth {depth}")


def is_private(name: str) -> bool:
    """Whether the learner is differentially private."""
    return KINDS[name].private if name in KINDS else name != "forest"


def needs_k(name: str) -> bool:
    """Whether the learner is told k."""
    return name in KINDS and bool(KINDS[name].counts)


# --- figures -----------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Mean:
    """A mean with its standard error, None when there is one value."""

    value: float
    error: float | None

    @classmethod
    def of(cls, values: Sequence[float]) -> Mean:
        """Of independent values."""
        spread = float(np.std(values, ddof=1)) if len(values) > 1 else math.nan
        return cls(
            float(np.mean(values)), spread / math.sqrt(len(values)) if len(values) > 1 else None
        )

    @classmethod
    def over(cls, parts: Sequence[Mean]) -> Mean:
        """Of the means of fixed, independent cases."""
        errors = [part.error for part in parts if part.error is not None]
        whole = math.sqrt(sum(error**2 for error in errors)) / len(parts)
        return cls(
            float(np.mean([part.value for part in parts])),
            whole if len(errors) == len(parts) else None,
        )

    def __str__(self) -> str:
        """In %, e.g. '0.094 ± 0.003'."""
        percent = 100 * self.value
        digits = 1 if percent >= 10 else 2 if percent >= 1 else 3 if percent >= 0.1 else 4
        if self.error is None:
            return f"{percent:.{digits}f}"
        while digits < 4 and 0 < 100 * self.error < 0.5 * 10**-digits:
            digits += 1  # an error of 0.00 would say that there is none
        return f"{percent:.{digits}f} ± {100 * self.error:.{digits}f}"


@dataclass(frozen=True, slots=True)
class Findings:
    """Rows, looked up by learner and case."""

    rows: tuple[Row, ...]

    @classmethod
    def of(cls, rows: Iterable[Row]) -> Findings:
        """Rows, and for every case the best depth of diffprivlib's forest."""
        found = tuple(rows)
        best: dict[Case, Row] = {}
        for row in found:
            if depth_of(row.learner) is not None and row.errors:
                held = best.get(row.case)
                if held is None or np.mean(row.errors) < np.mean(held.errors):
                    best[row.case] = row
        chosen = (
            Row(case, BEST, row.errors, row.seconds, note=row.learner) for case, row in best.items()
        )
        return cls((*found, *chosen))

    def part(self, part: Part) -> Findings:
        """Only a part's."""
        return Findings(tuple(row for row in self.rows if row.case.part == part))

    @property
    def learners(self) -> list[str]:
        """Private ones first, geodp's first among them; depths from low to high."""
        kinds = list(KINDS)

        def place(name: str) -> tuple[bool, int, int]:
            own = kinds.index(name) if name in kinds else len(kinds)
            return not is_private(name), own, depth_of(name) or max(DEPTHS) + 1

        return sorted({row.learner for row in self.rows}, key=place)

    @property
    def sizes(self) -> list[int]:
        """Numbers of examples."""
        return sorted({row.case.n for row in self.rows})

    def cases(self, n: int) -> list[Case]:
        """Cases of a size, in order of appearance."""
        return list(dict.fromkeys(row.case for row in self.rows if row.case.n == n))

    def row(self, learner: str, case: Case) -> Row | None:
        """A learner's row in a case, if it was measured and did not fail."""
        for row in self.rows:
            if row.learner == learner and row.case == case and row.errors:
                return row
        return None

    def error(self, learner: str, case: Case) -> Mean | None:
        """Test error."""
        row = self.row(learner, case)
        return None if row is None else Mean.of(row.errors)

    def measured(self, learner: str, n: int) -> bool:
        """Whether there is any row of a learner at a size."""
        return any(row.learner == learner and row.case.n == n for row in self.rows)

    def mean(self, learner: str, n: int) -> Mean | None:
        """Test error over all cases of a size; None if one is missing."""
        errors = [self.error(learner, case) for case in self.cases(n)]
        known = [error for error in errors if error is not None]
        return Mean.over(known) if known and len(known) == len(errors) else None

    def median(self, learner: str, n: int, what: Literal["seconds", "sizes"]) -> float | None:
        """Seconds or bytes over all cases and seeds of a size; None if a case is missing."""
        rows = [self.row(learner, case) for case in self.cases(n)]
        known = [getattr(row, what) for row in rows if row is not None]
        values = [value for part in known for value in part]
        return float(np.median(values)) if values and len(known) == len(rows) else None


# --- goals -------------------------------------------------------------------------------------

#: Mean test error of the tiles over the eight drawn cases, by n.
MEAN_GOALS = {10_000: 0.032, 100_000: 0.005, 1_000_000: 0.0015}

#: Targets on which the tiles should err a fifth of the interpolated histogram, at this n.
RATIO_GOALS, RATIO_SIZE, RATIO = ("tri", "L"), 100_000, 0.2

#: The convex learner's test error on random octagons, at this n.
OCTAGON_GOAL, OCTAGON_SIZE = 0.003, 100_000


def goal_lines(findings: Findings) -> Iterator[tuple[str, str, str, str]]:
    """What should be reached, what is, and whether."""
    drawn = findings.part("drawn")
    complete = len(TARGETS) * len(DISTRIBUTIONS)
    for n, most in MEAN_GOALS.items():
        mean = drawn.mean("tiles", n) if len(drawn.cases(n)) == complete else None
        yield goal_line(f"tiles, mean over the eight cases, n = {n:,}", mean, most)
    for target in RATIO_GOALS:
        for distribution in DISTRIBUTIONS:
            case = Case("drawn", target, distribution, RATIO_SIZE)
            histogram = drawn.error("histogram", case)
            most = math.nan if histogram is None else RATIO * histogram.value
            name = f"tiles, {case.name}, n = {case.n:,}: a fifth of the interpolated histogram's"
            yield goal_line(name, drawn.error("tiles", case), most)
    case = Case("octagons", OCTAGON, "uniform", OCTAGON_SIZE)
    name = f"convex, random octagons, n = {OCTAGON_SIZE:,}"
    yield goal_line(name, findings.error("convex", case), OCTAGON_GOAL)


def goal_line(name: str, reached: Mean | None, most: float) -> tuple[str, str, str, str]:
    """A line of the table of goals; nothing is met that was not measured."""
    if reached is None or math.isnan(most):
        return (name, "" if math.isnan(most) else f"≤ {100 * most:.3g}", "–", "not measured")
    met = "yes" if reached.value <= most else "no"
    return (name, f"≤ {100 * most:.3g}", str(reached), met)


# --- printing ----------------------------------------------------------------------------------


def tables(findings: Findings, goals: bool) -> Iterator[str]:
    """All tables, each with its heading."""
    if goals:
        lines = goal_lines(findings)
        yield f"Goals, test error in %\n\n{markdown(('', 'goal', 'reached', 'met'), lines)}"
    real = list(real_lines(findings))
    if real:
        headings = ("", *COMPARED, f"{RIVAL} / {COMPARED[0]}")
        yield f"Real data: mean test error in %\n\n{markdown(headings, real)}"
    for part in PARTS:
        found = findings.part(part)
        if not found.rows:
            continue
        yield f"{part}: mean test error over all cases, in %\n\n{mean_table(found)}"
        for n in found.sizes:
            if len(found.cases(n)) > 1:
                yield f"{part}, n = {n:,}: test error in %\n\n{case_table(found, n)}"
        yield f"{part}: median seconds of a run\n\n{median_table(found, 'seconds')}"
        yield f"{part}: median bytes of the GeoJSON file\n\n{median_table(found, 'sizes')}"
    failed = [row for row in findings.rows if not row.errors]
    if failed:
        yield "\n".join(f"{row.case.name}: {row.learner}: {row.note}" for row in failed)


def real_lines(findings: Findings) -> Iterator[tuple[str, ...]]:
    """Outlines by n, and cities file by file: our learners beside the strongest other one."""
    outlines, cities = findings.part("outlines"), findings.part("cities")
    named = [(f"outlines, n = {n:,}", outlines, n) for n in outlines.sizes]
    for n in cities.sizes:
        names = " and ".join(case.name for case in cities.cases(n))
        named.append((f"cities, {names}, n = {n:,}", cities, n))
    for name, found, n in named:
        ours, rival = found.mean(COMPARED[0], n), found.mean(RIVAL, n)
        ratio = "–" if ours is None or rival is None else f"{rival.value / ours.value:.2f}"
        yield (name, *(shown(found.mean(learner, n)) for learner in COMPARED), ratio)


def mean_table(findings: Findings) -> str:
    """Mean test error by learner and n."""
    headings = ("learner", "what", "private", "told", *(f"n = {n:,}" for n in findings.sizes))
    known = not all(row.case.real for row in findings.rows)
    lines = [
        (
            name,
            title(name),
            "yes" if is_private(name) else "no",
            "k" if needs_k(name) and known else "",
            *(shown(findings.mean(name, n)) for n in findings.sizes),
        )
        for name in findings.learners
    ]
    return markdown(headings, lines)


def case_table(findings: Findings, n: int) -> str:
    """Test error by case and learner, of one n."""
    names = [name for name in shown_learners(findings) if findings.measured(name, n)]
    lines = [
        (case.name, *(shown(findings.error(name, case)) for name in names))
        for case in findings.cases(n)
    ]
    return markdown(("", *names), lines)


def median_table(findings: Findings, what: Literal["seconds", "sizes"]) -> str:
    """Seconds or bytes by learner and n."""

    def cell(name: str, n: int) -> str:
        value = findings.median(name, n, what)
        if value is None:
            return "–"
        return f"{value:.2f}" if what == "seconds" else f"{value:,.0f}"

    names = shown_learners(findings)
    if what == "sizes":
        names = [name for name in names if name in KINDS]
    lines = [(name, *(cell(name, n) for n in findings.sizes)) for name in names]
    return markdown(("", *(f"n = {n:,}" for n in findings.sizes)), lines)


def shown_learners(findings: Findings) -> list[str]:
    """Learners without the single depths of diffprivlib's forest."""
    return [name for name in findings.learners if depth_of(name) is None]


def shown(mean: Mean | None) -> str:
    """A mean, or a dash."""
    return "–" if mean is None else str(mean)
