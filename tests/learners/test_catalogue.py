"""The catalogue lists what there is, covers every system, and the docs are made from it."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from terminal import printed

from geodp_app.cli import main
from learners.catalogue import CATALOGUE, SYSTEMS, Entry, as_markdown

ROOT = Path(__file__).parents[2]


@pytest.mark.parametrize("entry", CATALOGUE, ids=lambda entry: entry.name)
def test_an_entry_can_be_imported_and_has_a_docstring(entry: Entry) -> None:
    found = entry.load()
    assert callable(found)
    assert found.__module__ == entry.path.rpartition(".")[0]
    assert (found.__doc__ or "").strip()


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
