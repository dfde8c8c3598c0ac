"""The second process compiles what a run would, for the types that a run has."""

from __future__ import annotations

import inspect
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numba import typeof

from geometry.halfplane import HalfplaneLattice
from learners.core.selection import mistakes_score
from learners.envelope import core
from learners.envelope.boxes import first_boxes
from learners.envelope.compiled_beside import compile_beside, signatures
from learners.envelope.factorised_boxes import make_workspace
from learners.envelope.race import weigh_all
from learners.envelope.strands import Examples, start_strand
from learners.envelope.target import make_target
from learners.privacy.randomness import SeededRandom
from tests.support.counted import counted

_FACTORISED = """
from numba.core import event
from geodp_app.runs import warm_up
from geometry.grid_counts import GridCounts
from geometry.halfplane import HalfplaneLattice

class Names(event.Listener):
    heard = []
    def on_start(self, event):
        self.heard.append(event.data["dispatcher"].py_func.__name__)
    def on_end(self, event):
        pass

points, labels = warm_up.tiny_sample()
with event.install_listener("numba:compile", Names()):
    warm_up.factorise(GridCounts.of_examples(points, labels, 8), HalfplaneLattice(8))
print(*Names.heard)
"""


def test_the_types_are_those_of_a_run(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of every argument that a draw hands to its loop and the loop on to the functions."""
    run, of_run = core.run, {}

    def listening(*arguments: Any) -> Any:
        names = inspect.signature(run.py_func).parameters
        of_run.update(zip(names, map(typeof, arguments), strict=True))
        return run(*arguments)

    monkeypatch.setattr(core, "run", listening)
    rng = np.random.default_rng(1)
    points = rng.integers(0, 1025, (3000, 2))
    labels = rng.random(3000) < 0.5
    counts, lattice = counted(points, labels, 1024), HalfplaneLattice(1024)
    target = make_target(lattice, mistakes_score(2), 0.02, counts.n)
    first, source = first_boxes(lattice, 3), SeededRandom(1)
    strand = start_strand(lattice, target, Examples.of(counts), first, source, 1 << 20, 1 << 20)
    strand.workspace = make_workspace()
    weigh_all([strand])
    strand.advance(0.0)
    of_run |= {"work": of_run["workspace"], "index": typeof(np.int64(0))}
    of_run |= dict.fromkeys(("at", "count", "outcome"), of_run["index"])
    compiled = 0
    for function, types in signatures():
        names = inspect.signature(function).parameters
        assert types == tuple(of_run[name] for name in names)
        compiled += 1
    assert compiled == 3


@pytest.mark.slow
def test_what_it_compiled_is_found_in_the_cache(tmp_path: Path) -> None:
    environment = os.environ | {"NUMBA_CACHE_DIR": str(tmp_path)}
    names = {function.__name__ for function, _ in signatures()}
    heard = []
    for beside in (False, True):
        if beside:
            for file in tmp_path.rglob("*.nb?"):
                file.unlink()
            module = "learners.envelope.compiled_beside"
            subprocess.run([sys.executable, "-m", module], env=environment, check=True)
        done = subprocess.run(
            [sys.executable, "-c", _FACTORISED],
            env=environment, capture_output=True, text=True, check=True,
        )  # fmt: skip
        heard.append(names & set(done.stdout.split()))
    assert heard == [names, set()]


def test_without_an_interpreter_nothing_is_started(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: Any, **__: Any) -> None:
        raise OSError("no such file")

    monkeypatch.setattr(subprocess, "Popen", refuse)
    assert compile_beside() is None
    monkeypatch.setattr(sys, "frozen", True, raising=False)
    monkeypatch.setattr(subprocess, "Popen", pytest.fail)
    assert compile_beside() is None
