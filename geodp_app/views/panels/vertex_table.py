"""Shows the drawing as a table: every vertex can be read and typed, without a mouse."""

from __future__ import annotations

from PySide6.QtCore import QAbstractTableModel, QModelIndex, QPersistentModelIndex, Qt
from PySide6.QtWidgets import QDialog, QHeaderView, QLabel, QTableView, QVBoxLayout, QWidget

from geodp_app.document.document import Document
from geodp_app.drawing.shapes import vertex_rows, with_vertex

_HEADS = ("Shape", "Ring", "Vertex", "x", "y")
_Index = QModelIndex | QPersistentModelIndex
_ROOT = QModelIndex()


class VertexModel(QAbstractTableModel):
    """Rows of vertices; x and y can be edited."""

    def __init__(self, document: Document) -> None:
        super().__init__()
        self._document = document
        self._rows = vertex_rows(document.drawing)

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
        except ValueError:
            return False
        if not 0 <= number <= self._document.drawing.grid:
            return False
        point = (number, y) if index.column() == 3 else (x, number)
        drawing = with_vertex(self._document.drawing, shape, ring, vertex, point)
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
        layout = QVBoxLayout(self)
        layout.addWidget(QLabel(f"Type x and y in 0..{document.drawing.grid}; Enter moves on."))
        layout.addWidget(self.table)
        self._unsubscribe = document.subscribe(self._model.refresh)
        self.finished.connect(lambda _: self._unsubscribe())
