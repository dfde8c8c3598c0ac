"""The tour shows the window in six stops on the opening example: it sets each scene, and puts
everything back at the end.

The example's reports are simulated, and the tour makes the steps that it needs.  Whatever takes the
example away, or runs the learner otherwise, ends it.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

import numpy as np
from PySide6.QtCore import QObject, QPoint, QPointF, QRect, QSettings
from PySide6.QtWidgets import QPushButton, QScrollArea, QWidget

from geodp_app.actions import key
from geodp_app.document.work import Work
from geodp_app.dual.sheets import dual_position
from geodp_app.runs.run_log import RunLog
from geodp_app.views.widgets.panes import dressed
from geodp_app.views.widgets.tasks import timer
from geodp_app.views.window.layout import WindowViews
from geodp_app.views.window.tour_card import TourCard, TourOutline, place_beside
from geodp_app.views.window.window_actions import SHADINGS, WindowActions
from geodp_app.views.window.window_files import WindowFiles

#: Parts of the window that a stop speaks of.
Target = Literal["plane", "dual", "why", "budget", "release"]


@dataclass(frozen=True, slots=True)
class Stop:
    """What one card says, and the scene that it needs."""

    title: str
    words: str
    #: What is outlined.
    targets: tuple[Target, ...]
    #: Steps of the run that are shown, and made if they are not there.
    steps: Literal["none", "first", "all"] = "first"
    #: Of the dual plane.
    shading: Literal["score", "probability"] = "score"
    #: Whether to show the sampler's boxes, and the release view.
    boxes: bool = False
    release: bool = False
    #: What is pointed at as by a hand.
    pointed: Literal["example", "halfplane"] | None = None


STOPS: tuple[Stop, ...] = (
    Stop(
        "Every report is a line",
        "Each labelled report in the plane is a line in the dual plane: the one in the ring is "
        "lit there. Point at another report, and its line lights up instead.",
        ("plane", "dual"),
        steps="none",
        pointed="example",
    ),
    Stop(
        "Every halfplane is a point",
        "A point of the dual plane is a halfplane, and three of them make the triangle of this "
        "first step. Point at the dual plane, and the plane shows, faintly, the triangle with "
        "one edge moved there.",
        ("dual", "plane"),
        pointed="halfplane",
    ),
    Stop(
        "Cells of points, and boxes",
        "All halfplanes of a cell between the lines hold the same reports, so they have one score; "
        f"{key('zoom_to_chosen')} zooms to the chosen cell. The squares are the "
        "sampler’s boxes: it divides a box where scores are good.",
        ("dual",),
        boxes=True,
    ),
    Stop(
        "The odds",
        "Colour is now the chance of being drawn: each example more in the score makes a triangle "
        "more likely by the same factor. Below stands what the chosen one scored, and how likely "
        "edges as good or better were.",
        ("dual", "why"),
        shading="probability",
    ),
    Stop(
        "The noise",
        "A step knows only with noise how many positive examples are left, b; for a score of 0 a "
        "triangle has to cover b/k of them. A larger ε means less noise and sharper odds.",
        ("why", "budget"),
    ),
    Stop(
        "What is published",
        "The release view shows only what may be published once all steps are done: no report, no "
        "line, no error. Export learned polygons in the File menu writes it with its privacy "
        "statement.",
        ("plane", "release"),
        steps="all",
        release=True,
    ),
)


#: Milliseconds between two looks at what has moved or arrived.
_TICK = 50

#: How far from the chosen point the ghost is tried, in parts of the sheet's height: the first at
#: which something is left of the triangle.
_ASIDE = (0.06, -0.06, 0.03, -0.03, 0.01, -0.01, 0.003, -0.003, 0.0)

#: What the person may do that ends the tour.
_ENDING = ("run", "stop", "reset")


class Tour(QObject):
    """Guides through one window."""

    def __init__(self, window: WindowViews, files: WindowFiles, actions: WindowActions) -> None:
        super().__init__(window)
        self._window, self._files, self._actions = window, files, actions
        self._document, self._runs = files.document, files.runs
        self.outline, self.card = TourOutline(window), TourCard(window, self.go, self.end)
        self._offer: QPushButton | None = None
        self._at = 0
        #: Puts the window back as it was, while the tour is under way.
        self._put_back: Callable[[], None] | None = None
        self._work: Work | None = None
        #: Whether the scene of the stop is set, and complete: something is pointed at.
        self._set = self.ready = False
        #: The grid point in the ring.
        self.ring: tuple[int, int] | None = None
        #: Steps that were there when one more was asked for.
        self._asked = -1
        self.clock = timer(self, _TICK, self._tick, again=True)

    @property
    def active(self) -> bool:
        """Whether the tour is under way."""
        return self._put_back is not None

    @property
    def stop(self) -> Stop:
        """The stop of the tour that is shown."""
        return STOPS[self._at]

    def offer(self, settings: QSettings) -> None:
        """Say at the very first start that there is a tour."""
        if settings.value("tour_offered", False, bool):
            return
        settings.setValue("tour_offered", True)
        tip = "Six stops on the opening example; also Help ▸ Tour"
        self._offer = dressed(QPushButton("New here? Take the tour"), "tourOffer", tip=tip)
        self._offer.clicked.connect(self.start)
        self._window.statusBar().insertPermanentWidget(1, self._offer)

    def start(self) -> None:
        """Begin, on the opening example; asks first about work that is not saved."""
        window = self._window
        if self.active:
            return
        if not self._on_example():
            if not self._files.may_discard():
                return
            self._files.begin_with_example(None)
            self._runs.adopt(None)
            self._files.opened.emit()
        if self._offer is not None:
            self._offer.hide()
        actions = self._actions.by_id
        shading, focus = window.dual.controls.mode, window.focusWidget()
        boxes, release = (actions[name].isChecked() for name in ("show_boxes", "release_view"))
        page, sheet, before = window.pages.currentWidget(), window.dual.sheet, self._runs.current
        unsubscribe = self._document.subscribe(self._document_changed)
        ending = (*(actions[name].triggered for name in _ENDING), window.timeline.play_asked)
        links = (*((signal, self.end) for signal in ending), (window.plane.pointed, self._hand))

        def put_back() -> None:
            unsubscribe()
            for signal, slot in links:
                signal.disconnect(slot)
            self._leave()
            self._check("release_view", release)
            self._shade(shading)
            self._check("show_boxes", boxes)
            window.pages.setCurrentWidget(page)
            log = self._runs.current
            if log is not None and log.release is not None and not release:
                self._runs.show_end()
            if before is not None and before is log:
                window.dual.show_sheet(sheet)
            (focus or window.plane).setFocus()

        self._put_back = put_back
        self._work, self._asked = self._document.work, -1
        for signal, slot in links:
            signal.connect(slot)
        window.pages.setCurrentWidget(window.settings)
        self._at = 0
        self._show()
        self.clock.start()

    def go(self, by: int) -> None:
        """To the next stop (beyond the last the tour ends), or to the one before."""
        if self._at + by == len(STOPS):
            self.end()
        elif self.active and self._at + by >= 0:
            self._leave()
            self._at += by
            self._show()

    def end(self) -> None:
        """Put everything back; the steps that were made stay."""
        put_back, self._put_back = self._put_back, None
        if put_back is not None:
            self.clock.stop()
            self.card.hide()
            self.outline.hide()
            put_back()

    def targets(self) -> tuple[QWidget, ...]:
        """The widgets that the stop speaks of."""
        w = self._window
        widgets: dict[Target, QWidget] = {
            "plane": w.plane_pane, "dual": w.dual_pane, "why": w.why, "budget": w.figures.budget,
            "release": self._actions.button("release_view"),
        }  # fmt: skip
        return tuple(widgets[target] for target in self.stop.targets)

    def _show(self) -> None:
        stop = self.stop
        self._set = self.ready = False
        self.ring = None
        self.card.show_stop(self._at + 1, len(STOPS), stop.title, stop.words)
        for widget in self.targets():
            _bring_into_view(widget)
        self._check("release_view", stop.release)
        self._shade(stop.shading)
        self._check("show_boxes", stop.boxes)
        self._tick()

    def _leave(self) -> None:
        dual = self._window.dual
        dual.pointer.try_halfplane(None)
        dual.show_example(None)

    def _tick(self) -> None:
        log = self._runs.current
        if not self._has_steps(log):
            self._make_step(log)
        elif not self._set:
            self.card.set_note("")
            self._set = True
            self._set_scene(log)
        elif not self.ready:
            self.ready = self._point(log)
        self._place()

    def _has_steps(self, log: RunLog | None) -> bool:
        wanted = self.stop.steps
        made = log is not None and (log.records if wanted == "first" else log.release)
        return wanted == "none" or bool(made)

    def _make_step(self, log: RunLog | None) -> None:
        """Ask for the next step, once."""
        runs, made = self._runs, 0 if log is None else len(log.records)
        planned = 0 if log is None else log.planned
        if runs.controller.state == "preparing":
            note = "The learner’s loops are compiled first, some 15 seconds. The scene waits."
        elif runs.controller.state == "failed":
            note = "The learner was stopped by an error."
        elif planned:
            note = f"The learner makes step {min(made + 1, planned)} of {planned}."
        else:
            note = "The learner makes its first step."
        self.card.set_note(note)
        ended = planned and made >= planned
        if made != self._asked and not ended and not runs.busy:
            self._asked = made
            runs.step()

    def _set_scene(self, log: RunLog | None) -> None:
        if log is not None:
            step = {"none": 0, "first": 1, "all": len(log.records) + 1}[self.stop.steps]
            self._runs.move_cursor(step)
        self._window.dual.fit()

    def _point(self, log: RunLog | None) -> bool:
        """Point at what the stop speaks of; False if that is not there yet."""
        pointed, dual = self.stop.pointed, self._window.dual
        if pointed == "example":
            self.point_at_example()
        elif pointed == "halfplane" and log is not None:
            piece = log.newest_piece
            if dual.controls.edge >= len(piece):  # the person looks at no step
                return False
            u, v = dual_position(piece[dual.controls.edge])
            pointer, height = dual.pointer, dual.window_shown.height
            for aside in _ASIDE:
                pointer.try_at((u, v + aside * height))
                if pointer.candidate is not None and pointer.candidate.positives:
                    break
            return pointer.candidate is not None
        return True

    def point_at_example(self) -> None:
        """A positive report well inside the drawing, if there is one."""
        self.ring, work = None, self._document.work
        if work.examples is None or not work.drawing.shapes or not work.examples.labels.any():
            return
        inside = work.examples.points[work.examples.labels != 0]
        middle = work.drawing.region().representative_point()
        offsets = inside - np.array([middle.x, middle.y])
        x, y = (int(c) for c in inside[np.argmin((offsets**2).sum(axis=1))])
        self._window.dual.show_example(x, y)
        self.ring = x, y

    def _hand(self, at: tuple[float, float] | None) -> None:
        if at is not None:
            self.ring = None

    def _shade(self, mode: str) -> None:
        name = next(name for name, shown in SHADINGS.items() if shown == mode)
        self._actions.by_id[name].trigger()

    def _check(self, name: str, on: bool) -> None:
        action = self._actions.by_id[name]
        if action.isChecked() != on:
            action.trigger()

    def _place(self) -> None:
        window = self._window
        places = [QRect(each.mapTo(window, QPoint()), each.size()) for each in self.targets()]
        rects = [place & window.rect() for place in places]
        ring = None
        if self.ring is not None:
            spot = window.plane.to_widget(*self.ring)
            ring = QPointF(window.plane.viewport().mapTo(window, spot.toPoint()))
        size, room = self.card.needed(), window.rect().adjusted(8, 8, -8, -8)
        same = self.outline.geometry() == window.rect() and self.card.size() == size
        if same and tuple(rects) == self.outline.rects and ring == self.outline.ring:
            return
        self.outline.show_around(rects, ring)
        self.card.resize(size)
        self.card.move(place_beside(size, room, rects))
        self.card.raise_()

    def _document_changed(self) -> None:
        """Another document, drawing, sample or setting is not what the tour speaks of."""
        old, new = self._work, self._document.work
        same = old is not None and new.examples is old.examples and new.drawing == old.drawing
        if old is None or not same or new.run != old.run:
            self.end()

    def _on_example(self) -> bool:
        """Whether the opening example is there as it came, with no other run under way."""
        log = self._runs.current
        fits = log is None or log.settings == self._document.work.run
        return self._files.shows_opening and fits and not self._runs.busy


def _bring_into_view(widget: QWidget) -> None:
    parent = widget.parentWidget()
    while parent is not None:
        if isinstance(parent, QScrollArea):
            parent.ensureWidgetVisible(widget)
        parent = parent.parentWidget()
