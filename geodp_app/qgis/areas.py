"""The algorithm `geodp:areas` measures how much of each district a learned shape covers."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from qgis.core import (
    QgsProcessing,
    QgsProcessingParameterVectorDestination,
    QgsProcessingParameterVectorLayer,
)

from .algorithm import WithShape
from .command import declared


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
        """Its parameters."""
        self.add_shape()
        self.add(
            QgsProcessingParameterVectorLayer(
                "DISTRICTS", "Districts", [QgsProcessing.TypeVectorPolygon]
            ),
            "Public polygons, in any coordinate reference system.",
        )
        columns = "\n".join(f"{name}: {words}" for name, words in declared()["areas"].items())
        self.add(
            QgsProcessingParameterVectorDestination(
                "OUTPUT", "Districts, measured", QgsProcessing.TypeVectorPolygon
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
