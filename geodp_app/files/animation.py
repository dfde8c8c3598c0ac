"""Animations: pictures one after the other as an animated GIF or WebP, written by Pillow.

All pictures of a GIF share one palette, chosen from their colours, and nothing is dithered: text
stays sharp, and what does not change is not stored again.  A WebP keeps every colour.  Nothing but
pictures, how long each is shown, and the program's name goes into the file.

This is the only module that imports Pillow (extra ``animation``), and it does so when it is needed.
"""

from __future__ import annotations

import io
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from numpy.typing import NDArray

from geodp_app.errors import InputError

if TYPE_CHECKING:
    from PIL.Image import Image

Kind = Literal["GIF", "WebP"]

#: How each is written; more effort takes a few per cent off a WebP and several times as long.
_OPTIONS: dict[Kind, dict[str, Any]] = {
    "GIF": {"optimize": True, "comment": b"geodp"},
    "WebP": {
        "lossless": True,
        "quality": 50,
        "method": 4,
        "minimize_size": True,
        "xmp": b'<x:xmpmeta xmlns:x="adobe:ns:meta/"><!-- geodp --></x:xmpmeta>',
    },
}

#: Of a GIF: one entry of 256 is left for what does not change.
_COLOURS = 255

#: Pixels from which its palette is chosen, in proportion to those of the pictures.
_SAMPLE = 1_000_000


@dataclass(frozen=True, slots=True)
class Frame:
    """One picture of an animation.

    Attributes
    ----------
    png : bytes
    milliseconds : int
        For how long it is shown; a GIF counts in tens.
    """

    png: bytes
    milliseconds: int


def kind_of(path: Path) -> Kind | None:
    """What kind of animation a file's name asks for; None if it asks for none.

    Examples
    --------
    >>> kind_of(Path("run.GIF")), kind_of(Path("window.png"))
    ('GIF', None)
    """
    kinds: dict[str, Kind] = {".gif": "GIF", ".webp": "WebP"}
    return kinds.get(path.suffix.lower())


def load_pillow() -> Any:
    """Pillow's module of images, loaded when it is needed.

    Raises
    ------
    InputError
        If it is not installed.
    """
    try:
        import PIL.Image
    except ImportError:
        raise InputError(
            "an animation needs Pillow, which is not installed: pip install 'geodp[animation]'"
        ) from None
    return PIL.Image


def animation_bytes(frames: Sequence[Frame], kind: Kind) -> bytes:
    """An animation that repeats for ever; equal frames in a row become one, as Pillow does it.

    Parameters
    ----------
    frames : sequence of Frame
        At least one; all of one size.
    kind : {"GIF", "WebP"}

    Raises
    ------
    InputError
        If Pillow is not installed.
    """
    images = [_image(frame) for frame in frames]
    if kind == "GIF":
        images = _with_one_palette(images)
    written = io.BytesIO()
    images[0].save(
        written,
        kind,
        save_all=True,
        append_images=images[1:],
        duration=[frame.milliseconds for frame in frames],
        loop=0,
        **_OPTIONS[kind],
    )
    return written.getvalue()


def _image(frame: Frame) -> Image:
    image: Image = load_pillow().open(io.BytesIO(frame.png)).convert("RGB")
    return image


def _with_one_palette(images: Sequence[Image]) -> list[Image]:
    """The images in the colours that suit all of them together.

    They are chosen to reach far, so that thin lines keep theirs, and then moved to where most
    pixels are.
    """
    module = load_pillow()
    counted = [np.unique(_colours(image), return_counts=True) for image in images]
    seen, of_image = (np.concatenate(each) for each in zip(*counted, strict=True))
    colours, which = np.unique(seen, return_inverse=True)
    counts = np.bincount(which, weights=of_image)
    shares = np.ceil(_SAMPLE / counts.sum() * counts).astype(np.int64)
    colours = np.repeat(colours, shares)
    rgb = np.stack([colours >> 16, colours >> 8 & 255, colours & 255], axis=1).astype(np.uint8)
    reach = module.Quantize.MAXCOVERAGE
    palette = module.fromarray(rgb[None]).quantize(_COLOURS, method=reach, kmeans=2)
    return [image.quantize(palette=palette, dither=module.Dither.NONE) for image in images]


def _colours(image: Image) -> NDArray[np.uint32]:
    """Every pixel as one number, red in its upper bits."""
    padded = np.asarray(image.convert("RGBX"))
    colours: NDArray[np.uint32] = padded.view(">u4").ravel().astype(np.uint32)
    return np.right_shift(colours, 8, dtype=np.uint32)
