"""Every draw passes the one door, and what is drawn is whole numbers.

Statically: no module that can reach a release imports or names another generator.  Dynamically:
a run is a function of its examples and of the bytes of its source, which are counted by who asks.
Last, Mironov's attack on the low bits of noisy numbers (*On significance of the least significant
bits for differential privacy*, 2012) works on floating-point noise and finds nothing here.
"""

import ast
import functools
import hashlib
import json
import os
import random
import secrets
import sys
from collections import Counter
from collections.abc import Iterator
from fractions import Fraction
from pathlib import Path
from typing import Any, Self

import numpy as np
import pytest

import learners.privacy.randomness as door
from benchmarks.audits.declared import SUBJECTS
from geodp import Frame
from geodp_app.files.learned_file import learned_text
from learners import PolygonUnionLearner, PrivateExperts
from learners.core.codec import release_from_dict, release_to_dict
from learners.privacy.noise import discrete_laplace_array
from learners.tiles.tile_choice import choice_rate, wrong_share

ROOT = Path(__file__).parents[2]
_GENERATORS = {"random", "secrets", "uuid", "numpy.random"}

#: Where another generator is allowed, and why.
_ALLOWED = {
    "learners/privacy/randomness.py": {"os.urandom"},  # the door itself
    "geodp_app/files/writing.py": {"secrets"},  # names of temporary files
    "geodp_app/document/sampling.py": {"numpy.random"},  # simulated examples
    "geodp_app/files/persons.py": {"uuid"},  # reads ids, and draws none
}


def generators_named(path: Path) -> set[str]:
    """Generators that a module imports or names; in strings they do not count."""
    found = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        names: list[str] = []
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            module = node.module or ""
            names = [module, *(f"{module}.{alias.name}" for alias in node.names)]
        elif isinstance(node, ast.Attribute) and node.attr in ("random", "urandom", "getrandom"):
            names = [ast.unparse(node).replace("np.", "numpy.", 1)]
        for name in names:
            if name in ("os.urandom", "os.getrandom"):
                found.add("os.urandom")
            found |= {one for one in _GENERATORS if name == one or name.startswith(one + ".")}
    return found


def modules() -> Iterator[Path]:
    for folder in ("assets", "geometry", "learners", "geodp_app"):
        yield from sorted((ROOT / folder).rglob("*.py"))


def test_no_module_names_another_generator() -> None:
    found = {
        path.relative_to(ROOT).as_posix(): names
        for path in modules()
        if (names := generators_named(path))
    }
    assert found == _ALLOWED


def test_the_search_for_generators_finds_them(tmp_path: Path) -> None:
    for text in (
        "import random", "from random import choice", "import numpy.random as r",
        "from numpy import random", "import numpy as np\nnp.random.default_rng()",
        "import os\nos.urandom(3)", "from os import urandom", "import secrets", "import uuid",
    ):  # fmt: skip
        path = tmp_path / "m.py"
        path.write_text(text)
        assert generators_named(path), text


# -- runs --------------------------------------------------------------------------------------


class Counting:
    """A reproducible source that says it is private, and counts who asks for how many bytes."""

    private = True

    def __init__(self, seed: int, log: Counter[str]) -> None:
        self._source = door.SeededRandom(seed)
        self.log = log

    def bytes(self, count: int) -> bytes:
        self.log[self._asker()] += count
        return self._source.bytes(count)

    def spawn(self) -> Self:
        child = Counting(0, self.log)
        child._source = self._source.spawn()
        return child

    @staticmethod
    def _asker() -> str:
        """The function that draws, the helpers of the door left out."""
        frame: Any = sys._getframe(2)
        while frame.f_globals["__name__"] == "learners.privacy.randomness":
            frame = frame.f_back
        return f"{frame.f_globals['__name__']}.{frame.f_code.co_qualname}"


def runs() -> dict[str, Any]:
    """A private learner and a sample for each subject; one example, and one more."""
    found = {}
    for name, subject in SUBJECTS.items():
        if not subject.private:
            continue
        pair = subject.pairs("add-remove", (1,))[0]
        found[name] = (subject, pair)
    return found


RUNS = runs()

#: Without those that release a number alone, made for the audit of what they answer, and one that
#: is an audit of other events of `tiles`.
WRITTEN = [name for name in RUNS if name not in ("private-experts", "stable-queries", "convex")]


@functools.cache
def compile_loops(name: str) -> None:
    """Run once, unlocked: a compiler asks for random names."""
    subject, pair = RUNS[name]
    subject.factory(1.0, 1e-6, "add-remove", None)().fit(*pair.sample)


def release(name: str, seed: int, log: Counter[str], side: int, patch: pytest.MonkeyPatch) -> Any:
    """A run with a counted source in place of the door's, and all other generators locked."""
    compile_loops(name)
    subject, pair = RUNS[name]

    def refuse(*_: Any, **__: Any) -> Any:
        raise AssertionError("another generator was asked")

    with patch.context() as patched:
        original = door.open_source
        for module in list(sys.modules.values()):
            if getattr(module, "open_source", None) is original:
                patched.setattr(module, "open_source", lambda _: Counting(seed, log))
        # the run's name is drawn beside all else, and tells nothing
        patched.setattr("learners.privacy.accounting.new_run_id", lambda: "a" * 32)
        patched.setattr(os, "urandom", refuse)
        patched.setattr(random, "random", refuse)
        patched.setattr(random, "getrandbits", refuse)
        patched.setattr(secrets, "token_bytes", refuse)
        patched.setattr(np.random, "default_rng", refuse)
        patched.setattr(np.random, "random", refuse)
        model = subject.factory(1.0, 1e-6, "add-remove", None)()
        model.fit(*(pair.neighbour if side else pair.sample))
        return model.release_


