"""The experiments in process: simulator, contact particle filter, controller.

Forces are the simulator's ground truth, after the impact of each touch-down; see
``contact_stack.demo.contact_tracking.statistics`` for the definitions.
"""

import itertools
import math

import numpy as np
import pytest

from contact_aware_control.config import ControllerConfig
from contact_aware_control.estimation.config import EstimatorConfig, ObserverConfig
from contact_aware_control.safety.status import Mode
from contact_core.base.config import from_mapping
from contact_experiments.control.closed_loop import TRUTH, ClosedLoopRun
from contact_stack.demo.contact_tracking.experiments import EXPERIMENTS, MugPlacement
from contact_stack.demo.contact_tracking.statistics import trajectory_hash

LIMIT = ControllerConfig().force.limit
ENDED = {"mug_placement": 8.5, "mug_moving": 11.5}
"""When the last contact has been over for a second [s]: nothing is judged after that."""


def figures(
    seed=0,
    true_contacts=False,
    force_limits=None,
    experiment="mug_placement",
    until=math.inf,
    **values,
):
    """Run once; return the run and its summary."""
    config = from_mapping(ControllerConfig, values)
    run = ClosedLoopRun(
        config,
        EXPERIMENTS[experiment](),
        seed=seed,
        estimator=EstimatorConfig(estimator=TRUTH if true_contacts else "contact_particle_filter"),
        force_limits=force_limits,
    )
    ended = ENDED.get(experiment, math.inf)
    data = run.run(min(until, ended))
    if ended <= until:
        assert data.time[data.in_contact][-1] < data.time[-1] - 0.9
    return run, run.summary(data)


@pytest.fixture(scope="module")
def greedy():
    return figures(controller="greedy", true_contacts=True)[1]


@pytest.fixture(scope="module")
def told():
    """The run, and its summary, of who is told the true contacts."""
    return figures(true_contacts=True)


def assert_force_is_kept(summary, links=("lbr_link_6", "lbr_link_6")):
    """The contact force is near its limit, at the intended link of every pass."""
    contact = summary["contact"]
    assert summary["failures"] == []
    assert contact["force_post_impact_p50_N"] <= 1.1 * LIMIT
    assert contact["force_post_impact_p99_N"] <= 1.8 * LIMIT
    assert contact["fraction_above_1p2_limit"] <= 0.08
    for figures_of_pass, link in zip(summary["passes"].values(), links, strict=True):
        assert figures_of_pass["segments"] <= 3
        assert figures_of_pass["link_fraction"].get(link, 0.0) > 0.9


def assert_gentle(summary, greedy, tracking_share=0.4):
    """The figures the mug placement promises, against the baseline in the same scene."""
    assert_force_is_kept(summary)
    forces, errors = (
        [figures[group][key] for figures in (summary, greedy)]
        for group, key in (
            ("contact", "force_post_impact_p50_N"),
            ("tracking", "position_rms_contact_m"),
        )
    )
    assert forces[0] <= 0.2 * forces[1]
    assert errors[0] <= tracking_share * errors[1]
    assert summary["release"]["joint_speed_max_rad_s"] <= 0.7


def test_wrist_leans_on_the_edge_with_a_small_steady_force(greedy):
    """The paper's Fig. 5 and 6, estimator in the loop."""
    run, summary = figures()
    assert_gentle(summary, greedy)
    assert summary["estimator"]["location_error_p50_m"] <= 0.02
    assert summary["estimator"]["link_correct_fraction"] >= 0.8
    assert all(status.mode in (Mode.TRACKING, Mode.CONSERVATIVE) for status in run.status)


def test_incremental_reading_tracks_better_in_contact(greedy, told):
    """It integrates the error of the predicted equilibrium."""
    tracking = {"reading": "incremental"}
    _, summary = figures(true_contacts=True, tracking=tracking)
    assert_gentle(summary, greedy, tracking_share=0.3)
    _, absolute = told
    assert (
        summary["tracking"]["position_rms_contact_m"]
        < 0.85 * absolute["tracking"]["position_rms_contact_m"]
    )


