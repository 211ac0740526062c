"""The contact estimator in the graph: joint states in, contacts out."""

from __future__ import annotations

import math
import sys
import threading
import time
from array import array
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np
from contact_stack_msgs.msg import Contact, ContactArray
from contact_stack_msgs.srv import SetPayload
from rclpy.serialization import deserialize_message, serialize_message
from sensor_msgs.msg import JointState, PointCloud2, PointField
from std_srvs.srv import Trigger
from visualization_msgs.msg import Marker, MarkerArray

from contact_aware_control.contact import MISSING
from contact_aware_control.estimation import make_estimator
from contact_aware_control.estimation.base import EstimatorOutput, EstimatorStatus
from contact_aware_control.estimation.config import ObserverConfig
from contact_aware_control.estimation.estimator import ContactEstimator
from contact_aware_control.estimation.identifiability import ContactProspect
from contact_aware_control.estimation.joint_torque import JointTorqueWatch, TorqueReading
from contact_aware_control.estimation.momentum_observer import MomentumObserver
from contact_aware_control.estimation.tare import TareStatus
from contact_aware_control.estimation.tool_surface import MAX_OPENING
from contact_aware_control.estimation.torque_balance import HEAVIEST, MAX_CENTER
from contact_aware_control.node.config import DRIVER, MOMENTUM_OBSERVER, EstimatorNodeConfig
from contact_aware_control.node.memory import EstimatorMemory
from contact_aware_control.node.messages import ContactsMessage, held_shapes
from contact_aware_control.precompile import precompile_estimator
from contact_core.base.errors import ConfigError, choices
from contact_core.robot.arm_state import ArmState, TorqueKind
from contact_core.robot.description import RobotDescription
from contact_core.robot.robot import Robot
from contact_ros.diagnostics import Diagnostics, Health, Level
from contact_ros.driver_profile import DriverProfile, StateReader, driver_profile
from contact_ros.entry_point import freeze_garbage_collector, run
from contact_ros.geometry import to_array, to_point
from contact_ros.guarded_node import GuardedNode
from contact_ros.identity import announce_robot
from contact_ros.lockstep import Participant, TickInputs
from contact_ros.loop import ErrorRelay, MessageThread
from contact_ros.parameters import read
from contact_ros.qos import signal_publisher, signal_subscription
from contact_ros.real_time import enter_real_time
from contact_ros.stamps import MAX_START, NANOSECONDS, to_nanoseconds
from contact_ros.validation import (
    MAX_FORCE,
    MAX_POSITION,
    MessageError,
    named_numbers,
    number,
    vector,
)

NAME = "contact_estimator"
METRES_PER_NEWTON = 0.01
PARTICLE_PERIOD = 33_000_000
"""Least time between two clouds of particles, which are for people to see [ns]."""

PROSPECTS = 8
"""Places on every link that the diagnostics look at, which takes 20 to 40 ms without the GIL."""

PROSPECT_PERIOD = 5.0
"""Least time between two such looks [s]."""

SAME = 0.01
"""Change of a joint [rad], or of what is not known of its torque [Nm], that makes no difference to
what could be told of contacts."""

BELIEVED = {
    "position": MAX_POSITION,
    "external_torque": MAX_FORCE,
    "joint_torque": MAX_FORCE,
}
"""Field of a state -> largest magnitude an estimate can be made from [rad or Nm]."""


KEEP_PERIOD = 5.0
"""How often it keeps what it knows, unless a payload is declared [s]."""

FAILED = (TareStatus.TOUCHED, TareStatus.VARIATION, TareStatus.BIAS)
"""Without a tare contacts are felt late, or in the wrong places."""

OBSERVABLE = [kind.value for kind in TorqueKind if kind is not TorqueKind.MOTOR_CURRENT]
"""What of a driver's measured joint torque the momentum observer can work with."""


