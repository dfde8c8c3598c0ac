"""How long a selection takes: beside others, by n, step by step, on large grids, in whole runs.

    python benchmarks/selection.py [--part NAME ...] [--seeds N] [--quick] [--json]

Prints a Markdown table a part, and progress on stderr.  Times are wall-clock seconds and
multiples of U (:func:`common.unit_seconds`, measured at the start); tables of the examples are
built within them.  Each seed of a row runs in a fresh process, after an untimed tiny selection
that loads the compiled loops; MB is the largest peak of these processes, interpreter, libraries
and sample included.  Goals are in U: for the median, or for the median and the worst.

Every selection is one that a run at epsilon = 1, delta = 1e-6 asks for, with its own scores and
eta; "step j of k" is a run of k steps.
"""

from __future__ import annotations

import argparse
import importlib
import importlib.util
import json
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass, replace
from typing import Any

import numpy as np
from common import (
    DELTA,
    DISTRIBUTIONS,
    EPSILON,
    GRID,
    OCTAGON,
    OCTAGON_EDGES,
    TARGETS,
    describe_run,
    unit_seconds,
)
from peers import ENVELOPE, METHODS
from piles import PILED, PILES, Pile, time_piles
from questions import Case, Listener, Time, first_question, peak_memory
from timed_rows import Goal, Row, apart, make_row, table

from geodp_app.runs.warm_up import warm_up as load_loops
from geometry.grid_counts import GridCounts
from learners import PolygonUnionLearner
from learners.core.selection import Score
from learners.envelope.envelope_selection import EnvelopeSelection
from learners.privacy.randomness import SeededRandom

LARGE_GRID = 1 << 20

#: Examples of the window that are no few triangles.
RAGGED = ("flood", "fire", "letters", "croatia", "italy", "switzerland")

#: A peer that took longer than this many seconds is not tried on more lines.
PATIENCE = 20.0

# --- measured in a process of its own ----------------------------------------------------------


def warm_up(case: Case) -> None:
    """Load the compiled loops, or compile them: all, and by a tiny selection those of the case."""
    load_loops(lambda: None)
    points = np.random.default_rng(0).integers(0, case.d + 1, size=(100, 2))
    labels = points.sum(axis=1) < case.d
    selection = EnvelopeSelection(case.lattice, case.piece)
    counts = GridCounts.of_examples(points, labels, case.d)
    selection.select(counts, Score(1, -30, 0), 0.5, SeededRandom(0))


def time_first(case: Case, seed: int) -> list[Time]:
    """The first selection of a run, and the share of its tables and first boxes."""
    warm_up(case)
    question = first_question(case, seed)
    asked = (question.counts, question.score)
    selection = EnvelopeSelection(question.lattice, case.piece)
    start = time.perf_counter()
    selection.select(*asked, question.rate, question.source)
    whole = Time(time.perf_counter() - start, peak_memory())
    # at rate 0 all pieces weigh the same: what is left is the set-up and a trial or two
    start = time.perf_counter()
    selection.select(*asked, 0.0, question.source)
    return [replace(whole, part=time.perf_counter() - start)]


def time_steps(case: Case, seed: int) -> list[Time]:
    """Every selection of a run of k steps; memory is the run's up to the step."""
    warm_up(case)
    selection = EnvelopeSelection(case.lattice, case.piece)
    listener = Listener(case.lattice, case.piece, selection)
    for _ in case.run(listener, seed):
        pass
    return listener.times


def time_learner(case: Case, by_tiles: bool, n_steps: int | None, seed: int) -> list[Time]:
    """A whole run of the learner of unions, and its slowest step."""
    warm_up(case)
    points, labels = case.sample(seed)
    k = None if by_tiles else case.k
    learner = PolygonUnionLearner(
        k=k, epsilon=EPSILON, delta=DELTA, grid=case.d, n_steps=n_steps, seed=seed
    )
    start = time.perf_counter()
    seconds = [record.diagnostics.seconds for record in learner.steps(points, labels)]
    whole = time.perf_counter() - start
    return [Time(whole, peak_memory(), part=max(seconds))]


