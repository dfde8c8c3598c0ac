"""Base class of the QGIS algorithms: declares parameters, hands points to `geodp` and runs it."""

from __future__ import annotations

import csv
import json
import math
import os
import re
import shlex
import tempfile
from html import escape
from pathlib import Path
from typing import Any

from processing.core.ProcessingConfig import ProcessingConfig
from qgis import core
from qgis.PyQt.QtGui import QIcon

from .command import (
    Cancelled,
    GeodpError,
    box_edges,
    declared,
    find_program,
    option_arguments,
    run,
    titles_of,
)

#: Where the person may name the program.
PROGRAM_SETTING = "GEODP_PROGRAM"

#: Longitude and latitude on WGS 84, in this order, as the program has them.
_DEGREES = ("EPSG:4326", "OGC:CRS84")

#: What a ledger is called that lies beside the data.
_LEDGER = "geodp.ledger"

#: What the writing of the points is of a run, in hundredths.
_POINTS_SHARE = 20


class GeodpAlgorithm(core.QgsProcessingAlgorithm):
    """An algorithm that calls one verb of the program."""

    verb = ""
    title = ""
    about = ""
    keywords: tuple[str, ...] = ()
    #: Files of layers that the verb reads before the points.
    paths: tuple[str, ...] = ()

    # -- what QGIS asks --------------------------------------------------------------------------

    def name(self) -> str:
        """As in ``geodp:learn``."""
        return self.verb

    def displayName(self) -> str:
        return self.title

    def tags(self) -> list[str]:
        """What it is found by."""
        return [*self.keywords, "differential privacy", "private"]

    def icon(self) -> QIcon:
        """As the provider's."""
        return QIcon(str(Path(__file__).with_name("icon.svg")))

    def createInstance(self) -> GeodpAlgorithm:
        """A new one of its kind."""
        return type(self)()

    def shortHelpString(self) -> str:
        """What it does, then each parameter."""
        words = [f"<p>{each}</p>" for each in self.about.strip().split("\n\n")]
        for each in self.parameterDefinitions():
            if each.help():
                lines = "<br>".join(map(escape, each.help().splitlines()))
                words.append(f"<h3>{escape(each.description())}</h3><p>{lines}</p>")
        return "\n".join(words)

    def canExecute(self) -> tuple[bool, str]:
        """Whether the program is there."""
        try:
            find_program(ProcessingConfig.getSetting(PROGRAM_SETTING) or "")
        except GeodpError as error:
            return False, str(error)
        return True, ""

    def checkParameterValues(self, parameters: dict[str, Any], context: Any) -> tuple[bool, str]:
        """Refuse bounds that are those of the points."""
        fine, reason = super().checkParameterValues(parameters, context)
        if fine and parameters.get("EXTENT") is not None:
            source = self.parameterAsSource(parameters, "INPUT", context)
            box = self.parameterAsExtent(parameters, "EXTENT", context, source.sourceCrs())
            if box == source.sourceExtent():
                return False, (
                    "Public extent: is the extent of the points themselves, and would tell where "
                    "the outermost of them are; type one, draw one, or take that of a public map"
                )
        return fine, reason

    # -- parameters ------------------------------------------------------------------------------

    def add(self, parameter: Any, words: str, *, advanced: bool = False) -> None:
        """Add a parameter with its help, in plain text."""
        parameter.setHelp(words)
        if advanced:
            parameter.setFlags(
                parameter.flags() | core.QgsProcessingParameterDefinition.FlagAdvanced
            )
        self.addParameter(parameter)

    def option(self, name: str) -> dict[str, Any]:
        """What is declared of an option of the verb."""
        found: dict[str, Any] = declared()["verbs"][self.verb][name]
        return found

    def add_declared(
        self, name: str, label: str | None = None, words: str = "", *, advanced: bool = True
    ) -> None:
        """Add a parameter for an option of the verb, by what is declared of it."""
        option = self.option(name)
        key, label = name.upper(), label or option["label"]
        default = option["default"]
        if option["choices"]:
            titles = titles_of(option)
            parameter = core.QgsProcessingParameterEnum(
                key, label, options=list(titles.values()), defaultValue=titles.get(default),
                optional=default is None, usesStaticStrings=True,
            )  # fmt: skip
        else:
            whole = option["kind"] == "whole number"
            kind = "Integer" if whole else "Double"
            low, high = option["low"], option["high"]
            number = core.QgsProcessingParameterNumber
            parameter = number(
                key, label, type=getattr(number, kind), defaultValue=default,
                optional=default is None,
                **({} if low is None else {"minValue": low}),
                **({} if high is None else {"maxValue": high}),
            )  # fmt: skip
            if name == "delta":  # its box would show 0.000001 as 0
                parameter.setMetadata({"widget_wrapper": {"decimals": 12}})
        self.add(parameter, words or option["help"], advanced=advanced)

    def add_points(self, what: str, *, labelled: bool = True) -> None:
        """Add the layer of points and, of labelled ones, its field of labels."""
        self.add(
            core.QgsProcessingParameterFeatureSource(
                "INPUT", "Points", [core.QgsProcessing.TypeVectorPoint]
            ),
            f"{what} They may lie in any coordinate reference system. If only the selected ones "
            "are used, the selection must not depend on the reports.",
        )
        if labelled:
            self.add(
                core.QgsProcessingParameterField("LABEL", "Label", "label", "INPUT"),
                "The field that says whether a point is inside: 1 and 0, true and false, yes and "
                "no, inside and outside, or 1 and -1; name others below.",
            )
            for name, label in (("inside", "Labels inside"), ("outside", "Labels outside")):
                self.add(
                    core.QgsProcessingParameterString(name.upper(), label, optional=True),
                    self.option(name)["help"],
                    advanced=name == "outside",
                )

    def add_place(self, *, optional: bool = False) -> None:
        """Add the public extent and what becomes of points outside of it."""
        when = "By default that of the learned shape. " if optional else ""
        self.add(
            core.QgsProcessingParameterExtent("EXTENT", "Public extent", optional=optional),
            f"{when}The region in question, known without the points, such as the outline of the "
            "district: it is published with the shape. The extent of the points themselves would "
            "tell where the outermost of them are, and is refused.",
            advanced=optional,
        )
        if not optional:
            self.add_declared(
                "grid",
                "Grid steps a side",
                "Into how many steps each side of the extent is divided; points are rounded to "
                "this grid.",
            )
        self.add_declared("out_of_bounds", "Points outside the extent", advanced=optional)
        self.add_declared("unusable", "Points without a usable label or place", advanced=optional)

    def add_ledger(self) -> None:
        """Add the file in which the run is entered before it draws."""
        self.add(
            core.QgsProcessingParameterFile("LEDGER", "Ledger", optional=True),
            "The run is entered in this file before it draws, and not made if its budget does not "
            "allow it; `geodp ledger` begins one. By default the file geodp.ledger beside that of "
            "the points, if there is one.",
            advanced=True,
        )

    # -- values ----------------------------------------------------------------------------------

    def ledger(self, parameters: dict[str, Any], context: Any) -> list[str]:
        """The option for the ledger that is chosen or lies beside the points' file; raises
        QgsProcessingException if these are two."""
        chosen = self.parameterAsFile(parameters, "LEDGER", context)
        layer = self.parameterAsVectorLayer(parameters, "INPUT", context)
        found = ""
        if layer is not None:
            registry = core.QgsProviderRegistry.instance()
            path = registry.decodeUri(layer.providerType(), layer.source()).get("path")
            ledgers = _ledgers(Path(path)) if path else []
            found = ledgers[0] if ledgers else ""
            if len(ledgers) > 1:
                raise core.QgsProcessingException(
                    f"the points lie beside two ledgers, {found} and {ledgers[1]}: use one"
                )
        if chosen and found and os.path.realpath(chosen) != found:
            raise core.QgsProcessingException(
                f"{chosen}: is not the ledger of these points, which lies beside them: {found}"
            )
        return [f"--ledger={chosen or found}"] if chosen or found else []

    def values(self, parameters: dict[str, Any], names: list[str], context: Any) -> dict[str, Any]:
        """Values of declared parameters by their names; None for what is not given."""
        found: dict[str, Any] = {}
        for name in names:
            option, key = self.option(name), name.upper()
            if parameters.get(key) is None and option["default"] is None:
                found[name] = None
            elif option["choices"]:
                title = self.parameterAsEnumString(parameters, key, context)
                by_title = {title: value for value, title in titles_of(option).items()}
                found[name] = by_title.get(title)
            elif option["kind"] == "whole number":
                found[name] = self.parameterAsInt(parameters, key, context)
            else:
                found[name] = self.parameterAsDouble(parameters, key, context)
        return found

    def source(self, parameters: dict[str, Any], context: Any) -> Any:
        """The points; they have a coordinate reference system.  Raises QgsProcessingException
        otherwise."""
        found = self.parameterAsSource(parameters, "INPUT", context)
        if found is None:
            raise core.QgsProcessingException(self.invalidSourceError(parameters, "INPUT"))
        if not found.sourceCrs().isValid():
            raise core.QgsProcessingException(
                f"{found.sourceName()}: its coordinate reference system is not known: set it in "
                "the layer's properties"
            )
        return found

    def bounds(self, parameters: dict[str, Any], source: Any, context: Any) -> list[str]:
        """Options that say where the grid lies: in the points' own system."""
        name = system(source.sourceCrs())
        options = [] if name is None else [f"--crs={name}"]
        if parameters.get("EXTENT") is None:
            return options
        box = self.parameterAsExtent(parameters, "EXTENT", context, source.sourceCrs())
        if box.isNull():
            return options
        edges = (box.xMinimum(), box.yMinimum(), box.xMaximum(), box.yMaximum())
        return [*options, f"--bounds={','.join(map(repr, box_edges(edges, name is None)))}"]

    # -- the program -----------------------------------------------------------------------------

    def on_points(
        self, parameters: dict[str, Any], context: Any, feedback: Any, values: dict[str, Any],
        *options: str, fields: dict[str, str] | None = None, numbered: bool = False,
    ) -> str:  # fmt: skip
        """Run the verb on the points, in a file that is gone then; as :meth:`call`.

        Values are of declared parameters, by name; `fields` go to the columns of these names,
        beside the label where there is one; `numbered` as :func:`write_points`.
        """
        source = self.source(parameters, context)
        fields = fields or {}
        named = {
            key.lower(): self.parameterAsString(parameters, key, context).strip() or None
            for key in ("INSIDE", "OUTSIDE")
        }
        if self.parameterDefinition("LABEL") is not None:
            fields = {"label": self.parameterAsString(parameters, "LABEL", context), **fields}
        with tempfile.TemporaryDirectory(prefix="geodp-") as folder:
            points = Path(folder) / file_name(source.sourceName(), ".csv")
            write_points(points, source, fields, feedback, numbered=numbered)
            arguments = [*self.paths, str(points), *self.bounds(parameters, source, context)]
            arguments += [*self.given(named | values), *options]
            return self.call(arguments, feedback, points, source)

    def call(self, arguments: list[str], feedback: Any, points: Path, source: Any) -> str:
        """Run the verb; what it writes on standard output.

        What it says of the file `points` is told of the layer that is in it, `source`.  Raises
        QgsProcessingException if the program cannot do it, in its own words, or the person
        cancelled it.
        """

        def nothing(*_: object) -> None: ...

        def show(share: float, text: str) -> None:
            feedback.setProgress(_POINTS_SHARE + share * (100 - _POINTS_SHARE))
            feedback.setProgressText(text)

        def named(text: str) -> str:
            return text.replace(str(points), source.sourceName())

        try:
            program = find_program(ProcessingConfig.getSetting(PROGRAM_SETTING) or "")
            found = run([program, "--version"], tell=nothing, progress=nothing,
                        cancelled=feedback.isCanceled).strip().rpartition(" ")[2]  # fmt: skip
            mine = declared()["version"]
            if found != mine:
                feedback.pushWarning(
                    f"This plugin is of geodp {mine}, and the program is {found}: `geodp plugin` "
                    "writes the plugin that goes with it"
                )
            command = [program, self.verb, *arguments]
            feedback.pushCommandInfo(" ".join(map(shlex.quote, command)))
            return run(command, tell=lambda line: feedback.pushInfo(named(line)), progress=show,
                       cancelled=feedback.isCanceled)  # fmt: skip
        except GeodpError as error:
            raise core.QgsProcessingException(named(str(error))) from None
        except Cancelled:
            raise core.QgsProcessingException("cancelled; nothing was written") from None

    def given(self, values: dict[str, Any]) -> list[str]:
        """Options of the verb for values by their names."""
        return option_arguments(declared()["verbs"][self.verb], values)


