"""Simulated examples: where points go, who labels them, and what an edit of the drawing does."""

import math
from pathlib import Path

import numpy as np
import pytest
import shapely
from known_targets import square_geojson
from run_charges import run_charge
from shapely.geometry import Point

from geodp import Bounds, Examples, Frame
from geodp_app.document.document import Document
from geodp_app.document.sampling import (
    draw_examples,
    draw_points,
    open_generator,
    padded_box,
    place_target,
)
from geodp_app.document.work import DISTRIBUTIONS, SampleSettings, Work
from geodp_app.drawing.shapes import Drawing, Shape
from geodp_app.files.session import load_session, save_session
from geometry.geojson import read_geojson

TRIANGLE = shapely.Polygon([(10, 10), (90, 20), (40, 95)])


DABS = ((20, 30, 10), (95, 95, 30), (60, 60, 0))


@pytest.mark.parametrize("distribution", DISTRIBUTIONS)
def test_points_are_grid_points_and_the_seed_repeats_them(distribution):
    draws = [
        draw_points(TRIANGLE, 3000, 100, distribution, open_generator(seed), DABS)
        for seed in (5, 5, 6)
    ]
    assert draws[0].shape == (3000, 2)
    assert draws[0].dtype == np.int64
    assert draws[0].min() >= 0
    assert draws[0].max() <= 100
    assert (draws[0] == draws[1]).all()
    assert (draws[0] != draws[2]).any()


def test_uniform_points_fall_on_every_grid_point_alike():
    points = draw_points(TRIANGLE, 90_000, 2, "uniform", open_generator(1))
    counts = np.bincount(points[:, 0] * 3 + points[:, 1], minlength=9)
    chi_square = ((counts - 10_000) ** 2 / 10_000).sum()
    assert chi_square < 26.1  # 8 degrees of freedom, probability 0.999


def test_the_cluster_lies_around_the_outline_at_37_percent():
    outline = TRIANGLE.exterior
    place = outline.interpolate(0.37 * outline.length)
    points = draw_points(TRIANGLE, 50_000, 100, "clustered", open_generator(2))
    distance = np.hypot(points[:, 0] - place.x, points[:, 1] - place.y)
    share = (distance < 2.5 * 8.3).mean()
    # 0.8 * (1 - exp(-2.5^2 / 2)) from the cloud, 0.2 * area share from the rest
    disc = place.buffer(2.5 * 8.3).intersection(shapely.box(0, 0, 100, 100)).area / 100**2
    assert share == pytest.approx(0.8 * (1 - math.exp(-(2.5**2) / 2)) + 0.2 * disc, abs=0.01)


def test_half_of_the_gaussian_falls_in_a_disc():
    disc = shapely.Point(500, 500).buffer(90, quad_segs=64)
    examples = draw_examples(
        disc, 40_000, Frame(1000), distribution="gaussian", rng=open_generator(3)
    )
    assert examples.labels.mean() == pytest.approx(0.5, abs=0.012)


def test_a_dab_is_as_likely_as_another_whatever_its_size():
    points = draw_points(TRIANGLE, 60_000, 100, "painted", open_generator(7), DABS)
    for x, y, r in DABS:
        near = np.hypot(points[:, 0] - x, points[:, 1] - y) <= r + math.sqrt(0.5)
        assert near.mean() == pytest.approx(1 / 3, abs=0.008)
    twice = draw_points(TRIANGLE, 60_000, 100, "painted", open_generator(7), (*DABS, DABS[2]))
    assert (twice == (60, 60)).all(axis=1).mean() == pytest.approx(1 / 2, abs=0.009)


def test_painted_points_are_uniform_in_the_disc():
    points = draw_points(TRIANGLE, 40_000, 2000, "painted", open_generator(8), ((900, 900, 400),))
    offset = (points - 900) / 400
    distance = np.hypot(*offset.T)
    assert distance.max() < 1.002
    for share in (0.1, 0.5, 0.9):  # of the disc's area
        assert (distance**2 < share).mean() == pytest.approx(share, abs=0.01)
    quarters = np.bincount(2 * (offset[:, 0] > 0) + (offset[:, 1] > 0), minlength=4) / 40_000
    assert quarters == pytest.approx([0.25] * 4, abs=0.01)


def test_paint_over_the_edge_is_drawn_again_on_the_grid():
    points = draw_points(TRIANGLE, 40_000, 100, "painted", open_generator(9), ((0, 100, 60),))
    assert points.min() == 0
    assert points.max() == 100
    # a quarter of the disc, as dense at its edge as inside: nothing piles up there
    edge = (points[:, 0] == 0).mean()
    assert edge == pytest.approx(60 / (math.pi * 60**2 / 4), rel=0.1)


