"""Makes labels of words and numbers, panes with a title, folds that open at a press, rows that
fold, and the status line of a window; and lays widgets out.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import TypeVar, cast

from PySide6.QtCore import QSize, Qt
from PySide6.QtGui import QPainter, QPaintEvent, QResizeEvent
from PySide6.QtWidgets import (
    QAbstractItemView,
    QBoxLayout,
    QComboBox,
    QFormLayout,
    QFrame,
    QGridLayout,
    QLabel,
    QLayout,
    QMessageBox,
    QScrollArea,
    QSizePolicy,
    QSplitter,
    QTableWidget,
    QToolButton,
    QWidget,
)

from geodp_app.palette import Palette, load_palette
from geodp_app.views.widgets.tasks import timer

_W = TypeVar("_W", bound=QWidget)
_S = TypeVar("_S", bound=QScrollArea)

_COPIED = Qt.TextInteractionFlag.TextSelectableByMouse

_ACROSS, _DOWN = QBoxLayout.Direction.LeftToRight, QBoxLayout.Direction.TopToBottom

#: What the title bar and edges of a window take of the screen, in device-independent pixels.
_DECORATION = QSize(4, 40)

#: What a row or column is made of, with its stretch if it has one; None is room that stretches.
Part = QWidget | QLayout | tuple[QWidget | QLayout, int] | None


def dressed(widget: _W, kind: str = "", *, name: str = "", tip: str = "") -> _W:
    """A widget with the style of a kind, a name for those who hear it, and a tool tip."""
    if kind:
        widget.setObjectName(kind)
    if name:
        widget.setAccessibleName(name)
    if tip:
        widget.setToolTip(tip)
    return widget


def tool_button(text: str, kind: str = "", *, name: str = "", tip: str = "") -> QToolButton:
    """A button of a bar or a card, with words on it."""
    button = dressed(QToolButton(), kind, name=name, tip=tip)
    button.setText(text)
    return button


#: Around what is laid out: left, top, right, bottom, or one number for all.
Margins = tuple[int, int, int, int] | int | None


def fill(
    body: QWidget | QBoxLayout | None,
    *parts: Part,
    across: bool = False,
    margins: Margins = None,
    spacing: int | None = None,
) -> QBoxLayout:
    """A widget's parts one below the other, or side by side; of None, a column or a row to be put
    into a widget.  A layout gets them after those that it has, its own way."""
    box = body if isinstance(body, QBoxLayout) else QBoxLayout(_ACROSS if across else _DOWN, body)
    if margins is not None:
        box.setContentsMargins(*((margins,) * 4 if isinstance(margins, int) else margins))
    if spacing is not None:
        box.setSpacing(spacing)
    for part in parts:
        what, stretch = part if isinstance(part, tuple) else (part, 0)
        if what is None:
            box.addStretch(1)
        elif isinstance(what, QLayout):
            box.addLayout(what, stretch)
        else:
            box.addWidget(what, stretch)
    return box


def scrolled(area: _S, body: QWidget | None = None, *, across: bool = False) -> _S:
    """An area with bars where its body is too large for it; `across`: also below it."""
    area.setWidgetResizable(True)
    area.setFrameShape(QFrame.Shape.NoFrame)
    if not across:
        area.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
    if body is not None:
        area.setWidget(body)
    return area


def card_column(card: QFrame, title: QLabel, *, private: bool, spacing: int = 6) -> QBoxLayout:
    """The column of a card: its title, with a mark beside it on one that is private."""
    dressed(title, "cardTitle").setWordWrap(True)
    dressed(card, "card").setProperty("private", private)
    head = fill(None, (title, 1), across=True, spacing=8)
    if private:
        head.addWidget(PrivateMark())
    return fill(card, head, margins=(12, 8, 12, 10), spacing=spacing)


def form_of(body: QWidget, beside: int | None = None, between: int | None = None) -> QFormLayout:
    """A form whose fields grow; the spaces are between label and field, and between rows."""
    form = QFormLayout(body)
    form.setFieldGrowthPolicy(QFormLayout.FieldGrowthPolicy.AllNonFixedFieldsGrow)
    for space, put in ((beside, form.setHorizontalSpacing), (between, form.setVerticalSpacing)):
        if space is not None:
            put(space)
    return form


def grid_of(body: QWidget | None, across: int, down: int, *, stretch: int) -> QGridLayout:
    """A grid with these spaces, and the column that takes what room there is."""
    grid = QGridLayout() if body is None else QGridLayout(body)
    grid.setHorizontalSpacing(across)
    grid.setVerticalSpacing(down)
    grid.setColumnStretch(stretch, 1)
    return grid


def splitter_of(
    way: Qt.Orientation, *widgets: QWidget, stretches: tuple[int, ...] = ()
) -> QSplitter:
    """Widgets with a handle between each two of them, none of which can be closed."""
    splitter = QSplitter(way, childrenCollapsible=False)
    for widget in widgets:
        splitter.addWidget(widget)
    for place, factor in enumerate(stretches):
        splitter.setStretchFactor(place, factor)
    return splitter


def add_field(form: QFormLayout, name: str, field: QWidget, tip: str) -> QLabel:
    """One more row of a form; its label."""
    label = dressed(QLabel(name), tip=tip)
    label.setBuddy(dressed(field, name=name, tip=tip))
    form.addRow(label, field)
    return label


def narrow_box(characters: int) -> QComboBox:
    """A combo box that gives way to as few characters, whatever it offers."""
    box = QComboBox()
    box.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Fixed)
    box.setMinimumContentsLength(characters)
    box.setSizeAdjustPolicy(QComboBox.SizeAdjustPolicy.AdjustToMinimumContentsLengthWithIcon)
    return box


def ask(
    window: QWidget,
    icon: QMessageBox.Icon,
    text: str,
    more: str,
    *,
    buttons: QMessageBox.StandardButton = QMessageBox.StandardButton.Ok,
    default: QMessageBox.StandardButton = QMessageBox.StandardButton.NoButton,
    words: Mapping[QMessageBox.StandardButton, str] = MappingProxyType({}),
    details: str = "",
) -> int:
    """Say something that needs to be seen, or ask; the button that was pressed.  `default`: the one
    that Return presses; Qt chooses if there is none.  `words`: on buttons, if not Qt's."""
    box = QMessageBox(icon, "", text, buttons, window)
    box.setDefaultButton(default)
    for button, word in words.items():
        box.button(button).setText(word)
    box.setInformativeText(more)
    box.setDetailedText(details)
    return box.exec()