def time_default(case: Case, wrong: float, seed: int) -> list[Time]:
    """A whole run of the default learner, with a share of the labels flipped; `part` is how many MB
    its peak is above that with the data alone."""
    warm_up(case)
    points, labels = case.sample(seed)
    flipped = np.random.default_rng([seed, 1]).random(len(labels)) < wrong
    learner = PolygonUnionLearner(epsilon=EPSILON, delta=DELTA, grid=case.d, seed=seed)
    labels, before = labels ^ flipped, peak_memory()
    start = time.perf_counter()
    learner.fit(points, labels)
    seconds = time.perf_counter() - start
    return [Time(seconds, peak_memory(), part=peak_memory() - before)]


def time_run(case: Case, seed: int) -> list[Time]:
    """Every step of a whole run with k, triangles and zones; `part` is the whole run."""
    warm_up(case)
    points, labels = case.sample(seed)
    learner = PolygonUnionLearner(k=case.k, epsilon=EPSILON, delta=DELTA, grid=case.d, seed=seed)
    start = time.perf_counter()
    seconds = [record.diagnostics.seconds for record in learner.steps(points, labels)]
    whole, memory = time.perf_counter() - start, peak_memory()
    return [Time(one, memory, part=whole) for one in seconds]


def time_unit(repeats: int) -> list[Time]:
    """The unit U."""
    return [Time(unit_seconds(repeats), peak_memory())]


def time_method(method: str, case: Case, seed: int) -> list[Time]:
    """The first selection of a run, by one of :data:`METHODS`."""
    if method == ENVELOPE:
        warm_up(case)
    question = first_question(case, seed)
    start = time.perf_counter()
    note = METHODS[method](question)
    return [Time(time.perf_counter() - start, peak_memory(), note=note)]


# --- rows and parts ----------------------------------------------------------------------------


#: By the number of examples, goals of the default run on a drawn shape and on an outline.
DEFAULT_GOALS = {
    10_000: (Goal(0.15), Goal(0.25)),
    100_000: (Goal(0.4), Goal(0.9)),
    1_000_000: (Goal(0.9), Goal(1.5)),
    10_000_000: (Goal(3), Goal(3)),
}


@dataclass(frozen=True, slots=True)
class Bench:
    """How much is measured."""

    seeds: tuple[int, ...]
    n: int = 100_000
    growth: tuple[int, ...] = (1_000, 10_000, 100_000, 1_000_000)
    whole: tuple[int, ...] = tuple(DEFAULT_GOALS)
    lines: tuple[int, ...] = (100, 200, 400, 800, 1_600, 3_200, 6_400, 12_800)

    def each(
        self, label: str, work: Callable[..., list[Time]], *arguments: Any
    ) -> tuple[list[list[Time]], str]:
        """The work of every seed; nothing and what went wrong, if anything does."""
        runs = []
        for seed in self.seeds:
            found = apart(f"{label}, seed {seed}", work, *arguments, seed)
            if isinstance(found, str):
                return [], found
            runs.append(found)
        return runs, ""

    def row(
        self,
        name: str,
        goal: Goal | None,
        note: str,
        work: Callable[..., list[Time]],
        *arguments: Any,
    ) -> Row:
        """Work with one time a seed, as a row; `note` tells the median of the parts."""
        runs, trouble = self.each(name, work, *arguments)
        times = [run[0] for run in runs]
        if times:
            note = note.format(float(np.median([one.part for one in times])))
        return make_row(name, times, goal, trouble or note)


def peers_part(bench: Bench) -> Iterator[Row]:
    """One halfplane, the first of the octagon's run, by every method; one seed."""
    methods = dict(METHODS)
    if importlib.util.find_spec("skgeom") is None:
        del methods["CGAL"]
        yield Row("CGAL", (), 0.0, note="Python bindings (scikit-geometry) not installed")
    for n in bench.lines:
        if set(methods) <= {ENVELOPE}:
            break
        case = Case(OCTAGON, OCTAGON_EDGES, n)
        for method in tuple(methods):
            name = f"{n:,} lines: {method}"
            found = apart(name, time_method, method, case, bench.seeds[0])
            if isinstance(found, str):
                yield make_row(name, [], None, found)
            else:
                yield make_row(name, found, None, found[0].note)
            tired = isinstance(found, str) or found[0].seconds > PATIENCE
            if tired and method != ENVELOPE:
                del methods[method]


