"""How wrong the learners are on fresh points, how long they take, how large their files are.

    python benchmarks/accuracy.py [--part drawn octagons outlines] [--outlines FILE ...]
        [--n N ...] [--seeds N] [--targets NAME ...] [--learners NAME ...] [--extra forest]
        [--quick] [--json]
    python benchmarks/accuracy.py --tables RUN.jsonl ...

Prints Markdown tables, and progress on stderr.  With --json it prints JSON lines, the run and then
a row each as soon as it is measured; --tables makes the tables of one or more such runs.

Parts: `drawn`, the four example targets, uniform and clustered; `octagons`, a random convex octagon
for every seed, uniform; `outlines`, GeoJSON files, uniform over their padded boxes.  A case is a
target, a distribution and a number of examples n.  A seed draws the sample and the fresh points of
a case, the same for all learners, and then seeds the learner.  epsilon = 1, delta = 1e-6, d = 1024,
neighbours add or remove one example.

Learners know what is public: the grid, and where a row says k, the number of triangles or edges of
the target, which is more than is known of real data.

--extra forest adds diffprivlib's random forest, by depth and the best of the depths in every case
(chosen by the test error, so a bound on what it reaches), and scikit-learn's, which is not private.
They need an environment of their own: pip install diffprivlib scikit-learn==1.7.2.
"""

from __future__ import annotations

import argparse
import importlib
import importlib.metadata
import importlib.util
import json
import math
import sys
import time
import zlib
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from functools import lru_cache
from pathlib import Path
from typing import Any, Literal, get_args

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
    load_target,
    markdown,
    random_octagon,
)
from numpy.typing import NDArray
from shapely.geometry.base import BaseGeometry

from geodp_app.document.examples import Examples, Frame
from geodp_app.document.sampling import Distribution, draw_examples, place_target
from geodp_app.files.learned_file import learned_text
from geodp_app.runs.comparison import KINDS, make_contender
from geometry.geojson import read_geojson

Part = Literal["drawn", "octagons", "outlines"]
PARTS: tuple[Part, ...] = get_args(Part)

SIZES = (1_000, 10_000, 100_000, 1_000_000)

#: Depths of diffprivlib's trees that are tried; deeper ones than a leaf for every example are not.
DEPTHS = (6, 8, 10, 12, 14, 16)

#: Extra rows and the packages that they need.
FOREST = {"forest": "scikit-learn", "dp-forest": "diffprivlib"}

#: The best depth in every case, as a row of its own.
BEST = "dp-forest"


# --- cases -------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Case:
    """What is learned, and from how many examples; `path` is an outline's file."""

    part: Part
    target: str
    distribution: Distribution
    n: int
    path: str = ""

    @property
    def name(self) -> str:
        """The target, and the distribution where there are two."""
        return f"{self.target}, {self.distribution}" if self.part == "drawn" else self.target

    @property
    def k(self) -> int | None:
        """Triangles or edges that the target needs; None when nobody knows."""
        if self.part == "outlines":
            return None
        return OCTAGON_EDGES if self.part == "octagons" else TARGETS[self.target]

    def place(self, rng: np.random.Generator) -> tuple[BaseGeometry, Frame]:
        """The target in grid units, and where it lies."""
        if self.part == "outlines":
            return place_target(read_geojson(self.path), GRID)
        if self.part == "octagons":
            return random_octagon(GRID, rng), Frame(GRID)
        return load_target(self.target, GRID), Frame(GRID)


@lru_cache(maxsize=16)
def draw(case: Case, fresh: int, seed: int) -> tuple[Examples, Examples]:
    """Examples to learn from, and fresh ones to test on."""
    key = zlib.crc32(f"{case.target} {case.distribution} {case.n}".encode())
    rng = np.random.default_rng([seed, key])
    shape, frame = case.place(rng)
    learned, tested = (
        draw_examples(shape, n, frame, distribution=case.distribution, rng=rng)
        for n in (case.n, fresh)
    )
    return learned, tested


