"""The document holds the window's work: only here is it changed, undone and watched.

Views render :attr:`Document.work` and emit intents; every intent ends in :meth:`Document.change`,
which keeps the parts in step: a simulated sample belongs to its target, all examples to their
grid.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable, Iterable, Mapping
from dataclasses import fields, replace
from pathlib import Path
from typing import Any

from numpy.typing import NDArray

from geodp_app.document.checks import check_change, check_grid
from geodp_app.document.examples import Examples, Frame
from geodp_app.document.history import History
from geodp_app.document.sampling import Relabelling, simulate
from geodp_app.document.suggested_k import suggested_k
from geodp_app.document.targets import GridChange, example_work
from geodp_app.document.work import Dab, RunCharge, RunSettings, Work
from geodp_app.drawing.shapes import Drawing
from geodp_app.formatting import count
from geometry.errors import InputError
from geometry.mask import Mask
from learners.cover.set_cover import Pieces

#: A sample of no more examples is drawn within a tenth of a second: it follows its settings.
MOST_AT_ONCE = 200_000

#: What undo calls a changed setting of the sample.
_NAMES = {
    "n": "the number of examples",
    "distribution": "the distribution",
    "noise": "the label noise",
    "seed": "the seed",
    "dabs": "the paint",
}


class Document:
    """A person's work with its history, its file and those who watch it.

    `work`: where it begins; taken to be saved.

    Attributes
    ----------
    path : Path or None
        The session file; None before the first save.
    history : History
        Whether something is not in the session file, and what undo and redo would do.
    """

    def __init__(self, work: Work | None = None) -> None:
        self._observers: list[Callable[[], None]] = []
        self.path: Path | None = None
        self.history = History(work or Work(), arrays=_arrays)
        self._relabelled = Relabelling()
        self._stroke = 0

    # looking

    @property
    def work(self) -> Work:
        """The current state; parts that did not change stay the same objects."""
        return self.history.state

    @property
    def drawing(self) -> Drawing:
        """The target as it is drawn now."""
        return self.work.drawing

    def subscribe(self, callback: Callable[[], None]) -> Callable[[], None]:
        """Call `callback` after every change; returns what ends that."""
        self._observers.append(callback)

        def unsubscribe() -> None:
            if callback in self._observers:
                self._observers.remove(callback)

        return unsubscribe

    # changing

    def change(self, label: str, *, merge: Hashable = None, **fields: Any) -> None:
        """Replace fields of the work in one undoable step.

        When the drawing changes, simulated examples stay where they are and are labelled anew. They
        go when the grid or the bounds change; imported ones when the grid changes or moves on the
        globe.  Examples among `fields` stay.  What runs have spent goes with the examples, and so
        does their ledger; examples labelled anew are others.  A mask keeps its place on the globe,
        and a frame without it is refused.  Nothing happens if nothing differs.  Raises InputError
        if a value is out of range; the work is then as it was.

        Parameters
        ----------
        label : str
            What undo calls it.
        merge : hashable, optional
            Consecutive changes with the same key are one step.
        **fields
            Of :class:`Work`.
        """
        before, ledger = self.work, fields.get("ledger")
        fields = {name: value for name, value in fields.items() if _differs(before, name, value)}
        if not fields:
            return
        after = replace(before, **fields)
        if "sampling" not in fields and after.drawing.grid != before.drawing.grid:
            dabs = GridChange(before.frame, after.frame).dabs(before.sampling.dabs)
            after = replace(after, sampling=replace(before.sampling, dabs=dabs))
        after = _settle_k(after)
        check_change(before, after)
        after = _follow_drawing(before, after)
        if "examples" not in fields:
            after = self._keep_examples(before, after)
        if not same_sample(before.examples, after.examples):
            after = replace(after, spent=(), ledger=ledger)
        self.history.push(label, after, merge)
        self._notify()

    def preview(self, drawing: Drawing) -> Work:
        """The work as :meth:`edit` would leave it; nothing changes yet."""
        work = self.work
        if drawing == work.drawing:
            return work
        after = _follow_drawing(work, replace(work, drawing=drawing))
        return replace(self._keep_examples(work, after), spent=())

    def edit(self, label: str, drawing: Drawing, *, merge: Hashable = None) -> None:
        """Put another drawing in the place of this one; it can be undone."""
        self.change(label, merge=merge, drawing=drawing)

    def add_dab(self, dab: Dab) -> None:
        """Paint: a disc (x, y, r) where examples come from, and let the sample be painted.

        A dab whose centre is in the one before it belongs to the same stroke, and a stroke is one
        step.
        """
        sampling = self.work.sampling
        before = sampling.dabs[-1:]
        if not (before and math.dist(before[0][:2], dab[:2]) <= before[0][2]):
            self._stroke += 1
        painted = replace(sampling, distribution="painted", dabs=(*sampling.dabs, dab))
        self.change("paint", merge=("stroke", self._stroke), sampling=painted)

    def clear_examples(self) -> None:
        """Take the examples away."""
        self.change("remove the examples", examples=None, simulated=True)

    def set_sampling(self, *, examples: Examples | None = None, **fields: Any) -> None:
        """Change fields of :class:`SampleSettings`, maybe with what is drawn by them."""
        old = self.work.sampling
        names = {name: _NAMES[name] for name in fields if getattr(old, name) != fields[name]}
        drawn = {} if examples is None else {"examples": examples}
        self._set(names, fields, sampling=replace(old, **fields), **drawn)

    def set_sample(self, **fields: Any) -> str:
        """Change fields of :class:`SampleSettings`, and draw the sample anew if one is there.

        Both are one step to undo.  Imported examples stay, and so does the sample where another one
        is large or cannot be drawn.  Returns why the examples are not those of the settings; empty
        if they are, or there are none.
        """
        work, drawn, why = self.work, None, ""
        after = replace(work, sampling=replace(work.sampling, **fields))
        if work.examples is None or after.sampling == work.sampling:
            pass
        elif not work.simulated:
            why = "The examples are imported and stay: this is for those that Sample draws"
        elif after.sampling.n > MOST_AT_ONCE:
            number = count(after.sampling.n)
            why = f"The sample is still the old one: Sample draws {number} examples"
        else:
            check_change(work, after)
            try:
                drawn = simulate(after)
            except InputError as error:
                why = f"The sample is still the old one: {error}"
        self.set_sampling(examples=drawn, **fields)
        return why

    def set_run(self, **fields: Any) -> None:
        """Change the learner, or values of :class:`RunSettings`.

        Values that another learner does not take become as declared of it.
        """
        new = self.work.run.with_(**fields)
        before, after = self.work.run.to_dict(), new.to_dict()
        names = {
            name: "the learner" if name == "learner" else f"“{new.declaration(name).label}”"
            for name in fields
            if before[name] != after[name]
        }
        kept = {"k_drawn": False} if "k" in names else {}
        self._set(names, after, run=new, **kept)

    def set_within(self, mask: Mask | None) -> None:
        """Clip the learned shape to a mask where it is shown and exported; None for no more.
        Raises InputError if the mask cannot be placed on the grid, or nothing of it lies there."""
        self.change("clip no more" if mask is None else f"clip to {mask.name}", within=mask)

    def set_ledger(self, path: str | None) -> None:
        """Enter the runs on imported examples in a ledger; None for none."""
        self.change("leave the ledger" if path is None else "keep a ledger", ledger=path)

    def set_k_drawn(self, on: bool) -> None:
        """Let k follow the drawing, or keep it as it is."""
        self.change("take k from the drawing" if on else "keep k", k_drawn=on)

    def set_grid(self, grid: int) -> None:
        """Another grid size: the drawing and the dabs are scaled, examples dropped; raises
        InputError if the grid is outside 1..MAX_D."""
        check_grid(grid)
        work = self.work
        change = GridChange(work.frame, Frame(grid, work.bounds))
        self.change("change the grid", drawing=change.drawing(work.drawing))

    def sample(self) -> None:
        """Draw examples from the drawing; raises InputError if there is nothing to draw them
        from."""
        self.change("sample", examples=simulate(self.work), simulated=True)

    def open_example(self, name: str) -> None:
        """Replace the drawing by a bundled one, with the k that suits it; raises
        assets.UnknownExampleError if there is no such example."""
        work = example_work(name, self.work)
        parts = {each.name: getattr(work, each.name) for each in fields(work)}
        self.change(f"open example {work.name}", **parts)

    def charge(
        self, examples: Examples, charge: RunCharge, before: RunCharge | None = None
    ) -> None:
        """Note with a sample what a run on it spends: no undo takes that back.

        `examples`: the run's; they may have gone since, and undo brings them back with the note.
        `before`: what was noted of the same run so far.
        """

        def noted(work: Work) -> Work:
            if not same_sample(work.examples, examples):
                return work
            others = tuple(each for each in work.spent if each is not before)
            return replace(work, spent=(*others, charge))

        self.history.amend(noted)
        self.mark_grown()
        self._notify()

    def mark_grown(self) -> None:
        """There is more of a run than in the file; to play with simulated examples that are in none
        is nothing to ask about."""
        known = self.history.dirty
        if self.path is not None or not self.work.simulated:
            self.history.mark_unsaved()
        if self.history.dirty != known:
            self._notify()

    # history and file

    def undo(self) -> str | None:
        """Take back the last step; its label, or None if there is none."""
        label = self.history.undo()
        if label is not None:
            self._notify()
        return label

    def redo(self) -> str | None:
        """Do again what was taken back; its label, or None if there is nothing."""
        label = self.history.redo()
        if label is not None:
            self._notify()
        return label

    def end_merging(self) -> None:
        """End the typing of a number, or a stroke: the next change is a step of its own."""
        self.history.end_merging()

    def new(self, work: Work | None = None, path: Path | None = None) -> None:
        """Begin again, without history; the work is taken to be what `path` holds."""
        self.history = History(work or Work(), arrays=_arrays)
        self.path = path
        self._notify()

    def mark_saved(self, path: Path | None) -> None:
        """The work was written to `path`; None: it was opened from elsewhere, belongs to no session
        file, and is safe."""
        self.path = path
        self.history.mark_saved()
        self._notify()

    def mark_unsaved(self) -> None:
        """What is there is in no file."""
        self.history.mark_unsaved()
        self._notify()

    # pieces

    def _set(self, names: dict[str, str], values: Mapping[str, Any], **parts: Any) -> None:
        """Change parts of the work, the first of which has other `values`: by these `names`."""
        # numbers are typed or spun digit by digit; choices are made one at a time
        typed = all(not isinstance(values[name], str) for name in names)
        merge = (next(iter(parts)), *names) if typed else None
        self.change("change " + " and ".join(names.values()), merge=merge, **parts)

    def _keep_examples(self, before: Work, after: Work) -> Work:
        """The examples that still fit, in the frame of the drawing and labelled by it."""
        old = before.examples
        if old is None:
            return after
        same_grid = after.drawing.grid == before.drawing.grid
        same_place = after.bounds == before.bounds
        # a grid that lay nowhere may be put somewhere: imported points stay what they are
        moves = not after.simulated and None in (before.bounds, after.bounds)
        if not (same_grid and (same_place or moves)):
            return replace(after, examples=None, simulated=True)
        if not same_place:
            return replace(after, examples=replace(old, frame=after.frame))
        if after.simulated and after.drawing != before.drawing:
            drawn = self._relabelled(old, before.drawing, after.drawing)
            return replace(after, examples=drawn)
        return after

    def _notify(self) -> None:
        for callback in tuple(self._observers):
            callback()


def _arrays(work: Work) -> Iterable[NDArray[Any]]:
    """What is worth counting: a sample of a million examples takes 24 MB."""
    return () if work.examples is None else (work.examples.points, work.examples.labels)


def _differs(work: Work, name: str, value: Any) -> bool:
    old = getattr(work, name)
    if name == "examples":  # arrays have no truth value
        return value is not old
    return value is not old and value != old


def same_sample(one: Examples | None, other: Examples | None) -> bool:
    """Whether two are the same examples, wherever on the globe they are said to lie."""
    if one is None or other is None:
        return one is other
    return one.points is other.points and one.labels is other.labels


def _follow_drawing(before: Work, after: Work) -> Work:
    """k from the drawing, where it follows that and the drawing or the learner has changed.

    With imported examples it stays: the drawing does not label them.  Where nothing is drawn beside
    them, nobody knows k, and it is what is declared of the learner.
    """
    asked, was = (
        (work.drawing, work.run.learner, work.run["finish"], work.k_drawn, work.simulated)
        for work in (before, after)
    )
    k: Pieces | None = None
    if after.k_drawn and asked != was:
        if after.simulated:
            k = suggested_k(after.drawing, after.run.declared, after.run["finish"])
        elif not after.drawing.shapes and after.run.has("k"):
            k = RunSettings(after.run.learner)["k"]
    return after if k is None else _settle_k(replace(after, run=after.run.with_(k=k)))


def _settle_k(work: Work) -> Work:
    """A cover that finds k by itself is always sharpened."""
    run = work.run
    if run["k"] != "auto" or run["finish"] == "sharpen":
        return work
    return replace(work, run=run.with_(finish="sharpen"))
