"""What runs reach in practice: measures it, makes the table that `geodp plan` reads, checks it.

    python benchmarks/practice.py measure [--kinds NAME ...] [--most N] [-o FILE]
    python benchmarks/practice.py table
    python benchmarks/practice.py check [--kinds NAME ...] [--cases N] [--most N] [--grid D]
        [--outlines FILE ...]

`measure` appends to benchmarks/practice.csv what is not there yet: a line a target, distribution,
n and epsilon, with the test errors of one to five seeds, in %, and what the better of "all inside"
and "all outside" gets wrong (`chance`).  A seed draws the sample and 200,000 fresh points of the
same distribution, and seeds the learner.  delta = 1e-6, d = 1024, neighbours add or remove one
example, all labels right.

`table` writes learners/theory/measured.json: of runs without a range what was measured of them
otherwise, from benchmarks/means.csv, with its source; and the ranges: for every kind of runs, n and
epsilon, the errors that eight runs of ten lie between, over all its seeds, targets and
distributions, widened by :data:`MARGIN` for shapes that were not tried, and so that neither more
examples nor a larger epsilon is worse.  A number of examples is hopeless where two runs of three
or more err by at least nine tenths of chance.

`check` draws shapes, n and epsilon at random that had no part in the table, between what was
measured, and counts how many errors lie in the ranges.  Shapes are random polygons of 3 to 14
edges, convex polygons and triangles; outlines are the files given, or else the bundled ones with
other samples.
"""

from __future__ import annotations

import argparse
import csv
import json
import math
import re
import sys
import zlib
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
import shapely
from common import (
    DELTA,
    GRID,
    TARGETS,
    describe_run,
    load_target,
    markdown,
    random_octagon,
)
from numpy.typing import NDArray
from shapely.geometry import MultiPoint, Polygon
from shapely.geometry.base import BaseGeometry

import assets
import learners.theory
from geodp_app.document.examples import Frame
from geodp_app.document.sampling import draw_examples, place_target
from geodp_app.document.work import Distribution
from geodp_app.files.writing import atomic_write
from geodp_app.runs.comparison import make_contender
from geometry.geojson import read_geojson
from learners.theory.rule_of_thumb import RANGES, expected_error

#: Of the held-out cases: none is a seed of the data.
SEED = 2_000

DATA = Path(__file__).with_suffix(".csv")
MEANS = DATA.with_name("means.csv")
TABLE = Path(learners.theory.__file__).with_name("measured.json")

EPSILONS = (0.1, 0.3, 1.0, 3.0, 10.0)

FRESH = 200_000
HEADINGS = ("kind", "target", "k", "distribution", "n", "epsilon", "chance", "errors")

#: Errors below are written as this, in %: 200,000 points do not tell them apart.
LEAST = 0.001

#: A kind's n is hopeless when this share of its runs errs by this share of chance.
HOPELESS_RUNS, HOPELESS_ERROR = 2 / 3, 0.9

#: Share of a kind's runs that its ranges leave out, half of them at each end.
OUTSIDE = 0.2

#: Factor by which they are wider at either end, for shapes that were not tried.
MARGIN = 1.25

OUTLINES = ("croatia", "fire", "flood", "italy", "letters", "switzerland")
BOTH: tuple[Distribution, ...] = ("uniform", "clustered")


@dataclass(frozen=True, slots=True)
class Kind:
    """Runs of one learner on one kind of targets.

    Attributes
    ----------
    learner : str
        One of :data:`geodp_app.runs.comparison.KINDS`.
    targets : tuple of (str, int or None)
        Names, and the k that the learner is told.
    seeds : tuple of (int, int)
        Numbers of examples, and how many seeds.
    shapes : str
        What the targets are, in words; {k} is the learner's.
    ks : tuple of (int, int)
        Least and largest k, 0 of runs without.
    """

    learner: str
    targets: tuple[tuple[str, int | None], ...]
    seeds: tuple[tuple[int, int], ...]
    shapes: str = ""
    ks: tuple[int, int] = (0, 0)


def _seeds(few: int, some: int, most: int) -> tuple[tuple[int, int], ...]:
    """`few` seeds up to n = 10,000, `some` up to 30,000, one up to `most`."""
    sizes = (30, 100, 300, 1_000, 3_000, 10_000, 30_000, 100_000, 300_000, 1_000_000)
    return tuple(
        (n, few if n <= 10_000 else some if n <= 30_000 else 1) for n in sizes if n <= most
    )


#: Random shapes, by number: one seed each.
_POLYGONS = tuple(f"polygon-{number}" for number in range(1, 5))
_TRIANGLES = tuple(f"triangle-{number}" for number in range(1, 5))

_CONVEX = (("tri", 3), ("octagon", 8), ("octagon-1", 8), ("octagon-2", 8))

