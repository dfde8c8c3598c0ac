"""The algorithm `geodp:predict` labels points by a learned shape."""

from __future__ import annotations

import csv
import tempfile
from pathlib import Path
from typing import Any

from qgis.core import (
    QgsCategorizedSymbolRenderer,
    QgsFeature,
    QgsFeatureSink,
    QgsField,
    QgsFields,
    QgsMarkerSymbol,
    QgsProcessing,
    QgsProcessingException,
    QgsProcessingLayerPostProcessorInterface,
    QgsProcessingParameterFeatureSink,
    QgsProcessingUtils,
    QgsRendererCategory,
    QgsWkbTypes,
)
from qgis.PyQt.QtCore import QVariant

from .algorithm import WithShape
from .command import declared

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
        """Its parameters."""
        self.add_shape()
        self.add_points("Points to be labelled.", labelled=False)
        self.add_place(optional=True)
        self.add(
            QgsProcessingParameterFeatureSink(
                "OUTPUT", "Labelled points", QgsProcessing.TypeVectorPoint
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
        own, new = source.fields(), QgsFields()
        for name in names:
            new.append(QgsField(name, QVariant.Int))
        fields = QgsProcessingUtils.combineFields(own, new)
        point = QgsWkbTypes.singleType(source.wkbType())
        sink, output = self.parameterAsSink(
            parameters, "OUTPUT", context, fields, point, source.sourceCrs()
        )
        if sink is None:
            raise QgsProcessingException(self.invalidSinkError(parameters, "OUTPUT"))
        for feature in source.getFeatures():
            found = said.get(feature.id())
            if found is None:  # outside, and to be left out
                continue
            labelled = QgsFeature(fields)
            labelled.setGeometry(feature.geometry())
            labelled.setAttributes([*feature.attributes(), *found])
            sink.addFeature(labelled, QgsFeatureSink.FastInsert)
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


class _Colours(QgsProcessingLayerPostProcessorInterface):
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
            symbol = QgsMarkerSymbol.createSimple(look)
            categories.append(QgsRendererCategory(value, symbol, meaning))
        layer.setRenderer(QgsCategorizedSymbolRenderer(self._field, categories))
        layer.triggerRepaint()
