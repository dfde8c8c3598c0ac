"""Figures of steps that nobody made, for what shows errors."""

from geodp_app.runs.figures import FiguresView
from geodp_app.views.run.error_chart import ErrorChart
from learners.core.records import StepDiagnostics


def with_errors(
    step: int,
    empirical: float,
    false_positives: float,
    false_negatives: float,
    test: float | None = None,
) -> FiguresView:
    """A step after which so many are wrong, as shares of the examples."""
    errors = (empirical, false_positives, false_negatives)
    known = StepDiagnostics(9, 9, 5, 1, 4.0, *errors, 0.1, 10, 10, 0.0)
    return FiguresView(step=step, title=f"Step {step} of 12", known=known, test_error=test)


def visible_curves(chart: ErrorChart) -> int:
    """How many of a chart's curves can be seen."""
    return sum(item.isVisible() for item in chart.curves)
