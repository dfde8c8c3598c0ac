"""What others compose of a release's charges: dp-accounting's distributions, OpenDP's maps.

dp-accounting is part of the set-up for tests; OpenDP weighs a quarter of a gigabyte, and its tests
run where it is installed (``pip install opendp``).
"""

import functools
import math
import re
from pathlib import Path
from typing import Any

import pytest

from learners import NoisyHistogramLearner, PolygonUnionLearner
from learners.cover.set_cover import plan_budget
from learners.privacy.accounting import Charge
from learners.privacy.composition import zcdp_epsilon
from learners.privacy.privacy_loss import LossLaw, accounting_document, mechanism
from learners.privacy.several_runs import renyi_cost

ROOT = Path(__file__).parents[2]
STEP = 1e-3


@pytest.fixture(scope="module")
def google() -> Any:
    return pytest.importorskip(
        "dp_accounting", reason="dp-accounting is not installed: .ci/setup test"
    )


@pytest.fixture(scope="module")
def opendp() -> Any:
    prelude = pytest.importorskip(
        "opendp.prelude", reason="OpenDP, 265 MB, is not installed: pip install opendp"
    )
    prelude.enable_features("contrib")
    return prelude


def distribution(google: Any, outcome: dict[str, Any], step: float = STEP) -> Any:
    """A charge of the JSON document as dp-accounting's privacy loss distribution."""
    from dp_accounting.pld import pld_pmf
    from dp_accounting.pld.privacy_loss_distribution import PrivacyLossDistribution

    loss = outcome["loss"]
    size = loss["losses"][1] if loss["law"] == "two points" else loss["range"][1]
    masses = LossLaw(loss["law"], size).upper_masses(step)
    return PrivacyLossDistribution(pld_pmf.create_pmf(masses, step, 0.0, True))


def composed(google: Any, document: dict[str, Any], step: float = STEP) -> Any:
    parts = [distribution(google, one, step).self_compose(one["times"])
             for one in document["charges"]]  # fmt: skip
    whole = parts[0]
    for part in parts[1:]:
        whole = whole.compose(part)
    return whole


# -- dp-accounting -----------------------------------------------------------------------------


@pytest.mark.parametrize("epsilon", [0.05, 0.5, 2.0])
def test_a_noisy_count_is_their_discrete_laplace_and_randomized_response(google, epsilon) -> None:
    from dp_accounting.pld import privacy_loss_distribution as theirs

    outcome = mechanism(Charge("noisy counts", epsilon)).to_dict()
    ours = distribution(google, outcome, epsilon / 100)
    assert outcome["scale"] == pytest.approx(1 / epsilon)
    others = [
        theirs.from_discrete_laplace_mechanism(
            1 / outcome["scale"],
            outcome["sensitivity"],
            value_discretization_interval=epsilon / 100,
        ),
        theirs.from_randomized_response(
            2 / (1 + math.exp(epsilon)), 2, value_discretization_interval=epsilon / 100
        ),
    ]
    for other in others:
        for times in (1, 7):
            mine, yours = ours.self_compose(times), other.self_compose(times)
            for at in (0.0, 0.3 * times * epsilon, 0.8 * times * epsilon):
                assert mine.get_delta_for_epsilon(at) == pytest.approx(
                    yours.get_delta_for_epsilon(at), abs=0.011 * times * epsilon
                )


@pytest.mark.parametrize("eta", [0.1, 1.0])
def test_a_selection_lies_between_what_their_bounds_say(google, eta) -> None:
    """Never above pure epsilon, and above every selection of that range: two outcomes each."""
    from dp_accounting.pld import privacy_loss_distribution as theirs

    outcome = mechanism(Charge("selections", eta)).to_dict()
    step = eta / 200
    ours = distribution(google, outcome, step)
    pure = theirs.from_privacy_parameters(
        google.pld.common.DifferentialPrivacyParameters(eta, 0.0),
        value_discretization_interval=step,
    )
    single = []
    for share in (0.2, 0.5, 0.8):
        t = eta * share
        first = -math.expm1(t - eta) / -math.expm1(-eta)
        pair = ({0: math.log(q), 1: math.log1p(-q)} for q in (first * math.exp(-t), first))
        lower, upper = pair
        single.append(
            theirs.from_two_probability_mass_functions(
                lower, upper, value_discretization_interval=step
            )
        )
    for times in (1, 5, 20):
        mine = ours.self_compose(times)
        for at in (0.2 * times * eta, 0.5 * times * eta):
            delta = mine.get_delta_for_epsilon(at)
            assert delta <= pure.self_compose(times).get_delta_for_epsilon(at) + step * times
            for one in single:
                assert delta >= one.self_compose(times).get_delta_for_epsilon(at) - step * times


def test_the_page_composes_a_release_with_another(google) -> None:
    """An example of a checked run is in one part or the other: the larger of both counts."""
    page = (ROOT / "docs" / "questions" / "other-accountants.md").read_text(encoding="utf-8")
    there: dict[str, Any] = {}
    exec(re.findall(r"^```python\n(.*?)^```", page, re.M | re.S)[0], there)
    document, theirs = there["document"], there["theirs"]
    learned = composed(google, document).compose(theirs).get_epsilon_for_delta(1e-6)
    checked = distribution(google, document["apart"][0]).compose(theirs)
    expected = max(learned, checked.get_epsilon_for_delta(1e-6))
    assert there["epsilon"] == pytest.approx(expected)
    alone = theirs.get_epsilon_for_delta(1e-6)
    assert alone + 0.3 < there["epsilon"] < alone + document["whole"]["epsilon"]


