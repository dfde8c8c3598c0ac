"""Asks before examples are imported: what a file holds, what is read of it, what does not fit.

The file is read beside the window.  Nothing is taken before the person says so, and then all that
was announced is taken, at once.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from pathlib import Path

from PySide6.QtCore import QSize, Qt
from PySide6.QtWidgets import (
    QCheckBox,
    QDialog,
    QDialogButtonBox,
    QFrame,
    QLabel,
    QProgressBar,
    QScrollArea,
    QWidget,
)

from geodp_app.document.examples import Frame
from geodp_app.document.work import Work
from geodp_app.files.document_files import work_with
from geodp_app.files.import_file import PREVIEW, ImportFile, cut, is_plain
from geodp_app.files.import_rows import (
    CheckedRows,
    Meaning,
    ReadRows,
    as_spoken,
    check_rows,
    read_rows,
)
from geodp_app.files.points import in_system, member_frame, open_import
from geodp_app.formatting import count, counted
from geodp_app.palette import Palette
from geodp_app.runs.settings_advice import verdict
from geodp_app.views.panels.bounds_fields import BoundsFields
from geodp_app.views.panels.import_fields import ImportChoices, Misfits, SmallTable
from geodp_app.views.widgets.number_fields import show_value
from geodp_app.views.widgets.panes import (
    card_column,
    dressed,
    fill,
    fit_screen,
    scrolled,
    show_words,
)
from geodp_app.views.widgets.tasks import Background, timer
from geometry.errors import InputError
from geometry.grid import Bounds

#: Milliseconds between two looks at the progress, and of the bar's length.
_LOOK, _FINE = 50, 1000
#: Where the screen has room for it, in device-independent pixels.
_SIZE = QSize(1160, 740)

_GIVE_BOUNDS = "Give the public bounds: type them, drag a box, or take those of a map file."
_PROBLEMS = (InputError, OSError, MemoryError)


class ImportDialog(QDialog):
    """Asks what must be known of a file of examples before it can be read; of a file with several
    layers one is given.

    The work gives settings, grid, and bounds to begin with.  Examples that are `opening` begin a
    session of their own, without the drawing.
    """

    def __init__(
        self,
        path: Path,
        work: Work,
        palette: Palette,
        *,
        opening: bool,
        layer: str | None = None,
        parent: QWidget | None = None,
    ) -> None:
        super().__init__(parent)
        self._path, self._work, self._opening, self._palette = path, work, opening, palette
        #: What is taken, once the dialog was accepted.
        self.checked: CheckedRows | None = None
        #: Why the file cannot be read at all; the dialog has then closed by itself.
        self.failure: InputError | None = None
        self._file: ImportFile | None = None
        self._rows: ReadRows | None = None
        self._share = [0.0]  # of the file, written by the thread that reads
        self._asked = False  # whether the person has had a say
        self.background = Background(self, told=_PROBLEMS)
        self.background.done.connect(self._came)
        self._timer = timer(self, _LOOK, self._show_progress, again=True)
        self.setWindowTitle(f"{'Open' if opening else 'Import'} examples: {path.name}")
        self._make_views()
        fit_screen(self, _SIZE)
        self._submit("open", lambda stop: open_import(path, layer))
        self._refresh()

    def _make_views(self) -> None:
        self.title = QLabel(self._path.name)
        self.preview = SmallTable("First rows")
        self.choices = ImportChoices(self._work.drawing.grid)
        self.choices.columns_changed.connect(self._columns_changed)
        self.choices.meaning_changed.connect(self._meaning_changed)
        self.bounds = BoundsFields(self._work.bounds, self._palette)
        self.bounds.changed.connect(self._meaning_changed)
        self.bounds.refused.connect(self._say)
        self.misfits = Misfits()
        self.misfits.leave_out.toggled.connect(self._refresh)
        #: Must be answered where it is asked.
        words = "The bounds are the extent of the points: they are known without the points, too"
        self.known_bounds = dressed(QCheckBox(words), name=words)
        self.known_bounds.toggled.connect(self._refresh)
        self.known_bounds.hide()
        self.summary = dressed(QLabel(wordWrap=True), name="What is read")
        self.expected = dressed(QLabel(wordWrap=True), name="What to expect")
        self.progress = QProgressBar(maximum=_FINE, textVisible=False)
        dressed(self.progress, name="How much of the file has been read")
        self.problem = dressed(QLabel(wordWrap=True), "banner", name="What is wrong")
        self.hint = dressed(QLabel(wordWrap=True), "note", name="What to do next")
        buttons = QDialogButtonBox.StandardButton
        self.buttons = QDialogButtonBox(buttons.Ok | buttons.Cancel)
        self.take = self.buttons.button(buttons.Ok)
        self.take.setText("Open" if self._opening else "Import")
        self.take.setDefault(True)
        self.buttons.accepted.connect(self.accept)
        self.buttons.rejected.connect(self.reject)
        middle = fill(None, across=True, spacing=12)
        top = Qt.AlignmentFlag.AlignTop
        middle.addWidget(self.choices, 0, top | Qt.AlignmentFlag.AlignLeft)
        middle.addWidget(self.bounds, 1, top)
        self._rows_card, self._result_card = QFrame(), QFrame()
        fill(card_column(self._rows_card, self.title, private=True), self.preview)
        column = card_column(self._result_card, QLabel("What to expect"), private=True)
        fill(column, self.summary, self.expected, self.misfits)
        body = QWidget()
        cards = (self._rows_card, middle, self._result_card, None)
        fill(body, *cards, margins=(16, 14, 16, 8), spacing=10)
        scroll = scrolled(QScrollArea(), body, across=True)
        scroll.setFocusPolicy(Qt.FocusPolicy.NoFocus)
        last = fill(None, self.misfits.leave_out, (self.buttons, 1), across=True)
        parts = (self.progress, self.problem, self.hint, self.known_bounds, last)
        below = fill(None, *parts, margins=(16, 0, 16, 14), spacing=8)
        fill(self, (scroll, 1), below, margins=0)

    # what the person does

    def done(self, result: int) -> None:
        """Close; what is still being read is dropped."""
        self.background.clear()
        self._timer.stop()
        if result != QDialog.DialogCode.Accepted:
            self.checked = None
        super().done(result)

    def accept(self) -> None:
        """Take the examples, if nothing is in the way."""
        if self.take.isEnabled():
            super().accept()

    def _columns_changed(self) -> None:
        self._asked = True
        self._read()

    def _meaning_changed(self) -> None:
        self._asked = True
        self._check()

    # reading, in three stages

    def _submit(self, key: str, work: Callable[[Callable[[], bool]], object]) -> None:
        self.background.submit(key, work)
        self._timer.start()

    def _came(self, key: object, result: object) -> None:
        if isinstance(result, ImportFile):
            self._opened(result)
        elif isinstance(result, ReadRows):
            self._rows = result
            self.choices.show_labels(result)
            self._check()
        elif isinstance(result, CheckedRows):
            self.checked = result
            show_value(self.known_bounds, False)
            self.known_bounds.setVisible(result.tight)
            bounded = self.choices.coordinates() == "degrees"
            self.misfits.show_rows(result, self._n, bounded=bounded)
            if self._nothing_to_ask(result):
                self.take.setEnabled(True)
                self.accept()
                return
            self._refresh()
        else:
            scarce = InputError(f"{self._path}: not enough memory to read it")
            self.failure = result if isinstance(result, InputError) else scarce
            self.reject()

    def _opened(self, file: ImportFile) -> None:
        try:
            grid, bounds = member_frame(file.name, file.member)
        except InputError as error:
            self.failure = error
            self.reject()
            return
        self._file = file
        rows = [row for row in file.preview if len(row) == len(file.columns)]
        self.preview.show_rows(file.columns, rows)
        self.preview.fit_height(PREVIEW)
        self.choices.show_file(file)
        self._first_to_fill().setFocus()
        if grid is not None:
            self.choices.grid.setValue(grid)
        if bounds is not None:
            self.bounds.set_bounds(bounds)
        self._asked = False
        self._read()

    def _first_to_fill(self) -> QWidget:
        c = self.choices
        rest = self.bounds.fields["West"] if c.coordinates() == "degrees" else c.kind
        boxes = (c.first, c.second, c.label, c.person)
        return next((box for box in boxes if box.currentIndex() < 0), rest)

    def _read(self) -> None:
        self._rows = self.checked = None
        self.background.drop("check")
        file, columns, person = self._file, self.choices.columns(), self.choices.unit()
        self._share = share = [0.0]
        if file is not None and columns.complete:

            def read(stop: Callable[[], bool]) -> ReadRows | None:
                tell = partial(share.__setitem__, 0)
                rows = read_rows(file, columns, stop, tell, person)
                return None if rows is None else as_spoken(rows)

            self._submit("read", read)
        else:
            self.background.drop("read")
        self._refresh()

    def _check(self) -> None:
        self.checked = None
        self.background.drop("check")
        rows = self._rows
        meaning = None if self._missing() else self._meaning()
        if rows is not None and meaning is not None:
            self._submit("check", partial(self._checked, rows, meaning))
        self._refresh()

    def _checked(self, rows: ReadRows, meaning: Meaning, stop: Callable[[], bool]) -> CheckedRows:
        if meaning.kind == "degrees":
            assert self._file is not None
            assert meaning.frame.bounds is not None
            rows = in_system(self._file, rows, meaning.frame.bounds)
        return check_rows(rows, meaning)

    def _meaning(self) -> Meaning:
        kind, grid = self.choices.coordinates(), self.choices.grid.value()
        bounds = self.bounds.bounds() if kind == "degrees" else self._known_bounds()
        return Meaning(kind, Frame(grid, bounds), *self.choices.labels())

    def _known_bounds(self) -> Bounds | None:
        """Where the file says that it lies, else where the drawing does that it is put beside."""
        assert self._file is not None
        own = member_frame(self._file.name, self._file.member)[1]
        return own or (None if self._opening else self._work.bounds)

    # showing

    def _missing(self) -> tuple[str, str] | None:
        """What is wrong, else what to do next, before rows can be told apart; both are empty while
        rows are read, and None if nothing is missing."""
        problem = self.choices.problem()
        if problem or self._rows is None:
            return "", problem
        if not self.choices.labels_chosen():
            return "", "Choose which label is inside and which is outside."
        inside, outside = self.choices.labels()
        if inside == outside:
            return "Inside and outside are the same label: choose another for either.", ""
        own = self._file.member.get("grid") if self._file else None
        if self.choices.coordinates() == "grid" and own not in (None, self.choices.grid.value()):
            return f"The file says that its points lie on a grid of size {own}: choose that.", ""
        try:
            if self.choices.coordinates() == "degrees":
                self.bounds.bounds()
        except InputError as error:
            text = str(error)
            return text[:1].upper() + text[1:], "" if text else _GIVE_BOUNDS
        return None

    def _refresh(self) -> None:
        self.bounds.setVisible(self.choices.coordinates() == "degrees")
        checked = self.checked
        self.take.setEnabled(False)
        if checked is None:
            self.misfits.leave_out.setEnabled(False)
            missing = ("", "") if self._file is None else self._missing()
            self._say(*(missing or ("", "")))
            if missing:  # else rows are told apart: what is shown stays for that moment
                self._result_card.hide()
                self.misfits.leave_out.hide()
            return
        self._result_card.show()
        n, inside = len(checked.examples.labels), int(checked.examples.labels.sum())
        left_out, agreed = checked.dropped, self.misfits.leave_out.isChecked()
        self.title.setText(f"{self._path.name}: {counted(self._n, 'row')}")
        fit = counted(n, "example") + (" fits" if n == 1 else " fit")
        if checked.examples.unit is not None:
            fit += f", one of each {cut(checked.examples.unit)}"
        show_words(self.summary, f"{fit}: {count(inside)} inside, the rest outside." if n else "")
        opened = self._path if self._opening else None
        expected = verdict(work_with(checked.examples, self._work, opened))
        none_left = bool(left_out) and not n
        words = "" if none_left else f"{expected.warning} {expected.practice}".strip()
        show_words(self.expected, words)
        self.misfits.leave_out.setEnabled(not none_left)
        problem = "No row fits: choose other columns, bounds or labels." if none_left else ""
        if checked.nobody:
            problem = f"R{str(checked.nobody)[1:]}. Choose another column, or mend it."
        self._say(problem)
        fits = checked.nobody is None and (agreed or not left_out)
        self.take.setEnabled(fits and self._answered())

    def _nothing_to_ask(self, checked: CheckedRows) -> bool:
        """Whether the file is in the strict form, and all of it fits."""
        assert self._file is not None
        stated = self.choices.coordinates() == "grid" or self._known_bounds() is not None
        strict = is_plain(self._file.columns) and self.choices.labels() == ("1", "0")
        fine = strict and stated and not checked.dropped
        return not self._asked and fine and self._answered()

    def _answered(self) -> bool:
        """Whether nothing that is asked is without an answer."""
        return self.known_bounds.isHidden() or self.known_bounds.isChecked()

    @property
    def _n(self) -> int:
        return 0 if self._rows is None else len(self._rows.numbers)

    def _show_progress(self) -> None:
        busy = self.background.busy
        self.progress.setVisible(busy)
        self.progress.setValue(round(_FINE * self._share[0]))
        if not busy:
            self._timer.stop()

    def _say(self, problem: str, hint: str = "") -> None:
        show_words(self.problem, problem)
        show_words(self.hint, hint)
