"""The timeline shows which stop of the run is looked at, and the selection that is under way.

Play shows the stops again that were made, and after the last of them asks for the next step; it
never begins another run, which would spend epsilon again.

Over every stop of its track stands a bar: how many examples were gained since the one before, of
the most that were.  One that gained none has a stroke.  Stops to come are faint and out of reach;
over the one under way a line moves.  The second act, in which edges are drawn again, is one block
that can be opened; a flag marks the end (decision 36).
"""

from __future__ import annotations

import bisect
import itertools
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

from PySide6.QtCore import QPointF, QRectF, QSignalBlocker, QSize, Qt, Signal
from PySide6.QtGui import QColor, QMouseEvent, QPainter, QPen, QResizeEvent
from PySide6.QtWidgets import QFrame, QLabel, QSizePolicy, QSlider, QToolButton

from geodp_app.actions import action, tool_tip
from geodp_app.palette import Palette, load_palette, mix
from geodp_app.runs.figures import Selecting, step_ticks
from geodp_app.runs.run_log import RunLog
from geodp_app.views.widgets.panes import Painted, dressed, fill, tool_button
from geodp_app.views.widgets.tasks import timer
from geodp_app.views.widgets.theme import icon
from learners.core.selection import PIECE_SIZE

#: Milliseconds between frames of the moving line, and its travel in each, 0..1.
_FRAME, _TRAVEL = 50, 0.04
#: On either side, for half of the handle and its ring, in device-independent pixels.
_MARGIN = 10.0
#: From the bottom to the groove's middle; the bars stand above the groove.
_GROOVE = 15.0
#: Widest bar.
_WIDEST = 18.0


class Stop(NamedTuple):
    """A step at which a run can be looked at, 0 before the first, and what it is called."""

    step: int
    title: str


@dataclass(frozen=True, slots=True)
class Course:
    """The stops at which a run can be looked at, and how many are still to come."""

    #: In order, the first before the first step.  Where a run is over the last is its end, a step
    #: later than the last step.
    stops: tuple[Stop, ...] = (Stop(0, "No steps yet"),)
    #: How many stops its first act will have; what follows sharpens.
    first: int = 0
    #: How many stops there will be after the one before the first step; 0 as long as that is not
    #: known.
    planned: int = 0
    #: Whether there is a second act.
    sharpens: bool = False

    def position(self, step: int) -> int:
        """Place among the stops of the last one that is not after a step."""
        return bisect.bisect_right([stop.step for stop in self.stops], step) - 1

    @classmethod
    def of(cls, log: RunLog, *, opened: bool, public: bool = False) -> Course:
        """That of a run.

        Its second act has one stop, or where it is `opened` one for each edge.  Edges that no
        example is nearest to are left out, but not of what is to be `public`.
        """
        steps: list[int] = []
        records, edge = log.records, -1
        for record in records:
            if not public and log.idle(record):
                continue
            zone = record.release.zone
            if zone is not None and zone.edge_number == edge:
                steps.pop()
            steps.append(record.step)
            edge = -1 if zone is None else zone.edge_number
        first, sharpens = log.first_act, log.settings.sharpened
        if sharpens and not opened:
            steps = steps[: log.triangles] + steps[log.triangles :][-1:]
        planned = first + 1
        if sharpens:
            done = records[-1].release.zone if records else None
            past = 0 if done is None else done.edge_number + 1
            edges = first * PIECE_SIZE["triangle"]
            planned += max(0, len(steps) - log.triangles) + edges - past if opened else 1
        stops = [Stop(step, log.title(step)) for step in (0, *steps)]
        if log.release is not None:
            stops.append(Stop(len(records) + 1, "The end"))
        return cls(tuple(stops), first, max(planned, len(stops) - 1) if first else 0, sharpens)

    def gains(self, log: RunLog) -> tuple[int, ...]:
        """Examples gained from each stop to the next, of the run that it is of; of the end, none.
        Private."""
        steps = [stop.step for stop in self.stops]
        if log.release is not None and len(steps) > 2:  # what is changed at last belongs to it
            steps[-2:] = [len(log.records)] * 2
        return tuple(sum(log.gains[start:end]) for start, end in itertools.pairwise(steps))


