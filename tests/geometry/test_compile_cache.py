"""Compiled loops find a folder where numba would find none."""

import importlib
import itertools
import os
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from geometry import compiled_loops
from geometry.compiled_loops import ensure_cache, njit
from learners import PolygonUnionLearner
from learners.envelope import core

ROOT = Path(__file__).parents[2]
pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="POSIX folders")
#: Loading any module with a compiled loop makes numba look for its cache.
LOADS = "import learners.cover.polygons; from numba import config; print(config.CACHE_DIR, end='')"


@pytest.fixture
def homeless(tmp_path: Path) -> dict[str, str]:
    """An installation that cannot be written to, also not by root, and a user without a home."""
    for package in ("geometry", "learners"):
        shutil.copytree(
            ROOT / package, tmp_path / package, ignore=shutil.ignore_patterns("__pycache__")
        )
    for folder in [path for path in tmp_path.rglob("*") if path.is_dir()]:
        (folder / "__pycache__").touch()  # a file: no folder of that name can be made
    (tmp_path / "temporary").mkdir()
    kept = {name: value for name, value in os.environ.items() if name in ("PATH", "LANG")}
    return kept | {
        "PYTHONPATH": str(tmp_path),
        "PYTHONDONTWRITEBYTECODE": "1",
        "HOME": "/dev/null",
        "TMPDIR": str(tmp_path / "temporary"),
    }


def load(environment: dict[str, str], code: str = LOADS) -> str:
    done = subprocess.run(
        [sys.executable, "-c", code],
        env=environment, cwd=environment["TMPDIR"], capture_output=True, text=True,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


def test_a_read_only_installation_without_a_home_keeps_loops_among_temporary_files(homeless):
    folder = Path(homeless["TMPDIR"], f"geodp-numba-{os.getuid()}")
    assert load(homeless) == str(folder)
    assert folder.stat().st_mode & 0o777 == 0o700
    assert load(homeless, f"import numba; {LOADS}") == str(folder)  # numba had been loaded before
    assert [path.name for path in folder.parent.iterdir()] == [folder.name]


def test_what_others_may_write_to_is_not_taken_for_the_cache(homeless):
    folder = Path(homeless["TMPDIR"], f"geodp-numba-{os.getuid()}")
    folder.mkdir()
    folder.chmod(0o777)
    taken = Path(load(homeless))
    assert taken != folder
    assert taken.parent == folder.parent
    assert not taken.exists()  # gone with the run
    folder.rmdir()
    folder.symlink_to("/tmp")
    assert Path(load(homeless)) != folder


@pytest.mark.parametrize("where", ["source", "user"])
def test_where_numba_finds_a_place_nothing_is_changed(monkeypatch, tmp_path, where):
    monkeypatch.delenv("NUMBA_CACHE_DIR", raising=False)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    if where == "user":
        (tmp_path / "installed").touch()
        monkeypatch.setattr(compiled_loops, "__file__", str(tmp_path / "installed" / "a.py"))
    ensure_cache()
    assert "NUMBA_CACHE_DIR" not in os.environ


def test_a_folder_that_is_given_is_kept(monkeypatch):
    monkeypatch.setenv("NUMBA_CACHE_DIR", "/somewhere")
    ensure_cache()
    assert os.environ["NUMBA_CACHE_DIR"] == "/somewhere"


def test_two_processes_that_compile_two_types_at_once_share_no_file(tmp_path, monkeypatch):
    (tmp_path / "doubled.py").write_text("def doubled(x):\n    return x + x\n")
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setattr("numba.config.CACHE_DIR", str(tmp_path))
    doubled = importlib.import_module("doubled").doubled
    first, second, third = (njit(cache=True)(doubled) for _ in range(3))
    index = first._cache._cache_file
    read, reads = index._load_index, itertools.count(1)

    def overtaken():
        found = read()
        if next(reads) == 2:  # the first has compiled and saves: the other process is in between
            assert second(1.5) == 3.0
        return found

    monkeypatch.setattr(index, "_load_index", overtaken)
    assert first(2) == 4
    assert len(list(tmp_path.rglob("*.nbc"))) == 2
    assert third(2) == 4
    assert third(1.5) == 3.0


#: Learns from a few examples, from an empty cache, and prints what numba compiled how often.
COLD = """
import numpy as np
from numba.core import event
from learners.cover.polygons import PolygonUnionLearner

class Heard(event.Listener):
    def on_start(self, event):
        function = event.data["dispatcher"].py_func
        if not function.__module__.startswith("numba."):
            print(f"{function.__module__}.{function.__qualname__}")

    def on_end(self, event):
        pass

points = np.stack(np.meshgrid(range(9), range(9)), axis=-1).reshape(-1, 2)
with event.install_listener("numba:compile", Heard()):
    PolygonUnionLearner(k=1, n_steps=1, grid=8, seed=1).fit(points, points.sum(axis=1) <= 8)
"""


def test_a_run_on_few_examples_calls_no_loop_for_factorised_boxes(monkeypatch):
    calls = []

    def plain(*arguments):
        calls.append(arguments)
        return run_plain(*arguments)

    run_plain = core.run_plain
    monkeypatch.setattr(core, "run_plain", plain)
    monkeypatch.setattr(core, "run", None)  # nobody can call it
    points = np.stack(np.meshgrid(range(9), range(9)), axis=-1).reshape(-1, 2)
    PolygonUnionLearner(k=1, n_steps=1, grid=8, seed=1).fit(points, points.sum(axis=1) <= 8)
    assert calls


@pytest.mark.slow  # a cold start takes a quarter of a minute
def test_a_first_run_on_few_examples_compiles_no_factorised_boxes(tmp_path):
    # what is compiled is asked, not how well
    cold = dict(os.environ, TMPDIR=str(ROOT), NUMBA_CACHE_DIR=str(tmp_path), NUMBA_OPT="0")
    compiled = load(cold, COLD).split()
    assert compiled.count("learners.envelope.core.run_plain") == 1
    assert "learners.envelope.core.run" not in compiled
    unneeded = ("factorised_boxes", "uncertain", "workspace")
    assert not [name for name in compiled if any(each in name for each in unneeded)]


def calls(function):
    """What a new process would: the result, and how often the cache had it and had it not."""
    loop = njit(cache=True)(function)
    result = loop(21)
    return result, sum(loop.stats.cache_hits.values()), sum(loop.stats.cache_misses.values())


@pytest.mark.parametrize("ending", ["nbi", "nbc"])
@pytest.mark.parametrize("kept", [0.0, 0.02, 0.5, 0.99, None])
def test_a_damaged_file_of_the_cache_is_thrown_away_and_made_anew(
    monkeypatch, tmp_path, ending, kept
):
    monkeypatch.setattr("numba.config.CACHE_DIR", str(tmp_path))
    assert calls(_double) == (42, 0, 1)
    assert calls(_double) == (42, 1, 0)
    (file,) = tmp_path.rglob(f"*.{ending}")
    whole = file.read_bytes()
    file.write_bytes(b"no pickle" if kept is None else whole[: int(kept * len(whole))])
    assert calls(_double) == (42, 0, 1)
    # and the next run has it from the cache again
    assert calls(_double) == (42, 1, 0)


def test_a_cache_that_cannot_be_written_to_is_no_failure(monkeypatch, tmp_path):
    monkeypatch.setattr("numba.config.CACHE_DIR", str(tmp_path))

    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("numba.core.caching.IndexDataCacheFile.save", full)
    assert njit(cache=True)(_double)(21) == 42


def _double(x):
    return 2 * x
