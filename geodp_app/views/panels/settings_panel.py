"""The settings at the side: sample, learner, privacy, and what they promise.

Every field writes through the document, so each change can be undone; the panel follows the
document and holds no values of its own.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

from PySide6.QtCore import QObject, QSignalBlocker, Qt, Signal
from PySide6.QtWidgets import (
    QCheckBox,
    QComboBox,
    QFormLayout,
    QGroupBox,
    QLabel,
    QPushButton,
    QScrollArea,
    QVBoxLayout,
    QWidget,
)

from geodp_app.document.checks import MOST_CHUNKS, MOST_HALTS, MOST_TILES
from geodp_app.document.examples import LARGE_GRIDS
from geodp_app.document.suggested_k import MOST
from geodp_app.document.work import RunSettings, Work
from geodp_app.runs.verdict import Verdict
from geodp_app.views.widgets.number_fields import (
    DecadeSlider,
    DecimalField,
    SizeField,
    SmallNumberField,
    WholeField,
    set_auto,
)
from geodp_app.views.widgets.panes import (
    Fold,
    add_field,
    dressed,
    fill,
    narrow_box,
    scrolled,
    sentences,
    show_words,
)
from geometry.halfplane import MAX_D
from learners.declaration import Parameter
from learners.registry import CHUNKS, DIRECTION, FINISH, HALTS, KEPT, SUPPORT, offered


class VotesFields(QObject):
    """Rows of a form; shown for learners that have these parameters."""

    #: Names and values of changed settings.
    changed = Signal(dict)

    def __init__(self, form: QFormLayout) -> None:
        super().__init__(form)
        self._form = form
        self.chunks = self._row(CHUNKS, 0, MOST_CHUNKS)
        self.chunks.setSpecialValueText("automatic")
        self.halts = self._row(HALTS, 1, MOST_HALTS)
        self.kept = self._row(KEPT, 0, MOST_HALTS - 1)
        self.chunks.valueChanged.connect(lambda n: self.changed.emit({"chunks": n or None}))
        self.halts.valueChanged.connect(self._halts_changed)
        self.kept.valueChanged.connect(lambda n: self.changed.emit({"kept": n}))

    def show_settings(self, run: RunSettings) -> None:
        """Follow the settings of a run."""
        shown = (
            ("chunks", self.chunks, run.chunks or 0),
            ("halts", self.halts, run.halts),
            ("kept", self.kept, run.kept),
        )
        for name, field, value in shown:
            with QSignalBlocker(field):
                if field is self.kept:
                    field.setMaximum(run.halts - 1)  # the run itself needs one
                if field.value() != value:
                    field.setValue(value)
            self._form.setRowVisible(field, run.has(name))

    def _halts_changed(self, halts: int) -> None:
        kept = self.kept.value()
        fewer = {"kept": halts - 1} if kept >= halts else {}
        self.changed.emit({"halts": halts, **fewer})

    def _row(self, parameter: Parameter, low: int, high: int) -> WholeField:
        field = WholeField(low, high)
        unset = f" Automatic: {parameter.unset}." if parameter.unset else ""
        add_field(self._form, parameter.label, field, parameter.help + unset)
        return field


_DISTRIBUTIONS = (
    ("uniform", "Uniform"),
    ("clustered", "Clustered"),
    ("gaussian", "Gaussian"),
    ("painted", "Painted"),
)
_LEARNERS = tuple((learner.id, learner.title) for learner in offered("window"))
#: So many learners stand apart, before the others.
_FIRST = 3
_NEIGHBOURS = (("add-remove", "Add or remove one"), ("replace-one", "Replace one"))
_LABELS = ("replace-label", "Replace one label")
_CHANGES = (
    "What one person's report may change. Replace one label: all may know where the reports are"
)
_MEASURES = (("chord", "Chord"), ("paper", "Paper"))


class SettingsPanel(QScrollArea):
    """A column of fields."""

    #: Names and values of changed fields: grid, sampling, run.
    grid_changed = Signal(int)
    sampling_changed = Signal(dict)
    run_changed = Signal(dict)
    sample_asked = Signal()
    #: Whether k is to follow the drawing.
    k_drawn_changed = Signal(bool)
    #: The slider of ε was let go: what it does next is another step to undo.
    slid = Signal()
    ledger_asked = Signal()

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        dressed(self, name="Settings")
        column = dressed(QWidget(), "settings")
        self._sample, self._verdict = self._sample_group(), self._verdict_group()
        groups = (self._learner_group(), self._privacy_group(), self._verdict, self._sample)
        fill(QVBoxLayout(column), *groups, None, margins=(12, 12, 12, 12), spacing=12)
        scrolled(self, column)

    def show_work(self, work: Work) -> None:
        """Show what the document holds now."""
        s, r = work.sampling, work.run
        private = r.declared.private
        imported = not work.simulated and work.examples is not None
        values: tuple[tuple[Any, Any], ...] = (
            (self.count, s.n),
            (self.noise, s.noise * 100),
            (self.grid, work.drawing.grid),
            (self.k, 0 if r.k == "auto" else r.k),
            (self.steps, r.n_steps or 0),
            (self.tiles, r.tiles or 0),
            (self.support, (r.support or 0) * 100),
            (self.epsilon, r.epsilon),
            (self.delta, r.delta),
        )
        self.epsilon_slider.show_number(r.epsilon)
        k = r.declared.parameter("k")
        with QSignalBlocker(self.k):
            set_auto(self.k, k is not None and bool(k.auto))
        for field, value in values:
            if field.value() != value:  # else what is being typed there would be lost
                with QSignalBlocker(field):
                    field.setValue(value)
        self._offer_labels(r)
        choices = (
            (self.distribution, s.distribution),
            (self.learner, r.learner),
            (self.neighbours, r.neighbours),
            (self.measure, r.measure),
            (self.finish, r.finish),
            (self.direction, r.direction or ""),
        )
        for box, value in choices:
            with QSignalBlocker(box):
                box.setCurrentIndex(box.findData(value))
        self._show_seed(self.sample_seeded, self.sample_seed, s.seed)
        self._show_seed(self.run_seeded, self.run_seed, r.seed)
        self._k_label.setText("" if k is None else k.label)
        self.sentence.setText(r.declared.sentence)
        self.votes.show_settings(r)
        for form, field, shown in (
            (self._learner_form, self.k, r.has("k")),
            (self._learner_form, self.direction, r.has("direction")),
            (self._learner_form, self.k_drawn, r.has("k") and work.simulated),
            (self._more_learner, self.steps, r.has("n_steps")),
            (self._more_learner, self.finish, r.has("finish") and r.k not in (1, "auto")),
            (self._more_learner, self.tiles, r.has("tiles")),
            (self._more_learner, self.support, r.has("support")),
            (self._more_learner, self.measure, r.has("measure")),
            (self._more_privacy, self.delta, private and r.declared.needs_delta),
            (self._privacy_form, self.ledger, imported),
        ):
            form.setRowVisible(field, shown)
        more = any(r.has(name) for name in ("n_steps", "tiles", "measure"))
        self._learner_form.setRowVisible(self.learner_fold, more)
        with QSignalBlocker(self.k_drawn):
            self.k_drawn.setChecked(work.k_drawn)
        self.epsilon_slider.setEnabled(private)
        for field in (self.epsilon, self.delta, self.neighbours, self.run_seeded, self.run_seed):
            field.setEnabled(private and (field is not self.run_seed or r.seed is not None))
        self.ledger.setText("None…" if work.ledger is None else f"{Path(work.ledger).name}…")
        self._imported.setVisible(imported)
        self.sample_button.setText("Sample again" if work.examples is not None else "Sample")

    def set_release_view(self, release: bool) -> None:
        """The number of examples is private, and so is what is said about it."""
        self._sample.setVisible(not release)
        self._verdict.setVisible(not release)

    def show_verdict(self, verdict: Verdict) -> None:
        """What these settings promise, and what to expect."""
        self._promise.setText(verdict.promise)
        self._practice.setText(verdict.practice)
        show_words(self._warning, verdict.warning)

    # groups

    def _sample_group(self) -> QGroupBox:
        group, form = _group("Sample")
        self.count = SizeField(1, 10_000_000)
        self.count.valueChanged.connect(lambda n: self.sampling_changed.emit({"n": n}))
        add_field(form, "Examples n", self.count, "How many labelled examples to draw")
        self.distribution = self._choice(
            _DISTRIBUTIONS, lambda name: self.sampling_changed.emit({"distribution": name})
        )
        tip = "Where the examples are. Painted: use the paint tool (B) to say where"
        add_field(form, "Where", self.distribution, tip)
        self.noise = DecimalField(0, 50, decimals=1, step=0.5, suffix=" %")
        self.noise.valueChanged.connect(
            lambda share: self.sampling_changed.emit({"noise": share / 100})
        )
        add_field(form, "Label noise", self.noise, "Share of labels that are flipped")
        self.sample_seeded, self.sample_seed = self._seed_fields(
            "Repeatable",
            "The same seed draws the same sample; the sample is simulated in any case",
            lambda seed: self.sampling_changed.emit({"seed": seed}),
        )
        self.sample_fold, more = _fold("sample")
        more.addRow(self.sample_seeded, self.sample_seed)
        self.grid = WholeField(1, MAX_D)
        self.grid.setSingleStep(64)
        self.grid.valueChanged.connect(self.grid_changed)
        tip = f"Coordinates are 0..d; at most {MAX_D:,}, and {LARGE_GRIDS}"
        add_field(more, "Grid d", self.grid, tip)
        words = "These examples were imported: drawing does not change them."
        self._imported = dressed(QLabel(words, wordWrap=True), "note")
        form.addRow(self._imported)
        tip = "Draw examples, labelled by the drawing (F6)"
        self.sample_button = dressed(QPushButton("Sample"), tip=tip)
        self.sample_button.clicked.connect(self.sample_asked)
        form.addRow(self.sample_button)
        form.addRow(self.sample_fold)
        return group

    def _learner_group(self) -> QGroupBox:
        group, form = _group("Learner")
        self._learner_form = form
        self.learner = self._choice(
            _LEARNERS, lambda name: self.run_changed.emit({"learner": name})
        )
        for i, learner in enumerate(offered("window")):
            self.learner.setItemData(i, learner.sentence, Qt.ItemDataRole.ToolTipRole)
        self.learner.insertSeparator(_FIRST)
        tip = "What is learned, and whether privately"
        form.addRow(dressed(self.learner, name="Learner", tip=tip))
        self.sentence = sentences("note")
        form.addRow(self.sentence)
        self.k = WholeField(1, 200)
        self.k.valueChanged.connect(lambda k: self.run_changed.emit({"k": k or "auto"}))
        tip = (
            "How many pieces a good shape has: triangles, discs or ellipses that cover it, or "
            "edges of the convex polygon. By itself: the run finds the number of triangles "
            "privately"
        )
        self._k_label = add_field(form, "Triangles k", self.k, tip)
        tip = (
            "Take k from the drawing: the number of triangles that it can be cut into. Above "
            f"{MOST} the run finds k by itself. A k that you set stays"
        )
        self.k_drawn = dressed(QCheckBox("from the drawing"), name="k from the drawing", tip=tip)
        self.k_drawn.toggled.connect(self.k_drawn_changed)
        form.addRow("", self.k_drawn)
        sides = (("", DIRECTION.unset), *DIRECTION.choices)
        self.direction = self._choice(
            sides, lambda name: self.run_changed.emit({"direction": name or None})
        )
        add_field(form, DIRECTION.label, self.direction, DIRECTION.help)
        self.votes = VotesFields(form)
        self.votes.changed.connect(self.run_changed)
        self.learner_fold, more = _fold("learner")
        self._more_learner = more
        form.addRow(self.learner_fold)
        self.steps = WholeField(0, 1000)
        self.steps.setSpecialValueText("automatic")
        self.steps.valueChanged.connect(lambda m: self.run_changed.emit({"n_steps": m or None}))
        tip = (
            "Automatic: 1 for k = 1; otherwise 2k if edges are sharpened, 3k if not; at most 8 if "
            "the run finds k by itself"
        )
        add_field(more, "Steps m", self.steps, tip)
        self.finish = self._choice(
            FINISH.choices, lambda name: self.run_changed.emit({"finish": name})
        )
        add_field(more, FINISH.label, self.finish, FINISH.help)
        self.tiles = WholeField(0, MOST_TILES)
        self.tiles.setSpecialValueText("automatic")
        self.tiles.valueChanged.connect(lambda m: self.run_changed.emit({"tiles": m or None}))
        tip = "Along a side of the square. Automatic: by a noisy number of examples"
        add_field(more, "Tiles a side", self.tiles, tip)
        self.support = DecimalField(0, 99.9, decimals=1, step=5, suffix=" % of ε")
        self.support.setSpecialValueText(SUPPORT.unset)
        self.support.valueChanged.connect(
            lambda share: self.run_changed.emit({"support": share / 100 or None})
        )
        add_field(more, SUPPORT.label, self.support, SUPPORT.help)
        self.measure = self._choice(
            _MEASURES, lambda name: self.run_changed.emit({"measure": name})
        )
        add_field(more, "Measure", self.measure, "Base measure of the dual plane; chord is better")
        return group

    def _privacy_group(self) -> QGroupBox:
        group, form = _group("Privacy")
        self.epsilon = DecimalField(0.001, 1000, decimals=3, step=0.1)
        self.epsilon.valueChanged.connect(lambda e: self.run_changed.emit({"epsilon": e}))
        add_field(form, "ε", self.epsilon, "Privacy of the whole run; smaller is more private")
        tip = "Slide ε; while the run is live, it follows"
        self.epsilon_slider = dressed(DecadeSlider(-2, 2), name="ε, from 0.01 to 100", tip=tip)
        self.epsilon_slider.moved.connect(lambda e: self.run_changed.emit({"epsilon": e}))
        self.epsilon_slider.sliderReleased.connect(self.slid)
        form.addRow("", self.epsilon_slider)
        tip = "Where runs on imported examples are entered before they draw, with a budget"
        self.ledger = QPushButton()
        self.ledger.clicked.connect(self.ledger_asked)
        add_field(form, "Ledger", self.ledger, tip)
        self._privacy_form = form
        self.privacy_fold, more = _fold("privacy")
        self._more_privacy = more
        self.delta = SmallNumberField(1e-30, 0.5)
        self.delta.valueChanged.connect(lambda e: self.run_changed.emit({"delta": e}))
        add_field(more, "δ", self.delta, "Probability that the guarantee fails: well below 1/n")
        self.neighbours = self._choice(
            _NEIGHBOURS, lambda name: self.run_changed.emit({"neighbours": name})
        )
        add_field(more, "Neighbours", self.neighbours, _CHANGES)
        self.run_seeded, self.run_seed = self._seed_fields(
            "Seeded",
            "A seeded run can be repeated and is therefore not private",
            lambda seed: self.run_changed.emit({"seed": seed}),
        )
        more.addRow(self.run_seeded, self.run_seed)
        form.addRow(self.privacy_fold)
        return group

    def _verdict_group(self) -> QGroupBox:
        group = QGroupBox("What to expect")
        self._practice = sentences("practice")
        self._promise = sentences("promise")
        self._warning = sentences("warning")
        # a form would cut the last line off a label whose text gets longer
        fill(QVBoxLayout(group), self._warning, self._practice, self._promise)
        return group

    # fields

    def _choice(
        self, entries: tuple[tuple[str, str], ...], tell: Callable[[str], None]
    ) -> QComboBox:
        box = narrow_box(8)
        for value, text in entries:
            box.addItem(text, value)
        box.currentIndexChanged.connect(lambda _: tell(box.currentData()))
        return box

    def _seed_fields(
        self, text: str, tip: str, tell: Callable[[int | None], None]
    ) -> tuple[QCheckBox, WholeField]:
        check = dressed(QCheckBox(text), tip=tip)
        number = dressed(WholeField(0, 2**31 - 1), name=f"{text}: seed", tip=tip)
        check.toggled.connect(lambda on: tell(number.value() if on else None))
        number.valueChanged.connect(tell)
        return check, number

    def _offer_labels(self, run: RunSettings) -> None:
        """Let labels alone be protected by the learners that can."""
        relation, (value, text) = run.declared.parameter("neighbours"), _LABELS
        row = self.neighbours.findData(value)
        offered_now = relation is not None and relation.accepts(value)
        with QSignalBlocker(self.neighbours):
            if offered_now and row < 0:
                self.neighbours.addItem(text, value)
            elif not offered_now and row >= 0:
                self.neighbours.removeItem(row)

    def _show_seed(self, check: QCheckBox, number: WholeField, seed: int | None) -> None:
        with QSignalBlocker(check), QSignalBlocker(number):
            check.setChecked(seed is not None)
            if seed is not None:
                number.setValue(seed)
            number.setEnabled(seed is not None)


def _group(title: str) -> tuple[QGroupBox, QFormLayout]:
    group = QGroupBox(title)
    form = _form(group)
    form.setLabelAlignment(Qt.AlignmentFlag.AlignLeft | Qt.AlignmentFlag.AlignVCenter)
    return group, form


def _form(body: QWidget) -> QFormLayout:
    form = QFormLayout(body)
    form.setFieldGrowthPolicy(QFormLayout.FieldGrowthPolicy.AllNonFixedFieldsGrow)
    form.setHorizontalSpacing(10)
    form.setVerticalSpacing(7)
    return form


def _fold(name: str) -> tuple[Fold, QFormLayout]:
    """What a first run needs no one to know."""
    body = QWidget()
    form = _form(body)
    form.setContentsMargins(0, 0, 0, 0)
    fold = Fold("Advanced", body)
    fold.button.setAccessibleName(f"Advanced settings of the {name}")
    return fold, form
