"""What every learner does with examples, labels, parameters and names; without scikit-learn."""

import copy
import pickle

import numpy as np
import pytest
import scipy.sparse
from every_learner import every_learner, made, sample

import learners
from geometry.grid import BoundsError
from learners import QuadtreeLearner
from learners.core.estimator import Estimator
from learners.core.examples import (
    OPPOSITES,
    as_numbers,
    check_examples,
    check_labels,
    check_points,
    meant,
)
from learners.core.sklearn_support import NotFittedError
from learners.privacy.randomness import SeededRandom
from learners.registry import LEARNERS

SQUARE = np.array([[x, y] for x in range(17) for y in range(17)] * 4)
INSIDE = (SQUARE.sum(axis=1) <= 14).astype(int)


every = pytest.mark.parametrize("model", every_learner(), ids=lambda model: type(model).__name__)


class Frame:
    """As much of a data frame as is asked for."""

    def __init__(self, values, columns):
        self._values = np.asarray(values)
        self.columns = columns

    def __array__(self, dtype=None, copy=None):
        return self._values.astype(dtype or self._values.dtype)


@every
def test_learned_attributes_are_there_once_a_run_is_complete(model):
    learned = ("classes_", "n_features_in_", "polygons_", "privacy_", "release_")
    assert not any(hasattr(model, name) for name in learned)
    assert model.fit(SQUARE, INSIDE) is model
    assert all(hasattr(model, name) for name in learned)
    assert model.classes_.tolist() == [0, 1]
    assert model.n_features_in_ == 2
    assert not hasattr(model, "feature_names_in_")


#: Learners that are streams of records, each as it is, checked, or protecting labels alone.
STREAMS = [
    (declared, changes)
    for declared in LEARNERS
    if issubclass(declared.load(), Estimator)
    for changes in ({}, {"check": 0.2}, {"neighbours": "replace-label"})
    if all(declared.parameter(name) for name in changes)
    and ("neighbours" not in changes or "votes" in declared.shows)
]


@pytest.mark.parametrize(
    ("declared", "changes"), STREAMS, ids=[f"{one.id} {' '.join(told)}" for one, told in STREAMS]
)
def test_nothing_is_drawn_before_the_first_record_is_asked_for(declared, changes, monkeypatch):
    """Who asks for it has entered the run in a ledger by then, and what is refused is none.  But
    what a check leaves to the learner is known by then: it may be refused, too."""
    drawn: list[int] = []
    own = SeededRandom.bytes
    monkeypatch.setattr(
        SeededRandom, "bytes", lambda self, count: drawn.append(count) or own(self, count)
    )
    X, y = sample(declared)
    steps = made(declared, **changes).steps(X, y)
    steps.refine(lambda: False)
    assert drawn == [2 * len(X)] * ("check" in changes)
    assert next(steps).step == 1
    assert bool(drawn) == declared.private


@pytest.mark.parametrize("check", [None, 0.2])
def test_what_the_examples_rule_out_is_refused_at_the_call(check):
    X = np.indices((40, 40)).reshape(2, -1).T
    by_cells = {"k": 2, "selection": "arrangement", "grid": 64}
    # of a check the rest: some 1,280 of 1,600
    votes = {"neighbours": "replace-label", "queries": 1_600 if check is None else 1_500}
    for model, many in (
        (learners.PolygonUnionLearner(**by_cells, check=check), X),
        (learners.ConvexPolygonLearner(**by_cells, check=check), X),
        (learners.PolygonUnionLearner(**by_cells | {"grid": 8}, check=check), X[X.max(1) < 8]),
        (learners.StabilityLearner(**votes, chunks=9, epsilon=8.0, grid=64, check=check), X),
    ):
        with pytest.raises(ValueError, match=r"cells|combinations of classes|are too few"):
            model.steps(many, many[:, 0] > 4)
    # what is refused of all is refused whatever the coins leave: else who tries again chooses them
    few = learners.ConvexPolygonLearner(**by_cells, check=0.99)
    with pytest.raises(ValueError, match="cells"):
        few.steps(X, X[:, 0] > 4)


