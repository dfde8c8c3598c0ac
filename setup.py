"""What pyproject.toml cannot say; why: docs/decisions/0031-python.md.

The page of a package index is README.md with links that lead somewhere from there.  On an index
relative ones lead nowhere, so they are made absolute by the addresses that `[tool.geodp.index]`
configures; while it configures none, links become their text and pictures are left out.

A module that is no package cannot carry py.typed (PEP 561): geodp.py is its own stub.
"""

from __future__ import annotations

import re
import shutil
import tomllib
from pathlib import Path

from setuptools import setup
from setuptools.command.build_py import build_py

ROOT = Path(__file__).parent

#: A picture or a link of Markdown, to something without a scheme.
_PICTURE = r"!\[[^\]]*\]\((?![a-z]+:)([^)\s]+)\)"
_LINK = r"\[((?:[^\]\[]|\[[^\]]*\])*)\]\((?![a-z]+:|#)([^)\s]+)\)"


def index_page(readme: str, pages: str | None = None, pictures: str | None = None) -> str:
    """README.md as an index shows it.

    Parameters
    ----------
    readme : str
    pages, pictures : str, optional
        What comes before the path of a page of the repository, and of a picture as it is.
    """

    def picture(found: re.Match[str]) -> str:
        return (
            "" if pictures is None else found[0].replace(f"({found[1]})", f"({pictures}{found[1]})")
        )

    def link(found: re.Match[str]) -> str:
        return found[1] if pages is None else f"[{found[1]}]({pages}{found[2]})"

    shown = re.sub(_LINK, link, re.sub(_PICTURE, picture, readme))
    return re.sub(r"\n{3,}", "\n\n", shown)


class BuildWithStubs(build_py):
    """geodp.py once more, as the stub that type checkers look for."""

    def run(self) -> None:
        super().run()
        if not self.editable_mode:
            stubs = Path(self.build_lib) / "geodp-stubs"
            stubs.mkdir(exist_ok=True)
            shutil.copyfile(ROOT / "geodp.py", stubs / "__init__.pyi")


if __name__ == "__main__":
    configured = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["tool"]
    addresses = configured.get("geodp", {}).get("index", {})
    setup(
        cmdclass={"build_py": BuildWithStubs},
        long_description=index_page((ROOT / "README.md").read_text(encoding="utf-8"), **addresses),
        long_description_content_type="text/markdown",
    )
