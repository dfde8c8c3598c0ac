"""Choosing public bounds: four numbers, a box on a map, or a map file.  Never the points."""

from __future__ import annotations

from pathlib import Path

from PySide6.QtCore import Signal
from PySide6.QtWidgets import (
    QFileDialog,
    QGridLayout,
    QGroupBox,
    QLabel,
    QLineEdit,
    QPushButton,
    QVBoxLayout,
    QWidget,
)

from geodp_app.errors import InputError
from geodp_app.files.public_bounds import SIDES, bounds_of_map, typed_bounds
from geodp_app.palette import Palette
from geodp_app.views.panels.bounds_map import BoundsMap
from geometry.grid import Bounds

_WHY = (
    "Bounds are published with the shape. They are never taken from the points, because a box "
    "that fits the points tells where the outermost of them are."
)
_TIPS = (
    "Smallest longitude, −180 to 180",
    "Smallest latitude, −90 to 90",
    "Largest longitude, −180 to 180",
    "Largest latitude, −90 to 90",
)


class BoundsFields(QGroupBox):
    """West, south, east and north, in step with a box on a map.

    Parameters
    ----------
    first : Bounds or None
        Public bounds to begin with.
    palette : Palette
    parent : QWidget, optional
    """

    #: Other numbers; they may be no box.
    changed = Signal()
    #: A sentence about a map file that is of no use.
    refused = Signal(str)

    def __init__(
        self, first: Bounds | None, palette: Palette, parent: QWidget | None = None
    ) -> None:
        super().__init__("Public bounds", parent)
        self.map = BoundsMap(palette)
        self.map.dragged.connect(self.set_bounds)
        why = QLabel(_WHY, wordWrap=True)
        why.setObjectName("note")
        self.fields = {side: QLineEdit() for side in SIDES}
        grid = QGridLayout()
        grid.setHorizontalSpacing(8)
        for place, (side, tip) in enumerate(zip(SIDES, _TIPS, strict=True)):
            field = self.fields[side]
            field.setToolTip(f"{tip}, in degrees")
            field.setPlaceholderText(tip.partition(", ")[2])
            field.setAccessibleName(side)
            field.textChanged.connect(self._typed)
            label = QLabel(side)
            label.setBuddy(field)
            row, pair = divmod(place, 2)
            grid.addWidget(label, row, 2 * pair)
            grid.addWidget(field, row, 2 * pair + 1)
        self.from_map = QPushButton("Take from a map file…")
        self.from_map.setAutoDefault(False)
        self.from_map.setToolTip("The bounds that a GeoJSON file states, or the box of its shapes")
        self.from_map.clicked.connect(self._ask_map)
        grid.addWidget(self.from_map, 0, 4, 2, 1)
        column = QVBoxLayout(self)
        column.setSpacing(8)
        column.addWidget(self.map)
        column.addLayout(grid)
        column.addWidget(why)
        if first is not None:
            self.set_bounds(first)

    def bounds(self) -> Bounds:
        """What is chosen.

        Raises
        ------
        InputError
            If it is no box; the message is empty as long as something is missing.
        """
        return typed_bounds({side: field.text() for side, field in self.fields.items()})

    def set_bounds(self, bounds: Bounds) -> None:
        """Other numbers, told once."""
        for field, value in zip(self.fields.values(), bounds.as_tuple(), strict=True):
            field.blockSignals(True)
            field.setText(f"{value:.12g}")
            field.blockSignals(False)
        self._typed()

    def _typed(self) -> None:
        try:
            box = self.bounds()
        except InputError:
            self.map.show_box(None)
        else:
            self.map.show_box(box)
        self.changed.emit()

    def _ask_map(self) -> None:
        name, _ = QFileDialog.getOpenFileName(
            self, "Take bounds from a map file", "", "Maps (*.geojson *.json)"
        )
        if not name:
            return
        try:
            bounds = bounds_of_map(Path(name))
        except InputError as error:
            self.refused.emit(str(error))
        else:
            self.set_bounds(bounds)
