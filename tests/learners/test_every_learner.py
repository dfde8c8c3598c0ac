"""What holds of every declared learner: parameters, examples, steps, books, shape."""

import pickle
from typing import Any

import numpy as np
import pandas
import pytest
import shapely
from every_learner import made, sample

from geodp import NotFittedError
from geometry.tiling import Tile
from learners.core.estimator import Estimator
from learners.core.selection import Cancelled
from learners.declaration import Learner
from learners.registry import LEARNERS

every = pytest.mark.parametrize("declared", LEARNERS, ids=lambda one: one.id)
in_steps = pytest.mark.parametrize(
    "declared",
    [one for one in LEARNERS if issubclass(one.load(), Estimator)],
    ids=lambda one: one.id,
)
private = pytest.mark.parametrize(
    "declared", [one for one in LEARNERS if one.private], ids=lambda one: one.id
)


@every
def test_parameters_out_of_their_range_are_refused_by_name(declared: Learner) -> None:
    X, y = sample(declared)
    wrong: dict[str, list[Any]] = {
        "epsilon": [0.0, -1.0], "delta": [0.0, 1.0], "neighbours": ["all"], "grid": [0],
        "measure": ["other"],
    }  # fmt: skip
    if declared.id not in ("tiles", "convex"):
        wrong["beta"] = [0.0, 1.0]
    for parameter in declared.parameters:
        if parameter.name in ("seed", "bound"):  # any whole number; of what has levels alone
            continue
        if parameter.low is not None and parameter.kind == "whole number":
            wrong.setdefault(parameter.name, []).append(int(parameter.low) - 1)
        if parameter.kind == "choice":
            wrong.setdefault(parameter.name, []).append("other")
    for name, values in wrong.items():
        if name not in made(declared).get_params():
            continue
        for value in values:
            model = made(declared, **{name: value})
            with pytest.raises(ValueError, match=name.split("_")[-1]) as caught:
                model.fit(X, y)
            assert "\n" not in str(caught.value)
            assert not hasattr(model, "release_")


@in_steps
@pytest.mark.parametrize("check", [None, 1 - 1e-9])
def test_what_a_run_refuses_it_refuses_before_it_draws(
    declared: Learner, check: float | None
) -> None:
    """Each parameter at its ends: who asks for the first record has entered the run in a ledger."""
    X, y = sample(declared)
    begun = 0
    for parameter in declared.parameters:
        given = [value for value, _ in parameter.choices]
        given += [] if given else [parameter.low, min(parameter.high, 4)]
        given += [1e-9, 1 - 1e-9] if parameter.kind == "number" else []
        given = [value for value in given if parameter.accepts(value)]
        for value in given:
            told = {"check": check} if declared.parameter("check") else {}
            model = made(declared, **told | {parameter.name: value})
            try:
                model.plan()
                steps = model.steps(X, y)
            except ValueError:
                continue
            next(steps)
            begun += 1
    assert begun > 2


@private
def test_a_seed_voids_privacy_and_replacing_one_runs_on_half(declared: Learner) -> None:
    X, y = sample(declared)
    assert not made(declared).fit(X, y).privacy_.private
    whole, half = (
        made(declared, epsilon=epsilon, neighbours=neighbours, seed=None).fit(X, y).privacy_
        for epsilon, neighbours in ((2.0, "replace-one"), (1.0, "add-remove"))
    )
    assert whole.private
    assert half.private
    assert (whole.epsilon, whole.neighbours) == (2.0, "replace-one")
    if whole.account == "basic" and not whole.delta and declared.id != "private-parity":
        assert whole.charges == half.charges


@private
@pytest.mark.parametrize("n", [0, 1])
def test_no_example_and_one_are_learned_from_without_a_word(declared: Learner, n: int) -> None:
    X = sample(declared)[0]
    for label in (0, 1):
        model = made(declared, seed=None).fit(X[:n], np.full(n, label))
        assert model.release_.privacy.epsilon == 1


@in_steps
def test_a_second_fit_gives_the_same_and_leaves_the_examples_alone(declared: Learner) -> None:
    X, y = (np.array(each) for each in sample(declared))
    X.flags.writeable = y.flags.writeable = False
    model = made(declared)
    first = model.fit(X, y).release_
    assert model.fit(X, y).release_ == first
    assert pickle.loads(pickle.dumps(model)).release_ == first
    assert model.fit(X, np.zeros(len(X))).classes_.tolist() == [0, 1]
    model.steps(X, y)
    assert not hasattr(model, "release_")  # a run that begins forgets the last


