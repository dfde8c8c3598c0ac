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


# no stranger's code is run
for _name in PACKAGES:
    _found = sys.modules.get(_name)
    _spec = find_spec(_name) if _found is None else _found.__spec__
    _origin = getattr(_spec, "origin", None) or getattr(_found, "__file__", None)
    if _origin is None or Path(_origin).resolve().parents[1] != _HOME:
        raise ImportError(
            f"{_origin or _name} hides geodp's package {_name!r}: rename it, start Python in "
            f"another folder, or {_REMEDY}"
        )
