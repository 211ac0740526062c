"""The name that :mod:`contact_core.robot.scene` had in version 0.1."""

from contact_core.robot.scene import *  # noqa: F403
