"""Nothing that is published tells n, the seed, true counts, errors or the sample.

Marked values: a prime number of examples, of positive ones, and a long seed.  Every learner of the
catalogue runs on the marked sample, and every writer of what may be published is searched for them.
"""

import copy
import inspect
import json
import math
import pickle
import pkgutil
import re
import warnings
from collections.abc import Iterator
from dataclasses import dataclass, fields, is_dataclass
from functools import cache
from pathlib import Path
from typing import Any, Self

import numpy as np
import pytest

from geodp import Examples, Frame, LearnedShape
from geodp_app.cli import main
from geodp_app.commands.compare import learner_names
from geodp_app.files.document_files import export_release
from geodp_app.files.learned_file import learned_text, parts_text
from geodp_app.files.points import format_examples
from geodp_app.files.run_report import release_figures, report
from geometry.geojson_write import geojson_text
from learners import PrivateExperts, PrivateFiniteClassLearner
from learners.catalogue import CATALOGUE
from learners.core.codec import release_from_dict, release_to_dict
from learners.core.records import StepRecord
from learners.finite.finite_class import ThresholdClass
from learners.privacy.accounting import privacy_statement
from learners.stability.base_learners import GradientDescentClassifier

N, POSITIVES, SEED, D = 10007, 4003, 918273646, 40
FRAME = Frame(D, None)

#: Keys that no published object may have.
_PRIVATE_KEYS = re.compile(
    r"^(?!positive$)(n|seed|n_examples|examples|empirical.*|.*error.*|.*positive.*|.*negative.*|.*_alive"
    r"|.*_taken|score|seconds|trials|boxes|log_mass|diagnostics|private_.*|X|y|labels|points)$"
)


def plane() -> tuple[np.ndarray, np.ndarray]:
    """N examples on the grid, POSITIVES of them 1: the lowest ones, but for 31 mistakes."""
    points = np.random.default_rng(1).integers(0, D + 1, (N, 2))
    labels = np.zeros(N, dtype=np.int64)
    order = np.argsort(points[:, 1], kind="stable")
    labels[order[: POSITIVES - 31]] = 1
    labels[order[-31:]] = 1
    return points, labels


def space() -> tuple[np.ndarray, np.ndarray]:
    points = np.random.default_rng(2).integers(0, 5, (N, 3))
    labels = np.zeros(N, dtype=np.int64)
    labels[np.argsort(points[:, 2], kind="stable")[:POSITIVES]] = 1
    return points, labels


def bits() -> tuple[np.ndarray, np.ndarray]:
    rows = np.random.default_rng(3).integers(0, 2, (N, 5))
    labels = np.zeros(N, dtype=np.int64)
    labels[np.argsort(-rows[:, 2], kind="stable")[:POSITIVES]] = 1
    return rows, labels


def line() -> tuple[np.ndarray, np.ndarray]:
    points = np.random.default_rng(4).integers(0, 10, N)
    labels = np.zeros(N, dtype=np.int64)
    labels[np.argsort(-points, kind="stable")[:POSITIVES]] = 1
    return points, labels


def squares(X: Any, y: Any) -> np.ndarray:
    return np.abs(np.asarray(y)[:, None] - np.array([0, 1]))


