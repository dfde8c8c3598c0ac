"""The main window creates the views and connects them to document, editor and run.

Views hold no state.  The document, the editor and the run's log do; when one of them changes, the
window shows them again.  Actions come from :mod:`geodp_app.actions`; files, runs and what is
shown of a run have helpers of their own.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

from PySide6.QtCore import QByteArray, QEvent, QSettings, Qt
from PySide6.QtGui import QCloseEvent, QDragEnterEvent, QDropEvent, QStatusTipEvent
from PySide6.QtWidgets import QApplication, QMessageBox

from geodp_app.document.document import Document
from geodp_app.document.work import Work
from geodp_app.drawing.editor import TOOLS, Editor, ToolName
from geodp_app.drawing.shapes import Point
from geodp_app.palette import Palette, load_palette
from geodp_app.runs.questions import find_report
from geodp_app.runs.settings_advice import verdict
from geodp_app.views.compare.compare_window import CompareWindow
from geodp_app.views.panels.dialogs import ABOUT, PRIVACY, ShortcutSheet, VertexDialog
from geodp_app.views.pictures import write_widget
from geodp_app.views.plane.plane_view import FaultWatch
from geodp_app.views.run.live_run import Again
from geodp_app.views.run.timeline import Course
from geodp_app.views.run.window_runs import WindowRuns
from geodp_app.views.widgets.number_fields import FieldGuard
from geodp_app.views.widgets.panes import ask, fit_screen
from geodp_app.views.widgets.theme import apply_theme
from geodp_app.views.window.layout import FIRST_SIZE, WindowViews
from geodp_app.views.window.run_display import RunDisplay
from geodp_app.views.window.tour import Tour
from geodp_app.views.window.window_actions import SHADINGS, WindowActions
from geodp_app.views.window.window_files import WindowFiles, WindowRecovery

_STATES = {
    "preparing": "Preparing the learner…",
    "ready": "Ready",
    "selecting": "Selecting…",
    "waiting": "Running",
    "paused": "Paused",
    "finished": "Finished",
    "failed": "Stopped by an error",
}


class MainWindow(WindowViews):
    """The window of the program: draw, sample, step, watch both planes, export.

    Its own geometry and theme are kept in `settings`, recovery files in `recovery` instead of the
    user's folder.
    """

    def __init__(
        self, palette: Palette, settings: QSettings | None = None, recovery: Path | None = None
    ) -> None:
        super().__init__()
        self.setAcceptDrops(True)
        self.palette_now = palette
        self._settings = settings
        self.document = Document()
        self.editor = Editor(self.document)
        self.runs = WindowRuns(self.document, self)
        self.again = Again(self.document, self)
        self.plane.editor = self.editor
        self.query_card.follow(self.runs, self.editor)
        complain = lambda what, why: self.complain(what, why)  # noqa: E731 - it may be another
        self.files = WindowFiles(self, self.runs, complain, palette)
        self.recovery = WindowRecovery(self, self.files, recovery)
        #: What is shown of the document.
        self._followed: Work | None = None
        self.comparison: CompareWindow | None = None
        self.vertices: VertexDialog | None = None
        self.show_faults = FaultWatch(self.editor, self._faults_found, self)
        self.display = RunDisplay(self, self.runs, self.again)
        self.commands = WindowActions(
            self, self._handlers(), self.editor, self.files, self.again, palette
        )
        self.tour = Tour(self, self.files, self.commands)
        self._connect()
        self.set_palette(palette)
        self._restore_layout()
        self._document_changed()

    def begin(self, path: Path | None = None) -> None:
        """What to open with: a file, what a crash left, or an example drawn and sampled."""
        if self.recovery.offer() or (path is not None and self.files.open(path)):
            return
        self.files.begin_with_example(None)
        if self._settings is not None:
            self.tour.offer(self._settings)

    def _connect(self) -> None:
        self.document.subscribe(self._document_changed)
        self.plane.edited.connect(self._editor_changed)
        self.plane.pointed.connect(self._pointed)
        self.dual.dual_hovered.connect(lambda h: self.display.try_piece((h,) if h else ()))
        self.dual.edge_pointed.connect(self.plane.learned.light_edge)
        actions = self.commands.by_id
        self.why.set_actions([actions["export_learned"], actions["release_view"]])
        self.why.sharpen.clicked.connect(self._sharpen)
        self.why.again.clicked.connect(self.runs.run_or_pause)
        for view in (self.dual, self.conics):
            view.candidate_shown.connect(lambda c: self.display.try_piece(c.piece if c else ()))
            view.step_picked.connect(self.runs.move_cursor)
        self.dual.shade_wanted.connect(lambda *_: self.display.refresh())
        self.chart.step_picked.connect(self._chart_picked)
        self.timeline.cursor_moved.connect(self.runs.move_cursor)
        self.timeline.edges.toggled.connect(self.runs.set_opened)
        self.timeline.play_asked.connect(self.runs.run_or_pause)
        self.runs.changed.connect(self._run_changed)
        self.runs.progressed.connect(self.display.progress)
        self.editor.desk.report = self._report
        self.runs.controller.queried.connect(lambda _: self.recovery.later())
        self.runs.controller.finished.connect(lambda _: self._keep_release())
        for teller in (self.runs, self.files, self.recovery, self.again):
            teller.announced.connect(self.status_line.tell)
        self.files.opened.connect(self.show_from_the_start)
        for safe in (self.files.opened, self.files.saved):
            safe.connect(self.recovery.forget)
        # a first click must not begin another polygon
        self.files.begun.connect(lambda: self.set_tool("vertices"))
        self.display.shown.connect(self.show_learner_state)
        self.again.changed.connect(self.display.show_again)
        self.again.changed.connect(self.commands.refresh)
        self.settings.sampling_changed.connect(self._sample_changed)
        self.settings.run_changed.connect(self._set_run)
        self.theorem.steps_wanted.connect(lambda m: self._set_run({"n_steps": m}))
        self.settings.k_drawn.toggled.connect(self.document.set_k_drawn)
        # what the slider does next is another step to undo
        self.settings.epsilon_slider.sliderReleased.connect(self.document.end_merging)
        self.settings.ledger.clicked.connect(self.files.ledger_dialog)
        self.settings.grid.valueChanged.connect(
            lambda d: self.files.attempt("change the grid", lambda: self.document.set_grid(d))
        )
        self.settings.sample_button.clicked.connect(self.sample)
        fields = FieldGuard(self)
        fields.guard(self)
        fields.entered.connect(self.plane.setFocus)
        fields.refused.connect(self.status_line.tell)

    def _restore_layout(self) -> None:
        self.resize(FIRST_SIZE)
        kept = self._settings.value("geometry") if self._settings else None
        if isinstance(kept, QByteArray):
            self.restoreGeometry(kept)
        if not self.isMaximized() and not self.isFullScreen():
            fit_screen(self, self.size())

    def set_palette(self, palette: Palette) -> None:
        self.palette_now = palette
        for view in (self.plane, self.dual, self.conics, self.chart, self.timeline):
            view.set_palette(palette)
        self.files.palette = palette
        for part in (self.figures.budget.bar, self.commands, self.theorem, self.tour.outline):
            part.set_palette(palette)
        if self.comparison is not None:
            self.comparison.set_palette(palette)
        self._editor_changed()

    def set_dark(self, dark: bool) -> None:
        """Change the theme, and remember it."""
        palette = load_palette("dark" if dark else "light")
        application = QApplication.instance()
        assert isinstance(application, QApplication)
        apply_theme(application, palette)
        self.set_palette(palette)
        if self._settings is not None:
            self._settings.setValue("theme", palette.name)

    def event(self, event: QEvent) -> bool:
        """Tips of commands go to the status line, too."""
        if isinstance(event, QStatusTipEvent):
            self.status_line.say(tip=event.tip())
            return True
        return super().event(event)

    def complain(self, what: str, why: str) -> None:
        """A problem that needs to be seen."""
        ask(self, QMessageBox.Icon.Warning, f"{what}.", why)

    def show_learner_state(self) -> None:
        """What the learner is doing, at the right of the status bar."""
        state = self.runs.controller.state
        if self.runs.current is None and state in ("paused", "finished"):
            state = "ready"  # what was run is not there any more
        pending = " Your run starts then." if self.runs.controller.pending else ""
        self.learner.setText(_STATES[state] + (pending if state == "preparing" else ""))

    # what actions ask for

    def _handlers(self) -> dict[str, Callable[..., object]]:
        runs, files = self.runs, self.files
        return {
            "new": files.new,
            **files.dialogs,
            "clip_no_more": lambda: self.document.set_within(None),
            "ledger": files.ledger_dialog,
            "save": files.save,
            "save_as": files.save_as,
            "export_learned": files.export_learned,
            "export_drawing": files.export_target,
            "export_examples": files.export_examples,
            "export_picture": lambda: files.export_picture(self.write_picture),
            "export_steps": files.export_steps,
            "quit": self.close,
            "undo": self.undo,
            "redo": self.redo,
            "delete": self.delete_selected,
            "vertex_table": self.show_vertices,
            "snapping": self.set_snapping,
            "draw_sample": self.sample,
            "clear_examples": self.document.clear_examples,
            "run": runs.run_or_pause,
            "step": runs.step,
            "stop": runs.cancel,
            "reset": runs.reset,
            "live": runs.set_live,
            "back": lambda: runs.walk(-1),
            "forward": lambda: runs.walk(+1),
            "compare": self.compare_learners,
            "again": self.again.start_or_stop,
            "zoom_to_streak": self.dual.zoom_to_streak,
            "fit": self.fit,
            "zoom_to_chosen": self.dual.zoom_to_chosen,
            **{name: partial(self.display.set_shading, mode) for name, mode in SHADINGS.items()},
            "show_boxes": self.display.set_boxes,
            "release_view": self.set_release_view,
            "dark_theme": self.set_dark,
            "tour": lambda: self.tour.start(),
            "lesson": self.small_lesson,
            "shortcuts": self.show_shortcuts,
            "explain_privacy": lambda: QMessageBox.information(self, "Privacy", PRIVACY),
            "about": lambda: QMessageBox.about(self, "About geodp", ABOUT),
            **{tool: partial(self.set_tool, tool) for tool in TOOLS},
        }

    def show_from_the_start(self) -> None:
        """Something else is there: forget what was looked at, begun or selected."""
        self.editor.start_over()
        self.plane.fit()
        self.dual.start_over()
        self._editor_changed()

    def sample(self) -> None:
        """Draw examples from the drawing."""
        self.files.attempt("sample", self.document.sample)

    def set_tool(self, tool: ToolName) -> None:
        """Take another drawing tool."""
        self.editor.set_tool(tool)
        if tool != "report":
            self.display.show_report(None)
        self.plane.setFocus(Qt.FocusReason.OtherFocusReason)
        self._editor_changed()

    def set_snapping(self, on: bool) -> None:
        """Snap to vertices and edges, or not."""
        self.editor.desk.snapping = on
        self._editor_changed()

    def delete_selected(self) -> None:
        """Delete what is selected in the drawing."""
        self.editor.key("Delete")
        self._editor_changed()

    def undo(self) -> None:
        """Take back the draft's last vertex, or the last change."""
        if self.editor.undo_vertex():
            self._editor_changed()
        else:
            label = self.document.undo()
            self.status_line.tell(f"Undone: {label}" if label else "Nothing to undo")

    def redo(self) -> None:
        """Do again what was undone."""
        label = self.document.redo()
        self.status_line.tell(f"Redone: {label}" if label else "Nothing to redo")

    def fit(self) -> None:
        """Show everything in both planes."""
        self.plane.fit()
        self.dual.fit()
        self.conics.fit()

    def set_release_view(self, release: bool) -> None:
        """Show only what may be published, or everything."""
        self.status_line.tell("")  # what was just told may be private
        with self.dual.one_pass():
            self.runs.set_release_view(release)
            self.display.set_release_view(release)
        for view in (self.why, self.figures, self.settings, self.spent, self.query_card):
            view.set_release_view(release)
        self.show_chart()
        for pane in (self.plane_pane, self.dual_pane):
            pane.mark.setVisible(not release)
        for other in (self.comparison, self.vertices):
            if other is not None and (other.isVisible() if release else other.property("away")):
                other.setProperty("away", release)  # it comes back after the release view
                other.setVisible(not release)
        self.commands.by_id["release_view"].setChecked(release)
        self.commands.refresh_run()
        self._faults_found()
        if release and (self.runs.current is None or self.runs.current.release is None):
            said = "Nothing is released yet: a release exists when all steps are done."
            self.status_line.tell(said)

    def _report(self, point: Point, radius: float, label: bool) -> None:
        """One report to look at: an example near the point, else one that is put there."""
        examples = self.document.work.examples
        if self.runs.current is None or examples is None:
            said = "Run the learner first: then one report shows what it changes in a step."
            self.status_line.tell(said)
        else:
            self.display.show_report(find_report(examples, point, radius, label))

    def compare_learners(self) -> None:
        """Several learners on the same examples, in a window of their own."""
        if self.comparison is None:
            self.comparison = CompareWindow(self.document, self.palette_now, self)
        self.comparison.show()
        self.comparison.raise_()
        self.comparison.activateWindow()

    def small_lesson(self) -> None:
        """A cover of few examples by probability, and beside it the greedy one."""
        if self.files.open_lesson():
            self.set_release_view(False)  # it is about private figures
            self.commands.by_id["shade_probability"].trigger()
            self.compare_learners()
            assert self.comparison is not None
            self.comparison.choose(("cover", "greedy-cover"), self.document.work.run["k"])
            self.comparison.compare()

    def show_vertices(self, shown: bool) -> None:
        """The drawing as a table, or the table closed."""
        if not shown:
            if self.vertices is not None:
                self.vertices.close()
        elif self.vertices is None:
            self.vertices = VertexDialog(self.document, self)
            self.vertices.finished.connect(self._forget_vertices)
            self.vertices.show()

    def _forget_vertices(self, _: int) -> None:
        """The table is closed and frees itself."""
        self.vertices = None
        self.commands.by_id["vertex_table"].setChecked(False)

    def show_shortcuts(self) -> None:
        sheet = ShortcutSheet(self)
        sheet.exec()
        sheet.deleteLater()

    def write_picture(self, path: Path) -> None:
        """The two planes as PNG or SVG."""
        private = not self.runs.release_view
        write_widget(path, self.planes, self.document.work.name, private=private)

    # following

    def _document_changed(self) -> None:
        work, before = self.document.work, self._followed
        self._followed = work
        if work.is_charged(before):
            self.runs.follow_document()
        else:
            self._show_work(work)
        self.spent.set_words(self.runs.spent_words)
        name = self.document.path.name if self.document.path else work.name
        self.setWindowTitle(f"{name}[*] — geodp")
        self.setWindowModified(self.document.history.dirty)
        self.recovery.later()

    def _show_work(self, work: Work) -> None:
        self.plane.set_frame(work.frame)
        self.runs.follow_document()  # first, so that the learner works meanwhile
        self.settings.show_work(work)
        self.settings.show_verdict(verdict(work))
        self.theorem.show_work(work)
        self.again.follow_document()
        self._editor_changed()
        self.display.refresh()

    def _run_changed(self, stepped: bool) -> None:
        if stepped and self.runs.busy:
            self.display.refresh_soon()
        else:
            self.display.refresh(flash=stepped)
        self.spent.set_words(self.runs.spent_words)
        self.commands.refresh_run()
        if stepped:
            self.recovery.later()

    def _keep_release(self) -> None:
        """What was paid for is kept at once: it cannot be had again."""
        if not self.document.work.simulated:
            self.recovery.save_beside()

    def _editor_changed(self) -> None:
        self.runs.drag(self.editor.current.shown)
        self.show_faults.refresh()
        work = self.document.work
        self.plane.drawing.show_dabs(work.sampling.dabs if work.simulated else ())
        self.commands.refresh()

    def _faults_found(self) -> None:
        found, message = self.show_faults.found, self.editor.desk.message
        self.plane.show_drawing(found)
        text = message or self.editor.current.hint
        if found and not message and self.editor.current.draft is None:
            text = found[0].text + (f" (and {len(found) - 1} more)" if len(found) > 1 else "")
        if self.runs.release_view and self.editor.tool != "ask":
            text = ""  # the drawing is private
        self.status_line.say(hint=text)

    def _set_run(self, fields: dict[str, Any]) -> None:
        self.files.attempt("change the settings", lambda: self.document.set_run(**fields))

    def _sharpen(self) -> None:
        self._set_run({"finish": "sharpen", "n_steps": None})
        if not self.runs.busy:
            self.runs.run_or_pause()

    def _chart_picked(self, position: int) -> None:
        """A stop was picked, of those with every edge."""
        log = self.runs.stepped_through
        if log is not None:
            stops = Course.of(log, opened=True).stops
            self.runs.move_cursor(stops[min(position, len(stops) - 1)].step)

    def _sample_changed(self, fields: dict[str, Any]) -> None:
        """The sample follows its settings, or the window says why it does not."""
        what = "change the settings"
        self.files.attempt(what, lambda: self.status_line.tell(self.document.set_sample(**fields)))

    def _pointed(self, at: tuple[float, float] | None) -> None:
        grid = self.document.drawing.grid
        if at is None or not all(-0.5 <= c <= grid + 0.5 for c in at):
            self.where.setText("")
            self.dual.show_example(None)
            self.dual.light_edge(-1)
            return
        x, y = round(at[0]), round(at[1])
        self.where.setText(f"x {x}  y {y}")
        edge = self.plane.edge_at(at)
        self.plane.learned.light_edge(edge)
        self.dual.light_edge(edge)
        self.dual.show_example(x, y)

    def dragEnterEvent(self, event: QDragEnterEvent) -> None:
        if event.mimeData().hasUrls():
            event.acceptProposedAction()

    def dropEvent(self, event: QDropEvent) -> None:
        urls = event.mimeData().urls()
        if len(urls) == 1 and urls[0].isLocalFile():
            self.files.open(Path(urls[0].toLocalFile()))
        else:
            why = "It is not one file of this machine: drop one; of a shapefile, the .shp alone."
            self.complain("Could not open what was dropped", why)

    def closeEvent(self, event: QCloseEvent) -> None:
        """Ask about unsaved work; a run under way releases nothing."""
        if not self.files.may_discard():
            event.ignore()
            return
        if self._settings is not None:
            self._settings.setValue("geometry", self.saveGeometry())
        self.abandon()
        event.accept()

    def abandon(self) -> None:
        """End the learner's process and forget the recovery file."""
        self.tour.end()
        self.runs.close()
        self.again.controller.drop()
        if self.comparison is not None:
            self.comparison.close()
        self.recovery.forget()
