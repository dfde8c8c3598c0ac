"""Private learning through stability: what it costs, when it wins, how long it takes.

    python benchmarks/stability.py [--part NAME ...] [--seeds N] [--picture FILE] [--quick]

Prints Markdown tables, and progress on stderr; `--picture` writes the first part's table as an SVG
drawing.

*chunks*: chunks with which all of m queries on which nine tenths of the chunks agree are answered
rightly but for probability 0.1: by stability with T unanswered ones, with the tight and the printed
constants, and by the baseline in which every query pays, by zCDP and by advanced composition.
Computed, not measured.

*drawing*: StabilityLearner on uniform examples of drawn targets: error on fresh points, seconds,
labelled points.  By its side the interpolated noisy histogram and the private union of triangles.

*time*: 10^6 examples, 1,000 chunks, 10,000 queries with a quick base, in units U.
"""

from __future__ import annotations

import argparse
import math
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np
from common import DELTA, EPSILON, GRID, describe_run, draw_sample, markdown, unit_seconds
from promises.bounds import noisy_chunks

from learners import NoisyHistogramLearner, PolygonUnionLearner
from learners.core.estimator import Estimator
from learners.stability.base_learners import MajorityCells
from learners.stability.classifiers import StableQueryClassifier
from learners.stability.sample_and_aggregate import plan_noisy_votes
from learners.stability.stability_learner import StabilityLearner
from learners.stability.stable_queries import chunks_needed, plan_sparse_vector

QUERIES = (10, 30, 100, 300, 1000, 3000, 10_000, 30_000, 100_000)
HALTS = (1, 10, 100)
AGREEMENT, BETA = 0.9, 0.1


def chunks_part() -> dict[str, list[int | None]]:
    """Chunks by mechanism, for each m; None where there are fewer queries than halts."""
    found: dict[str, list[int | None]] = {}
    for halts in HALTS:
        for constants in ("tight", "printed"):
            row: list[int | None] = []
            for m in QUERIES:
                if halts > m:
                    row.append(None)
                    continue
                budget = plan_sparse_vector(
                    EPSILON,
                    DELTA,
                    queries=m,
                    halts=halts,
                    constants="tight" if constants == "tight" else "printed",
                )
                row.append(chunks_needed(budget, BETA, AGREEMENT))
            found[f"T = {halts}" + (", printed" if constants == "printed" else "")] = row
    for account in ("zcdp", "advanced"):
        name: Any = account
        found[f"every query pays, {account}"] = [
            noisy_chunks(plan_noisy_votes(EPSILON, DELTA, queries=m, account=name), BETA, AGREEMENT)
            for m in QUERIES
        ]
    return found


def chunks_table(found: dict[str, list[int | None]]) -> str:
    rows = [
        (name, *("–" if n is None else f"{n:,}" for n in numbers))
        for name, numbers in found.items()
    ]
    return markdown(("chunks, by queries m", *(f"{m:,}" for m in QUERIES)), rows)


#: Rows of the part `drawing`: what, target, learner of a seed.
DRAWING: tuple[tuple[str, str, Any], ...] = (
    ("stability, default", "tri", lambda s: StabilityLearner(k=1, seed=s)),
    ("stability, random points and coins", "tri",
     lambda s: StabilityLearner(k=1, seed=s, points="random", unanswered="coin", queries=60)),
    ("stability, labels alone protected", "tri",
     lambda s: StabilityLearner(k=1, seed=s, neighbours="replace-label")),
    ("stability, default", "L", lambda s: StabilityLearner(k=2, seed=s)),
    ("stability, default", "three", lambda s: StabilityLearner(k=3, seed=s)),
    ("interpolated noisy histogram", "tri", lambda s: NoisyHistogramLearner(seed=s)),
    ("private union of triangles, k = 1", "tri", lambda s: PolygonUnionLearner(k=1, seed=s)),
)  # fmt: skip


def drawing_part(seeds: int, sizes: tuple[int, ...]) -> str:
    rows = []
    for name, target, make in DRAWING:
        fresh = draw_sample(target, "uniform", 200_000, GRID, 10**6)
        for n in sizes:
            errors, seconds, labelled = [], [], []
            for seed in range(seeds):
                X, y = draw_sample(target, "uniform", n, GRID, seed)
                start = time.perf_counter()
                model: Estimator = make(seed).fit(X, y)
                seconds.append(time.perf_counter() - start)
                errors.append(1 - model.score(*fresh))
                if isinstance(model, StabilityLearner):
                    labelled.append(sum(a.value is not None for _, a in model.answers_))
            tell(f"{name}, {target}, n = {n:,}: {sorted(errors)}, {np.median(seconds):.1f} s")
            points = f"{np.median(labelled):.0f}" if labelled else ""
            rows.append(
                (name, target, f"{n:,}", f"{np.median(errors):.2%}", f"{min(errors):.2%}",
                 f"{max(errors):.2%}", points, f"{np.median(seconds):.1f}")
            )  # fmt: skip
    headings = (
        "",
        "target",
        "n",
        "median error",
        "least",
        "largest",
        "labelled points",
        "median s",
    )
    return markdown(headings, rows)


