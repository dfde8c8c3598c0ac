"""The site that `make docs` builds: Sphinx reads this folder's Markdown and the docstrings.

Why Sphinx: docs/decisions/0028-a-site.md.  Links to code lead to pages of the code itself, which
are made here, so that nothing leaves the site and nothing is downloaded.
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from docutils import nodes
from myst_parser.parsers.sphinx_ import MystParser
from pygments import highlight
from pygments.formatters import HtmlFormatter
from pygments.lexer import Lexer
from pygments.lexers import TextLexer, get_lexer_for_filename
from pygments.util import ClassNotFound
from sphinx import addnodes
from sphinx.application import Sphinx
from sphinx.util.osutil import relative_uri

HERE = Path(__file__).parent
ROOT = HERE.parent
os.environ.setdefault("QT_QPA_PLATFORM", "offscreen")
sys.path.insert(0, str(ROOT))

from geodp_app.palette import Palette, load_palette  # noqa: E402
from learners import __version__  # noqa: E402

project = "geodp"
release = version = __version__
language = "en"
extensions = [
    "myst_parser",
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "numpydoc",
    "sphinx_argparse_cli",
]

# Markdown as hosts of repositories read it, and pictures of either theme
myst_enable_extensions = ["html_image"]
myst_heading_anchors = 4
highlight_language = "none"

# docstrings are numpydoc, and state types in words
autodoc_typehints = "none"
autodoc_member_order = "bysource"
autodoc_class_signature = "mixed"
autosummary_generate = False
numpydoc_show_class_members = False
python_use_unqualified_type_names = True
add_module_names = False
maximum_signature_line_length = 90

html_title = "geodp"
html_theme = "furo"
html_static_path = ["_static"]
html_css_files = ["geodp.css"]
html_favicon = "../assets/icons/geodp.svg"
html_show_sphinx = False
html_show_copyright = False
html_copy_source = False
smartquotes = False


def _colours(palette: Palette) -> dict[str, str]:
    """Variables of the theme, by the window's palette: one accent, quiet backgrounds."""
    return {
        "color-brand-primary": palette.accent,
        "color-brand-content": palette.accent,
        "color-brand-visited": palette.accent,
        "color-foreground-primary": palette.ink,
        "color-foreground-secondary": palette.soft_ink,
        "color-foreground-muted": palette.soft_ink,
        "color-foreground-border": palette.border,
        "color-background-primary": palette.canvas,
        "color-background-secondary": palette.panel,
        "color-background-hover": palette.rule + "80",
        "color-background-border": palette.rule,
        "color-code-background": palette.panel,
        "color-code-foreground": palette.ink,
        "color-inline-code-background": palette.panel,
        "color-sidebar-link-text": palette.soft_ink,
        "color-sidebar-link-text--top-level": palette.soft_ink,
        "color-sidebar-item-background--hover": palette.rule + "80",
        "color-api-name": palette.accent,
        "color-api-pre-name": palette.soft_ink,
    }


html_theme_options = {
    "light_css_variables": _colours(load_palette("light")),
    "dark_css_variables": _colours(load_palette("dark")),
}
pygments_style = "a11y-high-contrast-light"
pygments_dark_style = "a11y-high-contrast-dark"

#: Where pages of the repository's own top lie in the site.
_PAGES = {
    "CHANGELOG.md": "project/changelog",
    "CONTRIBUTING.md": "project/contributing",
    "README.md": "index",
    "SECURITY.md": "project/security",
    "docs/decisions": "decisions/index",
}


def _place(app: Sphinx, target: Path) -> str | None:
    """The page of the site that stands for a file or folder of the repository."""
    if not target.is_relative_to(ROOT):
        return None
    path = target.relative_to(ROOT).as_posix()
    if path in _PAGES:
        return app.builder.get_target_uri(_PAGES[path])
    if target.is_file():
        app.env.geodp_sources.add(path)  # type: ignore[attr-defined]
        return f"source/{path}.html"
    return None


def link_to_code(app: Sphinx, doctree: nodes.document) -> None:
    """Point links that leave the folder to pages of the site, in place of downloads."""
    here = app.builder.get_target_uri(app.env.docname)
    folder = Path(app.env.doc2path(app.env.docname)).parent
    for node in list(doctree.findall(lambda each: isinstance(each, _LINKS))):
        written = node.get("reftarget", "")
        target = Path(os.path.normpath(folder / written))
        if not target.exists() and folder.name == "project":  # an included page of the top
            target = ROOT / written
        if not written or not target.exists():
            continue
        if isinstance(node, addnodes.pending_xref) and node.get("reftype") != "myst":
            continue
        uri = _place(app, target)
        if uri is None:
            new: nodes.Element = nodes.inline()  # a folder of code has no page
        else:
            new = nodes.reference("", "", internal=True, refuri=relative_uri(here, uri))
        new += node.children
        node.replace_self(new)


_LINKS = (addnodes.download_reference, addnodes.pending_xref)


def pages_of_code(app: Sphinx) -> Iterator[tuple[str, dict[str, Any], str]]:
    """A page for each file of code that some page links to."""
    for path in sorted(app.env.geodp_sources):  # type: ignore[attr-defined]
        text = (ROOT / path).read_text(encoding="utf-8")
        code = highlight(text, _lexer(path), HtmlFormatter())
        yield f"source/{path}", {"title": path, "body": f"<h1>{path}</h1>{code}"}, "page.html"


class NotebookParser(MystParser):  # type: ignore[misc]
    """A notebook with what it shows, as Markdown; nothing is run."""

    supported = ("ipynb",)

    def parse(self, inputstring: str, document: nodes.document) -> None:
        """Read cells one after the other."""
        cells = json.loads(inputstring)["cells"]
        super().parse("\n\n".join(map(_cell, cells)) + "\n", document)


def _cell(cell: dict[str, Any]) -> str:
    text = "".join(cell["source"])
    if cell["cell_type"] != "code":
        return text
    language = "text" if text.startswith(("!", "%")) else "python"
    parts = [f"```{language}\n{text}\n```", *map(_output, cell["outputs"])]
    return "\n\n".join(parts)


def _output(output: dict[str, Any]) -> str:
    """The richest form that a page can show."""
    data = output.get("data", {})
    if "image/png" in data:
        image = "".join(data["image/png"]).strip()
        return f'<p><img alt="" src="data:image/png;base64,{image}"></p>'
    if "image/svg+xml" in data:
        return f"<div>{''.join(''.join(data['image/svg+xml']).splitlines())}</div>"
    if "text/html" in data:  # blank lines would end it
        lines = "".join(data["text/html"]).splitlines()
        return f"<div class='shown'>{chr(10).join(line for line in lines if line.strip())}</div>"
    text = "".join(data.get("text/plain", output.get("text", [])))
    return f"```text\n{text.rstrip()}\n```" if text.strip() else ""


def _lexer(path: str) -> Lexer:
    try:
        return get_lexer_for_filename(path)
    except ClassNotFound:
        return TextLexer()


def setup(app: Sphinx) -> dict[str, bool]:
    """Connect the two."""
    app.add_source_suffix(".ipynb", "ipynb")
    app.add_source_parser(NotebookParser)
    app.connect("builder-inited", lambda app: setattr(app.env, "geodp_sources", set()))
    app.connect("doctree-read", link_to_code, priority=400)  # before downloads are collected
    app.connect("html-collect-pages", pages_of_code)
    return {"parallel_read_safe": False}
