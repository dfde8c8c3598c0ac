"""Simulated examples of what is drawn: drawn anew, or labelled anew when the drawing changes.

A label is inside(drawing) XOR flipped; what label noise flipped stays flipped, and is found again
from the old labels and the old drawing.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from geodp_app.document.examples import Examples
from geodp_app.document.sampling import draw_examples, open_generator
from geodp_app.document.work import Work
from geodp_app.drawing.shapes import Drawing
from geodp_app.errors import InputError
from geometry.polygons import contains_points

#: Seed of fresh samples: beyond the seeds that a person may choose for the examples.
_FRESH_SEED = 1 << 80


class Relabelling:
    """Labels examples by one drawing after another.

    It remembers which labels are flipped and what it made last: while a vertex is dragged each
    new place takes one test of every point, and the place where it is dropped takes none.
    """

    def __init__(self) -> None:
        self._known: tuple[Examples, ...] = ()
        self._flipped: NDArray[np.bool_] | None = None
        self._made: tuple[Drawing, Examples] | None = None

    def __call__(self, examples: Examples, old: Drawing, new: Drawing) -> Examples:
        """The examples with the labels of another drawing.

        Parameters
        ----------
        examples : Examples
            Simulated, and labelled by `old`.
        old, new : Drawing
            On the examples' grid.

        Returns
        -------
        Examples
            With the same array of points.  The same object as before when the same is asked twice
            in a row.
        """
        if not any(examples is known for known in self._known):
            self._flipped = _inside(old, examples) ^ (examples.labels != 0)
            self._known, self._made = (examples,), None
        assert self._flipped is not None  # it is there where something is known
        if self._made is None or self._made[0] != new:
            labels = (_inside(new, examples) ^ self._flipped).astype(np.int64)
            self._made = new, replace(examples, labels=labels)
        # the first is what is in the document, the other what may be there next
        self._known = examples, self._made[1]
        return self._made[1]


def _inside(drawing: Drawing, examples: Examples) -> NDArray[np.bool_]:
    return contains_points(drawing.figure(), examples.points)


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
    if s.distribution in ("clustered", "gaussian") and work.drawing.region().is_empty:
        raise InputError(
            f"nothing is drawn to place a {s.distribution} sample: draw a shape, or choose the "
            "uniform distribution"
        )
    return draw_examples(
        work.drawing.figure(),
        s.n,
        work.frame,
        distribution=s.distribution,
        noise=s.noise,
        dabs=s.dabs,
        rng=open_generator(s.seed),
    )


def fresh_sample(work: Work, n: int = 20_000) -> Examples | None:
    """Points to test a hypothesis on: drawn as the work's examples are, but without label noise.

    They do not depend on the examples, nor on the seed of these.

    Returns
    -------
    Examples or None
        None for imported examples, whose source nobody knows, and where nothing is drawn or
        painted to place the sample.
    """
    if work.examples is not None and not work.simulated:
        return None
    sampling = replace(work.sampling, n=n, noise=0.0, seed=_FRESH_SEED)
    try:
        return simulate(replace(work, sampling=sampling))
    except InputError:
        return None
