"""Stored runs of all kinds, made by hand."""

import math
from dataclasses import replace

from geodp_app.document.work import RunSettings
from geodp_app.files.run_record import Question, RunRecord
from geometry.halfplane import MAX_D, Halfplane, HalfplaneLattice, Sheet
from geometry.tiling import EdgeZones, tile_square
from learners.core.records import StepDiagnostics, StepRecord, StepRelease, TileStep
from learners.core.releases import CoverRelease, SharpenedRelease, TilesRelease
from learners.core.support import Support
from learners.privacy.accounting import Charge, PrivacySpent
from learners.stability.stable_queries import QueryRelease

LATTICE = HalfplaneLattice(100, "chord")


#: The account of experts: what it states may be more than its charges come to.
SPENT = PrivacySpent(
    1.0, 1e-6, "add-remove", "zcdp",
    (Charge("noisy counts", 0.1 - 1e-16, 2), Charge("selections", math.pi / 70, 2)), True, "a" * 32,
)  # fmt: skip


def diagnostics(**fields) -> StepDiagnostics:
    plain = {
        "positives_alive": 9, "negatives_alive": 8, "positives_taken": 7, "negatives_taken": 6,
        "score": -0.1, "empirical_error": 1 / 3, "false_positive_rate": 0.1 + 0.2,
        "false_negative_rate": 0.0, "seconds": 0.123456789012345, "trials": 5, "boxes": 4,
        "log_mass": -1e-300,
    }  # fmt: skip
    return StepDiagnostics(**{**plain, **fields})


def piece(lattice: HalfplaneLattice = LATTICE, shift: int = 0):
    return tuple(
        lattice.halfplane(sheet, 5 + shift, 7 << lattice.bits)
        for sheet in (Sheet.FLAT_ABOVE, Sheet.STEEP_LEFT, Sheet.FLAT_BELOW)
    )


def stored(finished: bool = True) -> RunRecord:
    settings = RunSettings("cover", k=4, finish="none")
    records = (
        StepRecord(1, 2, StepRelease(piece(), -17), diagnostics(log_mass=math.inf)),
        StepRecord(2, 2, StepRelease(piece(shift=1), 3), diagnostics(score=-math.inf)),
    )
    release = CoverRelease(
        learner="PolygonUnionLearner",
        role="disjunction",
        lattice=LATTICE,
        pieces=tuple(r.release.piece for r in records),
        thresholds=(-17, 3),
        parameters=(("epsilon", 1.0), ("n_steps", None), ("measure", "chord")),
        privacy=SPENT,
    )
    return RunRecord(settings, 100, records, release if finished else None)


OWN = HalfplaneLattice(50, "chord")


TILES = tuple(
    TileStep(tile, piece(OWN, shift=i)[:edges], inside)
    for i, (tile, edges, inside) in enumerate(
        zip(tile_square(100, 2), (3, 0, 1, 2), (True, False, False, True), strict=True)
    )
)


def by_tiles(steps: int = 4) -> RunRecord:
    """A run by tiles of which so many steps are made."""
    records = tuple(StepRecord(i, 4, tile, diagnostics()) for i, tile in enumerate(TILES, 1))
    parameters = (("tiles", 2), ("noisy_count", 321))
    release = TilesRelease("PolygonUnionLearner", OWN, parameters, SPENT, TILES)
    settings = RunSettings("tiles", tiles=2)
    return RunRecord(settings, 100, records[:steps], release if steps == 4 else None)


def supported() -> RunRecord:
    """A run by tiles that has released support."""
    run = by_tiles()
    assert isinstance(run.release, TilesRelease)
    support = Support(2, 9, (True, True, False, True))
    settings = run.settings.with_(support=0.1)
    charges = (*SPENT.charges, Charge("support counts", 0.1))
    spent = replace(SPENT, charges=charges, account="basic")
    release = replace(run.release, support=support, privacy=spent)
    return replace(run, settings=settings, release=release)


def asked() -> RunRecord:
    """A run by votes, and three points that were asked about after it."""
    answers = ((1, "answered", 2), (None, "unstable", 1), (None, "unstable", 0))
    questions = tuple(
        Question((10 * i, 100), QueryRelease(40 + i, value, status, halts, 9 - i))  # type: ignore[arg-type]
        for i, (value, status, halts) in enumerate(answers)
    )
    settings = RunSettings("stability", halts=3, kept=2)
    return replace(stored(), settings=settings, questions=questions)


def triangle(shift: int) -> tuple[Halfplane, ...]:
    """Corners near (20 + shift, 20), (80 + shift, 20) and (50 + shift, 80)."""
    sides = ((Sheet.FLAT_ABOVE, 20, 20), (Sheet.STEEP_RIGHT, 10, 60), (Sheet.STEEP_LEFT, 90, 40))
    by = (0, shift, shift)
    return tuple(
        LATTICE.halfplane(sheet, (u + more) << LATTICE.bits, (v + more) << LATTICE.bits)
        for (sheet, u, v), more in zip(sides, by, strict=True)
    )


def sharpened(steps: int = 8) -> RunRecord:
    """A run of two triangles and six zones of which so many steps are made."""
    edges = (0, 1, 2, 0, 0, 1)
    pieces = (triangle(0), triangle(9))
    zones = tuple(
        TileStep(zone, piece(zone.lattice)[: edges[i]], i % 2 == 0)
        for i, zone in enumerate(EdgeZones(pieces).all())
    )
    releases = [StepRelease(pieces[0], -17), StepRelease(pieces[1], 3), *zones]
    records = tuple(StepRecord(i, 8, each, diagnostics()) for i, each in enumerate(releases, 1))
    charges = (*SPENT.charges, Charge("sharpening", 0.1))
    release = SharpenedRelease(
        learner="PolygonUnionLearner",
        lattice=LATTICE,
        pieces=pieces,
        thresholds=(-17, 3),
        side=MAX_D + 1,
        zones=zones,
        parameters=(("epsilon", 1.0), ("finish", "sharpen")),
        privacy=replace(SPENT, charges=charges),
    )
    settings = RunSettings("cover", k=2, n_steps=2)
    return RunRecord(settings, 100, records[:steps], release if steps == 8 else None)
