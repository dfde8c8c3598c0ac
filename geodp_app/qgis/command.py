"""Finds and runs the program `geodp` for the plugin: what it declares of its verbs, learners and
parameters, its options, its progress, its errors.

Knows nothing of QGIS.
"""

from __future__ import annotations

import json
import os
import queue
import re
import shutil
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any

#: What to do where there is no program.
INSTALL = (
    "geodp was not found. Install it beside QGIS, in an environment of its own, such as by: pipx "
    "install 'geodp[geo]'; if it is there, name the program under Settings, Options, Processing, "
    "Providers, geodp"
)

#: Variables by which QGIS finds its own Python, PROJ and GDAL, and another Python theirs no more.
_OF_QGIS = (
    "PYTHONHOME",
    "PYTHONPATH",
    "PYTHONSTARTUP",
    "PROJ_DATA",
    "PROJ_LIB",
    "GDAL_DATA",
    "GDAL_DRIVER_PATH",
    "QT_PLUGIN_PATH",
)

_PROGRESS = re.compile(r"progress (\d+(?:\.\d+)?) (.*)")

#: Seconds that the program has for ending when it is told to.
_GRACE = 5.0

#: Seconds after which a line that it says is no last word.
_PATIENCE = 1.0


class GeodpError(Exception):
    """The program could not do it: one line that says what was wrong, and what to do."""


class Cancelled(Exception):
    """The person ended it; nothing was written."""


def box_edges(
    edges: tuple[float, float, float, float], degrees: bool
) -> tuple[float, float, float, float]:
    """West, south, east, north of an extent as `--bounds` takes them.

    A map in degrees goes on after 180 and before -180; a box across is west > east.
    """
    west, south, east, north = edges
    if not degrees or (west >= -180 and east <= 180):
        return edges
    if east - west >= 360:
        return -180.0, south, 180.0, north
    west, east = (each - 360 * ((each + 180) // 360) for each in (west, east))
    return west, south, 180.0 if east == -180 else east, north


def find_program(setting: str = "") -> str:
    """Path of the program: the setting, else the one on PATH, else where pipx and pip put it;
    raises GeodpError if there is none."""
    setting = setting.strip()
    if setting:
        found = shutil.which(os.path.expanduser(setting))
        if found is None:
            raise GeodpError(f"{setting}: is no program; it is set as that of geodp")
        return found
    # a desktop starts QGIS with a PATH that often lacks the second
    found = shutil.which("geodp") or shutil.which("geodp", path=str(Path.home() / ".local/bin"))
    if found is None:
        raise GeodpError(INSTALL)
    return found


def option_arguments(
    options: Mapping[str, Mapping[str, Any]], values: Mapping[str, Any]
) -> list[str]:
    """Options of a verb at the command line: those that are given and are not the default.

    `options`: what is declared of each option of the verb, by its name: "flag" and "default".
    `values`: values by name; None for what is not given.
    """
    return [
        f"{options[name]['flag']}={_text(value)}"
        for name, value in values.items()
        if value is not None and value != options[name]["default"]
    ]


def _text(value: Any) -> str:
    if isinstance(value, (list, tuple)):
        return ",".join(_text(each) for each in value)
    return repr(value) if isinstance(value, float) else str(value)


def run(
    command: Sequence[str],
    *,
    tell: Callable[[str], None],
    progress: Callable[[float, str], None],
    cancelled: Callable[[], bool],
) -> str:
    """Run the program to its end; what it wrote on standard output.

    Raises GeodpError if it fails; the message is its own; Cancelled if it was ended.

    Parameters
    ----------
    command : sequence of str
        The program and its arguments.
    tell : callable
        Gets each line that it says.
    progress : callable
        Gets the fraction done, 0..1, and what is being done.
    cancelled : callable
        Asked ten times a second; once true, the program is ended.
    """
    try:
        process = subprocess.Popen(
            command,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            env=environment(os.environ),
            encoding="utf-8",
            errors="replace",
            **_HIDDEN,
        )
    except OSError as error:
        raise GeodpError(f"{command[0]}: cannot be run: {error.strerror or error}") from None
    with process:
        said: queue.SimpleQueue[str | None] = queue.SimpleQueue()
        written: list[str] = []
        out, err = process.stdout, process.stderr
        assert out is not None
        assert err is not None

        def hear() -> None:
            for line in filter(None, map(str.strip, err)):
                said.put(line)
            said.put(None)

        readers = [
            threading.Thread(target=hear, daemon=True),
            threading.Thread(target=lambda: written.append(out.read()), daemon=True),
        ]
        for reader in readers:
            reader.start()
        last = _listen(process, said, tell, progress, cancelled)
        for reader in readers:
            reader.join()
        code = process.wait()
    if code:
        raise GeodpError(last.removeprefix("geodp: ") or f"{command[0]}: ended with code {code}")
    return "".join(written)


def _listen(
    process: subprocess.Popen[str],
    said: queue.SimpleQueue[str | None],
    tell: Callable[[str], None],
    progress: Callable[[float, str], None],
    cancelled: Callable[[], bool],
) -> str:
    """Hand on what the program says until it ends; its last line.

    That one is an error if the program fails, and is then not told, too: so each line waits for
    the next, but not for long.
    """
    last, waiting, since = "", False, 0.0
    while True:
        if cancelled():
            _end(process)
            if process.returncode:
                raise Cancelled
            return last  # it was done already
        try:
            line = said.get(timeout=0.1)
        except queue.Empty:
            if waiting and time.monotonic() - since > _PATIENCE:
                tell(last)
                waiting = False
            continue
        found = None if line is None else _PROGRESS.fullmatch(line)
        if found:
            progress(float(found[1]), found[2])
            continue
        if waiting and (line is not None or not process.wait()):
            tell(last)
        if line is None:
            return last
        last, waiting, since = line, True, time.monotonic()


def environment(own: Mapping[str, str]) -> dict[str, str]:
    """The variables for the program, which has a Python of its own."""
    kept = {name: value for name, value in own.items() if name not in _OF_QGIS}
    return {**kept, "PYTHONIOENCODING": "utf-8"}


def _end(process: subprocess.Popen[str]) -> None:
    """As Ctrl+C does, so that nothing is left half-written; if that does not help, at once."""
    if sys.platform != "win32":
        process.send_signal(signal.SIGINT)
        try:
            process.wait(_GRACE)
        except subprocess.TimeoutExpired:
            process.kill()
    else:
        process.kill()
    process.wait()


#: No black window beside QGIS.
_HIDDEN: dict[str, Any] = (
    {"creationflags": 0x08000000} if sys.platform == "win32" else {}  # CREATE_NO_WINDOW
)


@lru_cache(maxsize=1)
def declared() -> dict[str, Any]:
    """The declarations: see :mod:`geodp_app.commands.plugin` for their form."""
    text = Path(__file__).with_name("declared.json").read_text(encoding="utf-8")
    found: dict[str, Any] = json.loads(text)
    return found


def titles_of(option: dict[str, Any]) -> dict[Any, str]:
    """What the values of a choice are called; QGIS takes a comma for the end of one."""
    return {value: title.replace(",", "") for value, title in option["choices"]}


def learners_of(verb: str) -> list[dict[str, Any]]:
    """The learners that a verb offers, in order."""
    return [each for each in declared()["learners"] if verb in each["offered"]]


def learner_help(verb: str) -> str:
    """What they do, a line each, with the names by which other texts call them."""
    lines = [f"{each['title']} ({each['id']}): {each['sentence']}" for each in learners_of(verb)]
    return "\n".join(lines)