#: Who may draw.
_DRAWERS = {
    "learners.boolean.parity", "learners.curved.selection", "learners.envelope.chunks",
    "learners.envelope.envelope_selection",
    "learners.envelope.strands", "learners.privacy.exponential_mechanism", "learners.privacy.noise",
    "learners.stability.stability_learner",  # the order in which public points are asked about
}  # fmt: skip


@pytest.mark.parametrize("name", WRITTEN)
def test_a_run_is_a_function_of_its_examples_and_its_source(name, monkeypatch):
    logs: list[Counter[str]] = [Counter(), Counter()]
    first, again = (release(name, 11, log, 0, monkeypatch) for log in logs)
    assert release_to_dict(first) == release_to_dict(again)
    # who asked, and for how much, is the same too
    assert logs[0] == logs[1]
    assert logs[0].total() > 0
    askers = {asker.rsplit(".", 1)[0] for asker in logs[0]}
    assert all(any(asker.startswith(one) for one in _DRAWERS) for asker in askers), askers
    # and it does depend on the source, but where one example is too few for any answer
    others = (release(name, seed, Counter(), 0, monkeypatch) for seed in range(12, 24))
    assert any(other != first for other in others) == (name != "stability")


def test_experts_draw_through_the_door() -> None:
    games = [PrivateExperts(experts=2, rounds=40, seed=1).run([[0, 1]] * 40) for _ in range(2)]
    assert games[0] == games[1]


# -- whole numbers -----------------------------------------------------------------------------


def floats(data: Any, under: str = "") -> dict[str, float]:
    """Floating-point numbers of a JSON value by where they are."""
    if isinstance(data, dict):
        parts = [floats(value, f"{under}/{key}") for key, value in data.items()]
    elif isinstance(data, list | tuple):
        parts = [floats(value, f"{under}/{i}") for i, value in enumerate(data)]
    else:
        return {under: data} if isinstance(data, float) else {}
    return {place: value for part in parts for place, value in part.items()}


@pytest.mark.parametrize("name", WRITTEN)
def test_what_is_drawn_is_published_in_whole_numbers(name, monkeypatch):
    """The floats of a release are public parameters: the same for both neighbours in all runs."""
    seen = [
        floats(release_to_dict(release(name, seed, Counter(), side, monkeypatch)))
        for seed in (1, 2)
        for side in (0, 1)
    ]
    for place in seen[0]:
        assert place.startswith(("/parameters/", "/privacy/"))
    assert all(one == seen[0] for one in seen)


@pytest.mark.parametrize("name", ["tiles", "cover", "discs", "threshold", "histogram", "quadtree"])
def test_files_are_a_function_of_the_whole_numbers(name, monkeypatch):
    """Coordinates are floats, but made from the release's integers: they say no more than these."""
    made = release(name, 3, Counter(), 0, monkeypatch)
    frame = Frame(made.d, None)
    again = release_from_dict(json.loads(json.dumps(release_to_dict(made))))
    assert learned_text(again, frame) == learned_text(made, frame)


def mironov(outputs: np.ndarray, count: int, scale: float) -> np.ndarray:
    """Which outputs could be count + scale * ln(U) or count - scale * ln(U), U a 53-bit number."""
    found = np.zeros(len(outputs), dtype=bool)
    for sign in (1.0, -1.0):
        guess = np.rint(np.exp((outputs - count) / (sign * scale)) * 2.0**53)
        for nearby in range(-3, 4):
            k = guess + nearby
            with np.errstate(divide="ignore", invalid="ignore"):
                tried = count + sign * scale * np.log(k / 2.0**53)
            found |= (tried == outputs) & (k >= 1) & (k <= 2.0**53)
    return found


def test_mironovs_attack_tells_neighbours_apart_by_floats_and_not_by_whole_numbers() -> None:
    n, scale, runs = 0, 5.0, 4000
    rng = np.random.default_rng(1)
    sign = np.where(rng.random(runs) < 0.5, 1.0, -1.0)
    naive = n + sign * scale * np.log(rng.integers(1, 1 << 53, runs) / 2.0**53)
    true, other = mironov(naive, n, scale), mironov(naive, n + 1, scale)
    assert true.all()
    # impossible under the neighbour: each such output gives the sample away for certain
    assert (true & ~other).mean() > 0.3
    ours = discrete_laplace_array(door.SeededRandom(2), Fraction(5), runs)
    low = {side: Counter(((ours + side) % 4).tolist()) for side in (0, 1)}
    assert set(low[0]) == set(low[1]) == {0, 1, 2, 3}


def test_the_floats_of_a_release_are_functions_of_its_whole_numbers() -> None:
    """Those that depend on the examples, by what is drawn: they carry no bits of their own."""
    rng = np.random.default_rng(3)
    points = rng.integers(0, 65, (10_000, 2))
    labels = (points.sum(axis=1) < 64) ^ (rng.random(10_000) < 0.2)
    release = PolygonUnionLearner(grid=64, seed=1).fit(points, labels).release_
    public = dict(release.parameters)
    eta = release.privacy.charge("selections").each
    floats = {name for name, value in public.items() if type(value) is float}
    assert floats == {"choice_rate", "wrong_labels"}
    assert public["choice_rate"] == choice_rate(public["noisy_count"], eta, 64)
    wrong = wrong_share(public["noisy_mistakes"], public["noisy_count"], 64)
    assert public["wrong_labels"] == wrong


def test_the_stream_of_a_seed_is_shake_of_its_label() -> None:
    """Counted bytes are the door's own: nothing is mixed in on the way."""
    log: Counter[str] = Counter()
    expected = hashlib.shake_256(b"geodp 5 0").digest(64)
    assert Counting(5, log).bytes(64) == expected
    assert log.total() == 64
