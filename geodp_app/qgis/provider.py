"""Adds to QGIS the plugin's algorithms, and the setting that names the program."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from processing.core.ProcessingConfig import ProcessingConfig, Setting
from qgis.core import QgsApplication, QgsProcessingProvider
from qgis.PyQt.QtGui import QIcon

from .algorithm import PROGRAM_SETTING
from .learn import Compare, Learn
from .shapes import Areas, Evaluate, Predict

ICON = str(Path(__file__).with_name("icon.svg"))


class GeodpProvider(QgsProcessingProvider):
    """geodp, in the toolbox."""

    def id(self) -> str:
        """As in ``geodp:learn``."""
        return "geodp"

    def name(self) -> str:
        return "geodp"

    def longName(self) -> str:
        return "geodp: shapes learned under differential privacy"

    def icon(self) -> QIcon:
        return QIcon(ICON)

    def svgIconPath(self) -> str:
        return ICON

    def load(self) -> bool:
        """Add the setting, then the algorithms."""
        ProcessingConfig.settingIcons[self.name()] = self.icon()
        ProcessingConfig.addSetting(
            Setting(self.name(), PROGRAM_SETTING, "Program geodp (empty: found by itself)", "",
                    valuetype=Setting.FILE)
        )  # fmt: skip
        ProcessingConfig.readSettings()
        self.refreshAlgorithms()
        return True

    def unload(self) -> None:
        ProcessingConfig.removeSetting(PROGRAM_SETTING)

    def loadAlgorithms(self) -> None:
        for algorithm in (Learn(), Evaluate(), Predict(), Compare(), Areas()):
            self.addAlgorithm(algorithm)

    def supportsNonFileBasedOutput(self) -> bool:
        """The program writes files."""
        return False

    def supportedOutputVectorLayerExtensions(self) -> list[str]:
        """Those that `geodp learn -o` takes."""
        return ["gpkg", "geojson", "fgb", "shp"]

    def defaultVectorFileExtension(self, hasGeometry: bool = True) -> str:
        """Keeps the exact hypothesis."""
        return "gpkg"


class GeodpPlugin:
    """What QGIS starts and stops; without a window by :meth:`initProcessing` alone."""

    def __init__(self, iface: Any) -> None:
        self._provider: GeodpProvider | None = None

    def initProcessing(self) -> None:
        """Add the provider; `qgis_process` calls this."""
        self._provider = GeodpProvider()
        QgsApplication.processingRegistry().addProvider(self._provider)

    def initGui(self) -> None:
        """Add the provider to QGIS's window."""
        self.initProcessing()

    def unload(self) -> None:
        if self._provider is not None:
            QgsApplication.processingRegistry().removeProvider(self._provider)
            self._provider = None
