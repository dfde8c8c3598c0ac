"""Every learner on samples and budgets at the edge: each ends or refuses, in bounded time.

    python benchmarks/extremes.py [--learner NAME ...] [--patience 120] [--json]

Each case runs in a process of its own.  It is well when the run ends with labels 0 and 1, or one
clear ValueError of one line is raised; anything else, more than `--patience` seconds, or more
than 1 GiB of memory is a finding, and the exit status 1.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import signal
import sys
import time
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from geodp_app.document.work import LEARNERS, RunSettings
from geodp_app.runs.learner_process import make_learner
from learners.estimator import Estimator
from learners.noisy_histogram import NoisyHistogramLearner
from learners.quadtree import QuadtreeLearner

Sample = tuple[NDArray[np.int64], NDArray[np.int64]]

#: Largest grid on which a learner promises to run; others take all.
CURVED_GRID, MAX_GRID = 2048, 1 << 20
EPSILONS = (1e-300, 1e-3, 1.0, 1e3, 1e300)
#: Budgets that must be refused.
REFUSED = (0.0, -1.0, float("nan"), float("inf"))
NAMES = (*LEARNERS, "histogram", "quadtree")


def make(name: str, grid: int, epsilon: float) -> Estimator:
    """A learner with small parameters and a seed."""
    if name == "histogram":
        return NoisyHistogramLearner(grid=grid, epsilon=epsilon, seed=1)
    if name == "quadtree":
        return QuadtreeLearner(grid=grid, epsilon=epsilon, seed=1)
    settings = RunSettings(name, epsilon=epsilon, k=2, n_steps=2, seed=1)  # type: ignore[arg-type]
    return make_learner(settings, grid)


def samples(d: int, n: int = 200) -> Iterator[tuple[str, Sample]]:
    """Samples that have no area, no difference, or no sense."""
    rng = np.random.default_rng(1)
    x = rng.integers(0, d + 1, n)
    half = (np.arange(n) % 2).astype(np.int64)
    yield "one example", (np.array([[0, d]]), np.array([1]))
    yield "all at one point", (np.full((n, 2), d // 2), np.ones(n, dtype=np.int64))
    yield "one point, both labels", (np.full((n, 2), d), half)
    yield "on a row", (np.column_stack([x, np.zeros_like(x)]), (x > d // 2).astype(np.int64))
    yield "on a column", (np.column_stack([np.full_like(x, d), x]), (x > d // 2).astype(np.int64))
    yield "on the diagonal", (np.column_stack([x, x]), (x < d // 3).astype(np.int64))
    yield "all labels 0", (rng.integers(0, d + 1, (n, 2)), np.zeros(n, dtype=np.int64))
    yield "labels by chance", (rng.integers(0, d + 1, (n, 2)), rng.integers(0, 2, n))


def cases(names: tuple[str, ...] = NAMES) -> Iterator[tuple[str, str, Callable[[], str]]]:
    """(learner, what, run)."""
    for name in names:
        for d in (1, 2, 64, 1024, MAX_GRID):
            for what, sample in samples(d):
                yield name, f"d = {d}, {what}", lambda s=sample, n=name, g=d: run(n, g, 1.0, s)
        sample = dict(samples(64))["labels by chance"]
        for epsilon in EPSILONS:
            yield (
                name,
                f"epsilon = {epsilon}",
                lambda s=sample, n=name, e=epsilon: run(n, 64, e, s),
            )
        if not name.startswith("greedy"):
            for epsilon in REFUSED:
                yield (
                    name,
                    f"epsilon = {epsilon}, to be refused",
                    lambda s=sample, n=name, e=epsilon: run(n, 64, e, s),
                )


def run(name: str, d: int, epsilon: float, sample: Sample) -> str:
    """Fit and predict: "ends", or "refuses: why"."""
    points, labels = sample
    try:
        model = make(name, d, epsilon)
        model.fit(points, labels)
    except ValueError as error:
        text = str(error)
        if not text or len(text.splitlines()) > 1 or len(text) > 400:
            raise AssertionError(f"no clear line: {text!r}") from error
        return f"refuses: {text}"
    predicted: Any = model.predict(points)
    if not set(predicted.tolist()) <= {0, 1}:
        raise AssertionError("labels other than 0 and 1")
    return "ends"


def apart(work: Callable[[], str], patience: float) -> tuple[str, float, int]:
    """Run in a child: what came of it, seconds, MiB."""
    reader, writer = os.pipe()
    begun = time.perf_counter()
    child = os.fork()
    if child == 0:
        try:
            answer = work()
        except BaseException as error:
            answer = f"BREAKS: {type(error).__name__}: {' '.join(str(error).split())[:200]}"
        used = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024
        os.write(writer, f"{used} {answer}".encode()[:4000])
        os._exit(0)
    os.close(writer)
    while True:
        ended, status, usage = os.wait4(child, os.WNOHANG)
        if ended:
            break
        if time.perf_counter() - begun > patience:
            os.kill(child, signal.SIGKILL)
            os.waitpid(child, 0)
            os.close(reader)
            return "BREAKS: hangs", time.perf_counter() - begun, 0
        time.sleep(0.002)
    text = os.read(reader, 4096).decode()
    os.close(reader)
    seconds = time.perf_counter() - begun
    if not text:
        return f"BREAKS: ends the process, status {status}", seconds, usage.ru_maxrss // 1024
    used, _, answer = text.partition(" ")
    return answer, seconds, int(used)


def main() -> int:
    """Run all cases and report."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--learner", nargs="+", choices=NAMES, default=NAMES)
    parser.add_argument("--patience", type=float, default=120.0)
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    bad = 0
    for name in options.learner:
        make(name, 64, 1.0).fit(*dict(samples(64))["labels by chance"])  # compile once
        tally = {"ends": 0, "refuses": 0}
        slowest, most, found = (0.0, ""), 0, []
        for _, what, work in cases((name,)):
            answer, seconds, used = apart(work, options.patience)
            word = answer.split(":")[0].strip()
            if used > 1024:
                answer, word = f"BREAKS: {used} MiB", "BREAKS"
            expected = "to be refused" in what
            if word == "BREAKS" or (expected and word != "refuses"):
                found.append(f"{what}: {answer}")
            else:
                tally[word] += 1
            slowest, most = max(slowest, (seconds, what)), max(most, used)
        bad += len(found)
        report = {
            "learner": name, **tally, "slowest": round(slowest[0], 2), "at": slowest[1],
            "peak_mib": most, "findings": found,
        }  # fmt: skip
        print(json.dumps(report), flush=True)
        sys.stdout.flush()
    return 1 if bad else 0


if __name__ == "__main__":
    raise SystemExit(main())
