"""Shared fixtures: Qt draws off-screen; a window; small files to run the commands on.

Property tests draw the same examples every time, so that a run that passes passes again.
``pytest --hypothesis-profile=explore`` draws new ones.
"""

from __future__ import annotations

import gc
import json
import os
import signal
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import settings

if TYPE_CHECKING:
    from window_driver import Lasting

    from geodp_app.views.window.main_window import MainWindow

settings.register_profile("explore", deadline=None)
settings.register_profile("steady", derandomize=True, deadline=None, database=None)
settings.load_profile("steady")

#: A program for the Python that QGIS has.
collect_ignore = ["support/qgis_jobs.py"]

os.environ["QT_QPA_PLATFORM"] = "offscreen"
os.environ["MPLBACKEND"] = "Agg"


def pytest_xdist_auto_num_workers() -> int:
    """One process more than processors: tests of windows wait half of the time."""
    return (os.cpu_count() or 1) + 1


def pytest_configure() -> None:
    """What is waited for comes on a busy machine, too: pytest-qt's own waits give up after 5 s."""
    from patience import HANGS
    from pytestqt.qtbot import QtBot

    for wait in (QtBot.waitUntil, QtBot.waitSignal, QtBot.waitExposed):
        wait.__kwdefaults__["timeout"] = round(1000 * HANGS)


def pytest_collection_finish() -> None:
    """What was collected stays: no search for garbage looks through it again."""
    gc.freeze()


def pytest_sessionfinish() -> None:
    gc.unfreeze()


@pytest.fixture(scope="session", autouse=True)
def _application(qapp: object) -> Callable[[], None]:
    """Qt's application is one with widgets, whichever test is the first to need one.

    Returns what frees circles of objects: as in a window's process, Python does not by itself.
    """
    from geodp_app.views.widgets.tasks import collect_between_events

    free: Callable[[], None] = collect_between_events().check
    return free


@pytest.fixture(autouse=True)
def _garbage(_application: Callable[[], None]) -> Iterator[None]:
    """A test that handles no events leaves no garbage either."""
    yield
    _application()


@pytest.fixture(scope="module")
def lasting(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Lasting]:
    """One window for all tests of a file that can do with one."""
    from window_driver import Lasting, open_window  # Qt's modules, for those tests alone

    with open_window(tmp_path_factory.mktemp("lasting")) as window:
        yield Lasting(window)


@pytest.fixture
def window(lasting: Lasting) -> MainWindow:
    """That window with nothing left of what other tests did."""
    return lasting.as_new()


@pytest.fixture
def heard() -> Iterator[None]:
    """Ctrl+C is heard; a shell has what it starts in the background ignore it."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


@pytest.fixture
def write(tmp_path: Path) -> Callable[[str, str | bytes | dict[str, Any]], Path]:
    """Write a file into the test's folder: text, bytes, or an object as JSON."""

    def write_file(name: str, content: str | bytes | dict[str, Any]) -> Path:
        path = tmp_path / name
        if isinstance(content, dict):
            content = json.dumps(content)
        path.write_bytes(content.encode() if isinstance(content, str) else content)
        return path

    return write_file
