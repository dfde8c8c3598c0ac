"""The theorem beside the run, for teachers: steps, examples and rates, by public numbers alone.

Nothing here is private, so it stays in the release view.
"""

from __future__ import annotations

from PySide6.QtCore import Signal
from PySide6.QtGui import QShowEvent
from PySide6.QtWidgets import (
    QFormLayout,
    QGridLayout,
    QGroupBox,
    QLabel,
    QPushButton,
    QScrollArea,
    QVBoxLayout,
    QWidget,
)

from geodp_app.document.work import Work
from geodp_app.palette import Palette, load_palette
from geodp_app.runs.theorem_view import THEOREMS, Answer, Figure, Question, Row, answer, figures
from geodp_app.views.widgets.background import Background
from geodp_app.views.widgets.bars import ShareBar
from geodp_app.views.widgets.number_fields import DecimalField, SizeField
from geodp_app.views.widgets.panes import (
    add_field,
    dressed,
    fill,
    number_label,
    scrolled,
    sentences,
    show_words,
)

_OTHER = (
    "This page is about set covers. Choose one as the learner among the settings, for instance "
    "Set cover (the paper’s)."
)


class TheoremPage(QScrollArea):
    """Fields for α, β and a planned n; then what the theorem asks for beside what the run has."""

    #: The number of steps that the theorem asks for is wanted.
    steps_wanted = Signal(int)

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        dressed(self, name="Theorem")
        self._work: Work | None = None
        self._asked: Question | None = None
        self.answer: Answer | None = None
        self._background = Background(self)
        self._background.done.connect(lambda _, found: self._show(found))
        self.alpha, self.beta = _share(), _share()
        self.planned = SizeField(0, 2_000_000_000)
        self.planned.setSpecialValueText("none")
        self.use = QPushButton("Use this α")
        self.cards = tuple(_FigureBox(figure) for figure in figures(None))
        self.note, self.problem = sentences("note", _OTHER), sentences("warning")
        self._lay_out()
        for field in (self.alpha, self.beta, self.planned):
            field.valueChanged.connect(lambda _: self._ask())
        self.use.clicked.connect(self._use)
        self.set_palette(load_palette("light"))

    def _lay_out(self) -> None:
        wanted = QGroupBox("Wanted")
        form = QFormLayout(wanted)
        form.setFieldGrowthPolicy(QFormLayout.FieldGrowthPolicy.AllNonFixedFieldsGrow)
        for name, field, tip in (
            ("Error α", self.alpha, "Share of new points that may come out wrong"),
            ("Failure β", self.beta, "Probability with which the error may be larger"),
            ("Planned n", self.planned, "A number of examples that you have in mind: public"),
        ):
            field.setMinimumWidth(80)  # the widest number would widen the page
            add_field(form, name, field, tip)
        self.cards[0].column.addWidget(self.use)
        body = dressed(QWidget(), "settings")
        self._body = (wanted, *self.cards)
        parts = (self.note, self.problem, *self._body, None)
        fill(QVBoxLayout(body), *parts, margins=(12, 12, 12, 12), spacing=12)
        scrolled(self, body)

    def show_work(self, work: Work) -> None:
        """Follow the document's settings."""
        self._work = work
        self._ask()

    @property
    def at_rest(self) -> bool:
        """Whether the figures are those of the settings."""
        return not self._background.busy

    def set_palette(self, palette: Palette) -> None:
        """Draw in the colours of another palette, light or dark."""
        for card in self.cards:
            card.set_palette(palette)

    def showEvent(self, event: QShowEvent) -> None:
        """Work out what has waited."""
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
        question = None
        if about:
            planned = self.planned.value() or None
            wanted = (self.alpha.value(), self.beta.value(), planned)
            question = Question(work.run, work.drawing.grid, *wanted)
        if question == self._asked:
            return
        self._asked = question
        self._background.drop("theorem")
        if question is None:
            self._show(None)
        else:
            self._background.submit("theorem", lambda _: _answer(question))

    def _show(self, found: object) -> None:
        """Figures, or why there are none."""
        self.answer = found if isinstance(found, Answer) else None
        refused = f"These settings cannot run: {found}." if isinstance(found, str) else ""
        show_words(self.problem, refused)
        for card, figure in zip(self.cards, figures(self.answer), strict=True):
            card.show_figure(figure)
        a = self.answer
        self.use.setEnabled(a is not None and a.question.run["n_steps"] != a.theorem_steps)
        steps = "" if a is None else f"Set the number of steps to {a.theorem_steps:,}"
        self.use.setToolTip(steps)
        self.use.setAccessibleDescription(steps)

    def _use(self) -> None:
        if self.answer is not None:
            self.steps_wanted.emit(self.answer.theorem_steps)


class _FigureBox(QGroupBox):
    """A sentence, aligned numbers, some with bars, and the formula in small type."""

    def __init__(self, figure: Figure) -> None:
        super().__init__(figure.title)
        self.formula = sentences("formula")
        self.values: dict[str, tuple[QLabel, QLabel]] = {}
        self.bars: dict[str, ShareBar] = {}
        grid = QGridLayout()
        grid.setHorizontalSpacing(10)
        grid.setVerticalSpacing(3)
        grid.setColumnStretch(0, 1)
        if any(row.run for row in figure.rows):
            for at, head in ((1, "theorem"), (2, "this run")):
                grid.addWidget(number_label("figureLabel", head), 0, at)
        for row in figure.rows:
            self._add_row(grid, row)
        parts = (grid, sentences("note", figure.words), self.formula)
        self.column = fill(QVBoxLayout(self), *parts, margins=(9, 6, 4, 4), spacing=8)

    def _add_row(self, grid: QGridLayout, row: Row) -> None:
        at = grid.rowCount()
        label = QLabel(row.label)
        values = number_label("figure"), number_label("figure")
        grid.addWidget(label, at, 0)
        if row.run:
            grid.addWidget(values[0], at, 1)
            grid.addWidget(values[1], at, 2)
        else:
            grid.addWidget(values[0], at, 1, 1, 2)
        self.values[row.label] = values
        if row.share is not None:
            name = f"{row.label}, as a share of the largest"
            self.bars[row.label] = bar = ShareBar(name, "accent" if row.used else "border")
            grid.addWidget(bar, at + 1, 0, 1, 3)

    def set_palette(self, palette: Palette) -> None:
        """Draw in the colours of another palette, light or dark."""
        for bar in self.bars.values():
            bar.set_palette(palette)

    def show_figure(self, figure: Figure) -> None:
        """Show a theorem's formula and its numbers beside those of the run."""
        show_words(self.formula, figure.formula)
        for row in figure.rows:
            theorem, run = self.values[row.label]
            theorem.setText(row.theorem)
            run.setText(row.run)
            theorem.setAccessibleName(f"{row.label}, theorem: {row.theorem}")
            run.setAccessibleName(f"{row.label}, this run: {row.run}")
            if row.share is not None:
                self.bars[row.label].set_share(row.share)


def _answer(question: Question) -> Answer | str:
    try:
        return answer(question)
    except ValueError as error:
        return str(error)


def _share() -> DecimalField:
    field = DecimalField(0.001, 0.5, decimals=3, step=0.01)
    field.setValue(0.1)
    return field
