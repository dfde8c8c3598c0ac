"""The algorithms that read a learned shape: `geodp:evaluate` counts points that it labels wrong,
`geodp:predict` labels points by it, `geodp:areas` measures how much of each district it covers.
"""

from __future__ import annotations

import csv
import json
import tempfile
from pathlib import Path
from typing import Any

from qgis import core
from qgis.PyQt.QtCore import QVariant

from .algorithm import GeodpAlgorithm
from .command import declared

#: Formats that the program reads; a layer of another one is written as the first.
_READ = ["gpkg", "geojson", "fgb", "parquet", "shp"]

#: Outputs by the figures that the program prints.
_FIGURES = {
    "error": "Share of points with a wrong label",
    "errors": "Points with a wrong label",
    "false_positives": "Points outside that the shape holds",
    "false_negatives": "Points inside that the shape leaves out",
    "examples": "Points",
}


class WithShape(GeodpAlgorithm):
    """An algorithm that reads a learned shape."""

    #: Parameters of layers whose files are read, the shape's first.
    layers: tuple[str, ...] = ("LEARNED",)

    def add_shape(self) -> None:
        self.add(
            core.QgsProcessingParameterVectorLayer(
                "LEARNED", "Learned shape", [core.QgsProcessing.TypeVectorPolygon]
            ),
            "A GeoPackage, GeoJSON or GeoParquet that geodp wrote holds the exact shape; of any "
            "other layer its polygons are taken as they are.",
        )

    def prepareAlgorithm(self, parameters: dict[str, Any], context: Any, feedback: Any) -> bool:
        """Find the layers' files, while layers may be looked at."""
        how = (context, _READ, _READ[0], feedback)
        self.paths = tuple(
            self.parameterAsCompatibleSourceLayerPath(parameters, name, *how)
            for name in self.layers
        )
        return all(self.paths)


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
        self.add_shape()
        self.add_points("Labelled points.")
        self.add_place(optional=True)
        for name, label in _FIGURES.items():
            self.addOutput(core.QgsProcessingOutputNumber(name.upper(), label))

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


#: What the program says of a point, and what that means.
_ADDED = ("predicted", "supported")


class Predict(WithShape):
    """Label points by a shape."""

    verb = "predict"
    title = "Label points by a learned shape"
    keywords = ("classify", "inside", "point in polygon")
    about = (
        "Gives each point what a learned shape says of it in a field <i>predicted</i>: 1 inside, 0 "
        "outside. Where the shape tells where there were enough reports, a field <i>supported</i> "
        "is 1 there.\n\n"
        "A released shape may be used in any way, so this costs no ε; the points themselves are as "
        "private as they were."
    )

    def initAlgorithm(self, configuration: Any = None) -> None:
        self.add_shape()
        self.add_points("Points to be labelled.", labelled=False)
        self.add_place(optional=True)
        self.add(
            core.QgsProcessingParameterFeatureSink(
                "OUTPUT", "Labelled points", core.QgsProcessing.TypeVectorPoint
            ),
            "The points with their own fields and the new ones.",
        )

    def processAlgorithm(
        self, parameters: dict[str, Any], context: Any, feedback: Any
    ) -> dict[str, Any]:
        """Write the points, run the program on both, and put its answers beside them."""
        source = self.source(parameters, context)
        values = self.values(parameters, ["out_of_bounds", "unusable"], context)
        with tempfile.TemporaryDirectory(prefix="geodp-") as folder:
            answers = Path(folder) / "answers.csv"
            output = f"--output={answers}"
            self.on_points(parameters, context, feedback, values, output, numbered=True)
            names, said = _read(answers)
        own, new = source.fields(), core.QgsFields()
        for name in names:
            new.append(core.QgsField(name, QVariant.Int))
        fields = core.QgsProcessingUtils.combineFields(own, new)
        point = core.QgsWkbTypes.singleType(source.wkbType())
        sink, output = self.parameterAsSink(
            parameters, "OUTPUT", context, fields, point, source.sourceCrs()
        )
        if sink is None:
            raise core.QgsProcessingException(self.invalidSinkError(parameters, "OUTPUT"))
        for feature in source.getFeatures():
            found = said.get(feature.id())
            if found is None:  # outside, and to be left out
                continue
            labelled = core.QgsFeature(fields)
            labelled.setGeometry(feature.geometry())
            labelled.setAttributes([*feature.attributes(), *found])
            sink.addFeature(labelled, core.QgsFeatureSink.FastInsert)
        del sink
        if context.willLoadLayerOnCompletion(output):
            _Colours.last = _Colours(fields[own.count()].name())
            context.layerToLoadOnCompletionDetails(output).setPostProcessor(_Colours.last)
        return {"OUTPUT": output}


def _read(path: Path) -> tuple[list[str], dict[int, list[int]]]:
    """What the program added, by the number of the feature."""
    with path.open(encoding="utf-8", newline="") as file:
        rows = csv.DictReader(file)
        names = [name for name in _ADDED if name in (rows.fieldnames or ())]
        return names, {int(row["feature"]): [int(row[name]) for name in names] for row in rows}


class _Colours(core.QgsProcessingLayerPostProcessorInterface):
    """Colours points by their label, as geodp's window does."""

    #: QGIS does not hold on to it.
    last: _Colours | None = None

    def __init__(self, field: str) -> None:
        super().__init__()
        self._field = field

    def postProcessLayer(self, layer: Any, context: Any, feedback: Any) -> None:
        """Called by QGIS when the layer has been loaded."""
        categories = []
        for value, meaning in ((1, "inside"), (0, "outside")):
            look = {"color": declared()["colours"][meaning], "outline_style": "no", "size": "1.6"}
            symbol = core.QgsMarkerSymbol.createSimple(look)
            categories.append(core.QgsRendererCategory(value, symbol, meaning))
        layer.setRenderer(core.QgsCategorizedSymbolRenderer(self._field, categories))
        layer.triggerRepaint()


class Areas(WithShape):
    """Measure a shape in districts."""

    verb = "areas"
    title = "Measure a learned shape by district"
    keywords = ("area", "zonal", "statistics", "share")
    layers = ("LEARNED", "DISTRICTS")
    about = (
        "Measures a learned shape in each of some districts, on the ellipsoid of WGS 84. All is "
        "computed from what is released: it costs no ε, and may be published as the shape may."
    )

    def initAlgorithm(self, configuration: Any = None) -> None:
        self.add_shape()
        self.add(
            core.QgsProcessingParameterVectorLayer(
                "DISTRICTS", "Districts", [core.QgsProcessing.TypeVectorPolygon]
            ),
            "Public polygons, in any coordinate reference system.",
        )
        columns = "\n".join(f"{name}: {words}" for name, words in declared()["areas"].items())
        self.add(
            core.QgsProcessingParameterVectorDestination(
                "OUTPUT", "Districts, measured", core.QgsProcessing.TypeVectorPolygon
            ),
            f"The districts with their own fields and these:\n{columns}",
        )

    def processAlgorithm(
        self, parameters: dict[str, Any], context: Any, feedback: Any
    ) -> dict[str, Any]:
        """Run the program on both files."""
        output = self.parameterAsOutputLayer(parameters, "OUTPUT", context)
        shape, districts = self.paths
        arguments = [shape, f"--districts={districts}", f"--output={output}", "--overwrite"]
        source = self.parameterAsSource(parameters, "DISTRICTS", context)
        feedback.pushInfo(self.call(arguments, feedback, Path(districts), source))
        return {"OUTPUT": output}
