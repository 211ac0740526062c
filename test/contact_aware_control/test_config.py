"""No dead parameters: every one changes what the controller does, or is refused."""

import dataclasses

import numpy as np
import pinocchio as pin
import pytest

from contact_aware_control.config import ControllerConfig
from contact_aware_control.contact import ContactReport
from contact_aware_control.control_loop import ControlLoop
from contact_aware_control.controllers import CONTROLLERS, make_controller
from contact_aware_control.controllers.baselines import GreedyController
from contact_aware_control.loop_state import LoopInputs
from contact_aware_control.reference import Goal, JointTrajectory, PoseTrajectory
from contact_aware_control.safety.goal_checker import GoalChecker
from contact_core.base.config import flatten, from_mapping, unflatten
from contact_core.base.errors import ConfigError, TrajectoryError

Q = np.array([0.1, 0.6, -0.1, -1.5, 0.1, 1.0, 0.0])
UP = np.array([0.0, 0.0, 1.0])
# The gripper is about to come close to the lower arm.
FOLDED = np.array([0.0, 0.5, 0.0, -1.8, 0.0, 1.8, 0.0])

# Another valid value of every parameter.
OTHER = {
    "controller": "greedy",
    "hardware": True,
    "rate": 100.0,
    "solver": "osqp",
    "tracking.reading": "incremental",
    "tracking.error_rate": 5.0,
    "tracking.return_speed": 0.01,
    "tracking.position_weight": 0.1,
    "tracking.rotation_weight": 0.5,
    "tracking.posture_weight": 0.1,
    "tracking.regularization": 0.1,
    "force.limit": 10.0,
    "force.contact_on": 9.0,
    "force.contact_off": 0.5,
    "force.lag": 0.5,
    "force.surface_compliance": 1e-3,
    "force.memory": 0.0,
    "damping.beta": 0.0,
    "damping.alpha": 0.5,
    "damping.weight_max": 1.0,
    "null_space.step": 0.001,
    "impedance.translation": 100.0,
    "impedance.rotation": 5.0,
    "impedance.posture": 100.0,
    "limits.tool_speed": 0.02,
    "limits.point_speed": 0.02,
    "limits.step": 0.0002,
    "limits.velocity_fraction": 0.01,
    "limits.position_margin": 0.2,
    "limits.spring_torque_share": 0.01,
    "limits.distance": 0.001,
    "limits.acceleration": 20.0,
    "limits.jerk": 1000.0,
    "limits.braking": 1.0,
    "limits.yielding_fraction": 0.01,
    "safety.state_timeout_periods": 1.5,
    "safety.recovery_window": 0.0,
    "safety.settling_time": 0.0,
    "safety.contacts_timeout": 0.004,
    "safety.reference_timeout": 0.004,
    "safety.round_trip": 0.01,
    "plausibility.follow_distance": 0.003,
    "plausibility.follow_time": 5.0,
    "safety.force_fault_factor": 1.1,
    "safety.force_fault_time": 0.0,
    "safety.leash": 0.001,
    "safety.stop_force": 20.0,
    "safety.float_force": 1.0,
    "safety.start.joint": 0.001,
    "safety.start.position": 0.001,
    "safety.start.rotation": 0.001,
    "reflex.torque_share": 0.04,
    "reflex.rate_share": 0.2,
    "reflex.reaction": "float",
    "reflex.retract_distance": 0.001,
    "reflex.retract_speed": 0.01,
    "reflex.torque_margin_share": 0.1,
    "reflex.held_reach": 2.0,
    "reflex.offset_share": 0.0,
    "reflex.force_time": 0.0,
    "governor.enabled": False,
    "governor.joint": 0.01,
    "governor.position": 0.005,
    "governor.rotation": 0.01,
    "transition.acceleration": 2.0,
    "transition.jerk": 50.0,
    "workspace.lowest": (0.5, -1.0, 0.0),
    "workspace.highest": (0.3, 1.0, 2.0),
    "self_collision.enabled": False,
    "self_collision.distance": 0.05,
    "self_collision.pairs": "lbr_link_0:lbr_link_7",
    "slow_start.duration": 0.1,
    "slow_start.fraction": 0.5,
}

# What a parameter needs to show.
NEEDS = {
    "null_space.": {"controller": "null_space"},
    "impedance.": {"controller": "impedance"},
    "reflex.retract_": {"reflex.reaction": "retract"},
}


class OtherwiseError(Exception):
    """Something else comes out than before."""


