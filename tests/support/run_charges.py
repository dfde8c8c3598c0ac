"""Statements and charges of runs that never were, which compose all the same."""

from __future__ import annotations

from geodp_app.document.charges import RunCharge
from learners.accounting import Charge, PrivacySpent, Relation


def stated(epsilon: float, delta: float = 0.0, neighbours: Relation = "add-remove") -> PrivacySpent:
    """One run of votes, whose margin may take any delta."""
    charges = (Charge("unanswered queries", epsilon),)
    return PrivacySpent(epsilon, delta, neighbours, "stability", charges, private=True).of_run()


def run_charge(epsilon: float, delta: float, neighbours: Relation, *, finished: bool) -> RunCharge:
    return RunCharge(stated(epsilon, delta, neighbours), finished)