class Track(Painted, QSlider):
    """A slider over the stops of a run, whose range may be only a part of what it shows."""

    def __init__(self) -> None:
        super().__init__(Qt.Orientation.Horizontal)
        self._course = Course()
        self.phase = 0.0
        #: What the bars show: examples gained up to each stop since the one before, from the second
        #: on; none where that is private.
        self.gains: tuple[int, ...] = ()
        self.setMaximum(0)
        self.setObjectName("track")
        self.setPageStep(5)
        self.setMouseTracking(True)
        dressed(self, name="Timeline", tip="Click or drag to a step; arrow keys move by one")
        #: Runs while the line over the next step moves.
        self.clock = timer(self, _FRAME, self._tick, again=True)

    def set_course(self, course: Course, position: int, gains: Sequence[int]) -> None:
        """The stops of the run, which of them is shown, and what the bars show; emits nothing."""
        self._course, self.gains = course, tuple(gains)
        with QSignalBlocker(self):
            self.setMaximum(len(course.stops) - 1)
            self.setValue(position)
        self.update()

    def set_busy(self, busy: bool) -> None:
        """Whether the next step is under way."""
        if busy != self.clock.isActive():
            self.phase = 0.0
            if busy:
                self.clock.start()
            else:
                self.clock.stop()
            self.update()

    @property
    def _whole(self) -> int:
        """Places on the track: those of the stops to come, too."""
        return max(self._course.planned, 1)

    def x_of(self, position: float) -> float:
        """Where a stop is drawn, in device-independent pixels."""
        return _MARGIN + position / self._whole * (self.width() - 2 * _MARGIN)

    def sizeHint(self) -> QSize:
        return QSize(240, 44)

    def minimumSizeHint(self) -> QSize:
        return QSize(80, 44)

    def mouseReleaseEvent(self, event: QMouseEvent) -> None:
        """Nothing more: the press has done it."""
        event.accept()

    def mousePressEvent(self, event: QMouseEvent) -> None:
        """Go to the stop under the pointer, and while it is dragged."""
        event.accept()
        if event.buttons() & Qt.MouseButton.LeftButton:
            share = (event.position().x() - _MARGIN) / max(self.width() - 2 * _MARGIN, 1.0)
            self.setValue(round(share * self._whole))

    mouseMoveEvent = mousePressEvent  # noqa: N815 - the toolkit's name

    def _tick(self) -> None:
        self.phase = (self.phase + _TRAVEL) % 1.0
        self.update()

    def draw(self, painter: QPainter, palette: Palette) -> None:
        p = palette
        painter.setPen(Qt.PenStyle.NoPen)
        done, middle = self.maximum(), self.height() - _GROOVE
        self._act(painter, middle)
        self._stand(painter, middle - 9)
        self._bar(painter, 0, self._whole, mix(p.panel, p.border, 0.35))
        self._bar(painter, 0, done, mix(p.panel, p.accent, 0.45))
        self._bar(painter, 0, self.value(), p.accent)
        if self.clock.isActive() and done < self._whole:
            start = done + max(self.phase * 1.4 - 0.4, 0.0)
            self._bar(painter, start, done + min(self.phase * 1.4, 1.0), p.chosen)
        self._marks(painter, done, middle)
        if self._course.planned:
            centre = QPointF(self.x_of(self.value()), middle)
            ring = p.focus if self.hasFocus() else p.accent
            painter.setPen(QPen(QColor(ring), 3.0 if self.hasFocus() else 1.6))
            painter.setBrush(QColor(p.canvas))
            painter.drawEllipse(centre, 7.0, 7.0)

    def _bar(self, painter: QPainter, start: float, end: float, colour: str) -> None:
        left, right = self.x_of(start), self.x_of(end)
        if right > left:
            painter.setBrush(QColor(colour))
            top = self.height() - _GROOVE - 2
            painter.drawRoundedRect(QRectF(left, top, right - left, 4), 2, 2)

    def _stand(self, painter: QPainter, foot: float) -> None:
        """The bars of the stops made; those after the cursor are faint."""
        p, most = self._palette, max(self.gains, default=0)
        width = min(_WIDEST, 0.7 * (self.x_of(1) - self.x_of(0)))
        for step, gain in enumerate(self.gains, start=1):
            at_cursor = step == self.value()
            colour = p.chosen if at_cursor else p.learned
            painter.setBrush(QColor(colour if step <= self.value() else mix(p.panel, colour, 0.4)))
            height = max(2.0, (foot - 3) * gain / most) if gain > 0 else 1.0
            painter.drawRect(QRectF(self.x_of(step) - width / 2, foot - height, width, height))

    def _act(self, painter: QPainter, middle: float) -> None:
        first, end = self._course.first, self._whole - 1
        if self._course.sharpens and first < end:
            painter.setBrush(QColor(mix(self._palette.panel, self._palette.learned, 0.16)))
            left, right = self.x_of(first + 0.5), self.x_of(end + 0.5)
            painter.drawRoundedRect(QRectF(left, 2, right - left, middle + 6), 4, 4)

    def _marks(self, painter: QPainter, done: int, middle: float) -> None:
        p, last = self._palette, self._whole
        if not self._course.planned:
            return
        for step in step_ticks(last - 1, max(2, int(self.width() // 12))):
            colour = p.soft_ink if step <= done else mix(p.panel, p.border, 0.5)
            painter.setPen(QPen(QColor(colour), 1.0))
            x = self.x_of(step)
            painter.drawLine(QPointF(x, middle + 9), QPointF(x, middle + 12))
        painter.setPen(Qt.PenStyle.NoPen)
        painter.setBrush(QColor(p.accent if done == last else mix(p.panel, p.border, 0.5)))
        x, top = self.x_of(last), middle - 22
        painter.drawRect(QRectF(x - 0.75, top, 1.5, 22))
        painter.drawPolygon([QPointF(x - 9, top + 4), QPointF(x, top), QPointF(x, top + 8)])


#: A title that leaves room for others.
_WIDEST_TITLE = "Before triangle 1 of 88"

#: Milliseconds a stop stays when the run is played again.
_PLAY = 600
#: Width from which there is room for the note, in device-independent pixels.
_ROOMY = 560


class Timeline(QFrame):
    """Back, forward, play from here, the track, and one line of text."""

    #: The step of another stop was asked for.
    cursor_moved = Signal(int)
    #: Run on after the last step, or pause the run.
    play_asked = Signal()

    def __init__(self) -> None:
        super().__init__()
        self.setObjectName("pane")
        self._course, self._note, self._playing, self._goes_on = Course(), "", False, False
        self._selecting: Selecting | None = None
        self.track = Track()
        self.track.valueChanged.connect(self._moved)
        self.back, self.forward = (
            dressed(QToolButton(), name=action(id).text, tip=tool_tip(action(id)))
            for id in ("back", "forward")
        )
        self.play = QToolButton()
        self.back.clicked.connect(lambda: self.track.setValue(self.track.value() - 1))
        self.forward.clicked.connect(lambda: self.track.setValue(self.track.value() + 1))
        self.play.clicked.connect(self._play_or_pause)
        self.words, self.note = dressed(QLabel(), name="Step shown"), dressed(QLabel(), "note")
        self.note.setSizePolicy(QSizePolicy.Policy.Ignored, QSizePolicy.Policy.Preferred)
        tip = "The second act draws the edges again: one stop each, or one block"
        self.edges = tool_button("Each edge", name="One stop an edge", tip=tip)
        self.edges.setCheckable(True)
        #: Runs while the stops that were made are being played again.
        self.player = timer(self, _PLAY, self.forward.click, again=True)
        row = fill(self, across=True, margins=(8, 1, 12, 1), spacing=4)
        fill(row, self.back, self.play, self.forward).addSpacing(4)
        fill(row, (self.track, 2)).addSpacing(6)
        fill(row, self.edges, self.words).addSpacing(6)
        fill(row, (self.note, 1))
        self.set_palette(load_palette("light"))

    def set_run(
        self,
        course: Course,
        position: int,
        gains: Sequence[int] = (),
        *,
        playing: bool = False,
        goes_on: bool = True,
        selecting: Selecting | None = None,
    ) -> None:
        """Show a run, which of its stops is shown, from 0, and what was gained up to each; emits
        nothing.

        `playing`: it goes on by itself.  `goes_on`: it can, if it is asked to.  `selecting`: how
        far the selection under way is.
        """
        self._course, self._playing, self._goes_on = course, playing, goes_on
        if playing:
            self.player.stop()
        self.track.set_course(course, position, gains)
        self.edges.setVisible(course.sharpens)
        titles = {_WIDEST_TITLE, *(stop.title for stop in course.stops)}
        self.words.setMinimumWidth(max(map(self.fontMetrics().horizontalAdvance, titles)) + 2)
        self.set_selecting(selecting)

    def set_selecting(self, selecting: Selecting | None) -> None:
        """A selection is under way and has got so far; None when it is over."""
        self._selecting = selecting
        self.track.set_busy(selecting is not None)
        self._show()

    def set_palette(self, palette: Palette) -> None:
        self.track.set_palette(palette)
        self.back.setIcon(icon("back", palette))
        self.forward.setIcon(icon("forward", palette))
        self._play_icon, self._pause_icon = icon("replay", palette), icon("pause", palette)
        self._show()

    def text(self) -> str:
        """What is written beside the track."""
        return f"{self.words.text()}. {self._note}".rstrip(". ")

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self._fit_note()

    def _fit_note(self) -> None:
        """Where there is room the note keeps its place even when empty: the track stays put."""
        self.note.setVisible(self.width() >= _ROOMY)
        end = Qt.TextElideMode.ElideRight
        self.note.setText(self.fontMetrics().elidedText(self._note, end, self.width() // 3))
        self.note.setToolTip(self._note)
        self.track.setAccessibleDescription(self.text())

    def _moved(self, position: int) -> None:
        self._show()
        self.cursor_moved.emit(self._course.stops[position].step)

    def _show(self) -> None:
        done, at = self.track.maximum(), self.track.value()
        self.words.setText(self._course.stops[at].title)
        self._note = "" if self._selecting is None else self._selecting.text()
        if not self._note and at < done:
            self._note = f"Made so far: {self._course.stops[done].title}"
        self._fit_note()
        self.back.setEnabled(at > 0)
        self.forward.setEnabled(at < done)
        if at >= done:
            self.player.stop()
        moving = self._playing or self.player.isActive()
        self.play.setEnabled(moving or at < (self._course.planned if self._goes_on else done))
        text = "Pause" if moving else "Play from here" if at < done else "Run on"
        self.play.setIcon(self._pause_icon if moving else self._play_icon)
        dressed(self.play, name=text, tip=text)

    def _play_or_pause(self) -> None:
        if self.player.isActive():
            self.player.stop()
        elif self.track.value() < self.track.maximum() and not self._playing:
            self.player.start()
        else:
            self.play_asked.emit()
        self._show()
