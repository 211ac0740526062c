"""The command ``contact-stack import``: an arm for the graph from its maker's model."""

from __future__ import annotations

import argparse
import os
import re
import shlex
import shutil
import sys
import tempfile
import warnings
from dataclasses import asdict
from pathlib import Path

from contact_core.base.errors import ConfigError, ContactStackError, ModelWarning, choices
from contact_core.base.results import add_json_option, write_json
from contact_core.robot.description import RobotDescription
from contact_core.robot.robot import Robot
from contact_stack.arm_import.build import Built, ImportOptions, build_robot
from contact_stack.arm_import.check import FORCE, LOCATED, ArmCheck, check_arm, draw_check
from contact_stack.arm_import.source import find_model, read_source

EPILOG = """examples:
  contact-stack import my_arm.urdf
  contact-stack import my_arm.urdf.xacro name:=left --package-path ~/ws/src
  contact-stack import example-robot-data:z1 --out z1
  contact-stack import dual_arm.urdf --base torso --tip left_tool0
  contact-stack import pybullet_data:franka_panda --tip panda_hand --axis z

It writes NAME.yaml, NAME.urdf, meshes and a picture of where contacts are
located, and prints what it guessed and the line that launches the arm."""

_RANDOM = 8  # letters that tempfile adds to a prefix
_AXES = ("x", "y", "z", "-x", "-y", "-z")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the command line.

    Args:
        parser: The parser of this command.
    """
    parser.epilog = EPILOG
    parser.add_argument(
        "model", metavar="MODEL",
        help="URDF, xacro, MJCF or SDF file, or PACKAGE:NAME of an installed Python package",
    )  # fmt: skip
    parser.add_argument(
        "arguments", nargs="*", metavar="name:=value", help="arguments of a xacro file"
    )
    parser.add_argument(
        "--package-path", type=Path, action="append", default=[], metavar="FOLDER",
        help="where packages of meshes and $(find ...) are looked for first; may be repeated",
    )  # fmt: skip
    parser.add_argument("--name", help="name of the robot (default: that of the model's file)")
    parser.add_argument("--base", default="", metavar="LINK", help="link that stands still")
    parser.add_argument(
        "--tip", default="", metavar="LINK", help="link at the end of the arm, before the fingers"
    )
    parser.add_argument(
        "--axis",
        choices=_AXES,
        default="",
        help="direction of approach in the frame of the tip, e.g. --axis=-z",
    )
    parser.add_argument("--no-gripper", action="store_true", help="hold the joints beyond the tip")
    parser.add_argument(
        "--home", type=float, nargs="+", default=(), metavar="Q",
        help="joint positions at the start [rad]",
    )  # fmt: skip
    parser.add_argument(
        "--tolerance", type=float, metavar="M",
        help="how far collision shapes may stand off the meshes [m] (default: 2 %% of the reach, "
        "0.015 to 0.025)",
    )  # fmt: skip
    parser.add_argument(
        "--density", type=float, metavar="D",
        help="of links that a URDF or SDF gives no inertial, which else weigh nothing [kg/m3]",
    )  # fmt: skip
    parser.add_argument("--out", type=Path, help="folder of the robot (default: its name)")
    parser.add_argument("--force", action="store_true", help="replace files in that folder")
    add_json_option(parser)


def main(args: argparse.Namespace) -> int:
    """Run the command.

    Args:
        args: The parsed command line.

    Returns:
        0.

    Raises:
        ContactStackError: If there is no such model, or it cannot be an arm of the graph.
    """
    arguments = dict(_assignment(word) for word in args.arguments)
    if args.tolerance is not None and not 0.001 <= args.tolerance <= 0.1:
        raise ConfigError(f"--tolerance {args.tolerance:g} m (valid: 0.001 to 0.1)")
    for root in args.package_path:
        if not root.is_dir():
            raise ConfigError(f"--package-path {root} is no folder")
    path = find_model(args.model)
    said = _name_of(args.model, path) if args.name is None else args.name
    if not re.search(r"\w", said):
        raise ConfigError(f"'{said}' is no name of a robot (valid: --name with letters or digits)")
    name = re.sub(r"\W", "_", said)
    folder: Path = (args.out or Path(name)).absolute()
    if path.resolve().is_relative_to(folder.resolve()):
        raise ConfigError(f"{path} is in the folder that is written to (valid: another --out)")
    _check_free(folder, args.force)
    print(f"importing {path} as '{name}'", flush=True)
    source = read_source(path, args.package_path, arguments)
    options = ImportOptions(
        name,
        args.base,
        args.tip,
        args.axis,
        not args.no_gripper,
        args.tolerance,
        args.density,
        tuple(args.home),
        _ask if sys.stdin.isatty() else None,
    )
    folder.parent.mkdir(parents=True, exist_ok=True)
    _remove_abandoned(folder.parent, name)
    # What is half done is not left behind, nor takes the place of what was whole.
    prefix = f".{name}_{os.getpid()}_"
    with tempfile.TemporaryDirectory(dir=folder.parent, prefix=prefix) as workplace:
        made = Path(workplace) / folder.name
        made.mkdir()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ModelWarning)  # In the notes already.
            built = build_robot(source, options, made)
            description = RobotDescription.load(str(built.file))
            robot = Robot.from_description(description)
            check = check_arm(robot, description.joints.home)
            draw_check(robot, description.joints.home, made / "contacts.png")
        _replace(made, folder)
    file = folder / built.file.name
    _report(built, check, description, file)
    write_json({"robot": str(file), "notes": built.notes, "check": asdict(check)}, args.json)
    return 0


def _remove_abandoned(folder: Path, name: str) -> None:
    """Remove what imports of the same name left half done as they were killed."""
    workplace = re.compile(rf"\.{name}_(\d{{1,9}})_[a-z0-9_]{{{_RANDOM}}}")
    for path in folder.glob(f".{name}_*"):
        match = workplace.fullmatch(path.name)
        if match and not _is_running(int(match[1])):
            shutil.rmtree(path, ignore_errors=True)


def _is_running(process: int) -> bool:
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        pass  # Somebody else's.
    return True


def _replace(made: Path, folder: Path) -> None:
    """Move what was made to its folder; what else is there stays."""
    folder.mkdir(exist_ok=True)
    for new in made.iterdir():
        old = folder / new.name
        if old.is_dir() and not old.is_symlink():
            shutil.rmtree(old)
        new.replace(old)


def _name_of(model: str, path: Path) -> str:
    """Name of the robot: that of its file, or of its folder where all files are called alike."""
    stem = path.name.partition(".")[0]
    if stem in ("robot", "model", "scene"):
        stem = path.parent.name
    return model.rpartition(":")[2].rpartition("/")[2].partition(".")[0] if (
        ":" in model and stem in ("urdf", "robots")
    ) else stem  # fmt: skip


def _assignment(word: str) -> tuple[str, str]:
    name, separator, value = word.partition(":=")
    if not (name and separator):
        raise ConfigError(f"'{word}' is no argument of a xacro file (write name:=value)")
    return name, value


def _check_free(folder: Path, force: bool) -> None:
    """Check that nothing is replaced that should stay."""
    if not folder.exists() or force:
        return
    if folder.is_dir() and not any(folder.iterdir()):
        return
    if sys.stdin.isatty():
        answer = input(f"{folder} is not empty; replace the robot in it? [y/N] ")
        if answer.strip().lower() in ("y", "yes"):
            return
    raise ContactStackError(
        f"{folder} is not empty (valid: another --out, or --force to replace the robot in it)"
    )


def _ask(links: list[str]) -> str:
    """Ask which of several arms is meant."""
    for number, link in enumerate(links, 1):
        print(f"  {number}  {link}")
    answer = input("which is the end of the arm? ").strip()
    if answer.isdecimal() and 1 <= int(answer) <= len(links):
        return links[int(answer) - 1]
    if answer in links:
        return answer
    raise ConfigError(f"no tip '{answer}' ({choices(links)})")


def _report(built: Built, check: ArmCheck, description: RobotDescription, file: Path) -> None:
    """Print what became of the model, what the arm can do, and how to launch it."""
    arm = built.arm
    gripper = f", gripper '{description.gripper_joint}'" if description.gripper_joint else ""
    print(f"{file}: {len(arm.joints)} joints to '{description.tool_link}'{gripper}")
    for note in built.notes:
        print(f"  {note}")
    print(
        f"  {built.shapes} collision shapes; they stand off the meshes by "
        f"{1e3 * built.excess:.0f} mm at most, and these stick out of them by "
        f"{1e3 * built.shortfall:.0f} mm"
    )
    print(
        f"reach {check.reach:.2f} m, moving mass {check.mass:.1f} kg; at home the weight takes "
        f"{check.load:.0%} of an effort limit and the springs hold {check.force:.0f} N at the tool"
    )
    if check.clearance < 0.0:
        print(f"  links overlap at home by {-1e3 * check.clearance:.0f} mm: give another --home")
    elif check.clearance < 1.0:
        print(f"  closest links at home: {1e3 * check.clearance:.0f} mm apart")
    if len(arm.joints) < 6:
        print(f"  with {len(arm.joints)} joints it reaches few poses: its tool cannot turn freely")
    if check.force < FORCE:
        print(f"  a hand of {FORCE:g} N at the tool is more than its springs hold at home")
    print(
        f"contacts of {FORCE:g} N, share of each link's surface (located: to {1e3 * LOCATED:g} mm)"
    )
    print(f"  {'link':<28}{'joints':>7}{'felt':>7}{'located':>9}{'elsewhere':>11}")
    for link in check.links:
        print(f"  {link.link:<28}{link.joints:>7}{link.felt:>7.0%}{link.located:>9.0%}"
              f"{link.anywhere:>11.0%}")  # fmt: skip
    print(f"  picture: {file.parent / 'contacts.png'}")
    print("launch it:")
    robot = shlex.quote(f"robot:={file}")
    print(f"  contact-stack launch sim scene:=free_space driver:=ros2_control {robot}")