def test_paint_far_off_the_grid_still_gives_grid_points():
    points = draw_points(TRIANGLE, 50, 10, "painted", open_generator(1), ((500, -500, 3),))
    assert (points == (10, 0)).all()


def test_painted_examples_are_labelled_by_the_target_and_need_no_target():
    frame = Frame(100)
    both = draw_examples(
        TRIANGLE, 500, frame, distribution="painted", dabs=DABS, rng=open_generator(1)
    )
    assert (both.labels == clean_labels(both.points)).all()
    assert 0 < both.labels.sum() < 500
    none = draw_examples(
        shapely.Polygon(), 500, frame, distribution="painted", dabs=DABS, rng=open_generator(1)
    )
    assert (none.points == both.points).all()
    assert none.labels.sum() == 0
    with pytest.raises(ValueError, match="a painted sample needs at least one dab"):
        draw_points(TRIANGLE, 5, 9, "painted", open_generator(0))


def test_the_boundary_belongs_to_the_target():
    square = shapely.box(0, 0, 1, 1)
    examples = draw_examples(square, 5000, Frame(2), rng=open_generator(4))
    assert (examples.labels == (examples.points.max(axis=1) <= 1)).all()


def test_noise_flips_its_share_of_labels():
    clean = draw_examples(TRIANGLE, 50_000, Frame(100), rng=open_generator(5))
    noisy = draw_examples(TRIANGLE, 50_000, Frame(100), noise=0.2, rng=open_generator(5))
    assert (clean.points == noisy.points).all()
    assert (clean.labels != noisy.labels).mean() == pytest.approx(0.2, abs=0.01)
    flipped = draw_examples(TRIANGLE, 100, Frame(100), noise=1.0, rng=open_generator(5))
    assert (flipped.labels == 1 - clean_labels(flipped.points)).all()


def clean_labels(points):
    return shapely.intersects_xy(TRIANGLE, points[:, 0], points[:, 1])


def test_an_empty_target_gives_only_zeros_and_no_cluster():
    empty = shapely.Polygon()
    assert draw_examples(empty, 50, Frame(9), rng=open_generator(0)).labels.sum() == 0
    with pytest.raises(ValueError, match="empty target"):
        draw_points(empty, 5, 9, "clustered", open_generator(0))
    with pytest.raises(ValueError, match="unknown distribution"):
        draw_points(TRIANGLE, 5, 9, "even", open_generator(0))


def test_a_target_in_degrees_is_placed_by_its_padded_box(write):
    target = read_geojson(write("t.geojson", square_geojson(10, 20)))
    shape, frame = place_target(target, 120)
    assert frame == Frame(120, Bounds(9, 9, 21, 21))
    assert shape.bounds == pytest.approx((10, 10, 110, 110))
    shape, frame = place_target(target, 100, Bounds(0, 0, 50, 50))
    assert frame.bounds == Bounds(0, 0, 50, 50)
    assert shape.bounds == pytest.approx((20, 20, 40, 40))


def test_the_padded_box_stays_on_the_globe():
    assert padded_box(shapely.box(-179, -89.5, 179, 89.5)) == Bounds(-180, -90, 180, 90)


def test_a_target_on_a_grid_is_scaled_and_lies_nowhere(write):
    target = read_geojson(write("t.geojson", square_geojson(10, 20, frame="grid", grid=100)))
    shape, frame = place_target(target, 1000)
    assert frame == Frame(1000)
    assert shape.bounds == pytest.approx((100, 100, 200, 200))


def test_a_target_drawn_in_the_unit_box_lies_nowhere(write):
    member = {
        "frame": "lonlat", "grid": 10, "bounds": [0, 0, 1, 1], "georeferenced": False
    }  # fmt: skip
    target = read_geojson(write("t.geojson", square_geojson(0.1, 0.5, **member)))
    shape, frame = place_target(target, 100)
    assert frame == Frame(100)
    assert shape.bounds == pytest.approx((10, 10, 50, 50))


# -- labelled anew after an edit -------------------------------------------------------------------


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


@pytest.mark.parametrize("distribution", ["uniform", "clustered", "gaussian"])
def test_the_same_points_get_the_labels_of_the_new_drawing(distribution):
    """Also those that the drawing placed."""
    d = sampled(distribution=distribution)
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