def dress_table(table: QTableWidget, name: str) -> None:
    """Rows that can be looked at and read out, not changed."""
    table.setAccessibleName(name)
    table.setEditTriggers(QAbstractItemView.EditTrigger.NoEditTriggers)
    table.setSelectionBehavior(QAbstractItemView.SelectionBehavior.SelectRows)
    table.setShowGrid(False)
    table.setWordWrap(False)
    table.verticalHeader().hide()
    table.horizontalHeader().setHighlightSections(False)
    # in line with the words of the header; the whole row shows where the keyboard is
    table.setStyleSheet("QTableWidget { outline: none; } QTableWidget::item { padding: 0 7px; }")


def fit_screen(window: QWidget, wanted: QSize) -> None:
    """Resize to what its screen has room for: of a larger window nobody can reach the buttons."""
    room = window.screen().availableGeometry().size() - _DECORATION
    window.resize(wanted.boundedTo(room))


def show_words(label: QLabel, words: str) -> None:
    """What a label says; one that says nothing hides."""
    label.setText(words)
    label.setVisible(bool(words))


def sentences(kind: str, text: str = "") -> QLabel:
    """Words that wrap and can be copied; `kind` is the name of their style."""
    return dressed(QLabel(text, wordWrap=True, textInteractionFlags=_COPIED), kind)


def number_label(kind: str, text: str = "") -> QLabel:
    """A number at the right that can be copied; `kind` is the name of its style."""
    right = Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignVCenter
    return dressed(QLabel(text, alignment=right, textInteractionFlags=_COPIED), kind)


class PrivateMark(QLabel):
    """The mark on what only the curator may see."""

    def __init__(self) -> None:
        super().__init__("Private data")
        tip = "What is shown here is not part of the release: do not publish it"
        dressed(self, "privateMark", name="This part shows private data", tip=tip)


class Note(QLabel):
    """One line that gives way: what does not fit ends in dots, the tool tip has all of it."""

    def __init__(self) -> None:
        super().__init__()
        self.setObjectName("note")
        self.words = self._tip = ""
        self.setSizePolicy(QSizePolicy.Policy.Ignored, QSizePolicy.Policy.Preferred)

    def set_words(self, words: str, tip: str = "") -> None:
        """Another line, and what to say when it is pointed at."""
        self.words, self._tip = words, tip
        self.setAccessibleName(words)
        self._fit()

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self._fit()

    def _fit(self) -> None:
        shown = self.fontMetrics().elidedText(self.words, Qt.TextElideMode.ElideRight, self.width())
        self.setText(shown)
        cut = "" if shown == self.words else self.words
        self.setToolTip("\n".join(part for part in (cut, self._tip) if part))


#: Milliseconds for which a message stays.
TELL_FOR = 8000


