"""A learned shape: what a run released, where its grid lies, and a mask if it is clipped."""

from __future__ import annotations

import os
from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from shapely.geometry.base import BaseGeometry

from geodp_app.document.examples import Frame
from geodp_app.document.mask import Mask, read_mask
from geometry.geojson_write import placed_shape
from geometry.grid import Bounds, GridMap
from learners.core.checks import check_points
from learners.core.estimator import Estimator
from learners.core.released_shape import ReleasedShape, released_statement
from learners.core.releases import Release
from learners.privacy.accounting import PrivacySpent
from learners.privacy.privacy_loss import accounting_document


@dataclass(frozen=True)
class LearnedShape(ReleasedShape):
    """What a run released, and where it lies; it may be published if its statement says so.

    Attributes
    ----------
    release : Release
        The exact hypothesis, with what was spent.
    frame : Frame
        Grid size and public bounds.
    mask : Mask or None
        Public polygons that the shape is clipped to.
    """

    release: Release
    frame: Frame
    mask: Mask | None = None

    @classmethod
    def of(cls, model: Estimator) -> Self:
        """What a fitted learner has learned.

        Raises
        ------
        NotFittedError
            If no run is complete.
        """
        release, bounds = model.placed().released()
        return cls(release, Frame(release.d, bounds))

    def __repr__(self) -> str:
        where = "" if self.frame.bounds is None else f", {self.frame.bounds}"
        about = f"{self.release.learner}, grid 0..{self.frame.d}{where}"
        return f"<LearnedShape by {about}: {self.statement}>"

    @property
    def privacy(self) -> PrivacySpent | None:
        """What was spent; None for a learner that is not private."""
        return self.release.privacy

    @property
    def statement(self) -> str:
        """The guarantee in one sentence, or that there is none."""
        return released_statement(self.release)

    @property
    def accounting(self) -> dict[str, Any] | None:
        """The charges, for other accountants (:mod:`learners.privacy.privacy_loss`)."""
        return None if self.privacy is None else accounting_document(self.privacy)

    @property
    def polygons(self) -> BaseGeometry:
        """The shape, valid, in the system of the bounds; without bounds in grid units."""
        return self._placed(self.layers()["learned"])

    @property
    def support(self) -> BaseGeometry | None:
        """Where there were enough reports to say anything, as `polygons`; None if not released."""
        support = self.layers().get("support")
        return None if support is None else self._placed(support)

    def clip(self, within: str | os.PathLike[str]) -> Self:
        """The same clipped to the polygons of a public map; costs no epsilon.

        Parameters
        ----------
        within : path-like
            GeoJSON.

        Raises
        ------
        InputError
            If nothing of the map lies within the bounds.
        GeoJSONError, OSError
            If it cannot be read.
        """
        mask = read_mask(within)
        mask.region(self.frame)
        return replace(self, mask=mask)

    def predict(self, X: ArrayLike) -> NDArray[np.int64]:
        """Labels 0/1 of points, shape (n,), by exact side tests; 0 outside of a mask.

        Parameters
        ----------
        X : array or data frame, shape (n, 2), or GeoDataFrame
            As a learner with these bounds takes them; without bounds grid points.

        Raises
        ------
        ValueError
            If a point is none, or lies outside the bounds.
        """
        points = check_points(X, self.release.d, bounds=self.frame.bounds)
        labels = self.release.predict(points)
        return labels if self.mask is None else self.mask.keep(labels, points, self.frame)

    def layers(self) -> dict[str, BaseGeometry]:
        """What is released, by name, in grid units: "learned", clipped, and maybe "support"."""
        layers = super()._layers()
        if self.mask is not None:
            layers["learned"] = self.mask.clip(layers["learned"], self.frame)
        return layers

    def member(self) -> dict[str, Any]:
        """What files say of the run, JSON values only; nothing but what may be published."""
        member = super()._member()
        return member if self.mask is None else member | {"clipped_to": self.mask.name}

    def released(self) -> tuple[Release, Bounds | None]:
        return self.release, self.frame.bounds

    def _layers(self) -> dict[str, BaseGeometry]:
        return self.layers()

    def _member(self) -> dict[str, Any]:
        return self.member()

    def _placed(self, shape: BaseGeometry) -> BaseGeometry:
        bounds, d = self.frame.bounds, self.frame.d
        return placed_shape(shape, d, None if bounds is None else GridMap(d, bounds), degrees=False)
