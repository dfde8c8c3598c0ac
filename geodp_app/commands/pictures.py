"""What a picture of the plane shows, and the door to drawing one.

Free of Qt until one is drawn.  A picture that shows examples is private data, and says so in
its caption.
"""

from __future__ import annotations

import os
from dataclasses import dataclass

from shapely.geometry.base import BaseGeometry

from geodp_app.files.examples_csv import Examples, Frame
from geodp_app.files.reports import parts
from geometry.files import atomic_write
from learners.releases import Release


@dataclass(frozen=True, slots=True)
class Picture:
    """What to draw; all shapes in grid units of the frame.

    Attributes
    ----------
    frame : Frame
    title : str
    figures : tuple of (str, str)
        Names and values for the column at the side.
    learned : shapely geometry
    target : shapely geometry, optional
    examples : Examples, optional
        Thinned to some thousand dots; makes the picture private.
    """

    frame: Frame
    title: str
    figures: tuple[tuple[str, str], ...]
    learned: BaseGeometry
    target: BaseGeometry | None = None
    examples: Examples | None = None


def write_picture(path: str | os.PathLike[str], picture: Picture, *, private: bool = False) -> None:
    """Draw a picture as PNG, whole or not at all; a private one for its owner alone, mode 0600.

    Raises
    ------
    PictureError
        If Qt cannot start; the message says what to install.
    OSError
        If the file cannot be written.
    """
    from geodp_app.views.offscreen import start_qt

    application = start_qt()
    from geodp_app.views.plane.picture import render_png

    atomic_write(path, render_png(picture), private=private)
    del application  # it had to live until here


def release_figures(release: Release) -> tuple[tuple[str, str], ...]:
    """The public figures of a run, for a picture's side column."""
    privacy = release.privacy
    if privacy is None:
        return (("private", "no"),)
    figures = [("epsilon", f"{privacy.epsilon:g}"), ("delta", f"{privacy.delta:g}")]
    if not privacy.private:
        figures.append(("private", "no: seeded"))
    k = dict(release.parameters).get("k")
    if k is not None:
        figures.append(("k", str(k)))
    many, name = parts(release)
    return (*figures, (f"{name}s", str(many)))
