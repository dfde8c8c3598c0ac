"""The algorithm `geodp:compare` runs several learners on the same points and tabulates them."""

from __future__ import annotations

import json
from typing import Any

from qgis.core import (
    QgsCoordinateReferenceSystem,
    QgsFeature,
    QgsFeatureSink,
    QgsField,
    QgsFields,
    QgsProcessing,
    QgsProcessingException,
    QgsProcessingParameterEnum,
    QgsProcessingParameterFeatureSink,
    QgsWkbTypes,
)
from qgis.PyQt.QtCore import QVariant

from .algorithm import GeodpAlgorithm
from .command import declared, learner_help, learners_of

#: Fields of the table: members of the program's JSON, and their types.
_FIELDS = {
    "name": QVariant.String,
    "private": QVariant.Bool,
    "epsilon": QVariant.Double,
    "delta": QVariant.Double,
    "error": QVariant.Double,
    "errors": QVariant.LongLong,
    "false_positives": QVariant.LongLong,
    "false_negatives": QVariant.LongLong,
    "seconds": QVariant.Double,
    "bytes": QVariant.LongLong,
    "vertices": QVariant.LongLong,
}


class Compare(GeodpAlgorithm):
    """Run several learners on the same points."""

    verb = "compare"
    title = "Compare learners on labelled points"
    keywords = ("benchmark", "choose", "error")
    about = (
        "Runs several learners on the same points and lists what each of them reaches on points "
        "that were held out.\n\n"
        "Each private learner spends the whole budget, and what runs on the same points adds up. "
        "Test errors come from private points: they are for the curator's eyes, and so is a choice "
        "made by them."
    )

    def initAlgorithm(self, configuration: Any = None) -> None:
        """Its parameters."""
        self.add_points("Reports, each inside the region in question or not.")
        self.add_place()
        self.add_declared("epsilon", "Privacy budget ε", advanced=False)
        titles = {each["id"]: each["title"] for each in learners_of(self.verb)}
        self.add(
            QgsProcessingParameterEnum(
                "LEARNERS", "Learners", list(titles.values()), allowMultiple=True,
                defaultValue=[titles[name] for name in declared()["compared"]],
                usesStaticStrings=True,
            ),
            learner_help(self.verb),
        )  # fmt: skip
        self.add_declared("holdout", "Share held out for tests")
        self.add_declared("k", "Pieces k")
        self.add_declared("delta", "Failure probability δ")
        for name in ("neighbours", "seed"):
            self.add_declared(name)
        self.add_ledger()
        self.add(
            QgsProcessingParameterFeatureSink(
                "OUTPUT", "Comparison (private)", QgsProcessing.TypeVector
            ),
            "A table, a row a learner. Not to be published.",
        )

    def processAlgorithm(
        self, parameters: dict[str, Any], context: Any, feedback: Any
    ) -> dict[str, Any]:
        """Run the program on the points, and make a table of what it says."""
        names = ["grid", "out_of_bounds", "unusable", "epsilon", "holdout", "k", "delta"]
        names += ["neighbours", "seed"]
        values = self.values(parameters, names, context)
        chosen = self.parameterAsEnumStrings(parameters, "LEARNERS", context)
        values["learners"] = [
            each["id"] for each in learners_of(self.verb) if each["title"] in chosen
        ]
        if not values["learners"]:
            raise QgsProcessingException("Learners: choose one at least")
        options = ["--json", "--progress", *self.ledger(parameters, context)]
        found = json.loads(self.on_points(parameters, context, feedback, values, *options))
        columns = QgsFields()
        for name, kind in _FIELDS.items():
            columns.append(QgsField(name, kind))
        sink, output = self.parameterAsSink(
            parameters, "OUTPUT", context, columns, QgsWkbTypes.NoGeometry,
            QgsCoordinateReferenceSystem(),
        )  # fmt: skip
        if sink is None:
            raise QgsProcessingException(self.invalidSinkError(parameters, "OUTPUT"))
        for each in found["learners"]:
            row = QgsFeature(columns)
            row.setAttributes([each[name] for name in _FIELDS])
            sink.addFeature(row, QgsFeatureSink.FastInsert)
            feedback.pushInfo(f"{each['name']}: {each['error']:.4%} of the points wrong")
        together = found["together"]
        feedback.pushWarning(
            f"Together these runs spend ε = {together['epsilon']:g}, δ = {together['delta']:g} of "
            f"the points' privacy; {found['warning']}"
        )
        return {"OUTPUT": output}
