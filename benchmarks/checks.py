"""What a check costs, how often its limits miss, and how often blocks of tiles are taken wrongly.

    python benchmarks/checks.py [--part cost coverage blocks] [--seeds N] [--runs N]
        [--reports FILE --bounds W,S,E,N]

cost      test error of tiles with a tenth of the reports kept, over that with all
coverage  runs whose stated limits do not hold the true share, of all, inside and outside: reports
          are drawn again and again from a shape, or from a FILE of labelled points
blocks    runs by tiles of evenly spread reports in which some block counts as hardly reported

Private runs throughout, so figures differ from one time to the next.
Decision: docs/decisions/0037-a-check.md.
"""

from __future__ import annotations

import argparse
from typing import Any, get_args

import numpy as np
from common import EPSILON, GRID, describe_run

import geodp
from learners.core.accuracy import Where
from learners.core.releases import support_shape

SHAPES = ("L", "star", "letters", "croatia", "switzerland")
#: Points that errors are measured on.
TESTED = 400_000
#: Reports of a run.
SIZES = {"cost": (3_000, 10_000, 100_000), "blocks": (10_000, 20_000, 100_000)}
#: Learners and their reports, drawn again and again.
DRAWN = (*(("histogram", n) for n in (300, 3_000, 30_000, 100_000)), ("tiles", 10_000))


def wrong(shape: geodp.LearnedShape, examples: geodp.Examples) -> float:
    return float((shape.labels(examples.points) != examples.labels).mean())


def cost(options: argparse.Namespace) -> None:
    for n in SIZES["cost"]:
        ratios = []
        for name in SHAPES:
            fresh = geodp.sample(name, n=TESTED, grid=GRID, seed=99)
            errors: dict[float | None, list[float]] = {None: [], 0.1: []}
            for seed in range(options.seeds):
                reports = geodp.sample(name, n=n, grid=GRID, seed=seed)
                for part, found in errors.items():
                    found.append(wrong(geodp.learn(reports, epsilon=EPSILON, check=part), fresh))
            ratios.append(np.mean(errors[0.1]) / np.mean(errors[None]))
            print(f"n = {n:,}, {name}: {ratios[-1]:.2f}", flush=True)
        print(f"n = {n:,}, mean: {np.mean(ratios):.2f}", flush=True)


def coverage(options: argparse.Namespace) -> None:
    rng = np.random.default_rng(5)
    if options.reports:
        bounds: Any = tuple(map(float, options.bounds.split(",")))
        known = geodp.read_points(options.reports, bounds=bounds, grid=512)
    else:
        known = geodp.sample("letters", n=TESTED, grid=512, seed=1)
    points, labels = known.points, known.labels
    for learner, n in DRAWN:
        missed, width = dict.fromkeys(get_args(Where), 0), 0.0
        for _ in range(options.runs):
            rows = rng.integers(0, len(points), n)
            drawn = geodp.Examples(points[rows], labels[rows], known.frame)
            shape = geodp.learn(drawn, learner, epsilon=EPSILON, check=0.1)
            inside = shape.labels(points) == 1
            right, check = inside == (labels == 1), shape.check
            assert check is not None
            parts = {"all": inside | True, "inside": inside, "outside": ~inside}
            for where in missed:
                low, high = check.share(where)
                held = not parts[where].any() or low <= right[parts[where]].mean() <= high
                missed[where] += not held
            low, high = check.share()
            width += (high - low) / options.runs
        print(f"{learner}, n = {n:,}, {options.runs} runs: missed {missed}, mean width {width:.2%}",
              flush=True)  # fmt: skip


def blocks(options: argparse.Namespace) -> None:
    for name in SHAPES:
        for n in SIZES["blocks"]:
            hatched = 0
            for seed in range(options.runs):
                reports = geodp.sample(name, n=n, grid=GRID, seed=seed)
                hatched += support_shape(geodp.learn(reports, epsilon=EPSILON).release) is not None
            print(f"{name}, n = {n:,}: {hatched} of {options.runs} runs", flush=True)


PARTS = {"cost": cost, "coverage": coverage, "blocks": blocks}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--part", nargs="+", choices=PARTS, default=list(PARTS))
    parser.add_argument("--seeds", type=int, default=6)
    parser.add_argument("--runs", type=int, default=40)
    parser.add_argument("--reports", metavar="FILE")
    parser.add_argument("--bounds", metavar="W,S,E,N")
    options = parser.parse_args()
    print(describe_run())
    for part in options.part:
        PARTS[part](options)


if __name__ == "__main__":
    main()