def test_a_run_by_tiles_composes_to_no_more_than_it_states(google) -> None:
    from dp_accounting.pld import privacy_loss_distribution as theirs

    document = accounting_document(PolygonUnionLearner(epsilon=1.0).plan())
    whole = composed(google, document)
    assert 0.9 < whole.get_epsilon_for_delta(1e-10) <= document["whole"]["epsilon"] + 3 * STEP
    # no more than their distributions of pure epsilons
    single = [
        theirs.from_privacy_parameters(
            google.pld.common.DifferentialPrivacyParameters(one["epsilon"], 0.0),
            value_discretization_interval=STEP,
        )
        for one in document["charges"]
    ]
    together = functools.reduce(lambda one, other: one.compose(other), single)
    for epsilon in (0.1, 0.5, 0.9):
        pure = together.get_delta_for_epsilon(epsilon)
        assert whole.get_delta_for_epsilon(epsilon) <= pure + 3 * STEP


@pytest.mark.parametrize("runs", [10, 40])
def test_many_runs_cost_less_by_their_distributions_than_by_sums(google, runs) -> None:
    """And about what zCDP says, which keeps what a range means: an accountant may take either."""
    plan = PolygonUnionLearner(epsilon=0.1).plan()
    document = accounting_document(plan)
    whole = composed(google, document, 1e-4).self_compose(runs)
    by_losses = whole.get_epsilon_for_delta(1e-6)
    rho = runs * math.fsum(one["times"] * one["rho"] for one in document["charges"])
    by_zcdp = zcdp_epsilon(rho, 1e-6)
    accountant = google.rdp.RdpAccountant()
    accountant.compose(google.ZCDpEvent(rho))
    assert by_zcdp <= accountant.get_epsilon(1e-6) <= 1.05 * by_zcdp
    assert 0.95 * by_zcdp < by_losses < 1.2 * by_zcdp
    if runs > 10:
        assert by_losses < 0.7 * runs * plan.epsilon


@pytest.mark.parametrize(("steps", "least"), [(4, 1.01), (12, 1.1), (40, 1.6)])
def test_a_covers_own_account_is_less_than_what_its_charges_compose_to(google, steps, least):
    """An example stops mattering once it is decided: no composition of charges knows that."""
    plan = plan_budget(1.0, 1e-6, steps, 0.1, "add-remove", True).spent
    found = composed(google, accounting_document(plan)).get_epsilon_for_delta(plan.delta)
    assert least < found < 1.12 * least


def test_the_parts_of_a_sharpened_cover_compose_to_less_than_their_sum(google) -> None:
    """Its statement adds up cover and zones: the charges tell others that it could be less."""
    plan = PolygonUnionLearner(epsilon=1.0, k=4).plan()
    found = composed(google, accounting_document(plan)).get_epsilon_for_delta(plan.delta)
    assert 0.94 < found < 0.97


# -- OpenDP ------------------------------------------------------------------------------------


def test_opendp_charges_a_count_as_we_do(opendp) -> None:
    for charge in NoisyHistogramLearner(epsilon=0.7).plan().charges:
        outcome = mechanism(Charge("noisy counts", charge.each)).to_dict()
        space = opendp.atom_domain(T=int), opendp.absolute_distance(T=int)
        noise = opendp.m.make_laplace(*space, scale=outcome["scale"])
        assert noise.map(outcome["sensitivity"]) == pytest.approx(outcome["epsilon"], rel=1e-12)
        zcdp = opendp.c.make_pureDP_to_zCDP(noise)
        assert zcdp.map(1) == pytest.approx(outcome["rho"], rel=1e-12)


@pytest.mark.parametrize("relation", ["add-remove", "replace-one"])
def test_opendp_charges_a_selection_as_we_do(opendp, relation) -> None:
    """Scores that move one way, or, where an example is replaced, either way."""
    outcome = mechanism(Charge("selections", 0.3), relation).to_dict()
    distance = opendp.linf_distance(T=int, monotonic=outcome["one_way"])
    domain = opendp.vector_domain(opendp.atom_domain(T=int))
    for measure, name in (
        (opendp.max_divergence(), "epsilon"),
        (opendp.zero_concentrated_divergence(), "rho"),
    ):
        choice = opendp.m.make_noisy_max(domain, distance, measure, scale=1 / outcome["rate"])
        assert choice.map(1) == pytest.approx(outcome[name], rel=1e-12)


def test_opendp_converts_zcdp_to_no_less_than_we_do(opendp) -> None:
    plan = PolygonUnionLearner(epsilon=0.1).plan()
    rho = 40 * math.fsum(one["times"] * one["rho"] for one in accounting_document(plan)["charges"])
    space = opendp.atom_domain(T=int), opendp.absolute_distance(T=int)
    gauss = opendp.m.make_gaussian(*space, scale=1 / math.sqrt(2 * rho))
    assert gauss.map(1) == pytest.approx(rho, rel=1e-9)
    curve = opendp.c.make_zCDP_to_approxDP(gauss).map(1)
    ours = zcdp_epsilon(rho, 1e-6)
    assert curve.epsilon(1e-6) == pytest.approx(ours, rel=1e-3)
    # one order chosen beforehand costs a filter next to nothing more
    order = 1 + math.sqrt(math.log(1e6) / rho)
    filtered = 40 * renyi_cost(plan, "add-remove", order)[0]
    assert filtered == pytest.approx(order * rho, rel=1e-6)
