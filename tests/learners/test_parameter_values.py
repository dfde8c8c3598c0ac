"""Numbers as NumPy, fractions and decimals give them are Python's own once a run is planned; what
is no number is named, and nothing is drawn."""

import inspect
import itertools
import json
import math
from decimal import Decimal
from fractions import Fraction
from typing import Any, Literal, get_args, get_type_hints

import numpy as np
import pytest
from every_learner import PLANE, SHORT, made, sample

import geodp
from learners import MultiplicativeWeights, PrivateExperts
from learners.core.estimator import Estimator
from learners.declaration import Learner, read
from learners.finite.amplification import AmplifiedLearner
from learners.registry import BY_ID, LEARNERS
from learners.stability.base_learners import GradientDescentClassifier
from learners.stability.classifiers import StableQueryClassifier, StableSoftClassifier
from learners.stability.label_private import LabelPrivateLearner


def numbers(model: Any) -> dict[str, Any]:
    """The parameters that are numbers, by name."""
    declared = get_type_hints(type(model))
    found = {name: value for name, value in model.get_params().items() if value is not None}
    return {
        name: value
        for name, value in found.items()
        if any(one in (int, float) for one in (declared[name], *get_args(declared[name])))
    }


every = pytest.mark.parametrize("declared", LEARNERS, ids=lambda one: one.id)


@every
def test_numbers_of_numpy_give_the_release_of_pythons_own(declared: Learner) -> None:
    model = made(declared)
    X, y = sample(declared)
    theirs = {
        name: np.int64(value) if isinstance(value, int) else np.float64(value)
        for name, value in numbers(model).items()
    }
    other = made(declared, **theirs)
    release = model.fit(X, y).release_
    assert other.fit(X, y).release_ == release
    parameters = getattr(release, "parameters", ())
    json.dumps(parameters)  # refuses what is NumPy's own
    assert all(other.get_params()[name] is value for name, value in theirs.items())


@pytest.mark.parametrize("kind", [int, float, float | None, int | Literal["auto"] | None], ids=str)
@pytest.mark.parametrize(
    "value", [True, np.True_, float("nan"), np.float32("inf"), "3", 1j, np.array(3), np.array([3]),
              np.timedelta64(3, "s"), [3], Decimal("nan")], ids=repr,
)  # fmt: skip
def test_what_is_no_number_is_named_in_one_line(kind: Any, value: Any) -> None:
    with pytest.raises(ValueError, match=r"^rate must be .*got ") as caught:
        read("rate", kind, value)
    assert "\n" not in str(caught.value)


@every
def test_every_number_of_a_learner_is_read_before_anything_is_drawn(declared: Learner) -> None:
    X, y = sample(declared)
    for name, value in itertools.product(numbers(made(declared)), (True, np.array([3]))):
        wrong = made(declared, **{name: value})
        with pytest.raises(ValueError, match=rf"^{name} must be .*got "):
            wrong.fit(X, y)
        assert not hasattr(wrong, "release_")


@pytest.mark.parametrize(
    ("value", "own"),
    [
        (np.float32(0.1), 0.10000000149011612), (np.float16(2), 2.0), (2, 2.0), (np.uint8(3), 3.0),
        (Fraction(1, 3), 1 / 3), (Decimal("0.1"), 0.1), (np.longdouble(1.5), 1.5),
    ],
)  # fmt: skip
def test_any_number_is_an_epsilon_that_can_be_stated(value: Any, own: float) -> None:
    # a bisection that asked 1e-13 of a float32 did not end
    for declared in (BY_ID["cover"], BY_ID["tiles"], BY_ID["quadtree"], BY_ID["conjunction"]):
        model = made(declared, epsilon=value, seed=None)
        X, y = sample(declared)
        spent = model.fit(X, y).privacy_
        assert (type(spent.epsilon), spent.epsilon) == (float, own)
    examples = geodp.sample("L", 200, grid=16, seed=1)
    learned = geodp.learn(examples, "quadtree", epsilon=value)
    assert learned.statement.startswith(f"({own:g}, 0)-differentially private")


@pytest.mark.parametrize(
    "value", [64, 64.0, np.int8(64), np.uint64(64), np.float32(64), Fraction(64), Decimal(64)]
)
def test_a_whole_number_is_one_whatever_its_type(value: Any) -> None:
    assert type(read("grid", int, value)) is int
    assert read("grid", int, value) == 64
    assert type(read("epsilon", float, value)) is float


@every
def test_no_number_is_too_large_to_be_read(declared: Learner) -> None:
    X, y = sample(declared)
    for each in declared.parameters:
        if each.kind == "whole number" and each.high < math.inf:
            with pytest.raises(ValueError, match=rf"^{each.name} must be a whole number and lie"):
                made(declared, **{each.name: 10**400}).fit(X, y)


