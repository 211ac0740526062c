"""The name that :mod:`contact_core.robot.description` had in version 0.1."""

from contact_core.robot.description import *  # noqa: F403
