"""Boolean learners: examples needed by the number of literals, account by account; and time.

    python benchmarks/conjunctions.py [--part NAME ...] [--seeds N] [--picture FILE] [--quick]

Prints a Markdown table a part, and progress on stderr; `--picture` writes the first part's table
as an SVG drawing.

*examples*: a conjunction of k of 500 variables; half of the examples are positive, a negative one
lacks exactly one of the k, so that each literal is needed.  Of the other variables, one half is 1
with probabilities spread evenly over (0, 1); the other half is 1 only in one of 8k negatives, so
that its negation loses nothing and gains little.
The figure is the least n, on a grid of ratio 1.1, at which the median error of the seeds on fresh
examples is at most 5 %.  Runs have 3k steps, epsilon = 1, delta = 1e-6.  Accounts: see
learners/boolean/conjunction.py.

*time*: whole runs, in seconds and in multiples of U (common.unit_seconds, measured before and
after each run, so that what else the machine does counts for both).  The examples are checked, and
sparse ones converted, within the time.
"""

from __future__ import annotations

import argparse
import math
import resource
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse
from common import DELTA, EPSILON, describe_run, markdown, unit_seconds
from numpy.typing import NDArray

from learners.boolean.conjunction import ConjunctionLearner
from learners.boolean.consistent_conjunction import (
    ConsistentConjunctionLearner,
    GreedyConjunctionLearner,
)
from learners.boolean.formulas import BooleanLearner
from learners.theory.cover_sizes import cover_examples

VARIABLES, ERROR, RATIO = 500, 0.05, 1.1
LITERALS = (2, 4, 8, 16, 32)
#: Accounts compared, with the words for them.
ACCOUNTS = {"naive": "naive composition", "set-cover": "set cover", "optimal": "optimal"}
FRESH = 10_000

Sample = tuple[NDArray[np.bool_], NDArray[np.bool_]]


