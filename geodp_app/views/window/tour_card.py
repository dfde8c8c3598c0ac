"""The tour's card, the outlines around what it points at, and where the card goes."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from functools import partial, reduce

from PySide6.QtCore import QPoint, QPointF, QRect, QRectF, QSize, Qt
from PySide6.QtGui import QColor, QKeyEvent, QPainter, QPen
from PySide6.QtWidgets import QFrame, QLabel, QPushButton, QWidget

from geodp_app.palette import Palette
from geodp_app.views.widgets.panes import Painted, dressed, fill, show_words

#: Width of the card, its distance from what it points at, and how finely places are tried; all in
#: device-independent pixels.
_WIDTH, _GAP, _PLACES = 380, 8, 12
#: Radius of the ring around a point.
_RING = 11.0
_ENTER = (Qt.Key.Key_Return, Qt.Key.Key_Enter)


class TourCard(QFrame):
    """A title, two sentences, and where to go from here; it takes the keyboard.  Right and Enter
    go on, Left goes back, Esc ends."""

    def __init__(self, parent: QWidget, go: Callable[[int], None], end: Callable[[], None]) -> None:
        super().__init__(parent)
        self._keys: dict[Qt.Key, Callable[[], None]] = {
            **dict.fromkeys((*_ENTER, Qt.Key.Key_Right), partial(go, +1)),
            Qt.Key.Key_Left: partial(go, -1), Qt.Key.Key_Escape: end,
        }  # fmt: skip
        dressed(self, "tourCard").setFixedWidth(_WIDTH)
        self.title, self.place = dressed(QLabel(), "paneTitle"), dressed(QLabel(), "note")
        self.words, self.note = QLabel(wordWrap=True), dressed(QLabel(wordWrap=True), "note")
        self.skip, self.back = _Button("Skip"), _Button("Back")
        self.next = _Button("Next")
        self.next.setProperty("kind", "primary")
        self.skip.clicked.connect(lambda: end())
        self.back.clicked.connect(lambda: go(-1))
        self.next.clicked.connect(lambda: go(+1))
        head = fill(None, (self.title, 1), self.place, across=True)
        foot = fill(None, self.skip, None, self.back, self.next, across=True)
        fill(self, head, self.words, self.note, foot, margins=(14, 10, 14, 12), spacing=8)
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
        if event.key() in self._keys:
            self._keys[Qt.Key(event.key())]()
        else:
            super().keyPressEvent(event)


class _Button(QPushButton):
    """A button that Enter presses and that leaves arrows and Esc to the card."""

    def keyPressEvent(self, event: QKeyEvent) -> None:
        key = event.key()
        if key in _ENTER:
            self.click()
        elif key in (Qt.Key.Key_Left, Qt.Key.Key_Right, Qt.Key.Key_Escape):
            event.ignore()
        else:
            super().keyPressEvent(event)


class TourOutline(Painted, QWidget):
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

    def draw(self, painter: QPainter, palette: Palette) -> None:
        # a rim in the background's colour keeps the line apart from whatever it crosses
        for colour, width in ((palette.panel, 5.0), (palette.accent, 3.0)):
            painter.setPen(QPen(QColor(colour), width))
            for rect in self.rects:
                painter.drawRoundedRect(QRectF(rect).adjusted(1, 1, -1, -1), 6, 6)
            if self.ring is not None:
                painter.drawEllipse(self.ring, _RING, _RING)


def place_beside(size: QSize, room: QRect, targets: Sequence[QRect]) -> QPoint:
    """Where in a room to put a card so that it covers as little as possible of its targets.

    Of several such places it is the one nearest to them.
    """
    centre = reduce(QRect.united, targets or [room]).center()

    def cost(card: QRect) -> tuple[int, int]:
        wide, off = card.adjusted(-_GAP, -_GAP, _GAP, _GAP), card.center() - centre
        hidden = [wide & target for target in targets]
        return sum(each.width() * each.height() for each in hidden), off.x() ** 2 + off.y() ** 2

    across, down = max(1, room.width() - size.width()), max(1, room.height() - size.height())
    spots = itertools.product(range(0, down, _PLACES), range(0, across, _PLACES))
    return min((QRect(room.topLeft() + QPoint(x, y), size) for y, x in spots), key=cost).topLeft()
