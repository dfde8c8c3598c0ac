"""Shows the dual plane of discs and ellipses: points are centres, size and form the newest's.

Every disc of that size is a point, every example a disc of that size around it; so ellipses.  In
curator view it carries the examples, the shading and what is pointed at, all private; in release
view only the chosen centres.
"""

from __future__ import annotations

import numpy as np
from PySide6.QtCore import Qt, Signal
from PySide6.QtGui import QPainterPath
from PySide6.QtWidgets import QFrame, QGraphicsItem, QGraphicsPathItem, QLabel, QWidget
from shapely.affinity import translate

from geodp_app.dual.scene import Mark
from geodp_app.dual.sheets import colours, shade_scale
from geodp_app.formatting import amount
from geodp_app.palette import Palette, load_palette, ramp
from geodp_app.runs.odds import Candidate, ConicQuestion
from geodp_app.runs.protocol import ShadedSheet, Window
from geodp_app.views.dual.dual_plot import SheetPlot
from geodp_app.views.widgets.panes import dressed, fill
from geodp_app.views.widgets.plotting import (
    ColourBar,
    PictureItem,
    added,
    cosmetic,
    rgba_image,
    shape_path,
)
from geodp_app.views.widgets.tasks import Background, timer
from geometry.halfplane import Sheet
from geometry.lift import Conic

#: So many examples at most are drawn as outlines, every so-manieth.
_DRAWN = 120
#: Pixels along a side of the shading, and milliseconds between two readouts of the pointer.
_PIXELS, _HOVER_PAUSE = 128, 25

_READ = (
    "Each example is {a} of the newest one's size, around it; each {name} of that size is a point, "
    "its centre, and holds the examples around which {outlines} pass over the point. Colour: the "
    "score that it would have there."
)
_EMPTY = "Run the learner: the centres of what it chooses appear here"
_RELEASE = "Only the centres of what was chosen are shown: they are published."


