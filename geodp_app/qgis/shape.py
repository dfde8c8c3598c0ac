"""A learned shape among the inputs of an algorithm."""

from __future__ import annotations

from typing import Any

from qgis.core import QgsProcessing, QgsProcessingParameterVectorLayer

from .algorithm import GeodpAlgorithm

#: Formats that the program reads; a layer of another one is written as the first.
_READ = ["gpkg", "geojson", "fgb", "parquet", "shp"]


class WithShape(GeodpAlgorithm):
    """An algorithm that reads a learned shape."""

    def __init__(self) -> None:
        super().__init__()
        self.shape = ""

    def add_shape(self) -> None:
        """Add the layer."""
        self.add(
            QgsProcessingParameterVectorLayer(
                "LEARNED", "Learned shape", [QgsProcessing.TypeVectorPolygon]
            ),
            "A GeoPackage, GeoJSON or GeoParquet that geodp wrote holds the exact shape; of any "
            "other layer its polygons are taken as they are.",
        )

    def prepareAlgorithm(self, parameters: dict[str, Any], context: Any, feedback: Any) -> bool:
        """Find the layer's file, while layers may be looked at."""
        self.shape = self.parameterAsCompatibleSourceLayerPath(
            parameters, "LEARNED", context, _READ, _READ[0], feedback
        )
        return bool(self.shape)
