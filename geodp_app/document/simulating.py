"""Simulated examples of what is drawn, with reasons a person can mend where there can be none."""

from __future__ import annotations

from geodp_app.document.sampling import draw_examples, open_generator
from geodp_app.document.work import Work
from geodp_app.errors import InputError
from geodp_app.files.examples_csv import Examples


def simulate(work: Work) -> Examples:
    """A simulated sample of the drawing: private like any other.

    Raises
    ------
    InputError
        If the settings need a drawing or paint and there is none.
    """
    s = work.sampling
    if s.distribution == "painted" and not s.dabs:
        raise InputError("nothing is painted yet: paint where the examples come from, then sample")
    target = work.drawing.region()
    if target.is_empty and s.distribution in ("clustered", "gaussian"):
        raise InputError(
            f"nothing is drawn to place a {s.distribution} sample: draw a shape, or choose the "
            "uniform distribution"
        )
    return draw_examples(
        target,
        s.n,
        work.frame,
        distribution=s.distribution,
        noise=s.noise,
        dabs=s.dabs,
        rng=open_generator(s.seed),
    )
