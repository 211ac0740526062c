"""The ground everything stands on, free of ROS: robots, scenes, shapes, quadratic programs.

The names below are imported when first used.
"""

from typing import TYPE_CHECKING

from contact_core.lazy import lazy_names

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
    from contact_core.description import RobotDescription
    from contact_core.errors import ContactStackError
    from contact_core.files import share
    from contact_core.inverse_kinematics import InverseKinematics
    from contact_core.registry import Registry
    from contact_core.robot import Robot
    from contact_core.scene import Scene
else:
    __getattr__ = lazy_names(
        __name__,
        {
            "description": ("RobotDescription",),
            "errors": ("ContactStackError",),
            "files": ("share",),
            "inverse_kinematics": ("InverseKinematics",),
            "registry": ("Registry",),
            "robot": ("Robot",),
            "scene": ("Scene",),
        },
    )
