"""Statements and charges of runs that never were, which compose all the same."""

from geodp_app.document.work import RunCharge
from learners.privacy.accounting import AccountName, Charge, PrivacySpent, Relation


def stated(epsilon: float, delta: float = 0.0, neighbours: Relation = "add-remove") -> PrivacySpent:
    """One run of votes, whose margin may take any delta but none, or of parities without one."""
    charges = (Charge("unanswered queries" if delta else "parities", epsilon),)
    account: AccountName = "stability" if delta else "basic"
    return PrivacySpent(epsilon, delta, neighbours, account, charges, private=True).of_run()


def run_charge(epsilon: float, delta: float, neighbours: Relation, *, finished: bool) -> RunCharge:
    return RunCharge(stated(epsilon, delta, neighbours), finished)