def draw_sample(k: int, n: int, d: int, rng: np.random.Generator) -> Sample:
    """Examples, shape (n, d), and labels; the target is x0 ∧ ... ∧ x(k-1)."""
    shares = (np.arange(d) * 256 // d).astype(np.uint8)
    X = rng.integers(0, 256, (n, d), dtype=np.uint8) < shares
    y = rng.random(n) < 0.5
    decoys = slice(k, k + (d - k) // 2)
    X[:, decoys] = rng.integers(0, 8 * k, X[:, decoys].shape, dtype=np.uint16) == 0
    X[y, decoys] = False
    X[:, :k] = True
    negative = np.flatnonzero(~y)
    X[negative, rng.integers(0, k, len(negative))] = False
    return X, y


def median_error(k: int, n: int, account: str, seeds: int) -> float:
    """Median error on fresh examples."""
    errors = []
    for seed in range(seeds):
        rng = np.random.default_rng([seed, k])
        fresh = draw_sample(k, FRESH, VARIABLES, rng)
        X, y = draw_sample(k, n, VARIABLES, rng)
        learner = ConjunctionLearner(
            epsilon=EPSILON, delta=DELTA, k=k, n_steps=3 * k, account=account, seed=seed
        )
        errors.append(1 - learner.fit(X, y).score(*fresh))
    return float(np.median(errors))


def examples_needed(k: int, account: str, seeds: int) -> int:
    """The least n of the grid, by bisection: more examples help."""
    low, high = 0, 24
    while median_error(k, math.ceil(RATIO**high), account, seeds) > ERROR:
        low, high = high, high + 12
    while high - low > 1:
        middle = (low + high) // 2
        if median_error(k, math.ceil(RATIO**middle), account, seeds) <= ERROR:
            high = middle
        else:
            low = middle
    n = math.ceil(RATIO**high)
    tell(f"k = {k}, {account}: n = {n:,}")
    return n


def examples_part(literals: Sequence[int], seeds: int) -> dict[str, list[int]]:
    """n by account, for each k."""
    return {a: [examples_needed(k, a, seeds) for k in literals] for a in ACCOUNTS}


def examples_table(literals: Sequence[int], needed: dict[str, list[int]]) -> str:
    """The measured n, the ratio of the first and the last account, and guaranteed n."""
    headings = (
        "k",
        *ACCOUNTS.values(),
        "naive / optimal",
        "guaranteed, naive",
        "guaranteed, optimal",
    )
    rows = []
    for i, k in enumerate(literals):
        figures = [f"{needed[a][i]:,}" for a in ACCOUNTS]
        ratio = f"{needed['naive'][i] / needed['optimal'][i]:.1f}"
        rows.append((f"{k}", *figures, ratio, *(guaranteed(k, a) for a in ("naive", "optimal"))))
    return markdown(headings, rows)


def guaranteed(k: int, account: Any) -> str:
    """Examples that the bound asks for, at the same error, beta = 0.1."""
    plan = cover_examples(VARIABLES, k, ERROR, 0.1, epsilon=EPSILON, delta=DELTA, account=account)
    return "–" if plan.examples is None else f"{plan.examples:,}"


# --- the picture -------------------------------------------------------------------------------

WIDTH, HEIGHT, MARGIN = 660, 400, (85, 40, 140, 50)
COLOURS = {"naive": "#b2182b", "set-cover": "#4d9221", "optimal": "#2166ac"}


def picture(literals: Sequence[int], needed: dict[str, list[int]]) -> str:
    """Both axes logarithmic, as SVG."""
    left, top, right, bottom = MARGIN
    numbers = [n for row in needed.values() for n in row]
    exponents = math.floor(math.log10(min(numbers))), math.ceil(math.log10(max(numbers)))

    def x(k: int) -> float:
        share = math.log(k / literals[0]) / math.log(literals[-1] / literals[0])
        return left + share * (WIDTH - left - right)

    def y(n: float) -> float:
        share = (math.log10(n) - exponents[0]) / (exponents[1] - exponents[0])
        return HEIGHT - bottom - share * (HEIGHT - top - bottom)

    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}"'
        ' font-family="sans-serif" font-size="13">',
        f'<rect width="{WIDTH}" height="{HEIGHT}" fill="white"/>',
    ]
    for exponent in range(exponents[0], exponents[1] + 1):
        at = y(10**exponent)
        parts.append(f'<path d="M{left} {at:.1f}H{WIDTH - right}" stroke="#ddd"/>')
        parts.append(text(left - 8, at + 4, f"{10**exponent:,}", "end"))
    for k in literals:
        parts.append(text(x(k), HEIGHT - bottom + 20, str(k), "middle"))
    parts.append(text((left + WIDTH - right) / 2, HEIGHT - 8, "literals k", "middle"))
    parts.append(text(12, 18, f"examples for {ERROR:.0%} error", "start"))
    for account, row in needed.items():
        points = " ".join(f"{x(k):.1f},{y(n):.1f}" for k, n in zip(literals, row, strict=True))
        colour = COLOURS[account]
        parts.append(
            f'<polyline points="{points}" fill="none" stroke="{colour}" stroke-width="2"/>'
        )
        label = text(WIDTH - right + 8, y(row[-1]) + 4, ACCOUNTS[account], "start")
        parts.append(f'<g fill="{colour}">{label}</g>')
    return "\n".join([*parts, "</svg>", ""])


def text(x: float, y: float, words: str, anchor: str) -> str:
    return f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}">{words}</text>'


# --- time --------------------------------------------------------------------------------------


def sparse_sample(k: int, n: int, d: int, ones: int, seed: int) -> tuple[Any, NDArray[np.bool_]]:
    """As :func:`draw_sample` with about `ones` ones a row beside the target's, as CSR."""
    rng = np.random.default_rng(seed)
    dense, y = draw_sample(k, n, k, rng)
    rows = np.repeat(np.arange(n, dtype=np.int32), ones)
    columns = rng.integers(k, d, n * ones, dtype=np.int32)
    target_rows, target_columns = np.nonzero(dense)
    where = (
        np.concatenate([rows, target_rows.astype(np.int32)]),
        np.concatenate([columns, target_columns.astype(np.int32)]),
    )
    X = scipy.sparse.coo_array((np.ones(len(where[0]), np.int8), where), shape=(n, d)).tocsr()
    # where a column was drawn twice
    X.data[:] = 1
    return X, y