def drawn_cases(targets: Iterable[str], sizes: Iterable[int]) -> Iterator[Case]:
    """The example targets, uniform and clustered."""
    for n in sizes:
        for target in targets:
            for distribution in DISTRIBUTIONS:
                yield Case("drawn", target, distribution, n)


def octagon_cases(sizes: Iterable[int]) -> Iterator[Case]:
    """Random octagons: one case a size, another octagon a seed."""
    for n in sizes:
        yield Case("octagons", OCTAGON, "uniform", n)


def outline_cases(paths: Iterable[Path], sizes: Iterable[int]) -> Iterator[Case]:
    """Outlines from files, by their names in them."""
    named = [(read_geojson(path).name, path) for path in paths]
    for n in sizes:
        for name, path in named:
            yield Case("outlines", name, "uniform", n, str(path))


# --- learners ----------------------------------------------------------------------------------

#: What a learner labels, and the size of its file if it has one.
Outcome = tuple[float, Callable[[NDArray[np.int64]], NDArray[Any]], int | None]

#: geodp's learners that a part compares.
LEARNERS: dict[Part, tuple[str, ...]] = {
    "drawn": ("tiles", "cover", "histogram", "plain-histogram", "quadtree", "greedy-cover"),
    "octagons": (
        "tiles",
        "convex",
        "convex-cover",
        "histogram",
        "plain-histogram",
        "quadtree",
        "greedy-convex",
    ),
    "outlines": ("tiles", "histogram", "plain-histogram", "quadtree"),
}


def run_learner(name: str, case: Case, examples: Examples, seed: int) -> Outcome:
    """One of geodp's learners."""
    contender = make_contender(name, epsilon=EPSILON, delta=DELTA, k=case.k, seed=seed)
    model = contender.build(GRID)
    start = time.perf_counter()
    model.fit(examples.points, examples.labels)
    seconds = time.perf_counter() - start
    return seconds, model.predict, len(learned_text(model.release_, examples.frame).encode())


def run_forest(name: str, case: Case, examples: Examples, seed: int) -> Outcome:
    """scikit-learn's random forest, or diffprivlib's with trees of a depth."""
    if name == "forest":
        ensemble = importlib.import_module("sklearn.ensemble")
        model = ensemble.RandomForestClassifier(random_state=seed)
    else:
        models = importlib.import_module("diffprivlib.models")
        model = models.RandomForestClassifier(
            epsilon=EPSILON,
            # public: never taken from the examples
            bounds=(np.zeros(2), np.full(2, float(GRID))),
            classes=[0, 1],
            max_depth=depth_of(name),
            random_state=seed,
        )
    start = time.perf_counter()
    model.fit(examples.points, examples.labels)
    return time.perf_counter() - start, model.predict, None


def depth_of(name: str) -> int | None:
    """Depth in the name of a row of diffprivlib's forest; None for other rows."""
    head, _, depth = name.rpartition("-")
    return int(depth) if head == BEST else None


def forest_names(case: Case) -> tuple[str, ...]:
    """The forests that suit a case."""
    return ("forest", *(f"{BEST}-{depth}" for depth in DEPTHS if 2**depth <= 1.1 * case.n))


def title(name: str) -> str:
    """A row's heading."""
    if name in KINDS:
        return KINDS[name].title
    if name == "forest":
        return "random forest (scikit-learn)"
    depth = depth_of(name)
    return "random forest (diffprivlib), " + ("best depth" if depth is None else f"depth {depth}")


def is_private(name: str) -> bool:
    """Whether the learner is differentially private."""
    return KINDS[name].private if name in KINDS else name != "forest"


def needs_k(name: str) -> bool:
    """Whether the learner is told k."""
    return name in KINDS and bool(KINDS[name].counts)


