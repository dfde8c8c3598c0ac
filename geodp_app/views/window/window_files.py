"""Opens, saves, imports and exports the files of the window, asks before closing, and keeps work
against crashes.

Dialogs here, the work in :mod:`geodp_app.document`; every failure becomes one clear message and
nothing is lost.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from functools import partial
from pathlib import Path

from PySide6.QtCore import QObject, QStandardPaths, Signal
from PySide6.QtWidgets import QFileDialog, QInputDialog, QMessageBox, QWidget

from geodp_app.actions import key
from geodp_app.document.work import SampleSettings, Work
from geodp_app.files import document_files, session
from geodp_app.files.autosave import Autosave, Recovery, discard, recoverable
from geodp_app.files.document_files import Opened
from geodp_app.files.learned_file import SHAPE_FORMATS
from geodp_app.files.ledger_recording import LedgerWords
from geodp_app.files.points import MAP_ENDINGS, TEXT_ENDINGS
from geodp_app.files.run_record import RunRecord
from geodp_app.files.session import RecentFiles, load_session
from geodp_app.palette import Palette
from geodp_app.views.panels.dialogs import LedgerDialog
from geodp_app.views.panels.import_dialog import ImportDialog
from geodp_app.views.pictures import PictureError
from geodp_app.views.run.window_runs import WindowRuns
from geodp_app.views.widgets.panes import ask
from geodp_app.views.widgets.tasks import Background, timer
from geometry.errors import InputError
from geometry.geojson import GeoJSONError
from geometry.gis_files import LAYER_ENDINGS, SeveralLayersError
from geometry.grid import BoundsError
from geometry.mask import GIS_ENDINGS

#: Opened first: four triangles cover its shape.
FIRST_EXAMPLE = "L"

_SESSION = "geodp session (*.geodp)"
_SHAPES = "Shapes (*.geojson *.json)"
_TABLE, _STEPS = "Examples (*.csv)", "Steps (*.jsonl)"
_MAPS = " ".join(["Maps (*.geojson *.json", *(f"*{each}" for each in sorted(GIS_ENDINGS))]) + ")"
_LEARNED = " ".join(["Shapes (*.geojson *.json", *(f"*{ending}" for ending in SHAPE_FORMATS)]) + ")"
_POINTS = " ".join(
    f"*{ending}" for ending in sorted({*TEXT_ENDINGS, *LAYER_ENDINGS, ".parquet"} - {".gdb"})
)
_IMPORT = f"Examples ({_POINTS} {' '.join(f'*{ending}' for ending in sorted(MAP_ENDINGS))})"
#: Bytes of a file that is read before anything is shown: some tens of milliseconds.
SMALL = 1 << 20
_PROBLEMS = (InputError, GeoJSONError, BoundsError, PictureError, OSError, MemoryError)


def config_folder() -> Path:
    """Where this user's settings and recovery files are."""
    place = QStandardPaths.writableLocation(QStandardPaths.StandardLocation.AppConfigLocation)
    return Path(place)


