"""Films of the window: a run, step by step, as an animated GIF or WebP, written by Pillow.

    python -m benchmarks.animation -o run.gif [--pace 2] [options of `geodp shot`]

Each picture is taken when all of it is there, and how long it is shown does not depend on how long
that took.  All pictures of a GIF share one palette, chosen from their colours, and nothing is
dithered: text stays sharp, and what does not change is not stored again.  A WebP keeps every
colour.  Nothing but pictures, how long each is shown, and the program's name goes into the file.
"""

from __future__ import annotations

import argparse
import io
import itertools
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray
from PIL import Image

from geodp_app.cli import build_parser
from geodp_app.commands import arguments
from geodp_app.files.writing import NewFile, write_files
from geodp_app.views.run.window_runs import SPEEDS
from geodp_app.views.window.app import Shooting, opened, wait
from geometry.errors import InputError
from learners.registry import BY_ID

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

#: Seconds that the window is shown before the first step, and at rest in the end.
_BEFORE, _AT_REST = 1.0, 2.0

#: What shares of its flash a new piece is shown at, and how long each, in seconds: where a step is
#: shown at least twice as long as they take together.
_FLASHES, _FLASH = (0.0, 0.35, 0.65), 0.08


#: Seconds between two steps of a run that is told when to go on.
_HELD = 86_400.0

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


def animation_bytes(frames: Sequence[Frame], kind: Kind) -> bytes:
    """An animation that repeats for ever; equal frames in a row become one, as Pillow does it.

    Parameters
    ----------
    frames : sequence of Frame
        At least one; all of one size.
    kind : {"GIF", "WebP"}
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


def _image(frame: Frame) -> Image.Image:
    return Image.open(io.BytesIO(frame.png)).convert("RGB")


def _with_one_palette(images: Sequence[Image.Image]) -> list[Image.Image]:
    """The images in the colours that suit all of them together.

    They are chosen to reach far, so that thin lines keep theirs, and then moved to where most
    pixels are.
    """
    counted = [np.unique(_colours(image), return_counts=True) for image in images]
    seen, of_image = (np.concatenate(each) for each in zip(*counted, strict=True))
    colours, which = np.unique(seen, return_inverse=True)
    counts = np.bincount(which, weights=of_image)
    shares = np.ceil(_SAMPLE / counts.sum() * counts).astype(np.int64)
    colours = np.repeat(colours, shares)
    rgb = np.stack([colours >> 16, colours >> 8 & 255, colours & 255], axis=1).astype(np.uint8)
    reach = Image.Quantize.MAXCOVERAGE
    palette = Image.fromarray(rgb[None]).quantize(_COLOURS, method=reach, kmeans=2)
    return [image.quantize(palette=palette, dither=Image.Dither.NONE) for image in images]


def _colours(image: Image.Image) -> NDArray[np.uint32]:
    """Every pixel as one number, red in its upper bits."""
    padded = np.asarray(image.convert("RGBX"))
    colours: NDArray[np.uint32] = padded.view(">u4").ravel().astype(np.uint32)
    return np.right_shift(colours, 8, dtype=np.uint32)


# --- the run ------------------------------------------------------------------------------------


def film(shooting: Shooting, steps: int | None, pace: float) -> Iterator[Frame]:
    """Run, and take pictures of every step, each shown for `pace` seconds."""
    runs = shooting.window.runs
    nearest = min(SPEEDS, key=lambda speed: abs(speed - pace))
    shooting.window.commands.speed.setCurrentIndex(SPEEDS.index(nearest))
    wait(lambda: runs.controller.state != "preparing")
    shooting.wait_until_at_rest()
    yield _frame(shooting, _BEFORE)
    for step in itertools.count(1) if steps is None else range(1, steps + 1):
        if step == 1:
            shooting.begin()
            runs.controller.set_delay(_HELD)
        else:
            runs.controller.run()
        wait(lambda: shooting.finished() or runs.controller.state == "waiting")
        if shooting.made < step:
            break  # nothing more was found
        if _shows(shooting):
            yield from _step(shooting, step, pace)
        if shooting.finished():
            break
    if runs.busy:
        runs.run_or_pause()
    shooting.wait_until_at_rest()
    yield _frame(shooting, _AT_REST)


def _shows(shooting: Shooting) -> bool:
    """Whether a step has a picture of its own: of an edge drawn again, the last one."""
    log = shooting.window.runs.current
    assert log is not None  # the step has been made
    return not log.between


def _step(shooting: Shooting, step: int, pace: float) -> Iterator[Frame]:
    """A step that has just been made: its piece flashes in."""
    runs = shooting.window.runs
    log = runs.current
    assert log is not None  # it has been made
    rest = log.cursor
    runs.move_cursor(step)
    flashes = _FLASHES if pace >= 2 * _FLASH * len(_FLASHES) else ()
    shooting.wait_until_at_rest()  # once: a flash changes nothing else
    for flash in flashes:
        yield _frame(shooting, _FLASH, flash)
    yield _frame(shooting, pace - _FLASH * len(flashes))
    runs.move_cursor(rest)


def _frame(shooting: Shooting, seconds: float, flash: float = 1.0) -> Frame:
    return Frame(shooting.picture(flash), round(1000 * seconds))


def main(argv: Sequence[str]) -> None:
    """Write an animation."""
    parser = argparse.ArgumentParser(description="Film the window as it goes through a run.")
    parser.add_argument("--pace", type=float, default=2.0, help="seconds a step (default 2)")
    own, others = parser.parse_known_args(argv)
    options = build_parser().parse_args(["shot", *others])
    kind = kind_of(options.output)
    if kind is None:
        raise SystemExit("end the name of the output in .gif or .webp")

    def given(learner: str) -> dict[str, Any]:
        return arguments.given_parameters(
            options, BY_ID[learner], "window", ("k", "epsilon", "support")
        )

    try:
        with opened(options, given) as shooting:
            data = animation_bytes(list(film(shooting, options.steps, own.pace)), kind)
            write_files([NewFile(options.output, data, private=options.file is not None)])
            print(f"{options.output}: {shooting.outcome}", file=sys.stderr)
    except InputError as error:
        raise SystemExit(str(error)) from None


if __name__ == "__main__":
    main(sys.argv[1:])
