"""A point on an edge is inside, whatever the drawing and by whatever road its label is asked."""

import json
from pathlib import Path
from typing import Any

import geopandas
import numpy as np
import pytest
import shapely
from held_by_fractions import held
from terminal import printed

import geodp
from geodp import Examples, Frame
from geodp_app.cli import main
from geodp_app.document.document import Document
from geodp_app.document.work import SampleSettings, Work
from geodp_app.drawing.shapes import Drawing, Shape
from geodp_app.files.document_files import export_target
from geodp_app.files.learned_file import SHAPE_FORMATS, read_learned
from geodp_app.files.points import format_examples, read_examples
from geodp_app.files.session import load_session, save_session
from geometry.grid import checked_bounds
from geometry.mask import Mask, read_mask

D = 16
GRID = np.indices((D + 1, D + 1)).reshape(2, -1).T.astype(np.int64)

#: Shapes whose union has corners that are no doubles, and edges through grid points.
KINDS: dict[str, tuple[Shape, ...]] = {
    "two triangles": (Shape(((2, 2), (13, 8), (10, 10))), Shape(((12, 0), (8, 2), (6, 15)))),
    "bars in three directions": (
        Shape(((0, 1), (15, 6), (15, 8), (0, 3))),
        Shape(((3, 0), (10, 14), (12, 14), (5, 0))),
        Shape(((16, 0), (2, 16), (0, 15), (14, 0))),
    ),
    "a pentagon and a frame": (
        Shape(((8, 0), (16, 6), (13, 15), (3, 15), (0, 6))),
        Shape(((1, 1), (15, 3), (14, 16), (0, 13)), (((5, 5), (12, 6), (7, 13)),)),
    ),
    "wedges at one point": tuple(
        Shape(((7, 9), a, b))
        for a, b in (((16, 2), (16, 5)), ((15, 3), (13, 0)), ((0, 2), (3, 0)), ((1, 16), (16, 15)))
    ),
}

#: Rings that cross themselves or each other: no file of polygons may hold them.
CROSSED: dict[str, tuple[Shape, ...]] = {
    "a star": (Shape(((8, 16), (3, 1), (16, 10), (0, 11), (13, 0))),),
    "a bow-tie over a triangle": (
        Shape(((0, 0), (15, 10), (16, 2), (1, 11))),
        Shape(((2, 13), (14, 0), (15, 14))),
    ),
    "a hole over the rim": (
        Shape(
            ((1, 1), (14, 4), (12, 15), (0, 10)),
            (((6, 7), (16, 12), (9, 16)), ((1, 1), (9, 5), (5, 8))),
        ),
    ),
    "a ring that goes back": (
        Shape(((2, 2), (14, 2), (14, 8), (8, 8), (16, 8), (14, 8), (14, 14), (2, 14))),
        Shape(((0, 0), (9, 13), (3, 7), (6, 3))),
    ),
}  # fmt: skip


def right(shapes: tuple[Shape, ...]) -> np.ndarray:
    return np.array([held([s.rings for s in shapes], x, y) for x, y in GRID.tolist()])


def target(path: Path, shapes: tuple[Shape, ...], **member: Any) -> Path:
    """A feature for each shape, in grid units unless the member says otherwise."""
    move = member.pop("move", lambda x, y: (x, y))
    features = [
        {
            "type": "Feature",
            "properties": {},
            "geometry": {
                "type": "Polygon",
                "coordinates": [[move(*v) for v in (*r, r[0])] for r in shape.rings],
            },
        }
        for shape in shapes
    ]
    outcome = {"geodp": member or {"frame": "grid", "grid": D}}
    path.write_text(json.dumps({"type": "FeatureCollection", "features": features, **outcome}))
    return path


def as_judged(examples: Examples, labels: np.ndarray) -> bool:
    """Whether all grid points are among the examples, with these labels."""
    at = examples.points @ np.array([D + 1, 1])
    assert len(np.unique(at)) == len(GRID)
    return bool((labels[at] == examples.labels).all())


@pytest.mark.parametrize("kind", KINDS)
def test_a_target_of_several_polygons(tmp_path: Path, kind: str, capsys: Any) -> None:
    shapes, labels = KINDS[kind], right(KINDS[kind])
    path = target(tmp_path / "t.geojson", shapes)
    assert as_judged(geodp.sample(path, 6_000, grid=D, seed=1), labels)
    csv = tmp_path / "p.csv"
    assert main(["sample", "--target", str(path), "--n", "6000", "--grid", str(D), "-o", str(csv),
                 "--seed", "2"]) == 0  # fmt: skip
    assert as_judged(read_examples(csv), labels)
    # on a finer grid the same points lie on the same edges
    fine = geodp.sample(path, 40_000, grid=3 * D, seed=1)
    coarse = (fine.points % 3 == 0).all(axis=1)
    at = fine.points[coarse] // 3 @ np.array([D + 1, 1])
    assert (labels[at] == fine.labels[coarse]).all()
    csv.write_text(format_examples(Examples(GRID, labels.astype(np.int64), Frame(D))))
    capsys.readouterr()
    assert printed(capsys, "evaluate", path, csv)["errors"] == 0
    assert (
        read_mask(path).keep(np.ones(len(GRID), dtype=np.int64), GRID, Frame(D)) == labels
    ).all()