def growth_part(bench: Bench) -> Iterator[Row]:
    """The first selection by the number of examples, d = 1024."""
    note = "of which tables and first boxes {:.3f} s"
    for n in bench.growth:
        goal = Goal(0.5) if n == 1_000_000 else None
        case = Case(OCTAGON, OCTAGON_EDGES, n)
        yield bench.row(f"halfplane, octagon, n = {n:,}", goal, note, time_first, case)
    for n in bench.growth:
        goal = Goal(0.5) if n >= 10_000 else None
        yield bench.row(f"triangle, tri, n = {n:,}", goal, note, time_first, Case("tri", 1, n))


def steps_part(bench: Bench) -> Iterator[Row]:
    """Every selection of a run of k steps, d = 1024."""
    for target, k in TARGETS.items():
        for distribution in DISTRIBUTIONS:
            goal = Goal(0.5) if target == "tri" else Goal(2, 10)
            name = f"{target}, {distribution}, n = {bench.n:,}"
            case = Case(target, k, bench.n, GRID, distribution)
            runs, trouble = bench.each(name, time_steps, case)
            for step in range(k):
                times = [run[step] for run in runs]
                worst = max(times, key=lambda one: one.seconds, default=Time(0, 0))
                note = trouble or f"worst: {worst.note}"
                yield make_row(f"{name}, step {step + 1} of {k}", times, goal, note)


def large_part(bench: Bench) -> Iterator[Row]:
    """The first selection on a grid of 2^20."""
    note = "of which tables and first boxes {:.3f} s"
    for target, k, goal in ((OCTAGON, OCTAGON_EDGES, Goal(1)), ("tri", 1, Goal(5))):
        case = Case(target, k, bench.n, LARGE_GRID)
        name = f"{case.piece}, {target}, n = {bench.n:,}, d = 2^20"
        yield bench.row(name, goal, note, time_first, case)


