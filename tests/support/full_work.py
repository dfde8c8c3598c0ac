"""Work in which nothing is as it is by default."""

import numpy as np

from geodp import Bounds, Examples, Frame
from geodp_app.document.work import RunSettings, SampleSettings, Work
from geodp_app.drawing.shapes import Drawing, Shape
from geometry.geojson import target_of
from geometry.mask import Mask

BOX = Bounds(13.1, 42.0, 20.000000000000004, 47.3)


SHAPES = (
    Shape(((10, 10), (50, 10), (50, 50), (10, 50)), (((20, 20), (30, 20), (20, 30)),)),
    Shape(((0, 0), (100, 100), (100, 0), (0, 100))),  # crosses itself
)


#: Two polygons in degrees, one with a hole, that reach over the box.
MASK = Mask.of(
    target_of(
        {
            "type": "MultiPolygon",
            "coordinates": [
                [
                    [[12.3, 41.1], [15.7, 41.1], [15.7, 50.0], [12.3, 50.0], [12.3, 41.1]],
                    [[13.9, 43.3], [13.9, 44.7], [14.1, 44.7], [13.9, 43.3]],
                ],
                [[[16.1, 43.7], [18.3, 43.7], [18.3, 45.9], [16.1, 43.7]]],
            ],
        },
        "any",
    ),
    "Küste 海.geojson",
)


def examples(n: int = 300, frame: Frame = Frame(100, BOX)) -> Examples:  # noqa: B008
    rng = np.random.default_rng(1)
    return Examples(rng.integers(0, frame.d + 1, (n, 2)), rng.integers(0, 2, n), frame)


def full_work() -> Work:
    return Work(
        name="Überschwemmung 洪水",
        drawing=Drawing(100, SHAPES),
        bounds=BOX,
        sampling=SampleSettings(300, "painted", 0.1, None, ((1, 2, 3), (100, 0, 0))),
        run=RunSettings(
            "convex-cover",
            epsilon=0.1 + 0.2,
            delta=1e-9,
            k=7,
            n_steps=12,
            beta=0.05,
            neighbours="replace-one",
            measure="paper",
            seed=2**64,
        ),
        examples=examples(),
        simulated=False,
        within=MASK,
    )
