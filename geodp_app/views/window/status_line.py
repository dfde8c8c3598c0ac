"""The line at the foot of the window: what to do next, or for a while what has just happened.

QStatusBar's own messages are not used: they hide the bar's widgets, and a change of layout shows
these again beneath the message.
"""

from __future__ import annotations

from PySide6.QtCore import Qt, QTimer
from PySide6.QtGui import QPainter, QPaintEvent
from PySide6.QtWidgets import QLabel, QSizePolicy, QWidget

#: Milliseconds for which a message stays.
_TELL_FOR = 8000


class StatusLine(QLabel):
    """A hint that gives way to messages, and both to the tip of the command pointed at.

    It asks for no width: a long sentence must not widen the window.  What does not fit ends in
    dots, and the tool tip has all of it.
    """

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._hint = self._message = self._tip = ""
        self.setSizePolicy(QSizePolicy.Policy.Ignored, QSizePolicy.Policy.Preferred)
        self._timer = QTimer(self)
        self._timer.setSingleShot(True)
        self._timer.timeout.connect(lambda: self._say(message=""))

    def set_hint(self, text: str) -> None:
        """What to do next."""
        self._say(hint=text)

    def set_tip(self, text: str) -> None:
        """What the command under the pointer does; empty when there is none."""
        self._say(tip=text)

    def tell(self, text: str) -> None:
        """What has just happened, for a while."""
        self._say(message=text)
        self._timer.start(_TELL_FOR)

    def paintEvent(self, event: QPaintEvent) -> None:
        """As much of the line as there is room for."""
        painter, room = QPainter(self), self.contentsRect()
        end = Qt.TextElideMode.ElideRight
        shown = self.fontMetrics().elidedText(self.text(), end, room.width())
        align, on = int(Qt.AlignmentFlag.AlignVCenter), self.isEnabled()
        role = self.foregroundRole()
        self.style().drawItemText(painter, room, align, self.palette(), on, shown, role)
        painter.end()

    def _say(
        self, *, hint: str | None = None, message: str | None = None, tip: str | None = None
    ) -> None:
        self._hint = self._hint if hint is None else hint
        self._message = self._message if message is None else message
        self._tip = self._tip if tip is None else tip
        self.setText(self._tip or self._message or self._hint)
        self.setToolTip(self.text())
