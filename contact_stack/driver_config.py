"""The command ``contact-stack driver-config``: configure a driver for one robot and our rate.

``hardware.launch.xml`` runs it. It changes a copy of the driver's own files, of the version that
is installed: its controllers and filters differ from version to version, and the names of
robots and joints are written out in them.
"""

from __future__ import annotations

import argparse
import re
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import yaml

from contact_core.base.errors import ConfigError, choices
from contact_core.base.files import cache_folder, replacement, share
from contact_core.base.results import at_least
from contact_stack.fri.wire import VERSIONS
from contact_stack.launch.substitutions import package_share

EPILOG = """examples:
  contact-stack driver-config lbr_fri --robot-name left --fri 2.5
  contact-stack driver-config kuka_drivers

It prints the folder with the files. The launch file hardware does all this by itself."""

RATE = 200
"""Rate of the controller, and of the driver's cycle [Hz]."""

TORQUE_TAU = 0.016
"""Time constant of the driver's low-pass on the external torque [s]: 10 Hz. Its own default is
0.04 to 0.1 s: what is smoothed is felt later."""

LBR_NAME = "lbr"
LBR_CONTROLLERS = ("hardware_controllers.yaml", "lbr_controllers.yaml")
"""Names of the file of controllers, in the newest versions first."""

LBR_SYSTEM = "lbr_system_config.yaml"
KUKA_PACKAGE = "kuka_sunrise_fri_driver"
KUKA_MANAGER = "ros2_controller_config.yaml"

Files = dict[str, Any]
"""Name of a file -> what it says."""


def lbr_fri(args: argparse.Namespace) -> Files:
    """Make the files of lbr_fri_ros2_stack.

    Args:
        args: The parsed command line.

    Returns:
        ``controllers.yaml`` for its argument ``ctrl_cfg`` and ``system.yaml`` for ``sys_cfg``.

    Raises:
        LaunchError: If the driver is not installed.
        ConfigError: If it is too old, or a file of it cannot be read.
    """
    folder = Path(package_share("lbr_description"), "ros2_control")
    controllers = [folder / name for name in LBR_CONTROLLERS if (folder / name).is_file()]
    system = _read(folder / LBR_SYSTEM) if (folder / LBR_SYSTEM).is_file() else {"hardware": {}}
    hardware = system["hardware"]
    if not controllers or "joint_position_tau" not in hardware:
        raise ConfigError(
            "this lbr_fri_ros2_stack is too old: up to 2.1.2 it reports commands in the place of "
            "positions (open_loop), or integrates against a contact; install the version in "
            "config/drivers"
        )
    major, _, minor = args.fri.partition(".")
    hardware["fri_client_sdk"] = {"major_version": int(major), "minor_version": int(minor)}
    hardware |= {"port_id": args.port, "external_torque_tau": TORQUE_TAU, "open_loop": False}
    manager = _read(controllers[0])
    _set_update_rate(manager, args.rate)

    def rename(key: str, text: str) -> str:
        if key == "robot_name":
            return str(args.robot_name)
        return re.sub(rf"^{LBR_NAME}_(?=A\d$|link_)", f"{args.robot_name}_", text)

    return {
        "controllers.yaml": _texts_replaced(manager, rename),
        "system.yaml": _texts_replaced(system, rename),
    }


def kuka_drivers(args: argparse.Namespace) -> Files:
    """Make the files of kuka_drivers.

    Args:
        args: The parsed command line.

    Returns:
        The files of its folder of controllers, under their own names.

    Raises:
        LaunchError: If the driver is not installed.
        ConfigError: If it has not the files we know, or one cannot be read.
    """
    folder = Path(package_share(KUKA_PACKAGE), "config")
    files = {path.name: _read(path) for path in sorted(folder.glob("*.yaml"))}
    if KUKA_MANAGER not in files:
        raise ConfigError(f"{folder} has no {KUKA_MANAGER}: the driver is not of a known version")
    _set_update_rate(files[KUKA_MANAGER], args.rate)

    def rename(key: str, text: str) -> str:
        return re.sub(r"^(?=joint_\d$)", f"{args.robot_name}_", text)

    return {name: _texts_replaced(content, rename) for name, content in files.items()}


