"""Makes menus, tool bars and shortcuts of one window from the table of actions."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Literal

from PySide6.QtCore import QEvent, QObject, QSize, Qt
from PySide6.QtGui import QAction, QActionGroup, QIcon, QKeySequence, QPainter, QPixmap
from PySide6.QtWidgets import (
    QComboBox,
    QMainWindow,
    QMenu,
    QSizePolicy,
    QToolBar,
    QToolButton,
    QWidget,
)

from assets import example_path, examples
from geodp_app.actions import ACTIONS, EXCLUSIVE, MENUS, Action, action, tool_tip
from geodp_app.document.sampling import place_target
from geodp_app.drawing.editor import TOOLS, Editor
from geodp_app.dual.sheets import ShadeMode
from geodp_app.palette import Palette
from geodp_app.views.run.live_run import Again
from geodp_app.views.run.window_runs import FIRST_SPEED
from geodp_app.views.widgets.panes import dressed, tool_button
from geodp_app.views.widgets.plotting import aspect_ratio, cosmetic, shape_path, tinted
from geodp_app.views.widgets.theme import icon, icon_pixmap
from geodp_app.views.window.window_files import WindowFiles
from geometry.geojson import read_geojson

_SPEED_NAMES = ("4 s a step", "2 s a step", "1 s a step", "⅓ s a step", "Full speed")
#: What the one key and button do.
_RUN_OR_PAUSE = {
    name: replace(action("run"), text=text, tip=tip)
    for name, text, tip in (
        ("run", "Run", "Run the learner, or go on with a run that is paused."),
        ("pause", "Pause", "Pause the run after the step under way."),
    )
}
#: Buttons that have words beside their picture.
_WITH_TEXT = {
    "draw_sample": "Sample",
    "run": "Run",
    "step": "Step",
    "export_learned": "Export…",
    "release_view": "Release view",
}
#: What the actions of the dual plane shade by.
SHADINGS: dict[str, ShadeMode] = {
    "shade_none": "off", "shade_score": "score", "shade_probability": "probability",
}  # fmt: skip


class WindowActions:
    """Makes the actions, in a window's menus and tool bars, and keeps them up to date.

    `do` is what each does, by its id; one that can be checked by itself is told whether it is.
    """

    def __init__(
        self,
        window: QMainWindow,
        do: dict[str, Callable[..., object]],
        editor: Editor,
        files: WindowFiles,
        again: Again,
        palette: Palette,
    ) -> None:
        self._window, self._editor, self._files, self._again = window, editor, files, again
        self._document, self._runs = files.document, files.runs
        self._palette = palette
        self._do = do
        self._named: tuple[str, str, float] | None = None
        self._run_icons: dict[tuple[str, str, float], QIcon] = {}
        self._groups = {name: QActionGroup(window) for name in EXCLUSIVE}
        self.by_id = {each.id: self._make(each) for each in ACTIONS}
        self._make_menus()
        self._make_tool_bars()
        self.by_id["polygon"].setChecked(True)

    def set_palette(self, palette: Palette) -> None:
        self._palette = palette
        for name, made in self.by_id.items():
            if drawn := action(name).icon:
                made.setIcon(icon(drawn, palette))
        for name, entry in self._examples.items():
            entry.setIcon(example_icon(name, palette))
        self.refresh()

    def refresh(self) -> None:
        """Enable and check what the window's state says."""
        document, editor, by_id = self._document, self._editor, self.by_id
        has_examples = document.work.examples is not None
        self._enable(
            undo=bool(document.history.undo_label or editor.current.draft),
            redo=document.history.redo_label is not None,
            delete=bool(editor.current.selected),
            clear_examples=has_examples,
            export_examples=has_examples,
            clip_no_more=document.work.within is not None,
            ledger=has_examples and not document.work.simulated,
            export_drawing=bool(document.drawing.shapes),
            again=self._again.possible,
        )
        by_id[editor.tool].setChecked(True)
        by_id["snapping"].setChecked(editor.desk.snapping)
        by_id["dark_theme"].setChecked(self._palette.name == "dark")
        by_id["undo"].setText(f"Undo {document.history.undo_label or ''}".rstrip())
        by_id["redo"].setText(f"Redo {document.history.redo_label or ''}".rstrip())
        made_again = "Stop the runs" if self._again.controller.busy else action("again").text
        by_id["again"].setText(made_again)
        self.refresh_run()

    def refresh_run(self) -> None:
        """The same, of the run alone."""
        runs, by_id = self._runs, self.by_id
        log, looked = runs.current, runs.stepped_through
        private = not runs.release_view
        back = looked is not None and looked.cursor > 0
        end = 0 if looked is None else looked.newest if looked.release is None else looked.last
        shows = () if looked is None or looked.at_end else looked.settings.declared.shows
        sheets = back and "dual plane" in shows
        self._enable(
            export_learned=log is not None and log.release is not None,
            export_steps=log is not None and bool(log.records),
            step=not runs.busy,
            stop=runs.busy,
            reset=runs.shown.log is not None,
            back=back,
            forward=runs.place < end,
            zoom_to_chosen=sheets,
            zoom_to_streak=sheets and private,
            compare=private,
            vertex_table=private,
        )
        waits, export = self._files.export_waits, action("export_learned")
        by_id["export_learned"].setToolTip(waits or tool_tip(export))
        by_id["export_learned"].setStatusTip(waits or export.tip)
        by_id["live"].setChecked(runs.live)
        self._name_run("pause" if runs.busy else "run")

    def _enable(self, **enabled: bool) -> None:
        for name, on in enabled.items():
            self.by_id[name].setEnabled(on)

    def _name_run(self, what: Literal["run", "pause"]) -> None:
        made, ink = self.by_id["run"], self._palette.on_accent
        ratio = self._window.devicePixelRatioF()
        if self._named == (what, ink, ratio):
            return  # every step of a run asks, and a new icon lays the tool bar out anew
        self._named = what, ink, ratio
        if self._named not in self._run_icons:
            self._run_icons[self._named] = QIcon(icon_pixmap(what, ink, ratio))
        named = _RUN_OR_PAUSE[what]
        made.setText(named.text)
        made.setIconText(named.text)
        made.setToolTip(tool_tip(named))
        made.setStatusTip(named.tip)
        made.setIcon(self._run_icons[self._named])
        self._run_button.setAccessibleName(named.text)

    def _make(self, each: Action) -> QAction:
        made = QAction(each.text, self._window)
        made.setObjectName(each.id)
        made.setToolTip(tool_tip(each))
        made.setStatusTip(each.tip)
        made.setCheckable(each.checkable)
        if not each.held:
            made.setShortcuts([QKeySequence(key) for key in each.keys])
        if each.group in self._groups:
            self._groups[each.group].addAction(made)
        if do := self._do.get(each.id):
            # one of a group that is asked for is checked, whatever it was
            tells = each.checkable and each.group not in self._groups
            made.triggered.connect(do if tells else lambda _=False: do())
        self._window.addAction(made)
        return made

    def _make_menus(self) -> None:
        bar = self._window.menuBar()
        for name in MENUS:
            menu = bar.addMenu(f"&{name}")
            listed = [each for each in ACTIONS if each.menu == name]
            for _, block in itertools.groupby(listed, lambda each: each.group):
                if not menu.isEmpty():
                    menu.addSeparator()
                menu.addActions([self.by_id[each.id] for each in block])
        recent = QMenu(self._window)
        self.by_id["open_recent"].setMenu(recent)
        recent.aboutToShow.connect(lambda: self._fill_recent(recent))
        self._fill_recent(recent)
        self._example_menu = QMenu(self._window)
        self._examples: dict[str, QAction] = {}
        for example in examples():
            entry = self._example_menu.addAction(example[0].upper() + example[1:])
            entry.triggered.connect(lambda _=False, n=example: self._files.open_example(n))
            self._examples[example] = entry
        self.by_id["open_example"].setMenu(self._example_menu)

    def _fill_recent(self, menu: QMenu) -> None:
        menu.clear()
        for path in self._files.recent.paths():
            entry = menu.addAction(path.name)
            entry.setToolTip(str(path))
            entry.triggered.connect(lambda _=False, p=Path(path): self._files.open(p))
        if menu.isEmpty():
            menu.addAction("No files yet").setEnabled(False)

    def _make_tool_bars(self) -> None:
        drawing = self._bar("Drawing tools", Qt.ToolBarArea.LeftToolBarArea)
        drawing.addActions([self.by_id[name] for name in TOOLS])
        drawing.addSeparator()
        drawing.addAction(self.by_id["snapping"])
        self._main = main = self._bar("Sample and run", Qt.ToolBarArea.TopToolBarArea)
        shapes = tool_button("Examples", tip="Open an example target")
        shapes.setMenu(self._example_menu)
        shapes.setPopupMode(QToolButton.ToolButtonPopupMode.InstantPopup)
        main.addWidget(shapes)
        for block in (("undo", "redo"), ("draw_sample",), ("run", "step", "stop", "reset")):
            main.addSeparator()
            main.addActions([self.by_id[name] for name in block])
        self.speed = dressed(QComboBox(), name="Speed", tip="Pause between two steps")
        self.speed.addItems(_SPEED_NAMES)
        self.speed.setCurrentIndex(FIRST_SPEED)
        self.speed.currentIndexChanged.connect(self._runs.set_speed)
        main.addWidget(self.speed)
        main.addSeparator()
        main.addAction(self.by_id["export_learned"])
        _Waiting(self.button("export_learned"), self._files.export_learned)
        spring = QWidget()
        spring.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Preferred)
        main.addWidget(spring)
        main.addActions([self.by_id[n] for n in ("release_view", "fit", "dark_theme", "shortcuts")])
        for name, text in _WITH_TEXT.items():
            self.button(name).setToolButtonStyle(Qt.ToolButtonStyle.ToolButtonTextBesideIcon)
            self.by_id[name].setIconText(text)
        self._run_button = run = self.button("run")
        run.setProperty("kind", "primary")
        self._name_run("pause")
        run.ensurePolished()
        run.setMinimumWidth(run.sizeHint().width())  # nothing moves by the name

    def button(self, name: str) -> QToolButton:
        """The button of an action in the main bar."""
        button = self._main.widgetForAction(self.by_id[name])
        assert isinstance(button, QToolButton)
        return button

    def _bar(self, title: str, area: Qt.ToolBarArea) -> QToolBar:
        bar = QToolBar(title, self._window, movable=False, iconSize=QSize(20, 20))
        bar.setObjectName(title)
        self._window.addToolBar(area, bar)
        return bar


