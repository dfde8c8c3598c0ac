"""Rehearses runs: learners at several epsilons and sizes, on samples of a public shape.

It reads no reports, so it costs no privacy: all of it may be looked at, chosen by and published.
Every learner learns from the same samples and is tested on the same points, which are many, fresh
and without wrong labels.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from statistics import fmean, median
from typing import Any

from shapely.geometry import Polygon
from shapely.geometry.base import BaseGeometry

from geodp_app.document.examples import DEFAULT_GRID, Frame
from geodp_app.document.sampling import draw_examples, open_generator
from geodp_app.document.work import Dab, Distribution
from geodp_app.formatting import MISSING, aligned, count, counted, duration, percentage
from geodp_app.runs.comparison import (
    KINDS,
    Contender,
    Progress,
    Row,
    check_k,
    compare,
    make_contender,
)

#: Points on which every run is tested.
TESTED = 200_000
#: Runs of each learner at each epsilon and size, unless others are asked for.
RUNS = 5


@dataclass(frozen=True, slots=True)
class Rehearsed:
    """What a learner reached at one epsilon and one size of samples; public."""

    contender: Contender
    #: Examples of each sample, and the grid size d.
    n: int
    grid: int
    #: A run each: wrong labels as a share of the test points, 0..1.
    errors: tuple[float, ...]
    #: Wall time of a run, the median: a first run may compile loops.
    seconds: float
    #: What the first run has learned, in grid units.
    shape: BaseGeometry = field(default_factory=Polygon, repr=False, compare=False)

    @property
    def name(self) -> str:
        """No other row of a rehearsal has it; the learner's name is its beginning."""
        return f"{self.contender.name}, {counted(self.n, 'example')}"

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
            f" --{each.typed} {_typed(given[each.name])}"
            for each in kind.parameters
            if each.name != "seed" and (each.name == "epsilon" or given[each.name] != each.default)
        ]
        grid = "" if self.grid == DEFAULT_GRID else f" --grid {self.grid}"
        return f"geodp learn POINTS --learner {kind.id}{''.join(own)}{grid} -o learned.geojson"


def _typed(value: object) -> str:
    """A parameter as it is typed, no digit left out."""
    return str(value).removesuffix(".0")


def contenders_of(
    names: Sequence[str], epsilons: Sequence[float], counts: Sequence[int] = (), **given: Any
) -> tuple[Contender, ...]:
    """Learners at each epsilon, those that count pieces with each k of the counts; else as
    :func:`geodp_app.runs.comparison.make_contender`, which says what it refuses, as does
    :func:`geodp_app.runs.comparison.check_k`.
    """
    check_k(counts or None, names)
    return told_apart(
        make_contender(name, epsilon=epsilon, k=k, **given)
        for epsilon in epsilons
        for name in names
        for k in ((counts or (None,)) if KINDS[name].counts else (None,))
    )


def told_apart(contenders: Iterable[Contender]) -> tuple[Contender, ...]:
    """The same with names by k and epsilon; without privacy epsilon changes nothing, and each is
    there once."""
    named = {}
    for one in contenders:
        own = dict(one.parameters)
        k = f", k = {own['k']}" if own.get("k") is not None else ""
        epsilon = f", epsilon = {_typed(own['epsilon'])}" if one.kind.private else ""
        named[one.kind.id + k + epsilon] = one
    return tuple(replace(one, name=name) for name, one in named.items())


