"""Environment variables and names of ROS, judged before ROS reads them."""

from __future__ import annotations

import os
import re
import sys
import tempfile
from pathlib import Path

from contact_core.base.errors import ConfigError, choices

DOMAIN = "ROS_DOMAIN_ID"
LAST_DOMAIN = 232
"""The UDP ports of the next one would be beyond the last port there is."""

RANGE = "ROS_AUTOMATIC_DISCOVERY_RANGE"
RANGES = ("SUBNET", "LOCALHOST", "OFF", "SYSTEM_DEFAULT")

PROFILES = "FASTRTPS_DEFAULT_PROFILES_FILE"
NEWER_PROFILES = "FASTDDS_DEFAULT_PROFILES_FILE"


NAME = re.compile(r"~?/?[A-Za-z_]\w*(/[A-Za-z_]\w*)*/?", re.ASCII)


def check_name(name: str, what: str) -> None:
    """Refuse what cannot be the name of a node, topic, service, action or robot.

    Args:
        name: The name, with slashes between its parts.
        what: Of what, for the error.

    Raises:
        ConfigError: If it is none.
    """
    if not NAME.fullmatch(name):
        raise ConfigError(
            f"{what} '{name}' is no name in ROS (valid: letters, digits and underscores, no digit "
            "first, parts joined by slashes)"
        )


def profiles_variable() -> str:
    """Return by which variable the installed Fast DDS finds profiles: from Kilted the newer one."""
    prefixes = os.environ.get("AMENT_PREFIX_PATH", "").split(os.pathsep)
    newer = any(os.path.isdir(os.path.join(prefix, "share", "fastdds")) for prefix in prefixes)
    return NEWER_PROFILES if newer else PROFILES


def check() -> None:
    """Refuse what ROS fails on, or takes for something else; before ``rclpy.init``.

    Raises:
        ConfigError: If a variable has no valid value.
    """
    domain = os.environ.get(DOMAIN, "")
    # In C `5x` is 5, and -1 the default.
    if domain and domain not in map(str, range(LAST_DOMAIN + 1)):
        raise ConfigError(f"{DOMAIN} is '{domain}' (valid: a whole number from 0 to {LAST_DOMAIN})")
    reach = os.environ.get(RANGE, "")
    if reach and reach not in RANGES:
        raise ConfigError(f"{RANGE} is '{reach}' ({choices(RANGES, reach)})")
    # Whoever asks whether ROS is there at all has read this module, too.
    from rclpy.utilities import get_rmw_implementation_identifier

    if "fastrtps" in get_rmw_implementation_identifier():
        for name in (PROFILES, NEWER_PROFILES):
            file = os.environ.get(name, "")
            if file and not (os.path.isfile(file) and os.access(file, os.R_OK)):
                raise ConfigError(f"{name} is '{file}' (valid: an XML file that can be read)")
    _check_log_folder()


def _check_log_folder() -> None:
    """Refuse a folder that logs cannot be written to, by the variable it comes from."""
    places = {"ROS_LOG_DIR": "", "ROS_HOME": "log", "HOME": ".ros/log"}
    name = next(filter(os.environ.get, places), None)
    if name is None or "--disable-external-lib-logs" in sys.argv:
        return
    folder = Path(os.environ[name], places[name]).expanduser()
    try:
        folder.mkdir(parents=True, exist_ok=True)
        tempfile.TemporaryFile(dir=folder).close()
    except OSError as error:
        raise ConfigError(
            f"{name} is '{os.environ[name]}': no logs can be written to {folder}, "
            f"{error.strerror} (valid: a folder that can be written to)"
        ) from error
