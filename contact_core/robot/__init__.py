"""A robot and its scene as configuration and kinematics, and what a driver says of it."""

from typing import TYPE_CHECKING

from contact_core.base.lazy import lazy_names

__all__ = ["Robot"]

if TYPE_CHECKING:
    from contact_core.robot.robot import Robot
else:
    __getattr__ = lazy_names(__name__, {"robot": ("Robot",)})
