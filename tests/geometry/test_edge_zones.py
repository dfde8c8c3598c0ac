"""Zones of edges: by the definition, point by point in fractions, and as figures of the square."""

import json
import math
import pickle
from fractions import Fraction

import numpy as np
import pytest
import shapely
from any_pieces import Piece, any_halfplane, any_pieces
from concept_laws import grid_points
from shapely.geometry import box

from geometry.halfplane import MAX_D, Halfplane, HalfplaneLattice, Measure, Sheet
from geometry.tiling import EdgeZone, EdgeZones, joined_shape
from learners.core.codec_parts import step_to_dict, zone_from_dict
from learners.core.records import TileStep


def excess(h: Halfplane, x: int, y: int) -> Fraction:
    """How far (x, y) lies outside, along y or along x, from the dual coordinates alone."""
    lattice = h.lattice
    unit = Fraction(1, 1 << lattice.bits)
    along, across = (x, y) if h.sheet.flat else (y, x)
    if lattice.measure == "chord":
        line = h.u * unit + (h.v - h.u) * unit * Fraction(along, lattice.d)
    else:
        line = h.u * unit + h.v * unit * along
    return line - across if h.sheet.upper else across - line


def zone_by_definition(pieces: tuple[Piece, ...], x: int, y: int) -> int:
    """The edge farthest outside, of the piece that is least far outside; the first of several."""
    far = [[excess(h, x, y) for h in piece] for piece in pieces]
    outside = [max(of_piece) for of_piece in far]
    piece = outside.index(min(outside))
    return piece * len(far[0]) + far[piece].index(outside[piece])


def test_equal_zones_are_looked_up_as_one_also_from_another_process() -> None:
    pieces = any_pieces(HalfplaneLattice(9), 2, 1)
    zones = EdgeZones(pieces, 4)
    again = pickle.loads(pickle.dumps(zones))
    assert again == zones == EdgeZones(pieces, 4) != EdgeZones(pieces, 5)
    assert hash(again) == hash(zones) == hash(EdgeZones(pieces, 4))
    # names hash differently in each process: nothing of that is sent along
    assert str(hash(zones)).encode() not in pickle.dumps(zones, protocol=0)
    assert pickle.loads(pickle.dumps(zones.all())) == zones.all()


def strip(low: float, high: float, d: int, sheets: tuple[Sheet, Sheet]) -> Piece:
    """What lies between two parallel lines, and a third one like the second."""
    lattice = HalfplaneLattice(d)
    below, above = (round(level * (1 << lattice.bits)) for level in (low, high))
    keeps, other = sheets
    return (
        lattice.halfplane(keeps, below, below),
        lattice.halfplane(other, above, above),
        lattice.halfplane(other, above, above),
    )


FLAT, STEEP = (Sheet.FLAT_ABOVE, Sheet.FLAT_BELOW), (Sheet.STEEP_RIGHT, Sheet.STEEP_LEFT)

#: Pieces whose edges are parallel, equal, or meet outside of the square, or nowhere.
DEGENERATE: dict[str, tuple[Piece, ...]] = {
    "one piece": any_pieces(HalfplaneLattice(9), 1, 0),
    "equal pieces": any_pieces(HalfplaneLattice(9), 1, 1) * 3,
    "parallel edges": (strip(2, 5.5, 9, FLAT), strip(4, 8, 9, FLAT)),
    "crossing strips": (strip(2, 5, 9, FLAT), strip(3, 6, 9, STEEP)),
    "no point inside": (strip(7, 2, 9, FLAT), strip(8, 1, 9, STEEP)),
    "one line": (strip(4, 4, 9, FLAT), strip(4, 4, 9, FLAT)),
    "at the border": (strip(9, 9, 9, STEEP), strip(0, 0, 9, FLAT)),
    "all of the square": (strip(0, 9, 9, FLAT), strip(0, 9, 9, STEEP)),
}

CASES = [
    *(pytest.param(pieces, id=name) for name, pieces in DEGENERATE.items()),
    *(
        pytest.param(any_pieces(HalfplaneLattice(d, measure, bits), count, 7 * d + count, edges))
        for d, bits, count, edges in (
            (1, 0, 2, 3), (2, 0, 4, 3), (3, 0, 3, 2), (5, 1, 6, 3), (8, 20, 1, 3), (11, 20, 5, 3),
            (12, 4, 3, 1), (13, 6, 8, 3),
        )
        for measure in ("chord", "paper")
    ),
]  # fmt: skip
zoned = pytest.mark.parametrize("pieces", CASES)


@zoned
def test_every_point_has_the_one_zone_of_the_definition(pieces: tuple[Piece, ...]) -> None:
    zones = EdgeZones(pieces)
    points = grid_points(zones.d)
    expected = [zone_by_definition(pieces, x, y) for x, y in points.tolist()]
    assert zones.find(points).tolist() == expected
    edges = [(i, edge) for i, piece in enumerate(pieces) for edge in piece]
    assert [(zone.piece, zone.edge) for zone in zones.all()] == edges
    held = np.array([zone.holds(points) for zone in zones.all()])
    boxed = np.array([zone.in_box(points) for zone in zones.all()])
    assert (held == (boxed & (np.array(expected) == np.arange(len(zones))[:, None]))).all()
    # what is inside of a piece, by the halfplanes' own tests
    inside = np.array([[h.contains(points) for h in piece] for piece in pieces]).all(axis=1)
    outside = np.array(
        [min(max(excess(h, x, y) for h in p) for p in pieces) > 0 for x, y in points.tolist()]
    )
    assert (inside.any(axis=0) == ~outside).all()


