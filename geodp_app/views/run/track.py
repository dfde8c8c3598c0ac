"""The track of the timeline: a slider over all the steps of a run, with what each step gained.

Over every step stands a bar: how many examples it gained, of the most that one gained.  A step
that gained none has a stroke.  Steps that were not made yet are faint and out of reach; over the
one under way a line moves.
"""

from __future__ import annotations

from collections.abc import Sequence

from PySide6.QtCore import QPointF, QRectF, QSize, Qt, QTimer
from PySide6.QtGui import QColor, QMouseEvent, QPainter, QPaintEvent, QPen
from PySide6.QtWidgets import QSlider

from geodp_app.palette import Palette, load_palette, mix
from geodp_app.runs.figures import step_ticks

#: Milliseconds between frames of the moving line, and its travel in each, 0..1.
_FRAME, _TRAVEL = 50, 0.04
#: On either side, for half of the handle and its ring, in device-independent pixels.
_MARGIN = 10.0
#: From the bottom to the groove's middle; the bars stand above the groove.
_GROOVE = 15.0
#: Widest bar.
_WIDEST = 18.0


class Track(QSlider):
    """A slider whose range may be only a part of what it shows."""

    def __init__(self) -> None:
        super().__init__(Qt.Orientation.Horizontal)
        self._steps = 0
        self._phase = 0.0
        self._gains: tuple[int, ...] = ()
        self._palette = load_palette("light")
        self.setMaximum(0)
        self.setObjectName("track")
        self.setPageStep(5)
        self.setMouseTracking(True)
        self.setAccessibleName("Timeline")
        self.setToolTip("Click or drag to a step; arrow keys move by one")
        self._clock = QTimer(self, interval=_FRAME)
        self._clock.timeout.connect(self._tick)

    def set_steps(self, steps: int) -> None:
        """How many steps the run will have."""
        self._steps = steps
        self.update()

    def set_gains(self, gains: Sequence[int]) -> None:
        """Examples that each step made gained, in order; none where that is private."""
        if tuple(gains) != self._gains:
            self._gains = tuple(gains)
            self.update()

    @property
    def gains(self) -> tuple[int, ...]:
        """What the bars show."""
        return self._gains

    def set_busy(self, busy: bool) -> None:
        """Whether the next step is under way."""
        if busy != self._clock.isActive():
            self._phase = 0.0
            if busy:
                self._clock.start()
            else:
                self._clock.stop()
            self.update()

    @property
    def busy(self) -> bool:
        """Whether the line over the next step moves."""
        return self._clock.isActive()

    def set_palette(self, palette: Palette) -> None:
        """Light or dark."""
        self._palette = palette
        self.update()

    def x_of(self, step: float) -> float:
        """Where a step is drawn, in device-independent pixels."""
        return _MARGIN + step / max(self._steps, 1) * (self.width() - 2 * _MARGIN)

    def sizeHint(self) -> QSize:
        """Room for the bars, the handle and its ring."""
        return QSize(240, 44)

    def minimumSizeHint(self) -> QSize:
        """Enough to hit something."""
        return QSize(80, 44)

    def mousePressEvent(self, event: QMouseEvent) -> None:
        """Straight to the step under the pointer."""
        self._follow(event)

    def mouseMoveEvent(self, event: QMouseEvent) -> None:
        """Drag along."""
        self._follow(event)

    def mouseReleaseEvent(self, event: QMouseEvent) -> None:
        """Nothing more: the press has done it."""
        event.accept()

    def _follow(self, event: QMouseEvent) -> None:
        event.accept()
        if event.buttons() & Qt.MouseButton.LeftButton:
            share = (event.position().x() - _MARGIN) / max(self.width() - 2 * _MARGIN, 1.0)
            self.setValue(round(share * max(self._steps, 1)))

    def _tick(self) -> None:
        self._phase = (self._phase + _TRAVEL) % 1.0
        self.update()

    def paintEvent(self, event: QPaintEvent) -> None:
        """Groove, steps made and to come, the line that moves, the handle."""
        p = self._palette
        painter = QPainter(self)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        painter.setPen(Qt.PenStyle.NoPen)
        done, middle = self.maximum(), self.height() - _GROOVE
        self._stand(painter, middle - 9)
        self._bar(painter, 0, max(self._steps, 1), mix(p.panel, p.border, 0.35))
        self._bar(painter, 0, done, mix(p.panel, p.accent, 0.45))
        self._bar(painter, 0, self.value(), p.accent)
        if self.busy and done < self._steps:
            start = done + max(self._phase * 1.4 - 0.4, 0.0)
            self._bar(painter, start, done + min(self._phase * 1.4, 1.0), p.chosen)
        self._marks(painter, done, middle)
        if self._steps:
            centre = QPointF(self.x_of(self.value()), middle)
            ring = p.focus if self.hasFocus() else p.accent
            painter.setPen(QPen(QColor(ring), 3.0 if self.hasFocus() else 1.6))
            painter.setBrush(QColor(p.canvas))
            painter.drawEllipse(centre, 7.0, 7.0)
        painter.end()

    def _bar(self, painter: QPainter, start: float, end: float, colour: str) -> None:
        left, right = self.x_of(start), self.x_of(end)
        if right > left:
            painter.setBrush(QColor(colour))
            painter.drawRoundedRect(
                QRectF(left, self.height() - _GROOVE - 2, right - left, 4), 2, 2
            )

    def _stand(self, painter: QPainter, foot: float) -> None:
        """The bars of the steps made; those after the cursor are faint."""
        p, most = self._palette, max(self._gains, default=0)
        width = min(_WIDEST, 0.7 * (self.x_of(1) - self.x_of(0)))
        for step, gain in enumerate(self._gains, start=1):
            at_cursor = step == self.value()
            colour = p.chosen if at_cursor else p.learned
            painter.setBrush(QColor(colour if step <= self.value() else mix(p.panel, colour, 0.4)))
            height = max(2.0, (foot - 3) * gain / most) if gain > 0 else 1.0
            painter.drawRect(QRectF(self.x_of(step) - width / 2, foot - height, width, height))

    def _marks(self, painter: QPainter, done: int, middle: float) -> None:
        p = self._palette
        steps = step_ticks(self._steps, max(2, int(self.width() // 12)))
        for step in steps if self._steps else []:
            colour = p.soft_ink if step <= done else mix(p.panel, p.border, 0.5)
            painter.setPen(QPen(QColor(colour), 1.0))
            x = self.x_of(step)
            painter.drawLine(QPointF(x, middle + 9), QPointF(x, middle + 12))
        painter.setPen(Qt.PenStyle.NoPen)
