"""Driver profiles by name: the same graph drives the simulator and the hardware's drivers."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from contact_core.base.errors import ConfigError
from contact_core.base.registry import Registry
from contact_ros.driver_profile.base import DriverConfig, DriverProfile, Gravity
from contact_ros.driver_profile.endpoints import CommandWriter, RobotSide, StateReader
from contact_ros.driver_profile.lbr_fri import Fri, LbrFri
from contact_ros.driver_profile.overlay import OVERLAYS, OverlayReader, OverlayWriter
from contact_ros.driver_profile.ros2_control import KukaDrivers, Ros2Control
from contact_ros.validation import MessageError, Rejections

__all__ = [
    "OVERLAYS",
    "PROFILES",
    "CommandWriter",
    "DriverConfig",
    "DriverProfile",
    "MessageError",
    "OverlayReader",
    "OverlayWriter",
    "Rejections",
    "RobotSide",
    "StateReader",
    "driver_profile",
]

PROFILES: Registry[type[DriverProfile]] = Registry(
    "driver",
    {profile.name: profile for profile in (LbrFri, Fri, KukaDrivers, Ros2Control)},
    group="contact_stack.drivers",
)
"""The drivers that the parameter ``driver`` may name; other packages add theirs."""


def driver_profile(
    name: str,
    config: DriverConfig,
    period: float | None = None,
    joints: Sequence[str] = (),
    namespace: str = "/",
    gravity: Gravity | None = None,
) -> DriverProfile:
    """Build a driver profile.

    Args:
        name: Its name, the value of the ``driver`` parameter.
        config: Names and signs.
        period: Period of the states [s], for the robot and for whoever commands it; None for a
            listener, who takes them as they come.
        joints: The arm's joints in the robot's file, base to flange: their names for a driver
            that has none of its own.
        namespace: Namespace of the node that uses the profile: that of the driver too, unless the
            configuration names another.
        gravity: Of the arm, see :class:`DriverProfile`.

    Returns:
        The profile.

    Raises:
        ConfigError: If there is no such profile, or it does not support the configuration or has
            another number of joints.
    """
    kind = PROFILES[name]
    if not config.joint_names:
        names = kind.joints_in(config.namespace or namespace) or tuple(joints)
        config = replace(config, joint_names=names)
    profile = kind(config, period, gravity)
    if joints and len(profile.joint_names) != len(joints):
        raise ConfigError(
            f"driver '{name}' has {len(profile.joint_names)} joints, the robot {len(joints)}: "
            "choose another driver or robot, or set arm.joint_names"
        )
    return profile
