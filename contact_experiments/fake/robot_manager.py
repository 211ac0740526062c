"""The node that begins and ends the work of KUKA's driver, after its own source.

Its parameters are set before; while it is active they are refused. The driver publishes nothing
before it is active. Of its parameters these are the ones that hardware.md sets.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from rcl_interfaces.msg import SetParametersResult
from rclpy.lifecycle import LifecycleState, TransitionCallbackReturn

from contact_experiments.fake.arm import Drive
from contact_experiments.fake.drivers import JOINTS
from contact_ros.lifecycle import ManagedNode

NAME = "robot_manager"
DRIVES = {1: Drive.POSITION, 2: Drive.IMPEDANCE}
"""Its control modes; torque control is left out."""

SHORTEST, LONGEST = 1, 10
"""Of the cycles that it takes [ms]."""


@dataclass(frozen=True)
class DriverSettings:
    """What the driver is told.

    Attributes:
        cycle_time: Of the robot [ms].
        control_mode: One of DRIVES.
        joint_stiffness: (7) of joint impedance control [Nm/rad].
    """

    cycle_time: int = 10
    control_mode: int = 1
    joint_stiffness: tuple[float, ...] = (100.0,) * JOINTS


class RobotManager(ManagedNode):
    """Tells a driver when to begin, and with what."""

    def __init__(
        self, namespace: str, begin: Callable[[DriverSettings], None], end: Callable[[], None]
    ) -> None:
        """Wait to be configured and activated.

        Args:
            namespace: Of the node.
            begin: Called when it becomes active.
            end: Called when it no longer is.
        """
        super().__init__(NAME, namespace=namespace)
        self._settings, self._active = vars(DriverSettings()), False
        self._begin, self._end = begin, end
        for name, value in self._settings.items():
            self.declare_parameter(name, value)
        self.add_on_set_parameters_callback(self._set)

    def _set(self, parameters: list[Any]) -> SetParametersResult:
        if self._active:
            return SetParametersResult(reason="not while the driver is active")
        settings = {**self._settings, **{item.name: item.value for item in parameters}}
        reason = ""
        if not SHORTEST <= settings["cycle_time"] <= LONGEST:
            reason = f"cycle_time is {SHORTEST} to {LONGEST} ms"
        elif settings["control_mode"] not in DRIVES:
            reason = f"control_mode is one of {list(DRIVES)}"
        elif len(settings["joint_stiffness"]) != JOINTS:
            reason = f"joint_stiffness has {JOINTS} values"
        else:
            self._settings = settings
        return SetParametersResult(successful=not reason, reason=reason)

    def on_activate(self, state: LifecycleState) -> TransitionCallbackReturn:
        """Let the driver begin."""
        names = DriverSettings.__dataclass_fields__
        settings = DriverSettings(**{name: self._settings[name] for name in names})
        self._active = True
        self._begin(settings)
        return super().on_activate(state)

    def on_deactivate(self, state: LifecycleState) -> TransitionCallbackReturn:
        """Let it end."""
        self._active = False
        self._end()
        return super().on_deactivate(state)