class _Waiting(QObject):
    """A button that is disabled says why when it is pressed."""

    def __init__(self, button: QWidget, say: Callable[[], None]) -> None:
        super().__init__(button)
        self._say = say
        button.installEventFilter(self)

    def eventFilter(self, button: QObject, event: QEvent) -> bool:
        """A disabled button itself hears of nothing."""
        pressed = event.type() == QEvent.Type.MouseButtonPress
        if pressed and isinstance(button, QWidget) and not button.isEnabled():
            self._say()
        return False


#: An example's picture in the menu: units along a side, pixels for each, and the grid it lies on.
_SIDE, _RATIO, _GRID = 32, 2, 256


def example_icon(name: str, palette: Palette) -> QIcon:
    """The shape of an example target, as an icon."""
    shape, frame = place_target(read_geojson(example_path(name)), _GRID)
    path = shape_path(shape)
    pixels = QPixmap(_SIDE * _RATIO, _SIDE * _RATIO)
    pixels.fill(Qt.GlobalColor.transparent)
    with QPainter(pixels) as painter:
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        box, ratio = path.boundingRect(), aspect_ratio(frame.bounds)
        scale = 0.88 * pixels.width() / max(box.width() * ratio, box.height())
        painter.translate(pixels.width() / 2, pixels.height() / 2)
        painter.scale(scale * ratio, -scale)
        painter.translate(-box.center())
        painter.setPen(cosmetic(palette.target, 2.0))
        painter.setBrush(tinted(palette.accent, 0.25))
        painter.drawPath(path)
    pixels.setDevicePixelRatio(_RATIO)
    return QIcon(pixels)
