"""Words for labels mean what they say, alone and among others."""

from __future__ import annotations

import numpy as np
import pytest

from learners import PolygonUnionLearner
from learners.checks import check_labels
from learners.labels import OPPOSITES, as_numbers, meant


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


@pytest.mark.parametrize("labels", [["yes", "perhaps"], [1, 2], [1, float("nan")], [None, 1]])
def test_other_labels_are_refused_with_their_row(labels: list[object]) -> None:
    with pytest.raises(ValueError, match=r"row [01]: label .* is neither 0 nor 1"):
        check_labels(labels, 2)


def test_a_label_becomes_the_same_whatever_the_others_are() -> None:
    words = np.array([word for pair in OPPOSITES for word in pair] + ["maybe"])
    together = as_numbers(words)
    alone = np.concatenate([as_numbers(words[i : i + 1]) for i in range(len(words))])
    assert np.array_equal(together, alone, equal_nan=True)


def test_a_run_on_words_is_the_run_on_numbers() -> None:
    points = np.stack(np.meshgrid(np.arange(9), np.arange(9)), -1).reshape(-1, 2)
    labels = points.sum(axis=1) < 7
    runs = [
        PolygonUnionLearner(grid=8, seed=1).fit(points, given)
        for given in (labels, np.where(labels, "inside", "outside"), np.where(labels, 1, -1))
    ]
    assert runs[0].release_ == runs[1].release_ == runs[2].release_
    assert runs[2].predict(points).min() == 0
    assert runs[1].score(points, np.where(labels, "yes", "no")) == runs[0].score(points, labels)
