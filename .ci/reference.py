"""Build the API reference: `.ci/reference.py FOLDER`.  Fails if a public name leads nowhere.

With `--without-source` no code is shown, which takes three fifths of the time.
"""

from __future__ import annotations

import os
import pkgutil
import sys
import warnings
from pathlib import Path

os.environ.setdefault("QT_QPA_PLATFORM", "offscreen")

import pdoc

import geodp
import learners

PACKAGES = (
    "geodp",
    "assets",
    "geometry",
    "learners",
    "geodp_app",
    "!geodp_app.__main__",
    "!geodp_app.qgis",
)


def main() -> int:
    # names that are loaded when first asked for: pdoc looks only at what is there
    for module in (learners, geodp):
        for name in module.__all__:
            vars(module)[name] = getattr(module, name)
    # where there is an __all__ it leaves out modules that are not in it
    learners.__all__ += [module.name for module in pkgutil.iter_modules(learners.__path__)]
    pdoc.render.configure(docformat="numpy", show_source="--without-source" not in sys.argv)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        pdoc.pdoc(*PACKAGES, output_directory=Path(sys.argv[1]))
    # a type that cannot be evaluated on this Python is shown as it is written
    told = [str(one.message) for one in caught if "parsing type annotation" not in str(one.message)]
    print(*told, sep="\n", end="\n" if told else "")
    return 1 if told else 0


if __name__ == "__main__":
    sys.exit(main())
