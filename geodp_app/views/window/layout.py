"""What is in the window, and where."""

from __future__ import annotations

from PySide6.QtCore import QSize, Qt
from PySide6.QtWidgets import (
    QFrame,
    QLabel,
    QMainWindow,
    QScrollArea,
    QSplitter,
    QStackedWidget,
    QTabWidget,
    QVBoxLayout,
    QWidget,
)

from geodp_app.views.dual.conic_view import ConicView
from geodp_app.views.dual.dual_view import DualView
from geodp_app.views.panels.settings_panel import SettingsPanel
from geodp_app.views.panels.theorem_page import TheoremPage
from geodp_app.views.plane.plane_view import PlaneView
from geodp_app.views.run.error_chart import ErrorChart
from geodp_app.views.run.figures_panel import FiguresPanel
from geodp_app.views.run.query_card import QueryCard
from geodp_app.views.run.spent_card import SpentCard
from geodp_app.views.run.timeline import Timeline
from geodp_app.views.run.why_card import WhyCard
from geodp_app.views.widgets.panes import Pane
from geodp_app.views.widgets.theme import dressed_at_the_end
from geodp_app.views.window.status_line import StatusLine

#: Of a window that was never opened before, where the screen has room for it, in
#: device-independent pixels.
FIRST_SIZE = QSize(1440, 900)

#: Width of the settings: planes take what is left.
_SIDE = 276


class WindowViews(QMainWindow):
    """The views of one window, laid out; they know neither document nor run."""

    def __init__(self) -> None:
        super().__init__()
        with dressed_at_the_end():
            self._make_views()

    def _make_views(self) -> None:
        self.plane, self.dual = PlaneView(), DualView()
        self.chart, self.figures = ErrorChart(), FiguresPanel()
        self.timeline, self.settings = Timeline(), SettingsPanel()
        self.spent, self.query_card = SpentCard(), QueryCard()
        self.theorem = TheoremPage()
        self.plane_pane = Pane("Plane", self.plane)
        self.plane_pane.note.setAccessibleName("About the plane")
        self.conics = ConicView()
        self.duals = QStackedWidget()
        self.duals.addWidget(self.dual)
        self.duals.addWidget(self.conics)
        self.dual_pane = Pane("Dual plane", self.duals)
        self.planes = _splitter(Qt.Orientation.Horizontal, self.plane_pane, self.dual_pane)
        self.why = WhyCard()
        self._lower = _splitter(Qt.Orientation.Horizontal, self.why, self.chart)
        below = QWidget()
        column = QVBoxLayout(below)
        column.setContentsMargins(0, 0, 0, 0)
        column.setSpacing(0)
        column.addWidget(self.timeline)
        column.addWidget(self._lower, 1)
        self._stack = _splitter(Qt.Orientation.Vertical, self.planes, below)
        self._stack.setStretchFactor(0, 4)
        self._stack.setStretchFactor(1, 1)
        side = QWidget()
        side.setObjectName("side")
        right = QVBoxLayout(side)
        right.setContentsMargins(0, 0, 6, 6)
        right.setSpacing(6)
        self.pages = QTabWidget(documentMode=True)
        self.pages.addTab(self.settings, "Settings")
        self.pages.addTab(self.figures, "Figures")
        self.pages.addTab(self.theorem, "Theorem")
        right.addWidget(self.pages, 1)
        right.addWidget(self.query_card)
        right.addWidget(self.spent)
        right.addWidget(self.figures.budget)
        self._sides = _splitter(Qt.Orientation.Horizontal, self._stack, side)
        self.planes.setSizes([540, 660])
        self.planes.setStretchFactor(0, 1)
        self.planes.setStretchFactor(1, 1)
        self._stack.setSizes([720, 120])
        self._lower.setSizes([540, 460])
        self._sides.setStretchFactor(0, 1)
        self._sides.setStretchFactor(1, 0)
        self._sides.setSizes([FIRST_SIZE.width() - _SIDE, _SIDE])
        side.setFixedWidth(_SIDE)
        # where the screen is too small for all of it, there are bars to reach the rest
        room = QScrollArea(widgetResizable=True)
        room.setFrameShape(QFrame.Shape.NoFrame)
        room.setFocusPolicy(Qt.FocusPolicy.NoFocus)
        room.setWidget(self._sides)
        self.setCentralWidget(room)
        self.status_line, self.where, self.learner = StatusLine(), QLabel(), QLabel()
        for label, name in (
            (self.status_line, "Hint"),
            (self.where, "Position"),
            (self.learner, "Learner"),
        ):
            label.setAccessibleName(name)
        bar = self.statusBar()
        bar.addWidget(self.status_line, 1)
        bar.addPermanentWidget(self.where)
        bar.addPermanentWidget(self.learner)


def _splitter(orientation: Qt.Orientation, *widgets: QWidget) -> QSplitter:
    splitter = QSplitter(orientation)
    for widget in widgets:
        splitter.addWidget(widget)
    splitter.setChildrenCollapsible(False)
    return splitter