def test_choices_and_auto_of_an_array_are_those_that_are_declared() -> None:
    model = made(
        BY_ID["cover"], k=np.array(["auto"])[0], measure=np.array(["paper"])[0]
    ).validated()
    assert (type(model.k), type(model.measure)) == (str, str)
    with pytest.raises(ValueError, match="measure must be 'chord' or 'paper', got 'round'"):
        made(BY_ID["cover"], measure="round").plan()


@every
def test_a_run_refuses_what_is_beyond_what_is_declared(declared: Learner) -> None:
    """Nothing is entered in a ledger then, and every release can be read back."""
    X, y = sample(declared)
    for each in declared.parameters:
        for value in (each.low - 1, each.low, each.high, each.high + 1):
            if each.kind == "choice" or math.isinf(value) or each.accepts(value):
                continue
            model = made(declared, **{each.name: value})
            with pytest.raises(ValueError, match=r"must|has|outside|degree|use a whole"):
                model.plan() if isinstance(model, Estimator) else model.fit(X, y)


@pytest.mark.parametrize("kind", [StableQueryClassifier, StableSoftClassifier, LabelPrivateLearner])
def test_learners_on_chunks_read_numbers_too(kind: Any) -> None:
    own = {"queries": 4, "halts": 2, "chunks": 9, "epsilon": 8.0, "delta": 1e-5, "seed": 1}
    theirs = {name: np.asarray(value)[()] for name, value in own.items()}
    more = {"public": PLANE[:4]} if kind is LabelPrivateLearner else {}
    first, second = (
        kind(base=SHORT["base"], **given).fit(PLANE, PLANE[:, 0] // 5, **more).release_
        for given in (own, theirs)
    )
    assert first.privacy == second.privacy
    json.dumps(second.parameters)
    with pytest.raises(ValueError, match=r"^halts must be a whole number, got True"):
        kind(base=SHORT["base"], halts=True).fit(PLANE, PLANE[:, 0] // 5)


def test_other_learners_read_numbers_too() -> None:
    descent = GradientDescentClassifier(grid=np.int64(8), steps=np.int64(9), rate=np.float32(1))
    release = descent.fit(PLANE, PLANE[:, 0] // 5).release_
    json.dumps(release.parameters)
    one = made(BY_ID["private-finite-class"], epsilon=np.float32(1), seed=None)
    model = AmplifiedLearner(learner=one, beta=np.float32(0.25), seed=np.int64(1))
    assert type(model.fit(PLANE[:, 0], PLANE[:, 0] // 5).privacy_.epsilon) is float
    game = PrivateExperts(experts=np.int64(2), rounds=np.int64(3), epsilon=np.float32(2), seed=1)
    assert type(game.run([[0, 1]] * 3).privacy.epsilon) is float
    with pytest.raises(ValueError, match=r"^rate must be a finite number, got True"):
        MultiplicativeWeights(experts=2, rate=True)


@pytest.mark.parametrize(
    "declared",
    [one for one in LEARNERS if "positive" in inspect.signature(one.load()).parameters],
    ids=lambda one: one.id,
)
def test_every_learner_of_two_labels_gives_them_back(declared: Learner) -> None:
    model = made(declared)
    X, y = sample(declared)
    ones = np.asarray(y) == 1
    plain = model.fit(X, ones).release_
    words = made(declared, positive="low").fit(X, np.where(ones, "low", "high"))
    assert words.release_ == plain
    assert words.classes_.tolist() == ["high", "low"]
    assert np.array_equal(words.predict(X) == "low", model.predict(X) == 1)
    if declared.id != "memorizing":
        assert words.score(X, np.where(ones, "low", "high")) == model.score(X, ones)


@every
def test_rows_that_are_masked_are_refused_and_not_counted(declared: Learner) -> None:
    model = made(declared)
    X, y = (np.asarray(one) for one in sample(declared))

    def masked(rows: Any) -> Any:
        mask = np.zeros(rows.shape, dtype=bool)
        mask[5] = True
        return np.ma.array(rows, mask=mask)

    for given in ((masked(X), y), (X, masked(y))):
        with pytest.raises(ValueError, match="row 5 is masked: leave such rows out"):
            model.fit(*given)
        assert not hasattr(model, "release_")
    # a masked array without a masked row is an array
    release = made(declared).fit(np.ma.array(X), np.ma.array(y)).release_
    assert release == model.fit(X, y).release_


def test_counts_and_new_points_that_are_masked_are_refused() -> None:
    model = geodp.QuadtreeLearner(grid=8, seed=1)
    counts = np.ma.masked_less(np.ones((2, 9, 9), dtype=int), 2)
    with pytest.raises(ValueError, match="masked"):
        model.fit_counts(counts)
    model.fit(PLANE, PLANE[:, 0] // 5)
    with pytest.raises(ValueError, match="row 1 is masked"):
        model.predict(np.ma.array([[1, 2], [3, 4]], mask=[[0, 0], [0, 1]]))
