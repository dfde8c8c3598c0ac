"""scikit-learn takes the learners: its own checks, and its pipelines, scores and searches."""

from __future__ import annotations

import pickle

import numpy as np
import pytest
from every_learner import every_learner

import learners

pytest.importorskip("sklearn", minversion="1.8", reason="scikit-learn is an extra")

from sklearn.base import BaseEstimator, TransformerMixin, clone, is_classifier
from sklearn.exceptions import NotFittedError
from sklearn.model_selection import GridSearchCV, cross_val_predict, cross_val_score
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import KBinsDiscretizer
from sklearn.utils import get_tags
from sklearn.utils.estimator_checks import parametrize_with_checks
from sklearn.utils.validation import check_is_fitted, validate_data

COLUMNS = "fits more than two columns; points of the plane have two"
LABELS = "fits labels that are not 0 and 1; others would have to be published"
A_COLUMN = "fits a column of labels, which is refused rather than warned of"

#: Checks that a learner cannot pass, and why.
EXCEPTIONS = {
    "check_classifiers_one_label": COLUMNS,
    "check_dict_unchanged": COLUMNS,
    "check_dont_overwrite_parameters": COLUMNS,
    "check_dtype_object": COLUMNS,
    "check_estimators_nan_inf": COLUMNS,
    "check_estimators_pickle": COLUMNS,
    "check_f_contiguous_array_estimator": COLUMNS,
    "check_fit2d_1sample": COLUMNS,
    "check_fit2d_predict1d": COLUMNS,
    "check_fit_score_takes_y": COLUMNS,
    "check_methods_sample_order_invariance": COLUMNS,
    "check_methods_subset_invariance": COLUMNS,
    "check_n_features_in_after_fitting": COLUMNS,
    "check_pipeline_consistency": COLUMNS,
    "check_supervised_y_2d": COLUMNS,
    "check_classifier_data_not_an_array": LABELS,
    "check_classifiers_classes": LABELS,
    "check_estimators_dtypes": LABELS,
}

#: The same behind a step that maps anything to the grid: all that COLUMNS excused must pass.
PIPELINE_EXCEPTIONS = {
    "check_classifier_data_not_an_array": LABELS,
    "check_classifiers_classes": LABELS,
    "check_estimators_dtypes": LABELS,
    "check_fit2d_1feature": LABELS,
    "check_supervised_y_2d": A_COLUMN,
    "check_dont_overwrite_parameters": "a Pipeline fits its steps in place",
    "check_estimators_overwrite_params": "a Pipeline fits its steps in place",
    "check_supervised_y_no_nan": "of a Pipeline it wants the words of scikit-learn's own errors",
}


class GridMapper(TransformerMixin, BaseEstimator):
    """The first two columns, or the only one twice, from low..high to 0..grid.

    low and high are given and not taken from the examples, so that privacy is kept.
    """

    def __init__(self, grid=16, low=-3.0, high=3.0):
        self.grid = grid
        self.low = low
        self.high = high

    def fit(self, X, y=None):
        validate_data(self, X)
        return self

    def transform(self, X):
        check_is_fitted(self, "n_features_in_")
        points = validate_data(self, X, reset=False, dtype=np.float64)[:, [0, -1]]
        cells = np.rint((points - self.low) / (self.high - self.low) * self.grid)
        return np.clip(cells, 0, self.grid).astype(np.int64)


def name(model: object) -> str:
    return type(model).__name__


def triangle(n=4000, d=16):
    rng = np.random.default_rng(5)
    X = rng.integers(0, d + 1, (n, 2))
    return X, (X.sum(axis=1) <= d - 2).astype(int)


def run(check, estimator, exceptions):
    try:
        check(estimator)
    except Exception as error:
        if check.func.__name__ not in exceptions:
            raise
        # cut short: to show a line of scikit-learn's long file pytest reads all of it
        raise AssertionError(str(error)) from None


@parametrize_with_checks(every_learner(), expected_failed_checks=lambda _: EXCEPTIONS)
def test_scikit_learns_checks(estimator, check):
    run(check, estimator, EXCEPTIONS)


