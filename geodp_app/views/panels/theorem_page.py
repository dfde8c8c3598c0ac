"""Shows the theorem beside the run, for teachers: steps, examples, rates, by public numbers alone.

Nothing here is private, so it stays in the release view.
"""

from __future__ import annotations

from PySide6.QtCore import Signal
from PySide6.QtGui import QShowEvent
from PySide6.QtWidgets import QGroupBox, QLabel, QPushButton, QScrollArea, QWidget

from geodp_app.document.work import RunSettings, Work
from geodp_app.formatting import MISSING
from geodp_app.palette import Palette
from geodp_app.runs.settings_advice import CARDS, THEOREMS, Answer, answer
from geodp_app.views.widgets.number_fields import DecimalField, SizeField
from geodp_app.views.widgets.panes import (
    add_field,
    dressed,
    fill,
    form_of,
    grid_of,
    number_label,
    scrolled,
    sentences,
    show_words,
)
from geodp_app.views.widgets.plotting import ShareBar
from geodp_app.views.widgets.tasks import Background

_OTHER = (
    "This page is about set covers. Choose one as the learner among the settings, for instance "
    "Set cover (the paper’s)."
)

#: What :func:`answer` is asked with.
_Asked = tuple[RunSettings, int, float, float, int | None]


class TheoremPage(QScrollArea):
    """Fields for α, β and a planned n; then what the theorem asks for beside what the run has."""

    #: The number of steps that the theorem asks for is wanted.
    steps_wanted = Signal(int)

    def __init__(self) -> None:
        super().__init__()
        dressed(self, name="Theorem")
        self._work: Work | None = None
        self._asked: _Asked | None = None
        self.answer: Answer | None = None
        self.background = Background(self, told=(ValueError,))
        self.background.done.connect(lambda _, found: self._show(found))
        self.alpha, self.beta = _share(), _share()
        self.planned = SizeField(0, 2_000_000_000)
        self.planned.setSpecialValueText("none")
        self.use = QPushButton("Use this α")
        self.cards = tuple(_Card(*card) for card in CARDS)
        self.note, self.problem = sentences("note", _OTHER), sentences("warning")
        self.use.clicked.connect(self._use)
        wanted = QGroupBox("Wanted")
        form = form_of(wanted)
        for name, field, tip in (
            ("Error α", self.alpha, "Share of new points that may come out wrong"),
            ("Failure β", self.beta, "Probability with which the error may be larger"),
            ("Planned n", self.planned, "A number of examples that you have in mind: public"),
        ):
            field.valueChanged.connect(lambda _: self._ask())
            field.setMinimumWidth(80)  # the widest number would widen the page
            add_field(form, name, field, tip)
        self.cards[0].column.addWidget(self.use)
        body = dressed(QWidget(), "settings")
        self._body = (wanted, *self.cards)
        fill(body, self.note, self.problem, *self._body, None, margins=12, spacing=12)
        scrolled(self, body)

    def show_work(self, work: Work) -> None:
        """Follow the document's settings."""
        self._work = work
        self._ask()

    def set_palette(self, palette: Palette) -> None:
        for card in self.cards:
            card.set_palette(palette)

    def showEvent(self, event: QShowEvent) -> None:
        super().showEvent(event)
        self._ask()

    def _ask(self) -> None:
        work = self._work
        if work is None or not self.isVisible():
            return
        about = work.run.learner in THEOREMS
        self.note.setVisible(not about)
        for part in self._body:
            part.setVisible(about)
        wanted = (self.alpha.value(), self.beta.value(), self.planned.value() or None)
        asked = (work.run, work.drawing.grid, *wanted) if about else None
        if asked == self._asked:
            return
        self._asked = asked
        self.background.drop("theorem")
        if asked is None:
            self._show(None)
        else:
            self.background.submit("theorem", lambda _: answer(*asked))

    def _show(self, found: object) -> None:
        self.answer = a = found if isinstance(found, Answer) else None
        refused = f"These settings cannot run: {found}." if isinstance(found, ValueError) else ""
        show_words(self.problem, refused)
        for at, card in enumerate(self.cards):
            card.show_answer(a, at)
        set_already = self._asked is not None and a and self._asked[0]["n_steps"] == a.steps
        self.use.setEnabled(a is not None and not set_already)
        steps = "" if a is None else f"Set the number of steps to {a.steps:,}"
        self.use.setToolTip(steps)
        self.use.setAccessibleDescription(steps)

    def _use(self) -> None:
        if self.answer is not None:
            self.steps_wanted.emit(self.answer.steps)


class _Card(QGroupBox):
    """A sentence, aligned numbers, those of the rates with bars, and the formula in small type."""

    def __init__(self, title: str, words: str, labels: tuple[str, ...]) -> None:
        super().__init__(title)
        self.formula = sentences("formula")
        self.values: dict[str, tuple[QLabel, ...]] = {}
        self.bars: dict[str, ShareBar] = {}
        grid = grid_of(None, 10, 3, stretch=0)
        # a theorem's numbers of examples have none of the run beside them, which are private
        heads = ("theorem",) if title == "Examples" else ("theorem", "this run")
        for at, head in enumerate(heads if len(heads) > 1 else (), 1):
            grid.addWidget(number_label("figureLabel", head), 0, at)
        for label in labels:
            at = grid.rowCount()
            grid.addWidget(QLabel(label), at, 0)
            self.values[label] = tuple(number_label("figure") for _ in heads)
            for column, value in enumerate(self.values[label], 1):
                grid.addWidget(value, at, column, 1, 3 - len(heads))
            if title.startswith("η"):
                name = f"{label}, as a share of the largest"
                bar = ShareBar(name, "accent" if label == labels[-1] else "border")
                self.bars[label] = bar
                grid.addWidget(bar, at + 1, 0, 1, 3)
        parts = (grid, sentences("note", words), self.formula)
        self.column = fill(self, *parts, margins=(9, 6, 4, 4), spacing=8)

    def set_palette(self, palette: Palette) -> None:
        for bar in self.bars.values():
            bar.set_palette(palette)

    def show_answer(self, answer: Answer | None, card: int) -> None:
        """Show a formula and the theorem's numbers beside those of the run, if there are any."""
        show_words(self.formula, "" if answer is None else answer.formulas[card])
        for label, values in self.values.items():
            numbers = (MISSING,) * len(values) if answer is None else answer.numbers[label]
            for value, number, of in zip(values, numbers, ("theorem", "this run"), strict=False):
                value.setText(number)
                value.setAccessibleName(f"{label}, {of}: {number}")
        for label, bar in self.bars.items():
            bar.set_share(0.0 if answer is None else answer.shares[label])


def _share() -> DecimalField:
    field = DecimalField(0.001, 0.5, decimals=3, step=0.01)
    field.setValue(0.1)
    return field
