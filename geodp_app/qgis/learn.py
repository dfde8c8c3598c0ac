"""The algorithms that learn: `geodp:learn` makes a differentially private shape of labelled points,
`geodp:compare` runs several learners on the same points and tabulates them.
"""

from __future__ import annotations

import json
import re
import tempfile
from pathlib import Path
from typing import Any

from qgis import core
from qgis.PyQt.QtCore import QVariant

from .algorithm import GeodpAlgorithm, file_name, write_polygons
from .command import declared, learner_help, learners_of


class Learn(GeodpAlgorithm):
    """Learn a shape from labelled points."""

    verb = "learn"
    title = "Learn a private shape from labelled points"
    keywords = ("learn", "polygons", "classify", "boundary", "region")
    about = (
        "Learns the region in which points are labelled inside, as a few polygons, such that "
        "whoever sees them learns almost nothing about any single point: (ε, δ)-differential "
        "privacy. The result may be published; its attributes state the guarantee.\n\n"
        "A GeoPackage or GeoJSON keeps the exact shape for <i>evaluate</i> and <i>predict</i>."
    )

    def initAlgorithm(self, configuration: Any = None) -> None:
        self.add_points("Reports, each inside the region in question or not.")
        self.add_place()
        self.add_declared("epsilon", "Privacy budget ε", advanced=False)
        titles = {each["id"]: each["title"] for each in learners_of(self.verb)}
        self.add(
            core.QgsProcessingParameterEnum(
                "LEARNER", "Learner", list(titles.values()),
                defaultValue=titles[self.option("learner")["default"]], usesStaticStrings=True,
            ),
            learner_help(self.verb),
        )  # fmt: skip
        self.add(
            core.QgsProcessingParameterField(
                "PERSON", "Person", parentLayerParameterName="INPUT", optional=True
            ),
            self.option("id")["help"],
        )
        self.add_declared("rows")
        self.add(
            core.QgsProcessingParameterBoolean("EACH", "Each point is of another person", False),
            "Asked only where no Person is chosen and a field's name says that it may be one.",
            advanced=True,
        )
        self.add(
            core.QgsProcessingParameterFeatureSource(
                "WITHIN",
                "Clip to a public map",
                [core.QgsProcessing.TypeVectorPolygon],
                optional=True,
            ),
            "The shape is cut to these polygons, such as land; that costs no ε. They must be "
            "public, and never made from the points.",
        )
        for name in self._declared():
            if name != "epsilon":
                self.add_declared(name, _LABELS.get(name))
        self.add_ledger()
        self.add(
            core.QgsProcessingParameterFileDestination(
                "REPORT", "Privacy report", "JSON (*.json)", optional=True, createByDefault=False
            ),
            self.option("report")["help"],
        )
        self.add(
            core.QgsProcessingParameterVectorDestination(
                "OUTPUT", "Learned shape", core.QgsProcessing.TypeVectorPolygon
            ),
            "In the coordinate reference system of the points, with a style beside it.",
        )

    def checkParameterValues(self, parameters: dict[str, Any], context: Any) -> tuple[bool, str]:
        """Ask whose a point is where a field may say so, by its name alone."""
        fine, reason = super().checkParameterValues(parameters, context)
        if fine and not parameters.get("PERSON") and not parameters.get("EACH"):
            source = self.parameterAsSource(parameters, "INPUT", context)
            for name in source.fields().names():
                if name != parameters.get("LABEL", "label") and re.search(
                    declared()["person"], name
                ):
                    return False, (
                        f"Field {name}: may say whose a point is: choose it as Person, or say "
                        "'Each point is of another person'"
                    )
        return fine, reason

    def _declared(self) -> list[str]:
        """Names of the parameters of learners."""
        names = (name for each in learners_of(self.verb) for name in each["parameters"])
        return list(dict.fromkeys(names))

    def processAlgorithm(
        self, parameters: dict[str, Any], context: Any, feedback: Any
    ) -> dict[str, Any]:
        """Run the program on the points."""
        title = self.parameterAsEnumString(parameters, "LEARNER", context)
        learner = next(each["id"] for each in learners_of(self.verb) if each["title"] == title)
        names = ["grid", "out_of_bounds", "unusable", "rows", *self._declared()]
        values = {"learner": learner, **self.values(parameters, names, context)}
        if values["seed"] is not None:
            feedback.pushWarning("With a seed the result is not private: for tests alone")
        output = self.parameterAsOutputLayer(parameters, "OUTPUT", context)
        options = ["--progress", f"--output={output}", "--overwrite"]
        options += self.ledger(parameters, context)
        fields = {}
        if person := self.parameterAsString(parameters, "PERSON", context):
            column = "person" if person.lower() in ("label", "lon", "lat", "x", "y") else person
            fields[column] = person
            options.append(f"--id={column}")
        if report := self.parameterAsFileOutput(parameters, "REPORT", context):
            options.append(f"--report={report}")
        with tempfile.TemporaryDirectory(prefix="geodp-") as folder:
            within = self.parameterAsSource(parameters, "WITHIN", context)
            if within is not None:
                mask = Path(folder) / file_name(within.sourceName(), ".geojson")
                write_polygons(mask, within, feedback)
                options.append(f"--within={mask}")
            self.on_points(parameters, context, feedback, values, *options, fields=fields)
        return {"OUTPUT": output, **({"REPORT": report} if report else {})}


#: What parameters are called that have a shorter name in geodp's window.
_LABELS = {"delta": "Failure probability δ", "k": "Pieces k"}


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
        self.add_points("Reports, each inside the region in question or not.")
        self.add_place()
        self.add_declared("epsilon", "Privacy budget ε", advanced=False)
        titles = {each["id"]: each["title"] for each in learners_of(self.verb)}
        self.add(
            core.QgsProcessingParameterEnum(
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
            core.QgsProcessingParameterFeatureSink(
                "OUTPUT", "Comparison (private)", core.QgsProcessing.TypeVector
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
            raise core.QgsProcessingException("Learners: choose one at least")
        options = ["--json", "--progress", *self.ledger(parameters, context)]
        found = json.loads(self.on_points(parameters, context, feedback, values, *options))
        columns = core.QgsFields()
        for name, kind in _FIELDS.items():
            columns.append(core.QgsField(name, kind))
        sink, output = self.parameterAsSink(
            parameters, "OUTPUT", context, columns, core.QgsWkbTypes.NoGeometry,
            core.QgsCoordinateReferenceSystem(),
        )  # fmt: skip
        if sink is None:
            raise core.QgsProcessingException(self.invalidSinkError(parameters, "OUTPUT"))
        for each in found["learners"]:
            row = core.QgsFeature(columns)
            row.setAttributes([each[name] for name in _FIELDS])
            sink.addFeature(row, core.QgsFeatureSink.FastInsert)
            feedback.pushInfo(f"{each['name']}: {each['error']:.4%} of the points wrong")
        together = found["together"]
        feedback.pushWarning(
            f"Together these runs spend ε = {together['epsilon']:g}, δ = {together['delta']:g} of "
            f"the points' privacy; {found['warning']}"
        )
        return {"OUTPUT": output}