def test_bounds_that_are_none_are_refused_by_the_plan_and_before_counts_are_learned_from():
    """The spent run of counted examples was lost: its bounds were read with its last record."""
    model = learners.QuadtreeLearner(grid=8, bounds=(1, 2, 3))
    for call in (model.plan, lambda: model.steps_counts(np.ones((2, 9, 9), dtype=int))):
        with pytest.raises(BoundsError, match="four numbers"):
            call()
    box = learners.QuadtreeLearner(grid=8, bounds=(6, 36, 19, 48))
    assert box.plan() == learners.QuadtreeLearner(grid=8).plan()


def test_each_private_run_has_a_name_of_its_own_that_its_plan_says():
    model = learners.NoisyHistogramLearner(grid=16, cells=2)
    names = [model.fit(SQUARE, INSIDE).release_.privacy.run for _ in range(2)]
    planned = model.plan()
    assert model.fit(SQUARE, INSIDE).release_.privacy.run == planned.run
    assert model.fit(SQUARE, INSIDE).release_.privacy.run not in (planned.run, *names)
    outcome = model.plan("a" * 32)
    copies = [pickle.loads(pickle.dumps(model)), copy.copy(model), copy.deepcopy(model)]
    named = [each.fit(SQUARE, INSIDE).release_.privacy.run for each in (model, *copies)]
    assert outcome.run == named[0] == "a" * 32
    assert len({planned.run, *names, *named}) == 7
    assert {len(name) for name in named} == {32}


@pytest.mark.parametrize("name", ["mine", "A" * 32, 5, "a" * 33])
def test_a_run_has_no_name_by_which_its_file_could_not_be_read(name):
    """The file of a run that was planned by such a name was refused when it was loaded."""
    with pytest.raises(ValueError, match="32 hexadecimal digits in small letters, not"):
        learners.NoisyHistogramLearner(grid=16).plan(name)


@pytest.mark.parametrize("seed", [1, None])
def test_a_run_that_is_not_private_has_no_name(seed):
    model = learners.NoisyHistogramLearner(grid=16, seed=1) if seed else every_learner()[-1]
    planned = model.plan("a" * 32)
    privacy = model.fit(SQUARE, INSIDE).release_.privacy
    assert (planned and planned.run, privacy and privacy.run) == (None, None)


@pytest.mark.parametrize("method", ["predict", "staged_predict"])
def test_without_a_run_there_is_nothing_to_predict(method):
    with pytest.raises(NotFittedError, match="QuadtreeLearner has not been fitted yet") as caught:
        getattr(learners.QuadtreeLearner(), method)([[0, 0]])
    again = pickle.loads(pickle.dumps(caught.value))  # as from a process beside
    assert isinstance(again, NotFittedError)
    assert str(again) == str(caught.value)
    with pytest.raises(NotFittedError):
        learners.QuadtreeLearner().score([[0, 0]], [0])


def test_a_frames_column_names_are_kept_and_asked_for_again():
    model = learners.NoisyHistogramLearner(grid=16, seed=1)
    model.fit(Frame(SQUARE, ["lon", "lat"]), INSIDE)
    assert model.feature_names_in_.tolist() == ["lon", "lat"]
    assert model.feature_names_in_.dtype == object
    expected = model.predict(SQUARE)
    assert np.array_equal(model.predict(Frame(SQUARE, ["lon", "lat"])), expected)
    with pytest.raises(ValueError, match=r"\['lon', 'lat'\], got \['lat', 'lon'\]"):
        model.predict(Frame(SQUARE[:, ::-1], ["lat", "lon"]))
    with pytest.raises(ValueError, match="feature names should match"):
        model.score(Frame(SQUARE[:, ::-1], ["lat", "lon"]), INSIDE)
    model.fit(Frame(SQUARE, [0, 1]), INSIDE)
    assert not hasattr(model, "feature_names_in_")


def test_points_are_judged_by_the_grid_that_was_learned_on():
    model = learners.NoisyHistogramLearner(grid=16, seed=1).fit(SQUARE, INSIDE)
    model.set_params(grid=4)
    assert len(model.predict([[16, 16]])) == 1
    with pytest.raises(ValueError, match=r"off the grid 0\.\.16"):
        model.predict([[17, 0]])


