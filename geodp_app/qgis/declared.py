"""What geodp declares of its verbs, learners and parameters, as `geodp plugin` wrote it down."""

from __future__ import annotations

import json
from functools import lru_cache
from pathlib import Path
from typing import Any


@lru_cache(maxsize=1)
def declared() -> dict[str, Any]:
    """The declarations: see :mod:`geodp_app.commands.plugin` for their form."""
    text = Path(__file__).with_name("declared.json").read_text(encoding="utf-8")
    found: dict[str, Any] = json.loads(text)
    return found


def titles_of(option: dict[str, Any]) -> dict[Any, str]:
    """What the values of a choice are called; QGIS takes a comma for the end of one."""
    return {value: title.replace(",", "") for value, title in option["choices"]}


def learners_of(verb: str) -> list[dict[str, Any]]:
    """The learners that a verb offers, in order."""
    return [each for each in declared()["learners"] if verb in each["offered"]]


def learner_help(verb: str) -> str:
    """What they do, a line each, with the names by which other texts call them."""
    lines = [f"{each['title']} ({each['id']}): {each['sentence']}" for each in learners_of(verb)]
    return "\n".join(lines)
