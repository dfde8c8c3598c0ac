"""Every notebook runs, and shows what is stored in it."""

import importlib.util
import json
import re
import warnings
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("matplotlib", reason="the extra plot")
pytest.importorskip("sklearn", reason="one of them searches with it")

ROOT = Path(__file__).parents[2]
_SPEC = importlib.util.spec_from_file_location("notebooks", ROOT / ".ci" / "notebooks.py")
assert _SPEC.loader is not None
_RUNNER = importlib.util.module_from_spec(_SPEC)
_SPEC.loader.exec_module(_RUNNER)

GALLERY = _RUNNER.notebooks()


def everyone(test: Any) -> Any:
    return pytest.mark.parametrize("path", GALLERY, ids=lambda path: path.stem)(test)


def kinds(outputs: list[dict[str, Any]]) -> list[tuple[str, ...]]:
    """What outputs are, whatever they say: private runs are never the same twice."""
    return [(one["output_type"], one.get("name", ""), *sorted(one.get("data", {})))
            for one in outputs]  # fmt: skip


@everyone
def test_a_notebook_runs_and_shows_what_is_stored_in_it(path, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    notebook = json.loads(path.read_text(encoding="utf-8"))
    with warnings.catch_warnings():
        # of other people's libraries: a stranger should see none of ours
        warnings.simplefilter("ignore", DeprecationWarning)
        ran = [(cell, outputs) for cell, outputs in _RUNNER.run_cells(notebook)]
    assert len(ran) >= 3
    for number, (cell, outputs) in enumerate(ran, start=1):
        assert kinds(cell["outputs"]) == kinds(outputs), f"cell {number}: run `make notebooks`"
        assert all(one.get("name") != "stderr" for one in outputs), outputs
        assert cell["execution_count"] == number


@everyone
def test_a_stranger_sees_pictures_and_the_statement(path: Path) -> None:
    text = path.read_text(encoding="utf-8")
    assert len(text) < 250_000
    assert "image/png" in text or "<svg" in text
    assert re.search(r"[Pp]rivate|statement", text)
    assert not re.search(r"/(tmp|home|work|root)/", text), "a path of one machine"
    notebook = json.loads(text)
    assert (notebook["nbformat"], notebook["nbformat_minor"]) == (4, 4)
    assert notebook["cells"][0]["source"][0].startswith("# ")
    # it is stored as it is written: a run without changes changes nothing but outputs
    assert text == json.dumps(notebook, indent=1, ensure_ascii=False, sort_keys=True) + "\n"


def test_their_page_lists_all() -> None:
    page = (ROOT / "docs" / "notebooks" / "index.md").read_text(encoding="utf-8")
    assert len(GALLERY) == 8
    for path in GALLERY:
        assert f"]({path.name})" in page
        assert f"\n{path.stem}\n" in page, "the table of contents of the pages"