class WindowFiles(QObject):
    """File actions of one window, whose dialogs have it as parent and the colours of the palette.

    `complain` shows a problem that needs to be seen: what could not be done, and why.
    """

    #: Words for the status bar.
    announced = Signal(str)
    #: Another document is there.
    opened = Signal()
    #: An example is there, with nothing to undo or to save.
    begun = Signal()
    #: The session is safe in a file of its own.
    saved = Signal()

    def __init__(
        self,
        window: QWidget,
        runs: WindowRuns,
        complain: Callable[[str, str], None],
        palette: Palette,
    ) -> None:
        super().__init__(window)
        self._window, self._complain = window, complain
        self.document, self.runs = runs.document, runs
        self.palette = palette
        #: Whether somebody is there who can be asked about a file; else it is read as it is.
        self.asks = True
        self.recent = RecentFiles(config_folder())
        #: Of the session's file, as it was opened or saved last.
        self.stamp: object = None
        self._opening: Work | None = None

    def begin_with_example(self, name: str | None) -> None:
        """An example, drawn and sampled, with nothing to undo or to save."""
        self.document.new()  # settings of something else may not suit it, nor draw a sample
        self.document.open_example(name or FIRST_EXAMPLE)
        self.document.sample()
        self.document.new(self.document.work)
        self._opening = None if name else self.document.work
        self.begun.emit()

    @property
    def shows_opening(self) -> bool:
        """Whether the example that a window opens with is there, and nobody has changed it."""
        first, now = self._opening, self.document.work
        same = first is not None and now.examples is first.examples
        return same and all(
            getattr(first, p) == getattr(now, p) for p in ("drawing", "bounds", "run")
        )

    def start_anew(self) -> None:
        self.show_session(Work(), None)
        self.opened.emit()

    def show_session(
        self, work: Work, run: RunRecord | None, path: Path | None = None, stamp: object = None
    ) -> None:
        """A document that was read from a file, which had that stamp."""
        self.stamp = stamp
        self.document.new(work, path)
        self.runs.adopt(run)

    # opening

    @property
    def dialogs(self) -> dict[str, Callable[[], None]]:
        """What asks for a file and takes it, by the ids of actions."""
        every = f"All that geodp reads (*.geodp *.geojson *.json {_POINTS});;{_SESSION}"
        examples = partial(self._take_examples, opening=False)
        asked: dict[str, tuple[str, str, Callable[[Path], object]]] = {
            "open": ("Open", every, self.open),
            "import_target": ("Import target", _SHAPES, self._import_target),
            "import_examples": ("Import examples", _IMPORT, examples),
            "clip": ("Clip the result to an outline", _MAPS, self.clip_to),
        }
        return {name: partial(self._ask_file, *each) for name, each in asked.items()}

    def clip_to(self, path: Path, layer: str | None = None) -> None:
        """Clip the learned shape to the polygons of a file; of several layers one is asked for."""

        def clip() -> None:
            self.announced.emit(document_files.import_mask(path, self.document, layer))

        try:
            self.attempt(f"clip the result to {path.name}", clip, but=SeveralLayersError)
        except SeveralLayersError as error:
            if chosen := self._ask_layer(path, error):
                self.clip_to(path, chosen)

    def ledger_dialog(self) -> None:
        """Ask which ledger the runs on imported examples are entered in."""
        work = self.document.work
        place = work.ledger or self.document.path
        unit = None if work.examples is None else work.examples.unit
        dialog = LedgerDialog(Path(place).parent if place else Path.cwd(), unit, self._window)
        words = LedgerWords()

        def take(path: str | None) -> None:
            self.document.set_ledger(path)
            dialog.show_state(words(self.document.work))

        dialog.chosen.connect(take)
        dialog.show_state(words(work))
        dialog.exec()
        dialog.deleteLater()

    def open(self, path: Path) -> bool:
        """Open a session, a target or examples; says whether it worked."""
        if not self.may_discard():
            return False

        def take() -> None:
            if document_files.file_kind(path) == "examples":
                raise document_files.PointsOnlyError(f"{path}: holds points")
            stamp = session.stamp_of(path)  # first: it may be replaced while it is read
            opened = document_files.open_any(path, self.document)
            if opened.kind == "session":
                self.stamp = stamp
                self.runs.adopt(opened.run)
            self._taken(path, opened, anew=True)

        try:
            return self.attempt(f"open {path.name}", take, but=document_files.PointsOnlyError)
        except document_files.PointsOnlyError:  # of points there may be something to ask
            return self._take_examples(path, opening=True)

    def open_example(self, name: str) -> None:
        """A bundled target, as the beginning of an untitled session; it can be undone."""
        open_it = partial(self.document.open_example, name)
        if self.may_discard() and self.attempt(f"open {name}", open_it):
            self.document.mark_saved(None)
            self.opened.emit()

    def open_lesson(self) -> bool:
        """So few examples that the cells of their lines can be counted, and an epsilon at which
        they decide; whether that is there now."""
        if not self.may_discard():
            return False
        self.document.open_example(FIRST_EXAMPLE)
        self.document.change("small lesson", sampling=SampleSettings(n=40))
        self.document.set_run(learner="cover", epsilon=100.0)
        self.document.sample()
        self.document.mark_saved(None)
        self.opened.emit()
        return True

    def new(self) -> None:
        """Begin an empty drawing, after asking about unsaved work."""
        if self.may_discard():
            self.start_anew()

    def save(self) -> bool:
        """Save under the session's own name, or ask for one; ask, too, before that takes the place
        of what something else has saved there."""
        path, button = self.document.path, QMessageBox.StandardButton
        if path is None or session.stamp_of(path) in (None, self.stamp):
            return self.save_as() if path is None else self.save_to(path)
        asked = f"Replace {path.name}, which was saved by something else since you opened it?"
        more = "What it holds now is another window's, maybe, and would be lost."
        words, icon = {button.Yes: "Replace", button.No: "Save as…"}, QMessageBox.Icon.Warning
        buttons, safe = button.Yes | button.No | button.Cancel, button.No
        answer = ask(self._window, icon, asked, more, buttons=buttons, default=safe, words=words)
        return self.save_to(path) if answer == button.Yes else answer == safe and self.save_as()

    def save_as(self) -> bool:
        """Ask for a name, and save."""
        path = self._ask_save("Save session", "", ".geodp", _SESSION)
        return path is not None and self.save_to(path)

    def may_discard(self) -> bool:
        """Whether what is there may go: it is saved, or the person says so."""
        if not self.document.history.dirty:
            return True
        path, button = self.document.path, QMessageBox.StandardButton
        asked = f"Save the changes to {'this session' if path is None else path.name}?"
        more = "Otherwise the drawing, the sample and the run are lost."
        buttons, icon = button.Save | button.Discard | button.Cancel, QMessageBox.Icon.Question
        answer = ask(self._window, icon, asked, more, buttons=buttons)
        return self.save() if answer == button.Save else answer == button.Discard

    # exporting

    @property
    def export_waits(self) -> str:
        """Why there is nothing to export yet; empty if there is."""
        log = self.runs.current
        if log is None:
            return f"Export waits for a run ({key('run')}): nothing is learned yet"
        if log.release is None:
            return "Export waits for the end of the run: nothing is released before"
        return ""

    def export_learned(self) -> None:
        """The released shape as GeoJSON."""
        log, work = self.runs.current, self.document.work
        if log is None or log.release is None:
            self.announced.emit(self.export_waits)
            return
        write = partial(
            document_files.export_release, release=log.release, frame=work.frame, within=work.within
        )
        self._export("Export learned shape", "learned", ".geojson", _LEARNED, write)

    def export_target(self) -> None:
        """The drawing as GeoJSON."""
        write = partial(document_files.export_target, work=self.document.work)
        self._export("Export drawing", "target", ".geojson", _SHAPES, write)

    def export_examples(self) -> None:
        """The examples as CSV: private."""
        if examples := self.document.work.examples:
            write = partial(document_files.export_examples, examples=examples)
            self._export("Export examples (private data)", "examples", ".csv", _TABLE, write)

    def export_steps(self) -> None:
        """The steps with their diagnostics as JSON lines: private."""
        if log := self.runs.current:
            write = partial(document_files.export_steps, records=log.records)
            self._export("Export steps (private data)", "steps", ".jsonl", _STEPS, write)

    def export_picture(self, write: Callable[[Path], None]) -> None:
        """The window's two planes as PNG or SVG."""
        kinds = "PNG picture (*.png);;SVG picture (*.svg)"
        self._export("Export picture", "picture", ".png", kinds, write)

    def _import_target(self, path: Path) -> None:
        def take() -> None:
            self._taken(path, document_files.import_target(path, self.document), anew=False)

        self.attempt(f"open {path.name}", take)

    def _taken(self, path: Path, opened: Opened, *, anew: bool) -> None:
        if anew:
            self.opened.emit()
        self.recent.add(path)
        # how many examples or vertices there are is private
        self.announced.emit(f"Opened {path.name}" if self.runs.release_view else opened.note)

    def _take_examples(self, path: Path, *, opening: bool, layer: str | None = None) -> bool:
        """Take examples at once if the file is small and says all, else by the dialog."""
        read = document_files.open_any if opening else document_files.import_examples

        def take_at_once() -> None:
            self._taken(path, read(path, self.document, asks=self.asks), anew=opening)

        if not self.asks:
            return self.attempt(f"open {path.name}", take_at_once)
        with contextlib.suppress(InputError, OSError):  # the dialog tells what is in the way
            if path.stat().st_size <= SMALL and path.suffix.lower() == ".csv":
                take_at_once()
                return True
        failed = f"Could not open {path.name}"
        if self.runs.release_view:
            why = "The import has questions about it and shows private rows"
            self._complain(failed, f"{why}: leave the release view first.")
            return False
        work, window = self.document.work, self._window
        dialog = ImportDialog(path, work, self.palette, opening=opening, layer=layer, parent=window)
        dialog.exec()
        checked, failure = dialog.checked, dialog.failure
        dialog.deleteLater()
        if isinstance(failure, SeveralLayersError):
            chosen = self._ask_layer(path, failure)
            return bool(chosen) and self._take_examples(path, opening=opening, layer=chosen)
        if failure is not None:
            self._complain(failed, str(failure))
        if checked is None:
            return False

        def take() -> None:
            opened = document_files.take_examples(
                path, checked.examples, self.document, opening=opening, left_out=checked.dropped
            )
            self._taken(path, opened, anew=opening)

        return self.attempt(f"open {path.name}", take)

    def save_to(self, path: Path) -> bool:
        """Save the session there; whether it could be."""

        def write() -> None:
            session.save_session(path, self.document.work, self.runs.stored())
            self.stamp = session.stamp_of(path)
            self.document.mark_saved(path)
            self.recent.add(path)
            self.saved.emit()
            self.announced.emit(f"Saved {path.name}. It holds private data.")

        return self.attempt(f"save {path.name}", write)

    def _export(
        self, title: str, stem: str, suffix: str, kinds: str, write: Callable[[Path], str | None]
    ) -> None:
        """Ask for a name, write, and tell what `write` says or else where it is."""
        if path := self._ask_save(title, stem, suffix, kinds):
            words = f"Written: {path.name} in {path.parent}"
            self.attempt(f"write {path.name}", lambda: self.announced.emit(write(path) or words))

    def _ask_file(self, title: str, kinds: str, take: Callable[[Path], object]) -> None:
        name, _ = QFileDialog.getOpenFileName(self._window, title, "", kinds)
        if name:
            take(Path(name))

    def _ask_layer(self, path: Path, several: SeveralLayersError) -> str:
        """One of the layers of a file; empty if none is wanted."""
        title, words = f"Layers of {path.name}", "Which layer is meant?"
        chosen, taken = QInputDialog.getItem(self._window, title, words, several.layers, 0, False)
        return chosen if taken else ""

    def _ask_save(self, title: str, stem: str, suffix: str, kinds: str) -> Path | None:
        start = "-".join(part for part in (self.document.work.name, stem) if part)
        name, _ = QFileDialog.getSaveFileName(self._window, title, start + suffix, kinds)
        if not name:
            return None
        path = Path(name)
        if path.suffix:
            return path
        path, button = path.with_suffix(suffix), QMessageBox.StandardButton
        if not path.exists():  # the dialog has asked about the name as it was typed
            return path
        asked, more = f"Replace {path.name}?", f"It is in {path.parent} already."
        icon, buttons, safe = QMessageBox.Icon.Question, button.Yes | button.No, button.No
        answer = ask(self._window, icon, asked, more, buttons=buttons, default=safe)
        return path if answer == button.Yes else None

    def attempt(
        self, what: str, do: Callable[[], object], but: type[Exception] | tuple[()] = ()
    ) -> bool:
        """Do something that may fail for a reason a person can mend; says whether it worked.

        Exceptions of the kind `but` are the caller's.
        """
        try:
            do()
        except but:
            raise
        except _PROBLEMS as error:
            text = getattr(error, "strerror", None) or str(error) or "not enough memory"
            self._complain(f"Could not {what}", " ".join(str(text).split()))
            return False
        return True


