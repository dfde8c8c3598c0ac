"""Run the notebooks of docs/notebooks and store what their cells show: `make notebooks`.

`.ci/notebooks.py [NAME ...]` runs those, by default all, each in a folder of its own that is thrown
away, so nobody's files are touched.  The cells are run here and not by Jupyter: they use nothing of
it but lines that begin with an exclamation mark, which a shell runs.  Runs are private and so never
the same twice: look at the pictures before committing them.
"""

from __future__ import annotations

import ast
import base64
import io
import json
import os
import re
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import chdir, redirect_stderr, redirect_stdout
from pathlib import Path
from typing import Any

import matplotlib

matplotlib.use("Agg")
from matplotlib import pyplot
from PIL import Image

FOLDER = Path(__file__).parents[1] / "docs" / "notebooks"

Json = dict[str, Any]


def notebooks() -> list[Path]:
    """All of them, in order."""
    return sorted(FOLDER.glob("*.ipynb"))


def run_cells(notebook: Json) -> Iterator[tuple[Json, list[Json]]]:
    """The cells of code, each with its outputs as a notebook stores them.

    Whatever a cell raises is raised.
    """
    names: Json = {"__name__": "__main__"}
    pyplot.close("all")
    with pyplot.style.context({"figure.dpi": 80, "savefig.bbox": "tight"}):
        for cell in notebook["cells"]:
            if cell["cell_type"] == "code":
                yield cell, list(_run("".join(cell["source"]), names))
    pyplot.close("all")


def _run(source: str, names: Json) -> Iterator[Json]:
    out, err = io.StringIO(), io.StringIO()
    value = None
    with redirect_stdout(out), redirect_stderr(err):
        tree = ast.parse(re.sub(r"^!(.*)$", r"_shell(r'''\1''')", source, flags=re.MULTILINE))
        last = tree.body.pop() if tree.body and isinstance(tree.body[-1], ast.Expr) else None
        names["_shell"] = _shell
        exec(compile(tree, "<cell>", "exec"), names)
        if isinstance(last, ast.Expr):
            value = eval(compile(ast.Expression(last.value), "<cell>", "eval"), names)
    for name, stream in (("stdout", out), ("stderr", err)):
        if stream.getvalue():
            yield {"output_type": "stream", "name": name, "text": _lines(stream.getvalue())}
    if value is not None and not source.rstrip().endswith(";"):
        data: Json = {"text/plain": _lines(repr(value))}
        html = value._repr_html_() if hasattr(value, "_repr_html_") else None
        if html is not None:
            data["text/html"] = _lines(html)
        yield {"output_type": "execute_result", "data": data, "metadata": {}}
    for number in pyplot.get_fignums():
        drawn, picture = io.BytesIO(), io.BytesIO()
        pyplot.figure(number).savefig(drawn, format="png")
        pyplot.close(number)
        # a third of the bytes, and nobody sees a difference
        Image.open(drawn).convert("RGB").quantize(160).save(picture, "png", optimize=True)
        png = base64.b64encode(picture.getvalue()).decode() + "\n"
        data = {"image/png": png, "text/plain": ["<Figure>"]}
        yield {"output_type": "display_data", "data": data, "metadata": {}}


def _shell(command: str) -> None:
    here = Path(sys.executable).parent
    path = f"{here}{os.pathsep}{os.environ.get('PATH', '')}"
    done = subprocess.run(
        command, shell=True, capture_output=True, text=True, env={**os.environ, "PATH": path}
    )
    print(done.stdout + done.stderr, end="")
    if done.returncode:
        raise RuntimeError(f"{command}: exit code {done.returncode}: {done.stderr}")


def _lines(text: str) -> list[str]:
    return text.splitlines(keepends=True)


def main() -> None:
    """Run notebooks, and write them with their outputs."""
    wanted = set(sys.argv[1:])
    for path in notebooks():
        if wanted and path.stem not in wanted:
            continue
        notebook = json.loads(path.read_text(encoding="utf-8"))
        with tempfile.TemporaryDirectory() as folder, chdir(folder):
            for number, (cell, outputs) in enumerate(run_cells(notebook), start=1):
                cell["execution_count"] = number
                for output in outputs:
                    if output["output_type"] == "execute_result":
                        output["execution_count"] = number
                cell["outputs"] = outputs
        text = json.dumps(notebook, indent=1, ensure_ascii=False, sort_keys=True) + "\n"
        path.write_text(text, encoding="utf-8")
        print(f"{path.name}: {len(text) / 1000:.0f} kB")


if __name__ == "__main__":
    main()
