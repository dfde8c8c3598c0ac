"""How wrong the learners are on fresh points, how long they take, how large their files are.

    python benchmarks/accuracy.py [--part outlines cities drawn octagons] [--outlines FILE ...]
        [--cities FILE ...] [--n N ...] [--seeds N] [--targets NAME ...] [--learners NAME ...]
        [--extra forest boosting network] [--wrong SHARE] [--quick] [--json]
    python benchmarks/accuracy.py --tables RUN.jsonl ...

Prints Markdown tables, and progress on stderr.  With --json it prints JSON lines, the run and then
a row each as soon as it is measured; --tables makes the tables of one or more such runs.

Parts: `outlines`, GeoJSON files, uniform over their padded boxes; `cities`, CSV files of real
labelled points, of which every seed holds out another fifth; `drawn`, the four example targets,
uniform and clustered; `octagons`, a random convex octagon for every seed, uniform.  Cases and how
a seed draws them: accuracy_cases.py.  epsilon = 1, delta = 1e-6, d = 1024, neighbours add or remove
one example.

Learners know what is public: the grid, and where a row says k, the number of triangles or edges of
the target, which is more than is known of real data.

--extra forest adds diffprivlib's random forest, by depth and the best of the depths in every case
(chosen by the test error, so a bound on what it reaches), and scikit-learn's, which is not private.
They need an environment of their own: pip install diffprivlib scikit-learn==1.7.2.
--extra boosting adds InterpretML's private boosting, a sum of functions of one feature each, given
sixteen directions as features: with x and y alone it has one label everywhere.  It needs
pip install interpret-core scikit-learn.
--extra network adds a small network by noisy gradients (noisy_gradients.py).  It needs
pip install dp-accounting.
"""

from __future__ import annotations

import argparse
import importlib
import importlib.metadata
import importlib.util
import json
import sys
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from accuracy_cases import (
    PARTS,
    SIZES,
    Case,
    Part,
    city_cases,
    draw,
    drawn_cases,
    octagon_cases,
    outline_cases,
)
from accuracy_tables import BEST, BOOSTING, DEPTHS, NETWORK, Findings, Row, depth_of, tables
from common import DELTA, EPSILON, GRID, TARGETS, describe_run
from noisy_gradients import features, train
from numpy.typing import NDArray

from geodp_app.document.examples import Examples
from geodp_app.files.learned_file import learned_text
from geodp_app.runs.comparison import KINDS, make_contender

#: Extra rows, and the package and the module that each needs.
EXTRA = {"forest": ("forest", BEST), "boosting": (BOOSTING,), "network": (NETWORK,)}
PACKAGES = {
    "forest": ("scikit-learn", "sklearn"),
    BEST: ("diffprivlib", "diffprivlib"),
    BOOSTING: ("interpret-core", "interpret"),
    NETWORK: ("dp-accounting", "dp_accounting"),
}

#: Features of private boosting: places along so many directions.
DIRECTIONS = 16

# --- learners ----------------------------------------------------------------------------------

#: What a learner labels, and the size of its file if it has one.
Outcome = tuple[float, Callable[[NDArray[np.int64]], NDArray[Any]], int | None]

#: On real data nobody knows k.
REAL = ("tiles", "cover", "histogram", "plain-histogram", "quadtree")

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
    "outlines": REAL,
    "cities": REAL,
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


def run_boosting(name: str, case: Case, examples: Examples, seed: int) -> Outcome:
    """InterpretML's private boosting on places along directions."""
    privacy = importlib.import_module("interpret.privacy")
    angles = np.arange(DIRECTIONS) * np.pi / DIRECTIONS
    directions = np.stack([np.cos(angles), np.sin(angles)])
    # public: no corner is farther from the middle
    most = GRID / 2**0.5

    def features(points: NDArray[np.int64]) -> NDArray[np.float64]:
        return np.asarray((points - GRID / 2) @ directions)

    model = privacy.DPExplainableBoostingClassifier(
        epsilon=EPSILON,
        delta=DELTA,
        feature_types=["continuous"] * DIRECTIONS,
        privacy_bounds={i: (-most, most) for i in range(DIRECTIONS)},
        random_state=seed,
        n_jobs=1,
    )
    start = time.perf_counter()
    model.fit(features(examples.points), examples.labels)
    return time.perf_counter() - start, lambda points: model.predict(features(points)), None


def run_network(name: str, case: Case, examples: Examples, seed: int) -> Outcome:
    """A small network by noisy gradients."""
    start = time.perf_counter()
    known = features(examples.points, GRID)
    network = train(known, examples.labels, EPSILON, DELTA, seed)
    seconds = time.perf_counter() - start
    return seconds, lambda points: network.output(features(points, GRID))[0] > 0, None


def runner(name: str) -> Callable[[str, Case, Examples, int], Outcome]:
    """What runs a row."""
    if name in KINDS:
        return run_learner
    return {BOOSTING: run_boosting, NETWORK: run_network}.get(name, run_forest)


