"""Lays a card with words and buttons over the window for the tour, and outlines."""

from __future__ import annotations

from collections.abc import Sequence

from PySide6.QtCore import QPoint, QPointF, QRect, QRectF, QSize, Qt, Signal
from PySide6.QtGui import QColor, QKeyEvent, QPainter, QPaintEvent, QPen
from PySide6.QtWidgets import QFrame, QHBoxLayout, QLabel, QPushButton, QVBoxLayout, QWidget

from geodp_app.views.widgets.panes import Themed, dressed, fill, show_words

#: Width of the card, its distance from what it points at, and how finely places are tried; all in
#: device-independent pixels.
_WIDTH, _GAP, _PLACES = 380, 8, 12
#: Radius of the ring around a point.
_RING = 11.0


class TourCard(QFrame):
    """A title, two sentences, and where to go from here; it takes the keyboard."""

    back_asked = Signal()
    next_asked = Signal()
    end_asked = Signal()

    def __init__(self, parent: QWidget) -> None:
        super().__init__(parent)
        dressed(self, "tourCard").setFixedWidth(_WIDTH)
        self.title, self.place = dressed(QLabel(), "paneTitle"), dressed(QLabel(), "note")
        self.words, self.note = QLabel(wordWrap=True), dressed(QLabel(wordWrap=True), "note")
        self.skip, self.back = _Button("Skip"), _Button("Back")
        self.next = _Button("Next")
        self.next.setProperty("kind", "primary")
        self.skip.clicked.connect(self.end_asked)
        self.back.clicked.connect(self.back_asked)
        self.next.clicked.connect(self.next_asked)
        head = fill(QHBoxLayout(), (self.title, 1), self.place)
        foot = fill(QHBoxLayout(), self.skip, None, self.back, self.next)
        parts = (head, self.words, self.note, foot)
        fill(QVBoxLayout(self), *parts, margins=(14, 10, 14, 12), spacing=8)
        self.hide()

    def show_stop(self, at: int, of: int, title: str, words: str) -> None:
        """Another stop, the first is 1."""
        self.title.setText(title)
        self.words.setText(words)
        self.place.setText(f"{at} of {of}")
        self.set_note("")
        self.back.setEnabled(at > 1)
        self.next.setText("Next" if at < of else "Done")
        self.setAccessibleName(f"Tour, {at} of {of}: {title}")
        # what has the keyboard is what is read out
        self.next.setAccessibleDescription(f"{at} of {of}: {title}. {words}")
        self.show()
        self.raise_()
        self.next.setFocus(Qt.FocusReason.OtherFocusReason)

    def set_note(self, text: str) -> None:
        """What is being waited for; empty for nothing."""
        if text != self.note.text() or self.note.isHidden() == bool(text):
            show_words(self.note, text)

    def needed(self) -> QSize:
        """The size of all the words."""
        return QSize(_WIDTH, max(self.heightForWidth(_WIDTH), self.minimumSizeHint().height()))

    def keyPressEvent(self, event: QKeyEvent) -> None:
        """Right and Enter go on, Left goes back, Esc ends."""
        key = event.key()
        if key in (Qt.Key.Key_Right, Qt.Key.Key_Return, Qt.Key.Key_Enter):
            self.next_asked.emit()
        elif key == Qt.Key.Key_Left:
            self.back_asked.emit()
        elif key == Qt.Key.Key_Escape:
            self.end_asked.emit()
        else:
            super().keyPressEvent(event)


class _Button(QPushButton):
    """A button that Enter presses and that leaves arrows and Esc to the card."""

    def keyPressEvent(self, event: QKeyEvent) -> None:
        key = event.key()
        if key in (Qt.Key.Key_Return, Qt.Key.Key_Enter):
            self.click()
        elif key in (Qt.Key.Key_Left, Qt.Key.Key_Right, Qt.Key.Key_Escape):
            event.ignore()
        else:
            super().keyPressEvent(event)


class TourOutline(Themed, QWidget):
    """Outlines around rectangles of the window, and a ring; the mouse does not see them."""

    def __init__(self, parent: QWidget) -> None:
        super().__init__(parent)
        self.setAttribute(Qt.WidgetAttribute.WA_TransparentForMouseEvents)
        self._window = parent
        self.rects: tuple[QRect, ...] = ()
        self.ring: QPointF | None = None
        self.hide()

    def show_around(self, rects: Sequence[QRect], ring: QPointF | None) -> None:
        """Other rectangles and another ring, in the parent's coordinates."""
        self.rects, self.ring = tuple(rects), ring
        self.setGeometry(self._window.rect())
        self.show()
        self.raise_()
        self.update()

    def paintEvent(self, event: QPaintEvent) -> None:
        """The outlines, in the colour of what comes next."""
        painter = QPainter(self)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        # a rim in the background's colour keeps the line apart from whatever it crosses
        for colour, width in ((self._palette.panel, 5.0), (self._palette.accent, 3.0)):
            painter.setPen(QPen(QColor(colour), width))
            for rect in self.rects:
                painter.drawRoundedRect(QRectF(rect).adjusted(1, 1, -1, -1), 6, 6)
            if self.ring is not None:
                painter.drawEllipse(self.ring, _RING, _RING)
        painter.end()


def place_beside(size: QSize, room: QRect, targets: Sequence[QRect]) -> QPoint:
    """Where in a room to put a card so that it covers as little as possible of its targets.

    Of several such places it is the one nearest to them.
    """
    middle = QRect(targets[0]) if targets else QRect(room)
    for target in targets:
        middle = middle.united(target)
    centre = middle.center()
    best, place = None, room.topLeft()
    for y in range(room.top(), max(room.top(), room.bottom() - size.height()) + 1, _PLACES):
        for x in range(room.left(), max(room.left(), room.right() - size.width()) + 1, _PLACES):
            card = QRect(QPoint(x, y), size)
            wide = card.adjusted(-_GAP, -_GAP, _GAP, _GAP)
            hidden = sum(_area(wide.intersected(target)) for target in targets)
            off = card.center() - centre
            cost = (hidden, off.x() ** 2 + off.y() ** 2)
            if best is None or cost < best:
                best, place = cost, card.topLeft()
    return place


def _area(rect: QRect) -> int:
    return 0 if rect.isEmpty() else rect.width() * rect.height()
