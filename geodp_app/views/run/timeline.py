"""The timeline: which step of the run is shown, and the selection that is under way.

Play shows the steps again that were made, and after the last of them asks for the next; it never
begins another run, which would spend epsilon again.

Over every step of its track stands a bar: how many examples it gained, of the most that one
gained.  A step that gained none has a stroke.  Steps that were not made yet are faint and out of
reach; over the one under way a line moves.
"""

from __future__ import annotations

from collections.abc import Sequence

from PySide6.QtCore import QPointF, QRectF, QSize, Qt, QTimer, Signal
from PySide6.QtGui import QColor, QMouseEvent, QPainter, QPaintEvent, QPen, QResizeEvent
from PySide6.QtWidgets import (
    QFrame,
    QHBoxLayout,
    QLabel,
    QSizePolicy,
    QSlider,
    QToolButton,
    QWidget,
)

from geodp_app.actions import action, tool_tip
from geodp_app.formatting import count
from geodp_app.palette import Palette, load_palette, mix
from geodp_app.runs.figures import Selecting, step_text, step_ticks
from geodp_app.views.widgets.icons import icon
from geodp_app.views.widgets.panes import dressed, fill

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
        dressed(self, name="Timeline", tip="Click or drag to a step; arrow keys move by one")
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
        """Draw in the colours of another palette, light or dark."""
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
        """Follow the pointer along the timeline."""
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


#: Milliseconds a step stays when the run is played again.
_PLAY = 600
#: Width from which there is room for the note, in device-independent pixels.
_ROOMY = 560


class Timeline(QFrame):
    """Back, forward, play from here, the track, and one line of text."""

    #: Another step was asked for; 0 is before the first.
    cursor_moved = Signal(int)
    #: Run on after the last step, or pause the run.
    play_asked = Signal()

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setObjectName("pane")
        self._steps = 0
        self._note = ""
        self._playing = False
        self._selecting: Selecting | None = None
        self.track = Track()
        self.track.valueChanged.connect(self._moved)
        self.back, self.forward = (
            dressed(QToolButton(), name=action(id).text, tip=tool_tip(action(id)))
            for id in ("back", "forward")
        )
        self.play = QToolButton()
        self.back.clicked.connect(lambda: self.track.setValue(self.step - 1))
        self.forward.clicked.connect(lambda: self.track.setValue(self.step + 1))
        self.play.clicked.connect(self._play_or_pause)
        self.words, self.note = dressed(QLabel(), name="Step shown"), dressed(QLabel(), "note")
        self.note.setSizePolicy(QSizePolicy.Policy.Ignored, QSizePolicy.Policy.Preferred)
        self._player = QTimer(self, interval=_PLAY)
        self._player.timeout.connect(self._play_on)
        row = fill(QHBoxLayout(self), self.back, self.play, self.forward, margins=(8, 1, 12, 1))
        row.setSpacing(4)
        row.addSpacing(4)
        row.addWidget(self.track, 2)
        row.addSpacing(6)
        row.addWidget(self.words)
        row.addSpacing(6)
        row.addWidget(self.note, 1)
        self.set_palette(load_palette("light"))

    @property
    def step(self) -> int:
        """The step shown, 0..done."""
        return self.track.value()

    @property
    def replaying(self) -> bool:
        """Whether the steps that were made are being played again."""
        return self._player.isActive()

    def set_run(self, cursor: int, done: int, steps: int) -> None:
        """Show a run; emits nothing.

        Parameters
        ----------
        cursor : int
            The step shown, 0..done; 0 is before the first.
        done, steps : int
            How many steps were made, and how many there will be; 0 if there is no run.
        """
        self._steps = max(steps, done)
        self.track.blockSignals(True)
        self.track.setMaximum(done)
        self.track.setValue(cursor)
        self.track.blockSignals(False)
        self.track.set_steps(self._steps)
        words = (step_text(step, self._steps) for step in (0, self._steps))
        self.words.setMinimumWidth(max(map(self.fontMetrics().horizontalAdvance, words)) + 2)
        self._show()

    def set_gains(self, gains: Sequence[int]) -> None:
        """Examples that each step made gained, in order (private)."""
        self.track.set_gains(gains)

    def set_playing(self, playing: bool) -> None:
        """Whether the run goes on by itself."""
        self._playing = playing
        if playing:
            self._player.stop()
        self._show()

    def set_selecting(self, selecting: Selecting | None) -> None:
        """A selection is under way and has got so far; None when it is over."""
        self._selecting = selecting
        self.track.set_busy(selecting is not None)
        self._show()

    def set_palette(self, palette: Palette) -> None:
        """Draw in the colours of another palette, light or dark."""
        self.track.set_palette(palette)
        self.back.setIcon(icon("back", palette))
        self.forward.setIcon(icon("forward", palette))
        self._play_icon, self._pause_icon = icon("replay", palette), icon("pause", palette)
        self._show()

    def text(self) -> str:
        """What is written beside the track."""
        return f"{self.words.text()}. {self._note}".rstrip(". ")

    def resizeEvent(self, event: QResizeEvent) -> None:
        """The note gives way to the track."""
        super().resizeEvent(event)
        self._fit_note()

    def _fit_note(self) -> None:
        """Where there is room the note keeps its place even when empty: the track stays put."""
        self.note.setVisible(self.width() >= _ROOMY)
        end = Qt.TextElideMode.ElideRight
        self.note.setText(self.fontMetrics().elidedText(self._note, end, self.width() // 3))
        self.note.setToolTip(self._note)
        self.track.setAccessibleDescription(self.text())

    def _moved(self, step: int) -> None:
        self._show()
        self.cursor_moved.emit(step)

    def _show(self) -> None:
        done = self.track.maximum()
        self.words.setText(step_text(self.step, self._steps))
        selecting = self._selecting
        note = "" if selecting is None else selecting.text()
        if not note and done and self.step < done:
            note = f"{count(done)} made"
        self._note = note
        self._fit_note()
        self.back.setEnabled(self.step > 0)
        self.forward.setEnabled(self.step < done)
        if self.step >= done:
            self._player.stop()
        moving = self._playing or self.replaying
        self.play.setEnabled(moving or self.step < self._steps)
        text = "Pause" if moving else "Play from here" if self.step < done else "Run on"
        self.play.setIcon(self._pause_icon if moving else self._play_icon)
        dressed(self.play, name=text, tip=text)

    def _play_or_pause(self) -> None:
        if self.replaying:
            self._player.stop()
        elif self.step < self.track.maximum() and not self._playing:
            self._player.start()
        else:
            self.play_asked.emit()
        self._show()

    def _play_on(self) -> None:
        self.track.setValue(self.step + 1)