def fri(args: argparse.Namespace) -> Files:
    """Make the file of our own driver for robots that speak FRI.

    Args:
        args: The parsed command line.

    Returns:
        Its parameter file ``fri_driver.yaml``.

    Raises:
        ConfigError: If a rate is given, or the shipped one cannot be read.
    """
    if args.rate is not None:
        raise ConfigError("fri takes no --rate: it is for lbr_fri and kuka_drivers")
    parameters = _read(share("config", "fri_driver.yaml"))
    parameters["/**/fri_driver"]["ros__parameters"] |= {"version": args.fri, "port": args.port}
    return {"fri_driver.yaml": parameters}


DRIVERS: Mapping[str, Callable[[argparse.Namespace], Files]] = {
    function.__name__: function for function in (lbr_fri, fri, kuka_drivers)
}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the command line.

    Args:
        parser: The parser of this command.
    """
    parser.epilog = EPILOG
    parser.add_argument("driver", choices=tuple(DRIVERS), help="the driver that is installed")
    parser.add_argument("--robot-name", default=LBR_NAME, help=f"namespace ({LBR_NAME})")
    parser.add_argument(
        "--fri", choices=VERSIONS, default="1.15", help="lbr_fri, fri: version of the FRI (1.15)"
    )
    parser.add_argument(
        "--port", type=at_least(1, 65535), default=30200, help="lbr_fri, fri: UDP port (30200)"
    )
    parser.add_argument(
        "--rate", type=at_least(1, 1000),
        help=f"lbr_fri, kuka_drivers: controllers' rate [Hz] ({RATE})",
    )  # fmt: skip
    parser.add_argument("--out", type=Path, help="folder to write to (in the user's cache)")


def main(args: argparse.Namespace) -> int:
    """Run the command.

    Args:
        args: The parsed command line.

    Returns:
        The exit code.

    Raises:
        LaunchError: If the driver is not installed.
        ConfigError: If it is of an unknown version, or an argument is wrong.
    """
    robot_name = namespace(args.robot_name)
    folder = args.out or cache_folder("drivers") / args.driver / robot_name
    files = DRIVERS[args.driver](args)
    folder.mkdir(parents=True, exist_ok=True)
    for name, content in files.items():
        with replacement(folder / name) as path:
            path.write_text(yaml.safe_dump(content, sort_keys=False))
    # A launch file takes all that is printed, a line's end too.
    print(folder.resolve(), end="")
    return 0


def namespace(name: str) -> str:
    """Check the option ``--robot-name``.

    Args:
        name: Its value.

    Returns:
        The same.

    Raises:
        ConfigError: If it is no name of a namespace.
    """
    if not re.fullmatch(r"[A-Za-z]\w*", name):
        raise ConfigError(f"--robot-name '{name}' is no name of a namespace (valid: e.g. left)")
    return name


def _read(path: Path) -> Any:
    try:
        return yaml.safe_load(path.read_text())
    except (OSError, yaml.YAMLError) as error:
        raise ConfigError(f"cannot read {path}: {error}") from error


def _set_update_rate(controllers: Any, rate: int | None) -> None:
    """Set the rate of the controller manager in a parameter file, ours if none is given."""
    sections = [s for node, s in controllers.items() if node.endswith("controller_manager")]
    if not sections:
        raise ConfigError(f"no controller_manager in the driver's file ({choices(controllers)})")
    sections[0]["ros__parameters"]["update_rate"] = rate or RATE


def _texts_replaced(value: Any, replace: Callable[[str, str], str], key: str = "") -> Any:
    """Return a YAML value with its texts replaced, each by its key and itself."""
    if isinstance(value, dict):
        return {name: _texts_replaced(item, replace, name) for name, item in value.items()}
    if isinstance(value, list):
        return [_texts_replaced(item, replace, key) for item in value]
    return replace(key, value) if isinstance(value, str) else value
