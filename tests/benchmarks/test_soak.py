"""The window at work: nothing raises or piles up.  At length: benchmarks/soak.py, together.py."""

import os
import subprocess
import sys
from dataclasses import replace
from types import ModuleType

import pytest
from patience import HANGS
from programs import FOLDER, program

pytestmark = pytest.mark.skipif(not sys.platform.startswith("linux"), reason="reads /proc")


@pytest.fixture
def soak(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    return program("soak", monkeypatch)


def ran(name: str, *argv: object) -> str:
    """What a program shows that runs in a process of its own, and ends well."""
    done = subprocess.run(
        [sys.executable, str(FOLDER / name), *map(str, argv)],
        env={**os.environ, "QT_QPA_PLATFORM": "offscreen"}, capture_output=True, text=True,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.mark.parametrize("operations", [12, pytest.param(60, marks=pytest.mark.slow)])
def test_operations_leave_no_handles(operations: int) -> None:
    """In a process of its own: what it counts is not mixed with what other tests leave behind.

    Twelve operations show what leaves two objects of Qt, or half a handle, at each; sixty less.
    """
    argv = ["--operations", operations, "--most-mib", 100, "--seed", 2, "--patience", HANGS]
    ran("soak.py", *argv)


def test_growth_is_noticed(soak: ModuleType) -> None:
    first = soak.Count(500, 1.0, 200.0, 100.0, 13, 7, 2, 800, 10_000)
    assert soak.grown(first, first, 32) == []
    for more in (
        {"anonymous_mib": 140.0},
        {"descriptors": 20},
        {"children": 3},
        {"qt_objects": 900},
    ):
        assert len(soak.grown(first, replace(first, **more), 32)) == 1


def test_an_early_end_says_why(soak, monkeypatch, capsys):
    """Outside of an operation, too, where the window's own hook would have kept it to itself."""

    def late(*_: object) -> None:
        raise TimeoutError("not done in 120 s")

    monkeypatch.setattr(soak, "Soak", late)
    monkeypatch.setattr(sys, "argv", ["soak.py"])
    assert soak.main() == 2
    assert "TimeoutError: not done in 120 s" in capsys.readouterr().out


# -- two windows and a command --------------------------------------------------------------


@pytest.mark.slow
def test_two_windows_and_a_command_keep_one_budget() -> None:
    shown = ran("together.py", "--rounds", 2)
    assert "4 runs entered, 4 released, 4 seen; epsilon 0.5 of 0.5" in shown
