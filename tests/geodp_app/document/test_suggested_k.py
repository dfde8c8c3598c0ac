"""k from the drawing: half as many as the triangles that cut it up, as a run picks two for each;
followed until a person sets it by hand."""

from pathlib import Path

import numpy as np
import pytest
import shapely
from hypothesis import assume, given, settings, strategies as st
from shapely.geometry import MultiPolygon, Polygon

from geodp import Examples, Frame
from geodp_app.document.document import Document
from geodp_app.document.suggested_k import MOST, suggested_k, triangles_needed
from geodp_app.document.work import FIRST_RUN, Work
from geodp_app.drawing.shapes import Drawing, Shape
from geodp_app.files.session import load_session, save_session
from learners.registry import BY_ID

TRIANGLE = Shape(((10, 10), (90, 20), (30, 90)))
SQUARE = Shape(((10, 10), (60, 10), (60, 60), (10, 60)))
HOLED = Shape(((10, 10), (90, 10), (90, 90), (10, 90)), (((40, 40), (60, 40), (50, 60)),))
APART = Shape(((70, 70), (95, 70), (95, 95)))
COVER = BY_ID["cover"]


def star_shaped(rng: np.random.Generator, corners: int, at: tuple[int, int], r: int) -> Polygon:
    """A simple polygon around a point, its corners at least a third of r away from it."""
    turns = (np.arange(corners) + rng.uniform(0.1, 0.9, corners)) / corners * 2 * np.pi
    sizes = rng.uniform(r / 3, r, corners)
    return Polygon(np.column_stack([at[0] + sizes * np.cos(turns), at[1] + sizes * np.sin(turns)]))


@settings(max_examples=60)
@given(
    seed=st.integers(0, 10**6),
    corners=st.integers(5, 40),
    holes=st.lists(st.integers(3, 7), max_size=3),
)
def test_as_many_triangles_as_a_triangulation_has(seed, corners, holes):
    """Against a constrained Delaunay triangulation, and the sum of the angles."""
    rng = np.random.default_rng(seed)
    outer = star_shaped(rng, corners, (500, 500), 480)
    # around the middle, where the outline never comes, side by side
    rings = [star_shaped(rng, n, (430 + 70 * i, 500), 25) for i, n in enumerate(holes)]
    region = shapely.difference(outer, shapely.union_all(rings))
    # else a thin outline was cut in two
    assume(region.geom_type == "Polygon" and len(region.interiors) == len(holes))
    needed = triangles_needed(region)
    assert needed == len(shapely.constrained_delaunay_triangles(region).geoms)
    # every corner's angle inside; a triangulation shares their sum out, pi a triangle
    assert needed == round(angles(region) / np.pi)


def angles(region: Polygon) -> float:
    """Sum of the angles inside at all corners, in radians."""
    total = 0.0
    oriented = shapely.orient_polygons(region)  # the inside lies to the left of every ring
    for ring in (oriented.exterior, *oriented.interiors):
        steps = np.diff(np.array(ring.coords), axis=0)
        headings = np.arctan2(steps[:, 1], steps[:, 0])
        turns = (np.roll(headings, -1) - headings + np.pi) % (2 * np.pi) - np.pi
        total += float((np.pi - turns).sum())
    return total


def test_parts_add_up_and_what_is_no_area_needs_none() -> None:
    parts = MultiPolygon([SQUARE.region(), APART.region()])
    assert triangles_needed(parts) == 3
    assert triangles_needed(HOLED.region()) == 4 + 3 + 2 - 2
    assert triangles_needed(Polygon()) == 0
    assert triangles_needed(shapely.LineString([(0, 0), (1, 1)])) == 0


@pytest.mark.parametrize(
    ("shapes", "learner", "k"),
    [
        ((TRIANGLE,), "cover", 1),
        ((SQUARE,), "cover", 2),  # of two: for k = 1 a run picks one
        ((HOLED,), "cover", 4),  # of seven
        ((SQUARE, APART), "cover", 2),  # of three
        ((SQUARE, APART), "greedy-cover", 2),
        ((SQUARE, APART), "discs", 2),
        ((HOLED,), "ellipses", 1),
        ((SQUARE,), "convex-cover", 4),  # edges of the hull
        ((SQUARE, APART), "convex-cover", 5),
        ((TRIANGLE,), "tiles", None),  # has no k
        ((), "cover", None),
    ],
)
def test_k_counts_what_the_learner_counts(shapes, learner, k):
    assert suggested_k(Drawing(100, shapes), BY_ID[learner]) == k


def test_corners_too_near_to_matter_do_not_count_and_too_many_are_left_to_the_run() -> None:
    turns = np.linspace(0, 2 * np.pi, 400, endpoint=False)
    circle = np.rint(np.column_stack([500 + 400 * np.cos(turns), 500 + 400 * np.sin(turns)]))
    smooth = Drawing(1000, (Shape(tuple((int(x), int(y)) for x, y in circle)),))
    assert triangles_needed(smooth.region()) > 300
    assert suggested_k(smooth, COVER) == "auto"
    nearly = Shape(((10, 10), (500, 11), (900, 10), (901, 500), (900, 900), (10, 900)))
    assert suggested_k(Drawing(1000, (nearly,)), COVER) == 2
    comb = [(10 + 40 * i, 10 if i % 2 else 400) for i in range(20)]
    saw = Shape((*comb, (770, 900), (10, 900)))
    # 22 corners
    assert suggested_k(Drawing(1000, (saw,)), COVER) == "auto"
    # the source's run must be told, and so must the learner without privacy
    assert suggested_k(Drawing(1000, (saw,)), COVER, "none") == MOST // 2
    assert suggested_k(Drawing(1000, (saw,)), BY_ID["greedy-cover"]) == MOST // 2
    few = Shape((*comb[:12], (450, 900), (10, 900)))
    assert triangles_needed(few.region()) == 12
    assert suggested_k(Drawing(1000, (few,)), COVER) == 6


