"""benchmarks/tiles_a_side.py."""

from __future__ import annotations

import numpy as np
import pytest
from programs import program


def test_a_row_for_every_number_of_tiles(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    tiles = program("tiles_a_side", monkeypatch)
    monkeypatch.setattr(tiles, "TARGETS", {"tri": 1})
    monkeypatch.setattr(tiles, "picture", lambda model: np.zeros((1025, 1025), dtype=np.bool_))
    tiles.main(["--n", "300", "--tiles", "2", "3"])
    shown = capsys.readouterr().out.splitlines()
    assert [line.split(" | ")[:2] for line in shown[-4:]] == [
        ["| tri", "m = 2"],
        ["| tri", "m = 3"],
        ["| tri", "histogram"],
        ["| tri", "nearest example"],
    ]
