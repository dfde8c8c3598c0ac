"""Questions after a run by votes, in the window: from the tool and the card to the run and back."""

from __future__ import annotations

from PySide6.QtCore import QObject

from geodp_app.drawing.editor import Editor
from geodp_app.files.stored_run import Point
from geodp_app.views.run.query_card import QueryCard
from geodp_app.views.run.window_runs import WindowRuns


class WindowQuestions(QObject):
    """Asks, and keeps the card up to date.

    Parameters
    ----------
    card : QueryCard
    runs : WindowRuns
    editor : Editor
        Whose ask tool is heard.
    parent : QObject, optional
    """

    def __init__(
        self, card: QueryCard, runs: WindowRuns, editor: Editor, parent: QObject | None = None
    ) -> None:
        super().__init__(parent)
        self.card = card
        self._runs = runs
        self.card.asked.connect(self._ask)
        editor.on_ask(self._ask)
        runs.changed.connect(lambda _: self._follow())
        runs.document.subscribe(self._follow)

    def set_release_view(self, release: bool) -> None:
        """Whether votes may be shown."""
        self.card.set_release_view(release)
        self._follow()

    def _ask(self, point: Point) -> None:
        self.card.x_field.setValue(point[0])
        self.card.y_field.setValue(point[1])
        self._runs.ask(point)

    def _follow(self) -> None:
        log = self._runs.current
        by_votes = log is not None and "votes" in log.settings.declared.shows
        self.card.show_run(log if by_votes else None, self._runs.refusal)
