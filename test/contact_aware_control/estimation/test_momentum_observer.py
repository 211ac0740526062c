"""The momentum observer on a forward simulation by Pinocchio."""

import numpy as np
import pinocchio as pin
import pytest

from contact_aware_control.estimation.config import ObserverConfig
from contact_aware_control.estimation.momentum_observer import MomentumObserver
from contact_core.robot.arm_state import ArmState

START = np.array([0.0, 0.4, 0.0, -1.7, 0.0, -0.5, 0.0])
GAIN = 50.0
SUB_STEPS = 20
PERIOD = 0.005


class Simulation:
    """The arm under joint torques that follow a motion loosely, touched at will."""

    def __init__(self, robot, armature=0.0):
        self.model = robot.model.copy()
        self.model.armature = np.full(7, armature)
        self.data = self.model.createData()
        self.q, self.v = START.copy(), np.zeros(7)
        self.time = 0.0

    def tick(self, external):
        """Advance by 5 ms with torques held as a joint controller does; return the state."""
        wanted = START + 0.15 * (1.0 - np.cos(self.time * np.arange(1, 8)))
        acceleration = 100.0 * (wanted - self.q) - 20.0 * self.v
        torque = pin.rnea(self.model, self.data, self.q, self.v, acceleration)
        for _ in range(SUB_STEPS):
            acceleration = pin.aba(self.model, self.data, self.q, self.v, torque + external)
            self.v = self.v + PERIOD / SUB_STEPS * acceleration
            self.q = self.q + PERIOD / SUB_STEPS * self.v
        self.time += PERIOD
        return torque

    def state(self, torque, velocity=True):
        unknown = np.full(7, np.nan)
        return ArmState(
            stamp=round(1e9 * self.time),
            position=self.q.copy(),
            velocity=self.v.copy() if velocity else unknown,
            commanded_position=unknown,
            external_torque=unknown,
            joint_torque=torque,
        )


def run(simulation, observer, external, ticks, velocity=True):
    estimates = []
    for _ in range(ticks):
        torque = simulation.tick(external)
        estimates.append(observer.update(simulation.state(torque, velocity)))
    return np.array(estimates)


EXTERNAL = np.array([3.0, -8.0, 2.0, 6.0, 1.0, -2.0, 0.3])


@pytest.fixture
def observer(robot):
    return MomentumObserver(robot, ObserverConfig(gain=GAIN))


def test_free_motion_gives_no_external_torque(robot, observer):
    estimates = run(Simulation(robot), observer, np.zeros(7), 400)
    assert np.abs(estimates).max() < 0.15


def test_constant_torque_is_found_with_the_lag_of_the_gain(robot, observer):
    simulation = Simulation(robot)
    run(simulation, observer, np.zeros(7), 100)
    estimates = run(simulation, observer, EXTERNAL, 200)
    np.testing.assert_allclose(estimates[100:], np.tile(EXTERNAL, (100, 1)), atol=0.15)
    risen = 1.0 - np.exp(-GAIN * PERIOD * np.arange(1, 11))
    np.testing.assert_allclose(estimates[:10, 1], EXTERNAL[1] * risen, atol=0.3)


def test_positions_are_differentiated_where_the_driver_gives_no_velocity(robot, observer):
    simulation = Simulation(robot)
    run(simulation, observer, np.zeros(7), 100, velocity=False)
    estimates = run(simulation, observer, EXTERNAL, 200, velocity=False)
    np.testing.assert_allclose(estimates[100:].mean(axis=0), EXTERNAL, atol=0.3)


def test_inertia_of_the_drives_counts(robot):
    free = np.zeros(7)
    knowing = MomentumObserver(robot, ObserverConfig(gain=GAIN, armature=(0.3,) * 7))
    ignorant = MomentumObserver(robot, ObserverConfig(gain=GAIN))
    error = np.abs(run(Simulation(robot, 0.3), knowing, free, 200)).max()
    assert error < 0.15
    assert np.abs(run(Simulation(robot, 0.3), ignorant, free, 200)).max() > 3.0 * error


def test_a_gap_starts_it_anew_and_bad_samples_give_nothing(robot, observer):
    simulation = Simulation(robot)
    run(simulation, observer, EXTERNAL, 50)
    state = simulation.state(np.zeros(7))
    assert observer.update(state) is None  # its stamp is not newer
    simulation.time += 1.0
    assert observer.update(simulation.state(None)) is None
    assert observer.update(simulation.state(np.full(7, np.nan))) is None
    np.testing.assert_array_equal(observer.update(simulation.state(np.zeros(7))), np.zeros(7))


def test_a_stamp_from_the_future_costs_one_sample(robot, observer):
    """All later states were too old."""
    simulation = Simulation(robot)
    run(simulation, observer, np.zeros(7), 50)
    simulation.time += 1e4
    assert observer.update(simulation.state(np.zeros(7))) is not None
    simulation.time -= 1e4
    simulation.tick(np.zeros(7))
    assert observer.update(simulation.state(np.zeros(7))) is None
    simulation.tick(np.zeros(7))
    assert observer.update(simulation.state(np.zeros(7))) is not None


def test_an_arm_that_moves_already_is_not_touched(robot, observer):
    """Without velocities from the driver the first samples showed its momentum as a torque."""
    data, q, v = robot.model.createData(), np.full(7, 0.3), np.full(7, 0.2)
    for k in range(40):
        now = q + 0.005 * k * v
        torque = pin.rnea(robot.model, data, now, v, np.zeros(7))
        estimate = observer.update(ArmState.recorded(k * 5_000_000, now, joint_torque=torque))
        assert estimate is not None
        assert np.abs(estimate).max() < 0.1
