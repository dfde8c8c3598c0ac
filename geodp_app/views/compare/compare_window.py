"""Compares several learners on the document's examples, overlaid on one plane, and in a table; or
rehearses them on samples of the drawing, at several ε and numbers of reports.

The window shows the comparison made last; what is drawn or sampled afterwards does not change it.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import replace
from pathlib import Path

from PySide6.QtCore import QSize, Qt
from PySide6.QtGui import QCloseEvent
from PySide6.QtWidgets import (
    QApplication,
    QCheckBox,
    QDialog,
    QFileDialog,
    QGroupBox,
    QLabel,
    QProgressBar,
    QPushButton,
    QScrollArea,
    QSizePolicy,
    QWidget,
)

from geodp_app.document.document import Document
from geodp_app.document.examples import hold_out
from geodp_app.document.sampling import fresh_sample
from geodp_app.document.work import RunCharge, RunSettings, Work
from geodp_app.files.ledger import NewRun
from geodp_app.files.ledger_recording import enter, ledger_of_work, tell_end
from geodp_app.files.ledger_state import End
from geodp_app.files.writing import named_failures, write_whole
from geodp_app.formatting import counted, csv_text
from geodp_app.palette import Palette
from geodp_app.runs import comparison
from geodp_app.runs.comparison import Contender, Progress, Row, remarks
from geodp_app.runs.rehearsal import Rehearsed, advice, rehearsal_remarks
from geodp_app.runs.task_process import CompareJob, RehearsalJob, compare_once
from geodp_app.views.compare.compare_views import (
    ComparePlane,
    CompareTable,
    RehearsalFields,
    short_title,
)
from geodp_app.views.widgets.number_fields import FieldGuard, WholeField, set_auto
from geodp_app.views.widgets.panes import (
    Pane,
    dressed,
    fill,
    fit_screen,
    grid_of,
    scrolled,
    sentences,
    show_words,
    splitter_of,
)
from geodp_app.views.widgets.tasks import OneTask
from geometry.errors import InputError
from learners.cover.set_cover import Pieces
from learners.privacy.accounting import PrivacySpent

#: Checked at first: private, without k, and done in moments.
_FIRST = ("tiles", "histogram", "quadtree")

#: Of the bar, a step of it being invisible.
_FINE = 1000

#: Where nothing is drawn, each example is held out to test on with this probability.
_HELD_OUT = 0.2


class CompareWindow(QDialog):
    """Choose learners, compare them on a document's examples, look at their shapes, save them."""

    def __init__(self, document: Document, palette: Palette, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setWindowTitle("Compare learners")
        self.setWindowFlag(Qt.WindowType.WindowMaximizeButtonHint, True)
        self._document = document
        self._compared: Work | None = None
        #: Whether learners are tested on examples of their own.
        self._fresh = False
        #: Of its runs in a ledger, those that have not come to their end.
        self._names: list[str] = []
        #: Noted of the contender at work, if it is private.
        self._charge: RunCharge | None = None
        self.rows: list[Row] = []
        #: Of a rehearsal.
        self.rehearsed: list[Rehearsed] = []
        #: Rows of the comparison made last, once it is done.
        self._of = 0
        self.controller = OneTask(compare_once, self)
        self.plane, self.table = ComparePlane(palette), CompareTable(palette)
        self.pane = Pane("Learned shapes", self.plane)
        side, self.banner = QWidget(), dressed(QLabel(wordWrap=True), "banner")
        groups = (self._learners_group(document.work.run), 1), (self._results_group(), 1)
        fill(side, self.banner, *groups, margins=0, spacing=10)
        splitter = splitter_of(Qt.Orientation.Horizontal, side, self.pane, stretches=(1, 1))
        splitter.setSizes([600, 620])
        fill(self, splitter, across=True, margins=10)
        FieldGuard(self).guard(self)
        self.setMinimumSize(880, 620)  # of 1080 lines at 150 % no more are free
        fit_screen(self, QSize(1240, 840))
        self._connect()
        show_words(self.banner, "")
        self._follow()
        self.compare_button.setFocus()

    def set_palette(self, palette: Palette) -> None:
        self.plane.set_palette(palette)
        self.table.set_palette(palette)

    def _learners_group(self, run: RunSettings) -> QGroupBox:
        choices = QWidget()
        grid = grid_of(choices, 8, 1, stretch=0)
        grid.setContentsMargins(0, 0, 0, 0)
        self.boxes: dict[str, QCheckBox] = {}
        self.counts: dict[str, WholeField] = {}
        for line, (name, kind) in enumerate(comparison.KINDS.items()):
            box = self.boxes[name] = dressed(QCheckBox(kind.title), tip=kind.sentence)
            box.setChecked(name in _FIRST)
            grid.addWidget(box, line, 0)
            grid.setRowMinimumHeight(line, 30)  # as a row with k has
            if not kind.counts:
                continue
            number = self.counts[name] = WholeField(1, 200)
            k = kind.parameter("k")
            assert k is not None  # it counts something
            set_auto(number, bool(k.auto))
            own = run["k"] if k.accepts(run["k"]) else k.default
            number.setValue(0 if own == "auto" else own)
            number.ensurePolished()  # else its height is that of another style
            number.setFixedSize(74, number.sizeHint().height())
            label, tip = QLabel("k"), f"How many {kind.counts}"
            label.setBuddy(dressed(number, name=f"{kind.title}: k", tip=tip))
            grid.addWidget(label, line, 1)
            grid.addWidget(number, line, 2)
        self.choices = scrolled(QScrollArea())
        self.choices.setFocusPolicy(Qt.FocusPolicy.NoFocus)  # its boxes have it
        self.choices.setSizeAdjustPolicy(QScrollArea.SizeAdjustPolicy.AdjustToContents)
        self.choices.setWidget(choices)
        bar = self.choices.verticalScrollBar().sizeHint().width()
        self.choices.setMinimumWidth(choices.minimumSizeHint().width() + bar)
        self.choices.setMinimumHeight(2 * 30)
        self.choices.setMaximumHeight(choices.sizeHint().height())
        self.settings_note = dressed(QLabel(), "note")
        self.rehearsal = RehearsalFields()
        self.compare_button, self.cancel_button = QPushButton("Compare"), QPushButton("Cancel")
        self.compare_button.setProperty("kind", "primary")
        self.progress = dressed(QProgressBar(maximum=_FINE, textVisible=False), name="Progress")
        self.state = dressed(QLabel(), "note")
        words = fill(None, self.state, self.progress, spacing=4)
        parts = (self.compare_button, self.cancel_button, (words, 1))
        foot = fill(None, *parts, across=True, margins=(0, 5, 0, 0), spacing=8)
        group = QGroupBox("Learners")
        fill(group, (self.choices, 1), self.rehearsal, self.settings_note, foot, spacing=6)
        group.setSizePolicy(QSizePolicy.Policy.Preferred, QSizePolicy.Policy.Maximum)
        return group

    def _results_group(self) -> QGroupBox:
        group = QGroupBox("Results")
        self.cost, self.advice = QLabel(wordWrap=True), sentences("")
        self.caution = dressed(QLabel(wordWrap=True), "note")
        tip = "The shapes as GeoJSON and the table as CSV; of a rehearsal the table alone"
        self.save_button = dressed(QPushButton("Save…"), tip=tip)
        self.copy_button = dressed(QPushButton("Copy command"), tip="To the clipboard")
        changed = "The drawing, examples or settings have changed since."
        self.stale = dressed(QLabel(changed, wordWrap=True), "note")
        foot = fill(None, (self.stale, 1), across=True)
        foot.addStretch(0)
        fill(foot, self.copy_button, self.save_button, spacing=8)
        fill(group, (self.table, 1), self.cost, self.advice, self.caution, foot, spacing=8)
        return group

    def _connect(self) -> None:
        for button in self.findChildren(QPushButton):
            button.setAutoDefault(False)
        self.compare_button.clicked.connect(self.compare)
        self.cancel_button.clicked.connect(self.controller.cancel)
        self.save_button.clicked.connect(self.save)
        copy = QApplication.clipboard().setText
        self.copy_button.clicked.connect(lambda: copy(self.advice.text().rpartition("\n")[2]))
        for box in self.boxes.values():
            box.toggled.connect(lambda _: self._refresh())
        self.rehearsal.changed.connect(self._refresh)
        self.table.picked.connect(self._picked)
        self.table.shown_changed.connect(self.plane.set_shown)
        c = self.controller
        c.replied.connect(self._replied)
        c.finished.connect(lambda: self._ended(""))
        c.cancelled.connect(self._cancelled)
        c.failed.connect(self._failed)
        self.destroyed.connect(self._document.subscribe(self._follow))

    # comparing

    def choose(self, names: Collection[str], k: Pieces) -> None:
        """Check these learners and no others, with that k."""
        for name, box in self.boxes.items():
            box.setChecked(name in names)
            if name in names and name in self.counts:
                self.counts[name].setValue(0 if k == "auto" else k)

    def compare(self) -> None:
        """Begin; what was compared before goes."""
        show_words(self.banner, "")
        try:
            job = self._job()
            rehearsal = isinstance(job, RehearsalJob)
            frame = job.frame if isinstance(job, RehearsalJob) else job.examples.frame
            # what a learner refuses lets what was compared before stay
            plans = comparison.plans_of(job.contenders, frame.d)
            self._names = []
            if not rehearsal:
                self._enter(job.contenders, plans)
        except InputError as error:
            text = str(error)
            show_words(self.banner, f"{text[0].upper()}{text[1:]}.")
            return
        self._compared = self._document.work
        self.rows, self.rehearsed = [], []
        self.table.clear_rows(rehearsed=rehearsal)
        self.plane.clear_shapes()
        self.pane.mark.setVisible(not rehearsal)
        show_words(self.advice, "")
        self.copy_button.setEnabled(False)
        self._of = len(job.contenders) * (len(job.sizes) if isinstance(job, RehearsalJob) else 1)
        self._fresh = isinstance(job, CompareJob) and job.examples is self._compared.examples
        self._charge = None
        self._say("Starting…", 0)
        self.controller.start(job)
        self._follow()
        # the keyboard stays with the two buttons, one of which is always disabled
        self.cancel_button.setFocus()

    def _enter(self, contenders: Sequence[Contender], plans: Sequence[PrivacySpent | None]) -> None:
        """Tell the ledger of the examples, if there is one, what all contenders will spend."""
        work = self._document.work
        if ledger_of_work(work) is None:
            return
        planned = zip(contenders, plans, strict=True)
        runs = [NewRun("compare", contender.kind.id, plan) for contender, plan in planned]
        enter(work, runs)
        self._names = [run.run for run in runs]

    def _tell_ends(self, first: End, later: End | None = None) -> None:
        """Tell the ledger how the run at work ended, and those after it, which may have begun in
        their process: nobody here knows."""
        ended = self._names[:1] if later is None else self._names
        self._names = self._names[len(ended) :]
        ends = dict.fromkeys(ended, later or first) | dict.fromkeys(ended[:1], first)
        if ends and self._compared is not None and (problem := tell_end(self._compared, ends)):
            show_words(self.banner, problem)

    def _job(self) -> CompareJob | RehearsalJob:
        document = self._document
        if self.rehearsal.asked:
            return self.rehearsal.job(document.work, self.contenders)
        contenders = self.contenders(document.work.run)
        if document.work.examples is None:
            if not document.drawing.shapes:
                raise InputError("there are no examples: draw a target, or import examples")
            document.sample()
        work = document.work
        assert work.examples is not None  # sampled just now, or imported
        test = fresh_sample(work) if document.drawing.shapes else None
        if test is not None:
            return CompareJob(work.examples, test, contenders)
        return CompareJob(*hold_out(work.examples, _HELD_OUT, work.run["seed"]), contenders)

    def contenders(self, run: RunSettings) -> tuple[Contender, ...]:
        """The learners that are ticked, as they would run."""
        found, same = [], {name: run[name] for name in ("epsilon", "delta", "seed")}
        for name in (name for name, box in self.boxes.items() if box.isChecked()):
            k = (self.counts[name].value() or "auto") if name in self.counts else None
            # only a cover that is sharpened finds k by itself
            more = {"k": k, "finish": None if k == "auto" else run["finish"]}
            found.append(
                comparison.make_contender(name, neighbours=run.whole_neighbours, **same, **more)
            )
        return tuple(found)

    def _replied(self, reply: Progress | Row | Rehearsed | tuple[float, str]) -> None:
        match reply:
            case Progress():
                self._show_progress(reply)
            case Row():
                self._arrived(reply)
            case Rehearsed():
                self.rehearsed.append(reply)
                self.plane.add_shape(reply.name, reply.shape)
                self.table.show_rehearsed(self.rehearsed)
                self._refresh()
            case share, text:
                self._say(text, share)

    def _say(self, text: str, share: float) -> None:
        self.state.setText(text)
        self.progress.setValue(round(_FINE * share))

    def _show_progress(self, p: Progress) -> None:
        text = f"{short_title(p.name)} ({p.number} of {p.of})"
        if p.preparing:
            self.state.setText(f"Preparing {text}")
            return
        self._charge_contender(p.number, p.plan)
        self._say(f"{text}, step {p.step} of {p.steps}" if p.steps else text, p.share)

    def _charge_contender(self, number: int, plan: PrivacySpent | None) -> None:
        """Note with the sample what the contender at work spends, as soon as it has begun."""
        begins = self._charge is None and number == len(self.rows) + 1
        if begins and plan is not None and plan.private:
            self._note(RunCharge(plan, finished=False))

    def _note(self, charge: RunCharge, before: RunCharge | None = None) -> None:
        assert self._compared is not None
        assert self._compared.examples is not None  # it has begun
        self._charge = charge
        self._document.charge(self._compared.examples, charge, before)

    def _arrived(self, row: Row) -> None:
        # it may have been too quick to be told of
        self._charge_contender(len(self.rows) + 1, row.privacy)
        if self._charge is not None:
            self._note(replace(self._charge, finished=True), self._charge)
        self._charge = None
        self._tell_ends("released")
        self.rows.append(row)
        self.table.add(row)
        self.plane.add_shape(row.name, row.shape)
        self.progress.setValue(round(_FINE * len(self.rows) / self._of))
        self._refresh()

    def _cancelled(self) -> None:
        self._tell_ends("cancelled", "cancelled")
        self._ended(f"Cancelled: {len(self.rows or self.rehearsed)} of {self._of} done")

    def _failed(self, message: str) -> None:
        self._tell_ends("failed", "cancelled")
        self._ended("")
        show_words(self.banner, message)

    def _ended(self, words: str) -> None:
        self.state.setText(words)
        held = self.cancel_button.hasFocus()
        self._refresh()
        if held:
            self.compare_button.setFocus()

    # showing

    def _picked(self, name: str | None) -> None:
        """Bring a shape forward; of a rehearsal, show it alone, and how to learn so."""
        self.plane.highlight(name)
        for row in self.rehearsed:
            self.plane.set_shown(row.name, row.name == name)
            if row.name == name:
                show_words(self.advice, advice(row, self.rehearsed))
                self.copy_button.setEnabled(row.contender.kind.private)

    def _follow(self) -> None:
        """Show the target of the comparison; before the first one, that of the document."""
        work = self._compared or self._document.work
        self.plane.show_target(work.drawing.region(), work.frame)
        self._refresh()

    def _refresh(self) -> None:
        busy, work = self.controller.busy, self._document.work
        checked = any(box.isChecked() for box in self.boxes.values())
        self.compare_button.setEnabled(checked and not busy)
        self.cancel_button.setEnabled(busy)
        # never on a person's reports: what is simulated is drawn
        self.rehearsal.setEnabled(work.examples is None or work.simulated)
        asked = self.rehearsal.asked
        self.compare_button.setText("Rehearse" if asked else "Compare")
        self.progress.setVisible(busy)
        done = bool(self.rows or self.rehearsed)
        self.save_button.setEnabled(done and not busy)
        self.copy_button.setVisible(bool(self.rehearsed))
        simulated = "On samples of the drawing: nothing is spent."
        self.settings_note.setText(simulated if asked else _settings_text(work))
        cost = " ".join(remarks(self.rows)[:-1])
        show_words(self.cost, cost.replace("epsilon", "ε").replace("delta", "δ"))
        caution = _caution_text(self.rows, fresh=self._fresh)
        if self.rehearsed and self._compared is not None:
            caution = " ".join(rehearsal_remarks(self.rehearsed, self._compared.name))
        show_words(self.caution, caution)
        same = _same(self._compared, work, rehearsed=bool(self.rehearsed))
        self.stale.setVisible(done and not same)

    def save(self) -> None:
        """Ask for a new folder, and write shapes and table into it: all of them, or nothing; of a
        rehearsal, for a file of the table."""
        name = (self._compared or self._document.work).name
        asked = ("Save the comparison into a new folder", f"{name}-comparison", "Folders (*)")
        if self.rehearsed:
            asked = ("Save the rehearsal", f"{name}-rehearsal.csv", "CSV (*.csv)")
        chosen, _ = QFileDialog.getSaveFileName(self, *asked)
        if not chosen:
            return
        path = Path(chosen)
        show_words(self.banner, "")
        try:
            if self.rehearsed:
                write_whole(path, csv_text(row.record() for row in self.rehearsed))
            else:
                comparison.check_folder(path)
                with named_failures(path):
                    comparison.write_shapes(path, self.rows, table=True)
        except InputError as error:
            show_words(self.banner, f"Could not save: {error}.")
        else:
            private = "" if self.rehearsed else f" {comparison.TABLE} is private."
            self.state.setText(f"Saved in {path.name}.{private}")

    def reject(self) -> None:
        """Esc: a comparison under way first, then the window."""
        if self.controller.busy:
            self.controller.cancel()
        else:
            super().reject()

    def closeEvent(self, event: QCloseEvent) -> None:
        self.controller.cancel()
        super().closeEvent(event)


def _same(compared: Work | None, now: Work, *, rehearsed: bool) -> bool:
    """Whether a comparison made now would answer the same question."""
    if compared is None:
        return True
    asked = ["delta", "neighbours", "seed", "finish"]
    if rehearsed:  # epsilons and numbers of reports are its own
        same = replace(compared.sampling, n=now.sampling.n) == now.sampling
    else:
        same = compared.examples is now.examples
        asked.append("epsilon")
    same = same and compared.drawing == now.drawing
    return same and all(compared.run[name] == now.run[name] for name in asked)


def _settings_text(work: Work) -> str:
    run, examples = work.run, work.examples
    on = "a new sample" if examples is None else counted(len(examples.labels), "example")
    if run["seed"] is not None:
        return f"On {on}, with ε = {run['epsilon']:g}. Seeded: not private."
    return f"On {on}, each private learner with ε = {run['epsilon']:g}, δ ≤ {run['delta']:g}."


def _caution_text(rows: list[Row], *, fresh: bool) -> str:
    if not rows:
        return ""
    n, held_out = rows[0].tested, f" held out ({_HELD_OUT:.0%})"
    source = counted(n, "new point") if fresh else counted(n, "example") + held_out
    return (
        f"Test errors are on {source}. They are private diagnostics: for your eyes, and so is a "
        "choice made by them."
    )