@pytest.mark.parametrize("kind", KINDS)
def test_a_target_in_degrees(tmp_path: Path, kind: str) -> None:
    """Sevenths and thirds of a degree are no doubles, but their corners are grid points."""
    west, south, step = 13.1, 42.3, (1 / 7, 1 / 30)
    bounds = (west, south, west + D * step[0], south + D * step[1])
    path = target(
        tmp_path / "t.geojson",
        KINDS[kind],
        frame="lonlat",
        move=lambda x, y: (west + x * step[0], south + y * step[1]),
    )
    examples = geodp.sample(path, 6_000, grid=D, bounds=bounds, seed=3)
    assert as_judged(examples, right(KINDS[kind]))
    mask = Mask.from_dict(json.loads(json.dumps(read_mask(path).to_dict())))
    kept = mask.keep(np.ones(len(examples.points), dtype=np.int64), examples.points, examples.frame)
    assert (kept == examples.labels).all()


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("ending", SHAPE_FORMATS)
def test_a_layer_of_several_polygons(tmp_path: Path, kind: str, ending: str) -> None:
    west, south, step = 481_000.7, 4_980_000.1, (7 / 3, 1.1)
    box = (west, south, west + D * step[0], south + D * step[1])
    shapes = [
        shapely.transform(one.figure(), lambda xy: (west, south) + xy * step) for one in KINDS[kind]
    ]
    layer = geopandas.GeoDataFrame({"n": range(len(shapes))}, geometry=shapes, crs="EPSG:32633")
    path = tmp_path / f"l{ending}"
    layer.to_parquet(path) if ending == ".parquet" else layer.to_file(path)
    frame = Frame(D, checked_bounds(box, "EPSG:32633"))
    labels = right(KINDS[kind]).astype(np.int64)
    assert (read_learned(path).predict(Examples(GRID, labels, frame)) == labels).all()


@pytest.mark.parametrize("kind", [*KINDS, *CROSSED])
def test_a_drawing(tmp_path: Path, kind: str) -> None:
    shapes = {**KINDS, **CROSSED}[kind]
    labels = right(shapes)
    work = Work(drawing=Drawing(D, shapes), sampling=SampleSettings(n=6_000, seed=4))
    document = Document(work)
    document.sample()
    assert as_judged(document.work.examples, labels)
    # drawn last, and read from a file
    other = Document(Work(drawing=Drawing(D), sampling=work.sampling))
    other.sample()
    other.edit("draw", Drawing(D, shapes))
    assert as_judged(other.work.examples, labels)
    save_session(tmp_path / "a.geodp", other.work, None)
    again = Document(load_session(tmp_path / "a.geodp")[0])
    again.sample()
    assert as_judged(again.work.examples, labels)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("bounds", [None, geodp.Bounds(13.1, 42.3, 20.7, 47.9)])
def test_an_exported_drawing(tmp_path: Path, kind: str, bounds: Any) -> None:
    path = tmp_path / "t.geojson"
    export_target(path, Work(drawing=Drawing(D, KINDS[kind]), bounds=bounds))
    assert as_judged(geodp.sample(path, 6_000, grid=D, seed=5), right(KINDS[kind]))
    assert shapely.is_valid(read_mask(path).region(Frame(D, bounds)))


def test_an_edge_that_leaves_the_bounds_keeps_its_grid_points(tmp_path: Path) -> None:
    """A public map far larger than the bounds: cut at these, its edge would be moved."""
    shape = Shape(((-32, -7), (48, 37), (48, 60), (-32, 60)))
    path = target(tmp_path / "m.geojson", (shape,), frame="lonlat",
                  move=lambda x, y: (10 + x / 10, 40 + y / 10))  # fmt: skip
    frame = Frame(D, geodp.Bounds(10, 40, 11.6, 41.6))
    kept = read_mask(path).keep(np.ones(len(GRID), dtype=np.int64), GRID, frame)
    assert kept.tolist() == [held([shape.rings], x, y) for x, y in GRID.tolist()]
    on_edge = [(x, y) for x, y in GRID.tolist() if 20 * (y + 7) == 11 * (x + 32)]
    assert on_edge