_IN_PLANE: dict[str, dict[str, Any]] = {
    "PolygonUnionLearner": {"tiles": 2},
    "ConvexPolygonLearner": {"k": 2, "n_steps": 2},
    "GreedyUnionLearner": {"k": 1, "max_boxes": 4096},
    "GreedyConvexLearner": {"k": 2, "max_boxes": 4096},
    "DiscUnionLearner": {"k": 1},
    "EllipseUnionLearner": {"k": 1, "n_steps": 2},
    "NoisyHistogramLearner": {},
    "QuadtreeLearner": {},
    "ThresholdLearner": {},
    "PolynomialUnionLearner": {"k": 1, "reach": 1, "levels": 8},
    "StabilityLearner": {"k": 1, "epsilon": 8.0, "chunks": 40},
}
_DESCENT = GradientDescentClassifier(grid=D, steps=50)
_OF_CHUNKS: dict[str, Any] = {"base": _DESCENT, "queries": 20, "epsilon": 8.0, "chunks": 40}
_OTHERS: dict[str, tuple[Any, dict[str, Any]]] = {
    "ConvexPolytopeLearner": (space, {"grid": 4, "k": 1, "reach": 1, "levels": 4}),
    "SimplexUnionLearner": (space, {"grid": 4, "k": 1, "levels": 2}),
    "BallUnionLearner": (space, {"grid": 4, "k": 1, "centres": 5, "levels": 4}),
    "ConjunctionLearner": (bits, {"k": 2}),
    "DisjunctionLearner": (bits, {"k": 2}),
    "StrawmanConjunctionLearner": (bits, {"k": 2}),
    "StrawmanDisjunctionLearner": (bits, {"k": 2}),
    "GreedyConjunctionLearner": (bits, {}),
    "GreedyDisjunctionLearner": (bits, {}),
    "ConsistentConjunctionLearner": (bits, {}),
    "ConsistentDisjunctionLearner": (bits, {}),
    "PrivateConsistentConjunctionLearner": (bits, {}),
    "PrivateConsistentDisjunctionLearner": (bits, {}),
    "MemorizingLearner": (line, {"points": 10}),
    "FiniteClassLearner": (line, {"concepts": ThresholdClass(9)}),
    "PrivateFiniteClassLearner": (line, {"concepts": ThresholdClass(9)}),
    "AmplifiedLearner": (line, {"learner": PrivateFiniteClassLearner(concepts=ThresholdClass(9))}),
    "EmpiricalRiskMinimizer": (line, {"losses": squares}),
    "PrivateERM": (line, {"losses": squares, "mechanism": "laplace"}),
    "ParityLearner": (bits, {}),
    "PrivateParityLearner": (bits, {}),
    "GradientDescentClassifier": (plane, {"grid": D, "steps": 50}),
    "LabelPrivateLearner": (plane, _OF_CHUNKS),
    "StableQueryClassifier": (plane, _OF_CHUNKS),
    "StableSoftClassifier": (plane, {**_OF_CHUNKS, "width": 0.4}),
}
#: Asked after they are fitted, and so not done with the sample.
_STILL_ASKED = ("StableQueryClassifier", "StableSoftClassifier")


def learner_classes() -> dict[str, Any]:
    """Those of the catalogue that publish: they can be fitted."""
    found = {}
    for entry in CATALOGUE:
        loaded = pkgutil.resolve_name(entry.path)
        if inspect.isclass(loaded) and hasattr(loaded, "fit"):
            found[loaded.__name__] = loaded
    return found


@cache
def fitted(name: str) -> Any:
    """A learner after a seeded run on its marked sample."""
    make, given = _OTHERS[name] if name in _OTHERS else (plane, {"grid": D, **_IN_PLANE[name]})
    cls = learner_classes()[name]
    if "seed" in inspect.signature(cls).parameters:
        given = {**given, "seed": SEED}
    return cls(**given).fit(*make())


def sample_of(name: str) -> tuple[np.ndarray, np.ndarray]:
    X, y = _OTHERS[name][0]() if name in _OTHERS else plane()
    return np.asarray(X), np.asarray(y)


def marks(name: str) -> set[float]:
    """Numbers that may not be published."""
    model = fitted(name)
    X, y = sample_of(name)
    wrong = None
    # one without a hypothesis has no errors
    if hasattr(model, "predict") and getattr(model.release_, "parity", ()) is not None:
        wrong = int(np.count_nonzero(model.predict(X) != y))
    secret = {float(N), float(POSITIVES), float(N - POSITIVES), float(SEED), POSITIVES / N}
    return secret | ({float(wrong), wrong / N, 1 - wrong / N} if wrong and wrong > 100 else set())


def numbers(data: Any) -> Iterator[float]:
    """All numbers of a JSON value, those within its strings too, and its keys are checked."""
    if isinstance(data, dict):
        for key, value in data.items():
            assert not _PRIVATE_KEYS.match(key), key
            yield from numbers(value)
    elif isinstance(data, list | tuple):
        for value in data:
            yield from numbers(value)
    elif isinstance(data, str):
        yield from (float(found) for found in re.findall(r"\d+(?:\.\d+)?", data.replace(",", "")))
    elif data is not None and not isinstance(data, bool):
        yield float(data)


def members(value: Any) -> Any:
    """A release as JSON has it, be it of learners without a file format."""
    if hasattr(value, "kind"):
        return json.loads(json.dumps(release_to_dict(value)))
    # before the fields of dataclasses: a learner's are its parameters, and not what it learned
    if hasattr(value, "fit"):
        return {key: members(one) for key, one in vars(value).items()}
    if is_dataclass(value):
        return {field.name: members(getattr(value, field.name)) for field in fields(value)}
    if isinstance(value, tuple):
        return [members(one) for one in value]
    return value.tolist() if isinstance(value, np.ndarray) else value


def clean(name: str, data: Any) -> None:
    """Nothing marked is in it."""
    secret = marks(name)
    for number in numbers(data):
        assert not any(math.isclose(number, mark, rel_tol=1e-6) for mark in secret), number


# -- releases and their writers ----------------------------------------------------------------


def test_every_learner_of_the_catalogue_is_searched() -> None:
    assert set(learner_classes()) == {*_IN_PLANE, *_OTHERS}
    assert "examples" not in learner_names.__doc__.lower()  # it names learners alone


