"""Gives estimators what scikit-learn asks of them, without importing it.

The learners follow its conventions: ``clone``, pipelines, ``cross_val_score`` and
``GridSearchCV`` take them.  Points that are not on the grid yet are taken with public bounds::

    from sklearn.model_selection import GridSearchCV
    from learners import QuadtreeLearner

    model = QuadtreeLearner(bounds=(13, 42, 20, 47), seed=1)
    search = GridSearchCV(model, {"epsilon": [0.5, 1.0, 2.0]}, cv=3).fit(X, y)  # simulated

Only the learner is private.  A step before it that looks at the examples, a score on examples, and
a search that keeps the best of its runs are not: use them on public or simulated data; a search
over parameters of a private learner is warned of (:class:`PrivacyWarning`).

A release holds labels 0 and 1.  Predictions come back as the labels of the examples came, and
`classes_` holds these: it is the curator's, as the fitted learner is.
"""

from __future__ import annotations

import inspect
import sys
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol, Self, dataclass_transform, get_type_hints

import numpy as np
from numpy.typing import ArrayLike, NDArray

from geometry.arrays import Flags, Ints
from geometry.coordinates import unmasked
from learners.core.examples import check_labels, spelled
from learners.declaration import read
from learners.privacy.accounting import PrivacySpent
from learners.registry import check_declared

_OF_A_SEARCH = (
    "a search over parameters fits this private learner: each run spends its epsilon, and the "
    "parameters that are chosen by their scores are covered by no statement; search on public or "
    "simulated data, with a seed, which says that nothing is private"
)


class PrivacyWarning(UserWarning):
    """What is done spends privacy, or tells something, that no statement covers."""


class NotFittedError(ValueError, AttributeError):
    """A learner was asked for its hypothesis before a run was complete.

    Where scikit-learn has been imported, what is raised is its error of the same name too.
    """

    def __reduce__(self) -> tuple[Any, ...]:
        # the class of both names is made on the spot, and pickle would not find it
        return not_fitted_error, self.args


def not_fitted_error(message: str) -> NotFittedError:
    """The error to raise; for who has imported scikit-learn, one that it knows."""
    theirs = getattr(sys.modules.get("sklearn.exceptions"), "NotFittedError", None)
    if theirs is None:
        return NotFittedError(message)
    both: type[NotFittedError] = type("NotFittedError", (NotFittedError, theirs), {})
    return both(message)


@dataclass_transform(kw_only_default=True, eq_default=False)
class WithParameters:
    """Constructor parameters by name, and whether a run is complete.

    A class has a constructor that takes what it declares and what it inherits, all by keyword, and
    stores it unchanged.  A parameter is a name with a type, and maybe a default; to declare one
    again changes its default, not its place.  What is the same for all of a class is a ClassVar;
    what a run sets has its type where it is set: `release_` is what it publishes, and what else it
    learns ends in ``_`` too.

    Parameters
    ----------
    after : dict, optional
        Of a subclass: new parameters by the one they follow wherever parameters are told; by
        default they come last.

    Examples
    --------
    >>> class Square(WithParameters):
    ...     grid: int = 1024
    ...     seed: int | None = None
    >>> class Cells(Square, after={"grid": ["cells"]}):
    ...     cells: int = 8
    >>> Cells(grid=16)
    Cells(grid=16, cells=8, seed=None)
    """

    release_: Any
    feature_names_in_: NDArray[np.object_]

    #: Of a clone of scikit-learn's: whether its parameters have been set since.
    _tried: bool

    def __init_subclass__(cls, *, after: Mapping[str, Sequence[str]] | None = None) -> None:
        super().__init_subclass__()
        order = list(inspect.signature(cls).parameters)
        made = dataclass(kw_only=True, eq=False, repr=False)(cls)
        taken = inspect.signature(made).parameters
        order += [name for name in taken if name not in order]
        for before, new in (after or {}).items():
            order = [name for name in order if name not in new]
            place = order.index(before) + 1
            order[place:place] = new
        # of all classifiers, so told last
        order.sort(key=lambda name: {"check": 1, "positive": 2}.get(name, 0))
        # a dataclass has the inherited fields first; by keyword all orders are the same
        init: Any = made.__init__
        stated = inspect.signature(init)
        parameters = [stated.parameters["self"], *(taken[name] for name in order)]
        init.__signature__ = stated.replace(parameters=parameters)

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """Constructor parameters by name (`deep` has no effect)."""
        return {name: getattr(self, name) for name in inspect.signature(type(self)).parameters}

    def set_params(self, **parameters: Any) -> Self:
        """Set constructor parameters.

        Raises
        ------
        ValueError
            If a name is unknown.
        """
        known = inspect.signature(type(self)).parameters
        for name, value in parameters.items():
            if name not in known:
                raise ValueError(f"{type(self).__name__} has no parameter {name!r}: {list(known)}")
            setattr(self, name, value)
        if parameters and self.__dict__.get("_tried") is False:
            self._tried = True
        return self

    def validated(self) -> Self:
        """The same learner with parameters as :func:`learners.declaration.read` reads them.

        A run is planned and made by these, and states them; what was given stays as it is.

        Raises
        ------
        ValueError
            If a value is of another kind than is declared, or beyond what is.
        """
        declared = get_type_hints(type(self))
        given = self.get_params()
        own = {name: read(name, declared[name], given[name]) for name in given}
        check_declared(type(self).__name__, own)
        return type(self)(**own)

    def __sklearn_clone__(self) -> Self:
        """What scikit-learn's `clone` makes: the same learner, not fitted.

        It knows that it is a clone.  Searches over parameters fit clones whose parameters they have
        set: that is how :meth:`_fresh` tells them from other runs.
        """
        from sklearn.base import clone

        given = {name: clone(value, safe=False) for name, value in self.get_params().items()}
        copy = type(self)(**given)
        copy._tried = False
        return copy

    def __repr__(self) -> str:
        shown = ", ".join(f"{name}={value!r}" for name, value in self.get_params().items())
        return f"{type(self).__name__}({shown})"

    @property
    def classes_(self) -> NDArray[Any]:
        """The two labels, sorted: 0 and 1 unless the examples have others."""
        self._fitted()
        pair = self._spelled()
        # labels of several types have no order
        return pair if pair.dtype.kind == "O" and len({*map(type, pair)}) > 1 else np.sort(pair)

    @property
    def privacy_(self) -> PrivacySpent | None:
        """What the run spent and by which account; None for a learner that is not private."""
        spent: PrivacySpent | None = self._fitted().privacy
        return spent

    def _fresh(self) -> Self:
        """Forget the last run: one that fails or is cancelled leaves nothing behind.

        A run begins so; one that is private and of a search over parameters is warned of.

        Returns
        -------
        learner
            That of the run, its parameters read: :meth:`validated`.
        """
        if self.__dict__.get("_tried") and getattr(self, "seed", 0) is None:
            warnings.warn(_OF_A_SEARCH, PrivacyWarning, stacklevel=4)
        self._take({})
        return self.validated()

    def _take(self, learned: Mapping[str, Any]) -> None:
        """Know what the learner of a run has learned, of its variables, and nothing of another."""
        for name in [name for name in vars(self) if name.endswith("_")]:
            delattr(self, name)
        vars(self).update((name, value) for name, value in learned.items() if name.endswith("_"))

    def _check_labels(self, y: ArrayLike, n: int) -> Flags:
        """Labels of n examples, bool (n,); how they are spelled is kept for predictions."""
        labels = check_labels(y, n, getattr(self, "positive", None))
        self._named(y, labels)
        return labels

    def _named(self, y: ArrayLike, ones: Flags) -> None:
        """Remember how checked labels were spelled, the one that says 0 and the one that says 1."""
        positive = getattr(self, "positive", None)
        self.labels_: NDArray[Any] = spelled(np.asarray(y), ones, positive)

    def _spelled(self) -> NDArray[Any]:
        return getattr(self, "labels_", np.array([0, 1], dtype=np.int64))

    def _as_came(self, predicted: Ints) -> NDArray[Any]:
        """Labels 0 and 1 as the examples spell them."""
        return self._spelled()[predicted]

    def _fitted(self) -> Any:
        """What a complete run has released; raises NotFittedError if none is."""
        if "release_" not in self.__dict__:
            raise not_fitted_error(
                f"this {type(self).__name__} has not been fitted yet: call fit first"
            )
        return self.release_

    def __sklearn_is_fitted__(self) -> bool:
        """What scikit-learn's check_is_fitted asks."""
        return "release_" in self.__dict__


