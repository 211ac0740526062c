"""The name that :mod:`contact_core.base.files` had in version 0.1."""

from contact_core.base.files import *  # noqa: F403