KINDS: dict[str, Kind] = {
    "few-edges": Kind(
        "tiles", tuple((name, None) for name in (*TARGETS, *_POLYGONS)), _seeds(3, 2, 1_000_000),
        "shapes of few edges",
    ),
    "outlines": Kind(
        "tiles", tuple((name, None) for name in OUTLINES), _seeds(2, 1, 1_000_000),
        "outlines with many bends, such as coasts",
    ),
    "convex": Kind(
        "convex", tuple((name, None) for name, _ in _CONVEX[:3]),
        ((100, 1), (1_000, 1), (10_000, 1), (100_000, 1)), "convex shapes of few edges",
    ),
    "one-triangle": Kind(
        "cover", (("tri", 1), *((name, 1) for name in _TRIANGLES)), _seeds(3, 3, 100_000),
        "a triangle", (1, 1),
    ),
    "halfplanes": Kind(
        "convex-cover", _CONVEX, _seeds(1, 1, 100_000), "convex polygons of {k} edges", (3, 8),
    ),
}  # fmt: skip


# --- measuring ---------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Cell:
    """What is measured in one line of the data."""

    kind: str
    target: str
    k: int | None
    distribution: Distribution
    n: int
    epsilon: float


@dataclass(frozen=True, slots=True)
class Line:
    """A line of the data: errors and chance in %."""

    cell: Cell
    chance: float
    errors: tuple[float, ...]


def cells(kinds: Iterable[str], most: int) -> Iterator[tuple[Cell, int]]:
    """What is to be measured, and with how many seeds; small samples first."""
    for name in kinds:
        kind = KINDS[name]
        for n, seeds in kind.seeds:
            for target, k in kind.targets if n <= most else ():
                for distribution in BOTH:
                    for epsilon in EPSILONS:
                        cell = Cell(name, target, k, distribution, n, epsilon)
                        yield cell, 1 if "-" in target else seeds


def place(target: str) -> tuple[BaseGeometry, Frame]:
    """A target by its name, in grid units, and its frame."""
    if target in OUTLINES:
        return place_target(read_geojson(assets.example_path(target)), GRID)
    name, _, number = target.partition("-")
    if number:
        rng = np.random.default_rng(int(number))
        shape = {
            "octagon": lambda: random_octagon(GRID, rng),
            "polygon": lambda: _star_shaped(GRID, int(rng.integers(3, 15)), rng),
            "triangle": lambda: _convex(GRID, 3, rng),
        }[name]()
        return shape, Frame(GRID)
    return load_target(name, GRID), Frame(GRID)


def run(shape: BaseGeometry, frame: Frame, cell: Cell, seed: int) -> tuple[float, float]:
    """Error on fresh points and chance, in %."""
    key = zlib.crc32(f"{cell.target} {cell.distribution} {cell.n}".encode())
    rng = np.random.default_rng([seed, key])
    examples, fresh = (
        draw_examples(shape, n, frame, distribution=cell.distribution, rng=rng)
        for n in (cell.n, FRESH)
    )
    contender = make_contender(
        KINDS[cell.kind].learner, epsilon=cell.epsilon, delta=DELTA, k=cell.k, seed=seed
    )
    model = contender.build(frame.d).fit(examples.points, examples.labels)
    error = float(np.mean(model.predict(fresh.points) != fresh.labels))
    share = float(np.mean(fresh.labels))
    return 100 * error, 100 * min(share, 1 - share)


