"""Boolean learners against brute force, and what their releases hold."""

import math
from fractions import Fraction
from itertools import product
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
from numpy.typing import NDArray
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV

from learners import (
    ConjunctionLearner,
    ConsistentConjunctionLearner,
    ConsistentDisjunctionLearner,
    DisjunctionLearner,
    GreedyConjunctionLearner,
    GreedyDisjunctionLearner,
    ParityLearner,
    PrivateConsistentConjunctionLearner,
    PrivateConsistentDisjunctionLearner,
    PrivateParityLearner,
)
from learners.boolean import conjunction
from learners.boolean.conjunction import cover_budget
from learners.boolean.consistent_conjunction import (
    MOST_MONOTONE,
    MOST_VARIABLES,
    literals_of,
    mistakes_of_all,
)
from learners.boolean.formulas import (
    Literal,
    candidate_literal,
    evaluate,
    formula_text,
    read_columns,
)
from learners.core.selection import Role

ROLES: tuple[Role, ...] = ("conjunction", "disjunction")
PRIVATE = {"conjunction": ConjunctionLearner, "disjunction": DisjunctionLearner}
GREEDY = {"conjunction": GreedyConjunctionLearner, "disjunction": GreedyDisjunctionLearner}
CONSISTENT = {
    "conjunction": ConsistentConjunctionLearner,
    "disjunction": ConsistentDisjunctionLearner,
}
PRIVATE_CONSISTENT = {
    "conjunction": PrivateConsistentConjunctionLearner,
    "disjunction": PrivateConsistentDisjunctionLearner,
}
EVERY = [*PRIVATE.values(), *GREEDY.values(), *CONSISTENT.values(), *PRIVATE_CONSISTENT.values(),
         ParityLearner, PrivateParityLearner]  # fmt: skip

FORMS = {
    "dense": lambda X: X,
    "bool": lambda X: X.astype(bool),
    "float": lambda X: X.astype(float),
    "fortran": lambda X: np.asfortranarray(X.astype(np.uint8)),
    "csr": sp.csr_array,
    "csc": sp.csc_matrix,
    "coo": lambda X: sp.coo_array(X.astype(bool)),
}


def truth(role: Role, literals: list[Literal], row: NDArray[np.int64]) -> int:
    """Value of a formula at one example, in plain Python."""
    values = [int(row[a.variable]) != int(a.negated) for a in literals]
    return int(all(values) if role == "conjunction" else any(values))


def random_sample(
    role: Role, seed: int, n: int = 200, d: int = 8, k: int = 3
) -> tuple[NDArray[np.int64], NDArray[np.int64], list[Literal]]:
    rng = np.random.default_rng(seed)
    X = (rng.random((n, d)) < rng.uniform(0.2, 0.8, d)).astype(np.int64)
    chosen = rng.choice(d, k, replace=False)
    target = [Literal(int(j), bool(rng.integers(2))) for j in chosen]
    return X, np.array([truth(role, target, row) for row in X]), target


# -- literals and columns ------------------------------------------------------------------


@pytest.mark.parametrize("role", ROLES)
def test_candidates_decide_what_they_say(role: Role) -> None:
    X = np.array(list(product((0, 1), repeat=3)))
    columns = read_columns(X)
    for candidate in range(7):
        literal = candidate_literal(role, candidate, 3)
        if candidate == 6:
            assert literal is None
            continue
        decided = X[:, candidate % 3] == (1 if candidate < 3 else 0)
        alone = evaluate(role, [literal], columns)
        # a conjunction is 0 where it is decided, a disjunction 1
        assert alone.tolist() == (~decided if role == "conjunction" else decided).tolist()
    empty = evaluate(role, [None], columns)
    assert empty.tolist() == [role == "conjunction"] * 8


