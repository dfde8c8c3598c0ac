"""Every learner is declared once, catalogued, and composed of three classes at most."""

import importlib
import inspect
import os
import pkgutil
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from terminal import printed

import learners
from benchmarks.audits.declared import SUBJECTS
from geodp_app.cli import main
from learners.catalogue import CATALOGUE, SYSTEMS, as_markdown
from learners.core.estimator import Estimator
from learners.declaration import Learner, Parameter
from learners.registry import BY_ID, LEARNERS, offered, unknown_learner

#: Parameters that no field can hold: grid and bounds are the sample's; others are Python objects,
#: or settings that nobody but a developer changes.
_UNDECLARED = {"self", "grid", "bounds", "base", "points", "unanswered", "constants", "workers"}
_UNDECLARED |= {"losses", "concepts", "loss_weight", "max_boxes", "positive", "args", "kwargs"}


#: Pieces of bodies in space.
SPATIAL = ("halfspace", "simplex", "ball")

#: Learners of bodies in the plane and in space, whose runs are streams of steps.
IN_STEPS = [learner for learner in LEARNERS if learner.piece not in ("literal", "concept")]


def constructor(learner: Learner) -> dict[str, inspect.Parameter]:
    return dict(inspect.signature(learner.load().__init__).parameters)


def everyone(test: Any) -> Any:
    return pytest.mark.parametrize("learner", LEARNERS, ids=lambda learner: learner.id)(test)


def owner(audit: str) -> str:
    """The learner that an audit is named after."""
    return max((name for name in BY_ID if audit.startswith(name)), key=len, default="")


def test_a_name_is_one_learner_in_all_places() -> None:
    assert len(BY_ID) == len(LEARNERS)
    assert len({learner.title for learner in LEARNERS}) == len(LEARNERS)
    assert all(re.fullmatch(r"[a-z]+(-[a-z]+)*", learner.id) for learner in LEARNERS)
    names = [name for learner in LEARNERS for name in SUBJECTS if owner(name) == learner.id]
    # then what is no learner that a person picks by its name
    assert names + ["private-experts", "stable-queries"] == list(SUBJECTS)


@everyone
def test_parameters_are_those_of_the_class(learner: Learner) -> None:
    taken = constructor(learner)
    declared = [parameter.name for parameter in learner.parameters]
    assert len(set(declared)) == len(declared)
    fixed = dict(learner.fixed)
    assert set(declared) | set(fixed) <= set(taken)
    # with k the class of tiles is the cover, and the other way round
    other = {
        "cover": {"tiles", "edges", "support"},
        "tiles": {"k", "n_steps", "alpha", "beta", "finish", "selection"},
    }
    refused = set() if learner.private else {"check"}
    left = set(taken) - set(declared) - set(fixed) - _UNDECLARED - refused
    by_k = "cover" if "cover" in learner.id else "tiles"
    assert left <= (other[by_k] if "edges" in taken else set())


@everyone
def test_defaults_are_those_of_the_class_and_in_range(learner: Learner) -> None:
    taken = constructor(learner)
    for parameter in learner.parameters:
        assert parameter.accepts(parameter.default), parameter.name
        if parameter.name == "k" and "tiles" in taken:
            assert taken["k"].default is None  # which is tiles
            continue
        assert parameter.default == taken[parameter.name].default, parameter.name
        assert (parameter.default is None) <= bool(parameter.unset), parameter.name


@everyone
def test_a_learner_is_what_its_entry_says(learner: Learner) -> None:
    cls = learner.load()
    # a table counts points of the plane, and chunks that vote hold single examples
    outcome = learner.piece not in SPATIAL and "votes" not in learner.shows
    assert learner.takes_counts == (issubclass(cls, Estimator) and outcome), "takes_counts"
    assert learner.private == ("epsilon" in constructor(learner))
    assert bool(learner.counts) == (learner.parameter("k") is not None)
    role = getattr(cls, "role", None)
    if learner.role is not None and role is not None:
        assert learner.role == role
    kind = getattr(cls, "kind", None)
    assert kind is None or kind == learner.piece
    piece = getattr(cls, "piece", None)
    if isinstance(piece, str) and not learner.by_tiles:
        assert piece == learner.piece


