"""The momentum observer on a forward simulation by Pinocchio."""

import numpy as np
import pinocchio as pin
import pytest

from contact_aware_control.estimation.config import ObserverConfig
from contact_aware_control.estimation.momentum_observer import MomentumObserver, read_joint_torques
from contact_core.base.errors import ConfigError
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


def spoilt(state, rng, jitter, quantum):
    """Return a state as a recording has it: without velocity, late at random, rounded."""
    stamp = state.stamp + round(1e9 * rng.uniform(0.0, jitter))
    position = np.round(state.position / quantum) * quantum
    return ArmState.recorded(stamp, position, joint_torque=state.joint_torque)


@pytest.mark.parametrize(("jitter", "quantum"), [(3e-4, 1e-12), (0.0, 1e-4), (2e-4, 5e-5)])
@pytest.mark.parametrize("seed", [1000, 1001])
def test_errors_of_stamps_and_positions_are_no_torque(robot, observer, jitter, quantum, seed):
    """In motion; what touches the arm is felt all the same, somewhat later."""
    simulation, rng = Simulation(robot), np.random.default_rng(seed)
    estimates = []
    for tick in range(500):
        external = EXTERNAL if tick >= 300 else np.zeros(7)
        torque = simulation.tick(external)
        estimates.append(observer.update(spoilt(simulation.state(torque), rng, jitter, quantum)))
    estimates = np.array(estimates)
    assert estimates[20:300].std() < 0.15
    assert np.abs(estimates[20:300]).max() < 1.0
    np.testing.assert_allclose(estimates[450:].mean(axis=0), EXTERNAL, atol=0.4)


def test_positions_that_tell_no_velocity_give_nothing(robot, observer):
    simulation, rng = Simulation(robot), np.random.default_rng(1000)
    found = []
    for _ in range(300):
        state = simulation.state(simulation.tick(np.zeros(7)))
        found.append(observer.update(spoilt(state, rng, 0.0, 2e-3)))
    assert all(estimate is None for estimate in found[100:])


def test_given_velocities_are_taken_as_they_are(robot, observer):
    """Nothing is averaged then."""
    simulation = Simulation(robot)
    for _ in range(50):
        torque = simulation.tick(EXTERNAL)
        estimate = observer.update(simulation.state(torque))
        np.testing.assert_allclose(estimate, observer._residual, rtol=0.0, atol=1e-12)


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


@pytest.mark.parametrize(
    "wrong", [np.zeros(6), [0.0] * 6, np.full(7, np.nan), np.full(7, 1e6), 0.0, None]
)
def test_a_sample_of_another_arm_gives_nothing(wrong, robot, observer):
    sound = np.zeros(robot.n)
    assert observer.update(ArmState.recorded(1, sound, joint_torque=sound)) is not None
    assert observer.update(ArmState.recorded(2, sound, joint_torque=wrong)) is None
    assert observer.update(ArmState.recorded(3, np.zeros(6), joint_torque=sound)) is None
    assert observer.update(ArmState.recorded(4, sound, joint_torque=sound)) is not None


def _write(file, times, spoil=lambda text: text):
    lines = [",".join(map(str, [time, *[0.1] * 4])) for time in times]
    file.write_text(spoil("\n".join(["time and 4 columns", *lines])))
    return file


@pytest.mark.parametrize(
    ("times", "spoil", "message"),
    [
        (np.arange(0.0, 5000.0, 5.0), str, r"are 5 s apart \(valid: 0.05 s .*time in seconds"),
        (np.arange(9) * 0.1, str, "are 0.1 s apart"),
        ([0.0, 0.01, 0.005, 0.02], str, "time goes from 0.01 to 0.005 s at line 3 after"),
        ([0.0, 0.01, 0.01], str, "time goes from 0.01 to 0.01 s at line 3"),
        ([0.0], str, "has 1 lines of 5 numbers .valid: a title, then lines of time"),
        ([0.0, 0.01], lambda text: text.replace(",0.1\n", "\n"), "cannot read .*columns"),
        (
            [0.0, 0.01, 0.02],
            lambda text: text.replace("0.02,0.1", "0.02,nan"),
            "line 3 .* not fini",
        ),
        (
            [0.0, 0.01],
            lambda text: text.replace(",", ";"),
            "cannot read .*separated|cannot read .*val",
        ),
        ([0.0, 0.01], lambda text: "title", "has 0 lines|cannot read"),
        ([0.0, 0.01], lambda text: text.partition("\n")[2], "5 numbers, and without a title"),
        ([0.0, 0.01], lambda text: text.replace("0.01,0.1", "0.01,90"), "90 rad .*in radians, and"),
    ],
)
@pytest.mark.filterwarnings("ignore:.*input contained no data")
def test_a_recording_that_tells_nothing_is_refused(times, spoil, message, tmp_path):
    with pytest.raises(ConfigError, match=message):
        read_joint_torques(_write(tmp_path / "r.csv", times, spoil), 2)


def test_a_recording_of_coarse_angles_is_refused(tmp_path):
    angles = 0.1 * np.sin(0.05 * np.arange(100))
    for decimals in (3, 4):
        table = np.column_stack((0.005 * np.arange(100), angles.round(decimals), np.zeros(100)))
        np.savetxt(tmp_path / "r.csv", table, delimiter=",", header="t,q,tau", comments="")
        if decimals == 4:
            assert len(read_joint_torques(tmp_path / "r.csv", 1)) == 100
        else:
            with pytest.raises(ConfigError, match=r"in steps of 0\.001 rad .*four decimals"):
                read_joint_torques(tmp_path / "r.csv", 1)


@pytest.mark.parametrize(
    ("title", "said"),
    [
        ("time,q_base,q_base-b,tau_base,tau_base-b", ""),
        ("t,q1,q2,tau1,tau2", ""),
        ("t,base-b,base,base-b,base", "its angles are base-b, base .valid: those of base, base-b"),
        ("t, base, base-b, effort base-b, effort base", "its torques are effort base-b, effort"),
    ],
)
def test_titles_that_name_joints_name_them_in_their_order(title, said, tmp_path):
    file = _write(tmp_path / "r.csv", [1.0, 1.005])
    file.write_text(file.read_text().replace("time and 4 columns", title))
    if said:
        with pytest.raises(ConfigError, match=said):
            read_joint_torques(file, ["base", "base-b"])
    else:
        assert len(read_joint_torques(file, ["base", "base-b"])) == 2


def test_a_recording_is_read_as_written(tmp_path):
    first, second = read_joint_torques(_write(tmp_path / "r.csv", [1.0, 1.005]), 2)
    assert (first.stamp, second.stamp) == (1_000_000_000, 1_005_000_000)
    assert first.position.tolist() == first.joint_torque.tolist() == [0.1, 0.1]
    with pytest.raises(ConfigError, match=r"cannot read .*absent\.csv"):
        read_joint_torques(tmp_path / "absent.csv", 2)
