"""The cards beside a run: its figures, what all runs cost, why a step chose its piece, questions.

Whatever is on a public card may be published; the release view hides the others.  The budget has
its place beside the settings, where it is always seen.  What all runs on the sample cost together
has a card where one run's statement does not tell all.  It is private: that a run was cancelled, or
made again, may depend on the examples.  Of questions about a run by votes the answers and what is
left of the halts are released; the votes are not.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

import numpy as np
from PySide6.QtCore import Qt
from PySide6.QtGui import QAction, QResizeEvent
from PySide6.QtWidgets import (
    QBoxLayout,
    QFrame,
    QLabel,
    QPushButton,
    QScrollArea,
    QSizePolicy,
    QToolButton,
    QWidget,
)

from geodp_app.actions import key
from geodp_app.drawing.editor import Editor
from geodp_app.files.run_record import Point, Question
from geodp_app.runs import figures
from geodp_app.runs.figures import Figure, FiguresView
from geodp_app.runs.protocol import Queried
from geodp_app.runs.questions import halts_left, refusal
from geodp_app.views.run.window_runs import WindowRuns
from geodp_app.views.widgets.number_fields import WholeField
from geodp_app.views.widgets.panes import (
    Fold,
    FoldingRow,
    PrivateMark,
    card_column,
    dressed,
    fill,
    grid_of,
    number_label,
    scrolled,
    sentences,
    show_words,
    tool_button,
)
from geodp_app.views.widgets.plotting import ShareBar
from geometry.halfplane import MAX_D

_HIDDEN = "Errors and the sampler's work are private: the release view hides them."

Source = Callable[[FiguresView], tuple[Figure, ...]]


class FiguresPanel(QScrollArea):
    """Errors and the step, each a card of aligned labels and numbers; and the budget's card, which
    whoever makes the panel places."""

    def __init__(self) -> None:
        super().__init__()
        dressed(self, name="Figures")
        self.errors = FiguresCard("Errors", figures.error_figures, private=True)
        self.step = FiguresCard("Step", figures.step_figures, private=True)
        self.cards = (self.errors, self.step)
        self.budget = BudgetCard()
        self.note = dressed(QLabel(_HIDDEN, wordWrap=True), "note")
        self.note.setHidden(True)
        body = QWidget()
        fill(body, self.errors, self.step, self.note, None, margins=6, spacing=6)
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

    def set_clipped(self, clipped: bool) -> None:
        """Say that the shape is clipped and these are not its errors; or not."""
        self.errors.heading.setText("Errors, unclipped" if clipped else "Errors")

    def set_release_view(self, release: bool) -> None:
        """Hide what may not be published, or show it."""
        self.errors.setHidden(release)
        self.step.setHidden(release)
        self.note.setVisible(release)


def _show_past(card: QFrame, past: bool, labels: Iterable[QLabel]) -> None:
    if past != card.property("past"):
        card.setProperty("past", past)
        for label in labels:
            label.style().polish(label)


class FiguresCard(QFrame):
    """A titled frame with aligned rows of label and number, which the source makes from a view,
    always with the same labels; where there is a title of a `fold`, the rows are in one."""

    def __init__(self, title: str, source: Source, *, private: bool, fold: str = "") -> None:
        super().__init__()
        self.setSizePolicy(QSizePolicy.Policy.Preferred, QSizePolicy.Policy.MinimumExpanding)
        self._source = source
        self.heading = QLabel(title)
        self.values: dict[str, QLabel] = {}
        self._column = card_column(self, self.heading, private=private)
        rows = QWidget()
        grid = grid_of(rows, 14, 4, stretch=1)
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
        _show_past(self, past, self.findChildren(QLabel))

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
        super().__init__("Privacy budget", figures.release_figures, private=False, fold=fold)
        self.fold = next(iter(self.findChildren(Fold)))
        self.bar = ShareBar("Share of epsilon spent")
        tip = "Spent by the steps up to the cursor, of the whole run's ε"
        right = Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignVCenter
        self.spent = dressed(QLabel(alignment=right), "figure", tip=tip)
        words = dressed(QLabel("ε spent so far"), "figureLabel")
        line = fill(None, words, (self.spent, 1), across=True)
        self.banner = dressed(QLabel(wordWrap=True), "banner")
        self._column.insertWidget(1, self.banner)
        self._column.insertLayout(2, line)
        self._column.insertWidget(3, self.bar)
        for value in self.values.values():
            value.setWordWrap(True)  # the column is narrow

    def show_figures(self, view: FiguresView) -> None:
        """Fill in the numbers, the bar and the banner."""
        super().show_figures(view)
        show_words(self.banner, figures.BANNERS[view.guarantee])
        self.spent.setText(figures.budget_text(view))
        self.bar.set_share(view.share_spent, "accent" if view.guarantee == "private" else "danger")


#: Below the sum, which is right only if this is kept.
_FREE = "What to publish must not depend on a run's time or on private figures: no ε covers that."


class SpentCard(QFrame):
    """A sum in words, wrapped to any width; hidden when there is nothing to say."""

    def __init__(self) -> None:
        super().__init__()
        self._release = False
        self.words = dressed(sentences(""), name="Runs so far")
        self.rule = sentences("note", _FREE)
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


#: Said before the first step.
BEFORE = (
    f"Press Run ({key('run')}), or make one step ({key('step')}): each chooses a piece by what it "
    "gets right and wrong, and here it says why that one."
)
_RELEASE = "Why a piece was chosen is private: the release view hides it."


class WhyCard(QFrame):
    """A heading, what the step did with its score spelled out, its odds, and the aim of the next
    step; at the end a summary over buttons."""

    def __init__(self) -> None:
        super().__init__()
        self.setObjectName("pane")
        self._release = False
        self.heading, self.mark = dressed(QLabel(), "paneTitle"), PrivateMark()
        self.what = dressed(sentences("why"), name="Why this piece")
        self.odds = dressed(sentences("note"), name="How likely edges as good were")
        self.aim = dressed(sentences("why"), name="What the next step looks for")
        self.report = dressed(sentences("why"), name="What one report changes")
        self.buttons = QWidget()
        title = QWidget()
        fill(title, self.heading, self.mark, across=True, margins=0, spacing=6)
        #: Where they do not fit beside the heading, the buttons lie below it.
        self._head = FoldingRow()
        self._head.set_groups(title, self.buttons)
        body = dressed(QWidget(), "below")
        fill(body, self.report, self.what, self.odds, self.aim, None, margins=0, spacing=4)
        self._room = _Room(body)
        tip = (
            "Run again on the same examples: triangles get 3/10 of ε, and their edges, drawn "
            "again, the rest. It spends its own ε"
        )
        #: To be shown where the run could be followed by one that is sharpened.
        self.sharpen = tool_button("Sharpen", "endButton", name="Sharpen", tip=tip)
        tip = f"Another run, which spends ε again ({key('run')})"
        self.again = tool_button("Run again", "endButton", name="Run again", tip=tip)
        fill(self.buttons, self.again, self.sharpen, across=True, margins=0, spacing=4)
        fill(self, self._head, (self._room, 1), margins=(12, 6, 6, 4), spacing=2)
        self.setMinimumSize(200, 92)
        self._at_end = False
        self.show_why("Why this piece", None)

    def set_actions(self, actions: Sequence[QAction]) -> None:
        """What can be done with a finished run, as buttons."""
        row = self.buttons.layout()
        assert isinstance(row, QBoxLayout)
        for place, action in enumerate(actions):
            button = dressed(QToolButton(), "endButton")
            button.setDefaultAction(action)
            button.setToolButtonStyle(Qt.ToolButtonStyle.ToolButtonTextOnly)
            row.insertWidget(place, button)

    def show_why(
        self, heading: str, what: str | None, aim: str = "", *, odds: str = "", at_end: bool = False
    ) -> None:
        """Another step and the aim of the next; None before the first.  Or the end of the run."""
        self._heading, self._why, self._at_end = heading, (what, odds), at_end
        self.aim.setText(aim)
        self._show()

    def show_report(self, words: str) -> None:
        """What one report changes: it comes before why; empty for none."""
        self.report.setText(words)
        self._show()

    def set_release_view(self, release: bool) -> None:
        """Hide the sentences, or show them."""
        self._release = release
        self.mark.setVisible(not release)
        self._show()

    def set_past(self, past: bool) -> None:
        """Grey the sentences, or not: what they are about has changed."""
        _show_past(self, past, (self.heading, self.what))

    def _show(self) -> None:
        what, odds = self._why
        if self._release and not self._at_end:
            what, odds = _RELEASE, ""
        what = BEFORE if what is None else what
        self.what.setText(what)
        self.odds.setText(odds)
        looked_at = bool(self.report.text()) and not self._release
        self.report.setVisible(looked_at)
        self.what.setVisible(not looked_at)
        self.odds.setVisible(bool(odds) and not looked_at)
        self.aim.setVisible(bool(self.aim.text()) and not looked_at and not self._release)
        self.buttons.setVisible(self._at_end)
        self.heading.setText("One report" if looked_at else self._heading)
        self._head.fold()
        self._room.fit()


class _Room(QScrollArea):
    """Sentences, with a bar only where they are too long for the whole width: left to itself, a bar
    stays, as the text beside it is narrower, and so longer."""

    def __init__(self, body: QWidget) -> None:
        super().__init__()
        scrolled(self, body).setFocusPolicy(Qt.FocusPolicy.NoFocus)
        self._body = body

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self.fit()

    def fit(self) -> None:
        """Make the card as high as its sentences need."""
        fits = self._body.heightForWidth(self.width()) <= self.height()
        off, needed = Qt.ScrollBarPolicy.ScrollBarAlwaysOff, Qt.ScrollBarPolicy.ScrollBarAsNeeded
        self.setVerticalScrollBarPolicy(off if fits else needed)


#: Least width of a field for a coordinate.
_COORDINATE = 76
#: What the theorem asks of whoever asks.
_RULE = "The points that you ask about are published: choose them by what is released alone."


class QueryCard(QFrame):
    """Asks about points, by fields or by the editor's ask tool, and shows the newest answer; hidden
    while no run by votes is there."""

    _runs: WindowRuns

    def __init__(self) -> None:
        super().__init__()
        self._release = False
        self.x_field, self.y_field = WholeField(0, MAX_D), WholeField(0, MAX_D)
        tip = "Ask for the label of this point, as a click with the ask tool does"
        self.button = dressed(QPushButton("Ask"), tip=tip)
        fields = (self.x_field, self.y_field)
        self.button.clicked.connect(lambda: self.ask((fields[0].value(), fields[1].value())))
        row = fill(None, across=True, spacing=6)
        for name, field in zip("xy", fields, strict=True):
            label = QLabel(name)
            label.setBuddy(dressed(field, name=f"Ask about a point: {name}"))
            field.setMinimumWidth(_COORDINATE)  # two and the button are beside each other
            fill(row, label, (field, 1))
        row.addWidget(self.button)
        self.answer = dressed(sentences(""), name="Answer")
        self.left = dressed(sentences("note"), name="What is left")
        self.votes, self.mark = dressed(sentences(""), name="Votes of the chunks"), PrivateMark()
        self.rule = dressed(sentences("note", _RULE), name="What is published")
        private = fill(None, (self.votes, 1), across=True)
        private.addWidget(self.mark, 0, Qt.AlignmentFlag.AlignTop)
        column = card_column(self, QLabel("Ask about a point"), private=False, spacing=4)
        fill(column, row, self.answer, self.left, private, self.rule)
        self.hide()

    def follow(self, runs: WindowRuns, editor: Editor) -> None:
        """Ask about these runs from now on, and be up to date."""
        self._runs, editor.desk.ask = runs, self.ask
        runs.changed.connect(lambda _: self._show())
        runs.document.subscribe(self._show)
        runs.controller.queried.connect(self._queried)

    @property
    def refusal(self) -> str:
        """Why no point can be asked about now, in a sentence; empty if one can."""
        return refusal(self._runs.current, self._runs.controller.state == "finished")

    def set_release_view(self, release: bool) -> None:
        """Whether votes may be shown."""
        self._release = release
        self._show()

    def ask(self, point: Point) -> None:
        """Ask the chunks of a run by votes for the label of a public point."""
        self.x_field.setValue(point[0])
        self.y_field.setValue(point[1])
        work, at = self._runs.document.work, np.array([point], dtype=np.int64)
        if why := self.refusal:
            self._runs.announced.emit(why)
        elif work.within and not work.within.keep(np.ones(1, np.int64), at, work.frame)[0]:
            where = f"({point[0]}, {point[1]}): outside of {work.within.name}"
            self._runs.announced.emit(f"{where}, so 0; nobody was asked")
        else:
            self._runs.controller.query(at)

    def _queried(self, reply: Queried) -> None:
        log, tell = self._runs.log, self._runs.announced.emit
        if log is None:
            return
        for (x, y), record in zip(reply.points.tolist(), reply.records, strict=False):
            # what was asked before it was known that the halts are used up has no answer
            if record.release.status != "halted":
                log.ask(Question((x, y), record.release, record.diagnostics))
                self._runs.document.mark_grown()
                tell(f"({x}, {y}): {log.questions[-1].answer}. {self.refusal}".rstrip())
        if reply.refused:
            tell(f"The point cannot be asked about: {reply.refused}.")
        self._runs.changed.emit(False)

    def _show(self) -> None:
        log, why_not = self._runs.current, self.refusal
        by_votes = log is not None and "votes" in log.settings.declared.shows
        self.setVisible(by_votes)
        if log is None or not by_votes:
            return
        self.x_field.setMaximum(log.grid)
        self.y_field.setMaximum(log.grid)
        self.button.setEnabled(not why_not)
        newest = log.questions[-1] if log.questions else None
        self.answer.setVisible(newest is not None)
        if newest is not None:
            x, y = newest.point
            _say(self.answer, f"({x}, {y}): {newest.answer}")
            _say(self.votes, f"Votes: {newest.votes}")
        shown = newest is not None and bool(newest.votes) and not self._release
        self.votes.setVisible(shown)
        self.mark.setVisible(shown)
        _say(self.left, why_not or f"Halts left: {halts_left(log)}")
        self.rule.setVisible(not why_not)


def _say(label: QLabel, text: str) -> None:
    """To those who see the window, and to those who hear it."""
    label.setText(text)
    label.setAccessibleDescription(text)
