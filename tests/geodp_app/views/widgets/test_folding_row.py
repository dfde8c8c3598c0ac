"""A row that folds: side by side if there is room, one below the other if not."""

from __future__ import annotations

from PySide6.QtCore import QPoint
from PySide6.QtWidgets import QPushButton
from pytestqt.qtbot import QtBot

from geodp_app.views.dual.dual_controls import DualControls
from geodp_app.views.widgets.panes import FoldingRow


def test_groups_fold_when_they_do_not_fit_and_unfold_when_they_do(qtbot: QtBot) -> None:
    row = FoldingRow()
    first, second = QPushButton("first of two"), QPushButton("second")
    row.set_groups(first, second, apart=True)
    qtbot.addWidget(row)
    row.show()
    needed = row.sizeHint().width()
    row.resize(needed + 50, 100)
    assert not row.folded
    assert first.y() == second.y()
    assert second.geometry().right() == row.rect().right()
    row.resize(needed - 1, 100)
    qtbot.waitUntil(lambda: second.y() > first.y())
    assert row.folded
    assert row.minimumSizeHint().width() <= max(first.width(), second.width())
    row.resize(needed, 100)
    qtbot.waitUntil(lambda: second.x() > first.x())
    assert not row.folded


def test_the_controls_of_the_dual_plane_fold_where_it_is_narrow(qtbot: QtBot) -> None:
    controls = DualControls()
    qtbot.addWidget(controls)
    controls.set_edges(3)
    controls.show()
    assert controls.minimumSizeHint().width() < controls.sizeHint().width() * 2 / 3
    controls.resize(controls.sizeHint().width() + 10, 80)
    assert not controls.folded
    controls.resize(controls.minimumSizeHint().width(), 160)
    assert controls.folded
    zoom = controls.fit.mapTo(controls, QPoint())
    assert zoom.y() > controls.shade_row.y()
