"""The algorithm `geodp:evaluate` counts the points that a learned shape labels wrong."""

from __future__ import annotations

import json
from typing import Any

from qgis.core import QgsProcessingOutputNumber

from .algorithm import WithShape

#: Outputs by the figures that the program prints.
_FIGURES = {
    "error": "Share of points with a wrong label",
    "errors": "Points with a wrong label",
    "false_positives": "Points outside that the shape holds",
    "false_negatives": "Points inside that the shape leaves out",
    "examples": "Points",
}


class Evaluate(WithShape):
    """Count the points that a shape labels wrong."""

    verb = "evaluate"
    title = "Evaluate a shape on labelled points"
    keywords = ("error", "accuracy", "validate")
    about = (
        "Counts the points whose label a learned shape gets wrong.\n\n"
        "The figures come straight from the points: they are <b>not</b> differentially private, "
        "and not to be published."
    )

    def initAlgorithm(self, configuration: Any = None) -> None:
        """Its parameters."""
        self.add_shape()
        self.add_points("Labelled points.")
        self.add_place(optional=True)
        for name, label in _FIGURES.items():
            self.addOutput(QgsProcessingOutputNumber(name.upper(), label))

    def processAlgorithm(
        self, parameters: dict[str, Any], context: Any, feedback: Any
    ) -> dict[str, Any]:
        """Run the program on both."""
        values = self.values(parameters, ["out_of_bounds", "unusable"], context)
        figures = json.loads(self.on_points(parameters, context, feedback, values, "--json"))
        feedback.pushInfo(
            f"{figures['errors']:,} of {figures['examples']:,} points are labelled wrong "
            f"({figures['error']:.4%}): {figures['false_positives']:,} outside that the shape "
            f"holds, {figures['false_negatives']:,} inside that it leaves out"
        )
        feedback.pushWarning("These figures describe the points: they are private")
        return {name.upper(): figures[name] for name in _FIGURES}
