"""Animations: what Pillow, or any other reader, finds in them."""

import io
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray
from PIL import Image, ImageChops
from PySide6.QtTest import QTest
from window_driver import Kept

from benchmarks.animation import Frame, Kind, animation_bytes, main
from geodp_app.views.widgets import tasks
from geodp_app.views.window import app as window_shot

WHITE, GREEN = (255, 255, 255), (0, 158, 115)
KINDS: tuple[Kind, ...] = ("GIF", "WebP")


def frame(pixels: NDArray[np.uint8], milliseconds: int) -> Frame:
    written = io.BytesIO()
    Image.fromarray(pixels).save(written, "PNG")
    return Frame(written.getvalue(), milliseconds)


def square(left: int) -> NDArray[np.uint8]:
    """A green square on white, 40 x 30 pixels."""
    pixels = np.full((30, 40, 3), WHITE, dtype=np.uint8)
    pixels[5:15, left : left + 10] = GREEN
    return pixels


def read(data: bytes) -> tuple[Image.Image, list[NDArray[np.uint8]], list[int]]:
    """The file as Pillow reads it: all frames, and how long each is shown."""
    image = Image.open(io.BytesIO(data))
    frames, times = [], []
    for number in range(getattr(image, "n_frames", 1)):
        image.seek(number)
        frames.append(np.asarray(image.convert("RGB")))
        times.append(int(image.info["duration"]))
    return image, frames, times


@pytest.mark.parametrize("kind", KINDS)
def test_frames_and_times_come_back_and_equal_frames_in_a_row_are_one(kind: Kind) -> None:
    shown = [(0, 500), (0, 200), (10, 80), (25, 80), (0, 1000)]
    image, frames, times = read(animation_bytes([frame(square(x), t) for x, t in shown], kind))
    assert (image.format, image.size, image.info["loop"]) == (kind.upper(), (40, 30), 0)
    assert times == [700, 80, 80, 1000]
    for found, left in zip(frames, (0, 10, 25, 0), strict=True):
        assert np.array_equal(found, square(left))


@pytest.mark.parametrize("kind", KINDS)
def test_a_single_frame_is_an_animation_too(kind: Kind) -> None:
    image = Image.open(io.BytesIO(animation_bytes([frame(square(0), 500)] * 3, kind)))
    assert np.array_equal(np.asarray(image.convert("RGB")), square(0))


@pytest.mark.parametrize("kind", KINDS)
def test_nothing_but_pictures_and_times_is_in_the_file(kind: Kind) -> None:
    pictures = []
    for left in (0, 10):
        written = io.BytesIO()
        image = Image.fromarray(square(left))
        exif = image.getexif()
        exif[0x013B] = "somebody"
        image.save(written, "PNG", exif=exif, dpi=(96, 96))
        pictures.append(Frame(written.getvalue(), 100))
    data = animation_bytes(pictures, kind)
    image, _, _ = read(data)
    assert b"somebody" not in data
    assert not image.getexif()
    known = {"version", "background", "loop", "duration", "timestamp", "extension", "transparency"}
    assert set(image.info) <= {*known, "comment", "xmp"}
    assert image.info.get("comment", b"geodp") == b"geodp"
    assert image.info.get("xmp", b"<!-- geodp -->").count(b"geodp") == 1


def gradients() -> NDArray[np.uint8]:
    """Thousands of colours, and a line of 30 pixels in one that is like none of them."""
    x, y = np.meshgrid(np.arange(256), np.arange(256))
    pixels = np.stack([x // 2, y // 2 + 100, 128 - x // 4 + y // 4], axis=2).astype(np.uint8)
    pixels[128, 20:50] = (255, 0, 160)
    return pixels


def test_thin_lines_keep_their_colour_among_thousands() -> None:
    shown = gradients()
    _, (first, _), _ = read(animation_bytes([frame(shown, 100), frame(shown[::-1], 100)], "GIF"))
    off = np.abs(first.astype(int) - shown.astype(int)).max(axis=2)
    assert off[128, 20:50].max() <= 8
    assert off.mean() < 8


def test_areas_of_one_colour_stay_so() -> None:
    """Dither would put specks into them, which are no picture of anything and hard to store."""
    rng = np.random.default_rng(0)
    squares = rng.integers(0, 256, (20, 20, 3)).astype(np.uint8)  # more than a GIF has colours
    shown = squares.repeat(8, axis=0).repeat(8, axis=1)
    _, (first, _), _ = read(animation_bytes([frame(shown, 100), frame(shown[::-1], 100)], "GIF"))
    assert np.array_equal(first, first[::8, ::8].repeat(8, axis=0).repeat(8, axis=1))


@pytest.fixture
def films(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """In this process, in the test's folder."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(tasks, "ProcessLink", Kept)
    # Qt tells the application alone what it has to say
    monkeypatch.setattr(window_shot, "qInstallMessageHandler", lambda handler: None)


def filmed(path: Path, *options: str) -> tuple[list[Image.Image], list[int]]:
    """The frames of an animation, and for how many milliseconds each is shown."""
    main(["-o", str(path), *options, "--quiet", "--size", "800x600"])
    QTest.qWait(1)  # the window goes: the next would be dressed together with it
    frames, times = [], []
    with Image.open(path) as image:
        for number in range(getattr(image, "n_frames", 1)):
            image.seek(number)
            frames.append(image.convert("RGB"))
            times.append(int(image.info["duration"]))
    return frames, times


def test_an_animation_goes_from_before_the_first_step_to_rest(films, tmp_path, capsys):
    name = "run.gif"
    frames, times = filmed(
        tmp_path / name, "--example", "tri", "--n", "4000", "--learner", "tiles",
        "--steps", "3", "--pace", ".2",
    )  # fmt: skip
    assert f"{name}: 3 of 16 steps, unfinished" in capsys.readouterr().err
    assert times == [1000, 200, 200, 200, 2000]
    assert {frame.size for frame in frames} == {(800, 600)}
    assert ImageChops.difference(frames[0], frames[-1]).getbbox() is not None
    data = (tmp_path / name).read_bytes()
    assert len(data) < 500_000
    assert str(tmp_path).encode() not in data


def test_a_new_piece_flashes_in_where_there_is_time(films: None, tmp_path: Path) -> None:
    frames, times = filmed(
        tmp_path / "run.webp", "--example", "tri", "--n", "2000", "--learner", "tiles",
        "--steps", "1",
    )  # fmt: skip
    assert times == [1000, 80, 80, 80, 1760, 2000]
    box = ImageChops.difference(frames[1], frames[4]).getbbox()
    spot = (box[0] + box[2]) // 2, (box[1] + box[3]) // 2  # in the middle of what changed
    shades = [sum(frame.getpixel(spot)) for frame in frames[1:5]]  # type: ignore[arg-type]
    assert shades == sorted(shades)  # from strong to pale
    assert len(set(shades)) == 4


def test_an_animation_of_a_file_is_its_owners_alone(films: None, tmp_path: Path) -> None:
    (tmp_path / "p.csv").write_text("x,y,label\n3,4,1\n500,600,0\n")
    (tmp_path / "run.webp").touch(0o644)
    frames, _ = filmed(
        tmp_path / "run.webp", "--overwrite", "--file", "p.csv", "--learner", "threshold",
        "--pace", ".1",
    )  # fmt: skip
    assert (tmp_path / "run.webp").stat().st_mode & 0o777 == 0o600
    assert len(frames) >= 2
