"""The command line: in this process, and on a pseudo-terminal, as a person sits before it."""

import json
import os
import pty
import signal
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from patience import HANGS

from geodp_app.cli import main

_ROOT = Path(__file__).resolve().parents[2]


def interrupted(argv: Sequence[object], *, shows: bytes, after: float = 0.0) -> tuple[int, bytes]:
    """Run geodp and press Ctrl+C.

    Parameters
    ----------
    argv : sequence
        Its arguments.
    shows : bytes
        What the terminal must show before.
    after : float
        Seconds from there to Ctrl+C.

    Returns
    -------
    tuple
        Exit status, and all that was shown.
    """
    try:
        ours, theirs = pty.openpty()
    except OSError:
        pytest.skip("no pseudo-terminals here: /dev/pts is not mounted")
    process = subprocess.Popen(
        [sys.executable, "-m", "geodp_app", *map(str, argv)],
        cwd=_ROOT,
        stderr=theirs,
        # a job in the background ignores it, and hands that on
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
    )
    os.close(theirs)
    shown = b""
    try:
        while shows not in shown:
            assert process.poll() is None, shown
            shown += os.read(ours, 1000)
        time.sleep(after)
        process.send_signal(signal.SIGINT)
        status = process.wait(HANGS)
        shown += os.read(ours, 10_000)
    finally:
        process.kill()
        os.close(ours)
    return status, shown


def started(*words: object, **given: Any) -> subprocess.CompletedProcess[str]:
    """The command in a process of its own, as a person starts it."""
    command = [sys.executable, "-m", "geodp_app", *map(str, words)]
    return subprocess.run(command, **{"capture_output": True, "text": True, "cwd": _ROOT, **given})


def geodp(*words: object) -> int:
    """The command in this process; its exit code."""
    return main([str(word) for word in words])


def fails(capsys: pytest.CaptureFixture[str], *words: object) -> str:
    """A command that must end with exit code 2; its one line on standard error."""
    capsys.readouterr()
    assert geodp(*words) == 2
    outcome = capsys.readouterr()
    assert outcome.out == ""
    assert outcome.err.startswith("geodp: ")
    assert outcome.err.endswith("\n")
    assert outcome.err.count("\n") == 1, outcome.err
    return outcome.err


def printed(capsys: pytest.CaptureFixture[str], *words: object) -> Any:
    """What a command prints as JSON."""
    capsys.readouterr()
    assert geodp(*words, "--json") == 0
    return json.loads(capsys.readouterr().out)