def _ledgers(path: Path) -> list[str]:
    """Ledgers beside a file: in the folders in which it and each link on the way to it lie."""
    folders = [path.parent, Path(os.path.realpath(path)).parent]
    while path.is_symlink() and len(folders) < 40:  # no system follows more
        path = path.parent / path.readlink()
        folders.append(path.parent)
    found = {os.path.realpath(folder / _LEDGER) for folder in folders}
    return sorted(each for each in found if os.path.isfile(each))


def system(crs: Any) -> str | None:
    """A coordinate reference system as `--crs` takes it; None for degrees on WGS 84."""
    name = crs.authid()
    if name in _DEGREES:
        return None
    if name and not name.startswith("USER:"):
        return str(name)
    return " ".join(crs.toWkt(core.QgsCoordinateReferenceSystem.WKT2_2019).split())


def axes(crs: Any) -> tuple[str, str]:
    """Names of the columns of coordinates by which the program knows whether they are degrees."""
    return ("lon", "lat") if system(crs) is None else ("x", "y")


def write_points(
    path: Path, source: Any, fields: dict[str, str], feedback: Any, *, numbered: bool = False
) -> None:
    """Write points as CSV, each coordinate to the last bit.

    Raises QgsProcessingException if a feature is no single point, or the person cancelled it.
    `fields`: names of fields by the column that each goes to.  `numbered`: whether the last column,
    "feature", is the feature's number.
    """
    request = core.QgsFeatureRequest().setSubsetOfAttributes(list(fields.values()), source.fields())
    total = max(1, source.featureCount())
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow([*axes(source.sourceCrs()), *fields, *(["feature"] if numbered else [])])
        for i, feature in enumerate(source.getFeatures(request)):
            if feedback.isCanceled():
                raise core.QgsProcessingException("cancelled; nothing was written")
            if i % 10_000 == 0:
                feedback.setProgress(_POINTS_SHARE * i / total)
            row = [*_place(feature), *(_cell(feature[name]) for name in fields.values())]
            writer.writerow([*row, feature.id()] if numbered else row)


