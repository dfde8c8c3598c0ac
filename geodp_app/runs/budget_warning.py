"""A warning about budgets that protect hardly anybody: one wording for the commands and the window.

Under add/remove the number of examples is private.  So what goes to stderr is made from epsilon,
delta and n where it is public, or from a release; only the window's own view sees the sample's n.
"""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from learners.releases import Release

#: Larger ones are warned about, and so is a delta of MOST_DELTA itself.
MOST_EPSILON, MOST_DELTA = 20.0, 1e-3


def budget_warning(epsilon: float, delta: float, *, used: bool = True, n: int | None = None) -> str:
    """What is wrong with a budget, in one line; empty if nothing is.

    Parameters
    ----------
    epsilon, delta : float
    used : bool
        Whether the learner needs delta at all.
    n : int, optional
        Number of examples, if it may be told: delta is compared with 1/n.
    """
    told = []
    if epsilon > MOST_EPSILON:
        told.append(
            f"epsilon = {epsilon:g} protects hardly anybody: a result may be e^{epsilon:g} times "
            "as likely with a report as without it; choose 10 or less"
        )
    if delta >= MOST_DELTA and not used:
        told.append(f"delta = {delta:g} would be far too large, but this learner needs none")
    elif used and (delta >= MOST_DELTA or (n is not None and delta * n >= 1)):
        told.append(
            f"delta = {delta:g} protects hardly anybody: publishing one report in "
            f"{round(1 / delta):,} outright would satisfy it; choose far less than one over the "
            "number of people"
        )
    return "; ".join(told)


def warn_of_budget(
    epsilon: float,
    delta: float,
    *,
    used: bool = True,
    n: int | None = None,
    release: Release | None = None,
    quiet: bool = False,
) -> None:
    """Write the warning, if there is one, to stderr.

    With a release only what its noisy counts tell beyond epsilon and delta is written: the rest
    has been, before the run.
    """
    text = budget_warning(epsilon, delta, used=used, n=n)
    if release is not None:
        text = "" if text else budget_warning(epsilon, delta, used=used, n=_count(release))
    if text and not quiet:
        sys.stderr.write(f"geodp: warning: {text}\n")


def _count(release: Release) -> int | None:
    """About the number of examples of one label, if a release tells: never many more than n."""
    thresholds: tuple[int, ...] = getattr(release, "thresholds", ())
    return thresholds[0] if thresholds else None
