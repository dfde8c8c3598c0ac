"""How many tiles a side are best, what seams cost, and what a private choice could go by.

    python benchmarks/tiles_a_side.py [--outlines FILE ...] [--cities FILE ...] [--n N]
        [--tiles M ...] [--wrong Q] [--edge A] [--seeds N] [--epsilon E]

For every case one row a number of tiles m: the test error of tiles, the same with their seams
smoothed, S(m) = the least of mistakes plus A for each edge, summed over the tiles
(learners/tiles/tile_choice.py), and the seconds that S took.  Then the interpolated histogram's
error and H, the sum over cells of four examples of the smaller number of either label; at last that
of the nearest example's label, which knows no privacy.  One example changes both S and H by at most
1. d = 1024; uniform samples, a share Q of labels wrong.  With cities these alone, all that are not
held out.
Decision: docs/decisions/0025-how-many-tiles.md.
"""

from __future__ import annotations

import argparse
import math
import time
from collections.abc import Sequence
from pathlib import Path

import numpy as np
from accuracy_cases import Case, city_cases, draw, outline_cases
from common import DELTA, EPSILON, GRID, TARGETS, describe_run
from numpy.typing import NDArray
from scipy.ndimage import gaussian_filter
from scipy.spatial import KDTree

from geometry.grid_counts import GridCounts
from learners.baselines.noisy_histogram import NoisyHistogramLearner
from learners.cover.polygons import PolygonUnionLearner
from learners.tiles.tile_choice import fewest_mistakes

#: Standard deviation of the blur of seams, and its reach from them, as a share of a tile's side.
BLUR = 0.08

#: Examples of a cell of H, on average.
IN_CELL = 4


def in_smaller_numbers(counts: GridCounts) -> int:
    """H."""
    per_side = max(1, round(math.sqrt(counts.n / IN_CELL)))
    across, up = counts.points.T * per_side // (counts.d + 1)
    negatives, positives = counts.by_group(across * per_side + up, per_side**2)
    return int(np.minimum(negatives, positives).sum())


def picture(model: PolygonUnionLearner) -> NDArray[np.bool_]:
    """Labels of all grid points, shape (d + 1, d + 1), by x and y."""
    places = np.indices((GRID + 1, GRID + 1)).reshape(2, -1).T
    return np.asarray(model.predict(places), dtype=np.bool_).reshape(GRID + 1, GRID + 1)


def smooth_seams(labels: NDArray[np.bool_], per_side: int) -> NDArray[np.bool_]:
    """Blurred and cut at a half near the tiles' borders, and as it was elsewhere."""
    side = (GRID + 1) / per_side
    blurred = gaussian_filter(labels.astype(np.float32), BLUR * side, truncate=3) > 0.5
    cuts = np.arange(1, per_side) * (GRID + 1) // per_side
    middles = np.arange(GRID + 1) + 0.5
    near = (np.abs(middles[:, None] - cuts) < BLUR * side).any(axis=1)
    return np.where(near[:, None] | near, blurred, labels)


def rows(case: Case, outcome: argparse.Namespace) -> list[tuple[str, ...]]:
    """What is measured of a case: means over the seeds."""
    found: dict[str, list[tuple[float, ...]]] = {}
    for seed in range(outcome.seeds):
        learned, tested = draw(case, 100_000, seed)
        wrong = np.random.default_rng(seed).random(case.n) < outcome.wrong
        labels = learned.labels.astype(np.bool_) ^ wrong
        counts = GridCounts.of_examples(learned.points, labels, GRID)
        x, y = tested.points.T
        common = {"grid": GRID, "epsilon": outcome.epsilon, "delta": DELTA, "seed": seed}
        for per_side in outcome.tiles:
            model = PolygonUnionLearner(tiles=per_side, **common).fit(learned.points, labels)
            plain = picture(model)
            smooth = smooth_seams(plain, per_side)
            started = time.perf_counter()
            score = int(fewest_mistakes(counts, (per_side,), 2, outcome.edge)[0])
            seconds = time.perf_counter() - started
            errors = (float(np.mean(one[x, y] != tested.labels)) for one in (plain, smooth))
            found.setdefault(f"m = {per_side}", []).append((*errors, score, seconds))
        histogram = NoisyHistogramLearner(**common).fit(learned.points, labels)
        error = float(np.mean(histogram.predict(tested.points) != tested.labels))
        h = in_smaller_numbers(counts)
        found.setdefault("histogram", []).append((error, math.nan, h, math.nan))
        nearest = labels[KDTree(learned.points).query(tested.points)[1]]
        error = float(np.mean(nearest != tested.labels))
        found.setdefault("nearest example", []).append((error, math.nan, math.nan, math.nan))
    made = []
    for name, measured in found.items():
        error, smoothed, score, seconds = np.mean(measured, axis=0)
        shown = (f"{100 * error:.3g}", f"{100 * smoothed:.3g}", f"{score:,.0f}", f"{seconds:.2f}")
        made.append((case.target, name, *("" if text == "nan" else text for text in shown)))
    return made


def main(argv: Sequence[str] | None = None) -> None:
    """Print a Markdown table."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("--outlines", nargs="+", type=Path, default=[], metavar="FILE")
    parser.add_argument("--cities", nargs="+", type=Path, default=[], metavar="FILE")
    parser.add_argument("--n", type=int, default=10_000)
    parser.add_argument("--tiles", nargs="+", type=int, default=[4, 6, 8, 10, 12], metavar="M")
    parser.add_argument("--wrong", type=float, default=0.0, metavar="Q")
    parser.add_argument("--edge", type=int, default=4, metavar="A")
    parser.add_argument("--epsilon", type=float, default=EPSILON, metavar="E")
    parser.add_argument("--seeds", type=int, default=1, metavar="N")
    outcome = parser.parse_args(argv)
    print(f"`python benchmarks/tiles_a_side.py`: {describe_run()}; {outcome.seeds} seeds")
    print("\n| target |  | error % | seams smoothed | S or H | s |")
    print("| --- | --- | ---: | ---: | ---: | ---: |")
    cases = list(city_cases(outcome.cities))
    if not cases:
        cases = [Case("drawn", target, "uniform", outcome.n) for target in TARGETS]
        cases += outline_cases(outcome.outlines, [outcome.n])
    for case in cases:
        for row in rows(case, outcome):
            print("| " + " | ".join(row) + " |", flush=True)


if __name__ == "__main__":
    main()
