"""`geodp plugin` writes the plugin for QGIS, as a zip that QGIS installs.

What the plugin's dialogs say comes from here: the options of the verbs that it calls and the
declared learners are written into the zip as ``declared.json``, so that nothing is said twice.  It
holds

* ``version``, of the program that goes with it;
* ``verbs``: for each verb its options by name, with the ``flag``, the ``default``, what it does in
  plain words (``help``), and of numbers and choices ``label``, ``kind``, ``low``, ``high`` and
  ``choices``, pairs of a value and what it is called;
* ``learners``: ``id``, ``title``, ``sentence``, which verbs offer it, its ``parameters`` by name;
* ``compared``: the learners that are compared by default;
* ``colours`` of points inside and outside;
* ``areas``: what is measured of a district, by the names of fields;
* ``person``: a pattern of names of columns that may say whose a row is.
"""

from __future__ import annotations

import argparse
import json
import math
import re
import zipfile
from collections.abc import Iterable
from importlib.metadata import distributions
from importlib.resources import files
from typing import Any

from assets import icon_path
from geodp_app.commands import Parser, arguments, compare, learn, shapes
from geodp_app.commands.arguments import add_verb
from geodp_app.commands.shapes import COLUMNS
from geodp_app.document.examples import DEFAULT_GRID
from geodp_app.files.import_file import PERSON_COLUMN
from geodp_app.files.writing import NewFile, write_files, zip_bytes
from geodp_app.palette import load_palette
from geodp_app.progress import tell
from geodp_app.runs.comparison import DEFAULT
from geometry.errors import InputError
from geometry.halfplane import MAX_D
from learners import __version__, registry
from learners.declaration import Parameter
from learners.privacy.accounting import MOST_ROWS
from learners.registry import offered

PLUGIN = """Write the plugin for QGIS: learn, evaluate, predict, compare, areas as algorithms.

In QGIS choose Plugins, Manage and Install Plugins, Install from ZIP. The plugin calls this
program, and goes with this version of it."""

#: The plugin's folder in QGIS; `geodp` would hide the package of that name from QGIS's Python.
FOLDER = "geodp_qgis"

#: What it calls, and where these verbs are.
_VERBS = {
    "learn": learn,
    "evaluate": shapes,
    "predict": shapes,
    "compare": compare,
    "areas": shapes,
}


def plugin_options(parser: Parser) -> None:
    arguments.add_output(parser, "zip to write")
    arguments.add_flags(parser, "quiet")


def plugin(options: argparse.Namespace) -> None:
    """Gather, pack, write."""
    arguments.check_outputs(options, [], output="a zip")
    write_files([NewFile(options.output, plugin_zip())])
    how = "in QGIS choose Plugins, Manage and Install Plugins, Install from ZIP"
    tell(f"{options.output}: {how}", quiet=options.quiet)


def plugin_zip() -> bytes:
    """The plugin as the bytes of a zip; raises InputError if geodp is not installed, not even from
    a checkout: then its licence is not at hand."""
    members = {
        path.name: path.read_text(encoding="utf-8")
        for path in files("geodp_app.qgis").iterdir()
        if path.name.endswith(".py")
    }
    about = files("geodp_app.qgis").joinpath("metadata.txt").read_text(encoding="utf-8")
    members |= {
        "metadata.txt": f"{about}version={__version__}\n",
        "declared.json": json.dumps(declared(), indent=1, ensure_ascii=False) + "\n",
        "icon.svg": icon_path("geodp").read_text(encoding="utf-8"),
        "LICENSE": _licence(),
    }
    placed = {f"{FOLDER}/{name}": text for name, text in sorted(members.items())}
    return zip_bytes(placed, mode=0o644, compression=zipfile.ZIP_DEFLATED)


def _licence() -> str:
    # a checkout may have a record of itself beside the one of its installation
    for installed in distributions(name="geodp"):
        text = installed.read_text("licenses/LICENSE")
        if text is not None:
            return text
    raise InputError("the licence of geodp is not at hand: pip install geodp")


def declared() -> dict[str, Any]:
    """What the plugin knows of geodp, ready for JSON: see the head of this module."""
    parser = Parser()
    verbs = parser.add_subparsers(parser_class=Parser)
    for verb, module in _VERBS.items():
        add_verb(verbs, verb, module)
    found = {learner.id: learner for learner in (*offered("learn"), *offered("compare"))}
    colours = load_palette("light")
    return {
        "version": __version__,
        "verbs": {name: _options(verbs.choices[name]) for name in verbs.choices},
        "learners": [
            {
                "id": learner.id,
                "title": learner.title,
                "sentence": learner.sentence,
                "offered": sorted(learner.offered),
                "parameters": [each.name for each in learner.parameters if not each.of_python],
            }
            for learner in found.values()
        ],
        "compared": list(DEFAULT),
        "colours": {"inside": colours.positive, "outside": colours.negative},
        "areas": COLUMNS,
        "person": PERSON_COLUMN,
    }


#: Options that are numbers and no learner's: what they are called, their kind, the greatest value.
_NUMBERS = {
    "grid": ("Grid", "whole number", MAX_D),
    "holdout": ("Held out", "number", 1),
    "rows": ("Points of each person", "whole number", MOST_ROWS),
}


def _options(verb: argparse.ArgumentParser) -> dict[str, dict[str, Any]]:
    """What a verb's options are, by their names."""
    found: dict[str, dict[str, Any]] = {}
    for action in verb._actions:
        if not action.option_strings or action.help is None:
            continue
        option = {
            "flag": max(action.option_strings, key=len),
            "default": action.default,
            **_shown(action),
        }
        text = action.help % {"default": action.default, "prog": verb.prog}
        if option["default"] is not None:  # QGIS shows it
            text = re.sub(r" \(default:? [^()]*\)$", "", text)
        text = text[:1].upper() + text[1:]
        found[action.dest] = {**option, "help": text if text[-1] in ".)" else f"{text}."}
    return found


def _shown(action: argparse.Action) -> dict[str, Any]:
    """How an option that is a number or a choice is shown."""
    if action.dest in _NUMBERS:
        label, kind, high = _NUMBERS[action.dest]
        default = DEFAULT_GRID if action.dest == "grid" else action.default
        return {"label": label, "kind": kind, "low": int(kind == "whole number"), "high": high,
                "choices": [], "default": default}  # fmt: skip
    if found := registry.declared(offered("learn"), action.dest):
        return _of_learners(found, action.choices)
    choices = [[value, value] for value in action.choices or ()]
    return {"label": "", "kind": "choice", "choices": choices} if choices else {}


def _of_learners(declared: list[Parameter], typed: Iterable[Any] | None) -> dict[str, Any]:
    """A parameter that some learners have, each with a default of its own; `typed` are the choices
    of its option."""
    first, defaults = declared[0], {each.default for each in declared}
    default = first.default if len(defaults) == 1 else None
    choices = {
        value: title for each in declared for value, title in each.choices if value in (typed or ())
    }
    low, high = min(each.low for each in declared), max(each.high for each in declared)
    return {
        "label": first.label,
        "kind": first.kind,
        "low": low,
        "high": None if math.isinf(high) else high,
        "choices": [[value, title] for value, title in choices.items()],
        "default": default,
    }
