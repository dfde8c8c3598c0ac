"""A rehearsal: learners at several epsilons and sizes, on samples simulated from a public shape.

It reads no reports, so it costs no privacy: all of it may be looked at, chosen by and published.
Every learner learns from the same samples and is tested on the same points, which are many, fresh
and without wrong labels.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from statistics import fmean, median
from typing import Any

from shapely.geometry.base import BaseGeometry

from geodp_app.document.examples import DEFAULT_GRID, Frame
from geodp_app.document.sampling import draw_examples, open_generator
from geodp_app.document.work import Distribution
from geodp_app.formatting import aligned, count, duration, percentage
from geodp_app.runs.comparison import KINDS, Contender, Progress, compare, make_contender

#: Points on which every run is tested.
TESTED = 200_000
#: Runs of each learner at each epsilon and size, unless others are asked for.
RUNS = 5


@dataclass(frozen=True, slots=True)
class Rehearsed:
    """What a learner reached at one epsilon and one size of samples; public.

    Attributes
    ----------
    contender : Contender
    n, grid : int
        Examples of each sample, and the grid size d.
    errors : tuple of float
        A run each: wrong labels as a share of the test points, 0..1.
    seconds : float
        Wall time of a run, the median: a first run may compile loops.
    """

    contender: Contender
    n: int
    grid: int
    errors: tuple[float, ...]
    seconds: float

    def record(self) -> dict[str, Any]:
        """Its figures by the names of columns, JSON values only."""
        settings, private = dict(self.contender.parameters), self.contender.kind.private
        return {
            "learner": self.contender.kind.id,
            "k": settings.get("k"),
            "n": self.n,
            "epsilon": settings.get("epsilon"),
            "error": fmean(self.errors),
            "least": min(self.errors),
            "most": max(self.errors),
            "runs": len(self.errors),
            "seconds": self.seconds,
            "command": self.command if private else None,
        }

    @property
    def command(self) -> str:
        """What learns so from reports POINTS: all that is not as by default."""
        kind, given = self.contender.kind, dict(self.contender.parameters)
        own = [
            f" --{each.typed} {given[each.name]:.15g}"
            if each.kind == "number"
            else f" --{each.typed} {given[each.name]}"
            for each in kind.parameters
            if each.name != "seed" and (each.name == "epsilon" or given[each.name] != each.default)
        ]
        grid = "" if self.grid == DEFAULT_GRID else f" --grid {self.grid}"
        return f"geodp learn POINTS --learner {kind.id}{''.join(own)}{grid} -o learned.geojson"


def contenders_of(
    names: Sequence[str], epsilons: Sequence[float], counts: Sequence[int] = (), **given: Any
) -> tuple[Contender, ...]:
    """Learners at each epsilon, those that count pieces with each k of the counts; else as
    :func:`geodp_app.runs.comparison.make_contender`, which says what it refuses.
    """
    found = []
    for epsilon in epsilons:
        for name in names:
            for k in (counts or (None,)) if KINDS[name].counts else (None,):
                one = make_contender(name, epsilon=epsilon, k=k, **given)
                label = name + ("" if k is None else f", k = {k}")
                found.append(replace(one, name=f"{label}, epsilon = {epsilon:g}"))
    # without privacy there is nothing that epsilon could change
    named = {(one.name if one.kind.private else one.parameters): one for one in found}
    return tuple(named.values())


def rehearse(
    shape: BaseGeometry,
    frame: Frame,
    contenders: Sequence[Contender],
    sizes: Sequence[int],
    *,
    runs: int = RUNS,
    distribution: Distribution = "uniform",
    noise: float = 0.0,
    seed: int | None = None,
    watch: Callable[[float, str], None] = lambda share, text: None,
) -> Iterator[Rehearsed]:
    """Run learners on simulated samples, sizes in turn; a row for each learner and size.

    Parameters
    ----------
    shape : shapely geometry
        Public: what labels the points, in grid units of the frame.
    frame : Frame
    contenders : sequence of Contender
    sizes : sequence of int
        Examples of a sample.
    runs : int
        Samples of each size.
    distribution, noise : str, float
        Of the samples; test points lie as these do.
    seed : int, optional
        Of the samples; learners have their own.
    watch : callable
        Called with the share that is done, 0..1, and what is at work; may raise.

    Raises
    ------
    InputError
        If a learner refuses its settings.
    """
    rng = open_generator(seed)
    place: dict[str, Any] = {"distribution": distribution, "rng": rng}
    test = draw_examples(shape, TESTED, frame, **place)
    done = 0.0
    for turn, n in enumerate(sizes):
        reached: dict[str, list[tuple[float, float]]] = {one.name: [] for one in contenders}
        for number in range(runs):

            def tell(progress: Progress, before: int = turn * runs + number, n: int = n) -> None:
                nonlocal done  # a comparison tries all its learners out before the first
                done = max(done, (before + progress.share) / (len(sizes) * runs))
                watch(done, f"{progress.name}, {n:,} examples")

            examples = draw_examples(shape, n, frame, noise=noise, **place)
            for row in compare(examples, test, [one.of_run(number) for one in contenders], tell):
                reached[row.name].append((row.error, row.seconds))
        for one in contenders:
            errors, seconds = zip(*reached[one.name], strict=True)
            yield Rehearsed(one, n, frame.d, errors, median(seconds))


# -- as people read it ----------------------------------------------------------------------------

_HEADINGS = ("learner", "examples", "epsilon", "error", "from", "to", "seconds", "command")


def rehearsal_table(rows: Sequence[Rehearsed]) -> list[str]:
    """Rows in columns; the least mean error of a private learner at each epsilon and size has a
    star."""
    figures = [row.record() for row in rows]
    best = {
        (one["n"], one["epsilon"]): one["error"]
        for one in sorted(figures, key=lambda one: -one["error"])
    }
    lines = []
    for one in figures:
        star = " *" if one["epsilon"] and one["error"] == best[one["n"], one["epsilon"]] else ""
        k = "" if one["k"] is None else f" k={one['k']}"
        epsilon = "–" if one["epsilon"] is None else f"{one['epsilon']:g}"
        errors = (percentage(one[name]) for name in ("error", "least", "most"))
        error, *span = errors
        lines.append((
            one["learner"] + k, count(one["n"]), epsilon, error + star, *span,
            duration(one["seconds"]), one["command"] or "not private",
        ))  # fmt: skip
    return aligned([_HEADINGS, *lines], texts=(0, len(_HEADINGS) - 1))


def rehearsal_csv(rows: Sequence[Rehearsed]) -> str:
    """The figures of the rows as CSV, errors as shares."""
    text = io.StringIO()
    records = [row.record() for row in rows]
    writer = csv.DictWriter(text, list(records[0]), lineterminator="\n")
    writer.writeheader()
    writer.writerows(records)
    return text.getvalue()