def classifier_tags(random: bool) -> Any:
    """scikit-learn's tags of a learner; called by scikit-learn alone.

    Parameters
    ----------
    random : bool
        Whether two runs on the same examples may differ.
    """
    from sklearn.utils import ClassifierTags, InputTags, Tags, TargetTags

    return Tags(
        estimator_type="classifier",
        target_tags=TargetTags(required=True),
        classifier_tags=ClassifierTags(multi_class=False),
        # whole numbers from 0 on: scikit-learn says so by these two, as of its CategoricalNB
        input_tags=InputTags(categorical=True, positive_only=True),
        non_deterministic=random,
    )


class _OfTwoLabels(Protocol):
    """A learner of two labels."""

    positive: Any

    def _zeros_and_ones(self, X: ArrayLike | Any) -> Ints: ...

    def _as_came(self, predicted: Ints) -> NDArray[Any]: ...


def predict_as_came(self: _OfTwoLabels, X: ArrayLike | Any) -> NDArray[Any]:
    """Labels as the examples had, shape (n,), of points as :meth:`fit` takes them; exact.

    After counts they are 0 and 1; `release_.predict` gives 0 and 1 always.

    Raises
    ------
    ValueError, TypeError
        As :meth:`fit`; or if X is a data frame with other columns than the examples had, or the
        run ended without a hypothesis.
    NotFittedError
        If no run is complete.
    """
    return self._as_came(self._zeros_and_ones(X))


def share_right(
    self: _OfTwoLabels, X: ArrayLike | Any, y: ArrayLike, sample_weight: ArrayLike | None = None
) -> float:
    """Share of labelled points that are predicted right, 0..1: private, if these are.

    Parameters
    ----------
    X, y : array or data frame
        Points and labels, shape (n,), as :meth:`fit` takes them.
    sample_weight : array of float, shape (n,), optional
        What each point counts; by default all the same.

    Raises
    ------
    ValueError, TypeError, NotFittedError
        As `predict`; or if a label is none, or there is no point that counts.
    """
    predicted = self._zeros_and_ones(X)
    right = predicted == check_labels(y, len(predicted), self.positive)
    weights = np.ones(len(right)) if sample_weight is None else unmasked(sample_weight)
    if weights.shape != right.shape or weights.dtype.kind not in "iufb":
        raise ValueError("sample_weight must be numbers, one for each point")
    weights = weights.astype(np.float64)
    if not (weights >= 0).all() or not 0 < weights.sum() < np.inf:
        raise ValueError("a score needs points that count: weights from 0 on, not all of them 0")
    return float(np.average(right, weights=weights))


# scikit-learn asks a method for its name
for method, name in ((predict_as_came, "predict"), (share_right, "score")):
    method.__name__ = method.__qualname__ = name
