"""Releases in files: what is written is read, and nothing else."""

import copy
import json
import pickle
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from every_learner import every_release

from geodp import Frame
from geodp_app.files.learned_file import learned_text, read_learned
from learners import NoisyHistogramLearner
from learners.core.codec import VERSION, release_from_dict, release_to_dict
from learners.core.codec_parts import privacy_from_dict
from learners.privacy.accounting import of_persons, one_of_several


def written(name: str) -> dict[str, Any]:
    """A release as it stands in a file."""
    data: dict[str, Any] = json.loads(json.dumps(release_to_dict(every_release()[name])))
    return data


#: One of each kind, by names of :mod:`every_learner`.
KINDS = {
    "cover": "cover k=2 finish=none add-remove",
    "sharpened": "cover k=2 add-remove",
    "tiles": "tiles support=0.2 add-remove",
    "conics": "discs k=2 replace-one",
    "conics, 5 parameters": "ellipses  add-remove",
    "space": "polytope  add-remove",
    "lifted": "balls  add-remove",
    "formula": "conjunction  add-remove",
    "parity": "private-parity  add-remove",
    "choice": "private-finite-class mechanism=laplace add-remove",
    "experts": "experts 3 replace-one",
}
kind = pytest.mark.parametrize("name", KINDS.values(), ids=KINDS)


def test_every_release_is_read_as_it_was_written() -> None:
    for name, release in every_release().items():
        back = release_from_dict(written(name))
        assert back == release, name
        privacy = release.privacy
        assert (back.privacy and back.privacy.run) == (privacy and privacy.run), name
        assert pickle.loads(pickle.dumps(release)).privacy == privacy, name
    assert {each.kind for each in every_release().values()} == {
        name.split(",")[0] for name in KINDS
    }


#: What a file holds beside kind, version, learner, parameters and privacy, by kind.
MEMBERS = {
    "cover": "role grid measure bits pieces thresholds",
    "sharpened": "grid measure bits pieces thresholds side zones",
    "tiles": "grid measure bits side tiles",
    "conics": "shape grid bits conics thresholds",
    "space": "role grid reach levels halfspaces thresholds",
    "lifted": "role family lattice regions thresholds",
    "formula": "role variables literals thresholds",
    "parity": "d parity",
    "choice": "index noisy_sums",
    "experts": "chosen",
}
#: All that is public of a run beside its result.
PARAMETERS = {
    "k", "steps", "beta", "loss_weight", "direction", "tiles", "edges", "noisy_count", "cells",
    "smooth", "chunks", "queries", "halts", "kept", "public_points", "unanswered", "constants",
    "monotone", "blocks", "test_share", "concepts", "domain", "mechanism", "hypotheses", "bound",
    "levels", "experts", "rounds", "margin",
}  # fmt: skip


def test_a_release_holds_these_members_and_no_others() -> None:
    """What is published: a new member must be thought about here."""
    outcome = {"epsilon", "delta", "neighbours", "account", "charges", "private", "run"}
    for name, release in every_release().items():
        data = written(name)
        support = {"support"} if "support=" in name else set()
        assert set(data) - support == {
            "kind", "version", "learner", "parameters", "privacy",
            *MEMBERS[data["kind"]].split(),
        }, name  # fmt: skip
        assert set(data["parameters"]) <= PARAMETERS, name
        assert release.privacy is None or set(data["privacy"]) == outcome, name
        assert not hasattr(release, "__dict__"), name


# -- statements ----------------------------------------------------------------------------


def with_privacy(data: dict[str, Any], **members: Any) -> dict[str, Any]:
    return data | {"privacy": data["privacy"] | members}


#: Accounts that are there to be compared, and experts, may cost less than they state.
LOOSE = ("account=", "experts")


