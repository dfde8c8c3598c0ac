"""Programs of benchmarks/, which import each other by their names as where they run."""

import importlib
from pathlib import Path
from types import ModuleType

import pytest

FOLDER = Path(__file__).parents[2] / "benchmarks"


def program(name: str, monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    """The module of one, found as long as the test lasts."""
    monkeypatch.syspath_prepend(str(FOLDER))
    return importlib.import_module(name)