@zoned
@pytest.mark.parametrize("side", [MAX_D + 1, 5])
def test_figures_fill_the_square_once(pieces: tuple[Piece, ...], side: int) -> None:
    zones = EdgeZones(pieces, side)
    d, figures = zones.d, [zone.polygon() for zone in zones.all()]
    assert all(figure.is_valid for figure in figures)
    assert sum(figure.area for figure in figures) == pytest.approx(d * d, abs=1e-9)
    some = [figure for figure in figures if not figure.is_empty]
    pairs = shapely.STRtree(some).query(some, predicate="intersects").T
    for one, other in pairs.tolist():
        assert one == other or some[one].intersection(some[other]).area < 1e-9
    assert joined_shape(figures).symmetric_difference(box(0, 0, d, d)).area < 1e-6
    points = grid_points(d)
    where, spots = zones.find(points), shapely.points(points.astype(float))
    for number, figure in enumerate(figures):
        sure = shapely.distance(figure.boundary, spots) > 1e-9
        assert (shapely.contains(figure, spots) == (where == number))[sure].all()
        # its points lie in it or on its border, but where it has no area beside them
        if pieces not in DEGENERATE.values() and not figure.is_empty:
            assert (shapely.distance(figure, spots[where == number]) < 1e-9).all()


def test_a_needle_fills_no_cell() -> None:
    """One edge's figure ends in a needle that doubles hardly tell from nothing: of a cell that it
    reaches its intersection was all of the cell, 2 % of the square that labels knew nothing of."""
    lattice = HalfplaneLattice(1024)
    above, below, right, left = (
        Sheet.FLAT_ABOVE, Sheet.FLAT_BELOW, Sheet.STEEP_RIGHT, Sheet.STEEP_LEFT,
    )  # fmt: skip
    outcome = (
        ((above, 32083284, 26059), (below, 27274527, 35980038), (left, 34766718, 12993318)),
        ((above, 7536840, 337194), (above, 23428212, 8977501), (below, 33451788, 1472992)),
        ((above, -18184091, 10307607), (above, 19105453, -10825411), (below, 3320684, 9377088)),
        ((above, -11474539, 13499287), (below, 31336522, 11544867), (right, 35450106, 4352891)),
        ((right, 7089157, 6667469), (left, -438226, 32791636), (left, 17180665, -113830)),
        ((above, 21612728, 31650987), (below, 46420428, 15518208), (right, 21122885, 15347089)),
        ((above, 35735077, 18995636), (left, -20875820, 93593), (left, 43764133, 20852397)),
        ((above, 20359962, 36685299), (left, 23172354, -3184678), (left, 2832707, -30004773)),
    )
    pieces = tuple(tuple(lattice.halfplane(*each) for each in piece) for piece in outcome)
    zones = EdgeZones(pieces, 158).all()
    areas = shapely.area([zone.polygon() for zone in zones])
    assert areas.sum() == pytest.approx(1024**2, abs=0.01)
    assert zones[123].polygon().area < 1e-6


def ties(pieces: tuple[Piece, ...], x: int, y: int) -> bool:
    """Whether several edges have the excess that decides whose zone a point is in."""
    far = [[excess(h, x, y) for h in piece] for piece in pieces]
    deciding = min(max(of_piece) for of_piece in far)
    winners = [of_piece for of_piece in far if max(of_piece) == deciding]
    return sum(of_piece.count(deciding) for of_piece in winners) > 1


@zoned
def test_boxes_hold_all_points_of_their_zones(pieces: tuple[Piece, ...]) -> None:
    """All but those where edges tie along a line, and the zone has no area beside it."""
    zones = EdgeZones(pieces)
    points = grid_points(zones.d)
    where = zones.find(points)
    beyond = [
        (zone, x, y)
        for zone in zones.all()
        for x, y in points[(where == zone.number) & ~zone.in_box(points)].tolist()
    ]
    # at the border x = 9 two edges tie
    assert len(beyond) == (8 if pieces is DEGENERATE["at the border"] else 0)
    for zone, x, y in beyond:
        assert ties(pieces, x, y)
        assert zone.polygon().is_empty
    for zone in zones.all():
        own = zone.to_own_frame(points[zone.holds(points) & zone.in_box(points)])
        assert ((own >= 0) & (own <= zone.lattice.d)).all()
        assert zone.lattice.measure == pieces[0][0].lattice.measure
        if not zone.polygon().is_empty:
            x0, y0, x1, y1 = zone.polygon().bounds
            # no more than a step around its figure
            assert zone.x0 <= x0 <= max(zone.x0 + 2, 1)
            assert zone.y0 <= y0 <= max(zone.y0 + 2, 1)
            assert min(zone.x1 - 2, zones.d - 1) <= x1 <= zone.x1
            assert min(zone.y1 - 2, zones.d - 1) <= y1 <= zone.y1


