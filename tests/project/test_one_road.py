"""Each thing has one place: the table of docs/architecture.md, held by searching the product."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PRODUCT = {
    path.relative_to(ROOT).as_posix(): path.read_text(encoding="utf-8")
    for folder in ("geometry", "learners", "geodp_app")
    for path in sorted((ROOT / folder).rglob("*.py"))
} | {"geodp.py": (ROOT / "geodp.py").read_text(encoding="utf-8")}


def rows() -> list[tuple[str, ...]]:
    """Thing, its places and what holds it, of each row."""
    page = (ROOT / "docs" / "architecture.md").read_text(encoding="utf-8")
    table = page.split("## One road for each thing")[1].split("\n## ")[0]
    lines = [line for line in table.splitlines() if line.startswith("| ")]
    return [tuple(re.split(r"(?<!\\) \| ", line.strip("| "))) for line in lines[1:]]


ROWS = rows()


def test_the_table_names_what_people_look_for() -> None:
    assert len(ROWS) > 12
    assert len({row[0] for row in ROWS}) == len(ROWS)


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row[0])
def test_it_is_done_there_alone(row: tuple[str, ...]) -> None:
    _, places, held = row
    named = [place.removeprefix("../") for place in re.findall(r"\]\(([^)#]+)\)", places)]
    assert named, "no place is named"
    assert all((ROOT / place).exists() for place in named)
    searched = re.findall(r"`([^`]+)`", held)
    for pattern in searched:
        words = re.compile(pattern.replace("\\|", "|"), re.MULTILINE)
        found = [name for name, text in PRODUCT.items() if words.search(text)]
        assert found, f"{pattern} is nowhere"
        others = [name for name in found if not any(name.startswith(place) for place in named)]
        assert not others, f"{pattern} is elsewhere, too"
    contracts = re.findall(r"“([^”]+)”", held)
    declared = (ROOT / "pyproject.toml").read_text(encoding="utf-8")
    assert all(f'name = "{contract}"' in declared for contract in contracts)
    tests = [test for test in re.findall(r"\]\(\.\./([^)]+)\)", held)]
    assert all((ROOT / test).is_file() for test in tests)
    assert searched or contracts or tests, "nothing holds it"
