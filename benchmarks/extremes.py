"""Every learner on samples and budgets at the edge: each ends or refuses, in bounded time.

    python benchmarks/extremes.py [--learner NAME ...] [--patience 120] [--json]
    python benchmarks/extremes.py --registry [--learner NAME ...]

With --registry these are all declared learners, in the plane or not, on few examples: none,
one, two of either label, all in one place, all on a line; on the smallest and the largest domain;
at epsilon = 1e-6 and 20; and what a run released must survive being written and read.

Each case runs in a process of its own.  It is well when the run ends with labels 0 and 1, or one
clear ValueError of one line is raised; anything else, more than `--patience` seconds, or more
than :data:`MOST_MIB` of memory beyond what it begins with is a finding, and the exit status 1.
"""

from __future__ import annotations

import argparse
import functools
import inspect
import json
import os
import resource
import signal
import time
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from geodp_app.document.work import LEARNERS, RunSettings
from geodp_app.runs.learner_process import make_learner
from learners.baselines.noisy_histogram import NoisyHistogramLearner
from learners.baselines.quadtree import QuadtreeLearner
from learners.core.codec import release_from_dict, release_to_dict
from learners.core.estimator import Estimator
from learners.declaration import Learner
from learners.finite.finite_class import FiniteClass
from learners.registry import BY_ID

#: With interpreter and libraries a run then has 1 GiB.
MOST_MIB = 850

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
    settings = RunSettings(name, epsilon=epsilon, k=2, n_steps=2, seed=1)
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


# -- every learner that is declared ------------------------------------------------------------

#: Domains of declared learners, smallest and largest: of grids, of space, of variables; those of
#: formulas that are drawn from all there are grow as 3 to the power of the variables.
_GRIDS, _SPACES, _VARIABLES, _FEW_VARIABLES = (1, MAX_GRID), (1, 64), (1, 256), (1, 8)
_BUDGETS = (1e-6, 20.0)

_THREE = FiniteClass(np.array([[0, 1], [1, 0], [1, 1]]))


def kind(learner: Learner) -> str:
    """What it learns of: "plane", "space", "bits", or a "list" of concepts on numbers."""
    if learner.piece in ("halfspace", "simplex", "ball"):
        return "space"
    if learner.id.endswith(("conjunction", "disjunction", "parity")):
        return "bits"
    return "list" if learner.piece == "concept" else "plane"


def domains(learner: Learner) -> tuple[int, ...]:
    """Sizes of a learner's domain."""
    if learner.id.startswith("private-consistent"):
        return _FEW_VARIABLES
    sizes = {"space": _SPACES, "bits": _VARIABLES, "list": (1,), "plane": _GRIDS}
    return sizes[kind(learner)]


def built(learner: Learner, size: int, epsilon: float) -> Any:
    """A declared learner on a domain of that size, with a seed if it is private."""
    given: dict[str, Any] = {"epsilon": epsilon, "seed": 1} if learner.private else {}
    if kind(learner) == "list":
        lists = {"losses": _no_losses, "concepts": _THREE, "points": 4}
        taken = inspect.signature(learner.load()).parameters
        given |= {name: one for name, one in lists.items() if name in taken}
    elif kind(learner) != "bits":
        given["grid"] = size
    if learner.id in ("tiles", "convex"):
        given["k"] = None
    elif learner.parameter("k") is not None:
        given["k"] = 1
    return learner.build(**given)


def _no_losses(X: Any, y: Any) -> NDArray[np.int64]:
    return np.zeros((len(X), 3), dtype=np.int64)


def few(learner: Learner, size: int) -> Iterator[tuple[str, Sample]]:
    """Samples of none, one and two examples, of many in one place and of many on a line."""
    across = {"space": 3, "bits": size, "list": 1, "plane": 2}[kind(learner)]
    top = size if kind(learner) in ("space", "plane") else 1

    def rows(n: int) -> NDArray[np.int64]:
        return np.full((n, across), top, dtype=np.int64)

    for n in (0, 1, 2):
        for label in (0, 1) if n else (0,):
            yield f"{n} of label {label}", (rows(n), np.full(n, label, dtype=np.int64))
    both = (np.arange(200) % 2).astype(np.int64)
    yield "one place, both labels", (rows(200), both)
    line = rows(200)
    line[:, 0] = np.arange(200) * top // 199
    yield "on a line", (line, (np.arange(200) >= 100).astype(np.int64))