class TorqueSource:
    """Takes the external torque from the driver, or estimates it.

    Attributes:
        problem: What is wrong and what to do about it; empty if all is well.
    """

    def __init__(
        self, name: str, robot: Robot, observer: ObserverConfig, reading: TorqueReading
    ) -> None:
        """Choose the source.

        Args:
            name: One of SOURCES.
            robot: The arm.
            observer: Parameters of the momentum observer.
            reading: How the driver's joint torque is taken.

        Raises:
            ConfigError: If the momentum observer is chosen for a torque that is none.
        """
        self._observer = MomentumObserver(robot, observer) if name == MOMENTUM_OBSERVER else None
        self._reading = reading
        self._watch = JointTorqueWatch(robot, reading)
        self.problem = ""
        kind = reading.kind.value
        if self._observer is not None and kind not in OBSERVABLE:
            raise ConfigError(
                f"torque_source '{MOMENTUM_OBSERVER}' needs joint torques, the driver's are "
                f"'{kind}' by arm.joint_torque_kind ({choices(OBSERVABLE)}): set torque_source to "
                f"'{DRIVER}'"
            )

    def reset(self) -> None:
        """Begin anew."""
        if self._observer is not None:
            self._observer.reset()
        self._watch.reset()

    def torque(self, state: ArmState) -> np.ndarray | None:
        """Return the external torque of a state.

        Args:
            state: The state.

        Returns:
            (n) tau_ext [Nm]; None if it cannot be told.
        """
        if self._observer is None:
            return state.external_torque
        self._watch.update(state)
        if right := self._watch.right:
            reading = self._reading
            self.problem = (
                f"no contacts are estimated, {reading.found_instead(right)}: "
                f"{reading.remedy(right)}"
            )
            return None
        torque = self._observer.update(state)
        self.problem = (
            ""
            if torque is not None
            else "no joint torques for the momentum observer: set torque_source to 'driver'"
        )
        return torque


