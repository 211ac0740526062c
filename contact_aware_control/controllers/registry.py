"""Controllers by name."""

from __future__ import annotations

from collections.abc import Callable

from contact_aware_control.config import ControllerConfig
from contact_aware_control.controllers.base import Controller
from contact_aware_control.controllers.frictionless_controller import (
    FrictionlessQpController,
)
from contact_aware_control.controllers.greedy_controller import GreedyController
from contact_aware_control.controllers.null_space_controller import NullSpaceController
from contact_aware_control.controllers.qp_controller import QpController
from contact_core.errors import ConfigError, choices
from contact_core.robot import Robot

CONTROLLERS: dict[str, Callable[[Robot, ControllerConfig], Controller]] = {
    "qp": QpController,
    "qp_frictionless": FrictionlessQpController,
    "null_space": NullSpaceController,
    "greedy": GreedyController,
}


def make_controller(robot: Robot, config: ControllerConfig) -> Controller:
    """Create the controller that a configuration names.

    Args:
        robot: The arm, for this controller alone.
        config: Every parameter.

    Returns:
        The controller.

    Raises:
        ConfigError: If there is no controller of that name, or it is refused on hardware.
    """
    if config.controller not in CONTROLLERS:
        raise ConfigError(f"unknown controller '{config.controller}' ({choices(CONTROLLERS)})")
    controller = CONTROLLERS[config.controller](robot, config)
    if config.hardware and not controller.limits_force:
        raise ConfigError(
            f"controller '{config.controller}' has no force limits and is refused on hardware"
        )
    return controller