def test_formulas_in_signs() -> None:
    literals = [Literal(7, True), None, Literal(3), Literal(7, True)]
    assert formula_text("conjunction", literals) == "x3 ∧ ¬x7"
    assert formula_text("disjunction", literals) == "x3 ∨ ¬x7"
    assert (formula_text("conjunction", []), formula_text("disjunction", [None])) == (
        "true",
        "false",
    )


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("n", [0, 1, 700])
def test_columns_and_counts_agree_with_the_array(form: str, n: int) -> None:
    rng = np.random.default_rng(n)
    X = (rng.random((n, 6)) < [0, 0.05, 0.3, 0.5, 0.9, 1]).astype(np.int64)
    columns = read_columns(FORMS[form](X))
    assert (columns.n, columns.d) == (n, 6)
    for j in range(6):
        assert columns.column(j).tolist() == (X[:, j] == 1).tolist()
    for share in (0.0, 0.4, 1.0):
        rows = np.flatnonzero(rng.random(n) < share)
        assert columns.ones(rows).tolist() == X[rows].sum(axis=0).tolist()


def test_sparse_examples_may_hold_zeros_and_are_left_alone() -> None:
    X = sp.csr_array((np.array([1, 0, 1]), np.array([2, 0, 1]), np.array([0, 2, 3])), shape=(2, 3))
    columns = read_columns(X)
    assert [columns.column(j).tolist() for j in range(3)] == [
        [False, False],
        [False, True],
        [True, False],
    ]
    assert X.nnz == 3
    twice = sp.csr_array((np.ones(2), np.array([1, 1]), np.array([0, 2])), shape=(1, 3))
    with pytest.raises(ValueError, match=r"row 0, column 1: .*2.0.* is neither"):
        read_columns(twice)


