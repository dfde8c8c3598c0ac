"""How long parities take to learn, by the number of unknown bits.

    python benchmarks/parity.py [--seeds N] [--quick]

Prints a Markdown table.  Times are wall-clock seconds and multiples of U
(:func:`common.unit_seconds`), after an untimed tiny run that loads the compiled loops.  Examples
are uniform 0/1 vectors of uint8, labelled by a random parity; packing them is timed too.
"""

from __future__ import annotations

import argparse
import time

import numpy as np
from common import describe_run, markdown, unit_seconds
from numpy.typing import NDArray

from learners.boolean.parity import ParityLearner, PrivateParityLearner

#: Bits and examples; the first pair has a goal of so many U.
SIZES = ((4_096, 8_192), (1_024, 8_192), (256, 100_000))
GOAL = 5.0


def draw(d: int, n: int, seed: int) -> tuple[NDArray[np.uint8], NDArray[np.int64]]:
    """Examples and their labels."""
    rng = np.random.default_rng(seed)
    X, secret = rng.integers(0, 2, (n, d), dtype=np.uint8), rng.random(d) < 0.5
    # sums of up to d ones are exact in single precision
    return X, (X.astype(np.float32) @ secret.astype(np.float32)).astype(np.int64) % 2


def seconds(
    learner: type[ParityLearner] | type[PrivateParityLearner],
    X: NDArray[np.uint8],
    y: NDArray[np.int64],
) -> tuple[float, str]:
    """Time of one fit and what came of it."""
    model = learner()
    start = time.perf_counter()
    model.fit(X, y)
    took = time.perf_counter() - start
    ranks = ", ".join("⊥" if b.failed else str(b.rank) for b in model.diagnostics_)
    if model.release_.parity is None:
        return took, f"⊥; ranks {ranks}"
    return took, f"training error {1 - model.score(X, y):.3f}; ranks {ranks}"


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seeds", type=int, default=5, metavar="N", help="0 to N - 1 (default 5)")
    parser.add_argument("--quick", action="store_true", help="one seed, small sizes")
    options = parser.parse_args()
    sizes = ((64, 256),) if options.quick else SIZES
    seeds = 1 if options.quick else options.seeds
    unit = unit_seconds(1 if options.quick else 5)
    learners = (("Gaussian elimination", ParityLearner), ("private", PrivateParityLearner))
    rows = []
    for d, n in sizes:
        for name, learner in learners:
            seconds(learner, *draw(8, 16, 0))
            found = [seconds(learner, *draw(d, n, seed)) for seed in range(seeds)]
            median = float(np.median([took for took, _ in found]))
            worst = max(took for took, _ in found)
            goal = f"≤ {GOAL:g}" if d == SIZES[0][0] else ""
            figures = (f"{median:.3f}", f"{median / unit:.2f}", f"{worst / unit:.2f}", goal)
            rows.append((f"{name}, d = {d:,}, n = {n:,}", *figures, found[-1][1]))
    print(f"`python benchmarks/parity.py`: {describe_run()}; {seeds} seeds; U = {unit:.3f} s\n")
    print(markdown(("", "median s", "median U", "worst U", "goal U", "last run"), rows))


if __name__ == "__main__":
    main()
