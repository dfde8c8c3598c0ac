"""Shows the figures of a run's step: two private cards, and a public one with the budget.

Whatever is on a public card may be published; the release view hides the others.  The budget has
its place beside the settings, where it is always seen.

What all runs on the sample cost together has a card of its own, where one run's statement does not
tell all.  It is private: that a run was cancelled, or made again, may depend on the examples.
"""

from __future__ import annotations

from collections.abc import Callable

from PySide6.QtCore import QSize, Qt
from PySide6.QtGui import QResizeEvent
from PySide6.QtWidgets import (
    QBoxLayout,
    QFrame,
    QGridLayout,
    QHBoxLayout,
    QLabel,
    QScrollArea,
    QSizePolicy,
    QWidget,
)

from geodp_app.runs.figures import (
    Figure,
    FiguresView,
    banner,
    budget_text,
    error_figures,
    release_figures,
    step_figures,
)
from geodp_app.views.widgets.panes import (
    Fold,
    card_column,
    dressed,
    fill,
    number_label,
    scrolled,
    sentences,
    show_words,
)
from geodp_app.views.widgets.plotting import ShareBar

_HIDDEN = "Errors and the sampler's work are private: the release view hides them."

#: Between cards, in device-independent pixels.
_GAP = 6

Source = Callable[[FiguresView], tuple[Figure, ...]]


class FiguresPanel(QScrollArea):
    """Errors and the step, each a card of aligned labels and numbers; and the budget's card.

    `budget` follows the same figures but is not laid out here: whoever makes the panel places it.
    """

    def __init__(self) -> None:
        super().__init__()
        dressed(self, name="Figures")
        self.errors = FiguresCard("Errors", error_figures, private=True)
        self.step = FiguresCard("Step", step_figures, private=True)
        #: From left to right.
        self.cards = (self.errors, self.step)
        self.budget = BudgetCard()
        self.note = dressed(QLabel(_HIDDEN, wordWrap=True), "note")
        self.note.setHidden(True)
        body = QWidget()
        self._row = QBoxLayout(QBoxLayout.Direction.LeftToRight, body)
        parts = [(each, 1) for each in (self.errors, self.step, self.note)]
        fill(self._row, *parts, margins=(_GAP, _GAP, _GAP, _GAP), spacing=_GAP).addStretch(0)
        scrolled(self, body)
        self.show_figures(FiguresView())

    def show_figures(self, view: FiguresView) -> None:
        """Another step, or another run."""
        self.step.heading.setText(view.title)
        for card in (*self.cards, self.budget):
            card.show_figures(view)

    def set_past(self, past: bool) -> None:
        """Grey: the figures are out of date; or not."""
        for card in (*self.cards, self.budget):
            card.set_past(past)

    def set_release_view(self, release: bool) -> None:
        """Hide what may not be published, or show it."""
        self.errors.setHidden(release)
        self.step.setHidden(release)
        self.note.setVisible(release)
        self._arrange()

    def resizeEvent(self, event: QResizeEvent) -> None:
        """Cards side by side if there is room, else one below the other."""
        super().resizeEvent(event)
        self._arrange()

    def sizeHint(self) -> QSize:
        """Room for the cards side by side."""
        return QSize(self._needed() + 40, 220)

    def minimumSizeHint(self) -> QSize:
        """Room for one card, and a bar to reach the others."""
        widest = max(card.minimumSizeHint().width() for card in self.cards)
        return QSize(widest + 2 * _GAP + self.verticalScrollBar().sizeHint().width(), 120)

    def _needed(self) -> int:
        """Width of the cards side by side, in device-independent pixels."""
        return sum(card.minimumSizeHint().width() + _GAP for card in self.cards) + _GAP

    def _arrange(self) -> None:
        wide = self.viewport().width() >= self._needed()
        across, down = QBoxLayout.Direction.LeftToRight, QBoxLayout.Direction.TopToBottom
        self._row.setDirection(across if wide else down)
        for i in range(self._row.count() - 1):
            self._row.setStretch(i, 1 if wide else 0)
        self._row.setStretch(self._row.count() - 1, 0 if wide else 1)


