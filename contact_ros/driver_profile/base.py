"""What a driver profile is: a translation between our dataclasses and a driver's messages."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from contact_core.base.config import parameter
from contact_core.base.errors import ConfigError
from contact_core.robot.arm_state import ArmState, TorqueKind

BEST_EFFORT = "best_effort"
RELIABLE = "reliable"

Gravity = Callable[[NDArray[np.float64]], NDArray[np.float64]]
"""From joint positions q, shape (n,) [rad], to the torque g(q) of the arm's weight [Nm]."""


@dataclass(frozen=True)
class DriverConfig:
    """What differs between installations of one driver."""

    joint_names: tuple[str, ...] = parameter(
        (),
        "names of the arm's joints, base to flange; empty: those this driver has by "
        "default, or those of the robot's file",
    )
    namespace: str = parameter(
        "", "namespace of the driver's topics; empty: that of the node that uses them"
    )
    reliability: str = parameter(
        BEST_EFFORT,
        "reliability that subscribers of the driver's topics ask for in real time",
        options=(BEST_EFFORT, RELIABLE),
    )
    torque_sign: float = parameter(
        1.0,
        "factor from the driver's external torque to that of the environment on the robot",
        options=(1.0, -1.0),
    )
    joint_torque_sign: float = parameter(
        0.0,
        "factor from the driver's measured joint torque to one that is positive where it "
        "accelerates the joint; 0: the driver's own, which is -1 for the Fast Robot Interface",
        options=(0.0, 1.0, -1.0),
    )
    joint_torque_kind: str = parameter(
        "",
        "what the driver's measured joint torque is: that of the joint, that without the arm's "
        "weight, or a motor current; empty: the driver's own",
        options=("", *(kind.value for kind in TorqueKind)),
    )
    torque_cutoff: float = parameter(
        0.0,
        "cut-off frequency of a first-order low-pass on the external torque, for drivers that "
        "do not filter it; 0 for none",
        unit="Hz",
        low=0.0,
        high=1000.0,
    )