def extra_names(case: Case, extra: Iterable[str]) -> Iterator[str]:
    """Extra rows that suit a case and can be measured here."""
    for kind in extra:
        names = forest_names(case) if kind == "forest" else EXTRA[kind]
        yield from (name for name in names if not missing(name))


def forest_names(case: Case) -> tuple[str, ...]:
    """The forests that suit a case."""
    return ("forest", *(f"{BEST}-{depth}" for depth in DEPTHS if 2**depth <= 1.1 * case.n))


# --- measuring ---------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Bench:
    """How much is measured."""

    seeds: tuple[int, ...]
    sizes: tuple[int, ...] = SIZES
    fresh: int = 200_000

    def row(self, case: Case, name: str) -> Row:
        """A learner in a case, all seeds."""
        run = runner(name)
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
        outcome = f"{100 * np.mean(errors):.3f} %, {np.mean(times):.2f} s"
        tell(f"{case.name}, n = {case.n:,}: {name}: {outcome}")
        return Row(case, name, tuple(errors), tuple(times), tuple(sizes))

    def rows(
        self, cases: Iterable[Case], wanted: Sequence[str] | None, extra: Sequence[str]
    ) -> Iterator[Row]:
        """Every case and learner; `wanted` picks from geodp's learners."""
        for case in cases:
            names = [name for name in LEARNERS[case.part] if wanted is None or name in wanted]
            names += extra_names(case, extra)
            for name in names:
                yield self.row(case, name)


def missing(name: str) -> str:
    """The package that an extra row lacks here, if any."""
    package, module = PACKAGES[BEST if depth_of(name) else name]
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
    add("--cities", type=Path, nargs="+", default=[], metavar="FILE", help="CSV of cities")
    add("--n", type=int, nargs="+", metavar="N", help=f"examples (default {SIZES})")
    add("--wrong", type=float, default=0.0, metavar="SHARE", help="of labels to learn from flipped")
    add("--seeds", type=int, default=5, metavar="N", help="0 to N - 1 (default 5)")
    add("--targets", choices=tuple(TARGETS), nargs="+", default=tuple(TARGETS), metavar="NAME")
    add("--learners", choices=tuple(KINDS), nargs="*", metavar="NAME", help="of geodp, only these")
    add("--extra", choices=tuple(EXTRA), nargs="+", default=(), help="of other libraries")
    add("--quick", action="store_true", help="one seed, small samples, no goals")
    add("--json", action="store_true", help="print JSON lines")
    add("--tables", type=Path, nargs="+", metavar="RUN", help="tables of what --json printed")
    options = parser.parse_args(arguments)
    if options.seeds < 1:
        parser.error("--seeds must be at least 1")
    if options.n and min(options.n) < 1:
        parser.error("--n must be at least 1")
    if not 0 <= options.wrong < 0.5:
        parser.error("--wrong must be at least 0 and below 0.5")
    if options.wrong and options.cities:
        parser.error("--wrong is not for cities, whose labels are given")
    if options.part and "outlines" in options.part and not options.outlines:
        parser.error("the part outlines needs --outlines FILE")
    if options.part and "cities" in options.part and not options.cities:
        parser.error("the part cities needs --cities FILE")
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
    if "cities" in parts:
        yield from city_cases(options.cities)


def head_of(options: argparse.Namespace, bench: Bench) -> dict[str, str]:
    """What is run, on what; outlines and cities by their file names."""
    names = {str(path): path.name for path in (*options.outlines, *options.cities)}
    words = [names.get(word, word) for word in sys.argv[1:]]
    versions = describe_run()
    for name in rows_of(options.extra):
        package = PACKAGES[name][0]
        version = "not installed" if missing(name) else importlib.metadata.version(package)
        versions += f"; {package} {version}"
    return {
        "command": " ".join(["python benchmarks/accuracy.py", *words]),
        "run": versions,
        "seeds": ", ".join(map(str, bench.seeds)),
        "fresh": f"{bench.fresh:,}",
    }


def rows_of(extra: Iterable[str]) -> list[str]:
    """Extra rows by name, without the single depths of a forest."""
    return [name for kind in extra for name in EXTRA[kind]]


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
    for name in rows_of(options.extra):
        if missing(name):
            print(
                f"No rows of {name}: {missing(name)} is not installed here.",
                file=sys.stderr if options.json else sys.stdout,
            )
    warm_up(options.learners)
    found = []
    cases = (replace(case, wrong=options.wrong) for case in cases_of(options, sizes))
    for row in bench.rows(cases, options.learners, options.extra):
        found.append(row)
        if options.json:
            print(json.dumps(asdict(replace(row, case=replace(row.case, path="")))), flush=True)
    if not options.json:
        for text in tables(Findings.of(found), goals=not options.quick):
            print(f"\n{text}", flush=True)


if __name__ == "__main__":
    main()
