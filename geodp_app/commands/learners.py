"""`geodp learners` prints the catalogue of learners and tools; `geodp audit` bounds from below what
privacy a learner loses, in thousands of runs, for those who have the source (`benchmarks/audits`).
"""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path

from geodp_app.commands import Parser, arguments
from geometry.errors import InputError

LEARNERS = """List every learner and tool: what it promises and where it can be used.

Systems are numbered as in docs/learners.md, which is made by --markdown."""


def learners_options(parser: Parser) -> None:
    form = parser.add_mutually_exclusive_group()
    form.add_argument("--json", action="store_true", help="print JSON")
    form.add_argument("--markdown", action="store_true", help="print a Markdown page")


def learners(options: argparse.Namespace) -> None:
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


AUDIT = """Run a learner many times on neighbouring samples and bound epsilon from below.

One half of the runs searches pairs of tiny samples that differ in one example, and events of the
releases, for those that show the most; the other half tests the pair and the event that were found.
Printed is a lower bound of the epsilon that the learner loses (Clopper and Pearson), next to the
one that it claims. An audit can refute a claim, not prove it: the proofs are in docs/privacy.md.
Learners that are not private claim nothing: --epsilon and --delta say what is put to the test, and
is refuted.

Exit code 3 if a bound exceeds the claim.  --learner list names the learners, --learner all
takes those that claim privacy, one after the other."""


def audit_options(parser: Parser) -> None:
    parser.add_argument("--learner", required=True, metavar="NAME", help="which; list, or all")
    arguments.add_privacy(parser)
    parser.add_argument(
        "--runs",
        type=arguments.count,
        metavar="N",
        help="runs in all (default: about a minute's)",
    )
    parser.add_argument(
        "--n",
        type=arguments.sample_size,
        metavar="N",
        help="examples in the smaller sample, copies of one (default: several numbers are tried)",
    )
    parser.add_argument(
        "--confidence",
        type=arguments.open_unit,
        default=0.999,
        help="of the bound (default %(default)s)",
    )
    parser.add_argument(
        "--seed", type=arguments.natural, help="reproducible runs (default: the system's generator)"
    )
    parser.add_argument("--json", action="store_true", help="print JSON, a line for each learner")
    parser.add_argument(
        "--plot",
        type=arguments.output,
        metavar="FILE",
        help="draw the bound against the runs (SVG)",
    )
    arguments.add_flags(parser, "overwrite", "quiet")


def audit(options: argparse.Namespace) -> int:
    """Audit and print; the exit code.  Raises InputError if this geodp came without its source."""
    home = Path(__file__).resolve().parents[2]
    if not (home / "benchmarks" / "audits").is_dir():
        raise InputError("audits come with the source of geodp: run `geodp audit` in a checkout")
    sys.path.append(str(home))  # of a command that is installed from the checkout
    from benchmarks.audits import command

    return command.run(options)