def time_part(scale: int) -> str:
    unit = unit_seconds(1 if scale > 1 else 5)
    n, chunks, m = 1_000_000 // scale, 1000, 10_000 // scale
    rng = np.random.default_rng(0)
    X = rng.integers(0, GRID + 1, (n, 2))
    y = (X[:, 0] > GRID // 2).astype(int)
    asked = rng.integers(0, GRID + 1, (m, 2))
    rows = []
    for name, halts, epsilon in (("8 × 8 majority cells", 4, EPSILON),):
        start = time.perf_counter()
        model = StableQueryClassifier(
            base=MajorityCells(grid=GRID, cells=8), epsilon=epsilon, queries=m, halts=halts,
            chunks=chunks, seed=1,
        ).fit(X, y)  # fmt: skip
        trained = time.perf_counter() - start
        answers = model.answer(asked)
        total = time.perf_counter() - start
        known = answers >= 0
        wrong = np.mean(answers[known] != (asked[known, 0] > GRID // 2)) if known.any() else 0.0
        rows.append(
            (name, f"{halts}", f"{trained:.2f}", f"{total:.2f}", f"{total / unit:.2f}",
             f"{known.mean():.1%}", f"{wrong:.2%}")
        )  # fmt: skip
    table = markdown(
        ("base", "T", "training s", "all s", "all U", "answered", "of these wrong"), rows
    )
    size = f"{n:,} examples, {chunks:,} chunks, {m:,} queries"
    return f"U = {unit:.2f} s; {size}\n\n{table}"


# --- the picture -------------------------------------------------------------------------------

WIDTH, HEIGHT, MARGIN = 640, 400, (70, 24, 150, 50)
SHOWN = {
    "T = 1": "#2166ac",
    "T = 10": "#4393c3",
    "T = 100": "#92c5de",
    "every query pays, zcdp": "#b2182b",
}


def picture(found: dict[str, list[int | None]]) -> str:
    """Both axes logarithmic, as SVG."""
    left, top, right, bottom = MARGIN
    low, high = 1, 5

    def x(m: int) -> float:
        share = math.log(m / QUERIES[0]) / math.log(QUERIES[-1] / QUERIES[0])
        return left + share * (WIDTH - left - right)

    def y(n: float) -> float:
        share = (math.log10(n) - low) / (high - low)
        return HEIGHT - bottom - share * (HEIGHT - top - bottom)

    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}"'
        ' font-family="sans-serif" font-size="13">',
        f'<rect width="{WIDTH}" height="{HEIGHT}" fill="white"/>',
    ]
    for exponent in range(low, high + 1):
        at = y(10**exponent)
        parts.append(f'<path d="M{left} {at:.1f}H{WIDTH - right}" stroke="#ddd"/>')
        parts.append(text(left - 8, at + 4, f"{10**exponent:,}", "end"))
    for m in QUERIES[::2]:
        parts.append(text(x(m), HEIGHT - bottom + 20, f"{m:,}", "middle"))
    parts.append(text((left + WIDTH - right) / 2, HEIGHT - 8, "queries m", "middle"))
    parts.append(text(left - 50, top - 8, "chunks", "start"))
    for name, colour in SHOWN.items():
        known = [(m, n) for m, n in zip(QUERIES, found[name], strict=True) if n is not None]
        points = " ".join(f"{x(m):.1f},{y(n):.1f}" for m, n in known)
        parts.append(
            f'<polyline points="{points}" fill="none" stroke="{colour}" stroke-width="2"/>'
        )
        label = "every query pays" if name.startswith("every") else f"{name} unanswered"
        end = text(WIDTH - right + 8, y(known[-1][1]) + 4, label, "start")
        parts.append(f'<g fill="{colour}">{end}</g>')
    return "\n".join([*parts, "</svg>", ""])


def text(x: float, y: float, words: str, anchor: str) -> str:
    return f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}">{words}</text>'


def tell(words: str) -> None:
    """Progress."""
    print(words, file=sys.stderr, flush=True)


def main() -> None:
    """Compute, measure and print."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parts = ("chunks", "drawing", "time")
    parser.add_argument("--part", choices=parts, nargs="+", help="only these")
    parser.add_argument("--seeds", type=int, default=5, metavar="N", help="0 to N - 1 (default 5)")
    parser.add_argument(
        "--sizes", type=int, nargs="+", default=(100_000, 1_000_000), metavar="N",
        help="examples of the drawing (default 100000 1000000)",
    )  # fmt: skip
    parser.add_argument("--picture", type=Path, metavar="FILE", help="write the drawing there")
    parser.add_argument("--quick", action="store_true", help="small samples, to try the script")
    options = parser.parse_args()
    wanted = options.part or parts
    command = " ".join(["python benchmarks/stability.py", *sys.argv[1:]])
    print(f"`{command}`: {describe_run()}", flush=True)
    if "chunks" in wanted:
        found = chunks_part()
        print(f"\n{chunks_table(found)}", flush=True)
        if options.picture is not None:
            options.picture.write_text(picture(found), encoding="utf-8")
    if "drawing" in wanted:
        sizes = (3000,) if options.quick else tuple(options.sizes)
        print(f"\n{drawing_part(1 if options.quick else options.seeds, sizes)}", flush=True)
    if "time" in wanted:
        print(f"\n{time_part(100 if options.quick else 1)}", flush=True)


if __name__ == "__main__":
    main()
