"""The halfplane that is pointed at on a sheet, or tried in place of the chosen one."""

from __future__ import annotations

from PySide6.QtCore import QObject, QTimer, Signal

from geodp_app.dual.sheets import dual_position, nearest_halfplane
from geodp_app.runs.what_if import Candidate, WhatIf
from geometry.halfplane import Halfplane, HalfplaneLattice, Sheet

#: Milliseconds between two readouts of the pointer.
_PAUSE = 25


class DualPointer(QObject):
    """Follows the pointer; what is tried stays until another step or Escape.

    While something judges candidates, a halfplane stands for the piece that has it in place of the
    chosen one.
    """

    #: Another halfplane, or none; or what is known of it has changed.
    changed = Signal()
    #: The halfplane that is tried, or None.
    tried_changed = Signal(object)

    def __init__(self, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._lattice: HalfplaneLattice | None = None
        self._sheet = Sheet.FLAT_ABOVE
        self._chosen: Halfplane | None = None
        self._what_if: WhatIf | None = None
        self._at: tuple[float, float] | None = None
        self._tried: Halfplane | None = None
        #: What is pointed at, else what is tried.
        self.halfplane: Halfplane | None = None
        #: The same, only while it is pointed at.
        self.pointed: Halfplane | None = None
        self.candidate: Candidate | None = None
        self._timer = QTimer(self, singleShot=True, interval=_PAUSE)
        self._timer.timeout.connect(self.look)

    def set_place(
        self, lattice: HalfplaneLattice | None, sheet: Sheet, chosen: Halfplane | None
    ) -> None:
        """The sheet that is shown, and the chosen halfplane that could be another, if on it."""
        if (lattice, sheet) != (self._lattice, self._sheet):
            self._at = None
        self._lattice, self._sheet, self._chosen = lattice, sheet, chosen

    def set_what_if(self, what_if: WhatIf | None) -> None:
        """Take what judges candidates (private); None for none."""
        self._what_if = what_if
        self.try_halfplane(None)

    def point(self, at: tuple[float, float] | None) -> None:
        """The pointer is at (u, v) of the sheet, or away."""
        self._at = at
        if not self._timer.isActive():
            self._timer.start()

    def try_at(self, at: tuple[float, float]) -> None:
        """Try the halfplane at (u, v) of the sheet in place of the chosen one."""
        if self._lattice is not None and self._what_if is not None:
            halfplane = nearest_halfplane(self._lattice, self._sheet, *at)
            if halfplane is not None:
                self._at = None  # until the pointer moves again
                self.try_halfplane(halfplane)

    def try_halfplane(self, halfplane: Halfplane | None) -> None:
        """Keep a halfplane in place of the chosen one; None for none."""
        self._tried = halfplane
        self.tried_changed.emit(halfplane)
        self.look()

    def drop(self) -> None:
        """Escape: nothing is tried or pointed at."""
        self._at = None
        self.try_halfplane(None)

    def nudge(self, du: float, dv: float) -> None:
        """Move what is tried, at first the chosen point."""
        at = self._tried or self._chosen
        if at is not None:
            u, v = dual_position(at)
            self.try_at((u + du, v + dv))

    def look(self) -> None:
        """See what is there now, and tell."""
        self.pointed = None
        if self._at is not None and self._lattice is not None:
            self.pointed = nearest_halfplane(self._lattice, self._sheet, *self._at)
        self.halfplane = self.pointed or self._tried
        self.candidate = self._judge(self.halfplane)
        self.changed.emit()

    def _judge(self, halfplane: Halfplane | None) -> Candidate | None:
        if halfplane is None or self._what_if is None or halfplane.lattice != self._lattice:
            return None
        return self._what_if.judge(halfplane)
