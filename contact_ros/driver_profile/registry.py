"""The driver profiles by name."""

from __future__ import annotations

from contact_core.errors import ConfigError, choices
from contact_ros.driver_profile.base import DriverConfig, DriverProfile
from contact_ros.driver_profile.kuka_drivers import KukaDrivers
from contact_ros.driver_profile.lbr_fri import LbrFri
from contact_ros.driver_profile.ros2_control import Ros2Control

PROFILES: dict[str, type[DriverProfile]] = {
    profile.name: profile for profile in (LbrFri, KukaDrivers, Ros2Control)
}


def driver_profile(name: str, config: DriverConfig, period: float | None = None) -> DriverProfile:
    """Build a driver profile.

    Args:
        name: Its name, the value of the ``driver`` parameter.
        config: Names and signs.
        period: Period of the states [s], for the robot and for whoever commands it; None for a
            listener, who takes them as they come.

    Returns:
        The profile.

    Raises:
        ConfigError: If there is no such profile or it does not support the configuration.
    """
    if name not in PROFILES:
        raise ConfigError(f"unknown driver '{name}' ({choices(PROFILES)})")
    return PROFILES[name](config, period)
