"""An edit of the drawing labels the same simulated points anew, and keeps what noise flipped."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from run_charges import run_charge
from shapely.geometry import Point

from geodp import Examples
from geodp_app.document.document import Document
from geodp_app.document.work import SampleSettings, Work
from geodp_app.drawing.shapes import Drawing, Shape
from geodp_app.files.session import load_session, save_session

SQUARE = Shape(((10, 10), (60, 10), (60, 60), (10, 60)), (((30, 30), (40, 30), (40, 40)),))
MOVED = Shape(((10, 10), (60, 10), (90, 80), (10, 60)), SQUARE.holes)
APART = Shape(((70, 5), (95, 5), (95, 30)))


def sampled(noise: float = 0.0, **sampling: object) -> Document:
    settings = SampleSettings(n=800, noise=noise, **sampling)  # type: ignore[arg-type]
    d = Document(Work(drawing=Drawing(100, (SQUARE,)), sampling=settings))
    d.sample()
    return d


def inside(d: Document) -> np.ndarray:
    """Point by point, by shapely's own predicate: the boundary belongs to the shape."""
    region = d.drawing.region()
    return np.array([region.covers(Point(x, y)) for x, y in d.work.examples.points.tolist()])


def labels(d: Document) -> np.ndarray:
    return d.work.examples.labels != 0


def test_the_same_points_get_the_labels_of_the_new_drawing():
    d = sampled()
    points, old = d.work.examples.points, d.work.examples.labels
    for shapes in ((MOVED,), (MOVED, APART), (APART,), ()):
        d.edit("draw", Drawing(100, shapes))
        assert d.work.examples.points is points
        np.testing.assert_array_equal(labels(d), inside(d))
    assert not labels(d).any()  # nothing is inside an empty drawing
    assert d.work.simulated
    assert old.any()  # what was there is not written to


@pytest.mark.parametrize("by_way_of", [(), ((MOVED,), (), (APART, MOVED))])
def test_what_noise_flipped_stays_flipped(by_way_of):
    d = sampled(noise=0.2)
    flipped = labels(d) ^ inside(d)
    assert 80 < np.count_nonzero(flipped) < 260
    for shapes in (*by_way_of, (MOVED,)):
        d.edit("draw", Drawing(100, shapes))
        np.testing.assert_array_equal(labels(d) ^ inside(d), flipped)


@pytest.mark.parametrize("where", ["clustered", "gaussian"])
def test_points_that_the_drawing_placed_stay_where_they_are(where):
    d = sampled(distribution=where)
    points = d.work.examples.points
    for shapes in ((APART,), ()):
        d.edit("draw", Drawing(100, shapes))
        assert d.work.examples.points is points
        np.testing.assert_array_equal(labels(d), inside(d))


def test_undo_and_redo_bring_back_exactly_what_was_there_with_its_note():
    d = sampled(noise=0.1)
    charge = run_charge(1.0, 1e-6, "add-remove", finished=True)
    d.charge(d.work.examples, charge)
    first = d.work
    d.edit("move", Drawing(100, (MOVED,)))
    second = d.work
    assert second.spent == ()  # other labels: nobody has run on them
    d.undo()
    assert d.work is first
    d.edit("move again", Drawing(100, (APART,)))  # from labels that were made before others
    np.testing.assert_array_equal(
        labels(d) ^ inside(d), (first.examples.labels != 0) ^ inside_of(first)
    )
    d.undo()
    d.edit("move", Drawing(100, (MOVED,)))
    np.testing.assert_array_equal(d.work.examples.labels, second.examples.labels)
    third = d.work
    d.undo()
    assert d.work.spent == (charge,)
    d.redo()
    assert d.work is third


def inside_of(work: Work) -> np.ndarray:
    return inside(Document(work))


def test_imported_examples_are_never_labelled_anew():
    d = sampled()
    own = Examples(d.work.examples.points, 1 - d.work.examples.labels, d.work.frame)
    d.change("import", examples=own, simulated=False)
    for shapes in ((MOVED,), ()):
        d.edit("draw", Drawing(100, shapes))
        assert d.work.examples is own


def test_a_preview_changes_nothing_and_the_edit_that_follows_is_what_was_shown():
    d = sampled(noise=0.1)
    before, outcome = d.work, []
    d.subscribe(lambda: outcome.append(d.work))
    d.preview(Drawing(100, (APART,)))
    shown = d.preview(Drawing(100, (MOVED,)))
    assert d.work is before
    assert not outcome
    assert d.history.undo_label in (None, "sample")
    d.edit("move", Drawing(100, (MOVED,)))
    assert d.work == shown  # and so the very examples: arrays have no equality
    assert d.work.examples is shown.examples
    assert d.preview(d.drawing) is d.work


def test_a_session_keeps_a_sample_that_was_labelled_anew(tmp_path: Path):
    d = sampled(noise=0.1)
    d.edit("draw", Drawing(100, (MOVED,)))
    save_session(tmp_path / "a.geodp", d.work)
    again = Document(load_session(tmp_path / "a.geodp").work)
    np.testing.assert_array_equal(again.work.examples.points, d.work.examples.points)
    np.testing.assert_array_equal(again.work.examples.labels, d.work.examples.labels)
    assert again.work.simulated
    d.edit("draw", Drawing(100, (APART,)))
    again.edit("draw", Drawing(100, (APART,)))
    np.testing.assert_array_equal(again.work.examples.labels, d.work.examples.labels)