@everyone
def test_what_people_read_is_in_order(learner: Learner) -> None:
    texts = [learner.title, *(parameter.label for parameter in learner.parameters)]
    assert all(text and text[0] == text[0].strip() and not text.endswith(".") for text in texts)
    for sentence in (learner.sentence, *(parameter.help for parameter in learner.parameters)):
        assert sentence.endswith("."), sentence
        assert sentence[0].isupper(), sentence
        assert len(sentence) < 200, sentence


@everyone
def test_a_learner_is_audited(learner: Learner) -> None:
    own = [subject for name, subject in SUBJECTS.items() if owner(name) == learner.id]
    assert own
    for subject in own:
        assert subject.private == learner.private
        assert subject.learner is learner.load()


@pytest.mark.parametrize("place", ["learn", "compare", "plan", "window"])
def test_what_is_offered_can_be_built_with_its_defaults(place: Any) -> None:
    found = offered(place)
    assert len(found) >= 7
    for learner in found:
        given = {parameter.name: parameter.default for parameter in learner.parameters}
        model = learner.build(grid=16, **given)
        assert model.grid == 16
        assert all(getattr(model, name) == value for name, value in learner.fixed)


@pytest.mark.parametrize(
    ("parameter", "right", "wrong"),
    [
        (Parameter("k", "whole number", "k", "", 1, low=1), [1, 7], [0, 1.0, True, "1", None]),
        (Parameter("b", "number", "b", "", 0.1, low=0, high=1, open=True), [0.5], [0, 1, -1, "x"]),
        (Parameter("e", "number", "e", "", 1, low=0, high=1), [0, 1], [-0.1, 1.1, float("nan")]),
        (Parameter("n", "number", "n", "", unset="none"), [None, 3], [True, "3"]),
        (Parameter("c", "choice", "c", "", 1, choices=((1, "one"), ("b", "bee"))), [1, "b"], [2]),
    ],
)
def test_values_out_of_range_are_refused(parameter: Parameter, right: Any, wrong: Any) -> None:
    assert all(parameter.accepts(value) for value in right)
    assert not any(parameter.accepts(value) for value in wrong)


def test_old_names_are_told_the_new_one() -> None:
    known = [learner.id for learner in offered("compare")]
    assert unknown_learner("union", known) == "the learner 'union' is now called cover or tiles"
    assert "greedy-cover" in unknown_learner("greedy", known)
    assert (
        unknown_learner("parity", SUBJECTS) == "the learner 'parity' is now called private-parity"
    )
    assert unknown_learner("x", ["a", "b"]) == "unknown learner 'x': use a, b"
    assert unknown_learner("histogram", ["a", "b"]) == "'histogram' is not offered here: use a, b"


@pytest.mark.parametrize("learner", IN_STEPS, ids=lambda learner: learner.id)
def test_what_a_run_will_spend_is_known_before_it_and_is_what_it_spends(learner: Learner) -> None:
    tiny = {"k": 1, "chunks": 3, "queries": 5, "levels": 2, "reach": 1}
    fields = [p.name for p in learner.parameters]
    given = {name: value for name, value in tiny.items() if name in fields}
    space = learner.piece in SPATIAL
    points = [[1, 1, 1], [2, 2, 0]] if space else [[1, 1], [3, 0]]
    for neighbours in ("add-remove", "replace-one"):
        if learner.private:
            given |= {"epsilon": 2.0, "neighbours": neighbours}
        model = learner.build(grid=4, **given)
        planned = model.plan()
        assert model.fit(points * 3, [0, 1] * 3).release_.privacy == planned
        assert (planned is not None) == learner.private
        if planned is None:
            continue
        assert (planned.epsilon, planned.neighbours, planned.private) == (2.0, neighbours, True)
        inner = 2.0 if neighbours == "add-remove" or planned.account == "stability" else 1.0
        whole = sum(charge.alone for charge in planned.charges)
        assert planned.charges
        # by the sum they are epsilon, but for what rounding is charged
        if planned.account == "basic":
            assert 0.999 * inner < whole <= inner * (1 + 1e-12)


