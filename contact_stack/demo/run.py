"""One run of the experiment with one controller on a graph of its own."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from contact_core.robot import Robot
from contact_core.scene import Scene
from contact_ros.driver_profile import DriverConfig, driver_profile
from contact_stack.demo.assemble import assemble
from contact_stack.demo.demo_node import NAME, DemoNode
from contact_stack.demo.experiment import Experiment
from contact_stack.demo.experiment_data import ExperimentData
from contact_stack.demo.run_client import run_client
from contact_stack.demo.variants import VARIANTS
from contact_stack.launch.command import find_launch_file
from contact_stack.launch.parser import parse

NAMESPACE = "lbr"


@dataclass(frozen=True)
class RunOptions:
    """How the graph is started.

    Attributes:
        controller: Name of the controller's variant.
        driver: The driver profile.
        lockstep: Lock-step instead of real time.
        seed: Of all random numbers.
        view: Whether the live page is opened.
        engine: What simulates the scene; "scene" is what the scene says.
    """

    controller: str
    driver: str
    lockstep: bool
    seed: int
    view: bool
    engine: str = "scene"


@dataclass(frozen=True)
class Run:
    """What a run left.

    Attributes:
        data: The run itself.
        wall_time: Real time the motion took [s].
    """

    data: ExperimentData
    wall_time: float


def run_experiment(
    experiment: Experiment,
    options: RunOptions,
    recording: Path,
    on_progress: Callable[[float], None],
) -> Run:
    """Start the graph, run the experiment, stop the graph.

    Args:
        experiment: The experiment.
        options: How the graph is started.
        recording: MCAP file to write.
        on_progress: Called with the simulated time since the start of the motion [s].

    Returns:
        The run.

    Raises:
        ContactStackError: If the graph does not start, a node ends, or a goal fails.
    """
    plan = parse(
        find_launch_file("demo"),
        {
            "driver": options.driver,
            "lockstep": str(options.lockstep).lower(),
            "seed": str(options.seed),
            "scene": experiment.scene,
            "engine": options.engine,
            "held_mass": str(experiment.held.mass if experiment.held is not None else 0.0),
            "view": str(options.view).lower(),
            "robot_name": NAMESPACE,
            "client": NAME if options.lockstep else "",
            **VARIANTS[options.controller].arguments,
        },
    )
    description = Scene.load(experiment.scene).robot
    robot = Robot.from_description(description)
    profile = driver_profile(options.driver, DriverConfig())
    node = run_client(
        plan,
        recording,
        lambda recorder: DemoNode(
            experiment,
            robot,
            profile.joint_names,
            description.gripper_joint,
            profile,
            recorder,
            NAMESPACE,
            options.lockstep,
        ),
        lambda node: on_progress(node.progress),
    )
    return Run(assemble(node, experiment, robot), node.wall_time)
