"""The second process compiles what a run would, for the types that a run has."""

import gc
import inspect
import os
import subprocess
import sys
import time
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from numba import typeof

from geometry import compiled_loops
from geometry.halfplane import HalfplaneLattice
from learners.core.selection import mistakes_score
from learners.envelope import compiled_beside, core
from learners.envelope.boxes import first_boxes
from learners.envelope.compiled_beside import FEWEST, LOOPS, compiling_beside, signatures
from learners.envelope.race import weigh_all
from learners.envelope.strands import Examples, start_strand
from learners.envelope.target import make_target
from learners.envelope.workspace import make_workspace
from learners.privacy.randomness import SeededRandom
from tests.support.counted import counted

ROOT = Path(__file__).parents[3]

_DRAWN = """
from numba.core import event
from learners.envelope.compiled_beside import draw_once

class Names(event.Listener):
    heard = []
    def on_start(self, event):
        self.heard.append(event.data["dispatcher"].py_func.__name__)
    def on_end(self, event):
        pass

with event.install_listener("numba:compile", Names()):
    draw_once()
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
        names = inspect.signature(getattr(function, "py_func", function)).parameters
        assert types == tuple(of_run[name] for name in names)
        compiled += 1
    assert compiled == 5


@pytest.mark.slow
def test_what_it_compiled_is_found_in_the_cache(tmp_path: Path) -> None:
    environment = os.environ | {"NUMBA_CACHE_DIR": str(tmp_path), "PYTHONPATH": str(ROOT)}
    names = {function.__name__ for function, _ in signatures()}
    heard = []
    for beside in (False, True):
        if beside:
            for file in tmp_path.rglob("*.nb?"):
                file.unlink()
            code = "from learners.envelope.compiled_beside import compile_here; compile_here()"
            told = subprocess.run(
                [sys.executable, "-c", code],
                env=environment, capture_output=True, text=True, check=True,
            )  # fmt: skip
            assert {each.split(".")[-1] for each in told.stdout.split()} == names
        done = subprocess.run(
            [sys.executable, "-c", _DRAWN],
            env=environment, capture_output=True, text=True, check=True,
        )  # fmt: skip
        heard.append(names & set(done.stdout.split()))
    assert heard == [names, set()]


#: A second process that says at once that nearly all is done.
_PROMPT = """
from learners.envelope import compiled_beside as beside
for loop in sorted(beside.LOOPS)[1:]:
    beside.tell_compiled(loop)
"""


def test_loops_that_the_second_process_compiles_are_waited_for(tmp_path, monkeypatch):
    (tmp_path / "prompt_helper.py").write_text(_PROMPT)
    monkeypatch.setenv("PYTHONPATH", f"{tmp_path}{os.pathsep}{ROOT}")
    monkeypatch.setattr(compiled_beside, "draw_once", lambda: None)
    told: list[tuple[int, int]] = []
    of = len(LOOPS)
    with compiling_beside("prompt_helper", lambda *how_far: told.append(how_far)) as goes_on:
        (asked,) = compiled_loops.asked
        assert told == []
        # nobody promised it: it is compiled here, meanwhile
        assert not asked("learners.envelope.core.run_plain")
        assert told[0] == (0, of)
        promised = [f"{each.__module__}.{each.__qualname__}" for each, _ in signatures()]
        assert [asked(name) for name in [FEWEST, *promised]] == [True] * 6
    assert compiled_loops.asked == []
    while goes_on():
        time.sleep(0.01)
    assert told == [(done, of) for done in range(of)]


@pytest.mark.parametrize("collects", [False, True])
def test_garbage_is_collected_as_before_once_all_is_compiled(monkeypatch, collects):
    monkeypatch.setattr(subprocess, "Popen", lambda *_, **__: SimpleNamespace(stdout=LOOPS))
    monkeypatch.setattr(compiled_beside, "draw_once", lambda: None)
    before = gc.isenabled()
    (gc.enable if collects else gc.disable)()
    try:
        with compiling_beside("nothing", lambda *_: None) as goes_on:
            compiled_loops.asked[0]("learners.envelope.core.run")
            while goes_on():
                time.sleep(0.01)
            assert gc.isenabled() == collects  # the run itself may be long
    finally:
        (gc.enable if before else gc.disable)()


@pytest.mark.parametrize("frozen", [False, True])
def test_without_a_second_process_nothing_is_waited_for(monkeypatch, frozen):
    def refuse(*_: Any, **__: Any) -> None:
        raise OSError("no such file")

    monkeypatch.setattr(sys, "frozen", frozen, raising=False)
    monkeypatch.setattr(subprocess, "Popen", pytest.fail if frozen else refuse)
    with compiling_beside("nothing", lambda *_: None) as goes_on:
        assert not compiled_loops.asked[0](FEWEST)
        assert not goes_on()