def test_a_statement_that_its_charges_do_not_compose_to_is_refused() -> None:
    """Of every learner, for all neighbours: by any account less is said than is spent."""
    for name, release in every_release().items():
        spent, data = release.privacy, written(name)
        if spent is None:
            continue
        loose = any(word in name for word in LOOSE)
        with pytest.raises(ValueError, match=r"compose"):
            release_from_dict(with_privacy(data, epsilon=0.01))
        if not loose:
            with pytest.raises(ValueError, match=r"compose"):
                release_from_dict(with_privacy(data, epsilon=0.999 * spent.epsilon))
        if not loose and spent.account != "stability":
            with pytest.raises(ValueError, match=r"compose"):
                release_from_dict(with_privacy(data, epsilon=1.001 * spent.epsilon))
            if "strawman" not in name:  # its list alone is epsilon-DP
                with pytest.raises(ValueError, match=r"compose|delta"):
                    release_from_dict(with_privacy(data, delta=0.5))
        if spent.delta and not loose and spent.account != "stability":
            with pytest.raises(ValueError, match=r"compose|delta"):
                release_from_dict(with_privacy(data, delta=spent.delta / 10))
        # without one of its charges, and with one that is more
        for i, charge in enumerate(data["privacy"]["charges"]):
            more = [*data["privacy"]["charges"]]
            more[i] = charge | {"each": 4 * charge["each"]}
            with pytest.raises(ValueError, match=r"compose"):
                release_from_dict(with_privacy(data, charges=more))
        with pytest.raises(ValueError, match=r"charges"):
            release_from_dict(with_privacy(data, charges=[]))


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"account": "basic"}, "compose"),
        ({"account": "stability"}, "unanswered queries"),
        ({"neighbours": "replace-one"}, "compose"),
        ({"run": "x"}, "value that it cannot have"),
        ({"run": 7}, "run: 7 is not a text"),
        ({"private": False}, "value that it cannot have"),  # a seeded run has no name
    ],
)
def test_a_statement_of_a_cover_that_was_changed_is_refused(change, message):
    data = written(KINDS["cover"])["privacy"]
    assert privacy_from_dict(data).epsilon == 1.0
    with pytest.raises(ValueError, match=message):
        privacy_from_dict(data | change)


def test_a_release_for_persons_with_several_rows_says_so_and_reads_back() -> None:
    asked = 1.0, 1e-6, 3
    each, delta = one_of_several(*asked)
    model = NoisyHistogramLearner(epsilon=each, delta=delta, grid=4, cells=2)
    release = model.fit([[0, 1], [3, 1]] * 20, [0, 1] * 20).release_
    public = (*release.parameters, ("unit", "who"))
    release = replace(release, parameters=public, privacy=of_persons(release.privacy, *asked))
    data = release_to_dict(release)
    assert data["privacy"]["rows"] == 3
    assert release_from_dict(data) == release
    for wrong in (1, 2, 0, -3, 3.0, True, "3", None, 10**9):
        with pytest.raises(ValueError, match=r"compose|rows|cannot have"):
            release_from_dict(with_privacy(data, rows=wrong))
    with pytest.raises(ValueError, match="unit: is missing"):
        release_from_dict(data | {"parameters": {**data["parameters"]} | {"unit": None}})
    del data["parameters"]["unit"]
    with pytest.raises(ValueError, match="unit: is missing"):
        release_from_dict(data)


#: Of runs by name, what somebody makes of them, and what is said to it.
CHANGED: list[tuple[str, dict[str, Any], dict[str, Any], str]] = [
    # name, members of the statement, public parameters, message
    ("stability  add-remove", {"delta": 1e-7}, {}, "its margin do not compose to"),
    ("stability  add-remove", {"delta": 0.9}, {}, "its margin do not compose to"),
    ("stability  add-remove", {"delta": 0.0}, {}, "do not compose to"),
    ("stability  add-remove", {"epsilon": 2.0}, {}, "its margin do not compose to"),
    ("stability  add-remove", {}, {"margin": 45}, "its margin do not compose to"),
    ("stability  add-remove", {}, {"halts": 2}, "its margin do not compose to"),
    ("stability  add-remove", {}, {"constants": "printed"}, "compose|printed constants"),
    ("stability  add-remove", {"neighbours": "replace-label"}, {}, "labels alone are protected"),
    ("stability  add-remove", {"account": "zcdp"}, {}, "those of unanswered queries"),
    ("stability  add-remove", {"account": "basic"}, {}, "those of unanswered queries"),
    (
        "stability neighbours=replace-label add-remove",
        {"neighbours": "add-remove"},
        {},
        "labels alone are protected",
    ),
    ("cover k=2 add-remove", {}, {"steps": 5}, "steps: 5, and the charges"),
    ("cover k=2 add-remove", {}, {"steps": 3}, "steps: 3, and the charges"),
    ("discs k=2 replace-one", {}, {"steps": 7}, "steps: 7, and the charges"),
    ("conjunction  add-remove", {}, {"steps": 1}, "steps: 1, and the charges"),
    ("cover k=2 add-remove", {"neighbours": "replace-label"}, {}, "protects labels alone"),
    ("threshold  replace-one", {"neighbours": "replace-label"}, {}, "protects labels alone"),
    ("tiles  add-remove", {"neighbours": "replace-label"}, {}, "protects labels alone"),
    ("cover k=1 add-remove", {"delta": 1e-300}, {}, "compose"),
    ("conjunction account=basic add-remove", {"delta": 0.0}, {}, "a run in steps has one"),
    ("tiles  add-remove", {"account": "zcdp"}, {}, "no run with these charges has the account"),
    ("quadtree  add-remove", {"account": "advanced"}, {}, "delta is 1e-40 at least"),
]


