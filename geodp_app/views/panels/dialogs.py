"""The small dialogs: all keys on one sheet, the drawing's vertices as a table, and the ledger of
imported examples; with the words of the help menu.
"""

from __future__ import annotations

from pathlib import Path

from PySide6.QtCore import (
    QAbstractTableModel,
    QModelIndex,
    QPersistentModelIndex,
    QSize,
    Qt,
    Signal,
)
from PySide6.QtGui import QKeySequence
from PySide6.QtWidgets import (
    QComboBox,
    QDialog,
    QFileDialog,
    QFrame,
    QGroupBox,
    QHeaderView,
    QLabel,
    QLineEdit,
    QPushButton,
    QScrollArea,
    QTableView,
    QWidget,
)

from geodp_app.actions import ACTIONS, GESTURES, MENUS
from geodp_app.document.document import Document
from geodp_app.drawing.shapes import vertex_rows, with_vertex
from geodp_app.files.import_file import cut
from geodp_app.files.ledger import BESIDE, Ledger
from geodp_app.views.widgets.number_fields import DecimalField, FieldGuard, SmallNumberField
from geodp_app.views.widgets.panes import (
    add_field,
    dressed,
    fill,
    form_of,
    grid_of,
    scrolled,
    sentences,
    show_words,
)
from geometry.errors import InputError
from learners import __version__
from learners.privacy.several_runs import Budget
from learners.registry import NEIGHBOURS

#: Keys and text of a row, and the rows under a title.
Row = tuple[tuple[str, ...], str]
Group = tuple[str, list[Row]]
_CANVAS = "On the canvas"


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
        self._scroll = scrolled(QScrollArea(), across=True)
        foot = fill(None, None, close, across=True)
        fill(self, self.search, (self._scroll, 1), foot, margins=(16, 16, 16, 12), spacing=12)
        self._show("")
        self.search.setFocus()

    def sizeHint(self) -> QSize:
        body = self.body.sizeHint()
        return QSize(max(body.width() + 60, 820), min(body.height() + 130, 760))

    def _show(self, text: str) -> None:
        body = QWidget()
        row = fill(body, across=True, margins=(0, 0, 6, 0), spacing=16)
        found = self._found(text)
        if not found:
            nothing = dressed(QLabel(f"No action or key matches “{text.strip()}”."), "note")
            row.addWidget(nothing, 0, Qt.AlignmentFlag.AlignCenter)
        for groups in _columns(found):
            cards = (_card(title, rows) for title, rows in groups)
            row.addLayout(fill(None, *cards, None, spacing=10), 1)
        self.body = body
        self._scroll.setWidget(body)

    def _found(self, text: str) -> list[Group]:
        words, groups = text.lower().split(), {title: list[Row]() for title in (*MENUS, _CANVAS)}
        held = {True: " (hold)", False: ""}
        rows = [(a.menu, (a.keys, a.text.rstrip("…") + held[a.held])) for a in ACTIONS if a.keys]
        for title, (keys, said) in (*rows, *((_CANVAS, gesture) for gesture in GESTURES)):
            searched = " ".join((title, said, *keys)).lower()
            if all(word in searched for word in words):
                groups[title].append((keys, said))
        return [(title, found) for title, found in groups.items() if found]


def _columns(groups: list[Group]) -> list[list[Group]]:
    """Two columns of about equal length, in order."""
    lengths = [len(rows) + 2 for _, rows in groups]
    cuts = range(1, len(groups))
    cut = min(cuts, key=lambda i: abs(sum(lengths[:i]) - sum(lengths[i:])), default=len(groups))
    return [part for part in (groups[:cut], groups[cut:]) if part]


def _card(title: str, rows: list[Row]) -> QFrame:
    card, formats = dressed(QFrame(), "card"), QKeySequence.SequenceFormat
    grid = grid_of(card, 14, 5, stretch=0)
    grid.setContentsMargins(12, 8, 12, 10)
    grid.addWidget(dressed(QLabel(title), "cardTitle"), 0, 0)
    for i, (keys, text) in enumerate(rows, start=1):
        grid.addWidget(QLabel(text, wordWrap=True), i, 0)
        caps = fill(None, None, across=True, spacing=5)
        for key in keys:  # as this platform writes it; words such as "Double-click" stay
            native = QKeySequence(key, formats.PortableText).toString(formats.NativeText)
            cap = dressed(QLabel(native or key), "keycap")
            caps.addWidget(cap, 0, Qt.AlignmentFlag.AlignVCenter)
        grid.addLayout(caps, i, 1)
    return card


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

_HEADS = ("Shape", "Ring", "Vertex", "x", "y")
_Index = QModelIndex | QPersistentModelIndex
_ROOT = QModelIndex()


