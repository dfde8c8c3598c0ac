"""A share as a bar in its groove."""

from __future__ import annotations

from PySide6.QtCore import QRectF, Qt
from PySide6.QtGui import QColor, QPainter, QPaintEvent
from PySide6.QtWidgets import QWidget

from geodp_app.palette import Palette, load_palette, mix


class ShareBar(QWidget):
    """A share, 0..1, as a bar.

    Parameters
    ----------
    name : str
        What the share is of, for those who do not see it.
    colour : str
        The palette's name of its colour.
    """

    def __init__(self, name: str, colour: str = "accent") -> None:
        super().__init__()
        self.share, self.colour = 0.0, colour
        self._palette = load_palette("light")
        self.setFixedHeight(8)
        self.setAccessibleName(name)

    def set_share(self, share: float, colour: str | None = None) -> None:
        """Another length, and another colour if one is given."""
        self.share, self.colour = share, colour or self.colour
        self.setAccessibleDescription(f"{100 * share:.0f} %")
        self.update()

    def set_palette(self, palette: Palette) -> None:
        """Light or dark."""
        self._palette = palette
        self.update()

    def paintEvent(self, event: QPaintEvent) -> None:
        """The groove, and the part of it that is the share."""
        p = self._palette
        painter = QPainter(self)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        painter.setPen(Qt.PenStyle.NoPen)
        groove = QRectF(self.rect()).adjusted(0, 1, 0, -1)
        painter.setBrush(QColor(mix(p.panel, p.border, 0.35)))
        painter.drawRoundedRect(groove, 3, 3)
        groove.setWidth(groove.width() * self.share)
        painter.setBrush(QColor(getattr(p, self.colour)))
        if groove.width() > 0:
            painter.drawRoundedRect(groove, 3, 3)
        painter.end()