@pytest.mark.parametrize(("name", "members", "parameters", "message"), CHANGED)
def test_a_release_that_was_changed_in_what_it_says_of_privacy_is_refused(
    name: str, members: dict[str, Any], parameters: dict[str, Any], message: str
) -> None:
    data = with_privacy(written(name), **members)
    with pytest.raises(ValueError, match=message):
        release_from_dict(data | {"parameters": data["parameters"] | parameters})


def test_a_cover_is_sharpened_once() -> None:
    data = written("cover k=2 add-remove")
    charges = [c | {"times": 2} if c["name"] == "sharpening" else c
               for c in data["privacy"]["charges"]]  # fmt: skip
    assert charges != data["privacy"]["charges"]
    with pytest.raises(ValueError, match="is sharpened once"):
        release_from_dict(with_privacy(data, charges=charges))


def test_the_margin_of_votes_is_a_member_that_cannot_be_left_out() -> None:
    data = written("stability  add-remove")
    without = {name: value for name, value in data["parameters"].items() if name != "margin"}
    with pytest.raises(ValueError, match="'margin' is missing"):
        release_from_dict(data | {"parameters": without})


@pytest.mark.parametrize(
    ("name", "parameter", "wrong"),
    [
        ("cover", "k", [1.5, 0, "two", True, 10**9, None]),
        ("cover", "steps", [1.5, -1, "6", True, None]),
        ("cover", "beta", [0, 1, "0.1", -0.1, None]),
        ("tiles", "tiles", [1.5, 0, "2", False]),
        ("tiles", "noisy_count", [0.5, "9", None, True]),
        ("tiles", "edges", [3, 1.0]),
        ("conics", "k", [1.5]),
        ("formula", "k", [1.5]),
        ("parity", "constants", ["loose", 1]),
        ("choice", "mechanism", ["gaussian"]),
        ("choice", "concepts", [2.5, -1]),
        ("experts", "rounds", [2.5, "3"]),
    ],
)
def test_a_parameter_is_of_its_kind_and_in_its_range(name, parameter, wrong):
    data = written(KINDS[name])
    assert parameter in data["parameters"]
    for value in wrong:
        with pytest.raises(ValueError, match=rf"parameters\.{parameter}"):
            release_from_dict(data | {"parameters": data["parameters"] | {parameter: value}})
    # nor is another learner's, by its name
    strange = data["parameters"] | {"k": 1.5, "steps": 1.5}
    with pytest.raises(ValueError, match=r"parameters\.(k|steps)"):
        release_from_dict(data | {"parameters": strange})


# -- strictness ----------------------------------------------------------------------------


def leaves(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[tuple[Any, ...], Any]]:
    """Every value in a JSON value that is no object and no list, with the way to it."""
    if isinstance(value, dict | list):
        for key, below in value.items() if isinstance(value, dict) else enumerate(value):
            yield from leaves(below, (*path, key))
    else:
        yield path, value


def changed(data: Any, path: tuple[Any, ...], value: Any) -> Any:
    data = copy.deepcopy(data)
    place = data
    for key in path[:-1]:
        place = place[key]
    place[path[-1]] = value
    return data


@kind
def test_whole_numbers_are_never_rounded_and_nothing_stands_for_something_else(name: str) -> None:
    data, exact = written(name), 0
    for path, value in leaves(data):
        if path[0] in ("parameters", "learner") or path[-1] == "run":
            continue  # their own tests; and a run need not have a name
        if type(value) is int and path[0] != "privacy":
            wrong: list[Any] = [value + 0.9, float(value), str(value), None, [value], {}]
            wrong += [bool(value)] if value in (0, 1) else []
        elif type(value) is bool:
            wrong = [int(value), str(value), None]
        elif value is None:
            wrong = ["", 0.5, True]
        else:
            wrong = [True, None, [value]]
        for other in wrong:
            exact += 1
            whole = type(value) is int and path[0] != "privacy" and other == value + 0.9
            with pytest.raises(ValueError, match="whole number|zone" if whole else "."):
                release_from_dict(changed(data, path, other))
    assert exact > 10


