"""Driver profiles: the same graph drives the simulator and the hardware's drivers."""

from contact_ros.driver_profile.base import DriverConfig, DriverProfile, MessageError
from contact_ros.driver_profile.controller_side import NO_STATES, CommandWriter, StateReader
from contact_ros.driver_profile.overlay import OVERLAYS, OverlayReader, OverlayWriter
from contact_ros.driver_profile.registry import PROFILES, driver_profile
from contact_ros.driver_profile.rejections import Rejections
from contact_ros.driver_profile.robot_side import RobotSide

__all__ = [
    "NO_STATES",
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
