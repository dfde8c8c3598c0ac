"""What several rows of each person buy against one.

    python benchmarks/persons.py [--n N ...] [--spread S ...] [--rows R ...] [--epsilon E]
        [--wrong Q] [--seeds N] [--learner tiles|histogram] [--plain]

Each of N persons has a home, uniform on the square, and 1 to 5 reports around it, normal with a
deviation of S sides in either direction; S = inf are places that know no home.  All runs are
(E, 1e-6)-DP for whole persons.  For every S, N and shape one row: the test error with one row of
each person, and that with R rows in parts of it, of which the last line is the mean.  With --plain
whoever has fewer than R reports has only these, and none comes again.
Decision: docs/decisions/0038-several-rows-of-a-person.md.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence

import numpy as np
from common import DELTA, EPSILON, GRID, describe_run
from numpy.typing import NDArray

import assets
from geodp_app.document.examples import Examples, Frame
from geodp_app.files.persons import some_each
from geometry.geojson import read_geojson
from geometry.polygons import contains_points
from learners import NoisyHistogramLearner, PolygonUnionLearner
from learners.privacy.accounting import one_of_several

SHAPES = ("L", "star", "croatia")

#: Reports of a person, at most.
MOST = 5

#: Points that the errors are measured on.
TESTED = 200_000

LEARNERS = {"tiles": PolygonUnionLearner, "histogram": NoisyHistogramLearner}


def reports(
    shape: str, n: int, spread: float, wrong: float, seed: int
) -> tuple[Examples, list[str]]:
    """Reports of n persons, and whose each is."""
    rng = np.random.default_rng([seed, n])
    owners = np.repeat(np.arange(n), rng.integers(1, MOST + 1, n))
    if np.isinf(spread):
        points = rng.integers(0, GRID + 1, (len(owners), 2))
    else:
        homes = rng.integers(0, GRID + 1, (n, 2))[owners]
        steps = np.rint(rng.normal(0, spread * GRID, (len(owners), 2))).astype(np.int64)
        points = np.clip(homes + steps, 0, GRID)
    flipped = rng.random(len(owners)) < wrong
    labels = (truth(shape, points) != flipped).astype(np.int64)
    return Examples(points, labels, Frame(GRID)), [str(owner) for owner in owners]


def truth(shape: str, points: NDArray[np.int64]) -> NDArray[np.bool_]:
    """Labels of points."""
    region = read_geojson(assets.example_path(shape)).on_grid(GRID)
    return contains_points(region, points)


def error(outcome: argparse.Namespace, shape: str, n: int, spread: float, rows: int) -> float:
    """Mean over the seeds."""
    tested = np.random.default_rng(99).integers(0, GRID + 1, (TESTED, 2))
    right, found = truth(shape, tested), []
    epsilon, delta = one_of_several(outcome.epsilon, DELTA, rows)
    for seed in range(outcome.seeds):
        examples, owners = reports(shape, n, spread, outcome.wrong, seed)
        kept = some_each(examples, owners, np.arange(len(owners)), rows)
        if outcome.plain:
            kept = np.unique(kept)
        learner = LEARNERS[outcome.learner](epsilon=epsilon, delta=delta, grid=GRID, seed=seed)
        learner.fit(examples.points[kept], examples.labels[kept])
        found.append(float(np.mean((learner.predict(tested) == 1) != right)))
    return float(np.mean(found))


def main(argv: Sequence[str] | None = None) -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--n", type=int, nargs="+", default=[3_000, 30_000])
    parser.add_argument("--spread", type=float, nargs="+", default=[0.01, 0.1, np.inf])
    parser.add_argument("--rows", type=int, nargs="+", default=[2, 3, 5])
    parser.add_argument("--epsilon", type=float, default=EPSILON)
    parser.add_argument("--wrong", type=float, default=0.0)
    parser.add_argument("--seeds", type=int, default=6)
    parser.add_argument("--learner", choices=LEARNERS, default="tiles")
    parser.add_argument("--plain", action="store_true")
    outcome = parser.parse_args(argv)
    print(f"`python benchmarks/persons.py`: {describe_run()}; {outcome.seeds} seeds\n")
    print("| spread | persons | shape | one row | " + " | ".join(map(str, outcome.rows)) + " |")
    print("|---" * (4 + len(outcome.rows)) + "|")
    for spread in outcome.spread:
        for n in outcome.n:
            parts = []
            for shape in SHAPES:
                one = error(outcome, shape, n, spread, 1)
                parts.append([error(outcome, shape, n, spread, r) / one for r in outcome.rows])
                show(spread, n, shape, f"{100 * one:.3g} %", parts[-1])
            show(spread, n, "mean", "", np.mean(parts, axis=0).tolist())


def show(spread: float, n: int, shape: str, one: str, parts: list[float]) -> None:
    """Print a row."""
    cells = [f"{spread:g}", f"{n:,}", shape, one, *(f"{part:.2f}" for part in parts)]
    print(f"| {' | '.join(cells)} |", flush=True)


if __name__ == "__main__":
    main()
