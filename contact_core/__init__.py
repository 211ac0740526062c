"""The ground everything stands on, free of ROS: robots, scenes, shapes, quadratic programs.

The names below are imported when first used.
"""

from typing import TYPE_CHECKING

from contact_core.base.lazy import lazy_names

__all__ = [
    "ContactStackError",
    "InverseKinematics",
    "Registry",
    "Robot",
    "RobotDescription",
    "Scene",
    "share",
]

if TYPE_CHECKING:
    from contact_core.base.errors import ContactStackError
    from contact_core.base.files import share
    from contact_core.base.registry import Registry
    from contact_core.robot.description import RobotDescription
    from contact_core.robot.inverse_kinematics import InverseKinematics
    from contact_core.robot.robot import Robot
    from contact_core.robot.scene import Scene
else:
    __getattr__ = lazy_names(
        __name__,
        {
            "robot.description": ("RobotDescription",),
            "base.errors": ("ContactStackError",),
            "base.files": ("share",),
            "robot.inverse_kinematics": ("InverseKinematics",),
            "base.registry": ("Registry",),
            "robot.robot": ("Robot",),
            "robot.scene": ("Scene",),
        },
    )