def time_part(seeds: int, scale: int) -> str:
    """Whole runs, medians over seeds."""
    n, d, few, less = 1_000_000 // scale, 100_000 // scale, 200_000 // scale, 2_000

    def sparse(k: int, seed: int) -> tuple[Any, NDArray[np.bool_]]:
        return sparse_sample(k, n, d, 30, seed)

    def dense(k: int, seed: int) -> tuple[Any, NDArray[np.bool_]]:
        return draw_sample(k, few, less, np.random.default_rng(seed))

    def private(k: int, seed: int) -> BooleanLearner:
        return ConjunctionLearner(epsilon=EPSILON, delta=DELTA, k=k, seed=seed)

    on_sparse, on_dense = f"n = {n:,}, d = {d:,}, sparse", f"n = {few:,}, d = {less:,}, dense"
    cases: list[tuple[str, int, Callable[[int, int], Any], Callable[[int, int], Any]]] = [
        (f"private, k = 10, {on_sparse}", 10, sparse, private),
        (f"private, k = 20, {on_sparse}", 20, sparse, private),
        (f"greedy, k = 10, {on_sparse}", 10, sparse, lambda k, seed: GreedyConjunctionLearner()),
        (f"consistent, {on_sparse}", 10, sparse, lambda k, seed: ConsistentConjunctionLearner()),
        (f"private, k = 10, {on_dense}", 10, dense, private),
        (f"private, k = 20, {on_dense}", 20, dense, private),
    ]
    rows = []
    for name, k, sample, make in cases:
        seconds, units, errors = [], [], []
        for seed in range(seeds):
            X, y = sample(k, seed)
            before = unit_seconds(1)
            start = time.perf_counter()
            model = make(k, seed).fit(X, y)
            seconds.append(time.perf_counter() - start)
            units.append(2 * seconds[-1] / (before + unit_seconds(1)))
            errors.append(1 - model.score(X, y))
        median = float(np.median(seconds))
        tell(f"{name}: {median:.2f} s")
        figures = (f"{median:.2f}", f"{np.median(units):.2f}", f"{max(units):.2f}")
        rows.append((name, *figures, f"{np.median(errors):.2%}"))
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    table = markdown(("", "median s", "median U", "worst U", "training error"), rows)
    return f"Peak memory {peak:,.0f} MB, samples included.\n\n{table}"


def tell(words: str) -> None:
    """Progress."""
    print(words, file=sys.stderr, flush=True)


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--part", choices=("examples", "time"), nargs="+", help="only these")
    parser.add_argument("--seeds", type=int, default=5, metavar="N", help="0 to N - 1 (default 5)")
    parser.add_argument("--picture", type=Path, metavar="FILE", help="write the drawing there")
    parser.add_argument("--quick", action="store_true", help="small samples, to try the script")
    options = parser.parse_args()
    parts = options.part or ("examples", "time")
    seeds = 1 if options.quick else options.seeds
    command = " ".join(["python benchmarks/conjunctions.py", *sys.argv[1:]])
    print(f"`{command}`: {describe_run()}", flush=True)
    if "examples" in parts:
        literals = LITERALS[:2] if options.quick else LITERALS
        needed = examples_part(literals, seeds)
        print(f"\n{examples_table(literals, needed)}", flush=True)
        if options.picture is not None:
            options.picture.write_text(picture(literals, needed), encoding="utf-8")
    if "time" in parts:
        print(f"\n{time_part(seeds, 100 if options.quick else 1)}", flush=True)


if __name__ == "__main__":
    main()
