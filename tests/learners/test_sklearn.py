"""scikit-learn takes the learners: its own checks, and its pipelines, scores and searches."""

import warnings
from unittest import SkipTest

import numpy as np
import pytest
from every_learner import every_learner

import learners
from geodp import PrivacyWarning
from learners.registry import LEARNERS

pytest.importorskip("sklearn", minversion="1.8", reason="scikit-learn is an extra")

from sklearn.base import BaseEstimator, TransformerMixin, clone, is_classifier
from sklearn.metrics import get_scorer
from sklearn.model_selection import (
    GridSearchCV,
    RandomizedSearchCV,
    cross_val_score,
)
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer
from sklearn.utils import get_tags
from sklearn.utils.estimator_checks import parametrize_with_checks
from sklearn.utils.validation import check_is_fitted, validate_data

COLUMNS = "fits more than two columns; points of the plane have two"
LABELS = "fits labels that are not 0 and 1; others would have to be published"
A_COLUMN = "fits a column of labels, which is refused rather than warned of"
IN_PLACE = "a Pipeline fits its steps in place"
WORDS = "of a Pipeline it wants the words of scikit-learn's own errors"
UNASKED = "asks nothing unless SCIPY_ARRAY_API is set: learners take numpy's arrays alone"
PASSES = ""

#: Checks that are not passed, and why: by a learner alone, and behind a step that maps anything to
#: the grid, where all must pass that COLUMNS excuses.  docs/decisions/0008-scikit-learn.md.
REASONS = {
    "check_classifiers_one_label": (COLUMNS, PASSES),
    "check_dict_unchanged": (COLUMNS, PASSES),
    "check_dont_overwrite_parameters": (COLUMNS, IN_PLACE),
    "check_dtype_object": (COLUMNS, PASSES),
    "check_estimators_nan_inf": (COLUMNS, PASSES),
    "check_estimators_pickle": (COLUMNS, PASSES),
    "check_f_contiguous_array_estimator": (COLUMNS, PASSES),
    "check_fit2d_1sample": (COLUMNS, PASSES),
    "check_fit2d_predict1d": (COLUMNS, PASSES),
    "check_fit_score_takes_y": (COLUMNS, PASSES),
    "check_methods_sample_order_invariance": (COLUMNS, PASSES),
    "check_methods_subset_invariance": (COLUMNS, PASSES),
    "check_n_features_in_after_fitting": (COLUMNS, PASSES),
    "check_pipeline_consistency": (COLUMNS, PASSES),
    "check_supervised_y_2d": (COLUMNS, A_COLUMN),
    "check_classifier_data_not_an_array": (LABELS, LABELS),
    "check_classifiers_classes": (LABELS, LABELS),
    "check_estimators_dtypes": (LABELS, LABELS),
    "check_fit2d_1feature": (PASSES, LABELS),
    "check_estimators_overwrite_params": (PASSES, IN_PLACE),
    "check_supervised_y_no_nan": (PASSES, WORDS),
    "check_array_api_input": (UNASKED, UNASKED),
}
ALONE, BEHIND = (
    {name: why[i] for name, why in REASONS.items() if why[i] not in (PASSES, UNASKED)}
    for i in (0, 1)
)


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


def run(check, estimator, reasons):
    name = check.func.__name__
    try:
        check(estimator)
    except SkipTest:
        assert UNASKED in REASONS.get(name, ()), f"{name} is skipped without a reason in the table"
        raise
    except Exception as error:
        if name not in reasons:
            raise
        # cut short: to show a line of scikit-learn's long file pytest reads all of it
        raise AssertionError(str(error)) from None


@parametrize_with_checks(every_learner(), expected_failed_checks=lambda _: ALONE)
def test_scikit_learns_checks(estimator, check):
    run(check, estimator, ALONE)


def asked_behind_a_grid_mapper():
    """All checks of one learner, and of each those that it is excused from alone."""
    models = [make_pipeline(GridMapper(), model) for model in every_learner()]
    marked = parametrize_with_checks(models, expected_failed_checks=lambda _: BEHIND)
    names, cases = marked.args
    values = [getattr(case, "values", case) for case in cases]
    asked = [
        case
        for case, (model, check) in zip(cases, values, strict=True)
        if check.func.__name__ in ALONE or isinstance(model[-1], learners.QuadtreeLearner)
    ]
    return pytest.mark.parametrize(names, asked, **marked.kwargs)


@asked_behind_a_grid_mapper()
def test_scikit_learns_checks_behind_a_grid_mapper(estimator, check):
    run(check, estimator, BEHIND)


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


def warned(search, X, y):
    """What is said of privacy when a search or a learner is fitted."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        search.fit(X, y)
    return [str(one.message) for one in caught if issubclass(one.category, PrivacyWarning)]


def test_searches_over_parameters_of_a_private_learner_are_warned_of():
    X, y = triangle(200)
    grid = {"epsilon": [0.5, 1.0]}
    model = learners.QuadtreeLearner(grid=16)
    outcome = warned(GridSearchCV(model, grid, cv=2), X, y)
    assert len(outcome) == 5  # four candidates' runs, and the last with all examples
    assert "covered by no statement" in outcome[0]
    assert warned(RandomizedSearchCV(model, grid, cv=2, n_iter=1), X, y)
    piped = make_pipeline(FunctionTransformer(), model)
    assert warned(GridSearchCV(piped, {"quadtreelearner__epsilon": [0.5]}, cv=2), X, y)
    literals = learners.ConjunctionLearner(k=1, n_steps=1)
    assert warned(GridSearchCV(literals, grid, cv=2), X % 2, y)


def test_nothing_is_said_of_other_runs():
    X, y = triangle(200)
    grid = {"epsilon": [0.5, 1.0]}
    # a seed, and no noise at all, say that nothing is private
    assert not warned(GridSearchCV(learners.QuadtreeLearner(grid=16, seed=1), grid, cv=2), X, y)
    greedy = learners.GreedyUnionLearner(grid=16, k=1, max_boxes=256)
    assert not warned(GridSearchCV(greedy, {"k": [1]}, cv=2), X, y)
    model = learners.QuadtreeLearner(grid=16)
    assert not warned(model.set_params(epsilon=0.5), X, y)
    assert not warned(clone(model), X, y)
    assert not warned(clone(clone(model).set_params(epsilon=2.0)), X, y)
    # nothing is chosen: one setting, fold by fold
    with warnings.catch_warnings():
        warnings.simplefilter("error", PrivacyWarning)
        cross_val_score(model, X, y, cv=2)


def test_no_learner_claims_probabilities():
    """A release holds labels alone: whoever asks for probabilities is told at once."""
    for one in LEARNERS:
        assert not hasattr(one.load(), "predict_proba"), one.id
    X, y = triangle(200)
    model = learners.QuadtreeLearner(grid=16, seed=1).fit(X, y)
    with pytest.raises(AttributeError, match="predict_proba"):
        get_scorer("neg_log_loss")(model, X, y)


def test_a_search_over_epsilon_in_a_pipeline():
    rng = np.random.default_rng(2)
    X = rng.uniform(-3, 3, (4000, 2))
    y = (X.sum(axis=1) < 0).astype(int)
    model = make_pipeline(GridMapper(64), learners.QuadtreeLearner(grid=64, seed=3))
    assert cross_val_score(model, X, y, cv=3).min() > 0.85
    search = GridSearchCV(model, {"quadtreelearner__epsilon": [1e-4, 1.0]}, cv=3).fit(X, y)
    assert search.best_params_ == {"quadtreelearner__epsilon": 1.0}
