"""What running time, memory and the number of random bytes tell of a sample, in bits.

    python benchmarks/side_channels.py [--learner NAME ...] [--runs 400] [--seed 1] [--json]

A coin chooses one of two samples, a learner runs on it, and somebody who knows both samples guesses
the coin from what the run took.  The mutual information of coin and measurement is estimated on
`runs` runs of each sample in random order, so that a machine that warms up or slows down tells
nothing: the measurement is cut at its octiles, values that are equal stay together, and the plug-in
estimate is corrected by Miller and Madow's bias (1955).  A permutation test says how often chance
alone gives as much.  One bit would be everything.

Two comparisons on the tiny grids of the audits: neighbours, 20 examples or 21; and samples of 20
and of 2,000.  One as people use it: 2,000 examples of a triangle on a grid of 1024, by tiles, with
one wrong label more or not; a quarter of the runs.
"""

from __future__ import annotations

import argparse
import json
import time
import tracemalloc
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass
from typing import Any
from unittest import mock

import numpy as np
from numpy.typing import NDArray

import learners.privacy.randomness
from benchmarks.audits.declared import SUBJECTS
from learners import PolygonUnionLearner
from learners.privacy.randomness import SystemRandom

#: What is looked at by default.
NAMES = (
    "tiles", "cover", "cover-triangle", "convex-cover", "discs", "threshold", "histogram",
    "plain-histogram", "quadtree", "conjunction", "private-parity", "private-finite-class",
)  # fmt: skip

#: Examples: of a sample, of its neighbour, of a large one.
SIZES = (20, 21, 2_000)

#: Parts in which a measurement is cut, and permutations.
_PARTS, _PERMUTATIONS = 8, 2_000

#: Runs of each sample whose memory is looked at: tracing makes them slow.
_TRACED = 40


@dataclass(frozen=True, slots=True)
class Told:
    """What a measurement tells of a coin.

    Attributes
    ----------
    bits : float
        The corrected estimate; around 0, and also below, where nothing is told.
    p : float
        Probability of as much by chance.
    guessed : float
        Share of coins that the likelier side of each part names: at least one half.
    """

    bits: float
    p: float
    guessed: float


def parts_of(values: NDArray[Any], parts: int = _PARTS) -> NDArray[np.int64]:
    """Numbers of about equally full parts, shape (n,); equal values are in one part."""
    ends = np.unique(np.quantile(values, np.arange(1, parts) / parts))
    found = np.searchsorted(ends, values, side="left")
    return np.unique(found, return_inverse=True)[1].astype(np.int64)


def information(sides: NDArray[np.int64], parts: NDArray[np.int64]) -> float:
    """Mutual information in bits, by the plug-in estimate and Miller and Madow's correction."""
    table = _table(sides, parts)
    n = table.sum()

    def entropy(counts: NDArray[np.float64]) -> float:
        seen = counts[counts > 0]
        return float(-(seen / n * np.log2(seen / n)).sum()) + (len(seen) - 1) / (2 * n * np.log(2))

    return entropy(table.sum(axis=0)) + entropy(table.sum(axis=1)) - entropy(table.ravel())


def _table(sides: NDArray[np.int64], parts: NDArray[np.int64]) -> NDArray[np.float64]:
    table = np.zeros((2, int(parts.max()) + 1))
    np.add.at(table, (sides, parts), 1)
    return table


def outcome(sides: NDArray[np.int64], values: NDArray[Any], rng: np.random.Generator) -> Told:
    """What values tell of the sides, 0 or 1, of as many runs each."""
    parts = parts_of(values)
    bits = information(sides, parts)
    chance = [information(rng.permutation(sides), parts) for _ in range(_PERMUTATIONS)]
    # equal estimates differ by rounding
    as_much = sum(one >= bits - 1e-12 for one in chance)
    guessed = float(_table(sides, parts).max(axis=0).sum() / len(sides))
    return Told(bits, (1 + as_much) / (1 + _PERMUTATIONS), guessed)


class _Counting(SystemRandom):
    """The system's generator, and how many bytes were asked for."""

    asked = 0

    def bytes(self, count: int) -> bytes:
        _Counting.asked += count
        return super().bytes(count)


def _sample(name: str, n: int) -> tuple[Any, Any]:
    """`n` positive examples at the place of the learner's audit."""
    point = SUBJECTS[name].audit.point
    X = np.full((n, *np.shape(point)), point, dtype=np.int64)
    return X, np.ones(n, dtype=np.int64)


def _triangle() -> list[tuple[Any, Any]]:
    """Examples of a triangle, and the same with one wrong label more."""
    X = np.random.default_rng(0).integers(0, 1025, (2_000, 2))
    y = (X.sum(axis=1) < 1000).astype(np.int64)
    return [(X, y), (np.vstack([X, [[900, 900]]]), np.append(y, 1))]


def measured(
    make: Callable[[], Any],
    samples: Sequence[tuple[Any, Any]],
    runs: int,
    rng: np.random.Generator,
) -> Iterator[tuple[str, Told]]:
    """What each measurement tells of which of two samples a learner had."""

    def all_runs(runs: int, measure: Callable[[int], tuple[float, ...]]) -> tuple[Any, Any]:
        sides = rng.permutation(np.repeat([0, 1], runs))
        return sides, np.array([measure(int(side)) for side in sides]).T

    def clocked(side: int) -> tuple[float, ...]:
        model = make()
        _Counting.asked = 0
        wall, used = time.perf_counter_ns(), time.process_time_ns()
        model.fit(*samples[side])
        return time.perf_counter_ns() - wall, time.process_time_ns() - used, _Counting.asked

    def traced(side: int) -> tuple[float, ...]:
        model = make()
        tracemalloc.start()
        model.fit(*samples[side])
        peak = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        return (peak,)

    for side in (0, 1) * 3:
        clocked(side)
    sides, (wall, used, asked) = all_runs(runs, clocked)
    yield "time", outcome(sides, wall, rng)
    yield "processor time", outcome(sides, used, rng)
    yield "random bytes", outcome(sides, asked, rng)
    sides, (peak,) = all_runs(min(runs, _TRACED), traced)
    yield "peak memory", outcome(sides, peak, rng)


def main() -> int:
    """Measure and print, a line for each learner and comparison."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--learner", nargs="+", choices=tuple(SUBJECTS), default=NAMES)
    parser.add_argument("--runs", type=int, default=400)
    parser.add_argument("--seed", type=int, default=1, help="of the coins; runs have none")
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    rng = np.random.default_rng(options.seed)
    with mock.patch.object(learners.privacy.randomness, "SystemRandom", _Counting):
        for name in options.learner:
            make = SUBJECTS[name].factory(1.0, 1e-6, "add-remove", None)
            for sizes in (SIZES[:2], SIZES[::2]):
                samples = [_sample(name, n) for n in sizes]
                what = f"{name}, {sizes[0]} or {sizes[1]} examples"
                _tell(what, measured(make, samples, options.runs, rng), options.json)
        if "tiles" in options.learner:
            found = measured(PolygonUnionLearner, _triangle(), options.runs // 4, rng)
            _tell("tiles, a triangle, or one wrong label more", found, options.json)
    return 0


def _tell(what: str, found: Iterator[tuple[str, Told]], as_json: bool) -> None:
    if as_json:
        print(json.dumps({"what": what} | {name: asdict(one) for name, one in found}), flush=True)
        return
    told_of = (f"{name} {one.bits:.3f} bits (p = {one.p:.4f})" for name, one in found)
    print(f"{what}: {', '.join(told_of)}", flush=True)


if __name__ == "__main__":
    raise SystemExit(main())