# --- measuring ---------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Row:
    """What a learner reached in a case: a value a seed; none, and a note, when it failed."""

    case: Case
    learner: str
    errors: tuple[float, ...] = ()
    seconds: tuple[float, ...] = ()
    sizes: tuple[int, ...] = ()
    note: str = ""


@dataclass(frozen=True, slots=True)
class Bench:
    """How much is measured."""

    seeds: tuple[int, ...]
    sizes: tuple[int, ...] = SIZES
    fresh: int = 200_000

    def row(self, case: Case, name: str) -> Row:
        """A learner in a case, all seeds."""
        run = run_learner if name in KINDS else run_forest
        errors, times, sizes = [], [], []
        try:
            for seed in self.seeds:
                examples, fresh = draw(case, self.fresh, seed)
                seconds, predict, size = run(name, case, examples, seed)
                errors.append(float(np.mean(predict(fresh.points) != fresh.labels)))
                times.append(seconds)
                sizes += [] if size is None else [size]
        except Exception as error:
            tell(f"{case.name}, n = {case.n:,}: {name}: failed: {error!r}")
            return Row(case, name, note=f"failed: {error}")
        told = f"{100 * np.mean(errors):.3f} %, {np.mean(times):.2f} s"
        tell(f"{case.name}, n = {case.n:,}: {name}: {told}")
        return Row(case, name, tuple(errors), tuple(times), tuple(sizes))

    def rows(
        self, cases: Iterable[Case], wanted: Sequence[str] | None, extra: bool
    ) -> Iterator[Row]:
        """Every case and learner; `wanted` picks from geodp's learners."""
        for case in cases:
            names = [name for name in LEARNERS[case.part] if wanted is None or name in wanted]
            if extra:
                names += [name for name in forest_names(case) if not missing(name)]
            for name in names:
                yield self.row(case, name)


def missing(name: str) -> str:
    """The package that a forest lacks here, if any."""
    package = FOREST["forest" if name == "forest" else "dp-forest"]
    module = {"scikit-learn": "sklearn"}.get(package, package)
    return "" if importlib.util.find_spec(module) else package


def tell(text: str) -> None:
    """Progress."""
    print(text, file=sys.stderr, flush=True)


def warm_up(wanted: Sequence[str] | None) -> None:
    """Load the compiled loops, or compile them, before anything is timed."""
    points = np.random.default_rng(0).integers(0, GRID + 1, size=(500, 2))
    labels = (points.sum(axis=1) < GRID).astype(np.int64)
    for name in KINDS if wanted is None else wanted:
        make_contender(name, k=1, seed=0).build(GRID).fit(points, labels)


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

#: Targets on which the tiles should err a fifth of the smoothed histogram, at this n.
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
            name = f"tiles, {case.name}, n = {case.n:,}: a fifth of the smoothed histogram's"
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


