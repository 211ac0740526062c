"""The pre-flight check in the graph: watch, ask for a push, judge, activate the controller."""

from __future__ import annotations

import argparse
import sys
import time
from dataclasses import dataclass

import numpy as np
from contact_stack_msgs.msg import ContactArray
from diagnostic_msgs.msg import DiagnosticArray
from lbr_fri_idl.msg import LBRState
from lifecycle_msgs.msg import Transition
from lifecycle_msgs.srv import ChangeState
from rclpy.task import Future

from contact_aware_control.estimation.joint_torque import JointTorqueWatch, TorqueReading
from contact_aware_control.node.config import HeldConfig
from contact_core.base.config import nested, parameter
from contact_core.base.errors import ConfigError, ContactStackError
from contact_core.base.results import write_json
from contact_core.robot.arm_state import ArmState
from contact_core.robot.robot import Robot
from contact_ros.diagnostics import Diagnostics, Health, Level
from contact_ros.driver_profile import DriverConfig, DriverProfile, StateReader, driver_profile
from contact_ros.entry_point import run
from contact_ros.guarded_node import GuardedNode
from contact_ros.identity import CONTROLLER, RobotIdentity, RobotNodeConfig
from contact_ros.parameters import read
from contact_ros.qos import DIAGNOSTICS, signal_subscription
from contact_ros.stamps import steady_timer
from contact_ros.validation import MAX_FORCE, MessageError, ending, numbers
from contact_stack.checks import Check, CheckStatus
from contact_stack.preflight import checks
from contact_stack.preflight.checks import PreflightLimits, PushTest
from contact_stack.preflight.first_day import FirstDay

NAME = "preflight"
DRIVER_NODE = "/fri_driver"
"""End of the name under which our own driver reports."""
POLL_PERIOD = 0.1
TELL_PERIOD = 5.0
"""How often it is told what is waited for [s]."""
WATCHES = 3
"""How often the arm is watched until its states come as they should: a launch begins busily."""
ASK_FOR_PUSH = (
    "PUSH the wrist gently by hand, sideways and then down; hold each push for a second, then "
    "let go"
)


@dataclass(frozen=True)
class PreflightConfig(RobotNodeConfig):
    """The pre-flight check."""

    driver: str = parameter("lbr_fri", "driver profile the robot or simulator speaks")
    arm: DriverConfig = nested(DriverConfig)
    rate: float = parameter(200.0, "rate of the joint states", unit="Hz", low=20.0, high=1000.0)
    held: HeldConfig = nested(HeldConfig)
    limits: PreflightLimits = nested(PreflightLimits)
    start_timeout: float = parameter(
        300.0, "longest time until driver and estimator are heard", unit="s", above=0.0, high=3600.0
    )
    rest_time: float = parameter(
        3.0, "how long the arm is watched at rest", unit="s", low=1.0, high=60.0
    )
    push_timeout: float = parameter(
        120.0, "how long to wait for the push", unit="s", above=0.0, high=3600.0
    )
    accept_simulator: bool = parameter(False, "check a simulator too, for tests of the launch")
    activate: str = parameter(CONTROLLER, "node that is activated if all is well; empty for none")
    first_day: str = parameter(
        "",
        "file for a report of what has to be looked at once on a robot that speaks FRI; empty for "
        "none",
    )


class PreflightError(ContactStackError):
    """A check failed: the controller stays inactive.

    Do what the failed check says, then start again.
    """


