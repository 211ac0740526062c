"""The command ``contact-stack calibrate``."""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import matplotlib.pyplot as plt
import numpy as np
import yaml
from matplotlib.figure import Figure
from tqdm import tqdm

from contact_aware_control.estimation.calibration import link_masses
from contact_aware_control.estimation.config import EstimatorConfig
from contact_aware_control.estimation.identification import (
    REST,
    Identification,
    TorqueSamples,
    excitation,
    identify,
)
from contact_aware_control.reference import JointTrajectory
from contact_core.base.config import YAML, read_mapping
from contact_core.base.errors import ConfigError
from contact_core.base.figures import save
from contact_core.base.files import replacement
from contact_core.base.results import add_json_option, at_least, write_json
from contact_core.robot.description import RobotDescription
from contact_core.robot.robot import Robot
from contact_core.robot.scene import Scene
from contact_stack.calibrate.recording import Motion, record_on_graph, record_simulated

ROBOT = "iiwa14_wsg50"
ROBOT_NAME = "lbr"
EXIT_TOUCHED = 1
BAR = "{desc}: {percentage:3.0f}% {bar} {n:.0f}/{total:.0f} s"
TOUCHED = 0.02
"""Share of surprising samples from which on something has probably touched the arm."""

EPILOG = """examples:
  contact-stack launch sim lockstep:=false scene:=free_space   (in another terminal)
  contact-stack calibrate --robot iiwa14
  contact-stack calibrate --scene my_scene.yaml --seed 3 --out out/my_arm.yaml

Moves the arm to and fro for a minute and finds what its torques do not know: bias, friction of the
joints, tilt of the base, masses. Nothing may be within reach of the motion. Writes a robot file
(robot:=FILE) with the calibration beside it, and a picture. Exit code: 0, or 1 if something seems
to have touched the arm."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the command line.

    Args:
        parser: The parser of this command.
    """
    parser.epilog = EPILOG
    parser.add_argument(
        "--robot",
        help=f"the robot, a file of config/robots or a path (default {ROBOT}, or the scene's)",
    )
    parser.add_argument(
        "--driver", help="driver profile of the graph (default: that of its controller)"
    )
    parser.add_argument(
        "--robot-name", help=f"namespace of the robot in the graph (default {ROBOT_NAME})"
    )
    parser.add_argument(
        "--scene", metavar="SCENE",
        help="calibrate the arm in this scene, simulated in this process, without ROS",
    )  # fmt: skip
    parser.add_argument("--seed", type=at_least(0), default=0, help="of motion and noise")
    parser.add_argument(
        "--amplitude", type=at_least(0.05, 3.0), default=0.4, metavar="RAD",
        help="how far each joint moves (default %(default)s)",
    )  # fmt: skip
    parser.add_argument(
        "--speed", type=at_least(0.02, 10.0), default=0.35, metavar="RAD/S",
        help="of the fastest joint (default %(default)s)",
    )  # fmt: skip
    parser.add_argument(
        "--duration", type=at_least(10.0, 3600.0), default=60.0, metavar="SECONDS",
        help="of the motion, about (default %(default)s)",
    )  # fmt: skip
    parser.add_argument(
        "--out", type=Path, default=Path("out/calibration/arm.yaml"), metavar="FILE",
        help="the robot file (default %(default)s)",
    )  # fmt: skip
    add_json_option(parser)


def main(args: argparse.Namespace) -> int:
    """Run the command.

    Args:
        args: The parsed command line.

    Returns:
        0, or 1 if something seems to have touched the arm.

    Raises:
        ContactStackError: If there is no such robot or scene, a scene has an option of the graph,
            or the arm does not move.
    """
    if args.out.suffix not in YAML:
        raise ConfigError(f"--out {args.out} is a robot file and ends in .yaml")
    for option in ("driver", "robot_name"):
        if args.scene and getattr(args, option) is not None:
            flag = option.replace("_", "-")
            raise ConfigError(f"--scene takes no --{flag}: it is simulated here, without a graph")
    scene = Scene.load(args.scene, args.robot or "") if args.scene else None
    name = (args.robot or ROBOT) if scene is None else scene.config.robot.description
    description = RobotDescription.load(name)
    robot = Robot.from_description(description)

    def motion(start: np.ndarray) -> JointTrajectory:
        return excitation(robot, start, args.amplitude, args.speed, args.duration, args.seed)

    samples = _record(args, scene, description, motion)
    found = identify(robot, samples, EstimatorConfig())
    print("\n".join(_table(robot, found)))
    for path in _write(args.out, name, robot, samples, found):
        print(path)
    write_json(_figures(robot, found), args.json)
    if found.touched > TOUCHED:
        print(
            f"{100 * found.touched:.0f} % of the torques are those of a contact: calibrate again, "
            "with nothing near the arm"
        )
        return EXIT_TOUCHED
    return 0


