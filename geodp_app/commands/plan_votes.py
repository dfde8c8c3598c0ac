"""What `geodp plan` tells of votes of chunks: T halts and K chunks."""

from __future__ import annotations

import argparse
import json

from geodp_app.errors import InputError

#: Options that a plan of votes depends on.
_ASKED = ("learner", "k", "epsilon", "delta", "neighbours", "grid")


def plan_votes(options: argparse.Namespace) -> None:
    """Print the chunks of a run by votes: nothing is proved of its own base learner's error.

    Raises
    ------
    InputError
        If a parameter states no guarantee.
    """
    from learners.stability.sparse_vector import plan_sparse_vector
    from learners.stability.stability_learner import DEFAULT_HALTS, DEFAULT_QUERIES
    from learners.stability.stable_queries import DEFAULT_AGREEMENT, DEFAULT_BETA, default_chunks

    queries, halts = options.queries or DEFAULT_QUERIES, options.halts or DEFAULT_HALTS
    try:
        budget = plan_sparse_vector(
            options.epsilon, options.delta, queries=queries, halts=halts,
            neighbours=options.neighbours,
        )  # fmt: skip
        chunks = default_chunks(budget, None)
    except ValueError as error:
        raise InputError(str(error)) from None
    if options.json:
        asked = {name: getattr(options, name) for name in _ASKED} | {"proved": False}
        print(json.dumps({**asked, "queries": queries, "halts": halts, "chunks": chunks}))
        return
    each = f", of about {options.n / chunks:,.0f} examples each" if options.n else ""
    print(
        f"{queries:,} queries, of which T = {halts:,} may have no answer, plan K = {chunks:,} "
        f"chunks{each}:\nall queries on which {DEFAULT_AGREEMENT:.0%} of the chunks agree are then "
        f"answered, except with probability {DEFAULT_BETA:g}.\n\n"
        "Nothing is proved of the error of chunks that learn triangles.  For a class whose VC "
        "dimension is\nknown, n, T and K are told by: geodp plan --theorem queries, "
        "queries-agnostic, labels, labels-agnostic."
    )


def asked_with(settings: dict[str, int]) -> str:
    """Halts and chunks of the run that a theorem of votes is about."""
    halts, chunks, each = settings.values()
    return (
        f"\nWith halts T = {halts:,} and K = {chunks:,} chunks of {each:,} examples or more each: "
        f"halts={halts}, chunks={chunks}."
    )
