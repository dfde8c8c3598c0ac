"""`geodp learners` prints the catalogue of learners and tools."""

from __future__ import annotations

import argparse
import json

from geodp_app.commands.parser import Parser

DESCRIPTION = """List every learner and tool: what it promises and where it can be used.

Systems are numbered as in docs/learners.md, which is made by --markdown."""


def add_options(parser: Parser) -> None:
    """Add what the verb takes."""
    form = parser.add_mutually_exclusive_group()
    form.add_argument("--json", action="store_true", help="print JSON")
    form.add_argument("--markdown", action="store_true", help="print a Markdown page")


def run(options: argparse.Namespace) -> None:
    """Print the catalogue of learners, as a table or as JSON."""
    from learners.catalogue import CATALOGUE, as_markdown

    if options.json:
        print(json.dumps([entry.to_dict() for entry in CATALOGUE], indent=2))
    elif options.markdown:
        print(as_markdown(), end="")
    else:
        for entry in CATALOGUE:
            print(f"{entry.name}\n    {entry.guarantee}")
            print(f"    {entry.path} ({', '.join(entry.where)})")