def test_a_score_may_weigh_the_points():
    model = learners.NoisyHistogramLearner(grid=16, seed=1).fit(SQUARE, INSIDE)
    X = np.array([[0, 0], [16, 16]])
    assert model.predict(X).tolist() == [1, 0]
    assert model.score(X, [1, 1]) == 0.5
    assert model.score(X, ["yes", "inside"], sample_weight=[3, 1]) == 0.75
    for wrong in ([0, 0], [-1, 2], [np.nan, 1], [np.inf, 1], [1, 2, 3], ["a", "b"], [1j, 1], 2):
        with pytest.raises(ValueError, match="weight"):
            model.score(X, [1, 1], sample_weight=wrong)
    with pytest.raises(ValueError, match="points that count"):
        model.score(X[:0], [])


@pytest.mark.parametrize(
    ("X", "message"),
    [
        ([1, 2], r"shape \(n, 2\), not 1 dimension\(s\): reshape"),
        ([[1], [2]], r"1 feature\(s\) while a minimum of 2 is required"),
        (np.empty((3, 0)), r"0 feature\(s\)"),
        ([[1, 2, 3]], "3 features, but 2 are expected"),
        ([[1, 2], [np.nan, 1]], r"row 1: \(nan, 1.0\) holds NaN or inf"),
        ([[1, np.inf]], "row 0: .* holds NaN or inf"),
        ([[1, 2.5]], "row 0: .* not a pair of whole numbers"),
        ([[1, 2], [1, -2]], r"row 1: \(1, -2\) is off the grid 0..16: Negative values"),
        ([[17, 2]], "row 0: .* is off the grid 0..16"),
        ([["a", "b"]], "must hold numbers"),
        ([[1j, 2]], "Complex data not supported"),
    ],
)
def test_points_that_are_refused(X, message):
    with pytest.raises(ValueError, match=message):
        check_points(X, 16)


def test_what_is_no_array_of_numbers_is_of_the_wrong_type():
    with pytest.raises(TypeError, match="Sparse data"):
        check_points(scipy.sparse.csr_array(SQUARE), 16)
    with pytest.raises(TypeError):
        check_points(np.array([[{}, 1]], dtype=object), 16)


def test_whole_numbers_are_taken_in_any_form():
    for X in ([[3, 4]], [[3.0, 4.0]], np.array([[3, 4]], np.uint8), np.array([[3, 4]], object)):
        points = check_points(X, 16)
        assert points.dtype == np.int64
        assert points.tolist() == [[3, 4]]
    assert check_points(np.empty((0, 2)), 16).shape == (0, 2)


@pytest.mark.parametrize(
    ("y", "message"),
    [
        (None, "requires y to be passed, but the target y is None"),
        ([0], r"shape \(n,\), one label for each example; there are too few"),
        ([[0], [1]], r"shape \(n,\), one label for each example; it has 2 dimensions"),
        ([0, 2], "row 1: label .*2.* is neither 0 nor 1: Only binary"),
        ([-2, 1], "row 0: .* is neither 0 nor 1"),
        (["nearly", "yes"], "row 0: label .*nearly.* is neither 0 nor 1"),
        ([1, 0.25], "row 1: .* a continuous target"),
        ([1, np.nan], "row 1: label .*nan.* is neither 0 nor 1"),
        ([None, 1], "row 0: label .* is neither 0 nor 1"),
        ([1, 1j], "Complex data not supported: y"),
    ],
)
def test_labels_that_are_refused(y, message):
    with pytest.raises(ValueError, match=message):
        check_examples([[1, 2], [3, 4]], y, 16)


# -- labels ---------------------------------------------------------------------------------


def test_no_word_says_both() -> None:
    ones, zeros = ({pair[side] for pair in OPPOSITES} for side in (0, 1))
    assert not ones & zeros
    assert all(meant(word) is True for word in ones)
    assert all(meant(word) is False for word in zeros)
    assert meant("maybe") is None
    assert meant(" YES ") is True
    assert meant("0.0") is False


@pytest.mark.parametrize(
    "labels",
    [
        [1, 0, 1], [1.0, 0.0, 1.0], [True, False, True], [1, -1, 1], ["yes", "no", "yes"],
        ["True", "false", "1"], np.array(["in", "out", "in"], dtype=object), [1, "no", True],
    ],
)  # fmt: skip
def test_all_ways_of_saying_so_are_the_same_labels(labels: object) -> None:
    assert check_labels(labels, 3).tolist() == [True, False, True]  # type: ignore[arg-type]