def mean_table(findings: Findings) -> str:
    """Mean test error by learner and n."""
    headings = ("learner", "what", "private", "told", *(f"n = {n:,}" for n in findings.sizes))
    lines = [
        (
            name,
            title(name),
            "yes" if is_private(name) else "no",
            "k" if needs_k(name) else "",
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


# --- the command -------------------------------------------------------------------------------

#: Small enough to try the benchmark itself; its figures say nothing about the goals.
QUICK = Bench(seeds=(0,), sizes=(300,), fresh=2_000)


def parse(arguments: Sequence[str]) -> argparse.Namespace:
    """The command line."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    add = parser.add_argument
    add("--part", choices=PARTS, nargs="+", help="only these parts")
    add("--outlines", type=Path, nargs="+", default=[], metavar="FILE", help="GeoJSON outlines")
    add("--n", type=int, nargs="+", metavar="N", help=f"examples (default {SIZES})")
    add("--seeds", type=int, default=5, metavar="N", help="0 to N - 1 (default 5)")
    add("--targets", choices=tuple(TARGETS), nargs="+", default=tuple(TARGETS), metavar="NAME")
    add("--learners", choices=tuple(KINDS), nargs="*", metavar="NAME", help="of geodp, only these")
    add("--extra", choices=("forest",), help="random forests of other libraries")
    add("--quick", action="store_true", help="one seed, small samples, no goals")
    add("--json", action="store_true", help="print JSON lines")
    add("--tables", type=Path, nargs="+", metavar="RUN", help="tables of what --json printed")
    options = parser.parse_args(arguments)
    if options.seeds < 1:
        parser.error("--seeds must be at least 1")
    if options.n and min(options.n) < 1:
        parser.error("--n must be at least 1")
    if options.part and "outlines" in options.part and not options.outlines:
        parser.error("the part outlines needs --outlines FILE")
    return options


def cases_of(options: argparse.Namespace, sizes: tuple[int, ...]) -> Iterator[Case]:
    """The cases that are asked for."""
    parts = options.part or PARTS
    if "drawn" in parts:
        yield from drawn_cases(options.targets, sizes)
    if "octagons" in parts:
        yield from octagon_cases(sizes)
    if "outlines" in parts:
        yield from outline_cases(options.outlines, sizes)


def head_of(options: argparse.Namespace, bench: Bench) -> dict[str, str]:
    """What is run, on what; outlines by their file names."""
    names = {str(path): path.name for path in options.outlines}
    words = [names.get(word, word) for word in sys.argv[1:]]
    versions = describe_run()
    if options.extra:
        for package in FOREST.values():
            here = not any(missing(name) == package for name in FOREST)
            version = importlib.metadata.version(package) if here else "not installed"
            versions += f"; {package} {version}"
    return {
        "command": " ".join(["python benchmarks/accuracy.py", *words]),
        "run": versions,
        "seeds": ", ".join(map(str, bench.seeds)),
        "fresh": f"{bench.fresh:,}",
    }


def describe(head: dict[str, str]) -> str:
    """The head of a run in one line."""
    return (
        f"`{head['command']}`: {head['run']}; seeds {head['seeds']}, {head['fresh']} fresh points"
    )


def saved(paths: Iterable[Path]) -> tuple[list[dict[str, str]], list[Row]]:
    """Heads and rows of earlier runs; of two rows of one learner in one case the last counts."""
    heads, rows = [], {}
    for path in paths:
        for line in path.read_text(encoding="utf-8").splitlines():
            data = json.loads(line)
            if "command" in data:
                heads.append(data)
                continue
            case = Case(**data.pop("case"))
            lists = {name: tuple(data[name]) for name in ("errors", "seconds", "sizes")}
            rows[case, data["learner"]] = Row(case, **data | lists)
    return heads, list(rows.values())


def main() -> None:
    """Measure and print."""
    options = parse(sys.argv[1:])
    if options.tables:
        heads, rows = saved(options.tables)
        print("\n\n".join([*map(describe, heads), *tables(Findings.of(rows), goals=True)]))
        return
    bench = QUICK if options.quick else Bench(tuple(range(options.seeds)))
    sizes = tuple(options.n or bench.sizes)
    head = head_of(options, bench)
    print(json.dumps(head) if options.json else describe(head), flush=True)
    if options.extra:
        for name in FOREST:
            if missing(name):
                print(
                    f"No rows of {name}: {missing(name)} is not installed here.",
                    file=sys.stderr if options.json else sys.stdout,
                )
    warm_up(options.learners)
    found = []
    for row in bench.rows(cases_of(options, sizes), options.learners, bool(options.extra)):
        found.append(row)
        if options.json:
            print(json.dumps(asdict(replace(row, case=replace(row.case, path="")))), flush=True)
    if not options.json:
        for text in tables(Findings.of(found), goals=not options.quick):
            print(f"\n{text}", flush=True)


if __name__ == "__main__":
    main()