_LEARNER = """
import re, sys, types
from pathlib import Path

text = Path(sys.argv[1]).read_text(encoding="utf-8")
module, entry = re.findall(r"```python\\n(.*?)```", text[text.index("## Exercise") :], re.DOTALL)
if len(sys.argv) > 2:
    module = module.replace("epsilon: float", "loops: int = 3\\n    epsilon: float", 1)
    loops = 'Parameter("loops", "whole number", "Loops", "How often nothing is done.", 3, low=1)'
    entry = entry.replace("parameters=_PRIVACY", f"parameters=({loops}, *_PRIVACY)")
import learners.registry as registry

made = types.ModuleType("learners.majority")
sys.modules["learners.majority"] = made
exec(module, made.__dict__)
learner = eval(entry, registry.__dict__)
registry.LEARNERS = (*registry.LEARNERS, learner)
registry.BY_ID[learner.id] = learner
from geodp_app.cli import main
"""

_EXERCISE = """
for argv in (
    ["learn", "p.csv", "--learner", "majority", "--epsilon", "2", "-o", "l.geojson"],
    ["evaluate", "l.geojson", "p.csv"],
    ["compare", "p.csv", "--learners", "majority,tiles", "--json"],
    ["audit", "--learner", "majority", "--runs", "400", "--json"],
    ["learners", "--markdown"],
    ["learn", "--help"],
):
    try:
        code = main(argv)
    except SystemExit as end:
        code = end.code
    assert code == 0, argv
from geodp_app.document.work import LEARNERS, RunSettings
from geodp_app.runs.learner_process import make_learner

assert "majority" in LEARNERS
assert type(make_learner(RunSettings("majority"), 8)) is made.MajorityLearner
"""


def run_exercise(code: str, folder: Path, *more: str) -> subprocess.CompletedProcess[str]:
    """Run code after the learner of the page is declared, here with one parameter `more`."""
    page = Path(__file__).parents[2] / "docs" / "architecture.md"
    return subprocess.run(
        [sys.executable, "-c", _LEARNER + code, str(page), *more],
        capture_output=True,
        text=True,
        cwd=folder,
        env={**os.environ, "PYTHONPATH": str(page.parent.parent)},
        check=False,
    )


def test_the_exercise_adds_a_learner_in_one_module_and_one_entry(tmp_path: Path) -> None:
    rows = "".join(f"{x},{y},{int(x + y < 12)}\n" for x in range(9) for y in range(9))
    (tmp_path / "p.csv").write_text('# geodp {"grid": 8}\nx,y,label\n' + rows)
    done = run_exercise(_EXERCISE, tmp_path)
    assert done.returncode == 0, done.stderr
    assert "1 tile, (2, 0)-differentially private" in done.stderr
    assert '"refuted": false' in done.stdout
    assert "| The more frequent label, `majority` |" in done.stdout
    assert "majority         Labels all points as most examples are." in done.stdout


