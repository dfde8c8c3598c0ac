"""Tests in two processes side by side: no file is left out, and none is run twice."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import numpy as np
from conftest import Turns

CONFTEST = Path(__file__).parents[1] / "conftest.py"


class OfFile:
    """A test, as far as turns look at it."""

    def __init__(self, path: Path) -> None:
        self.path = path
        nothing = SimpleNamespace(teardown_exact=lambda nextitem: None)
        self.session = SimpleNamespace(_setupstate=nothing)


def test_each_file_is_run_by_one_process_whoever_comes_first(tmp_path: Path) -> None:
    rng = np.random.default_rng(1)
    files = [Path(f"/tests/{room}/test_{name}.py") for room in "ab" for name in range(8)]
    two = [Turns(tmp_path), Turns(tmp_path)]
    left = [[OfFile(file) for file in files for _ in range(3)] for _ in two]
    ran: list[list[Path]] = [[], []]
    while any(left):
        which = int(rng.integers(2))
        if left[which]:
            test = left[which].pop(0)
            if two[which].pytest_runtest_protocol(test, None) is None:  # type: ignore[arg-type]
                ran[which].append(test.path)
    assert sorted(ran[0] + ran[1]) == sorted(3 * files)
    assert not set(ran[0]) & set(ran[1])
    assert all(ran)


def test_a_file_that_another_has_taken_is_not_run_and_its_own_are(tmp_path: Path) -> None:
    """With pytest itself, where a test of the taken file would fail."""
    (tmp_path / "conftest.py").write_text(CONFTEST.read_text())
    # the taken one is between two, and in the folder of the first
    for folder, name in (("a", "test_mine"), ("b", "test_last")):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / f"{name}.py").write_text("def test_runs(): print('it ran')\n")
    (tmp_path / "a" / "test_taken.py").write_text("def test_fails(): assert False\n")
    taken = tmp_path / "taken"
    taken.mkdir()
    Turns(taken).pytest_runtest_protocol(OfFile(tmp_path / "a" / "test_taken.py"), None)  # type: ignore[arg-type]
    command = [sys.executable, "-m", "pytest", "-q", "-s", "-p", "no:cacheprovider", "."]
    told = subprocess.run(
        command,
        cwd=tmp_path,
        env={"TESTS_TAKEN": str(taken), "QT_QPA_PLATFORM": "offscreen"},
        capture_output=True,
        text=True,
    )
    assert told.returncode == 0, told.stdout + told.stderr
    assert told.stdout.count("it ran") == 2
    assert "2 passed" in told.stdout
