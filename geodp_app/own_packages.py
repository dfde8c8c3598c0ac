"""Refuses, when it is imported, other packages that have the names of geodp's own.

`assets`, `geometry` and `learners` are names that other people use, too.  A file geometry.py in the
folder where Python starts, or earlier on its path, would be imported instead, with an error that
nobody understands.
"""

from __future__ import annotations

import sys
from importlib.util import find_spec
from pathlib import Path

#: Names of top-level packages beside `geodp_app`.
PACKAGES = ("assets", "geometry", "learners")

_HOME = Path(__file__).resolve().parents[1]

_REMEDY = "give geodp an environment of its own (pipx install geodp)"


def hidden() -> str:
    """What hides a package of geodp and what to do, in one line; empty if nothing does.

    No stranger's code is run.
    """
    for name in PACKAGES:
        found = sys.modules.get(name)
        spec = find_spec(name) if found is None else found.__spec__
        origin = getattr(spec, "origin", None) or getattr(found, "__file__", None)
        if origin is None or Path(origin).resolve().parents[1] != _HOME:
            return (
                f"{origin or name} hides geodp's package {name!r}: rename it, start Python in "
                f"another folder, or {_REMEDY}"
            )
    return ""


def overwritten() -> str:
    """Which other distributions have put packages over those of geodp, in one line, or empty.

    It reads the records of all that is installed: for when an import has failed.
    """
    from importlib.metadata import packages_distributions  # not for every start

    owners = packages_distributions()
    others = {
        owner: name for name in PACKAGES for owner in owners.get(name, ()) if owner != "geodp"
    }
    if not others:
        return ""
    text = " and ".join(f"{owner} ({name!r})" for owner, name in others.items())
    return f"{text} lies over packages of geodp: {_REMEDY}"


if text := hidden():
    raise ImportError(text)