_PARAMETER = """
try:
    main(["learn", "--help"])
except SystemExit:
    pass
from geodp_app.commands.plugin import declared
from geodp_app.document.work import RunSettings, Work
from geodp_app.files.session import load_session, save_session
from geodp_app.runs.learner_process import make_learner

found = declared()
assert "loops" in {each["id"]: each for each in found["learners"]}["majority"]["parameters"]
assert (found["verbs"]["learn"]["loops"]["label"], found["verbs"]["learn"]["loops"]["low"]) == (
    "Loops", 1)
work = Work(run=RunSettings("majority", loops=5))
assert make_learner(work.run, 8).loops == 5
save_session("a.geodp", work)
assert load_session("a.geodp").work == work
assert work.run.with_("tiles").with_("majority")["loops"] == 5

from PySide6.QtWidgets import QApplication

app = QApplication([])
from geodp_app.views.panels.settings_panel import SettingsPanel

panel, told = SettingsPanel(), []
panel.show_work(work)
field = panel.fields["loops"]
assert (field.value(), field.minimum(), field.toolTip()) == (5, 1, "How often nothing is done.")
assert not field.isHidden()
panel.run_changed.connect(told.append)
field.setValue(7)
assert told == [{"loops": 7}]
panel.show_work(Work(run=work.run.with_("tiles")))
assert field.isHidden()
"""


def test_a_parameter_that_is_declared_is_everywhere(tmp_path: Path) -> None:
    done = run_exercise(_PARAMETER, tmp_path, "loops")
    assert done.returncode == 0, done.stderr
    assert re.search(r"--loops LOOPS +How often nothing is done. For majority.", done.stdout)


ROOT = Path(__file__).parents[2]


def test_entries_can_be_imported_and_have_a_docstring() -> None:
    for entry in CATALOGUE:
        found = pkgutil.resolve_name(entry.path)
        assert callable(found), entry.name
        assert found.__module__ == entry.path.rpartition(".")[0]
        assert (found.__doc__ or "").strip(), entry.name


def test_every_system_has_an_entry_and_names_are_unique() -> None:
    assert {item for entry in CATALOGUE for item in entry.items} == set(SYSTEMS)
    assert len({entry.name for entry in CATALOGUE}) == len(CATALOGUE)
    tools = [entry.path for entry in CATALOGUE if not entry.id]
    assert len(set(tools)) == len(tools)


def test_every_public_learner_is_listed() -> None:
    listed = {entry.path for entry in CATALOGUE}
    found = set()
    for path in sorted((ROOT / "learners").rglob("*.py")):
        module = ".".join(path.relative_to(ROOT).with_suffix("").parts)
        for name in re.findall(r"^class ([A-Z]\w*Learner)\(", path.read_text(), re.MULTILINE):
            if name not in ("BooleanLearner",):
                found.add(f"{module}.{name}")
    assert len(found) > 15
    assert found <= listed


def test_the_page_links_to_files_that_exist() -> None:
    links = re.findall(r"\]\((\.\./[^)]+)\)", as_markdown())
    assert len(links) == len(CATALOGUE)
    assert all((ROOT / "docs" / link).exists() for link in links)


def test_the_command_prints_the_catalogue(capsys: pytest.CaptureFixture[str]) -> None:
    outcome = printed(capsys, "learners")
    assert [one["path"] for one in outcome] == [entry.path for entry in CATALOGUE]
    assert set(outcome[0]) == {"name", "path", "items", "guarantee", "where", "id"}
    assert main(["learners", "--markdown"]) == 0
    assert capsys.readouterr().out == as_markdown()
    assert main(["learners"]) == 0
    assert CATALOGUE[0].guarantee in capsys.readouterr().out


def own(cls: type) -> set[str]:
    """What a class has of its own: one that only says which pieces it takes is its pair's form."""
    return {name for name in vars(cls) if not name.startswith("_")} - {"role", "kind", "piece"}


def test_no_class_stands_on_more_than_two_others_of_the_package() -> None:
    classes = {
        cls
        for module in pkgutil.walk_packages(learners.__path__, "learners.")
        for cls in vars(importlib.import_module(module.name)).values()
        if inspect.isclass(cls) and cls.__module__.startswith("learners.")
    }
    assert len(classes) > 150
    for cls in classes:
        chain = [
            base for base in cls.__mro__ if base.__module__.startswith("learners.") and own(base)
        ]
        assert len(chain) <= 3, chain
