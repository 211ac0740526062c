"""The name that :mod:`contact_core.base.errors` had in version 0.1."""

from contact_core.base.errors import *  # noqa: F403