class EstimatorNode(GuardedNode):
    """Estimate at every joint state."""

    def __init__(self) -> None:
        """Build the estimator and connect it.

        Raises:
            ContactStackError: If a parameter, the robot or the driver profile is wrong.
        """
        super().__init__(NAME)
        config = read(self, EstimatorNodeConfig)
        # Even from the cache a kernel takes a while to load: not at the first contact.
        precompile_estimator()
        description = config.description()
        if not config.errors.calibration and description.calibration is not None:
            errors = replace(config.errors, calibration=str(description.calibration))
            config = replace(config, errors=errors)
        self._robot = Robot.from_description(description)
        profile = driver_profile(
            config.driver,
            config.arm,
            None,
            description.arm_joints,
            self.get_namespace(),
            self._robot.gravity_torque,
        )
        self._build_estimator(config, description, profile)
        self._announcement = announce_robot(self, description)
        self._publish(description, config.lockstep)
        self._take_requests()
        self._hear_robot(config, description, profile)
        freeze_garbage_collector()

    def _build_estimator(
        self, config: EstimatorNodeConfig, description: RobotDescription, profile: DriverProfile
    ) -> None:
        """Make the estimator, and what is known between two of its updates."""
        self._estimator = make_estimator(self._robot, config)
        arm = Robot.from_description(description)
        self._prospect = ContactProspect(arm, config, places=PROSPECTS)
        reading = TorqueReading(profile.joint_torque_sign, profile.joint_torque_kind)
        self._source = TorqueSource(config.torque_source, self._robot, config.observer, reading)
        self._seed = config.seed
        if config.held.mass > 0.0:
            self._estimator.set_payload(
                config.held.mass, np.array(config.held.center_of_mass), start_ns=0
            )
        self._memory = EstimatorMemory(self.get_fully_qualified_name(), description.fingerprint)
        self._declared: SetPayload.Request | None = None
        self._next_kept = 0.0
        # States have a thread of their own in real time.
        self._lock = threading.Lock()
        self._stamp = 0
        self._updates = 0
        self._last: EstimatorOutput | None = None
        self._position: np.ndarray | None = None
        self._recall()

    def _recall(self) -> None:
        """Go on with what one that has died under the same launch knew: the arm may be touched."""
        found = self._memory.recall()
        if found is None or not isinstance(self._estimator, ContactEstimator):
            return
        memory, age = found
        payload = memory.pop("payload").tobytes()
        self._estimator.recall(memory)
        if payload:
            self._declare(deserialize_message(payload, SetPayload.Request))
        self.get_logger().warning(
            f"goes on with the bias and the payload of {age:.0f} s ago, when this node died; call "
            "contact_estimator/tare while nothing touches the arm to measure the bias anew"
        )

    def _remember(self) -> None:
        """Keep what is known, now and then: that takes a millisecond from the estimates."""
        due = time.monotonic() >= self._next_kept
        if due and isinstance(self._estimator, ContactEstimator):
            with self._lock:
                memory = self._estimator.memory()
            if memory:
                self._next_kept = time.monotonic() + KEEP_PERIOD
                payload = b"" if self._declared is None else serialize_message(self._declared)
                self._memory.keep({**memory, "payload": np.frombuffer(payload, dtype=np.uint8)})

    def _publish(self, description: RobotDescription, lockstep: bool) -> None:
        """Tell contacts, as messages and as pictures, and how everything is."""
        self._message = ContactsMessage(description.base_link)
        signal = signal_publisher(lockstep)
        self._contacts = self.create_publisher(ContactArray, "contacts", signal)
        self._markers = self.create_publisher(MarkerArray, "contact_markers", signal)
        self._particles = self.create_publisher(PointCloud2, "contact_particles", 1)
        self._clouded = 0
        self._told_missing = False
        self._judged: np.ndarray | None = None
        self._next_prospects = 0.0
        self._told: Mapping[str, str] = {}
        self._diagnostics = Diagnostics(
            self, lambda: self._reader.rejections.report(self._health())
        )

    def _take_requests(self) -> None:
        """Tare, forget or take a payload into account when somebody asks for it."""
        self.create_service(Trigger, "contact_estimator/tare", self._tare)
        self.create_service(Trigger, "contact_estimator/reset", self._reset)
        self.create_service(SetPayload, "set_payload", self._set_payload)

    def _hear_robot(
        self, config: EstimatorNodeConfig, description: RobotDescription, profile: DriverProfile
    ) -> None:
        """Receive states, at the simulator's ticks or in a thread of their own."""
        lockstep = config.lockstep
        self._gripper_joint = description.gripper_joint
        inputs = ["state", "gripper"] if self._gripper_joint else ["state"]
        self._inputs = TickInputs(inputs, self._handle_tick)
        self._participant = Participant(self, NAME, self._inputs.tick) if lockstep else None
        self._reader = StateReader(self, profile, lockstep, self._state_arrived)
        gripper = []
        if self._gripper_joint:
            qos, topic = signal_subscription(lockstep), "gripper/joint_states"
            gripper = [self.create_subscription(JointState, topic, self._gripper_moved, qos)]
        self._messages: MessageThread | None = None
        if self._participant is not None:
            self._participant.announce()
            return
        self._messages = MessageThread(
            self,
            ErrorRelay(self),
            *self._reader.subscriptions,
            beside=gripper,
            on_start=lambda: enter_real_time(config.real_time),
        )

    def close(self) -> None:
        """Hear no more states, and leave nothing to remember unless an error ends the node."""
        if self._messages is not None:
            self._messages.stop()
        if sys.exc_info()[0] is None:
            self._memory.forget()

    def _state_arrived(self, state: ArmState) -> None:
        for field, largest in BELIEVED.items():
            values = getattr(state, field)
            if values is not None and max(map(abs, values.tolist())) > largest:
                raise MessageError(f"{field} is {values.tolist()} (valid: at most {largest:g})")
        if self._participant is None:
            self._update(state)
        else:
            self._inputs.put("state", state.stamp, state)

    def _gripper_moved(self, message: JointState) -> None:
        moved = named_numbers(message.name, message.position, "position", MAX_POSITION)
        if (joint := self._gripper_joint) in moved:
            number(moved[joint], f"position of '{joint}'", -MAX_OPENING, MAX_OPENING)
        if self._participant is None:
            self._open(moved)
        else:
            self._inputs.put("gripper", to_nanoseconds(message.header.stamp), moved)

    def _open(self, moved: Mapping[str, float]) -> None:
        """Put the fingers where a message has them; without one they stay where they were."""
        if self._gripper_joint in moved:
            with self._lock:
                self._estimator.set_gripper(moved[self._gripper_joint])

    def _handle_tick(self, k: int, samples: Mapping[str, Any]) -> None:
        assert self._participant is not None
        self._open(samples.get("gripper", {}))
        self._update(samples["state"])
        self._participant.done(k)

    def _update(self, state: ArmState) -> None:
        with self._lock:
            self._estimate(state)

    def _estimate(self, state: ArmState) -> None:
        if state.stamp == self._stamp:
            return  # A simulation that pauses says again where the arm is.
        torque = self._source.torque(state)
        if torque is None:
            return
        if torque is not state.external_torque:
            state = replace(state, external_torque=torque)
        output = self._estimator.update(state)
        self._stamp = state.stamp
        self._updates += 1
        self._last = output
        if output.status is EstimatorStatus.REJECTED:
            self._reader.rejections.add(output.status.value)
            return
        self._position = state.position
        message = self._message.fill(output)
        self._contacts.publish(message)
        if self._markers.get_subscription_count():
            self._markers.publish(_markers(message))
        self._show_particles(message)

    def _show_particles(self, message: ContactArray) -> None:
        """Publish the particles, if somebody looks and it is time."""
        estimator, elapsed = self._estimator, self._stamp - self._clouded
        if not isinstance(estimator, ContactEstimator) or 0 <= elapsed < PARTICLE_PERIOD:
            return
        if self._particles.get_subscription_count():
            self._clouded = self._stamp
            self._particles.publish(_cloud(message, estimator.particles))

    def _tare(self, request: Trigger.Request, response: Trigger.Response) -> Trigger.Response:
        with self._lock:
            self._estimator.tare()
        response.success = True
        response.message = "taring: keep the robot free of contact"
        return response

    def _reset(self, request: Trigger.Request, response: Trigger.Response) -> Trigger.Response:
        with self._lock:
            self._estimator.reset(self._seed)
            self._source.reset()
            self._declared = None
        self._memory.forget()
        response.success = True
        response.message = "everything forgotten, payload included; taring"
        return response

    def _set_payload(
        self, request: SetPayload.Request, response: SetPayload.Response
    ) -> SetPayload.Response:
        self._declare(request)
        response.success = True
        return response

    def _declare(self, request: SetPayload.Request) -> None:
        """Let a payload count.

        Raises:
            MessageError: If it is not plausible.
        """
        mass = number(request.mass, "mass [kg]", 0.0, HEAVIEST)
        center = vector(request.center_of_mass, "center_of_mass [m]", MAX_CENTER)
        start = to_nanoseconds(request.start) or self._stamp
        if self._stamp and start > self._stamp + MAX_START * NANOSECONDS:
            raise MessageError(
                f"start lies {(start - self._stamp) / NANOSECONDS:.3g} s ahead (valid: at most "
                f"{MAX_START:g} s)"
            )
        shapes = held_shapes(request)
        with self._lock:
            self._estimator.set_payload(mass, center, start, shapes)
            self._declared, self._next_kept = request, 0.0

    def _health(self) -> Health:
        updates, self._updates = self._updates, 0
        last = self._last
        values: dict[str, object] = {"updates_per_second": updates}
        if self._source.problem:
            return Health(Level.ERROR, self._source.problem, values)
        if last is None or updates == 0:
            return Health(Level.STALE, self._reader.absence, values)
        values["contacts"] = len(last.contacts)
        values["residual"] = f"{math.sqrt(last.residual):.2f}"
        values["tare"] = last.tare.value
        self._remember()
        values["bias_max_Nm"] = f"{np.abs(last.bias).max():.3f}"
        values["calibrated"] = last.calibrated
        values["undeclared_load_kg"] = f"{last.load:.2f}"
        values.update(self._prospects())
        if last.load < -MISSING:
            return Health(Level.WARN, self._missing_payload(-last.load), values)
        self._told_missing = False
        if last.tare in FAILED:
            return Health(Level.WARN, last.tare.value, values)
        return Health(Level.OK, last.status.value, values)

    def _prospects(self) -> Mapping[str, str]:
        """Say of every link what the torques could tell of contacts with it now."""
        if self._position is None:
            return {}
        with self._lock:
            estimator, q = self._estimator, self._position
            errors = estimator.torque_errors if isinstance(estimator, ContactEstimator) else None
        now = q if errors is None else np.concatenate((q, np.sqrt(errors.diagonal())))
        changed = self._judged is None or np.abs(now - self._judged).max() > SAME
        if changed and time.monotonic() >= self._next_prospects:
            self._judged, self._next_prospects = now, time.monotonic() + PROSPECT_PERIOD
            links = self._prospect.at(q, errors=errors).by_link()
            self._told = {
                f"identifiable_{link}": f"felt from {can.felt:.0f} N, worst "
                f"{can.felt_everywhere:.0f} N; place told of {can.located:.0%}, line of force "
                f"of {can.wrench_known:.0%}"
                for link, can in links.items()
            }
        return self._told

    def _missing_payload(self, mass: float) -> str:
        """Say that less hangs on the arm than was declared [kg], once in the log, too."""
        text = (
            f"the torques show {mass:.2f} kg less than the declared payload: set the payload to "
            "what is held; one that is still to be lifted counts once it hangs on the arm"
        )
        if not self._told_missing:
            self._told_missing = True
            self.get_logger().warning(text)
        return text


