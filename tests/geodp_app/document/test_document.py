"""The document: one place for every change; its parts stay in step and undo takes all back."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import shapely
from hypothesis import given, settings, strategies as st
from run_charges import run_charge

import assets
from geodp import Bounds, Examples, Frame, GridMap, InputError
from geodp_app.document import history
from geodp_app.document.document import Document
from geodp_app.document.targets import GridChange, example_work, fit_drawing
from geodp_app.document.work import SampleSettings, Work
from geodp_app.drawing.editor import Editor
from geodp_app.drawing.shapes import Drawing, Shape

SQUARE = Shape(((10, 10), (50, 10), (50, 50), (10, 50)), (((20, 20), (30, 20), (20, 30)),))
OTHER = Shape(((60, 60), (90, 60), (90, 90)))
DRAWING = Drawing(100, (SQUARE,))
BOX, ELSEWHERE = Bounds(0, 0, 10, 10), Bounds(5, 5, 15, 15)


def document(**fields) -> Document:
    sampling = SampleSettings(n=500)
    return Document(Work(**{"drawing": DRAWING, "sampling": sampling, **fields}))


def imported() -> Examples:
    return Examples(np.array([[1, 2], [3, 4]]), np.array([0, 1]), Frame(100))


# -- watching -----------------------------------------------------------------------------------


def test_observers_hear_of_every_change_until_they_unsubscribe():
    d, heard = document(), []
    unsubscribe = d.subscribe(lambda: heard.append(d.history.undo_label))
    d.set_run(k=7)
    d.undo()
    d.redo()
    d.mark_saved(Path("a.geodp"))
    d.mark_saved(None)
    assert heard == [
        "change “Triangles k”",
        None,
        "change “Triangles k”",
        "change “Triangles k”",
        "change “Triangles k”",
    ]
    unsubscribe()
    unsubscribe()
    d.set_run(k=8)
    d.new()
    assert len(heard) == 5


def test_an_observer_may_leave_and_change_while_it_is_told():
    d, heard = document(), []
    leave = d.subscribe(lambda: leave())
    d.subscribe(lambda: d.change("rename", name="x"))  # settles: the second time nothing differs
    d.subscribe(lambda: heard.append(d.work.name))
    d.set_run(k=7)
    assert heard == ["x", "x"]
    assert d.work.name == "x"


def test_a_change_that_changes_nothing_is_no_step_and_is_not_told():
    d, heard = document(), []
    d.subscribe(lambda: heard.append(1))
    d.set_run(k=d.work.run["k"])
    d.set_sampling()
    d.edit("draw", Drawing(100, (SQUARE,)))
    d.set_grid(100)
    d.change("change the bounds", bounds=None)
    d.clear_examples()
    assert (heard, d.history.undo_label, d.history.dirty) == ([], None, False)
    assert (d.undo(), d.redo()) == (None, None)


# -- undo ---------------------------------------------------------------------------------------


def test_everything_in_the_work_is_undone_and_redone():
    d = document()
    states = [d.work]
    changes = [
        lambda: d.edit("draw", Drawing(100, (SQUARE, OTHER))),
        lambda: d.sample(),
        lambda: d.change("change the bounds", bounds=BOX),
        lambda: d.set_sampling(noise=0.1, seed=None),
        lambda: d.set_run(learner="convex-cover"),
        lambda: d.change("rename", name="field"),
        lambda: d.add_dab((5, 6, 7)),
        lambda: d.set_grid(50),
        lambda: d.set_sampling(distribution="uniform"),
        lambda: d.sample(),
        lambda: d.clear_examples(),
        lambda: d.open_example("tri"),
        lambda: d.edit("clear the drawing", Drawing(d.drawing.grid)),
    ]
    for change in changes:
        change()
        assert d.work is not states[-1]
        states.append(d.work)
    for state in reversed(states[:-1]):
        assert d.undo() is not None
        assert d.work is state
    assert not d.history.undo_label
    for state in states[1:]:
        d.redo()
        assert d.work is state
    assert not d.history.redo_label


def test_typing_a_number_is_one_step_and_each_choice_is_its_own():
    d = document()
    for n in (1, 10, 100):
        d.set_sampling(n=n)
    d.set_run(learner="convex-cover")
    d.set_run(learner="greedy-cover")
    for k in (2, 20):
        d.set_run(k=k)
    d.set_run(n_steps=3)
    labels = []
    while d.history.undo_label:
        labels.append(d.undo())
    assert labels == [
        "change “Steps m”",
        "change “Triangles k”",
        "change the learner",
        "change the learner",
        "change the number of examples",
    ]


def test_a_stroke_of_dabs_is_one_step_and_makes_the_sample_painted():
    d = document()
    for x in (1, 2, 4):
        d.add_dab((x, 5, 2))
    for x in (50, 52):
        d.add_dab((x, 50, 2))
    d.end_merging()
    d.add_dab((52, 50, 2))
    stroke, other = ((1, 5, 2), (2, 5, 2), (4, 5, 2)), ((50, 50, 2), (52, 50, 2))
    assert d.work.sampling.dabs == (*stroke, *other, (52, 50, 2))
    assert d.work.sampling.distribution == "painted"
    d.undo()
    assert d.work.sampling.dabs == (*stroke, *other)
    d.undo()
    assert d.work.sampling.dabs == stroke
    d.undo()
    assert d.work.sampling == SampleSettings(n=500)


def test_the_paint_tool_makes_one_step_of_a_stroke():
    d = document()
    editor = Editor(d)
    editor.set_tool("paint")
    for start in (10, 60):
        editor.press((start, start), 1)
        editor.move((start + 30, start), 1)
        editor.release((start + 30, start), 1)
    assert len(d.work.sampling.dabs) > 10
    assert d.undo() == "paint"
    assert {y for _, y, _ in d.work.sampling.dabs} == {10}
    d.undo()
    assert not d.history.undo_label


def test_dirty_and_path_follow_save_and_undo():
    d = document()
    assert (d.history.dirty, d.path) == (False, None)
    d.set_run(k=5)
    d.mark_saved(Path("a.geodp"))
    assert (d.history.dirty, d.path) == (False, Path("a.geodp"))
    d.set_run(k=6)
    assert d.history.dirty
    d.undo()
    assert (d.history.dirty, d.work.run["k"]) == (False, 5)
    d.mark_unsaved()
    assert d.history.dirty
    work = Work(name="b")
    d.new(work, Path("b.geodp"))
    assert (d.history.dirty, d.path, d.work, d.history.undo_label) == (
        False,
        Path("b.geodp"),
        work,
        None,
    )


# -- which examples stay ------------------------------------------------------------------------


@pytest.mark.parametrize(
    "change", [lambda d: d.set_grid(200), lambda d: d.change("change the bounds", bounds=BOX)]
)
def test_a_simulated_sample_goes_with_its_grid_in_the_same_step(change):
    d = document()
    d.sample()
    sampled = d.work
    change(d)
    assert d.work.examples is None
    d.undo()
    assert d.work is sampled


def test_settings_and_names_leave_a_simulated_sample():
    d = document()
    d.sample()
    examples = d.work.examples
    d.set_sampling(n=7, distribution="gaussian")
    d.set_run(epsilon=0.5)
    d.change("rename", name="x")
    d.add_dab((1, 1, 1))
    assert d.work.examples is examples


@pytest.mark.parametrize("change", [lambda d: d.set_grid(200), lambda d: d.clear_examples()])
def test_imported_examples_survive_drawing_but_not_another_grid(change):
    d = document(examples=imported(), simulated=False)
    examples = d.work.examples
    d.edit("draw", Drawing(100, (OTHER,)))
    d.edit("clear the drawing", Drawing(d.drawing.grid))
    assert d.work.examples is examples
    change(d)
    assert (d.work.examples, d.work.simulated) == (None, True)


def test_imported_examples_may_be_put_on_the_globe_but_not_moved_there():
    d = document(examples=imported(), simulated=False)
    d.change("change the bounds", bounds=BOX)
    assert d.work.examples.frame == Frame(100, BOX)
    assert (d.work.examples.points == imported().points).all()
    d.change("change the bounds", bounds=ELSEWHERE)
    assert d.work.examples is None


# -- sampling -----------------------------------------------------------------------------------


def test_the_seed_repeats_a_sample_and_none_does_not():
    d = document()
    d.sample()
    first = d.work.examples.points
    d.sample()
    assert (d.work.examples.points == first).all()
    d.set_sampling(seed=None)
    d.sample()
    second = d.work.examples.points
    d.sample()
    assert (d.work.examples.points != second).any()


def test_noise_and_paint_reach_the_sample():
    d = document()
    d.add_dab((15, 15, 3))
    d.set_sampling(noise=1.0)
    d.sample()
    assert d.work.examples.labels.sum() == 0  # all inside, all flipped
    assert np.hypot(*(d.work.examples.points - 15).T).max() < 3.8


def test_old_examples_are_forgotten_when_they_take_too_much_memory(monkeypatch):
    monkeypatch.setattr(history, "MOST_BYTES", 256 * 2**10)
    d = document()
    d.set_sampling(n=10**3)
    for _ in range(14):  # 24 kB each
        d.sample()
    steps = 0
    while d.undo() == "sample":
        steps += 1
    assert steps == 256 * 2**10 // (24 * 10**3)


def test_an_empty_drawing_gives_zeros_or_says_what_to_do():
    d = document(drawing=Drawing(100))
    d.sample()
    assert d.work.examples.labels.sum() == 0
    for distribution in ("clustered", "gaussian"):
        d.set_sampling(distribution=distribution)
        with pytest.raises(InputError, match=f"nothing is drawn to place a {distribution} sample"):
            d.sample()
    d.set_sampling(distribution="painted")
    with pytest.raises(InputError, match="nothing is painted yet: paint where"):
        d.sample()
    d.set_sampling(dabs=((50, 50, 4),))
    d.sample()
    assert d.work.examples.labels.sum() == 0


# -- what is refused ----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda d: d.set_grid(0), "grid size 0 is outside 1..1048576"),
        (lambda d: d.set_grid(10.5), "grid size 10.5"),
        (lambda d: d.set_sampling(n=10**8), "number of examples 100000000"),
        (lambda d: d.set_sampling(noise=1.01), "label noise 1.01"),
        (lambda d: d.set_sampling(noise=float("nan")), "label noise nan"),
        (lambda d: d.set_sampling(distribution="even"), "distribution 'even': use one of uniform"),
        (lambda d: d.set_sampling(seed=1.5), "seed of the sample 1.5"),
        (lambda d: d.add_dab((101, 5, 1)), "not on the grid 0..100"),
        (lambda d: d.add_dab((1, 5, -1)), "not on the grid 0..100"),
        (lambda d: d.set_run(learner="best"), "learner 'best'"),
        (lambda d: d.set_run(epsilon=0.0), "epsilon must be a number and be above 0, not 0.0"),
        (lambda d: d.set_run(k=0), "k must be a whole number and lie between 1 and 1000, not 0"),
        (lambda d: d.set_run(support=True), "support must be a number and .* not True"),
        (lambda d: d.set_run(seed=-3), "seed must be a whole number and be at least 0, not -3"),
        (lambda d: d.set_run(neighbours="replace-label"), "cover: neighbours must be one of"),
        (lambda d: d.set_run(kept=2), "kept = 2: use a whole number below halts = 2"),
        (lambda d: d.change("rename", name="x" * 201), "at most 200 characters"),
        (
            lambda d: d.edit("draw", Drawing(100, (Shape(((0, 0), (101, 0), (5, 5))),))),
            r"vertex \(101, 0\) is off the grid 0..100",
        ),
        (lambda d: d.change("x", examples=imported(), drawing=Drawing(3)), "examples in"),
    ],
)
def test_wrong_values_are_refused_and_leave_everything_as_it_was(change, message):
    d = document()
    before = d.work
    with pytest.raises((InputError, ValueError), match=message):
        change(d)
    assert d.work is before
    assert not d.history.undo_label


def test_labels_alone_are_protected_only_as_long_as_the_learner_can():
    d = document()
    d.set_run(learner="stability", neighbours="replace-label")
    assert d.work.run.parameters()["neighbours"] == "replace-label"
    assert d.work.run.whole_neighbours == "add-remove"
    d.set_run(k=3)
    assert d.work.run["neighbours"] == "replace-label"
    d.set_run(learner="cover")
    assert d.work.run["neighbours"] == "add-remove"
    d.undo()
    assert d.work.run["neighbours"] == "replace-label"


def test_imported_examples_must_be_labelled_points_of_the_grid():
    off = Examples(np.array([[1, 101]]), np.array([0]), Frame(100))
    odd = Examples(np.array([[1, 2]]), np.array([2]), Frame(100))
    bare = Examples(np.zeros((1, 2), np.int64), np.zeros(0, np.int64), Frame(100))
    for examples in (off, odd, bare):
        with pytest.raises(InputError):
            document().change("import", examples=examples, simulated=False)
    none = Examples(np.zeros((0, 2), np.int64), np.zeros(0, np.int64), Frame(100))
    d = document()
    d.change("import", examples=none, simulated=False)
    assert d.work.examples is none


# -- grids --------------------------------------------------------------------------------------


def test_a_finer_grid_scales_every_vertex_and_dab_exactly():
    d = document()
    d.add_dab((10, 20, 3))
    d.set_grid(400)
    (shape,) = d.drawing.shapes
    assert d.drawing.grid == 400
    assert set(shape.outer) == {(4 * x, 4 * y) for x, y in SQUARE.outer}
    assert [set(hole) for hole in shape.holes] == [{(80, 80), (120, 80), (80, 120)}]
    assert d.work.sampling.dabs == ((40, 80, 12),)
    d.undo()
    assert d.drawing is DRAWING


def test_a_coarser_grid_keeps_overlapping_shapes_apart_and_drops_what_vanishes():
    speck = Shape(((1, 1), (2, 1), (1, 2)))
    over = Shape(((40, 40), (80, 40), (80, 80)))
    d = document(drawing=Drawing(100, (SQUARE, over, speck)))
    d.set_grid(10)
    assert len(d.drawing.shapes) == 2
    assert set(d.drawing.shapes[0].outer) == {(1, 1), (5, 1), (5, 5), (1, 5)}
    assert set(d.drawing.shapes[1].outer) == {(4, 4), (8, 4), (8, 8)}


def test_a_dab_never_shrinks_to_nothing():
    change = GridChange(Frame(100), Frame(2))
    assert change.dabs(((50, 50, 1), (99, 0, 0), (0, 0, 60))) == ((1, 1, 1), (2, 0, 0), (0, 0, 1))


def test_a_drawing_keeps_its_place_on_the_globe_where_both_frames_have_one():
    change = GridChange(Frame(100, BOX), Frame(50, ELSEWHERE))
    shape = Shape(((60, 60), (100, 60), (100, 100), (60, 100)))
    moved = change.drawing(Drawing(100, (shape, SQUARE)))
    old, new = GridMap(100, BOX), GridMap(50, ELSEWHERE)
    assert new.to_lonlat(np.array([[5.0, 5.0]])) == pytest.approx(old.to_lonlat([[60.0, 60.0]]))
    assert len(moved.shapes) == 1  # the other one is outside
    assert set(moved.shapes[0].outer) == {(5, 5), (25, 5), (25, 25), (5, 25)}
    assert change.dabs(((60, 60, 10), (10, 10, 5))) == ((5, 5, 5),)


points = st.tuples(st.integers(0, 60), st.integers(0, 60))
rings = st.lists(points, min_size=3, max_size=7).map(tuple)


@given(st.lists(st.tuples(rings, st.lists(rings, max_size=1).map(tuple)), max_size=3), st.data())
@settings(max_examples=150, deadline=None)
def test_any_drawing_can_go_to_any_grid_and_stays_near_and_valid(shapes, data):
    drawing = Drawing(60, tuple(Shape(outer, holes) for outer, holes in shapes))
    grid = data.draw(st.integers(1, 200))
    d = Document(Work(drawing=drawing))
    d.set_grid(grid)
    d.sample()
    moved = d.drawing
    assert moved.grid == grid
    if grid != 60:
        for shape in moved.shapes:
            assert shapely.is_valid(shapely.Polygon(shape.outer, shape.holes))
    scaled = shapely.transform(drawing.region(), lambda xy: xy * (grid / 60))
    length = sum(shapely.Polygon(shape.outer, shape.holes).length for shape in drawing.shapes) * (
        grid / 60
    )
    # rounding moves an outline by less than a step
    off = shapely.symmetric_difference(scaled, moved.region()).area
    assert off <= 1.5 * length + 1e-6
    d.undo()
    d.undo()
    assert d.drawing is drawing


def test_a_region_over_the_edge_is_cut_there():
    drawing = fit_drawing(shapely.box(-5, 3, 20, 200), 10)
    assert set(drawing.shapes[0].outer) == {(0, 3), (10, 3), (10, 10), (0, 10)}


# -- bundled examples ---------------------------------------------------------------------------


@pytest.mark.parametrize("name", assets.examples())
def test_every_example_opens_with_settings_that_suit_it(name):
    d = document(examples=imported(), simulated=False)
    d.set_run(learner="convex-cover", epsilon=0.3)
    before = d.work
    d.open_example(name)
    work = d.work
    # half as many as the drawing needs: four, five, five; coasts have more than a run takes
    drawn = {"tri": 1, "L": 2, "star": 3, "three": 3}
    own = assets.example(name)
    assert (work.run["k"], work.run["n_steps"]) == (drawn.get(name, own.k), None)
    assert work.k_drawn == (name in drawn) == (own.k is None)
    shown = (work.run.learner, work.run["epsilon"], work.run["finish"])
    assert shown == ("cover", 1.0, own.finish)
    assert (work.drawing.grid, work.examples, work.sampling.n) == (1024, None, own.n)
    assert (work.bounds is not None) == (name in ("croatia", "switzerland", "italy"))
    assert work.name
    assert 0.05 < work.drawing.region().area / 1024**2 < 0.7
    d.sample()
    d.undo()
    d.undo()
    assert d.work is before


def test_an_example_keeps_another_learner_of_unions_and_unknown_ones_are_named():
    assert example_work("L").run.learner == "cover"
    for learner in ("tiles", "greedy-cover"):
        base = Work(run=Work().run.with_(learner))
        assert example_work("L", base).run.learner == learner
    with pytest.raises(assets.UnknownExampleError, match="no example 'moon'"):
        document().open_example("moon")


# -- what runs spent ----------------------------------------------------------------------------


def test_what_is_spent_on_a_sample_goes_and_comes_back_with_it_and_is_never_undone():
    d = document()
    d.sample()
    sample = d.work.examples
    first = run_charge(1.0, 1e-6, "add-remove", finished=False)
    d.set_run(epsilon=2.0)
    d.charge(sample, first)
    d.undo()
    assert d.work.spent == (first,)  # the setting is undone, the run is not
    d.edit("draw", Drawing(100, (OTHER,)))  # labels the points anew: nobody has run on these
    assert d.work.spent == ()
    # the run ends while its sample is out of sight
    done = replace(first, finished=True)
    d.charge(sample, done, first)
    assert d.work.spent == ()
    d.undo()
    assert d.work.spent == (done,)
    d.sample()
    assert d.work.spent == ()
    d.undo()
    d.charge(sample, first)
    assert d.work.spent == (done, first)
    d.redo()
    assert d.work.spent == ()  # another sample: nobody has run on it


def test_what_is_spent_stays_with_examples_that_are_put_on_the_globe():
    d = document(examples=imported(), simulated=False)
    charge = run_charge(1.0, 1e-6, "add-remove", finished=True)
    d.charge(d.work.examples, charge)
    d.change("change the bounds", bounds=BOX)
    assert d.work.spent == (charge,)


def test_a_charge_is_unsaved_where_it_matters():
    charge = run_charge(1.0, 1e-6, "add-remove", finished=True)
    d = document(examples=imported())  # simulated, in no file: play
    d.charge(d.work.examples, charge)
    assert not d.history.dirty
    d.mark_saved(Path("a.geodp"))
    d.charge(d.work.examples, charge)
    assert d.history.dirty
    d = document(examples=imported(), simulated=False)
    d.charge(d.work.examples, charge)
    assert d.history.dirty


def test_what_was_opened_from_elsewhere_belongs_to_no_session():
    d = document()
    d.mark_saved(Path("a.geodp"))
    d.open_example("tri")
    d.mark_saved(None)
    assert (d.path, d.history.dirty, bool(d.history.undo_label)) == (None, False, True)
    d.undo()
    assert (d.path, d.drawing) == (None, DRAWING)