def rehearse(
    shape: BaseGeometry,
    frame: Frame,
    contenders: Sequence[Contender],
    sizes: Sequence[int],
    *,
    runs: int = RUNS,
    distribution: Distribution = "uniform",
    noise: float = 0.0,
    dabs: Sequence[Dab] = (),
    seed: int | None = None,
    watch: Callable[[float, str], None] = lambda share, text: None,
) -> Iterator[Rehearsed]:
    """Run learners on simulated samples, sizes in turn; a row for each learner and size.  Raises
    InputError if a learner refuses its settings.

    Parameters
    ----------
    shape : shapely geometry
        Public: what labels the points, in grid units of the frame.
    sizes : sequence of int
        Examples of a sample.
    runs : int
        Samples of each size.
    distribution, noise, dabs
        Of the samples; test points lie as these do.
    seed : int, optional
        Of the samples; learners have their own.
    watch : callable
        Called with the share that is done, 0..1, and what is at work; may raise.
    """
    rng = open_generator(seed)
    place: dict[str, Any] = {"distribution": distribution, "dabs": dabs, "rng": rng}
    test = draw_examples(shape, TESTED, frame, **place)
    done = 0.0
    for turn, n in enumerate(sizes):
        reached: dict[str, list[Row]] = {one.name: [] for one in contenders}
        for number in range(runs):

            def tell(progress: Progress, before: int = turn * runs + number, n: int = n) -> None:
                nonlocal done  # a comparison tries all its learners out before the first
                done = max(done, (before + progress.share) / (len(sizes) * runs))
                watch(done, f"{progress.name}, {n:,} examples")

            examples = draw_examples(shape, n, frame, noise=noise, **place)
            for row in compare(examples, test, [one.of_run(number) for one in contenders], tell):
                reached[row.name].append(row)
        for one in contenders:
            made = reached[one.name]
            errors, seconds = tuple(row.error for row in made), median(row.seconds for row in made)
            yield Rehearsed(one, n, frame.d, errors, seconds, made[0].shape)


# -- as people read it ----------------------------------------------------------------------------

_HEADINGS = ("learner", "examples", "epsilon", "error", "from", "to", "seconds", "command")


def best_of(rows: Iterable[Rehearsed]) -> list[Rehearsed]:
    """The least mean error of a private learner at each epsilon and size, in the order of rows."""
    best: dict[tuple[int, float], Rehearsed] = {}
    for row in rows:
        if row.contender.kind.private:
            at = row.n, dict(row.contender.parameters)["epsilon"]
            best[at] = min(best.get(at, row), row, key=lambda each: fmean(each.errors))
    return list(best.values())


def rehearsal_cells(rows: Sequence[Rehearsed]) -> list[tuple[str, ...]]:
    """What is under the headings; the best have a star."""
    best, lines = best_of(rows), []
    for row in rows:
        one = row.record()
        k = "" if one["k"] is None else f" k={one['k']}"
        epsilon = MISSING if one["epsilon"] is None else _typed(one["epsilon"])
        error, *span = (percentage(one[name]) for name in ("error", "least", "most"))
        star = " *" if row in best else ""
        figures = (epsilon, error + star, *span, duration(one["seconds"]))
        lines.append((one["learner"] + k, count(one["n"]), *figures))
    return lines


def rehearsal_table(rows: Sequence[Rehearsed]) -> list[str]:
    """Rows in columns, each with its command."""
    cells = zip(rehearsal_cells(rows), rows, strict=True)
    lines = [(*line, row.record()["command"] or "not private") for line, row in cells]
    return aligned([_HEADINGS, *lines], texts=(0, len(_HEADINGS) - 1))


def rehearsal_remarks(rows: Sequence[Rehearsed], name: str) -> tuple[str, str]:
    """What must be said with the table: whence it is, and what the commands lack."""
    runs = counted(len(rows[0].errors), "run")
    return (
        f"Simulated from {name}, {runs} each: nothing was spent, all may be shown.",
        "POINTS are your reports; add --bounds W,S,E,N of their map.",
    )


def advice(row: Rehearsed, rows: Sequence[Rehearsed]) -> str:
    """Of one of the rows: what it reached, whether a better one is there, and its command."""
    one, rank = row.record(), "the least" if row in best_of(rows) else "not the least"
    if one["command"] is None:
        return "Not private: for comparison only."
    reached = f"{percentage(one['error'])} of labels wrong, {rank} of these learners"
    at = f"ε = {_typed(one['epsilon'])}, {counted(row.n, 'report')}"
    return f"{at}: {reached}. To learn so:\n{one['command']}"