@kind
def test_a_member_too_many_or_too_few_is_refused(name: str) -> None:
    data = written(name)
    for member in data:
        rest = {key: value for key, value in data.items() if key != member}
        with pytest.raises(ValueError, match=r"is missing|not known|must be"):
            release_from_dict(rest)
    with pytest.raises(ValueError, match="surplus"):
        release_from_dict({**data, "surplus": 1})


#: Values of the right type that no release of the kind has, by kind and member.
TILE = {"box": [0, 0, 16, 16], "inside": 1, "piece": []}
DAMAGED: dict[str, dict[str, list[Any]]] = {
    "cover": {
        "role": ["xor"], "grid": ["wide", 0], "measure": ["metric"], "bits": [99, -1],
        "thresholds": [["many"], [1, 2, 3, 4, 5, 6, 7]], "parameters": [None],
        "privacy": [{"epsilon": 1.0}, 5],
        "pieces": [3, [[["FLAT_ABOVE", 0]]], [[["SIDEWAYS", 0, 0]]],
                   [[["FLAT_ABOVE", -(10**9), 0]]], [[["FLAT_ABOVE", 0, 0]] * 2]],
    },
    "tiles": {
        "side": [3, "wide"], "bits": [99, -1], "privacy": [5],
        "tiles": [[], None, [TILE | {"box": [0, 0, 3, 3]}], [TILE | {"inside": 2}],
                  [TILE | {"piece": [["FLAT_ABOVE", 0, 0]] * 4}], [TILE | {"box": [0, 0, 16]}]],
    },
    "conics": {
        "bits": [-1], "conics": [[[1, 2]], [[-5, 2, 3]] * 6], "kind": ["square"],
        "thresholds": [[1]], "grid": [4096],
    },
    "space": {"halfspaces": [[[[1, 0, 0, 10**6]]]], "grid": [65]},
    "lifted": {"family": ["cubes"], "regions": [[[]], [[[10**9]]]], "lattice": [{"d": 10**6}]},
    "formula": {
        "role": ["both"], "variables": [0], "thresholds": [[1]], "literals": [[3]],
        "privacy": [{"epsilon": 1}],
    },
}  # fmt: skip


@pytest.mark.parametrize("name", DAMAGED)
def test_a_value_that_no_release_has_is_refused(name: str) -> None:
    data = written(KINDS[name])
    for member, values in DAMAGED[name].items():
        for value in values:
            with pytest.raises(ValueError, match=r"."):
                release_from_dict(data | {member: value})


def test_numbers_of_what_there_is_not_are_refused() -> None:
    formula, choice = written(KINDS["formula"]), written(KINDS["choice"])
    for beyond in (-1, formula["variables"]):
        literals = [[beyond, False], *formula["literals"][1:]]
        with pytest.raises(ValueError, match="is no literal of"):
            release_from_dict(formula | {"literals": literals})
    for beyond in (-1, len(choice["noisy_sums"])):
        with pytest.raises(ValueError, match="is not in the list of hypotheses"):
            release_from_dict(choice | {"index": beyond})


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (
            {"version": VERSION + 1},
            f"version {VERSION + 1}, and this geodp reads version {VERSION} alone",
        ),
        ({"version": 1}, f"is of version 1, and this geodp reads version {VERSION} alone"),
        ({"version": True}, "version: True is not a whole number"),
        ({"bits": -1}, "negative"),
        ({"kind": "mosaic"}, "kind 'mosaic' is not known"),
        ({"kind": ["cover"]}, "is not known"),
        ({"kind": "tiles"}, "'side' is missing"),
    ],
)
def test_an_unknown_form_is_refused(change: dict[str, Any], message: str) -> None:
    data = written(KINDS["cover"])
    with pytest.raises(ValueError, match=message):
        release_from_dict(data | change)


@pytest.mark.parametrize("data", [None, 3, [], "cover", {}, {"learner": "x"}])
def test_what_is_no_release_is_refused(data: Any) -> None:
    with pytest.raises(ValueError, match=r"release must be|'version' is missing"):
        release_from_dict(data)


def test_a_learned_file_that_holds_no_shape_is_refused_in_one_line(tmp_path: Path) -> None:
    from geometry.errors import InputError

    whole = json.loads(learned_text(every_release()[KINDS["cover"]], Frame(16)))
    whole["geodp"]["release"] = written(KINDS["parity"])
    (tmp_path / "a.geojson").write_text(json.dumps(whole))
    with pytest.raises(InputError, match=r"a\.geojson: geodp\.release: a parity, which is no"):
        read_learned(tmp_path / "a.geojson")
