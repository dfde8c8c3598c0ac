"""The plugin for QGIS adds Processing algorithms that call the installed program `geodp`.

QGIS runs it in a Python of its own, where nothing else of geodp is to be found: its modules import
each other and what QGIS brings, no package of geodp.  What geodp says of its verbs, learners and
parameters lies beside them as ``declared.json``, written by `geodp plugin`.
"""

from __future__ import annotations

from typing import Any


def classFactory(iface: Any) -> Any:
    """The plugin, for QGIS."""
    from .provider import GeodpPlugin

    return GeodpPlugin(iface)
