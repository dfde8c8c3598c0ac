"""A charge of a run that never was, with a statement that its charges compose to."""

from __future__ import annotations

from geodp_app.document.charges import RunCharge
from learners.accounting import Charge, PrivacySpent, Relation


def stated(epsilon: float, delta: float = 0.0, neighbours: Relation = "add-remove") -> PrivacySpent:
    """One selection with all of epsilon, and a delta that nothing needs."""
    name = "parities" if neighbours == "replace-label" else "selections"
    each = epsilon / 2 if neighbours == "replace-one" else epsilon
    charges = (Charge(name, each),)
    return PrivacySpent(epsilon, delta, neighbours, "basic", charges, private=True).of_run()


def run_charge(epsilon: float, delta: float, neighbours: Relation, *, finished: bool) -> RunCharge:
    return RunCharge(stated(epsilon, delta, neighbours), finished)
