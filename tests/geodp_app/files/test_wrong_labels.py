"""Labels are said to look wrong where more of them do not fit than outlines leave when all are
right: by what a release holds."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest

import assets
import geodp
from geodp_app.files.run_report import wrong_labels_text
from geometry.grid_counts import GridCounts
from learners.core.releases import TilesRelease
from learners.privacy.randomness import SeededRandom
from learners.tiles.tile_choice import noisy_mistakes, wrong_share

#: Next to no noise.
QUIET = Fraction(1, 1000)


@pytest.fixture(scope="module")
def release() -> TilesRelease:
    """Of a quick run, with which other numbers are released."""
    examples = geodp.sample("tri", 6_000, grid=64, seed=1)
    found = geodp.learn(examples, "tiles", epsilon=1.0, seed=1).release
    assert isinstance(found, TilesRelease)
    return found


def outcome(release: TilesRelease, n: int, mistakes: int) -> str | None:
    """What is said of so many mistakes among n examples."""
    new = {"noisy_count": n, "noisy_mistakes": mistakes}
    new["wrong_labels"] = wrong_share(mistakes, n, release.d)
    parameters = tuple((name, new.get(name, value)) for name, value in release.parameters)
    if "wrong_labels" not in dict(parameters):
        parameters += (("wrong_labels", new["wrong_labels"]),)
    return wrong_labels_text(replace(release, parameters=parameters))


def mistakes_on(name: str, distribution: str, n: int, noise: float = 0.0) -> int:
    drawn = geodp.sample(name, n, distribution=distribution, noise=noise, seed=3)  # type: ignore[arg-type]
    counts = GridCounts.of_examples(drawn.points, drawn.labels == 1, drawn.frame.d)
    return noisy_mistakes(counts, n, 0.975, 2, QUIET, SeededRandom(1))


@pytest.mark.parametrize("distribution", ["uniform", "clustered"])
@pytest.mark.parametrize("name", assets.examples())
def test_of_right_labels_nothing_is_said_whatever_the_outline(
    release: TilesRelease, name: str, distribution: str
) -> None:
    for n in (5_200, 20_000):
        found = mistakes_on(name, distribution, n)
        # and the noise that a run at epsilon = 1 adds, but for one run in twenty
        assert outcome(release, n, found + int(200 * np.log(10))) is None, (n, found / n)


@pytest.mark.parametrize("name", ["tri", "croatia", "letters"])
def test_of_one_wrong_label_in_six_about_so_many_are_told(release: TilesRelease, name: str) -> None:
    found = mistakes_on(name, "uniform", 20_000, noise=1 / 6)
    text = outcome(release, 20_000, found - int(200 * np.log(10)))
    assert 11 <= int(text.split("about ")[1].split(" %")[0]) <= 19


def test_where_it_was_not_asked_nothing_is_said() -> None:
    examples = geodp.sample("tri", 500, grid=64, noise=0.3, seed=1)
    for learner in ("tiles", "quadtree", "threshold"):
        assert wrong_labels_text(geodp.learn(examples, learner, seed=1).release) is None
