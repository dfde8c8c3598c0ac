"""Points asked about after a run by votes, on the plane, and words beside the newest.

A square is an answer, filled for 1 and open for 0; a cross is none.  The words say the same, and,
where private data are shown, how the chunks voted.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pyqtgraph as pg

from geodp_app.files.stored_run import Question
from geodp_app.palette import Palette
from geodp_app.views.widgets.paths import cosmetic, tinted

#: Side of a symbol in pixels: larger than the points that the run asked itself.
_SIZE = 12.0

#: Answers 1, 0 and ⊥, and their symbols.
_SYMBOLS = {1: "s", 0: "s", None: "x"}


class QuestionsLayer:
    """The items of questions in one plot."""

    def __init__(self, plot: pg.PlotItem, z: float) -> None:
        self.symbols = {}
        for answer, symbol in _SYMBOLS.items():
            scatter = pg.ScatterPlotItem(pxMode=True, symbol=symbol, size=_SIZE)
            scatter.setZValue(z)
            plot.addItem(scatter, ignoreBounds=True)
            self.symbols[answer] = scatter
        self.words = pg.TextItem()
        self.words.setZValue(z + 0.2)
        self.words.hide()
        plot.addItem(self.words, ignoreBounds=True)

    def set_palette(self, palette: Palette) -> None:
        """Colours of symbols and words."""
        inks = {1: palette.positive, 0: palette.negative, None: palette.danger}
        for answer, scatter in self.symbols.items():
            ink = inks[answer]
            scatter.setPen(cosmetic(ink, 2.2))
            scatter.setBrush(pg.mkBrush(ink if answer == 1 else palette.canvas))
        self.words.setColor(palette.ink)
        self.words.fill = pg.mkBrush(tinted(palette.canvas, 0.94))
        self.words.border = cosmetic(palette.border, 1)
        self.words.update()

    def show(self, questions: Sequence[Question], d: int, *, private: bool) -> None:
        """Show questions on a grid 0..d; how the chunks voted only where `private` says so."""
        for answer, scatter in self.symbols.items():
            where = [q.point for q in questions if q.release.value == answer]
            scatter.setData(pos=np.array(where, dtype=np.float64).reshape(-1, 2))
        self.words.setVisible(bool(questions))
        if not questions:
            return
        newest = questions[-1]
        votes = newest.votes.replace("; ", "\n") if private else ""
        lines = [newest.answer[0].upper() + newest.answer[1:], *filter(None, [votes])]
        self.words.setPlainText("\n".join(lines))
        x, y = newest.point
        self.words.setPos(x, y)
        # towards the middle, so that the words stay in the square
        self.words.setAnchor((-0.08 if 2 * x < d else 1.08, 1.2 if 2 * y < d else -0.2))
