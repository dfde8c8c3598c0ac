"""A run by votes on the plane: where the chunks agree, and the public points that were asked.

The margin is a tint of the two label colours, stronger where more chunks agree; an answer is a
square, filled for 1 and open for 0; ⊥ is a cross.  Colour is never the only sign.

Points that were asked about after the run look alike; the words beside the newest say the same,
and, where private data are shown, how the chunks voted.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pyqtgraph as pg
from numpy.typing import NDArray
from PySide6.QtGui import QColor, QImage

from geodp_app.dual.sheets import Window
from geodp_app.files.run_record import Question
from geodp_app.palette import Palette
from geodp_app.views.widgets.plotting import Dots, PictureItem, added, cosmetic, tinted
from learners.stability.sample_and_aggregate import PLACES, VoteView

#: Strongest tint of the margin.
_TINT = 0.35

#: Side of a symbol in pixels.
_SIZE = 7.0

#: Answers 1, 0 and ⊥, and their symbols.
_SYMBOLS = {1: "s", 0: "s", -1: "x"}


class VotesLayer:
    """The items of a run by votes in one plot."""

    def __init__(self, plot: pg.PlotItem, z: float) -> None:
        self.image = added(plot, z - 13, PictureItem())
        self.scatters = {
            answer: added(plot, z + 0.1, Dots(_SIZE, symbol)) for answer, symbol in _SYMBOLS.items()
        }
        self._votes: VoteView | None = None
        self._d = 1
        self._palette: Palette | None = None

    def set_palette(self, palette: Palette) -> None:
        """Colours of tints and symbols."""
        self._palette = palette
        inks = {1: palette.positive, 0: palette.negative, -1: palette.danger}
        for answer, scatter in self.scatters.items():
            scatter.setPen(cosmetic(inks[answer], 1.6))
            filled = answer == 1
            scatter.setBrush(pg.mkBrush(tinted(inks[answer], 0.9)) if filled else pg.mkBrush(None))
        self.show(self._votes, self._d)

    def show(self, votes: VoteView | None, d: int) -> None:
        """Show a view of a run on a grid 0..d; None clears."""
        self._votes, self._d = votes, d
        for answer, scatter in self.scatters.items():
            where = _NONE if votes is None else votes.asked[votes.answers == answer]
            scatter.show_at(where)
        if votes is None or self._palette is None:
            self.image.set_image(None, None)
            return
        half = d / (PLACES - 1) / 2
        window = Window(-half, d + half, -half, d + half)
        self.image.set_image(margin_image(votes.margins, self._palette), window)

    def set_visible(self, visible: bool) -> None:
        """Margins are private, and which points were asked is said by the release's file alone."""
        self.image.setVisible(visible)
        for scatter in self.scatters.values():
            scatter.setVisible(visible)


_NONE: NDArray[np.int64] = np.empty((0, 2), dtype=np.int64)


def margin_image(margins: NDArray[np.float64], palette: Palette) -> QImage:
    """Margins [i, j] in -1..1 as an image, its first row at the least ordinate."""
    places = len(margins)
    strength = (np.abs(margins.T) * _TINT * 255).round().astype(np.uint32)
    pixels = np.zeros((places, places), dtype=np.uint32)
    for ink, chosen in ((palette.positive, margins.T > 0), (palette.negative, margins.T < 0)):
        rgb = QColor(ink).rgb() & 0xFFFFFF
        pixels[chosen] = strength[chosen] << 24 | rgb
    image = QImage(pixels.tobytes(), places, places, 4 * places, QImage.Format.Format_ARGB32)
    return image.copy()


#: Side of a symbol in pixels: larger than the points that the run asked itself.
_QUESTION_SIZE = 12.0

#: Answers 1, 0 and ⊥, and their symbols.
_ANSWERS = {1: "s", 0: "s", None: "x"}


class QuestionsLayer:
    """The items of questions in one plot."""

    def __init__(self, plot: pg.PlotItem, z: float) -> None:
        self.symbols = {
            answer: added(plot, z, Dots(_QUESTION_SIZE, symbol))
            for answer, symbol in _ANSWERS.items()
        }
        self.words = added(plot, z + 0.2, pg.TextItem())
        self.words.hide()

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

    def show(self, questions: Sequence[Question], d: int) -> None:
        """Show questions on a grid 0..d, and how the chunks voted where that is given."""
        for answer, scatter in self.symbols.items():
            where = [q.point for q in questions if q.release.value == answer]
            scatter.show_at(where)
        self.words.setVisible(bool(questions))
        if not questions:
            return
        newest = questions[-1]
        votes = newest.votes.replace("; ", "\n")
        lines = [newest.answer[0].upper() + newest.answer[1:], *filter(None, [votes])]
        self.words.setPlainText("\n".join(lines))
        x, y = newest.point
        self.words.setPos(x, y)
        # towards the middle, so that the words stay in the square
        self.words.setAnchor((-0.08 if 2 * x < d else 1.08, 1.2 if 2 * y < d else -0.2))