class DriverProfile(ABC):
    """Translate states and commands; it knows topics and messages, but no node.

    An instance serves one side of the connection: decoding may keep the messages that
    belong to a state whose others have not arrived yet.

    Attributes:
        name: Value of the ``driver`` parameter that selects the profile.
        default_joint_names: What the driver calls the arm's joints in the root namespace; empty
            if it takes them from the robot.
        state_topics: Topic -> message type of everything the robot publishes.
        needed_topics: The topics of them a controller reads.
        command_topic: Topic of the commands.
        command_type: Message type of the commands.
        default_joint_torque_sign: Sign of its measured joint torque unless configured otherwise:
            1.0 where it is positive as it accelerates the joint, else -1.0.
        default_joint_torque_kind: What that torque is unless configured otherwise.
        config: What differs between installations.
        joint_names: Names of the arm's joints, from the base to the flange.
        joint_torque_sign: Sign of the measured joint torque, 1.0 or -1.0.
        joint_torque_kind: What it is.
    """

    name: ClassVar[str]
    default_joint_names: ClassVar[tuple[str, ...]]
    state_topics: ClassVar[Mapping[str, type]]
    needed_topics: ClassVar[tuple[str, ...]]
    command_topic: ClassVar[str]
    command_type: ClassVar[type]
    default_joint_torque_sign: ClassVar[float] = 1.0
    default_joint_torque_kind: ClassVar[TorqueKind] = TorqueKind.GRAVITY_INCLUDED

    def __init__(
        self, config: DriverConfig, period: float | None = None, gravity: Gravity | None = None
    ) -> None:
        """Set the profile up.

        Args:
            config: What differs between installations.
            period: Period of the states [s]; None for a listener, who takes them as they come.
            gravity: Of the arm, for whoever needs joint torques of a driver that leaves its
                weight out; None: those torques are unknown.

        Raises:
            ConfigError: If the driver does not support this configuration.
        """
        self.config = config
        self._period = period
        self._gravity = gravity
        self.joint_torque_sign = config.joint_torque_sign or self.default_joint_torque_sign
        self.joint_torque_kind = (
            TorqueKind(config.joint_torque_kind)
            if config.joint_torque_kind
            else self.default_joint_torque_kind
        )
        self.joint_names = config.joint_names or self.default_joint_names
        if len(set(self.joint_names)) != len(self.joint_names):
            raise ConfigError(f"joint_names must be all different, got {self.joint_names}")

    @classmethod
    def joints_in(cls, namespace: str) -> tuple[str, ...]:
        """Return what the driver calls the arm's joints unless configured otherwise.

        Args:
            namespace: The namespace the driver runs in, from the root; some put it before the
                names of the joints.

        Returns:
            The names, base to flange; empty if the driver takes them from the robot.
        """
        return cls.default_joint_names

    @property
    def period(self) -> float:
        """Period of the states [s]; the robot and whoever commands it have to know it.

        Raises:
            ConfigError: If the profile was set up for a listener.
        """
        if self._period is None:
            raise ConfigError(f"driver '{self.name}' was set up to listen, without a period")
        return self._period

    def topic(self, name: str) -> str:
        """Return where a topic of the driver is found.

        Args:
            name: One of ``state_topics``, or ``command_topic``.

        Returns:
            The topic, relative to the node that uses it unless a namespace is configured.
        """
        namespace = self.config.namespace
        return f"{namespace.rstrip('/')}/{name}" if namespace else name

    def concerns(self, topic: str, message: Any) -> bool:
        """Tell whether a message is about this arm; others may share a topic of joint states.

        Args:
            topic: The topic it came on.
            message: The message.

        Returns:
            False if it is about other joints alone.
        """
        return True

    def reported_torque(self, state: ArmState) -> NDArray[np.float64] | None:
        """Return the measured joint torque of a state as this driver reports it.

        Args:
            state: The state.

        Returns:
            What is reported, shape (n,) [Nm]; None if there is none, or none can be made of it.
        """
        torque, weight = state.joint_torque, self._left_out(state.position)
        if torque is None or weight is None:
            return None
        return self.joint_torque_sign * (torque - weight)

    def joint_torque(
        self, reported: NDArray[np.float64], position: NDArray[np.float64]
    ) -> NDArray[np.float64] | None:
        """Return tau_m, M qdd + C qd + g = tau_m + tau_ext, from what this driver reports.

        Args:
            reported: The measured joint torque as reported, shape (n,) [Nm].
            position: Measured joint positions q, shape (n,) [rad].

        Returns:
            tau_m, shape (n,) [Nm]; None if it cannot be told.
        """
        weight = self._left_out(position)
        return None if weight is None else self.joint_torque_sign * reported + weight

    def _left_out(self, position: NDArray[np.float64]) -> NDArray[np.float64] | float | None:
        """Return how much of the arm's weight is not in the reported torque; None if unknown."""
        if self.joint_torque_kind is TorqueKind.GRAVITY_INCLUDED:
            return 0.0
        if self.joint_torque_kind is TorqueKind.MOTOR_CURRENT or self._gravity is None:
            return None
        return self._gravity(position)

    @abstractmethod
    def encode_state(self, state: ArmState) -> Mapping[str, Any]:
        """Translate a state, on the robot's side.

        Args:
            state: The state; finite, but the velocity may be NaN.

        Returns:
            Topic -> message, in the order of publishing.
        """

    @abstractmethod
    def decode_state(self, topic: str, message: Any) -> ArmState | None:
        """Translate one message of a state, on the controller's side.

        Args:
            topic: The topic it came on.
            message: The message.

        Returns:
            The state, or None if other messages of it are still missing.

        Raises:
            MessageError: If a length or a joint name is wrong, or a value is not finite.
        """

    @abstractmethod
    def decode_position(self, topic: str, message: Any) -> NDArray[np.float64] | None:
        """Return where one message of a state says that the joints are (n) [rad].

        Args:
            topic: The topic it came on.
            message: The message.

        Returns:
            The positions; None if it does not say.

        Raises:
            MessageError: If a length or a joint name is wrong, or a value is not finite.
        """

    @abstractmethod
    def encode_command(self, position: NDArray[np.float64]) -> Any:
        """Translate a command, on the controller's side.

        Args:
            position: Commanded joint positions q_cmd, shape (n,) [rad].

        Returns:
            The message.
        """

    @abstractmethod
    def decode_command(self, message: Any) -> NDArray[np.float64]:
        """Translate a command, on the robot's side.

        Args:
            message: The message.

        Returns:
            Commanded joint positions q_cmd, shape (n,) [rad].

        Raises:
            MessageError: If the length is wrong or a value is not finite.
        """