def _record(
    args: argparse.Namespace, scene: Scene | None, description: RobotDescription, motion: Motion
) -> TorqueSamples:
    """Move the arm, with a progress bar."""
    with tqdm(total=REST + args.duration, desc="calibrate", unit="s", bar_format=BAR) as bar:

        def show(time: float) -> None:
            bar.total = max(bar.total, time)
            bar.update(time - bar.n)

        if scene is not None:
            return record_simulated(scene, args.seed, motion, show)
        return record_on_graph(
            args.driver, description, args.robot_name or ROBOT_NAME, motion, show
        )


def _table(robot: Robot, found: Identification) -> Iterator[str]:
    """Say joint by joint what was found."""
    n = robot.n
    mean = found.calibration.mean
    deviation = np.sqrt(found.calibration.covariance.diagonal())
    yield "joint      torque rms [Nm]        friction [Nm]   viscous [Nm s/rad]   spring [Nm/rad]"
    yield "           expected  unexplained"
    for i, joint in enumerate(robot.joint_names):
        coulomb, viscous = n + i, 2 * n + i
        stiffness = f"{found.stiffness[i]:.0f}" if np.isfinite(found.stiffness[i]) else "-"
        yield (
            f"{joint:10} {found.before[i]:8.2f} {found.after[i]:12.2f}"
            f"  {mean[coulomb]:8.2f} +- {deviation[coulomb]:.2f}"
            f"  {mean[viscous]:8.2f} +- {deviation[viscous]:.2f}    {stiffness:>12}"
        )
    tilt = np.rad2deg(np.hypot(*mean[3 * n : 3 * n + 2]))
    yield f"tilt of the base: {tilt:.2f} degrees"


def _figures(robot: Robot, found: Identification) -> dict[str, Any]:
    n = robot.n
    mean = found.calibration.mean
    deviation = np.sqrt(found.calibration.covariance.diagonal())

    def part(first: int, count: int) -> dict[str, list[float]]:
        chosen = slice(first, first + count)
        return {"mean": mean[chosen].tolist(), "deviation": deviation[chosen].tolist()}

    return {
        "joints": list(robot.joint_names),
        "noise_Nm": found.noise.tolist(),
        "torque_rms_Nm": {
            "after_a_tare": found.before.tolist(),
            "unexplained": found.after.tolist(),
        },
        "coulomb_friction_Nm": part(n, n),
        "viscous_friction_Nms_rad": part(2 * n, n),
        "tilt_rad": part(3 * n, 2),
        "stiffness_Nm_rad": found.stiffness.tolist(),
        "touched": found.touched,
    }


def _write(
    path: Path, name: str, robot: Robot, samples: TorqueSamples, found: Identification
) -> Iterator[Path]:
    """Write robot file, calibration and picture side by side."""
    basis = str(Path(name).resolve()) if name.endswith(YAML) else name
    again = basis == str(path.resolve())
    values = read_mapping(path) if again else {"extends": basis}
    path.parent.mkdir(parents=True, exist_ok=True)
    calibration = path.with_suffix(".json")
    found.calibration.write(calibration, robot.joint_names, link_masses(robot).tolist())
    with replacement(path) as file:
        file.write_text(yaml.safe_dump(values | {"calibration": calibration.name}, sort_keys=False))
    yield path
    yield calibration
    yield save(_draw(robot, samples, found), path.with_suffix(".png"))


def _draw(robot: Robot, samples: TorqueSamples, found: Identification) -> Figure:
    """Draw what was measured of every joint, and what is left of it."""
    still = samples.time < REST
    figure, axes = plt.subplots(robot.n, 1, sharex=True, figsize=(7.0, 1.2 * robot.n))
    for i, (axis, joint) in enumerate(zip(axes, robot.joint_names, strict=True)):
        measured = samples.torque[:, i] - samples.torque[still, i].mean()
        axis.plot(samples.time, measured, color="0.6", linewidth=0.6, label="after a tare")
        axis.plot(samples.time, found.residual[:, i], linewidth=0.6, label="unexplained")
        axis.set_ylabel(f"{joint}\n[Nm]")
    axes[0].legend(loc="upper center", ncols=2, bbox_to_anchor=(0.5, 1.6), frameon=False)
    axes[-1].set_xlabel("time [s]")
    figure.align_ylabels(axes)
    return figure