@pytest.mark.parametrize("name", [*_IN_PLANE, *_OTHERS])
def test_a_release_tells_nothing_in_any_form(name: str) -> None:
    release = fitted(name).release_
    assert is_dataclass(release)
    assert release.__dataclass_params__.frozen  # type: ignore[attr-defined]
    clean(name, members(release))
    clean(name, re.findall(r"\d+(?:\.\d+)?", repr(release)))
    clean(name, str(release))
    assert not any(_PRIVATE_KEYS.match(field.name) for field in fields(release))
    # whoever stores the release stores no sample
    stored = pickle.dumps(release)
    assert len(stored) < 60_000
    assert not holds_rows(stored, name)


def holds_rows(stored: bytes, name: str) -> bool:
    """Whether points, or labels, of some eight rows in a row are in it as they are."""
    parts = (part[i : i + 8].tobytes() for part in sample_of(name) for i in range(0, N - 8, 8))
    return any(part in stored for part in parts if any(part))


@pytest.mark.parametrize("name", [*_IN_PLANE, *_OTHERS])
def test_a_fitted_learner_keeps_no_sample(name: str) -> None:
    """Its release, its parameters and, of those off the grid, the curator's diagnostics."""
    model = fitted(name)
    kept = {key: value for key, value in vars(model).items() if key not in model.get_params()}
    allowed = {"release_", "bounds_"}  # which are public
    allowed |= {"labels_"}  # which two there were, for `predict`: decision 8
    if name not in _IN_PLANE:
        allowed |= {"diagnostics_"}
    if name == "StabilityLearner":
        allowed |= {"answers_"}  # published
    if name in _STILL_ASKED:
        allowed |= {"private_models_"}
    assert set(kept) <= allowed
    if name not in _STILL_ASKED:
        assert not holds_rows(pickle.dumps(model), name)


@dataclass
class Remember:
    """A learner that keeps its examples, as a nearest neighbour does."""

    examples: Any = None

    def fit(self, X: Any, y: Any) -> Self:
        self.examples = X, y
        return self

    def predict(self, X: Any) -> np.ndarray:
        return np.full(len(X), int(self.examples[1].mean() > 0.5))


@pytest.mark.parametrize("name", _STILL_ASKED)
def test_models_that_answer_queries_stay_with_the_curator(name: str) -> None:
    """Their examples leave in no file, and in no copy, which could be asked all queries again."""
    X, y = sample_of(name)
    model = learner_classes()[name](**{**_OF_CHUNKS, "base": Remember()}).fit(X, y)
    answered = [record.release for record in model.steps(X[:3])]
    assert holds_rows(pickle.dumps(model.private_models_.models), name)
    for leave in (pickle.dumps, copy.deepcopy):
        for one in (model, model.private_models_):
            with pytest.raises(TypeError, match=r"^PRIVATE: .* Keep its release_ and the answers"):
                leave(one)
    assert repr(model.private_models_).startswith("<PRIVATE")
    clean(name, re.findall(r"\d+", f"{model.private_models_!r} {model!r}"))
    # what may leave does
    assert pickle.loads(pickle.dumps((model.release_, answered))) == (model.release_, answered)
    # a shallow copy asks the same queries, and a run that fails leaves nothing of the last
    assert list(copy.copy(model).steps(X[:2]))
    assert model.queries_left_ == 15
    with pytest.raises(ValueError, match="same examples"):
        model.fit(X, y[:-1])
    assert not hasattr(model, "private_models_")


@pytest.mark.parametrize("name", _IN_PLANE)
def test_the_writers_of_a_release_tell_nothing(name: str, tmp_path: Path) -> None:
    release = fitted(name).release_
    clean(name, json.loads(learned_text(release, FRAME)))
    on_grid = LearnedShape(release, FRAME).to_geojson(raw_grid=True)
    clean(name, json.loads(geojson_text(on_grid)))
    clean(name, json.loads(json.dumps(report(release))))
    clean(name, [list(pair) for pair in release_figures(release)])
    clean(name, [parts_text(release), privacy_statement(release.privacy)])
    clean(name, fitted(name).to_geojson())
    clean(name, fitted(name).to_geodataframe().drop(columns="geometry").to_dict("list"))
    # its picture is made of coordinates of the polygons, that of no other number
    clean(name, re.sub(r"<svg.*</svg>", "", fitted(name)._repr_html_()))
    export_release(tmp_path / "l.geojson", release, FRAME)
    assert (tmp_path / "l.geojson").read_text() == learned_text(release, FRAME)


