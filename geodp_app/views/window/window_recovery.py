"""Saves the window's work against crashes, and offers it afterwards."""

from __future__ import annotations

import functools
from collections.abc import Callable
from pathlib import Path

from PySide6.QtCore import QObject, QTimer, Signal
from PySide6.QtWidgets import QMessageBox, QWidget

from geodp_app.errors import InputError
from geodp_app.files.autosave import Autosave, Recovery, discard, recoverable
from geodp_app.files.session import load_session
from geodp_app.views.widgets.background import Background, Work
from geodp_app.views.widgets.panes import ask
from geodp_app.views.window.window_files import WindowFiles, config_folder

#: Pause after the last change before it is saved, in milliseconds.
PAUSE = 3000
#: What is done beside the window.
_SAVE = "save"


class WindowRecovery(QObject):
    """Autosave of one window.

    Parameters
    ----------
    window : QWidget
        The dialogs' parent.
    files : WindowFiles
        Has document and run, and opens what was kept.
    folder : path, optional
        For recovery files instead of the user's.
    """

    #: Words for the status bar.
    announced = Signal(str)

    def __init__(self, window: QWidget, files: WindowFiles, folder: Path | None) -> None:
        super().__init__(window)
        self._window, self._files = window, files
        self.folder = folder or config_folder() / "recovery"
        self._autosave = Autosave(self.folder)
        self._complained = False
        self._timer = QTimer(self, singleShot=True, interval=PAUSE)
        self._timer.timeout.connect(self._save_beside)
        # a million examples are written for a tenth of a second, and longer on a slow disk
        self.beside = Background(self)
        self.beside.done.connect(self._saved)

    def later(self) -> None:
        """Keep the work safe a little later, as something has changed."""
        self._timer.start()

    def save(self) -> None:
        """Keep the work now; a problem is told once and never stops anything."""
        self.beside.drop(_SAVE)
        if self._files.document.history.dirty:
            self._saved(_SAVE, self._keeping()(lambda: False))

    def _save_beside(self) -> None:
        """The same, as the work is now, while the window goes on."""
        if self._files.document.history.dirty:
            self.beside.submit(_SAVE, self._keeping())

    def _keeping(self) -> Work:
        """What keeps the work as it is now: of the window a thread gets nothing but values."""
        document, keep = self._files.document, self._autosave.save
        now = document.work, document.path, self._files.runs.stored()

        def save(called_off: Callable[[], bool]) -> object:
            try:
                return keep(*now, called_off)
            except (InputError, OSError) as error:
                return error

        return save

    def _saved(self, key: object, result: object) -> None:
        if isinstance(result, Exception) and not self._complained:
            self.announced.emit(f"The work cannot be kept for recovery: {result}")
            self._complained = True

    def forget(self) -> None:
        """The work is safe elsewhere."""
        self._stop()
        self._autosave.discard()

    def end(self) -> None:
        """The window closes as it should."""
        self._stop()
        self._autosave.discard()

    def _stop(self) -> None:
        self._timer.stop()
        self.beside.drop(_SAVE)

    def offer(self) -> bool:
        """Ask whether to go on with what a crash left; True if so."""
        for found in recoverable(self.folder):
            said = "geodp did not close properly. Go on with the work it kept?"
            buttons = QMessageBox.StandardButton.Yes | QMessageBox.StandardButton.No
            icon = QMessageBox.Icon.Question
            answer = ask(self._window, icon, said, found.text, buttons=buttons)
            yes = answer == QMessageBox.StandardButton.Yes
            opened = yes and self._files.attempt(
                "recover the work", functools.partial(self._open, found)
            )
            if opened or not yes:
                discard(found.path)
            if opened:
                return True
        return False

    def _open(self, found: Recovery) -> None:
        work, run = load_session(found.path)
        self._files.show_session(work, run, found.original)
        self._files.document.mark_unsaved()