@pytest.mark.parametrize("measure", ["chord", "paper"])
def test_a_zone_survives_a_file(measure: Measure) -> None:
    rng = np.random.default_rng(2)
    zones = EdgeZones(any_pieces(HalfplaneLattice(40, measure), 3, 3), 2)
    for zone in zones.all():
        piece = tuple(any_halfplane(zone.lattice, rng) for _ in range(zone.number % 3))
        step = TileStep(zone, piece, zone.number % 2 == 0)
        data = json.loads(json.dumps(step_to_dict(step)))
        assert zone_from_dict(data, zones, zone.number) == step


@pytest.mark.parametrize("side", [MAX_D + 1, 9])
def test_a_piece_covers_its_part_of_the_figure(side: int) -> None:
    """By the side tests of the frame's own points."""
    zones = EdgeZones(any_pieces(HalfplaneLattice(30), 4, 9), side)
    points, rng = grid_points(30), np.random.default_rng(4)
    where, seen = zones.find(points), 0
    for zone in zones.all():
        step = TileStep(zone, tuple(any_halfplane(zone.lattice, rng) for _ in range(2)), True)
        figure, whole = step.shape(), zone.polygon()
        assert figure.area <= whole.area + 1e-12
        outside = TileStep(zone, step.piece, False).shape()
        assert figure.area + outside.area == pytest.approx(whole.area)
        spots = shapely.points(points.astype(float))
        sure = shapely.distance(shapely.union_all([whole.boundary, figure.boundary]), spots) > 1e-9
        expected = (where == zone.number) & step.predict(points)
        assert (shapely.contains(figure, spots) == expected)[sure].all()
        seen += np.count_nonzero(expected)
    assert seen > 50


@pytest.mark.parametrize("number", [-1, 6, 7])
def test_zones_that_are_none_are_refused(number: int) -> None:
    zones = EdgeZones(any_pieces(HalfplaneLattice(9), 2, 1))
    with pytest.raises(ValueError, match=f"there is no zone {number} among 6"):
        EdgeZone(zones, number)


def test_sides_that_are_none_are_refused() -> None:
    pieces = any_pieces(HalfplaneLattice(9), 2, 1)
    for side in (0, -1, MAX_D + 2):
        with pytest.raises(ValueError, match=f"2 pieces have no zones of side {side}"):
            EdgeZones(pieces, side)
    with pytest.raises(ValueError, match="0 pieces have no zones of side 9"):
        EdgeZones((), 9)


@pytest.mark.parametrize(
    ("pieces", "most"), [(case.values[0], (1, 2, 3, 5)[i % 4]) for i, case in enumerate(CASES)]
)
def test_cells_divide_the_box_of_an_edge(pieces: tuple[Piece, ...], most: int) -> None:
    whole, zones = EdgeZones(pieces), EdgeZones(pieces, most)
    points = grid_points(zones.d)
    edges, where = whole.find(points), zones.find(points)
    assert len(zones) == len(zones.all())
    assert [zone.number for zone in zones.all()] == list(range(len(zones)))
    for number, edge in enumerate(whole.all()):
        own = [cell for cell in zones.all() if cell.edge_number == number]
        assert [cell.part for cell in own] == [(i, len(own)) for i in range(len(own))]
        # as few as can be, with no more points along a side
        spans = edge.x1 + 1 - edge.x0, edge.y1 + 1 - edge.y0
        assert len(own) == math.ceil(spans[0] / most) * math.ceil(spans[1] / most)
        assert {(cell.edge_number, cell.edge) for cell in own} == {(number, edge.edge)}
        # column by column, each from the bottom, they fill the box; none is empty
        assert [(cell.x0, cell.y0) for cell in own] == sorted((cell.x0, cell.y0) for cell in own)
        held = np.array([cell.in_box(points) for cell in own])
        assert held.any(axis=1).all()
        assert (held.sum(axis=0) <= 1).all()
        assert (held.any(axis=0) >= edge.in_box(points)).all()
        sides = [cell.x1 - cell.x0 for cell in own], [cell.y1 - cell.y0 for cell in own]
        assert all(max(side) - min(side) <= 1 and max(side) < most for side in sides)
        boxed = (edges == number) & edge.in_box(points)
        assert (where[boxed] == np.array([c.number for c in own])[held[:, boxed].argmax(0)]).all()
        parts = [cell.polygon() for cell in own]
        assert sum(part.area for part in parts) == pytest.approx(edge.polygon().area, abs=1e-9)
        assert joined_shape(parts).symmetric_difference(edge.polygon()).area < 1e-5
        for cell, part in zip(own, parts, strict=True):
            assert (
                shapely.distance(part, shapely.points(points[cell.holds(points)])).max(
                    initial=0.0, where=not part.is_empty
                )
                < 1e-9
            )
