"""The plugin: it gives QGIS its Processing provider, and takes it back."""

from __future__ import annotations

from typing import Any

from qgis.core import QgsApplication

from .provider import GeodpProvider


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
        """Take the provider back."""
        if self._provider is not None:
            QgsApplication.processingRegistry().removeProvider(self._provider)
            self._provider = None