@pytest.mark.parametrize("name", _IN_PLANE)
def test_what_is_written_follows_from_the_release_alone(name: str) -> None:
    """Read back from its JSON form, it gives the same files: nothing else went into them."""
    release = fitted(name).release_
    again = release_from_dict(json.loads(json.dumps(release_to_dict(release))))
    assert learned_text(again, FRAME) == learned_text(release, FRAME)
    assert report(again) == report(release)
    assert release_figures(again) == release_figures(release)


@pytest.mark.parametrize("writer", [learned_text, report, release_figures, privacy_statement])
def test_public_writers_take_no_records(writer: Any) -> None:
    """By their types, and at run time as well."""
    stated = inspect.signature(writer, eval_str=False).parameters
    for parameter in stated.values():
        assert "Record" not in str(parameter.annotation)
        assert "Diagnostics" not in str(parameter.annotation)
    model = learner_classes()["ThresholdLearner"](grid=D, seed=SEED)
    record = next(iter(model.steps(*plane())))
    assert isinstance(record, StepRecord)
    arguments = (FRAME,) if "frame" in stated else ()
    for private in (record, record.diagnostics):
        with pytest.raises((AttributeError, TypeError)):
            writer(private, *arguments)


def test_experts_publish_their_choices_alone() -> None:
    losses = np.random.default_rng(5).integers(0, 2, (97, 3))
    game = PrivateExperts(experts=3, rounds=97, seed=SEED)
    release = game.run(losses)
    data = json.loads(json.dumps(release_to_dict(release)))
    assert SEED not in set(numbers(data))
    assert set(data) == {"kind", "version", "learner", "chosen", "parameters", "privacy"}
    assert set(data["parameters"]) == {"experts", "rounds", "bound"}


# -- commands ----------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def points(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("leaks") / "p.csv"
    X, y = plane()
    path.write_text(format_examples(Examples(X, y, FRAME)))
    return path


@pytest.mark.parametrize(
    "learner", [["tiles", "--tiles", "2"], ["threshold"], ["discs"], ["convex-cover", "--k", "1"]]
)
def test_learn_says_and_writes_nothing_private(learner, points, tmp_path, capfd):
    out, outcome = tmp_path / "l.geojson", tmp_path / "r.json"
    argv = ["learn", str(points), "--learner", *learner, "--seed", str(SEED)]
    assert main([*argv, "-o", str(out), "--report", str(outcome)]) == 0
    captured = capfd.readouterr()
    assert captured.out == ""
    for text in (captured.err.replace(str(tmp_path), ""), out.read_text(), outcome.read_text()):
        found = {float(one) for one in re.findall(r"\d+(?:\.\d+)?", text.replace(",", " "))}
        assert not found & {N, POSITIVES, N - POSITIVES, SEED}
    for word in ("examples", "error", "score", "trials"):
        assert word not in captured.err
    assert sorted(path.name for path in tmp_path.iterdir()) == ["l.geojson", "r.json"]


def test_shapes_of_a_comparison_tell_nothing(points, tmp_path, capsys):
    folder = tmp_path / "shapes"
    argv = ["compare", str(points), "--learners", "histogram,quadtree", "--seed", str(SEED)]
    assert main([*argv, "-o", str(folder)]) == 0
    assert "curator" in capsys.readouterr().out
    for path in folder.iterdir():
        assert path.suffix == ".geojson"
        found = set(numbers(json.loads(path.read_text())))
        assert not found & {N, POSITIVES, N - POSITIVES, SEED}


# -- exceptions --------------------------------------------------------------------------------


@pytest.mark.parametrize("name", [*_IN_PLANE, *_OTHERS])
def test_exceptions_tell_no_number_of_examples(name: str) -> None:
    """Input errors may name the first wrong row, to the curator; never n, nor the seed."""
    X, y = sample_of(name)
    model = fitted(name)
    fresh = type(model)(**model.get_params())
    outcome: list[str] = []
    for wrong_X, wrong_y in (
        (X, y[:-1]), (X[:-1], y), (X, y[:, None]), (X, np.full(N, 7)), (X, None),
        (np.zeros(N) - 1 if X.ndim > 1 else np.zeros((N, 3)), y),
        (np.zeros((N, 1), dtype=int) - 1, y), (np.zeros((N, 9, 2)), y),
    ):  # fmt: skip
        try:
            with warnings.catch_warnings(record=True) as warned:  # of chunks that cannot be learned
                warnings.simplefilter("always")
                fresh.fit(wrong_X, wrong_y)
            outcome += [str(one.message) for one in warned]
        except (ValueError, TypeError, IndexError, AttributeError) as error:
            outcome.append(str(error))
    found = {float(one) for text in outcome for one in re.findall(r"\d+", text)}
    assert not found & {N, N - 1, POSITIVES, N - POSITIVES, SEED}, outcome