def _place(feature: Any) -> tuple[str, str]:
    geometry = feature.geometry()
    if geometry.isNull() or geometry.isEmpty():
        return "", ""  # the program says what to do about it
    if geometry.isMultipart() and geometry.constGet().numGeometries() > 1:
        raise core.QgsProcessingException(
            f"feature {feature.id()}: has several points: part them by Multipart to singleparts"
        )
    point = geometry.asMultiPoint()[0] if geometry.isMultipart() else geometry.asPoint()
    return repr(point.x()), repr(point.y())


def _cell(value: Any) -> str:
    """A field's value as the program reads it."""
    if value is None or (hasattr(value, "isNull") and value.isNull()):
        return ""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, float) and math.isfinite(value) and value == int(value):
        return str(int(value))
    return str(value)


def write_polygons(path: Path, source: Any, feedback: Any) -> None:
    """Write polygons as GeoJSON in their own coordinate reference system, which it names."""
    features = []
    for feature in source.getFeatures():
        if feedback.isCanceled():
            raise core.QgsProcessingException("cancelled; nothing was written")
        shape = json.loads(feature.geometry().asJson(17))
        features.append({"type": "Feature", "properties": {}, "geometry": shape})
    document: dict[str, Any] = {"type": "FeatureCollection", "features": features}
    if name := system(source.sourceCrs()):
        document["crs"] = {"type": "name", "properties": {"name": name}}
    path.write_text(json.dumps(document), "utf-8")


def file_name(name: str, ending: str) -> str:
    """A layer's name as that of a file."""
    return (re.sub(r"[^\w.-]+", "_", name).strip("._") or "layer") + ending
