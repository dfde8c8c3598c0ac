"""Words for labels mean what they say, alone and among others."""

from __future__ import annotations

import numpy as np
import pytest

from learners import QuadtreeLearner
from learners.core.examples import OPPOSITES, as_numbers, check_labels, meant


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


SQUARE = np.array([[x, y] for x in range(9) for y in range(9)] * 40)
INSIDE = SQUARE.sum(axis=1) < 7


@pytest.mark.parametrize(
    ("zero", "one", "positive"),
    [
        (0, 1, None), (False, True, None), (-1, 1, None), (-1.0, 1.0, None), ("no", "yes", None),
        ("outside", "inside", None), ("FALSE", "TRUE", None), ("water", "forest", "forest"),
        ("yes", "no", "no"), (7, 3, 3), (1, -1, -1), (0, 1, 1), (2.5, 0.5, 0.5),
    ],
)  # fmt: skip
@pytest.mark.parametrize("as_objects", [False, True])
def test_labels_come_back_as_they_came(
    zero: object, one: object, positive: object, as_objects: bool
) -> None:
    y = np.where(INSIDE, np.array([one]), np.array([zero]))
    y = y.astype(object) if as_objects else y
    model = QuadtreeLearner(grid=8, seed=1, positive=positive).fit(SQUARE, y)
    predicted = model.predict(SQUARE)
    assert predicted.dtype == y.dtype
    assert float(np.mean(predicted == y)) == model.score(SQUARE, y) > 0.9
    assert model.classes_.tolist() == sorted([zero, one])
    assert model.labels_.tolist() == [zero, one]
    assert {*next(iter(model.staged_predict(SQUARE))).tolist()} <= {zero, one}
    # what may be published holds neither
    plain = QuadtreeLearner(grid=8, seed=1).fit(SQUARE, INSIDE)
    assert model.release_ == plain.release_
    assert set(model.release_.predict(SQUARE).tolist()) == {0, 1}


@pytest.mark.parametrize(
    ("label", "positive", "pair"),
    [
        (1, None, [0, 1]), (0, None, [0, 1]), (-1, None, [-1, 1]), ("yes", None, ["no", "yes"]),
        ("Outside", None, ["Outside", "Inside"]), ("forest", "forest", ["not forest", "forest"]),
        ("water", "forest", ["water", "forest"]), (True, None, [False, True]), (7, 7, [0, 7]),
    ],
)  # fmt: skip
def test_a_sample_of_one_class_has_the_opposite_for_the_other(
    label: object, positive: object, pair: list[object]
) -> None:
    model = QuadtreeLearner(grid=8, seed=1, positive=positive).fit(SQUARE, [label] * len(SQUARE))
    assert model.labels_.tolist() == pair
    empty = QuadtreeLearner(grid=8, seed=1).fit(SQUARE[:0], [])
    assert empty.classes_.tolist() == [0, 1]


def test_other_labels_need_the_one_that_is_1() -> None:
    y = np.where(INSIDE, "forest", "water")
    with pytest.raises(ValueError, match=r"row 0: label .*'forest'.*positive= names the label"):
        QuadtreeLearner(grid=8).fit(SQUARE, y)
    y[3] = "rock"
    with pytest.raises(ValueError, match=r"besides 'forest' .* 'water' and 'rock'|'rock' and"):
        QuadtreeLearner(grid=8, positive="forest").fit(SQUARE, y)
    for none in (float("nan"), None):
        with pytest.raises(ValueError, match="row 1: label"):
            QuadtreeLearner(grid=8, positive="a").fit(SQUARE[:2], np.array(["a", none], object))


@pytest.mark.parametrize("pair", [(-1, 1), ("no", "yes")])
def test_scores_of_scikit_learn_compare_what_the_examples_say(pair: tuple[object, object]) -> None:
    metrics = pytest.importorskip("sklearn.metrics")
    from sklearn.model_selection import cross_val_score

    y = np.array(pair)[INSIDE.astype(int)]
    model = QuadtreeLearner(grid=8, seed=1).fit(SQUARE, y)
    assert metrics.accuracy_score(y, model.predict(SQUARE)) == model.score(SQUARE, y) > 0.9
    assert model.score(SQUARE, np.where(INSIDE, "inside", "outside")) == model.score(SQUARE, y)
    assert metrics.f1_score(y, model.predict(SQUARE), pos_label=pair[1]) > 0.9
    assert cross_val_score(model, SQUARE, y, cv=3, scoring="accuracy").min() > 0.9