def test_a_label_becomes_the_same_whatever_the_others_are() -> None:
    words = np.array([word for pair in OPPOSITES for word in pair] + ["maybe"])
    together = as_numbers(words)
    alone = np.concatenate([as_numbers(words[i : i + 1]) for i in range(len(words))])
    assert np.array_equal(together, alone, equal_nan=True)


POINTS = np.array([[x, y] for x in range(9) for y in range(9)] * 40)
LOW = POINTS.sum(axis=1) < 7


@pytest.mark.parametrize(
    ("zero", "one", "positive"),
    [
        (0, 1, None), (False, True, None), (-1, 1, None), (-1.0, 1.0, None), ("no", "yes", None),
        ("outside", "inside", None), ("FALSE", "TRUE", None), ("water", "forest", "forest"),
        ("yes", "no", "no"), (7, 3, 3), (1, -1, -1), (0, 1, 1), (2.5, 0.5, 0.5),
    ],
)  # fmt: skip
@pytest.mark.parametrize("as_objects", [False, True])
def test_labels_come_back_as_they_came(zero, one, positive, as_objects):
    y = np.where(LOW, np.array([one]), np.array([zero]))
    y = y.astype(object) if as_objects else y
    model = QuadtreeLearner(grid=8, seed=1, positive=positive).fit(POINTS, y)
    predicted = model.predict(POINTS)
    assert predicted.dtype == y.dtype
    assert float(np.mean(predicted == y)) == model.score(POINTS, y) > 0.9
    assert model.classes_.tolist() == sorted([zero, one])
    assert model.labels_.tolist() == [zero, one]
    assert {*next(iter(model.staged_predict(POINTS))).tolist()} <= {zero, one}
    # what may be published holds neither
    plain = QuadtreeLearner(grid=8, seed=1).fit(POINTS, LOW)
    assert model.release_ == plain.release_
    assert set(model.release_.predict(POINTS).tolist()) == {0, 1}


@pytest.mark.parametrize(
    ("label", "positive", "pair"),
    [
        (1, None, [0, 1]), (0, None, [0, 1]), (-1, None, [-1, 1]), ("yes", None, ["no", "yes"]),
        ("Outside", None, ["Outside", "Inside"]), ("forest", "forest", ["not forest", "forest"]),
        ("water", "forest", ["water", "forest"]), (True, None, [False, True]), (7, 7, [0, 7]),
    ],
)  # fmt: skip
def test_a_sample_of_one_class_has_the_opposite_for_the_other(label, positive, pair):
    model = QuadtreeLearner(grid=8, seed=1, positive=positive).fit(POINTS, [label] * len(POINTS))
    assert model.labels_.tolist() == pair
    empty = QuadtreeLearner(grid=8, seed=1).fit(POINTS[:0], [])
    assert empty.classes_.tolist() == [0, 1]


@pytest.mark.parametrize(
    ("y", "positive"),
    [
        ([3, 3], "3"), ([3, 3], 3.5), ([3, 3], "wet"), ([3, 3], 2**70), ([True, True], "yes"),
        ([1.0, 1.0], np.nan), (np.array([255, 255], dtype=np.uint8), 300),
    ],
)  # fmt: skip
def test_a_label_that_no_example_can_have_is_refused(y, positive):
    # all that was learned was called by the other label, or NumPy's own error told of no label
    model = learners.QuadtreeLearner(grid=16, positive=positive, seed=1)
    with pytest.raises(ValueError, match=r"^positive = .* cannot be a label of y, of "):
        model.fit([[1, 1], [2, 2]], y)
    assert model.fit(np.empty((0, 2)), []).predict([[1, 1]]).shape == (1,)


def test_other_labels_need_the_one_that_is_1() -> None:
    y = np.where(LOW, "forest", "water")
    with pytest.raises(ValueError, match=r"row 0: label .*'forest'.*positive= names the label"):
        QuadtreeLearner(grid=8).fit(POINTS, y)
    y[3] = "rock"
    with pytest.raises(ValueError, match=r"besides 'forest' .* 'water' and 'rock'|'rock' and"):
        QuadtreeLearner(grid=8, positive="forest").fit(POINTS, y)
    for none in (float("nan"), None):
        with pytest.raises(ValueError, match="row 1: label"):
            QuadtreeLearner(grid=8, positive="a").fit(POINTS[:2], np.array(["a", none], object))
