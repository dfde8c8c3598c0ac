"""Adds up the privacy budget of all runs on a sample, whether they came to their end or not.

A run counts in full from its first step on: what is done after it was cancelled, and why it was,
may depend on the examples.  Charges add up by basic composition.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from geodp_app.formatting import SPACE, amount, counted
from learners.privacy.accounting import PrivacySpent
from learners.privacy.privacy_filter import added_up, joint_relation, restated


@dataclass(frozen=True, slots=True)
class RunCharge:
    """What one private run on the examples spends.

    Attributes
    ----------
    privacy : PrivacySpent
        Of the whole run, as its release says or would have said; it has the run's name, so that no
        ledger (:mod:`geodp_app.files.ledger`) counts it twice.
    finished : bool
        Whether it came to its end; one that was cancelled, failed or is under way did not.
    """

    privacy: PrivacySpent
    finished: bool


def total(charges: Sequence[RunCharge]) -> tuple[float, float]:
    """Epsilon and delta of all the runs together.

    Where some add or remove an example and others replace one, or its label, the total is for
    replacing: that is two neighbouring steps of the former, (2·epsilon, (1 + e^epsilon)·delta).
    Where some protect labels alone, so does the total: to replace a label is to replace an example.
    """
    stated = [charge.privacy for charge in charges]
    relation = joint_relation(one.neighbours for one in stated)
    return added_up(restated(one.epsilon, one.delta, one.neighbours, relation) for one in stated)


def spent_words(charges: Sequence[RunCharge], *, under_way: bool = False) -> str:
    """What the runs on one sample cost together; empty if there is but one and it was not given up.

    Parameters
    ----------
    charges : sequence of RunCharge
    under_way : bool
        Whether the last of them can still come to its end.
    """
    given_up = sum(not charge.finished for charge in charges) - under_way
    if not charges or (len(charges) < 2 and not given_up):
        return ""
    epsilon, delta = total(charges)
    labels = any(charge.privacy.neighbours == "replace-label" for charge in charges)
    one = "the label of one example" if labels else "one example"
    mixed = len({charge.privacy.neighbours for charge in charges}) > 1
    about = f" for replacing {one}" if labels or mixed else ""
    together = "" if len(charges) == 1 else "together "
    return f"{runs_words(len(charges), given_up)}: {together}{amounts(epsilon, delta)}{about}"


def runs_words(runs: int, given_up: int) -> str:
    """How many runs there were, and how many of them did not come to their end."""
    many = f"{given_up} " if runs > 1 else ""
    ended = f", {many}not finished" if given_up else ""
    return f"{counted(runs, 'run') if runs else 'no run yet'}{ended}"


def amounts(epsilon: float, delta: float) -> str:
    """Epsilon and delta as they are written."""
    equals = f"{SPACE}={SPACE}"
    return f"ε{equals}{amount(epsilon, 4)}, δ{equals}{amount(delta)}"