def test_planned_contact_presses_harder():
    """The force limit of the link that touches is used instead of f_max, and kept."""
    limits = {"lbr_link_6": 2.0 * LIMIT}
    _, planned = figures(true_contacts=True, force_limits=limits, until=5.0)
    assert planned["contact"]["force_post_impact_p50_N"] == pytest.approx(2.0 * LIMIT, rel=0.1)


def test_prediction_of_the_force_agrees_with_the_truth(told):
    """In settled contact the model's prediction is the force of the next tick."""
    run, _ = told
    outputs = [status.output for status in run.status if len(status.output.contact_links) == 1]
    errors = [
        after.measured_force[0] - before.predicted_force[0]
        for before, after in itertools.pairwise(outputs)
    ]
    assert np.median(np.abs(errors)) < 0.5


class Hasty(MugPlacement):
    """Touches the edge after half the time."""

    DOWN = 0.5 * MugPlacement.DOWN


def test_the_seed_decides_every_bit():
    runs = [
        ClosedLoopRun(ControllerConfig(), Hasty(), seed=seed).run(until=1.8) for seed in (3, 3, 4)
    ]
    assert runs[0].in_contact.any()
    hashes = [trajectory_hash(run.joint_position) for run in runs]
    assert hashes[0] == hashes[1] != hashes[2]


@pytest.mark.verify
@pytest.mark.parametrize("seed", range(3))
def test_momentum_observer_serves_as_well_as_the_drivers_torque(seed, greedy):
    """Joint torques with the noise of the external torque, observed with Ko = 50 / s."""
    run = ClosedLoopRun(ControllerConfig(), seed=seed, observer=ObserverConfig())
    summary = run.summary(run.run())
    assert_gentle(summary, greedy)
    assert summary["estimator"]["location_error_p50_m"] <= 0.005


@pytest.mark.verify
@pytest.mark.parametrize("seed", range(10))
def test_every_seed_is_gentle(seed, greedy):
    assert_gentle(figures(seed=seed)[1], greedy)


def test_mug_slides_over_the_table_and_leaves_it_gently():
    """The paper's Sec. VI-B: joint reference, top face, sliding, leaving over the side."""
    run, summary = figures(experiment="mug_moving")
    assert_force_is_kept(summary, ["lbr_link_6"])
    assert summary["release"]["joint_speed_max_rad_s"] <= 0.35
    assert all(status.mode in (Mode.TRACKING, Mode.CONSERVATIVE) for status in run.status)


def test_force_falls_gradually_while_null_space_projection_drops_it():
    """The paper's Fig. 7, with perfect contact estimates."""
    times = {
        controller: figures(controller=controller, experiment="mug_moving", true_contacts=True)[1][
            "release"
        ]["force_fall_s"]
        for controller in ("qp", "null_space")
    }
    assert times["qp"] > 2.0 * times["null_space"]


# The quick tests have the forearm give way to a ball, see test_moving_ball.py.
@pytest.mark.verify
def test_two_contacts_one_after_the_other():
    """First the wrist on the table, then the forearm at the post."""
    _, summary = figures(experiment="two_contacts")
    assert_force_is_kept(summary, ["lbr_link_6", "lbr_link_5"])
    assert summary["estimator"]["link_correct_fraction"] >= 0.8


@pytest.mark.verify
@pytest.mark.parametrize(
    ("experiment", "links"),
    [("mug_moving", ["lbr_link_6"]), ("two_contacts", ["lbr_link_6", "lbr_link_5"])],
)
@pytest.mark.parametrize("seed", range(10))
def test_every_seed_keeps_the_force(seed, experiment, links):
    assert_force_is_kept(figures(seed=seed, experiment=experiment)[1], links)
