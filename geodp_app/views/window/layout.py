"""Lays out the views of the window, with a status line at its foot."""

from __future__ import annotations

from PySide6.QtCore import QSize, Qt
from PySide6.QtGui import QResizeEvent
from PySide6.QtWidgets import QLabel, QMainWindow, QScrollArea, QStackedWidget, QTabWidget, QWidget

from geodp_app.views.dual.conic_view import ConicView
from geodp_app.views.dual.dual_view import DualView
from geodp_app.views.panels.settings_panel import SettingsPanel
from geodp_app.views.panels.theorem_page import TheoremPage
from geodp_app.views.plane.plane_view import PlaneView
from geodp_app.views.run.cards import FiguresPanel, QueryCard, SpentCard, WhyCard
from geodp_app.views.run.error_chart import ErrorChart
from geodp_app.views.run.timeline import Timeline
from geodp_app.views.widgets.panes import Pane, StatusLine, dressed, fill, scrolled, splitter_of
from geodp_app.views.widgets.theme import dressed_at_the_end

#: Of a window that was never opened before, where the screen has room for it, in
#: device-independent pixels.
FIRST_SIZE = QSize(1440, 900)

#: Width of the settings: planes take what is left.
_SIDE = 276
#: Width of a window from which the chart has room beside the steps.
_ROOM_FOR_CHART = 1140


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
        across, down = Qt.Orientation.Horizontal, Qt.Orientation.Vertical
        self.planes = splitter_of(across, self.plane_pane, self.dual_pane, stretches=(1, 1))
        self.why = WhyCard()
        steps = QWidget()
        fill(steps, self.timeline, (self.why, 1), margins=0, spacing=0)
        # the chart is beside both: so it is high, and the planes are as high as without it
        self._lower = splitter_of(across, steps, self.chart)
        self._stack = splitter_of(down, self.planes, self._lower, stretches=(4, 1))
        side = dressed(QWidget(), "side")
        self.pages = QTabWidget(documentMode=True)
        self.pages.addTab(self.settings, "Settings")
        self.pages.addTab(self.figures, "Figures")
        self.pages.addTab(self.theorem, "Theorem")
        right = ((self.pages, 1), self.query_card, self.spent, self.figures.budget)
        fill(side, *right, margins=(0, 0, 6, 6), spacing=6)
        self._sides = splitter_of(across, self._stack, side, stretches=(1, 0))
        self.planes.setSizes([540, 660])
        self._stack.setSizes([630, 168])
        self._lower.setSizes([540, 460])
        self._sides.setSizes([FIRST_SIZE.width() - _SIDE, _SIDE])
        side.setFixedWidth(_SIDE)
        # where the screen is too small for all of it, there are bars to reach the rest
        room = scrolled(QScrollArea(), self._sides, across=True)
        room.setFocusPolicy(Qt.FocusPolicy.NoFocus)
        self.setCentralWidget(room)
        self.status_line = dressed(StatusLine(), name="Hint")
        self.where = dressed(QLabel(), name="Position")
        self.learner = dressed(QLabel(), name="Learner")
        bar = self.statusBar()
        bar.addWidget(self.status_line, 1)
        bar.addPermanentWidget(self.where)
        bar.addPermanentWidget(self.learner)

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self.show_chart()

    def show_chart(self) -> None:
        """Show it where there is room and its errors may be seen: the figures have its numbers."""
        errors = not self.figures.errors.isHidden()
        self.chart.setVisible(errors and self.width() >= _ROOM_FOR_CHART)