class VertexModel(QAbstractTableModel):
    """Rows of vertices; x and y can be edited."""

    def __init__(self, document: Document) -> None:
        super().__init__()
        self._document = document
        self.refresh()

    def refresh(self) -> None:
        """Show what the document holds now."""
        self.beginResetModel()
        self._rows = vertex_rows(self._document.drawing)
        self.endResetModel()

    def rowCount(self, parent: _Index = _ROOT) -> int:
        return 0 if parent.isValid() else len(self._rows)

    def columnCount(self, parent: _Index = _ROOT) -> int:
        return 0 if parent.isValid() else len(_HEADS)

    def data(self, index: _Index, role: int = Qt.ItemDataRole.DisplayRole) -> object:
        """Numbers from 1; the outline is called so."""
        if role == Qt.ItemDataRole.TextAlignmentRole:
            return int(Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignVCenter)
        if role not in (Qt.ItemDataRole.DisplayRole, Qt.ItemDataRole.EditRole):
            return None
        shape, ring, vertex, x, y = self._rows[index.row()]
        names = (shape + 1, "outline" if ring == 0 else f"hole {ring}", vertex + 1, x, y)
        return names[index.column()]

    def headerData(
        self, section: int, orientation: Qt.Orientation, role: int = Qt.ItemDataRole.DisplayRole
    ) -> object:
        if role == Qt.ItemDataRole.DisplayRole and orientation == Qt.Orientation.Horizontal:
            return _HEADS[section]
        return None

    def flags(self, index: _Index) -> Qt.ItemFlag:
        flags = super().flags(index)
        return flags | Qt.ItemFlag.ItemIsEditable if index.column() >= 3 else flags

    def setData(self, index: _Index, value: object, role: int = Qt.ItemDataRole.EditRole) -> bool:
        """Move a vertex, if the number is on the grid."""
        shape, ring, vertex, x, y = self._rows[index.row()]
        try:
            number = int(str(value))
            point = (number, y) if index.column() == 3 else (x, number)
            drawing = with_vertex(self._document.drawing, shape, ring, vertex, point)
        except ValueError:
            return False
        self._document.edit("move a vertex", drawing)
        return True


class VertexDialog(QDialog):
    """A window with the table; it follows every edit while it is open."""

    def __init__(self, document: Document, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        self.setWindowTitle("Vertices")
        self.resize(440, 520)
        self._model = VertexModel(document)
        self.table = QTableView()
        self.table.setModel(self._model)
        self.table.setAccessibleName("Vertices of the drawing")
        self.table.verticalHeader().hide()
        self.table.horizontalHeader().setSectionResizeMode(QHeaderView.ResizeMode.Stretch)
        words = QLabel(f"Type x and y in 0..{document.drawing.grid}; Enter moves on.")
        fill(self, words, self.table)
        self._unsubscribe = document.subscribe(self._model.refresh)
        self.finished.connect(lambda _: self._unsubscribe())


_WHAT = (
    "A ledger is a file in which every run on these people's reports is entered before it draws. "
    "What was entered counts in full, however the run ends, and nothing is run beyond the budget, "
    "as long as nobody puts an older copy of the file back."
)
_KINDS = "Ledgers (*.ledger);;All files (*)"


class LedgerDialog(QDialog):
    """Choose the ledger; each choice is told at once.

    The file dialogs begin in the folder.  A new one protects whoever the column `unit` names, else
    rows.
    """

    #: Path of the ledger, or None for none.
    chosen = Signal(object)

    def __init__(self, folder: Path, unit: str | None, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setWindowTitle("Ledger")
        self._folder, self._unit = folder, unit
        self.state = sentences("practice")
        self.problem = dressed(QLabel(wordWrap=True), "banner")
        self.join_button = dressed(QPushButton("Join a ledger…"), tip="One that is there already")
        self.none_button = dressed(QPushButton("Keep none"), tip="The file stays as it is")
        self.close_button = QPushButton("Close")
        foot = fill(None, self.join_button, self.none_button, None, self.close_button, across=True)
        parts = (sentences("note", _WHAT), self.problem, self.state, self._new_group(), foot)
        fill(self, *parts, margins=16, spacing=12)
        for button in (self.join_button, self.none_button, self.begin_button, self.close_button):
            button.setAutoDefault(False)
        self.join_button.clicked.connect(self._join)
        self.begin_button.clicked.connect(self._begin)
        self.none_button.clicked.connect(lambda: self.chosen.emit(None))
        self.close_button.clicked.connect(self.accept)
        FieldGuard(self).guard(self)
        self.setMinimumWidth(440)
        show_words(self.problem, "")

    def show_state(self, words: str) -> None:
        """What the ledger says; empty for none."""
        self.state.setText(words or "No ledger is kept of these examples.")
        self.none_button.setEnabled(bool(words))

    def _new_group(self) -> QGroupBox:
        whom = "" if self._unit is None else f", for persons by {cut(self._unit, 24)}"
        group = QGroupBox(f"A new one{whom}")
        form = form_of(group)
        self.epsilon = DecimalField(0.001, 1000, decimals=3, step=0.1)
        self.epsilon.setValue(3.0)
        add_field(form, "Budget ε", self.epsilon, "For all runs together")
        self.delta = SmallNumberField(1e-30, 0.5)
        self.delta.setValue(1e-5)
        add_field(form, "Budget δ", self.delta, "For all runs together: well below 1/n")
        self.neighbours = QComboBox()
        for relation, text in NEIGHBOURS.choices:
            self.neighbours.addItem(text, relation)
        add_field(form, NEIGHBOURS.label, self.neighbours, NEIGHBOURS.help)
        self.begin_button = QPushButton("Begin…")
        form.addRow(self.begin_button)
        return group

    def _join(self) -> None:
        name, _ = QFileDialog.getOpenFileName(self, "Join a ledger", str(self._folder), _KINDS)
        if name:
            self._take(Ledger(name))

    def _begin(self) -> None:
        start = str(self._folder / BESIDE)
        name, _ = QFileDialog.getSaveFileName(self, "Begin a ledger", start, _KINDS)
        if not name:
            return
        try:
            budget = Budget(self.epsilon.value(), self.delta.value())
            relation = self.neighbours.currentData()
            made = Ledger.create(name, relation=relation, budget=budget, unit=self._unit)
            self._take(made)
        except (InputError, ValueError) as error:
            show_words(self.problem, str(error))

    def _take(self, ledger: Ledger) -> None:
        try:
            ledger.state()
        except InputError as error:
            show_words(self.problem, str(error))
            return
        show_words(self.problem, "")
        self.chosen.emit(str(ledger.path.resolve()))