def measure(kinds: Iterable[str], most: int, path: Path) -> None:
    """Append what is not there yet."""
    held = {line.cell for line in read(path)} if path.exists() else set()
    with path.open("a", encoding="utf-8", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        if not held:
            writer.writerow(HEADINGS)
        for cell, seeds in cells(kinds, most):
            if cell in held:
                continue
            shape, frame = place(cell.target)
            found = [run(shape, frame, cell, s) for s in range(seeds)]
            chance = f"{np.mean([chance for _, chance in found]):.1f}"
            errors = " ".join(f"{error:.4g}" for error, _ in found)
            named = (cell.kind, cell.target, cell.k or "", cell.distribution, cell.n)
            writer.writerow((*named, f"{cell.epsilon:g}", chance, errors))
            file.flush()
            print(*named, cell.epsilon, errors, file=sys.stderr, flush=True)


def read(path: Path) -> list[Line]:
    """The data."""
    lines = []
    with path.open(encoding="utf-8", newline="") as file:
        for row in csv.DictReader(file):
            cell = Cell(
                row["kind"], row["target"], int(row["k"]) if row["k"] else None,
                row["distribution"], int(row["n"]), float(row["epsilon"]),
            )  # fmt: skip
            errors = tuple(float(error) for error in row["errors"].split())
            lines.append(Line(cell, float(row["chance"]), errors))
    return lines


# --- the table ---------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Run:
    """A run's error and chance, in %, and a weight, 1 for all seeds of a case together."""

    error: float
    chance: float
    weight: float


@dataclass(frozen=True, slots=True)
class Found:
    """Of one kind: sizes, and a row an epsilon of the least and the largest error at each."""

    sizes: tuple[int, ...]
    least: tuple[tuple[float, ...], ...]
    largest: tuple[tuple[float, ...], ...]
    hopeless: tuple[int, ...]


def fit(lines: Iterable[Line], kind: str) -> Found:
    """The ranges of a kind, over the sizes that were measured with every epsilon and target."""
    runs: dict[tuple[int, float], list[Run]] = defaultdict(list)
    cases: Counter[tuple[int, float]] = Counter()
    for line in lines:
        if line.cell.kind == kind:
            at = line.cell.n, line.cell.epsilon
            weight = 1 / len(line.errors)
            runs[at] += [Run(error, line.chance, weight) for error in line.errors]
            cases[at] += 1
    whole = len(KINDS[kind].targets) * len(BOTH)
    measured = sorted({n for n, _ in runs})
    sizes = [n for n in measured if all(cases[n, epsilon] == whole for epsilon in EPSILONS)]
    ends = np.array([[_ends(runs[n, epsilon]) for n in sizes] for epsilon in EPSILONS])
    lows, highs = np.moveaxis(ends.reshape(len(EPSILONS), len(sizes), 2), 2, 0)
    for axis in (0, 1):
        lows = np.minimum.accumulate(lows, axis)
        highs = np.flip(np.maximum.accumulate(np.flip(highs, axis), axis), axis)
    hopeless = tuple(
        max((n for n in sizes if _learns_nothing(runs[n, epsilon])), default=0)
        for epsilon in EPSILONS
    )
    return Found(tuple(sizes), _rounded(lows), _rounded(highs), hopeless)


def _ends(runs: list[Run]) -> tuple[float, float]:
    """The errors that all but OUTSIDE of the runs lie between."""
    errors, weights = [run.error for run in runs], [run.weight for run in runs]
    low = np.quantile(errors, OUTSIDE / 2, weights=weights, method="inverted_cdf")
    # from above, so that both ends are treated alike
    high = -np.quantile(np.negative(errors), OUTSIDE / 2, weights=weights, method="inverted_cdf")
    return max(LEAST, float(low) / MARGIN), min(100.0, max(LEAST, float(high) * MARGIN))


def _rounded(rows: NDArray[np.float64]) -> tuple[tuple[float, ...], ...]:
    return tuple(tuple(float(f"{x:.3g}") for x in row) for row in rows)


def _learns_nothing(runs: list[Run]) -> bool:
    lost = sum(run.weight for run in runs if run.error >= HOPELESS_ERROR * run.chance)
    return lost >= HOPELESS_RUNS * sum(run.weight for run in runs)


def table(lines: list[Line]) -> str:
    """The file that the planner reads."""
    ranges = {}
    for name, of in KINDS.items():
        told = {"learner": of.learner, "shapes": of.shapes, "ks": of.ks}
        ranges[name] = told | asdict(fit(lines, name))
    text = json.dumps(
        {"means": _means(), "epsilons": EPSILONS, "ranges": ranges}, indent=1, ensure_ascii=False
    )
    # a list of numbers is one line
    return re.sub(r"\[\s+([^][]*?)\s+\]", lambda it: f"[{' '.join(it[1].split())}]", text) + "\n"


def _means() -> list[dict[str, Any]]:
    """What was measured of other runs, an entry for those of the same shapes."""
    found: dict[tuple[str, ...], list[tuple[int, str]]] = defaultdict(list)
    with MEANS.open(encoding="utf-8", newline="") as file:
        for row in csv.DictReader(file):
            of = tuple(value for name, value in row.items() if name not in ("n", "errors"))
            found[of].append((int(row["n"]), row["errors"]))
    return [
        {
            "learner": learner,
            "finish": finish,
            "ks": (int(low), int(high)),
            "source": source,
            "runs": runs,
            "errors": errors,
        }
        for (learner, finish, low, high, runs, source), errors in found.items()
    ]


# --- held-out cases ----------------------------------------------------------------------------


def check(kinds: Iterable[str], cases: int, most: int, grid: int, files: list[Path]) -> str:
    """How many errors of random cases lie in the ranges."""
    rows = []
    for name in kinds:
        rng = np.random.default_rng([SEED, zlib.crc32(name.encode())])
        counted: Counter[str] = Counter()
        for number in range(cases):
            counted[_judge(name, rng, most, grid, files, SEED + number)] += 1
        outcome = [counted[place] for place in ("inside", "below", "above")]
        judged = sum(outcome)
        inside = f"{outcome[0] / judged:.0%}" if judged else "–"
        hopeless = f"{counted['hopeless, rightly']} of {counted.total() - judged}"
        rows.append((name, str(judged), inside, *map(str, outcome[1:]), hopeless))
    headings = ("kind", "runs", "in the range", "better", "worse", "hopeless, rightly")
    return markdown(headings, rows)


def _judge(
    kind: str, rng: np.random.Generator, most: int, grid: int, files: list[Path], seed: int
) -> str:
    """Where the error of a random case lies."""
    sizes = RANGES[kind].sizes
    n = round(math.exp(rng.uniform(math.log(sizes[0]), math.log(min(sizes[-1], most)))))
    epsilon = math.exp(rng.uniform(math.log(EPSILONS[0]), math.log(EPSILONS[-1])))
    distribution = BOTH[rng.integers(2)]
    shape, frame, k = _other_shape(kind, rng, grid, files)
    cell = Cell(kind, "other", k, distribution, n, epsilon)
    error, chance = run(shape, frame, cell, seed)
    expected = expected_error(kind, epsilon, n)
    tell = f"{kind} k = {k} {distribution} n = {n} epsilon = {epsilon:.3g}: {error:.3g} {expected}"
    print(tell, file=sys.stderr, flush=True)
    if expected is None:
        nothing = error >= HOPELESS_ERROR * chance
        return "hopeless, rightly" if nothing else "hopeless, wrongly"
    if error < 100 * expected.least and error > LEAST:
        return "below"
    return "above" if error > 100 * expected.largest else "inside"


def _other_shape(
    kind: str, rng: np.random.Generator, grid: int, files: list[Path]
) -> tuple[BaseGeometry, Frame, int | None]:
    """A shape of a kind that the table has not seen, and the k that the learner is told."""
    if kind == "outlines":
        paths = files or [assets.example_path(name) for name in OUTLINES]
        return *place_target(read_geojson(paths[rng.integers(len(paths))]), grid), None
    frame = Frame(grid)
    if kind == "few-edges":
        return _star_shaped(grid, int(rng.integers(3, 15)), rng), frame, None
    if kind == "convex":
        return _convex(grid, int(rng.integers(3, 11)), rng), frame, None
    if kind == "halfplanes":
        k = int(rng.integers(3, 9))
        return _convex(grid, k, rng), frame, k
    return _convex(grid, 3, rng), frame, 1


def _star_shaped(d: int, corners: int, rng: np.random.Generator) -> BaseGeometry:
    """A polygon around the middle, its corners at random angles and distances; not too small."""
    while True:
        angles = np.sort(rng.uniform(0, 2 * np.pi, corners))
        far = d * rng.uniform(0.15, 0.48, corners)
        shape = Polygon(d / 2 + far[:, None] * np.column_stack([np.cos(angles), np.sin(angles)]))
        if shape.is_valid and shape.area > 0.15 * d**2:
            return shape


def _convex(d: int, corners: int, rng: np.random.Generator) -> BaseGeometry:
    """The hull of uniform points, drawn until it has so many corners and is not too small."""
    while True:
        points = d * rng.uniform(0.02, 0.98, size=(max(corners, corners**2 // 3), 2))
        shape = shapely.convex_hull(MultiPoint(points))
        if shapely.get_num_coordinates(shape) == corners + 1 and shape.area > 0.05 * d**2:
            return shape


def main() -> None:
    """Do what is asked."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    verbs = parser.add_subparsers(dest="verb", required=True)
    measuring = verbs.add_parser("measure")
    measuring.add_argument("--kinds", nargs="+", choices=KINDS, default=list(KINDS))
    measuring.add_argument("--most", type=int, default=10**6)
    measuring.add_argument("-o", "--output", type=Path, default=DATA)
    verbs.add_parser("table")
    checking = verbs.add_parser("check")
    checking.add_argument("--kinds", nargs="+", choices=KINDS, default=list(KINDS))
    checking.add_argument("--cases", type=int, default=100)
    checking.add_argument("--most", type=int, default=100_000)
    checking.add_argument("--grid", type=int, default=GRID)
    checking.add_argument("--outlines", nargs="+", type=Path, default=[], metavar="FILE")
    options = parser.parse_args()
    if options.verb == "measure":
        measure(options.kinds, options.most, options.output)
    elif options.verb == "table":
        atomic_write(TABLE, table(read(DATA)))
    else:
        sizes = f"n up to {options.most:,}, d = {options.grid:,}"
        print(f"{describe_run()}; {options.cases} cases of each kind, {sizes}")
        print()
        print(check(options.kinds, options.cases, options.most, options.grid, options.outlines))


if __name__ == "__main__":
    main()
