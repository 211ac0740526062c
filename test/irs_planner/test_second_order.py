"""Second-order dynamics: the simulator as a system to plan with."""

import pickle

import numpy as np
import pytest

from contact_core.base.errors import ConfigError, ModelError
from contact_experiments.irs.second_order import SecondOrderDynamics
from irs_planner import PlannerSettings, PlanStatus, build_problem, load_example, plan
from irs_planner.scenes import load_scene

PUSHED = np.array([0.0, 0.5, 0.05, 0.02, -0.1, 0.0, 0.1, 0.0, 0.0, 0.3])
COMMAND = np.array([0.05, 0.1])


@pytest.fixture(scope="module")
def system():
    return SecondOrderDynamics(load_scene("box_pushing"))


def test_a_free_box_keeps_its_momentum(system):
    state = np.array([0.0, 0.5, 0.0, 0.0, -0.5, 0.1, 0.2, 0.3, 0.0, 0.0])
    moved = system.step(state, np.array([0.0, -0.5]))
    np.testing.assert_allclose(moved[:3], state[:3] + 0.1 * state[5:8], atol=1e-12)
    np.testing.assert_allclose(moved[5:8], state[5:8], atol=1e-12)


def test_the_hand_follows_its_command_like_a_damped_spring(system):
    """Two links of 1 kg, kd = 0.2 kp: the slow pole of 2 s^2 + 100 s + 500, -5.64 / s."""
    state = np.array([0.0, 5.0, 0.0, 0.0, -0.5, *np.zeros(5)])
    command, deflection = np.array([0.1, -0.5]), []
    for _ in range(10):
        state = system.step(state, command)
        deflection.append(0.1 - state[3])
    rate = np.log(deflection[3] / deflection[8]) / 0.5
    assert rate == pytest.approx(5.635, rel=0.01)


def test_pushing_exchanges_momentum(system):
    """Hand and box only have each other and the hand's spring and damper."""
    after = system.step(PUSHED, COMMAND)
    assert after[6] > 0.5
    assert after[1] > PUSHED[1] + 0.02


@pytest.mark.parametrize("column", range(2))
def test_input_jacobian_against_finite_differences(system, column):
    step = 1e-6 * np.eye(2)[column]
    ahead, behind = (system.step(PUSHED, COMMAND + s * step) for s in (1, -1))
    found = system.jacobians(PUSHED[np.newaxis], COMMAND[np.newaxis]).input[0, :, column]
    np.testing.assert_allclose(found, (ahead - behind) / 2e-6, atol=1e-5)
    assert np.abs(found[:3]).max() > 1e-2


@pytest.mark.parametrize("column", range(10))
def test_state_jacobian_against_finite_differences(system, column):
    step = 1e-7 * np.eye(10)[column]
    ahead, behind = (system.step(PUSHED + s * step, COMMAND) for s in (1, -1))
    found = system.jacobians(PUSHED[np.newaxis], COMMAND[np.newaxis]).state[0, :, column]
    np.testing.assert_allclose(found, (ahead - behind) / 2e-7, atol=1e-4)


def test_every_planar_scene_can_be_simulated():
    starts = {
        "planar_hand": [0.0, 0.35, 0.0, -0.8, -0.8, 0.8, 0.8],
        "box_pivoting": [0.0, 0.505, 0.0, -0.7, 0.5],
    }
    for name, start in starts.items():
        system, state = SecondOrderDynamics(load_scene(name)), np.array(start)
        inputs = state[list(system.commanded_states)]
        state = np.concatenate((state, np.zeros(len(state))))
        reached = system.step(state, inputs)
        assert np.isfinite(reached).all()
        assert np.abs(reached - state).max() < 0.6


def test_the_box_rests_on_the_ground():
    system = SecondOrderDynamics(load_scene("box_pivoting"))
    state = np.array([0.0, 0.505, 0.0, -0.9, 0.5, *np.zeros(5)])
    for _ in range(5):
        state = system.step(state, np.array([-0.9, 0.5]))
    assert state[1] == pytest.approx(0.5045, abs=2e-3)
    assert np.abs(state[5:8]).max() < 1e-2


def test_bundled_gradients_plan_where_exact_ones_are_flat():
    """Sec. VI-E: from a guess without contact, 2 iterations."""
    problem = build_problem(load_example("pushing_second_order"))
    exact = plan(problem, PlannerSettings(mode="exact", iterations=1))
    assert exact.status is PlanStatus.GRADIENT_FLAT
    assert exact.cost == exact.costs[0]
    bundled = plan(problem, PlannerSettings(mode="zero", iterations=1, samples=50))
    assert bundled.cost < 0.8 * exact.cost


def test_systems_can_be_sent_to_other_processes(system):
    copy = pickle.loads(pickle.dumps(system))
    np.testing.assert_array_equal(copy.step(PUSHED, COMMAND), system.step(PUSHED, COMMAND))


def test_what_cannot_be_simulated_is_named():
    with pytest.raises(ModelError, match="multiple of"):
        SecondOrderDynamics(load_scene("box_pushing"), 0.0105)
    with pytest.raises(ConfigError, match="log_barrier"):
        plan(
            build_problem(load_example("pushing_second_order")),
            PlannerSettings(mode="log_barrier", iterations=1),
        )
