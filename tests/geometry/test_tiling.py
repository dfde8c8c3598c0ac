"""Tiles divide the grid: every point lies in one, and their figures fill the square."""

from collections.abc import Callable

import numpy as np
import pytest
import shapely
from grids import grid_points
from shapely.geometry import box

from geometry.halfplane import HalfplaneLattice, Sheet
from geometry.tiling import Tile, TileIndex, tile_square, tiles_shape


@pytest.mark.parametrize(("d", "per_side"), [(1, 1), (1, 2), (10, 3), (16, 4), (7, 8), (1024, 6)])
def test_every_grid_point_lies_in_one_tile(d: int, per_side: int) -> None:
    tiles = tile_square(d, per_side)
    points = grid_points(d) if d < 100 else np.random.default_rng(0).integers(0, d + 1, (5000, 2))
    held = np.array([tile.holds(points) for tile in tiles])
    assert (held.sum(axis=0) == 1).all()
    assert (TileIndex.of(tiles).find(points) == held.argmax(axis=0)).all()
    sides = [side for t in tiles for side in (t.x1 - t.x0, t.y1 - t.y0)]
    assert max(sides) - min(sides) <= 1
    for tile, rows in zip(tiles, TileIndex.of(tiles).groups(points), strict=True):
        own = tile.to_own_frame(points[rows])
        assert rows.tolist() == np.flatnonzero(tile.holds(points)).tolist()
        assert len(own) == 0 or (own.min() >= 0 and own.max() <= max(sides))


def test_tiles_come_row_by_row_from_the_top() -> None:
    corners = [(tile.x0, tile.y0) for tile in tile_square(9, 2)]
    assert corners == [(0, 5), (5, 5), (0, 0), (5, 0)]


@pytest.mark.parametrize(("d", "per_side"), [(10, 3), (1024, 7)])
def test_the_figures_of_the_tiles_fill_the_square_once(d: int, per_side: int) -> None:
    figures = [tile.polygon() for tile in tile_square(d, per_side)]
    assert sum(figure.area for figure in figures) == pytest.approx(d * d, rel=1e-12)
    assert tiles_shape(figures).equals(box(0, 0, d, d))
    # no vertex is left where tiles met
    assert shapely.get_num_coordinates(tiles_shape(figures)) == 5


def test_a_piece_in_a_tile_is_the_piece_moved_and_clipped() -> None:
    lattice = HalfplaneLattice(5)
    tile = Tile(17, 6, 12, 11, 17)
    unit = 1 << lattice.bits
    # y <= 1.5 + x / 5 in the tile's frame: through no grid point
    piece = (lattice.halfplane(Sheet.FLAT_BELOW, 3 * unit // 2, 5 * unit // 2),)
    figure = tile.piece_polygon(piece)
    expected = shapely.Polygon([(5.5, 11.5), (11.5, 11.5), (11.5, 14.6), (5.5, 13.4)])
    assert figure.equals_exact(expected, 1e-12, normalize=True)
    points = grid_points(17)
    inside = np.zeros(len(points), dtype=bool)
    held = tile.holds(points)
    inside[held] = piece[0].contains(tile.to_own_frame(points[held]))
    assert (shapely.intersects_xy(figure, *points.T.astype(float)) == inside).all()


def test_tiles_that_overlap_or_leave_gaps_are_refused() -> None:
    whole = tile_square(9, 2)
    for tiles in ((), whole[:3], (*whole[:3], whole[0]), (*whole, whole[0])):
        with pytest.raises(ValueError, match="do not hold every grid point once"):
            TileIndex.of(tiles)


@pytest.mark.parametrize(
    ("make", "said"),
    [
        *((lambda c=c: Tile(9, *c), "does not lie on its grid")
          for c in ((0, 0, 10, 3), (-1, 0, 3, 3), (4, 0, 3, 3))),
        *((lambda n=n: tile_square(9, n), "has no") for n in (0, 11)),
    ],
)  # fmt: skip
def test_what_is_no_tile_is_refused(make: Callable[[], object], said: str) -> None:
    with pytest.raises(ValueError, match=said):
        make()
