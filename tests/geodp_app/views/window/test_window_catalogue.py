"""The catalogue says where each thing can be used: each place is gone to, and has these and no
others."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

import pytest
from window_driver import Lasting

from geodp_app.cli import main
from geodp_app.palette import load_palette
from geodp_app.views.compare.compare_window import CompareWindow
from learners.catalogue import CATALOGUE, Entry, Where
from learners.registry import BY_ID

LEARNERS = [entry for entry in CATALOGUE if entry.id]
TOOLS = [entry for entry in CATALOGUE if not entry.id]


def used_in(place: Where, entries: Iterable[Entry] = CATALOGUE) -> list[str]:
    return [entry.id or entry.name for entry in entries if place in entry.where]


def refused(capsys: pytest.CaptureFixture[str], *argv: str) -> str:
    """What a command says that comes to nothing."""
    assert main(list(argv)) == 2
    return capsys.readouterr().err


@pytest.mark.parametrize("entry", LEARNERS, ids=lambda entry: entry.id)
def test_the_command_line_takes_the_learners_that_it_is_said_to_take(
    entry: Entry, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    missing, out = str(tmp_path / "no.csv"), str(tmp_path / "a.geojson")
    k = ("--k", "1") if BY_ID[entry.id].counts else ()
    unknown = "unknown learner", "now called"
    for verb, argv in (
        ("learn", ("learn", missing, "--grid", "8", "--learner", entry.id, "-o", out)),
        ("compare", ("compare", missing, "--grid", "8", *k, "--learners", entry.id)),
    ):
        outcome = refused(capsys, *argv)
        if f"geodp {verb}" in entry.where:
            assert "no.csv" in outcome, outcome
        else:
            assert any(words in outcome for words in unknown), outcome
    if "geodp plan" in entry.where:
        assert main(["plan", "--learner", entry.id, "--grid", "512", "--n", "1000"]) == 0
        assert capsys.readouterr().out
    else:
        outcome = refused(capsys, "plan", "--learner", entry.id)
        assert any(words in outcome for words in unknown), outcome


def test_audits_are_of_whom_they_are_said_to_be(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["audit", "--learner", "list"]) == 0
    names = [line.partition(":")[0] for line in capsys.readouterr().out.splitlines()]
    for entry in LEARNERS:
        own = [name for name in names if name == entry.id or name.startswith(f"{entry.id}-")]
        assert bool(own) == ("geodp audit" in entry.where), entry.id
    # what is no learner: a game of experts, private answers of chunks
    assert used_in("geodp audit", TOOLS) == ["Private experts", "Private classification queries"]
    assert {"private-experts", "stable-queries"} <= set(names)


def test_tools_of_planning_are_where_they_are_said_to_be(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert used_in("geodp plan", TOOLS) == ["Sample sizes of every theorem"]
    for theorem, more in (
        ("cover", ("--k", "2")),
        ("queries", ("--vc", "1", "--queries", "100")),
        ("occam", ("--size", "9")),
    ):
        assert main(["plan", "--theorem", theorem, *more, "--alpha", "0.3"]) == 0
        assert "suffice" in capsys.readouterr().out


def test_the_window_has_the_learners_and_pages_that_it_is_said_to_have(lasting: Lasting) -> None:
    window = lasting.as_new()
    box = window.settings.learner
    shown = [box.itemData(i) for i in range(box.count()) if box.itemData(i) is not None]
    assert shown == used_in("window")
    for name in shown:
        box.setCurrentIndex(box.findData(name))
        box.activated.emit(box.currentIndex())
        assert window.document.work.run.learner == name
    compared = CompareWindow(window.document, load_palette("light"))
    assert list(compared.boxes) == used_in("window: Compare")
    compared.close()
    pages = [window.pages.tabText(i) for i in range(window.pages.count())]
    assert used_in("window: Theorem") == ["Sample sizes of every theorem"]
    assert "Theorem" in pages
    assert used_in("window: dual plane") == ["Dual lines and points", "Arrangement of dual lines"]
    assert window.dual_pane.isVisible()
    assert window.dual.isVisible()