def main() -> int:
    """Run the contact estimator.

    Returns:
        The exit code.
    """
    return run(EstimatorNode)


def _markers(message: ContactArray) -> MarkerArray:
    """Return the contact forces as arrows for RViz; old ones are deleted."""
    clear = Marker(header=message.header, ns="contacts", action=Marker.DELETEALL)
    arrows = [_arrow(message, index, contact) for index, contact in enumerate(message.contacts)]
    return MarkerArray(markers=[clear, *arrows])


def _cloud(message: ContactArray, points: np.ndarray) -> PointCloud2:
    """Return places (N, 3) [m] as a message."""
    fields = [
        PointField(name=axis, offset=4 * i, datatype=PointField.FLOAT32, count=1)
        for i, axis in enumerate("xyz")
    ]
    cloud = PointCloud2(header=message.header, height=1, width=len(points), fields=fields)
    cloud.point_step, cloud.row_step, cloud.is_dense = 12, 12 * len(points), True
    cloud.data = array("B", points.astype("<f4").tobytes())
    return cloud


def _arrow(message: ContactArray, index: int, contact: Contact) -> Marker:
    arrow = Marker(
        header=message.header, ns="contacts", id=index, type=Marker.ARROW, action=Marker.ADD
    )
    tail = to_point(to_array(contact.point) - METRES_PER_NEWTON * to_array(contact.force))
    arrow.points = [tail, contact.point]
    arrow.scale.x, arrow.scale.y, arrow.scale.z = 0.01, 0.02, 0.03
    arrow.color.b, arrow.color.g, arrow.color.a = 0.6, 0.43, 1.0
    return arrow