@parametrize_with_checks(
    [make_pipeline(GridMapper(), model) for model in every_learner()],
    expected_failed_checks=lambda _: PIPELINE_EXCEPTIONS,
)
def test_scikit_learns_checks_behind_a_grid_mapper(estimator, check):
    run(check, estimator, PIPELINE_EXCEPTIONS)


@pytest.mark.parametrize("model", every_learner(), ids=name)
def test_tags_tell_a_binary_classifier_of_whole_numbers(model):
    tags = get_tags(model)
    assert is_classifier(model)
    assert tags.target_tags.required
    assert not tags.classifier_tags.multi_class
    assert tags.input_tags.positive_only
    assert not tags.input_tags.sparse
    assert not tags.non_deterministic  # with a seed, or without noise


def test_without_a_seed_a_private_learner_is_not_deterministic():
    assert get_tags(learners.QuadtreeLearner()).non_deterministic
    assert not get_tags(learners.GreedyUnionLearner()).non_deterministic


@pytest.mark.parametrize("model", every_learner(), ids=name)
def test_a_clone_has_the_parameters_and_no_hypothesis(model):
    X, y = triangle(200)
    model = clone(model).fit(X, y)
    check_is_fitted(model)
    copy = clone(model)
    assert copy.get_params() == model.get_params()
    with pytest.raises(NotFittedError):
        check_is_fitted(copy)
    with pytest.raises(NotFittedError, match="has not been fitted yet"):
        copy.predict(X)


def test_the_error_survives_a_trip_between_processes():
    with pytest.raises(NotFittedError) as caught:
        learners.QuadtreeLearner().predict([[0, 0]])
    again = pickle.loads(pickle.dumps(caught.value))
    assert isinstance(again, NotFittedError)
    assert str(again) == str(caught.value)


@pytest.mark.parametrize("model", every_learner()[:4], ids=name)
def test_cross_validation(model):
    X, y = triangle()
    scores = cross_val_score(model, X, y, cv=3)
    assert scores.shape == (3,)
    assert scores.min() > 0.85
    assert set(cross_val_predict(model, X, y, cv=3)) == {0, 1}
    by_name = cross_val_score(model, X, y, cv=3, scoring="balanced_accuracy")
    assert by_name.min() > 0.85


def test_a_search_over_epsilon():
    X, y = triangle()
    model = learners.NoisyHistogramLearner(grid=16, seed=3)
    search = GridSearchCV(model, {"epsilon": [1e-4, 1.0]}, cv=3).fit(X, y)
    assert search.best_params_ == {"epsilon": 1.0}
    assert search.best_estimator_.privacy_.epsilon == 1.0
    assert search.score(X, y) > 0.85
    assert list(search.classes_) == [0, 1]


def test_a_search_over_epsilon_in_a_pipeline():
    rng = np.random.default_rng(2)
    X = rng.uniform(-3, 3, (4000, 2))
    y = (X.sum(axis=1) < 0).astype(int)
    model = make_pipeline(GridMapper(64), learners.QuadtreeLearner(grid=64, seed=3))
    assert cross_val_score(model, X, y, cv=3).min() > 0.85
    search = GridSearchCV(model, {"quadtreelearner__epsilon": [1e-4, 1.0]}, cv=3).fit(X, y)
    assert search.best_params_ == {"quadtreelearner__epsilon": 1.0}


def test_bins_of_a_discretizer_are_grid_points():
    rng = np.random.default_rng(2)
    X = rng.normal(size=(4000, 2))
    y = (X.sum(axis=1) < 0).astype(int)
    # not private: the bins are quantiles of the examples
    bins = KBinsDiscretizer(17, encode="ordinal", quantile_method="averaged_inverted_cdf")
    model = Pipeline([("bins", bins), ("learner", learners.PolygonUnionLearner(grid=16, seed=3))])
    assert cross_val_score(model, X, y, cv=3).min() > 0.85