@pytest.mark.parametrize(
    ("X", "message"),
    [
        ([[0, 1], [2, 0]], r"row 1, column 0"),
        ([[0.0, math.nan]], r"row 0, column 1"),
        ([[0.5]], r"row 0, column 0"),
        ([0, 1], r"shape \(n, d\)"),
        (np.zeros((3, 0)), "no columns"),
        ([["a"]], "dtype"),
        (sp.csr_array(np.array([[0, 0], [0, -1]])), r"row 1, column 1"),
        (sp.csr_array((4, 0)), "no columns"),
    ],
)
def test_examples_that_are_not_boolean_are_refused(X: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        read_columns(X)


@pytest.mark.parametrize("learner", EVERY)
def test_every_learner_refuses_other_examples_and_labels(learner: Any) -> None:
    with pytest.raises(ValueError, match=r"row 1, column 0"):
        learner().fit([[0], [2]], [0, 1])
    with pytest.raises(ValueError, match=r"shape \(n, d\)"):
        learner().fit([0, 1], [0, 1])
    with pytest.raises(ValueError, match="neither 0 nor 1"):
        learner().fit([[0], [1]], [1, 2])
    with pytest.raises(ValueError, match="shape"):
        learner().fit([[0], [1]], [1])


# -- learners that are not private ---------------------------------------------------------


@pytest.mark.parametrize("role", ROLES)
@pytest.mark.parametrize("seed", range(10))
def test_elimination_keeps_exactly_what_no_example_refutes(role: Role, seed: int) -> None:
    X, y, target = random_sample(role, seed)
    model = CONSISTENT[role]().fit(X, y)
    every = [Literal(j, negated) for j in range(8) for negated in (False, True)]
    label = 1 if role == "conjunction" else 0
    kept = {a for a in every if all(truth(role, [a], row) == label for row in X[y == label])}
    assert set(model.release_.literals) == kept >= set(target)
    assert model.score(X, y) == 1.0
    assert model.privacy_ is None


@pytest.mark.parametrize("role", ROLES)
@pytest.mark.parametrize("seed", range(10))
def test_greedy_takes_the_best_consistent_literal_each_time(role: Role, seed: int) -> None:
    X, y, target = random_sample(role, seed)
    gain, loss = (0, 1) if role == "conjunction" else (1, 0)
    every = [Literal(j, negated) for j in range(8) for negated in (False, True)]
    alive = np.ones(len(X), dtype=bool)

    def decides(a: Literal) -> NDArray[np.bool_]:
        return np.array([truth(role, [a], row) == gain for row in X])

    model = GREEDY[role]()
    for record in model.steps(X, y):
        gains = [
            int((alive & decides(a) & (y == gain)).sum())
            for a in every
            if not (decides(a) & (y == loss)).any()
        ]
        took = alive & decides(record.release.literal)
        assert not (took & (y == loss)).any()
        assert int(took.sum()) == max(gains)
        alive &= ~took
    assert not (alive & (y == gain)).any()
    assert model.score(X, y) == 1.0
    assert len(model.release_.literals) <= math.ceil(len(target) * math.log(len(X)))


def test_greedy_stops_when_told_and_when_nothing_is_gained() -> None:
    X, y, _ = random_sample("conjunction", 0, k=3)
    assert len(GreedyConjunctionLearner(n_steps=1).fit(X, y).release_.literals) == 1
    # a contradiction: the same example with both labels
    model = GreedyConjunctionLearner().fit([[0, 1], [1, 0], [0, 1]], [1, 1, 0])
    assert str(model.release_) == "true"
    with pytest.raises(ValueError, match=r"n_steps must be a whole number"):
        GreedyConjunctionLearner(n_steps=0).fit(X, y)


# -- the private cover ---------------------------------------------------------------------


@pytest.mark.parametrize("role", ROLES)
@pytest.mark.parametrize(("form", "seed"), [("dense", 0), ("csr", 1), ("csc", 2)])
def test_scores_and_books_agree_with_brute_force(monkeypatch, role, form, seed):
    """What the mechanism is asked at each step is recounted in plain Python."""
    X, y, _ = random_sample(role, seed, n=150)
    k, d = 3, X.shape[1]
    asked: list[tuple[NDArray[np.int64], Fraction]] = []
    draw = conjunction.exponential_index

    def listen(source: Any, scores: NDArray[np.int64], rate: Fraction) -> int:
        asked.append((scores.copy(), rate))
        return draw(source, scores, rate)

    monkeypatch.setattr(conjunction, "exponential_index", listen)
    model = PRIVATE[role](k=k, n_steps=5, epsilon=3.0, seed=seed)
    gain = 0 if role == "conjunction" else 1
    alive = list(range(len(X)))
    literals: list[Literal] = []
    for record, (scores, rate) in zip(model.steps(FORMS[form](X), y), asked, strict=False):
        b = record.release.threshold
        expected = []
        for candidate in range(2 * d + 1):
            value = 1 if candidate < d else 0
            decided = [i for i in alive if candidate < 2 * d and X[i, candidate % d] == value]
            gained = sum(int(y[i]) == gain for i in decided)
            expected.append(min(k * gained - b, -k * (len(decided) - gained)))
        assert scores.tolist() == expected
        seen = record.diagnostics
        assert rate == Fraction(cover_budget(3.0, 1e-6, 5, 0.1, "add-remove", False).eta) / k
        assert seen.positives_alive == sum(int(y[i]) for i in alive)
        assert seen.negatives_alive == len(alive) - seen.positives_alive
        literal = record.release.literal
        left = alive
        if literal is not None:
            literals.append(literal)
            left = [i for i in alive if truth(role, [literal], X[i]) != gain]
            chosen = int(literal.negated != (role == "disjunction"))
            assert seen.score == expected[literal.variable + d * (1 - chosen)] / k
        assert seen.positives_taken == sum(int(y[i]) for i in alive) - sum(int(y[i]) for i in left)
        assert seen.positives_taken + seen.negatives_taken == len(alive) - len(left)
        alive = left
        now = [truth(role, literals, row) for row in X]
        wrong = [(p, int(label)) for p, label in zip(now, y, strict=True) if p != label]
        assert seen.empirical_error == pytest.approx(len(wrong) / len(X))
        assert seen.false_positive_rate == pytest.approx(wrong.count((1, 0)) / len(X))
        assert seen.false_negative_rate == pytest.approx(wrong.count((0, 1)) / len(X))
    assert len(asked) == 5
    assert model.predict(FORMS[form](X)).tolist() == now
    assert [p.tolist() for p in model.staged_predict(X)][-1] == now


def test_steps_do_not_depend_on_the_examples() -> None:
    for n in (0, 1, 300):
        records = list(ConjunctionLearner(k=2, seed=1).steps(np.zeros((n, 4)), np.zeros(n)))
        assert [(r.step, r.steps) for r in records] == [(i, 6) for i in range(1, 7)]
    assert len(list(ConjunctionLearner(k=2, alpha=0.1, seed=1).steps([[0]], [0]))) == 12


# -- all conjunctions ----------------------------------------------------------------------


@pytest.mark.parametrize("d", [1, 2, 4])
def test_mistakes_of_all_conjunctions(d: int) -> None:
    rng = np.random.default_rng(d)
    X, y = rng.integers(0, 2, (60, d)), rng.integers(0, 2, 60)
    for form in ("dense", "csr"):
        mistakes = mistakes_of_all(read_columns(FORMS[form](X)), y == 1)
        assert mistakes.shape == (3**d + 1,)
        for formula, found in enumerate(mistakes.tolist()):
            literals = literals_of(formula, d)
            assert found == sum(
                truth("conjunction", literals, r) != v for r, v in zip(X, y, strict=True)
            )
    # every function once: no two formulas agree everywhere
    cube = read_columns(np.array(list(product((0, 1), repeat=d))))
    values = {evaluate("conjunction", literals_of(i, d), cube).tobytes() for i in range(3**d + 1)}
    assert len(values) == 3**d + 1


@pytest.mark.parametrize("only", [0, 1])
def test_mistakes_of_conjunctions_of_one_kind_of_literals(only: int) -> None:
    d, rng = 4, np.random.default_rng(only)
    X, y = rng.integers(0, 2, (60, d)), rng.integers(0, 2, 60)
    mistakes = mistakes_of_all(read_columns(X), y == 1, only)
    seen = set()
    for formula, found in enumerate(mistakes.tolist()):
        literals = literals_of(formula, d, only=only)
        seen.add(tuple(literals))
        assert all(one.negated == (only == 0) for one in literals)
        assert found == sum(
            truth("conjunction", literals, r) != v for r, v in zip(X, y, strict=True)
        )
    assert len(seen) == len(mistakes) == 2**d


@pytest.mark.parametrize("role", ROLES)
def test_the_private_consistency_learner_finds_a_clear_target(role: Role) -> None:
    X, y, target = random_sample(role, 0, n=2000, d=7)
    model = PRIVATE_CONSISTENT[role](epsilon=1.0, seed=0).fit(X, y)
    assert set(model.release_.literals) == set(target)
    known = [Literal(one.variable) for one in target]
    y = np.array([truth(role, known, row) for row in X])
    model = PRIVATE_CONSISTENT[role](epsilon=1.0, seed=0, monotone=True).fit(X, y)
    assert set(model.release_.literals) == set(known)
    assert dict(model.release_.parameters) == {"monotone": True}


@pytest.mark.parametrize("role", ROLES)
def test_more_formulas_than_can_be_listed_are_refused(role: Role) -> None:
    X, y, _ = random_sample(role, 1, d=MOST_VARIABLES + 1)
    with pytest.raises(ValueError, match=r"all 3\^d formulas, so at most 14"):
        PRIVATE_CONSISTENT[role]().fit(X, y)
    X, y, _ = random_sample(role, 1, d=MOST_MONOTONE + 1)
    with pytest.raises(ValueError, match=r"all 2\^d formulas, so at most 22"):
        PRIVATE_CONSISTENT[role](monotone=True).fit(X, y)


@pytest.mark.parametrize("role", ROLES)
def test_a_monotone_formula_has_the_literals_that_are_not_negated(role: Role) -> None:
    X, y, _ = random_sample(role, 3, n=40, d=6)
    every = CONSISTENT[role]().fit(X, y).release_
    known = CONSISTENT[role](monotone=True).fit(X, y).release_
    assert known.literals == tuple(one for one in every.literals if one and not one.negated)
    assert (every.parameters, known.parameters) == ((), (("monotone", True),))


# -- releases ------------------------------------------------------------------------------


def test_scikit_learn_takes_the_learners() -> None:
    X, y, _ = random_sample("conjunction", 2, n=400)
    search = GridSearchCV(ConjunctionLearner(seed=1), {"k": [1, 3]}, cv=3)
    search.fit(sp.csr_array(X), y)
    assert search.best_params_["k"] in (1, 3)
    for learner in EVERY:
        model = clone(learner())
        assert model.get_params() == learner().get_params()
        with pytest.raises(ValueError, match="no parameter"):
            model.set_params(nothing=1)
