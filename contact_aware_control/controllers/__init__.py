"""Controllers behind one interface: contact-aware ones and their baselines, by name."""

from collections.abc import Callable

from contact_aware_control.config import ControllerConfig
from contact_aware_control.controllers.base import (
    Controller,
    ControllerInput,
    ControllerOutput,
    ControllerState,
)
from contact_aware_control.controllers.baselines import (
    GreedyController,
    ImpedanceController,
    NullSpaceController,
)
from contact_aware_control.controllers.qp_controller import FrictionlessQpController, QpController
from contact_core.base.errors import ConfigError
from contact_core.base.registry import Registry
from contact_core.robot.robot import Robot

__all__ = [
    "CONTROLLERS",
    "Controller",
    "ControllerInput",
    "ControllerOutput",
    "ControllerState",
    "make_controller",
]

CONTROLLERS: Registry[Callable[[Robot, ControllerConfig], Controller]] = Registry(
    "controller",
    {
        "qp": QpController,
        "qp_frictionless": FrictionlessQpController,
        "null_space": NullSpaceController,
        "greedy": GreedyController,
        "impedance": ImpedanceController,
    },
    group="contact_stack.controllers",
)
"""Name -> controller, made of the arm and every parameter."""


def make_controller(robot: Robot, config: ControllerConfig) -> Controller:
    """Create the controller that a configuration names.

    Args:
        robot: The arm, for this controller alone.
        config: Every parameter.

    Returns:
        The controller.

    Raises:
        ConfigError: If there is no controller of that name, it limits forces but does not say how
            it gives way, or it is refused on hardware.
    """
    controller = CONTROLLERS[config.controller](robot, config)
    if controller.limits_force and type(controller).give_way is Controller.give_way:
        raise ConfigError(
            f"controller '{config.controller}' limits forces and has no give_way: while nothing is "
            "followed it would hold against any of them"
        )
    if config.hardware and not controller.limits_force:
        raise ConfigError(
            f"controller '{config.controller}' has no force limits and is refused on hardware"
        )
    return controller
