"""What a program loads before it is needed: a start is quick, and an extra is not asked for."""

from __future__ import annotations

import subprocess
import sys

import pytest

from geodp_app.commands.parser import VERBS

LEARN = """
from learners import QuadtreeLearner
try:
    QuadtreeLearner().predict([[0, 0]])
except ValueError:
    pass
QuadtreeLearner(grid=16).fit([[1, 2]], [1]).predict([[0, 0]])
"""
EVERY_LEARNER = """
import learners, learners.theory.pac, learners.theory.theorems
for name in learners.__all__:
    getattr(learners, name)
"""
DOCUMENT = """
import geodp_app.document.document, geodp_app.files.document_files, geodp_app.files.document_files
import geodp_app.files.autosave, geodp_app.files.session, geodp_app.files.session
"""
PARSER = "from geodp_app.commands.parser import build_parser; build_parser()"
#: Measured: `import geodp` takes 60 ms beside numpy's own; one of these would double it.
LARGE = "PySide6 numba scipy shapely pandas matplotlib sklearn ibis"


def loaded(program: str) -> tuple[set[str], str]:
    """The modules that a program has loaded at its end, and what it says."""
    program += "\nimport sys; print(); print(*sys.modules)"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    *said, names = done.stdout.splitlines()
    return set(names.split()), "\n".join(said)


@pytest.mark.parametrize(
    ("program", "without"),
    [
        ("import geodp; assert 'PolygonUnionLearner' in dir(geodp)", LARGE),
        ("import learners, learners.catalogue", "numba scipy"),
        (LEARN, "sklearn"),
        # numba looks up scipy's version, which loads none of its parts
        (EVERY_LEARNER, "scipy.special scipy.ndimage"),
        (DOCUMENT, "numba PySide6 pyqtgraph scipy"),
        ("import geodp_app.files.run_record", "numba"),
        (PARSER, "PySide6 pyqtgraph numba scipy ibis duckdb pyarrow"),
        ("from geodp_app.cli import main; main(['--version'])", "scipy"),
    ],
)
def test_programs_go_without(program: str, without: str) -> None:
    modules, _ = loaded(program)
    assert not modules & set(without.split())
    assert modules & {"geodp", "geodp_app", "learners"}


def test_help_loads_no_verb_and_none_of_what_verbs_need() -> None:
    modules, said = loaded("from geodp_app.cli import main; main(['--help'])")
    verbs = {f"geodp_app.commands.{verb}" for verb in ("learn", "open")}
    assert not modules & {"numpy", "shapely", *verbs}
    assert all(f"    {verb} " in said for verb in VERBS)