def test_triangles_may_overlap() -> None:
    """A pentagram is cut into eight triangles; three of its lines at a time bound one that holds
    two of its tips, and three such hold all of it."""
    turns = (np.arange(10) + 0.1) * np.pi / 5
    reach = np.where(np.arange(10) % 2, 450 * np.sin(np.pi / 10) / np.sin(3 * np.pi / 10), 450)
    corners = np.rint(np.column_stack([reach * np.cos(turns), reach * np.sin(turns)]) + 500)
    star = Shape(tuple((int(x), int(y)) for x, y in corners))
    assert triangles_needed(star.region()) == 8
    assert suggested_k(Drawing(1000, (star,)), COVER) == 2  # of eight it would be 4


# -- the document ------------------------------------------------------------------------------


def drawn() -> Document:
    d = Document(Work(drawing=Drawing(100)))
    d.edit("draw", Drawing(100, (SQUARE,)))
    return d


def test_k_follows_the_drawing_and_undo_in_the_same_step() -> None:
    d = Document(Work(drawing=Drawing(100)))
    assert d.work.run["k"] == FIRST_RUN["k"]  # of an empty drawing there is nothing to say
    followed = [FIRST_RUN["k"]]
    for shapes in ((TRIANGLE,), (HOLED,), (SQUARE, APART)):
        d.edit("draw", Drawing(100, shapes))
        followed.append(d.work.run["k"])
    assert followed == [FIRST_RUN["k"], 1, 4, 2]
    for k in followed[-2::-1]:
        assert d.undo() == "draw"
        assert (d.work.run["k"], d.work.k_drawn) == (k, True)
    for k in followed[1:]:
        assert d.redo() == "draw"
        assert d.work.run["k"] == k


def test_a_k_set_by_hand_stays_until_it_is_given_back() -> None:
    d = drawn()
    d.set_run(k=9)
    assert (d.work.run["k"], d.work.k_drawn) == (9, False)
    d.edit("draw", Drawing(100, (HOLED,)))
    d.set_run(learner="discs")
    assert d.work.run["k"] == 9
    d.set_run(learner="cover")
    d.set_k_drawn(True)
    assert (d.work.run["k"], d.work.k_drawn) == (4, True)
    assert d.undo() == "take k from the drawing"
    assert (d.work.run["k"], d.work.k_drawn) == (9, False)
    d.redo()
    d.set_k_drawn(False)  # it stays where it is
    assert (d.work.run["k"], d.work.k_drawn) == (4, False)


def test_the_same_k_typed_is_one_set_by_hand_too() -> None:
    d = drawn()
    d.set_run(k=3)
    d.set_run(k=2)  # what the drawing would give
    d.edit("draw", Drawing(100, (HOLED,)))
    assert d.work.run["k"] == 2


def test_another_learner_counts_other_pieces_and_one_without_k_leaves_it() -> None:
    d = drawn()
    d.edit("draw", Drawing(100, (SQUARE, APART)))
    found = []
    for learner in ("convex-cover", "tiles", "discs", "cover"):
        d.set_run(learner=learner)
        found.append(d.work.run["k"])
    assert found == [5, 5, 2, 2]


def test_other_settings_leave_k_alone() -> None:
    d = drawn()
    before = d.work.run["k"]
    d.set_run(epsilon=3.0)
    d.set_sampling(n=77)
    d.sample()
    assert (d.work.run["k"], d.work.k_drawn) == (before, True)


@pytest.mark.parametrize("k_drawn", [True, False])
def test_whether_k_follows_is_kept(tmp_path: Path, k_drawn: bool) -> None:
    work = Work(drawing=Drawing(100, (SQUARE,)), run=FIRST_RUN.with_(k=11), k_drawn=k_drawn)
    save_session(tmp_path / "a.geodp", work)
    opened = load_session(tmp_path / "a.geodp").work
    assert opened == work
    d = Document(opened)
    d.edit("draw", Drawing(100, (HOLED,)))
    assert d.work.run["k"] == (4 if k_drawn else 11)


def test_imported_examples_keep_their_k_whatever_is_drawn() -> None:
    document = Document(Work(drawing=Drawing(100, (SQUARE,))))
    points = np.array([[3, 4], [9, 2]])
    real = Examples(points, np.array([1, 0]), Frame(100))
    document.change("import", examples=real, simulated=False)
    before = document.work.run["k"]
    document.edit("draw", Drawing(100, (TRIANGLE,)))
    assert document.work.run["k"] == before
    assert suggested_k(document.work.drawing, document.work.run.declared) != before