class StatusLine(QLabel):
    """A hint that gives way to messages, and both to the tip of the command pointed at.

    QStatusBar's own messages hide the bar's widgets, and a change of layout shows these again
    beneath the message.
    It asks for no width: a long sentence must not widen the window.  What does not fit ends in
    dots, and the tool tip has all of it.
    """

    def __init__(self) -> None:
        super().__init__()
        self._hint = self._message = self._tip = ""
        self.setSizePolicy(QSizePolicy.Policy.Ignored, QSizePolicy.Policy.Preferred)
        self._timer = timer(self, 0, lambda: self.say(message=""))

    def tell(self, text: str) -> None:
        """What has just happened, for a while, wherever the pointer is."""
        self.say(message=text, tip="")
        self._timer.start(TELL_FOR)

    def paintEvent(self, event: QPaintEvent) -> None:
        room, end = self.contentsRect(), Qt.TextElideMode.ElideRight
        shown = self.fontMetrics().elidedText(self.text(), end, room.width())
        align, on = int(Qt.AlignmentFlag.AlignVCenter), self.isEnabled()
        role = self.foregroundRole()
        with QPainter(self) as painter:
            self.style().drawItemText(painter, room, align, self.palette(), on, shown, role)

    def say(
        self, *, hint: str | None = None, message: str | None = None, tip: str | None = None
    ) -> None:
        """What to do next; what has happened; what the command under the pointer does, empty when
        there is none."""
        self._hint = self._hint if hint is None else hint
        self._message = self._message if message is None else message
        self._tip = self._tip if tip is None else tip
        self.setText(self._tip or self._message or self._hint)
        self.setToolTip(self.text())


class Pane(QFrame):
    """A title, a private mark and a body."""

    def __init__(self, title: str, body: QWidget) -> None:
        super().__init__()
        self.setObjectName("pane")
        self.mark = PrivateMark()
        self.note = Note()
        self.heading = dressed(QLabel(title), "paneTitle")
        self.heading.setMinimumWidth(30)  # a long title gives way where the window is narrow
        head = fill(None, self.heading, self.mark, (self.note, 1), across=True, spacing=10)
        head.setContentsMargins(12, 6, 8, 4)
        fill(self, head, (body, 1), margins=0, spacing=0)
        self.note.setAlignment(Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignVCenter)


class Fold(QWidget):
    """A body that is shown when its title is pressed."""

    def __init__(self, title: str, body: QWidget) -> None:
        super().__init__()
        self.button = tool_button(title, "fold", name=title)
        self.button.setCheckable(True)
        self.button.setToolButtonStyle(Qt.ToolButtonStyle.ToolButtonTextBesideIcon)
        self.button.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Fixed)
        self.button.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
        self.button.toggled.connect(self._toggle)
        self.body = body
        fill(self, self.button, body, margins=0, spacing=4)
        self._toggle(False)

    def _toggle(self, on: bool) -> None:
        self.button.setArrowType(Qt.ArrowType.DownArrow if on else Qt.ArrowType.RightArrow)
        self.body.setVisible(on)


class FoldingRow(QWidget):
    """Groups of widgets in a row, or in a column as narrow as the widest of them."""

    def __init__(self) -> None:
        super().__init__()
        self._row = fill(self, across=True, margins=0, spacing=6)
        self._row.setSizeConstraint(QLayout.SizeConstraint.SetNoConstraint)
        self._members: list[QWidget] = []

    def set_groups(self, *groups: QWidget) -> None:
        """What the row is made of, from left to right, once; the last at its right end."""
        self._members = list(groups)
        for group in groups:
            self._row.addWidget(group, 0, Qt.AlignmentFlag.AlignLeft)
        self._row.insertStretch(len(groups) - 1, 1)

    def fold(self) -> None:
        """Fold or unfold as the width asks; to be called when a group's width has changed."""
        wanted = _ACROSS if self.width() >= self._needed() else _DOWN
        if wanted != self._row.direction():
            self._row.setDirection(wanted)
            self.updateGeometry()

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self.fold()

    def minimumSizeHint(self) -> QSize:
        """As narrow as the widest group; as high as it is now."""
        widest = max((group.minimumSizeHint().width() for group in self._members), default=0)
        return QSize(widest, self._row.minimumSize().height())

    def sizeHint(self) -> QSize:
        return QSize(self._needed(), self._row.sizeHint().height())

    def _needed(self) -> int:
        widths = [group.sizeHint().width() for group in self._members]
        return sum(widths) + self._row.spacing() * max(len(widths) - 1, 0)


class Themed:
    """What is painted in the colours of a palette."""

    _palette = load_palette("light")

    def set_palette(self, palette: Palette) -> None:
        """Draw in the colours of another palette, light or dark."""
        self._palette = palette
        self.update()  # type: ignore[attr-defined]


class Painted(Themed):
    """A widget that paints all of itself."""

    def paintEvent(self, event: QPaintEvent) -> None:
        with QPainter(cast("QWidget", self)) as painter:
            painter.setRenderHint(QPainter.RenderHint.Antialiasing)
            self.draw(painter, self._palette)

    def draw(self, painter: QPainter, palette: Palette) -> None:
        """Paint it, with smooth edges."""
        raise NotImplementedError
