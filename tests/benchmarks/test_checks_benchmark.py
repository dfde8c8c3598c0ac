"""benchmarks/checks.py."""

from __future__ import annotations

import re

import pytest
from programs import program


def test_what_a_check_costs_and_how_often_it_misses_is_printed(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    checks = program("checks", monkeypatch)
    monkeypatch.setattr(checks, "SHAPES", ("L",))
    monkeypatch.setattr(checks, "TESTED", 2_000)
    monkeypatch.setattr(checks, "SIZES", {"cost": (300,), "blocks": (20_000,)})
    monkeypatch.setattr(checks, "DRAWN", (("histogram", 300),))
    monkeypatch.setattr("sys.argv", ["checks.py", "--seeds", "1", "--runs", "2"])
    checks.main()
    _, first, mean, missed, blocks = capsys.readouterr().out.splitlines()
    assert re.fullmatch(r"n = 300, L: [\d.]+|n = 300, L: nan", first)
    assert mean.startswith("n = 300, mean: ")
    assert "histogram, n = 300, 2 runs: missed {'all': " in missed
    assert re.fullmatch(r"L, n = 20,000: [012] of 2 runs", blocks)