class PreflightNode(GuardedNode):
    """Check at rest, check while a person pushes, then activate the controller."""

    def __init__(self) -> None:
        """Listen to driver and estimator.

        Raises:
            ContactStackError: If a parameter, the robot or the driver profile is wrong.
        """
        super().__init__(NAME)
        self._config = config = read(self, PreflightConfig)
        description = config.description()
        self._robot = Robot.from_description(description)
        self._began = self._told = time.monotonic()
        self._times: list[tuple[float, float]] = []
        self._states: list[ArmState] = []
        self._torques_free: list[np.ndarray] = []
        self._rest_began, self._watches = 0.0, 0
        self._push: PushTest | None = None
        self._said: list[str] = []
        self._verdict = Health(Level.STALE, "waiting for driver and estimator")
        profile = driver_profile(
            config.driver,
            config.arm,
            1.0 / config.rate,
            description.arm_joints,
            self.get_namespace(),
            self._robot.gravity_torque,
        )
        self._reading = TorqueReading(profile.joint_torque_sign, profile.joint_torque_kind)
        self._watch = JointTorqueWatch(self._robot, self._reading)
        self._identity = RobotIdentity(self, profile, description, not config.accept_simulator)
        self._reader = StateReader(self, profile, lockstep=False, on_state=self._state_arrived)
        self.create_subscription(
            ContactArray, "contacts", self._contacts_arrived, signal_subscription(lockstep=False)
        )
        self._first_day = self._listen(profile) if config.first_day else None
        self._lifecycle = self.create_client(ChangeState, f"{config.activate}/change_state")
        self._diagnostics = Diagnostics(self, lambda: self._reader.rejections.report(self._verdict))
        self._timer = steady_timer(self, POLL_PERIOD, self._proceed)
        self._say("let the arm stand still, and do not touch it")

    def _listen(self, profile: DriverProfile) -> FirstDay:
        """Write down all that a driver of FRI says."""
        if profile.state_topics.get("state") is not LBRState:
            raise ConfigError(f"first_day: driver '{profile.name}' does not report FRI's states")
        first_day = FirstDay(self._robot)

        def reported(message: DiagnosticArray) -> None:
            for status in message.status:
                if status.name.endswith(DRIVER_NODE):
                    first_day.hear_driver({item.key: item.value for item in status.values})

        self.create_subscription(
            LBRState, profile.topic("state"), first_day.hear, signal_subscription(lockstep=False)
        )
        self.create_subscription(DiagnosticArray, "/diagnostics", reported, DIAGNOSTICS)
        return first_day

    def _state_arrived(self, state: ArmState) -> None:
        if self._push is not None:
            self._push.add(state.position, state.external_torque)
            self._watch.update(state)
            return
        now = time.monotonic()
        self._times.append((1e-9 * state.stamp, now))
        if self._torques_free:
            self._rest_began = self._rest_began or now
            self._states.append(state)

    def _contacts_arrived(self, message: ContactArray) -> None:
        torque = numbers(message.external_torque_free, "external_torque_free", MAX_FORCE)
        if torque.size != self._robot.n:
            raise MessageError(f"external_torque_free has {torque.size} values")
        if message.state != ContactArray.UNTARED:
            self._torques_free.append(torque)

    def _proceed(self) -> None:
        """Go on to the next phase when it is time."""
        if problem := self._identity.problem:
            remedy = "give all nodes the same robot, or stop the simulator"
            self._judge((Check.fail("robot", problem, remedy),))
        elapsed = time.monotonic() - self._began
        if self._push is None and self._rested():
            self._finish_rest()
        elif self._push is None and elapsed > self._config.start_timeout:
            self._fail_start()
        elif not (self._push or self._rest_began) and time.monotonic() > self._told + TELL_PERIOD:
            self._told = time.monotonic()
            self._say(
                f"waiting for {self._missing()}: {elapsed:.0f} s of at most "
                f"{self._config.start_timeout:.0f} s"
            )
        elif self._push is not None and (
            (self._push.complete and self._push.released) or elapsed > self._config.push_timeout
        ):
            self._judge((*self._push.checks(), *self._torque_checks()))
            self._activate()

    def _torque_checks(self) -> tuple[Check, ...]:
        """Judge the joint torques under the push; without weight they tell nothing at rest."""
        right = self._watch.right
        return () if right is None else (checks.other_reading(self._reading, right),)

    def _rested(self) -> bool:
        return self._rest_began > 0.0 and (
            time.monotonic() - self._rest_began >= self._config.rest_time
        )

    def _finish_rest(self) -> None:
        """Judge the arm at rest, and ask for the push."""
        config, robot = self._config, self._robot
        rate = checks.state_rate(self._times[-len(self._states) :], config.rate, config.limits)
        self._watches += 1
        if rate.status is CheckStatus.FAIL and self._watches < WATCHES:
            self._say(f"state rate: {rate.detail}; watching again")
            self._times, self._states, self._torques_free, self._rest_began = [], [], [], 0.0
            return
        positions = np.array([state.position for state in self._states])
        torques = np.array([state.external_torque for state in self._states])
        loads = [s.joint_torque for s in self._states if s.joint_torque is not None]
        free = np.array(self._torques_free)
        found = [
            rate,
            checks.session(self._states[-1]),
            checks.joint_count(positions[0], robot),
            checks.joint_limits(positions, robot),
            checks.tare(True, free, config.limits),
            checks.payload(positions, torques, robot, config.held, config.limits),
        ]
        if len(loads) == len(self._states):  # not every driver reports them
            found.append(
                checks.weight(
                    positions, torques, np.array(loads), robot, config.limits, self._reading
                )
            )
        self._judge(tuple(found))
        self._began = time.monotonic()
        self._push = PushTest(
            positions.mean(axis=0),
            torques.mean(axis=0),
            robot.joint_names,
            robot.stiffness.tolist(),
            config.limits,
        )
        self._verdict = Health(Level.WARN, ASK_FOR_PUSH)
        self._say(ASK_FOR_PUSH)

    def _missing(self) -> str:
        """Say what is not heard."""
        if reason := self._rejected():
            return f"states of the driver ({reason})"
        return "the estimator, which has to be tared" if self._times else "states of the driver"

    def _rejected(self) -> str:
        """Say why states that arrive are not those of the arm; empty if none does."""
        if self._reader.rejections.count:
            return self._reader.rejections.reason
        if self._reader.others:
            return f"only those of other joints arrive: {self._reader.others}"
        return ""

    def _fail_start(self) -> None:
        """Nothing to judge: say what was not heard, and why."""
        if reason := self._rejected():
            self._judge((Check.fail("state rate", "states were rejected", reason),))
        self._judge(
            (
                checks.state_rate(self._times, self._config.rate, self._config.limits),
                checks.tare(False, np.zeros((0, self._robot.n)), self._config.limits),
            )
        )

    def _judge(self, checks: tuple[Check, ...]) -> None:
        """Show checks.

        Raises:
            PreflightError: If one failed.
        """
        for check in checks:
            self._say(str(check))
        self._said += map(str, checks)
        if self._first_day is not None:
            content = {"checks": self._said, **self._first_day.report()}
            write_json(content, self._config.first_day)
        failed = [check for check in checks if check.status is CheckStatus.FAIL]
        if failed:
            text = "; ".join(f"{check.name}: {check.detail}" for check in failed)
            self._verdict = Health(Level.ERROR, text)
            self._diagnostics.publish()
            raise ending(
                PreflightError(f"the controller is not activated. {text}; {failed[0].remedy}")
            )

    def _activate(self) -> None:
        """Activate the controller; this node then stays to report that all was well."""
        self._timer.cancel()
        self._verdict = Health(Level.OK, "all checks passed")
        if not self._config.activate:
            self._say("all checks passed")
            return
        request = ChangeState.Request(transition=Transition(id=Transition.TRANSITION_ACTIVATE))
        self._lifecycle.call_async(request).add_done_callback(self._activated)

    def _activated(self, future: Future) -> None:
        if not future.result().success:
            raise ending(PreflightError(f"'{self._config.activate}' refuses to be activated"))
        self._say(f"all checks passed; '{self._config.activate}' is active")

    def _say(self, text: str) -> None:
        print(text, file=sys.stderr, flush=True)


def main() -> int:
    """Run the pre-flight check; ``--first-day FILE`` sets the parameter of that name.

    Returns:
        The exit code: 2 if a check failed.
    """
    parser = argparse.ArgumentParser(add_help=False, allow_abbrev=False)
    parser.add_argument("--first-day")
    ours, words = parser.parse_known_args(sys.argv[1:])
    if ours.first_day:
        words += ["--ros-args", "-p", f"first_day:='{ours.first_day}'"]
    return run(PreflightNode, [sys.argv[0], *words])
