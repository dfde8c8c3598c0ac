"""Finding a drawing's faults without slowing the hand that draws it."""

from __future__ import annotations

from collections.abc import Callable

from PySide6.QtCore import QObject, QTimer

from geodp_app.drawing.editor import Editor
from geodp_app.drawing.faults import Fault, faults
from geodp_app.drawing.shapes import Drawing

#: Drawings with more vertices are looked at when the hand rests.
_LARGE = 600
_REST = 150


class FaultWatch:
    """The faults of the drawing that an editor shows."""

    def __init__(self, editor: Editor, found: Callable[[], None], parent: QObject) -> None:
        self._editor, self._tell = editor, found
        self.found: tuple[Fault, ...] = ()
        self._looked_at: Drawing | None = None
        self._timer = QTimer(parent, singleShot=True, interval=_REST)
        self._timer.timeout.connect(self._look)

    def refresh(self) -> None:
        """The editor changed."""
        drawing = self._editor.shown
        if drawing is not self._looked_at:
            if sum(len(ring) for shape in drawing.shapes for ring in shape.rings) > _LARGE:
                self._timer.start()
            else:
                self._look()
                return
        self._tell()

    def _look(self) -> None:
        self._looked_at = self._editor.shown
        self.found = faults(self._looked_at)
        self._tell()