def declared_cases(learner: Learner) -> Iterator[tuple[str, Callable[[], str]]]:
    """(what, run) of a declared learner."""
    for size in domains(learner):
        for what, sample in few(learner, size):
            for epsilon in _BUDGETS if learner.private else (1.0,):
                name = f"size {size}, epsilon = {epsilon}, {what}"
                yield name, functools.partial(declared_run, learner, size, epsilon, sample)


def declared_run(learner: Learner, size: int, epsilon: float, sample: Sample) -> str:
    """Fit, write, read and predict: "ends", or "refuses: why"."""
    try:
        model = built(learner, size, epsilon).fit(*sample)
    except ValueError as error:
        return refusal(error)
    release = model.release_
    if learner.private and release.privacy.epsilon != epsilon:
        raise AssertionError(f"states epsilon = {release.privacy.epsilon}")
    written = json.dumps(release_to_dict(release))
    if release_from_dict(json.loads(written)) != release:
        raise AssertionError("the release is another one when it is read back")
    return "ends"


def refusal(error: ValueError) -> str:
    """What is noted of an error that is one clear line; any other is a finding."""
    text = str(error)
    if not text or len(text.splitlines()) > 1 or len(text) > 400:
        raise AssertionError(f"no clear line: {text!r}") from error
    return f"refuses: {text}"


# -- learners of the plane ---------------------------------------------------------------------


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
        return refusal(error)
    predicted: Any = model.predict(points)
    if not set(predicted.tolist()) <= {0, 1}:
        raise AssertionError("labels other than 0 and 1")
    return "ends"


def _peak() -> int:
    """MiB of this process at most so far."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024


def apart(work: Callable[[], str], patience: float) -> tuple[str, float, int]:
    """Run in a child: what came of it, seconds, MiB beyond those that it has of its parent."""
    reader, writer = os.pipe()
    begun = time.perf_counter()
    child = os.fork()
    if child == 0:
        before = _peak()
        try:
            answer = work()
        except BaseException as error:
            answer = f"BREAKS: {type(error).__name__}: {' '.join(str(error).split())[:200]}"
        os.write(writer, f"{_peak() - before} {answer}".encode()[:4000])
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
    parser.add_argument("--registry", action="store_true", help="all declared learners")
    parser.add_argument("--learner", nargs="+", choices=sorted({*NAMES, *BY_ID}))
    parser.add_argument("--patience", type=float, default=120.0)
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    bad = 0
    for name in options.learner or (tuple(BY_ID) if options.registry else NAMES):
        if options.registry:
            found = list(declared_cases(BY_ID[name]))
            # compile once
            apart(found[0][1], options.patience)
            found[-1][1]()
        else:
            make(name, 64, 1.0).fit(*dict(samples(64))["labels by chance"])
            found = [(what, work) for _, what, work in cases((name,))]
        bad += _report(name, found, options.patience)
    return 1 if bad else 0


def _report(name: str, found: list[tuple[str, Callable[[], str]]], patience: float) -> int:
    """Run cases, print a line of JSON, and say how many are not well."""
    tally = {"ends": 0, "refuses": 0}
    slowest, most, bad = (0.0, ""), 0, []
    for what, work in found:
        answer, seconds, used = apart(work, patience)
        word = answer.split(":")[0].strip()
        if used > MOST_MIB:
            answer, word = f"BREAKS: {used} MiB", "BREAKS"
        expected = "to be refused" in what
        if word == "BREAKS" or (expected and word != "refuses"):
            bad.append(f"{what}: {answer}")
        else:
            tally[word] += 1
        slowest, most = max(slowest, (seconds, what)), max(most, used)
    report = {
        "learner": name, **tally, "slowest": round(slowest[0], 2), "at": slowest[1],
        "peak_mib": most, "findings": bad,
    }  # fmt: skip
    print(json.dumps(report), flush=True)
    return len(bad)


if __name__ == "__main__":
    raise SystemExit(main())