class FiguresCard(QFrame):
    """A titled frame with aligned rows of label and number.

    Parameters
    ----------
    title : str
    source : callable
        Makes the rows from a view; always as many, with the same labels.
    private : bool
        Marked, with a tinted border.
    fold : str
        Title of a fold that the rows are in.
    """

    def __init__(self, title: str, source: Source, *, private: bool, fold: str = "") -> None:
        super().__init__()
        self.setProperty("past", False)
        self.setSizePolicy(QSizePolicy.Policy.Preferred, QSizePolicy.Policy.MinimumExpanding)
        self._source = source
        self.heading = QLabel(title)
        self.values: dict[str, QLabel] = {}
        self._column = card_column(self, self.heading, private=private)
        rows = QWidget()
        grid = QGridLayout(rows)
        grid.setHorizontalSpacing(14)
        grid.setVerticalSpacing(4)
        grid.setColumnStretch(1, 1)
        grid.setContentsMargins(0, 0, 0, 0)
        fill(self._column, Fold(fold, rows) if fold else rows, None)
        for row, figure in enumerate(source(FiguresView())):
            value = dressed(number_label("figure", figure.value), tip=figure.tip)
            label = dressed(QLabel(figure.label), "figureLabel", tip=figure.tip)
            grid.addWidget(label, row, 0)
            grid.addWidget(value, row, 1)
            self.values[figure.label] = value

    def set_past(self, past: bool) -> None:
        """Grey numbers, or not."""
        if past != self.property("past"):
            self.setProperty("past", past)
            for label in self.findChildren(QLabel):
                label.style().polish(label)

    def show_figures(self, view: FiguresView) -> None:
        """Fill in the numbers."""
        for figure in self._source(view):
            value = self.values[figure.label]
            value.setText(figure.value)
            value.setAccessibleName(f"{figure.label}: {figure.value}")


class BudgetCard(FiguresCard):
    """What is published and what it costs; says so if the run is not private."""

    def __init__(self) -> None:
        # a first look needs the bar alone
        fold = "What is charged, and how"
        super().__init__("Privacy budget", release_figures, private=False, fold=fold)
        self.fold = next(iter(self.findChildren(Fold)))
        self.bar = ShareBar("Share of epsilon spent")
        tip = "Spent by the steps up to the cursor, of the whole run's ε"
        right = Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignVCenter
        self.spent = dressed(QLabel(alignment=right), "figure", tip=tip)
        words = dressed(QLabel("ε spent so far"), "figureLabel")
        line = fill(QHBoxLayout(), words, (self.spent, 1))
        self.banner = dressed(QLabel(wordWrap=True), "banner")
        self._column.insertWidget(1, self.banner)
        self._column.insertLayout(2, line)
        self._column.insertWidget(3, self.bar)
        for value in self.values.values():
            value.setWordWrap(True)  # the column is narrow

    def show_figures(self, view: FiguresView) -> None:
        """Fill in the numbers, the bar and the banner."""
        super().show_figures(view)
        show_words(self.banner, banner(view))
        self.spent.setText(budget_text(view))
        self.bar.set_share(view.share_spent, "accent" if view.guarantee == "private" else "danger")


#: Below the sum, which is right only if this is kept.
_RULE = "What to publish must not depend on a run's time or on private figures: no ε covers that."


class SpentCard(QFrame):
    """A sum in words, wrapped to any width; hidden when there is nothing to say."""

    def __init__(self) -> None:
        super().__init__()
        self._release = False
        self.words = dressed(sentences(""), name="Runs so far")
        self.rule = sentences("note", _RULE)
        column = card_column(self, QLabel("Runs so far"), private=True, spacing=4)
        fill(column, self.words, self.rule)
        self.hide()

    def set_words(self, words: str) -> None:
        """The sum; empty to say nothing."""
        self.words.setText(words)
        self._show()

    def set_release_view(self, release: bool) -> None:
        """Hide it, or show it."""
        self._release = release
        self._show()

    def _show(self) -> None:
        self.setVisible(bool(self.words.text()) and not self._release)
