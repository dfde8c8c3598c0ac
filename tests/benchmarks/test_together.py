"""Two windows and a command on one session and one ledger: `benchmarks/together.py`, shortly."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

FOLDER = Path(__file__).parents[2] / "benchmarks"


@pytest.mark.slow
def test_two_windows_and_a_command_keep_one_budget() -> None:
    done = subprocess.run(
        [sys.executable, str(FOLDER / "together.py"), "--rounds", "2"],
        env={**os.environ, "QT_QPA_PLATFORM": "offscreen"},
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert "4 runs entered, 4 released, 4 seen; epsilon 0.5 of 0.5" in done.stdout
