"""Sets sample, learner and privacy at the side of the window, and shows what they promise.

Every field writes through the document, so each change can be undone; the panel follows the
document and holds no values of its own.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

from PySide6.QtCore import QSignalBlocker, Qt, Signal
from PySide6.QtWidgets import (
    QButtonGroup,
    QCheckBox,
    QComboBox,
    QFormLayout,
    QGroupBox,
    QLabel,
    QPushButton,
    QRadioButton,
    QScrollArea,
    QWidget,
)

from geodp_app.actions import key
from geodp_app.document.examples import LARGE_GRIDS
from geodp_app.document.suggested_k import MOST
from geodp_app.document.work import DISTRIBUTIONS, PARAMETERS, Work
from geodp_app.runs.settings_advice import Verdict
from geodp_app.views.widgets.number_fields import (
    DecadeSlider,
    DecimalField,
    SizeField,
    SmallNumberField,
    WholeField,
    set_auto,
    show_value,
)
from geodp_app.views.widgets.panes import (
    Fold,
    add_field,
    dressed,
    fill,
    form_of,
    narrow_box,
    scrolled,
    sentences,
    show_words,
)
from geometry.halfplane import MAX_D
from learners.declaration import Parameter
from learners.registry import offered

#: Parameters whose rows are made by hand, and those that belong to privacy.
_BY_HAND, _PRIVACY = ("k", "epsilon", "delta", "seed"), ("neighbours",)


class Switch(QWidget):
    """A choice of which all is in sight."""

    chosen = Signal(object)

    def __init__(self, choices: Iterable[tuple[Any, str]]) -> None:
        super().__init__()
        self.buttons = {value: QRadioButton(text) for value, text in choices}
        group = QButtonGroup(self)
        for value, button in self.buttons.items():
            group.addButton(button)
            button.clicked.connect(lambda _, value=value: self.chosen.emit(value))
        fill(self, *self.buttons.values(), margins=0, spacing=2)


class Row:
    """The row of a parameter, made from its declaration; a number in 0..1 is shown in percent.

    `tell` is called with each value that is chosen or typed.
    """

    def __init__(self, form: QFormLayout, declared: Parameter, tell: Callable[[Any], None]) -> None:
        self.form = form
        self._scale, self._shown, tip = 1, declared, declared.help
        self.field: QComboBox | WholeField | DecimalField | Switch
        two = declared.kind == "choice" and not declared.advanced and len(declared.choices) == 2
        if two and declared.name not in _PRIVACY:  # there, some learners have another choice
            self.field = switch = Switch(declared.choices)
            switch.chosen.connect(tell)
        elif declared.kind == "choice":
            box = self.field = narrow_box(8)
            _offer(box, declared)
            box.currentIndexChanged.connect(
                lambda _: tell(None if box.currentData() == "" else box.currentData())
            )
        else:
            self.field = number = self._number(declared)
            if declared.unset and declared.kind == "whole number":
                tip = f"{tip} Automatic: {declared.unset}."

            def read(value: float) -> None:
                unset = declared.unset and value == number.minimum()
                tell(None if unset else value / self._scale if self._scale > 1 else value)

            number.valueChanged.connect(read)
        if isinstance(self.field, Switch):  # it asks for the whole width
            form.addRow(dressed(self.field, name=declared.label, tip=tip))
        else:
            add_field(form, declared.label, self.field, tip)

    def _number(self, declared: Parameter) -> WholeField | DecimalField:
        whole, share = declared.kind == "whole number", declared.high == 1
        self._scale, decimals = (100, 1) if share and not whole else (1, 0 if whole else 3)
        unit = 10.0**-decimals  # below the least number is what leaves it out
        low = self._scale * declared.low + unit * (declared.open - bool(declared.unset))
        high = min(self._scale * declared.high, 2**31 - 1) - unit * declared.open
        field: WholeField | DecimalField
        if whole:
            field = WholeField(int(low), int(high))
        elif share:
            field = DecimalField(low, high, decimals=decimals, step=5, suffix=" %")
        else:
            field = DecimalField(low, high, decimals=decimals, step=0.1)
        field.setSpecialValueText("automatic" if whole and declared.unset else declared.unset)
        return field

    def show(self, value: Any, declared: Parameter) -> None:
        """Show a value, of a parameter as the learner at hand declares it."""
        field = self.field
        if isinstance(field, Switch):
            show_value(field.buttons[value], True)
        elif isinstance(field, QComboBox):
            if declared.choices != self._shown.choices:
                with QSignalBlocker(field):
                    _offer(field, declared)
            self._shown = declared
            show_value(field, "" if value is None else value)
        else:
            show_value(field, field.minimum() if value is None else round(value * self._scale, 9))


def _offer(box: QComboBox, declared: Parameter) -> None:
    box.clear()
    unset = (("", declared.unset),) if declared.unset else ()
    for value, text in (*unset, *declared.choices):
        box.addItem(text, value)


_DISTRIBUTIONS = tuple((name, name.capitalize()) for name in DISTRIBUTIONS)
_LEARNERS = tuple((learner.id, learner.title) for learner in offered("window"))
#: So many learners stand apart, before the others.
_FIRST = 3


class SettingsPanel(QScrollArea):
    """A column of fields."""

    #: Names and values of changed fields: sampling, run.
    sampling_changed = Signal(dict)
    run_changed = Signal(dict)

    def __init__(self) -> None:
        super().__init__()
        dressed(self, name="Settings")
        column = dressed(QWidget(), "settings")
        self._rows: dict[str, Row] = {}
        self._sample, self._verdict = self._sample_group(), self._verdict_group()
        groups = (self._learner_group(), self._privacy_group(), self._verdict, self._sample)
        fill(column, *groups, None, margins=12, spacing=12)
        scrolled(self, column)

    @property
    def fields(self) -> dict[str, Any]:
        """The fields of parameters, by name."""
        return {name: row.field for name, row in self._rows.items()}

    def show_work(self, work: Work) -> None:
        """Show what the document holds now."""
        s, r = work.sampling, work.run
        private = r.declared.private
        imported = not work.simulated and work.examples is not None
        self.epsilon_slider.show_number(r["epsilon"])
        k = r.declared.parameter("k")
        with QSignalBlocker(self.k):
            set_auto(self.k, k is not None and bool(k.auto))
        for each, value in (
            (self.count, s.n), (self.noise, s.noise * 100), (self.grid, work.drawing.grid),
            (self.k, 0 if r["k"] == "auto" else r["k"]), (self.k_drawn, work.k_drawn),
            (self.epsilon, r["epsilon"]), (self.delta, r["delta"]),
            (self.distribution, s.distribution), (self.learner, r.learner),
        ):  # fmt: skip
            show_value(each, value)
        with QSignalBlocker(self.fields["kept"]):
            self.fields["kept"].setMaximum(r["halts"] - 1)  # the run itself needs one
        for name, row in self._rows.items():
            row.show(r[name], r.declaration(name))
            sharpens = name != "finish" or r["k"] not in (1, "auto")
            row.form.setRowVisible(row.field, r.has(name) and sharpens)
        _show_seed(self.sample_seeded, self.sample_seed, s.seed)
        _show_seed(self.run_seeded, self.run_seed, r["seed"])
        self._k_label.setText("" if k is None else k.label)
        self.sentence.setText(r.declared.sentence)
        for form, field, shown in (
            (self._learner_form, self.k, r.has("k")),
            (self._learner_form, self.k_drawn, r.has("k") and work.simulated),
            (self._more_privacy, self.delta, private and r.declared.needs_delta),
            (self._privacy_form, self.ledger, imported),
        ):
            form.setRowVisible(field, shown)
        more = any(r.has(n) for n, row in self._rows.items() if row.form is self._more_learner)
        self._learner_form.setRowVisible(self.learner_fold, more)
        self.epsilon_slider.setEnabled(private)
        for own in (self.epsilon, self.delta, self.run_seeded, self.run_seed):
            own.setEnabled(private and (own is not self.run_seed or r["seed"] is not None))
        self.ledger.setText("None…" if work.ledger is None else f"{Path(work.ledger).name}…")
        self._imported.setVisible(imported)
        self.sample_button.setText("Sample again" if work.examples is not None else "Sample")

    def set_release_view(self, release: bool) -> None:
        """The number of examples is private, and so is what is said about it."""
        self._sample.setVisible(not release)
        self._verdict.setVisible(not release)

    def show_verdict(self, verdict: Verdict) -> None:
        """What these settings promise, and what to expect."""
        self.promise.setText(verdict.promise)
        self.practice.setText(verdict.practice)
        show_words(self.warning, verdict.warning)

    def _sample_group(self) -> QGroupBox:
        group, form = _group("Sample")
        self.count = SizeField(1, 10_000_000)
        self.count.valueChanged.connect(_telling(self.sampling_changed, "n"))
        add_field(form, "Examples n", self.count, "How many labelled examples to draw")
        self.distribution = _choice(_DISTRIBUTIONS, _telling(self.sampling_changed, "distribution"))
        tip = "Where the examples are. Painted: use the paint tool (B) to say where"
        add_field(form, "Where", self.distribution, tip)
        self.noise = DecimalField(0, 50, decimals=1, step=0.5, suffix=" %")
        tell = _telling(self.sampling_changed, "noise")
        self.noise.valueChanged.connect(lambda share: tell(share / 100))
        add_field(form, "Label noise", self.noise, "Share of labels that are flipped")
        self.sample_fold, more = _fold("sample")
        tip = "The same seed draws the same sample; the sample is simulated in any case"
        tell = _telling(self.sampling_changed, "seed")
        self.sample_seeded, self.sample_seed = _seed_fields(more, "Repeatable", tip, tell)
        self.grid = WholeField(1, MAX_D)
        self.grid.setSingleStep(64)
        tip = f"Coordinates are 0..d; at most {MAX_D:,}, and {LARGE_GRIDS}"
        add_field(more, "Grid d", self.grid, tip)
        words = "These examples were imported: drawing does not change them."
        self._imported = dressed(QLabel(words, wordWrap=True), "note")
        form.addRow(self._imported)
        tip = f"Draw examples, labelled by the drawing ({key('draw_sample')})"
        self.sample_button = dressed(QPushButton("Sample"), tip=tip)
        form.addRow(self.sample_button)
        form.addRow(self.sample_fold)
        return group

    def _learner_group(self) -> QGroupBox:
        group, form = _group("Learner")
        self._learner_form = form
        self.learner = _choice(_LEARNERS, _telling(self.run_changed, "learner"))
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
            "Take k from the drawing: half as many as the triangles that it can be cut into, as a "
            f"run picks two for each of k. Above {MOST} triangles, sharpened, the run finds k by "
            "itself. A k that you set stays"
        )
        self.k_drawn = dressed(QCheckBox("from the drawing"), name="k from the drawing", tip=tip)
        form.addRow(self.k_drawn)
        self.learner_fold, more = _fold("learner")
        self._more_learner = more
        for name, (declared, *_) in PARAMETERS.items():
            if name not in _BY_HAND + _PRIVACY:
                self._add_row(more if declared.advanced else form, declared)
        form.addRow(self.learner_fold)
        return group

    def _privacy_group(self) -> QGroupBox:
        group, form = _group("Privacy")
        self.epsilon = DecimalField(0.001, 1000, decimals=3, step=0.1)
        self.epsilon.valueChanged.connect(_telling(self.run_changed, "epsilon"))
        add_field(form, "ε", self.epsilon, "Privacy of the whole run; smaller is more private")
        tip = "Slide ε; while the run is live, it follows"
        self.epsilon_slider = dressed(DecadeSlider(-2, 2), name="ε, from 0.01 to 100", tip=tip)
        self.epsilon_slider.moved.connect(_telling(self.run_changed, "epsilon"))
        form.addRow("", self.epsilon_slider)
        tip = "Where runs on imported examples are entered before they draw, with a budget"
        self.ledger = QPushButton()
        add_field(form, "Ledger", self.ledger, tip)
        self._privacy_form = form
        self.privacy_fold, more = _fold("privacy")
        self._more_privacy = more
        self.delta = SmallNumberField(1e-30, 0.5)
        self.delta.valueChanged.connect(_telling(self.run_changed, "delta"))
        add_field(more, "δ", self.delta, "Probability that the guarantee fails: well below 1/n")
        for name in _PRIVACY:
            self._add_row(more, PARAMETERS[name][0])
        tip = "A seeded run can be repeated and is therefore not private"
        tell = _telling(self.run_changed, "seed")
        self.run_seeded, self.run_seed = _seed_fields(more, "Seeded", tip, tell)
        form.addRow(self.privacy_fold)
        return group

    def _verdict_group(self) -> QGroupBox:
        group = QGroupBox("What to expect")
        self.practice, self.promise = sentences("practice"), sentences("promise")
        self.warning = sentences("warning")
        # a form would cut the last line off a label whose text gets longer
        fill(group, self.warning, self.practice, self.promise)
        return group

    def _add_row(self, form: QFormLayout, declared: Parameter) -> None:
        def tell(value: Any) -> None:
            fewer = {}
            if declared.name == "halts" and value <= self.fields["kept"].value():
                fewer = {"kept": value - 1}
            self.run_changed.emit({declared.name: value, **fewer})

        self._rows[declared.name] = Row(form, declared, tell)


def _telling(signal: Any, name: str) -> Callable[[Any], None]:
    """What tells a value of that name by a signal."""
    return lambda value: signal.emit({name: value})


def _choice(entries: tuple[tuple[str, str], ...], tell: Callable[[str], None]) -> QComboBox:
    box = narrow_box(8)
    for value, text in entries:
        box.addItem(text, value)
    box.currentIndexChanged.connect(lambda _: tell(box.currentData()))
    return box


def _seed_fields(
    form: QFormLayout, text: str, tip: str, tell: Callable[[int | None], None]
) -> tuple[QCheckBox, WholeField]:
    check = dressed(QCheckBox(text), tip=tip)
    number = dressed(WholeField(0, 2**31 - 1), name=f"{text}: seed", tip=tip)
    check.toggled.connect(lambda on: tell(number.value() if on else None))
    number.valueChanged.connect(tell)
    form.addRow(check, number)
    return check, number


def _show_seed(check: QCheckBox, number: WholeField, seed: int | None) -> None:
    show_value(check, seed is not None)
    show_value(number, number.value() if seed is None else seed)
    number.setEnabled(seed is not None)


def _group(title: str) -> tuple[QGroupBox, QFormLayout]:
    group = QGroupBox(title)
    form = form_of(group, 10, 7)
    form.setLabelAlignment(Qt.AlignmentFlag.AlignLeft | Qt.AlignmentFlag.AlignVCenter)
    return group, form


def _fold(name: str) -> tuple[Fold, QFormLayout]:
    """What a first run needs no one to know."""
    body = QWidget()
    form = form_of(body, 10, 7)
    form.setContentsMargins(0, 0, 0, 0)
    fold = Fold("Advanced", body)
    fold.button.setAccessibleName(f"Advanced settings of the {name}")
    return fold, form
