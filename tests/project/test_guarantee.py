"""The ten steps of docs/guarantee.md are the code's: its lines are quoted, and no others draw."""

from __future__ import annotations

import inspect
import linecache
import re
from pathlib import Path

import numpy as np
import pytest

from learners import PolygonUnionLearner
from learners.privacy.randomness import SeededRandom
from learners.tiles import tile_run

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "guarantee.md").read_text(encoding="utf-8")

#: Lines of code in backticks, and the module that they are in.
_QUOTED = re.compile(r"((?:`[^`]+`(?: and\s)?)+)\sin \[\w+\]\(\.\./([\w/]+\.py)\)")


def quoted() -> dict[Path, list[str]]:
    """The lines that the page quotes, by file."""
    found: dict[Path, list[str]] = {}
    for lines, path in _QUOTED.findall(PAGE):
        found.setdefault(ROOT / path, []).extend(re.findall(r"`([^`]+)`", lines))
    return found


def test_quoted_lines_are_in_the_code() -> None:
    lines = quoted()
    assert sum(map(len, lines.values())) >= 12
    for path, some in lines.items():
        code = [line.strip() for line in path.read_text(encoding="utf-8").splitlines()]
        for line in some:
            assert line in code, f"{path.name}: {line}"


def test_letters_are_names_of_the_code() -> None:
    rows = re.findall(r"^\| [^|]*(?:\\\|[^|]*)*\|.*\| (`.*) \|$", PAGE, re.MULTILINE)
    names = {name for row in rows for name in re.findall(r"`([\w.]+)`", row)}
    assert len(names) >= 14
    code = "".join(path.read_text(encoding="utf-8") for path in (ROOT / "learners").rglob("*.py"))
    for name in names:
        assert re.search(rf"\b{re.escape(name)}\b", code), name


class Watched(SeededRandom):
    """A source that takes down for which lines of the learners its bits are."""

    asked: list[set[tuple[str, str]]]

    def bytes(self, count: int) -> bytes:
        frame = inspect.currentframe()
        lines = set()
        while frame is not None:
            name = frame.f_code.co_filename
            lines.add((name, linecache.getline(name, frame.f_lineno).strip()))
            frame = frame.f_back
        self.asked.append(lines)
        return super().bytes(count)

    def spawn(self) -> Watched:
        child = Watched(self._seed, f"{self._path}/child {len(self.asked)}")
        child.asked = self.asked
        return child


def test_a_run_draws_by_the_lines_of_the_page_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    """Every call of the source comes through one of them, and each of them calls it."""
    source = Watched(1)
    source.asked = []
    monkeypatch.setattr(tile_run, "open_source", lambda seed: source)
    monkeypatch.setattr("learners.tiles.tile_choice.LEAST_PAYS", 50)
    rng = np.random.default_rng(1)
    points = rng.integers(0, 17, (400, 2))
    labels = points.sum(axis=1) < 16
    PolygonUnionLearner(grid=16, support=0.1, epsilon=2.0).fit(points, labels)
    drawing = {
        (str(path), line)
        for path, lines in quoted().items()
        for line in lines
        if re.search(r"source|draw\.complete", line) and "SystemRandom" not in line
    }
    assert len(drawing) == 8
    seen: set[tuple[str, str]] = set()
    for lines in source.asked:
        assert lines & drawing, sorted(line for _, line in lines)
        seen |= lines & drawing
    assert seen == drawing