def paper_part(bench: Bench) -> Iterator[Row]:
    """Triangles by the measure "paper", KMMS's own box, d = 1024: every step of a run of k."""
    for target, k in TARGETS.items():
        case = Case(target, k, bench.n // 10, measure="paper")
        name = f"{target}, n = {case.n:,}"
        runs, trouble = bench.each(name, time_steps, case)
        for step in range(k):
            times = [run[step] for run in runs]
            yield make_row(f"{name}, step {step + 1} of {k}", times, Goal(10), trouble)


def learner_part(bench: Bench) -> Iterator[Row]:
    """Whole runs of PolygonUnionLearner on the star, d = 1024: by tiles, its default, and k = 5."""
    case, note = Case("star", TARGETS["star"], bench.n), "slowest step {:.2f} s"
    runs = (("by tiles", True, None), ("k = 5", False, None), ("k = 5, n_steps = 5", False, 5))
    for name, by_tiles, n_steps in runs:
        label = f"star, n = {bench.n:,}, {name}"
        yield bench.row(label, Goal(15), note, time_learner, case, by_tiles, n_steps)


def default_part(bench: Bench) -> Iterator[Row]:
    """Whole runs by tiles, the default, of a drawn shape and of an outline, d = 1024."""
    for n in bench.whole:
        drawn, outline = DEFAULT_GOALS.get(n, (None, None))
        for target, distribution, goal in (
            ("L", "uniform", drawn),
            ("star", "clustered", drawn),
            ("italy", "uniform", outline),
            ("croatia", "uniform", outline),
            ("flood", "uniform", outline),
        ):
            case, name = Case(target, 1, n, GRID, distribution), f"{target}, n = {n:,}"
            yield bench.row(name, goal, "{:.0f} MB above the data's", time_default, case, 0.0)


def wrong_part(bench: Bench) -> Iterator[Row]:
    """Whole runs by tiles, the default, where a share of the labels is wrong, d = 1024."""
    for wrong in (0.0, 0.1, 0.2, 0.3):
        goal = Goal(8, 15) if wrong == 0.3 else None
        for target, k in (*TARGETS.items(), ("flood", 1), ("italy", 1)):
            case = Case(target, k, bench.n, GRID, "uniform")
            name = f"{target}, n = {bench.n:,}, {wrong:.0%} wrong"
            yield bench.row(name, goal, "", time_default, case, wrong)


def ragged_part(bench: Bench) -> Iterator[Row]:
    """Every step of whole runs with k on targets that are no k triangles, d = 1024."""
    for target in RAGGED:
        for k in (2, 4, 8):
            for n in (bench.n // 10, bench.n):
                name = f"{target}, n = {n:,}, k = {k}"
                runs, trouble = bench.each(name, time_run, Case(target, k, n, GRID, "uniform"))
                whole = max((run[0].part for run in runs), default=0.0)
                note = trouble or f"slowest run {whole:.1f} s"
                triangles = [step for run in runs for step in run[: 2 * k]]
                zones = [step for run in runs for step in run[2 * k :]]
                yield make_row(f"{name}: triangles", triangles, Goal(2, 5), note)
                yield make_row(f"{name}: zones", zones, Goal(2, 5), trouble)


def piles_part(bench: Bench) -> Iterator[Row]:
    """Every step of runs on reports in few places, or within few steps of them, d = 1024."""
    for learner in PILED:
        for n in (bench.n // 50, bench.n):
            for places in (1, 3, 30, 300):
                for kind, steps in PILES:
                    pile = Pile(places, kind, steps, n)
                    name = f"{learner}, n = {n:,}, {places} places, {kind} {steps}"
                    runs, trouble = bench.each(name, time_piles, pile, learner)
                    yield make_row(name, [s for run in runs for s in run], Goal(2, 5), trouble)


#: Parts by name.
PARTS: dict[str, Callable[[Bench], Iterator[Row]]] = {
    "peers": peers_part,
    "growth": growth_part,
    "steps": steps_part,
    "large": large_part,
    "paper": paper_part,
    "learner": learner_part,
    "default": default_part,
    "ragged": ragged_part,
    "piles": piles_part,
    "wrong": wrong_part,
}

#: Small enough to try the benchmark itself; its figures say nothing about the goals.
QUICK = Bench(seeds=(0,), n=1_000, growth=(1_000,), whole=(1_000,), lines=(25, 50))


# --- printing ----------------------------------------------------------------------------------


def parse() -> argparse.Namespace:
    """The command line."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--part", choices=sorted(PARTS), nargs="+", help="only these parts")
    parser.add_argument("--seeds", type=int, default=5, metavar="N", help="0 to N - 1 (default 5)")
    parser.add_argument("--quick", action="store_true", help="one seed, small samples, no goals")
    parser.add_argument("--json", action="store_true", help="print JSON")
    options = parser.parse_args()
    if options.seeds < 1:
        parser.error("--seeds must be at least 1")
    return options


def measure_unit(repeats: int) -> float:
    """U in seconds."""
    found = apart("unit of time", time_unit, repeats)
    if isinstance(found, str):
        raise SystemExit(f"the unit of time: {found}")
    return found[0].seconds


def main() -> None:
    """Measure and print."""
    options = parse()
    bench = QUICK if options.quick else Bench(tuple(range(options.seeds)))
    repeats = 1 if options.quick else 5
    unit = measure_unit(repeats)
    head = {
        "command": " ".join(["python benchmarks/selection.py", *sys.argv[1:]]),
        "run": describe_run(),
        "seeds": ", ".join(map(str, bench.seeds)),
        "unit": round(unit, 3),
    }
    if not options.json:
        seeds, u = head["seeds"], head["unit"]
        print(f"`{head['command']}`: {head['run']}; seeds {seeds}; U = {u} s", flush=True)
    found = []
    for part in options.part or PARTS:
        rows = list(PARTS[part](bench))
        if options.quick:
            rows = [replace(row, goal=None) for row in rows]
        found += [{"part": part, **asdict(row), "met": row.met(unit)} for row in rows]
        if not options.json:
            print(f"\n{PARTS[part].__doc__}\n\n{table(rows, unit)}", flush=True)
    at_end = round(measure_unit(repeats), 3)
    if options.json:
        print(json.dumps({**head, "unit at the end": at_end, "rows": found}, indent=2))
    else:
        print(f"\nAt the end U was {at_end} s.")


if __name__ == "__main__":
    main()