@in_steps
def test_rows_off_the_grid_and_other_labels_are_refused(declared: Learner) -> None:
    X, y = sample(declared)
    model = made(declared)
    far = X.copy()
    far[1] = 99
    with pytest.raises(ValueError, match=r"row 1: .* is off the grid 0\.\.\d"):
        model.fit(far, y)
    with pytest.raises(ValueError, match=r"row 0: label .*2.* is neither 0 nor 1"):
        model.fit(X[:1], [2])
    assert not hasattr(model, "release_")


@in_steps
def test_a_run_that_is_stopped_or_left_releases_nothing(declared: Learner) -> None:
    X, y = sample(declared)

    def stop(progress: object) -> None:
        raise Cancelled

    model = made(declared)
    rest = np.random.default_rng(1).integers(0, model.grid + 1, (900, model.dimensions))
    if declared.private:  # a search on so few examples is over before it asks
        with pytest.raises(Cancelled):
            model.fit(rest, np.arange(900) % 2, watch=stop)
    assert not hasattr(model, "release_")
    stream = model.steps(X, y)
    record = next(stream)
    for _ in range(record.steps - record.step):
        assert not hasattr(model, "release_")
        with pytest.raises(NotFittedError):
            model.predict(X)
        record = next(stream, record)
    assert not list(stream)
    assert model.release_.learner == type(model).__name__


@in_steps
def test_every_step_keeps_the_curators_books(declared: Learner) -> None:
    X, _ = sample(declared)
    y = (X.sum(axis=1) <= X.max() + 1) ^ (np.random.default_rng(1).random(len(X)) < 0.1)
    model = made(declared, k=2, n_steps=2, seed=3)
    records = list(model.steps(X, y))
    assert [record.step for record in records] == list(range(1, len(records) + 1))
    assert {record.steps for record in records} <= {len(records), records[0].steps}
    stages = list(model.staged_predict(X))
    assert len(stages) == len(records)
    for record, predicted in zip(records, stages, strict=True):
        books = record.diagnostics
        assert books.false_positive_rate == pytest.approx(np.mean((predicted == 1) & ~y))
        assert books.false_negative_rate == pytest.approx(np.mean((predicted == 0) & y))
        assert books.empirical_error == pytest.approx(np.mean(predicted != y))
        tile = getattr(record.release, "tile", None)
        if isinstance(tile, Tile):  # no zone, whose examples are found by its triangles
            held = tile.holds(X)
            assert books.positives_alive == np.count_nonzero(y[held])
            assert books.negatives_alive == np.count_nonzero(~y[held])
    assert (stages[-1] == model.predict(X)).all()
    assert books.empirical_error == pytest.approx(1 - model.score(X, y))


@in_steps
def test_the_shape_is_the_prediction_off_its_border(declared: Learner) -> None:
    X, y = sample(declared)
    model = made(declared, seed=1, epsilon=4.0).fit(X, y)
    if model.dimensions == 3:
        with pytest.raises(ValueError, match="no shape in the plane"):
            _ = model.polygons_
        return
    shape = model.polygons_
    assert shape.is_valid
    spots = shapely.points(X.astype(float))
    clear = shapely.distance(shape.boundary, spots) > 1 / 64
    clear &= (X.min(axis=1) > 0) & (X.max(axis=1) < 8)
    assert (shapely.contains(shape, spots)[clear] == model.predict(X)[clear]).all()


@pytest.mark.parametrize(
    "declared",
    [one for one in LEARNERS if hasattr(one.load(), "steps") and "consistent" not in one.id],
    ids=lambda one: one.id,
)
def test_a_run_knows_its_own_examples_whatever_other_run_has_begun(declared: Learner) -> None:
    X, y = sample(declared)
    model = made(declared)
    first = model.steps(X, np.where(y, "yes", "no"))
    frame = pandas.DataFrame(X, columns=["a", "b", "c"][: X.shape[1]])
    list(model.steps(frame, np.where(y, 1, -1)))
    assert model.classes_.tolist() == [-1, 1]
    assert model.feature_names_in_.tolist() == list(frame.columns)
    list(first)
    assert model.classes_.tolist() == ["no", "yes"]
    assert not hasattr(model, "feature_names_in_")
