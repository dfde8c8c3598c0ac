"""Controls of the dual plane: tabs of the sheets, what is drawn, and what the shading asks."""

from __future__ import annotations

from collections.abc import Sequence

from PySide6.QtCore import QSize, Qt, Signal
from PySide6.QtGui import QIcon, QPixmap
from PySide6.QtWidgets import (
    QButtonGroup,
    QCheckBox,
    QHBoxLayout,
    QLabel,
    QTabBar,
    QToolButton,
    QWidget,
)

from geodp_app.dual.shading import ShadeMode
from geodp_app.palette import Palette
from geodp_app.views.colour_bar import line_swatch
from geodp_app.views.folding_row import FoldingRow
from geodp_app.views.icons import icon

_MODES: tuple[tuple[ShadeMode, str, str], ...] = (
    ("off", "Off", "Show lines only"),
    ("score", "Score", "Shade each place by the score the piece would have there"),
    ("probability", "Probability", "Shade each place by how likely it is to be chosen"),
)


class SheetTabs(FoldingRow):
    """Tabs 'All' and one for each sheet, and the two zoom buttons."""

    changed = Signal(int)

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.bar = QTabBar(drawBase=False, expanding=False)
        self.bar.setUsesScrollButtons(False)
        self.bar.setElideMode(Qt.TextElideMode.ElideNone)
        self.bar.setAccessibleName("Sheets of the dual plane")
        self.zoom = _icon_button("To chosen", "Show the neighbourhood of the newest chosen point")
        self.fit = _icon_button("Fit", "Show all of the sheet (F)")
        self.set_groups(self.bar, _group(self.zoom, self.fit), apart=True)
        self.bar.currentChanged.connect(self.changed)

    def set_names(self, names: Sequence[str]) -> None:
        """Tabs, the first for the overview; the first is current if they changed."""
        if [self.bar.tabText(i) for i in range(self.bar.count())] == list(names):
            return
        self.bar.blockSignals(True)
        while self.bar.count():
            self.bar.removeTab(0)
        for name in names:
            self.bar.addTab(name)
        self.bar.blockSignals(False)
        self.bar.updateGeometry()
        self.fold()
        self.changed.emit(self.bar.currentIndex())

    def set_palette(self, palette: Palette) -> None:
        """Take the colour of the icons."""
        self.zoom.setIcon(icon("zoom-chosen", palette))
        self.fit.setIcon(icon("fit", palette))


class DualControls(FoldingRow):
    """Which lines are drawn, how the sheets are shaded, and for which edge."""

    lines_changed = Signal()
    #: (edge from 0, mode)
    shade_wanted = Signal(int, str)

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.positive = _box("Positive", "Dual lines of the positive examples: solid")
        self.negative = _box("Negative", "Dual lines of the negative examples: dashed")
        for box in (self.positive, self.negative):
            box.toggled.connect(lambda _: self.lines_changed.emit())
        self.modes = [_button(text, tip) for _, text, tip in _MODES]
        self.edges = [
            _button(str(i + 1), f"Shade by where edge {i + 1} could be, the others fixed")
            for i in range(3)
        ]
        for i, button in enumerate(self.edges):
            button.setAccessibleName(f"Edge {i + 1}")
        self._groups = [_exclusive(self, group) for group in (self.modes, self.edges)]
        for group in self._groups:
            group.idClicked.connect(lambda _: self.shade_wanted.emit(self.edge, self.mode))
        #: The edges' buttons; whoever lays out the view places them beside the caption.
        self.edge_row = QWidget()
        self._edges, self._release = 0, False
        self._lay_out()

    def _lay_out(self) -> None:
        shade = _group(QLabel("Shade"), _group(*self.modes, spacing=0))
        self.set_groups(_group(self.positive, self.negative), shade)
        edges = QHBoxLayout(self.edge_row)
        edges.setContentsMargins(0, 0, 4, 0)
        edges.addWidget(QLabel("Edge"))
        edges.addWidget(_group(*self.edges, spacing=0))

    @property
    def shown(self) -> tuple[bool, bool]:
        """Whether lines of positive and of negative examples are wanted."""
        return self.positive.isChecked(), self.negative.isChecked()

    @property
    def mode(self) -> ShadeMode:
        """What shades the sheets."""
        return _MODES[self._groups[0].checkedId()][0]

    @property
    def edge(self) -> int:
        """The edge that could be elsewhere, from 0."""
        return self._groups[1].checkedId()

    def choose(self, mode: ShadeMode, edge: int = 0) -> None:
        """Set mode and edge without a signal."""
        self.modes[[m for m, _, _ in _MODES].index(mode)].setChecked(True)
        self.edges[edge].setChecked(True)

    def set_edges(self, edges: int) -> None:
        """How many edges the newest piece has; with one there is nothing to select."""
        self._edges = edges
        self._show_edges()
        if self.edge >= edges:
            self.edges[0].setChecked(True)

    def set_release_view(self, on: bool) -> None:
        """Nothing here is about what is published."""
        self._release = on
        self.setVisible(not on)
        self._show_edges()

    def _show_edges(self) -> None:
        for i, button in enumerate(self.edges):
            button.setVisible(i < self._edges)
        self.edge_row.setVisible(self._edges > 1 and not self._release)

    def set_palette(self, palette: Palette) -> None:
        """Take the colours of the lines."""
        size = QSize(26, 12)
        for box, colour, dashed in (
            (self.positive, palette.positive, False),
            (self.negative, palette.negative, True),
        ):
            box.setIcon(QIcon(QPixmap.fromImage(line_swatch(colour, dashed=dashed, size=size))))
            box.setIconSize(size)


def _box(text: str, tip: str) -> QCheckBox:
    box = QCheckBox(text)
    box.setChecked(True)
    box.setToolTip(tip)
    return box


def _button(text: str, tip: str) -> QToolButton:
    button = QToolButton()
    button.setText(text)
    button.setCheckable(True)
    button.setToolTip(tip)
    button.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
    return button


def _icon_button(name: str, tip: str) -> QToolButton:
    button = QToolButton()
    button.setAccessibleName(name)
    button.setToolTip(tip)
    return button


def _exclusive(parent: QWidget, buttons: Sequence[QToolButton]) -> QButtonGroup:
    group = QButtonGroup(parent)
    for i, button in enumerate(buttons):
        group.addButton(button, i)
    buttons[0].setChecked(True)
    return group


def _group(*widgets: QWidget, spacing: int = 6) -> QWidget:
    """Widgets that stay side by side."""
    group = QWidget()
    row = QHBoxLayout(group)
    row.setContentsMargins(0, 0, 0, 0)
    row.setSpacing(spacing)
    for widget in widgets:
        row.addWidget(widget)
    return group
