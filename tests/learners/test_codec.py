"""Releases in files: what is written is read, what 0.1.0 wrote is read, and nothing else."""

from __future__ import annotations

import copy
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import shapely

from geodp_app.files.learned_file import read_learned
from geodp_app.files.session import load_session
from learners.codec import VERSION, release_from_dict, release_to_dict

#: Written by geodp 0.1.0, from examples on a small grid and with a seed.
FILES = Path(__file__).parents[1] / "files" / "0.1.0"
SHAPES = sorted(path.name for path in FILES.glob("*.geojson"))
OBJECTS = sorted(path.name for path in FILES.glob("*.json") if path.name != "labels.json")
SESSIONS = sorted(path.name for path in FILES.glob("*.geodp"))
#: What 0.1.0 predicted on all grid points (x, y), x slower, as a text of digits.
LABELS = json.loads((FILES / "labels.json").read_text())


def stored(name: str) -> dict[str, Any]:
    data: dict[str, Any] = json.loads((FILES / name).read_text())
    if name.startswith("report"):
        return dict(data["release"])
    return dict(data["geodp"]["release"]) if name.endswith(".geojson") else data


def kinds() -> list[str]:
    """One file of each kind of release."""
    found = {release_from_dict(stored(name)).kind: name for name in (*SHAPES, *OBJECTS)}
    found["conics, 5 parameters"] = "ellipses.geojson"
    return sorted(found.values())


def grid_points(d: int) -> np.ndarray:
    return np.indices((d + 1, d + 1)).reshape(2, -1).T


# -- files of 0.1.0 ------------------------------------------------------------------------


@pytest.mark.parametrize("name", SHAPES)
def test_a_learned_file_of_0_1_0_opens_and_predicts_what_it_did(name: str) -> None:
    file = read_learned(FILES / name)
    assert file.release is not None
    points = grid_points(file.release.d)
    predicted = file.release.predict(points)
    assert "".join(map(str, predicted)) == LABELS[name]
    # and the polygons of the file, which know nothing of the release, agree off their outlines
    shape = file.target.on_grid(file.release.d, file.target.bounds)
    clear = shapely.distance(shape.boundary, shapely.points(points)) > 1e-6
    assert clear.mean() > 0.5
    inside = shapely.contains_xy(shape, points.astype(float))
    tiled = file.release.kind == "tiles" or file.release.kind == "conics"
    if not tiled:  # chords and borders between grid points lie elsewhere than the labels' edges
        np.testing.assert_array_equal(inside[clear], predicted[clear].astype(bool))


@pytest.mark.parametrize("name", OBJECTS)
def test_an_object_of_0_1_0_is_read(name: str) -> None:
    release = release_from_dict(stored(name))
    new = release_to_dict(release)
    assert new["version"] == VERSION
    assert release_from_dict(json.loads(json.dumps(new))) == release


@pytest.mark.parametrize("name", SESSIONS)
def test_a_session_of_0_1_0_opens_with_its_run(name: str) -> None:
    work, run = load_session(FILES / name)
    assert work.examples is not None
    assert run is not None
    assert run.release is not None
    assert len(run.records) == run.records[-1].steps
    predicted = run.release.predict(grid_points(run.grid))
    assert "".join(map(str, predicted)) == LABELS[name]


def test_every_kind_has_a_file() -> None:
    read = [release_from_dict(stored(name)).kind for name in (*SHAPES, *OBJECTS)]
    assert set(read) == {
        "cover", "tiles", "conics", "space", "formula", "parity", "choice", "experts",
    }  # fmt: skip


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


@pytest.mark.parametrize("name", kinds())
def test_whole_numbers_are_never_rounded_and_nothing_stands_for_something_else(name: str) -> None:
    for data in (stored(name), release_to_dict(release_from_dict(stored(name)))):
        exact = 0
        for path, value in leaves(data):
            if path[0] == "parameters" or path[0] == "learner":
                continue  # any plain value, any name
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
                with pytest.raises(ValueError, match=r"."):
                    release_from_dict(changed(data, path, other))
        assert exact > 10


@pytest.mark.parametrize("name", kinds())
def test_a_member_too_many_or_too_few_is_refused(name: str) -> None:
    for data in (stored(name), release_to_dict(release_from_dict(stored(name)))):
        for member in data:
            rest = {key: value for key, value in data.items() if key != member}
            if member != "privacy" or data["privacy"] is not None:
                with pytest.raises(ValueError, match=r"is missing|not known|must be|no kind"):
                    release_from_dict(rest)
        with pytest.raises(ValueError, match="surplus"):
            release_from_dict({**data, "surplus": 1})


def test_what_was_read_as_another_hypothesis_is_refused() -> None:
    cover, tiles = stored("cover.geojson"), stored("tiles.geojson")
    sheet, u, v = cover["pieces"][0][0]
    for data, wrong in (
        (cover, {"pieces": [[[sheet, u + 0.9, v], *cover["pieces"][0][1:]], cover["pieces"][1]]}),
        (cover, {"grid": 16.7}),
        (cover, {"thresholds": [b + 0.9 for b in cover["thresholds"]]}),
        (cover, {"bits": -1}),
        (tiles, {"bits": -1}),
        (tiles, {"side": True}),
        (stored("discs.geojson"), {"bits": -1}),
        (stored("polytope.json"), {"reach": 1.2}),
        (stored("conjunction.json"), {"variables": 5.5}),
    ):
        release_from_dict(data)
        with pytest.raises(ValueError, match=r"whole number|negative"):
            release_from_dict({**data, **wrong})


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"version": VERSION + 1}, "written by a newer geodp"),
        ({"version": 1}, "is not known"),
        ({"version": True}, "version: True is not a whole number"),
        ({"kind": "mosaic"}, "kind 'mosaic', version 2 is not known"),
        ({"kind": ["cover"]}, "is not known"),
        ({"kind": "tiles"}, "'side' is missing"),
    ],
)
def test_an_unknown_form_is_refused(change: dict[str, Any], message: str) -> None:
    data = release_to_dict(release_from_dict(stored("cover.geojson")))
    with pytest.raises(ValueError, match=message):
        release_from_dict(data | change)


@pytest.mark.parametrize("data", [None, 3, [], "cover", {}, {"learner": "x"}])
def test_what_is_no_release_is_refused(data: Any) -> None:
    with pytest.raises(ValueError, match=r"release must be|no kind is stated"):
        release_from_dict(data)


def test_a_learned_file_that_holds_no_shape_is_refused_in_one_line(tmp_path: Path) -> None:
    from geodp_app.errors import InputError

    whole = json.loads((FILES / "cover.geojson").read_text())
    whole["geodp"]["release"] = stored("parity.json")
    (tmp_path / "a.geojson").write_text(json.dumps(whole))
    with pytest.raises(InputError, match=r"a\.geojson: geodp\.release: a parity, which is no"):
        read_learned(tmp_path / "a.geojson")
