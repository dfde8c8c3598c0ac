"""The tour shows the window in six stops on the opening example, on a card beside what it outlines:
it sets each scene, and puts everything back at the end.

The example's reports are simulated, and the tour makes the steps that it needs.  Whatever takes the
example away, or runs the learner otherwise, ends it.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial, reduce
from typing import Literal

import numpy as np
from PySide6.QtCore import QObject, QPoint, QPointF, QRect, QRectF, QSettings, QSize, Qt
from PySide6.QtGui import QColor, QKeyEvent, QPainter, QPen
from PySide6.QtWidgets import QFrame, QLabel, QPushButton, QScrollArea, QWidget

from geodp_app.actions import key
from geodp_app.document.work import Work
from geodp_app.dual.sheets import dual_position
from geodp_app.palette import Palette
from geodp_app.runs.run_log import RunLog
from geodp_app.views.widgets.panes import Painted, dressed, fill, show_words
from geodp_app.views.widgets.tasks import timer
from geodp_app.views.window.layout import WindowViews
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
