"""Asking for the public bounds of examples that are in degrees.

Four numbers, typed: bounds are chosen from a map.  Nothing here has seen a point, and no number is
guessed from one.
"""

from __future__ import annotations

from collections.abc import Callable

from PySide6.QtWidgets import (
    QDialog,
    QDialogButtonBox,
    QFormLayout,
    QLabel,
    QLineEdit,
    QVBoxLayout,
    QWidget,
)

from geodp_app.errors import InputError
from geometry.grid import Bounds, BoundsError

_EXPLAINED = (
    "{name} has points in degrees. Between which longitudes and latitudes may its points lie?\n\n"
    "Bounds are public: they are published with the learned shape. Choose them from a map, "
    "before you look at the points. geodp never takes them from the points, as a box that "
    "fits these tells where the outermost are."
)
_SIDES = (
    ("West", "Smallest longitude, −180 to 180"),
    ("South", "Smallest latitude, −90 to 90"),
    ("East", "Largest longitude, −180 to 180"),
    ("North", "Largest latitude, −90 to 90"),
)
#: Fixed, in device-independent pixels: words then wrap to a height that is known.
_WIDTH = 480


class BoundsDialog(QDialog):
    """West, south, east and north, said to be wrong while they are typed.

    Parameters
    ----------
    name : str
        Of the file.
    use : callable
        Takes bounds that are in order and reads the file; what it refuses is said, and the dialog
        stays.
    first : Bounds, optional
        Public bounds to begin with.
    parent : QWidget, optional
    """

    def __init__(
        self,
        name: str,
        use: Callable[[Bounds], object],
        first: Bounds | None = None,
        parent: QWidget | None = None,
    ) -> None:
        super().__init__(parent)
        self._read = use
        self.setWindowTitle("Public bounds")
        explained = QLabel(_EXPLAINED.format(name=name), wordWrap=True)
        self.problem = QLabel(wordWrap=True)
        self.problem.setObjectName("banner")
        self.problem.setAccessibleName("What is wrong with the bounds")
        self.problem.hide()
        form = QFormLayout()
        form.setHorizontalSpacing(10)
        form.setVerticalSpacing(7)
        values = [""] * 4 if first is None else [f"{value:.12g}" for value in first.as_tuple()]
        self.fields = {
            side: QLineEdit(value) for (side, _), value in zip(_SIDES, values, strict=True)
        }
        for side, tip in _SIDES:
            field = self.fields[side]
            field.setPlaceholderText(tip)
            field.setToolTip(f"{tip}, in degrees")
            field.setAccessibleName(side)
            field.textChanged.connect(self._check)
            form.addRow(side, field)
        buttons = QDialogButtonBox.StandardButton
        self.buttons = QDialogButtonBox(buttons.Open | buttons.Cancel)
        self.use = self.buttons.button(buttons.Open)
        self.use.setDefault(True)
        self.buttons.accepted.connect(self._accept)
        self.buttons.rejected.connect(self.reject)
        self._column = column = QVBoxLayout(self)
        column.setContentsMargins(16, 14, 16, 14)
        column.setSpacing(12)
        column.addWidget(explained)
        column.addLayout(form)
        column.addWidget(self.problem)
        column.addStretch(1)
        column.addWidget(self.buttons)
        self.setFixedWidth(_WIDTH)
        self._check()
        self.fields["West"].selectAll()

    def bounds(self) -> Bounds:
        """What is typed.

        Raises
        ------
        InputError
            If it is no box; the message is empty as long as something is missing.
        """
        texts = {side: field.text().strip() for side, field in self.fields.items()}
        values = []
        for side, text in texts.items():
            try:
                # a minus sign or a comma as they come from a map's page
                values.append(float(text.replace("−", "-").replace(",", ".").rstrip("° ")))
            except ValueError:
                if text and text not in "-−+.":
                    raise InputError(f"{side}: {text[:40]!r} is not a number of degrees") from None
        if len(values) < len(texts):
            raise InputError("")
        try:
            return Bounds(*values)
        except BoundsError as error:
            raise InputError(str(error)) from None

    def _check(self) -> None:
        """Say what is wrong, and let nothing wrong be used."""
        try:
            self.bounds()
        except InputError as error:
            self.use.setEnabled(False)
            self._say(str(error))
        else:
            self.use.setEnabled(True)
            self._say("")

    def _accept(self) -> None:
        try:
            self._read(self.bounds())
        except InputError as error:
            self._say(str(error))
        else:
            self.accept()

    def _say(self, problem: str) -> None:
        self.problem.setText(problem)
        self.problem.setVisible(bool(problem))
        # a dialog does not grow by itself for words that wrap
        self._column.activate()
        needed = self._column.totalHeightForWidth(_WIDTH)
        self.setMinimumHeight(max(needed, self.minimumHeight()))