#: From a change to when it is saved, with those after it, in milliseconds.
PAUSE = 3000
#: What is done beside the window.
_SAVE = "save"
#: What keeps the work from being kept.
_UNKEPT = (InputError, OSError, MemoryError)


class WindowRecovery(QObject):
    """Saves the work of one window against crashes, in a folder or else the user's, and offers
    afterwards what was kept."""

    #: Words for the status bar.
    announced = Signal(str)

    def __init__(self, window: QWidget, files: WindowFiles, folder: Path | None) -> None:
        super().__init__(window)
        self._window, self._files = window, files
        self.folder = folder or config_folder() / "recovery"
        self._autosave = Autosave(self.folder)
        self._complained = False
        self._timer = timer(self, PAUSE, self.save_beside)
        # a million examples are written for a tenth of a second, and longer on a slow disk
        self.beside = Background(self, told=_UNKEPT)
        self.beside.done.connect(self._saved)

    def later(self) -> None:
        """Keep the work safe a little later, as something has changed."""
        if not self._timer.isActive():  # changes that never rest are kept, too
            self._timer.start()

    def save(self) -> bool:
        """Keep the work now, and say if that is done; a problem is told once and stops nothing."""
        self.beside.drop(_SAVE)
        if self._files.document.history.dirty:
            try:
                self._keeping()(lambda: False)
            except _UNKEPT as error:
                self._saved(_SAVE, error)
                return False
        return True

    def save_beside(self) -> None:
        """The same, as the work is now, while the window goes on; forget it if it is saved."""
        if self._files.document.history.dirty:
            self.beside.submit(_SAVE, self._keeping())
        else:
            self.forget()

    def _keeping(self) -> Callable[[Callable[[], bool]], object]:
        """What keeps the work as it is now: of the window a thread gets nothing but values."""
        document, stored, stamp = self._files.document, self._files.runs.stored(), self._files.stamp
        return partial(self._autosave.save, document.work, document.path, stored, stamp=stamp)

    def _saved(self, key: object, result: object) -> None:
        if isinstance(result, Exception) and not self._complained:
            self.announced.emit(f"The work cannot be kept for recovery: {result}")
            self._complained = True

    def forget(self) -> None:
        """The work is safe elsewhere, or the window closes as it should."""
        self._timer.stop()
        self.beside.drop(_SAVE)
        self._autosave.discard()

    def offer(self) -> bool:
        """Ask whether to go on with what a crash left; True if so."""
        for found in recoverable(self.folder):
            said = "geodp did not close properly. Go on with the work it kept?"
            button, icon = QMessageBox.StandardButton, QMessageBox.Icon.Question
            both = button.Yes | button.No
            yes = ask(self._window, icon, said, found.text, buttons=both) == button.Yes
            opened = yes and self._files.attempt("recover the work", partial(self._open, found))
            if not yes or (opened and self.save()):  # the work is never without a copy
                discard(found.path)
            if opened:
                return True
        return False

    def _open(self, found: Recovery) -> None:
        work, run = load_session(found.path)
        self._files.show_session(work, run, found.original, found.stamp)
        self._files.document.mark_unsaved()