class ConicView(QWidget):
    """The plane of centres, with a readout."""

    #: The Candidate that is pointed at or tried, or None.
    candidate_shown = Signal(object)
    #: The step, from 1, whose centre was clicked.
    step_picked = Signal(int)

    def __init__(self) -> None:
        super().__init__()
        self.setAccessibleName("Dual plane of discs and ellipses")
        self._question: ConicQuestion | None = None
        self._chosen: tuple[Conic, ...] = ()
        self._pointed: tuple[float, float] | None = None
        self._tried: Conic | None = None
        self.candidate: Candidate | None = None
        self.shaded: ShadedSheet | None = None
        self.background = Background(self)
        self.background.done.connect(self._shade)
        self._make_plot()
        self.readout = dressed(QLabel(wordWrap=True), name="What the dual plane shows")
        self.readout.setMinimumHeight(3 * self.readout.fontMetrics().height() + 2)
        self.readout.setAlignment(Qt.AlignmentFlag.AlignTop)
        self.bar = ColourBar()
        self._legend = dressed(QFrame(self.plot), "legend")
        fill(self._legend, self.bar, margins=(6, 4, 6, 4))
        for changed in (self.plot.box.sigRangeChanged, self.plot.box.sigResized):
            changed.connect(lambda *_: self._place_legend())
        fill(self, (self.plot, 1), self.readout, margins=(6, 2, 6, 4), spacing=4)
        self._timer = timer(self, _HOVER_PAUSE, self._hover)
        self.set_palette(load_palette("light"))
        self.show_run((), None)

    def _make_plot(self) -> None:
        self.plot = SheetPlot()
        self.plot.setAccessibleName("Centres of discs and ellipses")
        self.plot.set_labels("x of the centre", "y of the centre")
        self.plot.box.setAspectLocked(True)
        self.shading = PictureItem()
        self.negative, self.positive = QGraphicsPathItem(), QGraphicsPathItem()
        items: tuple[QGraphicsItem, ...] = (self.shading, self.negative, self.positive)
        for height, item in enumerate(items):
            added(self.plot.plotItem, height, item)
        self.centres, self.pointer = self.plot.chosen, self.plot.pointer
        self.plot.pointed.connect(self._point)
        self.plot.picked.connect(lambda mark: self.step_picked.emit(mark.step))
        self.plot.dragged.connect(lambda at: self.try_at(*at))
        self.plot.nudged.connect(self._nudge)
        self.plot.dropped.connect(self._drop)
        self.plot.fit_wanted.connect(self.fit)

    # what is shown

    @property
    def title(self) -> str:
        """What is held fixed."""
        if not self._chosen:
            return "centres"
        newest = self._chosen[-1]
        if newest.lattice.kind == "ellipse":
            return "centres of ellipses of this form"
        radius = newest.parameters[2] / (1 << newest.lattice.bits)
        return f"centres of discs of radius {amount(radius)}"

    def show_run(self, chosen: tuple[Conic, ...], question: ConicQuestion | None) -> None:
        """Show what was chosen up to a step, and where the newest could be (private).

        `chosen`: the newest last.  `question`: None in release view and before the first step.
        """
        if chosen and (not self._chosen or chosen[-1].lattice != self._chosen[-1].lattice):
            self._chosen = chosen
            self.fit()
        self._chosen, self._question = chosen, question
        last = len(chosen) - 1
        self.centres.show_with(
            marks=[
                Mark(i + 1, 0, 1, Sheet.FLAT_ABOVE, *conic.centre, last - i)
                for i, conic in enumerate(chosen)
            ]
        )
        self.shading.set_image(None, None)
        self.shaded = None
        self._legend.setVisible(False)
        self.background.drop("scores")
        self._draw_examples()
        if question is not None:
            self.background.submit("scores", lambda stop: question.scores(_PIXELS))
        self._try(None)

    def set_palette(self, palette: Palette) -> None:
        self._palette = palette
        self.plot.set_palette(palette)
        self.bar.set_palette(palette)
        self.positive.setPen(cosmetic(palette.positive, 1.0, alpha=0.45))
        self.negative.setPen(cosmetic(palette.negative, 1.0, dash=(6, 4), alpha=0.35))
        self.readout.setStyleSheet(f"color: {palette.ink}")
        self._colour()

    def fit(self) -> None:
        """Show the whole square."""
        if self._chosen:
            d = float(self._chosen[-1].lattice.d)
            self.plot.set_window(Window(0.0, d, 0.0, d).grown(0.05))

    # trying others

    def try_at(self, x: float, y: float) -> None:
        """Try one of the newest's form centred at (x, y) until another step or Escape."""
        if self._question is not None:
            self._pointed = None  # until the pointer moves again
            self._try(self._question.at(x, y))

    def _drop(self) -> None:
        self._pointed = None
        self._try(None)

    def _try(self, conic: Conic | None) -> None:
        self._tried = conic
        self.pointer.show_with(halfplane=None if conic is None else conic.centre)
        self._hover()

    def _nudge(self, across: float, up: float) -> None:
        if self._question is not None:
            x, y = (self._tried or self._question.conic).centre
            self.try_at(x + across, y + up)

    # pieces

    def _draw_examples(self) -> None:
        paths = {True: QPainterPath(), False: QPainterPath()}
        question = self._question
        if question is not None and len(question.points):
            shape, (p, q) = question.conic.outline().simplify(0.5), question.conic.centre
            for i in range(0, len(question.points), -(-len(question.points) // _DRAWN)):
                x, y = question.points[i].tolist()
                paths[bool(question.labels[i])].addPath(shape_path(translate(shape, x - p, y - q)))
        self.positive.setPath(paths[True])
        self.negative.setPath(paths[False])

    def _shade(self, key: object, scores: object) -> None:
        if self._question is not None and isinstance(scores, np.ndarray):
            d = float(self._question.conic.lattice.d)
            self.shaded = ShadedSheet(0, (), scores, Window(0.0, d, 0.0, d))
            self._colour()

    def _colour(self) -> None:
        shaded = self.shaded
        scale = None if shaded is None else shade_scale((shaded,), "score")
        self._legend.setVisible(scale is not None)
        if shaded is None or shaded.scores is None or scale is None:
            return
        image = rgba_image(colours(scale, shaded.scores, ramp(self._palette)))
        self.shading.set_image(image, shaded.window)
        self.bar.set_scale(scale)
        self._place_legend()

    def _place_legend(self) -> None:
        corner = self.plot.mapFromScene(self.plot.box.sceneBoundingRect().topLeft())
        self._legend.adjustSize()
        self._legend.move(corner.x() + 6, corner.y() + 4)

    # the pointer

    def _point(self, at: tuple[float, float] | None) -> None:
        self._pointed = at
        if not self._timer.isActive():
            self._timer.start()

    def _hover(self) -> None:
        question, conic, judged = self._question, None, None
        if question is not None:
            conic = None if self._pointed is None else question.at(*self._pointed)
            conic = conic or self._tried
            judged = None if conic is None else question.judge(conic)
        if judged is not None and conic is not None:
            x, y = conic.centre
            self.readout.setText(f"Centre ({amount(x, 4)}, {amount(y, 4)})\n{judged.words}")
        else:
            self.readout.setText(self._words())
        if judged != self.candidate:
            self.candidate = judged
            self.candidate_shown.emit(judged)

    def _words(self) -> str:
        if not self._chosen:
            return _EMPTY
        if self._question is None:
            return _RELEASE
        if self._chosen[-1].lattice.kind == "disc":
            return _READ.format(a="a disc", name="disc", outlines="discs")
        return _READ.format(a="an ellipse", name="ellipse", outlines="ellipses")