class Script:
    """Inputs that meet every feature of the controller once, and what comes out."""

    def __init__(self, robot, contact, arm_state, config, before=None):
        """Take what the scripts need, and what came out before, if that is to come again."""
        self.before = before
        self.robot = robot
        self.contact = contact
        self.make_state = arm_state
        self.config = config

    def run(self):
        """Run one script after the other; return what came out, item by item, as bytes.

        Raises:
            OtherwiseError: At the first item that is not what it was before.
        """
        self.seen = []
        for script in (
            self._in_contact,
            self._doubtful_contact,
            self._checks,
            self._refusals,
            self._watchdogs,
            self._preempted,
            self._torques,
            self._near_itself,
            self._held_back,
            self._near_joint_limit,
            self._link,
        ):
            script()
        if self.before is not None and len(self.seen) != len(self.before):
            raise OtherwiseError
        return self.seen

    def _see(self, *items):
        for item in items:
            self.seen.append(np.asarray(item, dtype=float).tobytes())
            place = len(self.seen) - 1
            if self.before is not None and self.before[place : place + 1] != self.seen[place:]:
                raise OtherwiseError

    def _loop(self):
        self.now = 0
        self.q = Q.copy()
        self.report = None
        self.state = None
        loop = ControlLoop(self.robot, self.config)
        self.loop_state = loop.start()
        return loop

    def _tick(self, loop, goal, contacts=(), offset=0.0, state=True, report=True):
        self.now += round(self.config.period * 1e9)
        if state is True:
            self.state = self.make_state(self.now, self.q + offset, self.q)
        elif state:
            self.state = state
        if report:
            self.report = ContactReport(self.now, contacts)
        inputs = LoopInputs(self.now, self.state, self.report, goal)
        self.loop_state, command, status = loop.tick(self.loop_state, inputs)
        self.q = command.position if command is not None else self.q
        self._see(self.q, status.mode, status.status, status.output.damping_weight)

    def _in_contact(self):
        """Forces that rise, jitter, pass the limit, vanish and return; two at once."""
        self.robot.update(Q)
        start = self.robot.tool_pose()
        end = start * pin.SE3(pin.exp3(np.array([0.1, 0.2, 0.0])), np.array([0.02, 0.0, 0.3]))
        goal = Goal(PoseTrajectory([0.0, 1.0], [start, end]))
        loop = self._loop()
        rng = np.random.default_rng(0)
        forces = [0.0] * 10 + [4.0, 7.0, 3.0, 1.5, 10.0] * 3 + [14.0] * 10 + [22.0] * 5
        forces += [0.0] * 10 + [12.0] * 10
        for force in forces:
            point = np.array([0.5, 0.02, 0.5]) + rng.normal(scale=0.002, size=3)
            self._tick(loop, goal, [self.contact(force * UP, point)], offset=0.01)
        for _ in range(10):
            pair = [
                self.contact(9.0 * UP, [0.5, 0.0, 0.5]),
                self.contact([0.0, 4.0, 8.0], [0.5, 0.1, 0.5]),
            ]
            self._tick(loop, goal, pair, offset=0.01)

    def _doubtful_contact(self):
        """The reference presses on a contact whose place is not certain."""
        self.robot.update(Q)
        point = self.robot.link_pose("lbr_link_6").translation
        row = UP @ self.robot.point_jacobian("lbr_link_6", point)
        goal = Goal(JointTrajectory([0.0, 1.0], np.array([Q, Q - row])))
        loop = self._loop()
        for k in range(20):
            report = [self.contact(14.0 * UP, point, identifiable=k < 10, residual=3.0)]
            self._tick(loop, goal, report, offset=row / loop.robot.stiffness * 14.0)

    def _near_joint_limit(self):
        target = Q.copy()
        target[5] = self.robot.position_limits[1, 5]
        goal = Goal(JointTrajectory([0.0, 2.0], np.array([Q, target])))
        loop = self._loop()
        for _ in range(600):
            self._tick(loop, goal, offset=-0.002)

    def _near_itself(self):
        loop = self._loop()
        self.q = FOLDED.copy()
        target = np.array([0.0, 0.5, 0.0, -2.05, 0.0, 2.05, 0.0])
        goal = Goal(JointTrajectory([0.0, 0.5], np.array([FOLDED, target])))
        for _ in range(300):
            self._tick(loop, goal)

    def _watchdogs(self):
        reference = JointTrajectory([0.0, 0.3], np.array([Q, Q + 0.1]))
        loop = self._loop()
        hard = [self.contact(40.0 * UP, [0.5, 0.0, 0.5])]
        goal = Goal(reference)
        for _ in range(10):
            self._tick(loop, goal)
        for k in range(6):
            self._tick(loop, goal, state=k % 3 != 1)
        for _ in range(5):
            self._tick(loop, goal, state=False)
        for k in range(8):
            self._tick(loop, goal, report=k % 2 == 0)
        for _ in range(30):
            self._tick(loop, goal, report=False)
        streamed = Goal(reference, refreshed=self.now)
        for _ in range(5):
            self._tick(loop, streamed)
        bad, self.q = self.q, np.full(7, np.nan)
        self.state = self.make_state(self.now, self.q)
        self.q = bad
        self._tick(loop, goal, state=False)
        for _ in range(5):
            self._tick(loop, goal)
        for k in range(5):
            self._tick(loop, None, hard, offset=0.01 * (k + 1))
        for _ in range(5):
            self._tick(loop, goal, [self.contact(100.0 * UP, [0.5, 0.0, 0.5])])
        for _ in range(3):
            self._tick(loop, None)

    def _refusals(self):
        """Time stands still while the arm moves."""
        loop = self._loop()
        goal = Goal(JointTrajectory([0.0, 0.3], np.array([Q, Q + 0.1])))
        for _ in range(40):
            self._tick(loop, goal)
        for _ in range(3):
            self.now -= round(self.config.period * 1e9)
            self._tick(loop, goal)

    def _torques(self):
        """Without a contact: some that the estimator takes for payload, more, far too much."""
        goal = Goal(JointTrajectory([0.0, 1.0], np.array([Q, Q + 0.3])))
        loop = self._loop()
        shoulder = np.eye(7)[1]
        for size, declared, ticks in ((20.0, 8.0, 40), (22.0, 0.0, 60), (200.0, 0.0, 60)):
            for _ in range(ticks):
                self.now += round(self.config.period * 1e9)
                torque = size * shoulder
                state = self.make_state(self.now, self.q + 0.05 * shoulder, self.q)
                state = dataclasses.replace(state, external_torque=torque)
                report = ContactReport(self.now, (), torque - declared * shoulder)
                inputs = LoopInputs(self.now, state, report, goal)
                self.loop_state, passed, status = loop.tick(self.loop_state, inputs)
                self.q = passed.position if passed is not None else self.q
                self._see(self.q, status.mode, status.status)

    def _link(self):
        """A robot that misbehaves in every way, one after the other."""
        goal = Goal(JointTrajectory([0.0, 2.0], np.array([Q, Q + 0.2])))
        beyond = np.where(np.arange(7) == 3, self.robot.position_limits[0] - 0.1, Q)

        def run(ticks, change=lambda state: {}):
            for k in range(ticks):
                now = self.now + round(self.config.period * 1e9)
                # The encoders flicker.
                state = self.make_state(now, self.q + 1e-6 * (k % 2), self.q)
                state = dataclasses.replace(state, external_torque=np.zeros(7))
                self._tick(loop, goal, state=dataclasses.replace(state, **change(state)))

        for wrong in (
            lambda state: {"position": beyond},
            lambda state: {"position": state.position + 0.2},
            lambda state: {"driver_stamp": state.stamp + 10**9},
            lambda state: {"commanded_position": state.commanded_position + 0.1},
        ):
            loop = self._loop()
            run(10)
            run(1, wrong)
            run(5)
        loop = self._loop()
        run(3, lambda state: {"position": beyond})
        loop = self._loop()
        run(200)
        run(1, lambda state: {"commanded_position": state.commanded_position - 0.008})
        loop = self._loop()
        run(120, lambda state: {"position": Q})
        loop = self._loop()
        run(200, lambda state: {"position": Q + 1e-6 * (state.stamp // 5_000_000 % 2)})
        loop = self._loop()
        run(20)
        for _ in range(10):
            self._tick(loop, goal, state=False)
        run(5, lambda state: {"position": state.position - 0.05})
        # A driver that does not report commands.
        loop = self._loop()
        run(20, lambda state: {"commanded_position": np.full(7, np.nan)})
        for _ in range(10):
            self._tick(loop, goal, state=False)
        run(80, lambda state: {"commanded_position": np.full(7, np.nan)})

    def _held_back(self):
        """The arm stands still whatever is commanded: the references have to wait."""
        self.robot.update(Q)
        start = self.robot.tool_pose()
        moved = start * pin.SE3(np.eye(3), np.array([0.0, 0.0, -0.2]))
        turned = start * pin.SE3(pin.exp3(np.array([0.0, 0.0, 1.0])), np.zeros(3))
        for reference in (
            JointTrajectory([0.0, 1.0], np.array([Q, Q + 0.3])),
            PoseTrajectory([0.0, 1.0], [start, moved]),
            PoseTrajectory([0.0, 1.0], [start, turned]),
        ):
            loop, goal = self._loop(), Goal(reference)
            for _ in range(150):
                self._tick(loop, goal, offset=Q - self.q)

    def _preempted(self):
        """One goal takes over from another, and is cancelled."""
        loop = self._loop()
        for speed, ticks in ((0.2, 60), (-0.2, 40)):
            goal = Goal(JointTrajectory([0.0, 2.0], np.array([self.q, self.q + 2.0 * speed])))
            for _ in range(ticks):
                self._tick(loop, goal)
        for _ in range(20):
            self._tick(loop, None)

    def _checks(self):
        loop = self._loop()
        state = self.make_state(1, Q, Q + 0.02)
        _, passed, _ = loop.tick(self.loop_state, LoopInputs(1, state))
        command = passed.position
        self._see(command)
        checker = GoalChecker(self.robot, loop.config)
        self.robot.update(command)
        tool = self.robot.tool_pose()
        shifted = tool * pin.SE3(np.eye(3), np.array([0.01, 0.0, 0.0]))
        turned = tool * pin.SE3(pin.exp3(np.array([0.02, 0.0, 0.0])), np.zeros(3))
        for reference in (
            JointTrajectory([0.0], command[None] + 0.01),
            PoseTrajectory([0.0], [shifted]),
            PoseTrajectory([0.0], [turned]),
        ):
            try:
                checker.check(Goal(reference), command)
                self._see(0.0)
            except TrajectoryError:
                self._see(1.0)


@pytest.fixture
def outcome(robot, contact, arm_state):
    """Run the scripts with some parameters."""

    def run(before=None, **values):
        config = from_mapping(ControllerConfig, unflatten(values))
        return Script(robot, contact, arm_state, config, before).run()

    return run


UNCHANGED = {}
"""What the scripts give without the change, by what else is chosen: they take a second."""


@pytest.fixture
def unchanged(outcome):
    """Return what the scripts give without a change, where something else is chosen."""

    def look_up(**chosen):
        known = repr(chosen)
        if known not in UNCHANGED:
            UNCHANGED[known] = outcome(**chosen)
        return UNCHANGED[known]

    return look_up


def test_every_parameter_is_covered():
    assert set(OTHER) == set(flatten(ControllerConfig()))


def test_scripts_are_reproducible(outcome, unchanged):
    assert outcome(unchanged()) == unchanged()


@pytest.mark.parametrize("name", [name for name in OTHER if name != "hardware"])
def test_every_parameter_has_an_effect(outcome, unchanged, name):
    assert flatten(ControllerConfig())[name][0] != OTHER[name]
    chosen = next((values for prefix, values in NEEDS.items() if name.startswith(prefix)), {})
    before = unchanged(**chosen)
    # Nothing runs after the first tick that shows it.
    with pytest.raises(OtherwiseError):
        outcome(before, **{**chosen, name: OTHER[name]})


def test_hardware_refuses_baselines(robot):
    values = {"hardware": True, "controller": "greedy"}
    with pytest.raises(ConfigError, match="refused on hardware"):
        make_controller(robot, from_mapping(ControllerConfig, values))


def test_who_limits_forces_has_to_give_way(robot, monkeypatch):
    """One that was asked for nothing but its step would hold against a hand in every pause."""

    class Stubborn(GreedyController):
        limits_force = True

    monkeypatch.setitem(CONTROLLERS._items, "stubborn", Stubborn)
    with pytest.raises(ConfigError, match="'stubborn' limits forces and has no give_way"):
        make_controller(robot, ControllerConfig(controller="stubborn"))


# Which controllers there are is known when one is made: others may be registered until then.
@pytest.mark.parametrize(
    "name", [name for name in flatten(ControllerConfig()) if name != "controller"]
)
def test_every_parameter_is_described_and_bounded(name):
    value, valid = flatten(ControllerConfig())[name]
    assert len(valid.description) > 10
    first = value[0] if isinstance(value, tuple) else value
    if isinstance(first, bool):
        wrong = "yes"
    elif isinstance(first, str):
        wrong = "nonsense"
    else:
        assert np.isfinite(valid.low)
        assert np.isfinite(valid.high)
        wrong = valid.high + 1
    invalid = (wrong,) * len(value) if isinstance(value, tuple) else wrong
    with pytest.raises(ConfigError, match=name.replace(".", r"\.")):
        from_mapping(ControllerConfig, unflatten({name: invalid}))


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ({"force": {"contact_on": 3.0, "contact_off": 4.0}}, "contact_off"),
        ({"tracking": {"position_weight": 0.0, "rotation_weight": 0.0}}, "both be 0"),
        ({"no_such": 1.0}, "unknown parameter 'no_such'"),
    ],
)
def test_contradictions_are_refused(values, message):
    with pytest.raises(ConfigError, match=message):
        from_mapping(ControllerConfig, values)


def test_configuration_cannot_be_changed():
    with pytest.raises(dataclasses.FrozenInstanceError):
        ControllerConfig().force.limit = 1.0
