"""Shows all keys on one sheet, searchable, and holds the words of the help menu."""

from __future__ import annotations

from PySide6.QtCore import QSize, Qt
from PySide6.QtGui import QKeySequence
from PySide6.QtWidgets import (
    QDialog,
    QFrame,
    QGridLayout,
    QHBoxLayout,
    QLabel,
    QLineEdit,
    QPushButton,
    QScrollArea,
    QVBoxLayout,
    QWidget,
)

from geodp_app.actions import ACTIONS, GESTURES, MENUS
from geodp_app.views.widgets.panes import dressed, fill, scrolled
from learners import __version__

#: (keys, text) of a row.
Row = tuple[tuple[str, ...], str]


class ShortcutSheet(QDialog):
    """Keys by menu, in two columns; typing narrows them down."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setWindowTitle("Keyboard shortcuts")
        self.search = dressed(QLineEdit(clearButtonEnabled=True), name="Search")
        self.search.setPlaceholderText("Search for an action or a key")
        self.search.textChanged.connect(self._show)
        close = QPushButton("Close")
        close.setAutoDefault(False)
        close.clicked.connect(self.accept)
        self.body = QWidget()
        self._scroll = scrolled(QScrollArea(), across=True)
        foot = fill(QHBoxLayout(), None, close)
        parts = (self.search, (self._scroll, 1), foot)
        fill(QVBoxLayout(self), *parts, margins=(16, 16, 16, 12), spacing=12)
        self._show("")
        self.search.setFocus()

    def rows(self) -> list[Row]:
        """What is shown now."""
        return [row for _, group in self._found(self.search.text()) for row in group]

    def sizeHint(self) -> QSize:
        """Everything without scrolling, on most screens."""
        body = self.body.sizeHint()
        return QSize(max(body.width() + 60, 820), min(body.height() + 130, 760))

    def _show(self, text: str) -> None:
        body = QWidget()
        row = fill(QHBoxLayout(body), margins=(0, 0, 6, 0), spacing=16)
        found = self._found(text)
        if not found:
            nothing = dressed(QLabel(f"No action or key matches “{text.strip()}”."), "note")
            row.addWidget(nothing, 0, Qt.AlignmentFlag.AlignCenter)
        for groups in _columns(found):
            cards = (_card(title, rows) for title, rows in groups)
            row.addLayout(fill(QVBoxLayout(), *cards, None, spacing=10), 1)
        self.body = body
        self._scroll.setWidget(body)

    def _found(self, text: str) -> list[tuple[str, list[Row]]]:
        words = text.lower().split()

        def matches(title: str, row: Row) -> bool:
            searched = " ".join((title, row[1], *row[0])).lower()
            return all(word in searched for word in words)

        found = [(title, [r for r in rows if matches(title, r)]) for title, rows in _groups()]
        return [(title, rows) for title, rows in found if rows]


def _groups() -> list[tuple[str, list[Row]]]:
    groups: dict[str, list[Row]] = {menu: [] for menu in MENUS}
    for a in ACTIONS:
        if a.keys:
            groups[a.menu].append((a.keys, f"{a.text.rstrip('…')}{' (hold)' if a.held else ''}"))
    return [*groups.items(), ("On the canvas", [(g.keys, g.text) for g in GESTURES])]


def _columns(
    groups: list[tuple[str, list[Row]]],
) -> list[list[tuple[str, list[Row]]]]:
    """Two columns of about equal length, in order."""
    lengths = [len(rows) + 2 for _, rows in groups]
    cuts = range(1, len(groups)) if len(groups) > 1 else range(len(groups), len(groups) + 1)
    cut = min(cuts, key=lambda i: abs(sum(lengths[:i]) - sum(lengths[i:])), default=0)
    return [part for part in (groups[:cut], groups[cut:]) if part]


def _card(title: str, rows: list[Row]) -> QFrame:
    card = dressed(QFrame(), "card")
    grid = QGridLayout(card)
    grid.setContentsMargins(12, 8, 12, 10)
    grid.setHorizontalSpacing(14)
    grid.setVerticalSpacing(5)
    grid.setColumnStretch(0, 1)
    grid.addWidget(dressed(QLabel(title), "cardTitle"), 0, 0)
    for i, (keys, text) in enumerate(rows, start=1):
        grid.addWidget(QLabel(text, wordWrap=True), i, 0)
        caps = fill(QHBoxLayout(), None, spacing=5)
        for key in keys:
            cap = dressed(QLabel(_native(key)), "keycap")
            caps.addWidget(cap, 0, Qt.AlignmentFlag.AlignVCenter)
        grid.addLayout(caps, i, 1)
    return card


def _native(key: str) -> str:
    """A key as this platform writes it; words such as "Double-click" stay."""
    text = QKeySequence.fromString(key, QKeySequence.SequenceFormat.PortableText).toString(
        QKeySequence.SequenceFormat.NativeText
    )
    return text or key


#: The version, the licence and where the source is.
ABOUT = (
    f"<h3>geodp {__version__}</h3>"
    "<p>Learn regions of the plane from labelled points, under differential privacy.</p>"
    "<p>After H. Kaplan, Y. Mansour, Y. Matias and U. Stemmer, <i>Differentially Private "
    "Learning of Geometric Concepts</i>, ICML 2019.</p><p>Apache License 2.0.</p>"
)

#: What the statement promises, and what it does not.
PRIVACY = (
    "<p><b>What ε and δ promise.</b> Whoever sees the released shape can hardly tell whether "
    "any one report was among the examples: with or without it, every outcome is about "
    "equally likely, up to a factor of e<sup>ε</sup>, except with probability δ.</p>"
    "<p><b>What is released.</b> The chosen pieces and the noisy thresholds, once all steps "
    "are done. Everything under a mark “Private data” is for you alone.</p>"
    "<p><b>What adds up.</b> Each run on the same examples spends its ε again, also one that "
    "was cancelled: a run made in its place is not covered by its own statement alone. And "
    "what is published must not be chosen by how long a run took or by private figures.</p>"
    "<p><b>What is not promised.</b> A person with many reports is protected only as a "
    "group; a seeded run is not private; the running time depends on the examples.</p>"
)
