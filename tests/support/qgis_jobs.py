"""Run by the Python that QGIS has: jobs of the plugin's algorithms, and what came of them.

    python3 qgis_jobs.py PLUGINS < JOBS

PLUGINS is the folder in which the plugin's folder lies.  JOBS is JSON, a list of objects: `run` is
an algorithm, `parameters` are its own, and where there is `points`, INPUT is a layer in memory of
rows [x, y, attributes...] with `fields` in `crs`, of which `selected` are used.  With `cancel` it
is cancelled once it has made progress.  `program` is set as the person would set it.  Prints a
list, too: of each job `results`, `error`, what was `told`, the `progress`, and of the layer that is
the result its `crs`, `renderer`, `fields` and `rows`.
"""

import json
import sys

sys.path.insert(0, sys.argv[1])
sys.path.append("/usr/share/qgis/python/plugins")

from qgis.core import (
    Qgis,
    QgsApplication,
    QgsFeature,
    QgsGeometry,
    QgsPointXY,
    QgsProcessingContext,
    QgsProcessingFeatureSourceDefinition,
    QgsProcessingFeedback,
    QgsProject,
    QgsVectorLayer,
)

application = QgsApplication([], False)
application.initQgis()

import geodp_qgis  # noqa: E402
import processing  # noqa: E402
from processing.core.Processing import Processing  # noqa: E402
from processing.core.ProcessingConfig import ProcessingConfig  # noqa: E402

Processing.initialize()
plugin = geodp_qgis.classFactory(None)
plugin.initProcessing()


class Feedback(QgsProcessingFeedback):
    """Keeps what is told, and may have had enough."""

    def __init__(self, cancel):
        super().__init__(False)
        self.outcome, self.shown, self.ends = [], [], cancel

    def pushInfo(self, text):
        self.outcome.append(text)

    def pushWarning(self, text):
        self.outcome.append(f"warning: {text}")

    def setProgress(self, share):
        self.shown.append(share)

    def setProgressText(self, text):
        if self.ends:
            self.cancel()


def layer_of(job):
    fields = "&".join(f"field={each}" for each in job["fields"])
    layer = QgsVectorLayer(f"Point?crs={job['crs']}&{fields}", "in memory", "memory")
    features = []
    for x, y, *attributes in job["points"]:
        feature = QgsFeature(layer.fields())
        feature.setGeometry(QgsGeometry.fromPointXY(QgsPointXY(x, y)))
        feature.setAttributes(attributes)
        features.append(feature)
    layer.dataProvider().addFeatures(features)
    QgsProject.instance().addMapLayer(layer)
    if "selected" not in job:
        return layer
    layer.selectByIds([feature.id() for feature in layer.getFeatures()][: job["selected"]])
    return QgsProcessingFeatureSourceDefinition(layer.id(), selectedFeaturesOnly=True)


def plain(value):
    return value if isinstance(value, (int, float, str, bool)) else None


def about(layer):
    renderer = layer.renderer()
    return {
        "crs": layer.crs().authid(),
        "renderer": renderer.type() if renderer else None,
        "colours": [each.symbol().color().name() for each in renderer.categories()]
        if renderer and renderer.type() == "categorizedSymbol"
        else [],
        "fields": {field.name(): field.typeName() for field in layer.fields()},
        "rows": [[plain(value) for value in each.attributes()] for each in layer.getFeatures()],
    }


def done(job):
    ProcessingConfig.setSettingValue("GEODP_PROGRAM", job.get("program", ""))
    feedback, context = Feedback(job.get("cancel", False)), QgsProcessingContext()
    context.setProject(QgsProject.instance())
    parameters = dict(job["parameters"])
    if "points" in job:
        parameters["INPUT"] = layer_of(job)
    found = {"results": {}, "error": "", "told": feedback.outcome, "progress": feedback.shown}
    try:
        results = processing.run(job["run"], parameters, context=context, feedback=feedback)
    except Exception as error:
        return {**found, "error": str(error)}
    output = results.get("OUTPUT")
    if isinstance(output, str):
        output = QgsVectorLayer(output, "output", "ogr")
    if output is not None:
        found["layer"] = about(output)
    return {**found, "results": {name: plain(value) for name, value in results.items()}}


registry = QgsApplication.processingRegistry()
provider = registry.providerById("geodp")
helps = {
    each.name(): {each.name(): each.help() for each in each.parameterDefinitions()}
    for each in provider.algorithms()
}
print(json.dumps({
    "qgis": Qgis.QGIS_VERSION, "helps": helps, "icon": not provider.icon().isNull(),
    "jobs": [done(job) for job in json.load(sys.stdin)],
}))  # fmt: skip
sys.stdout.flush()
plugin.unload()
application.exitQgis()
