"""``contact-stack bench creep``: what is held under a constant load, beside the peers."""

from __future__ import annotations

import argparse
import math
from collections.abc import Callable
from functools import partial

import numpy as np
from tqdm import tqdm

from contact_core.base.results import add_json_option, at_least, write_json
from contact_core.robot.scene_config import SolverConfig
from contact_core.robot.surface import Surface
from contact_experiments.tamsi.benchmark.report import machine, machine_line
from contact_experiments.tamsi.benchmark.runners import (
    DRAKE_SAP,
    DRAKE_TAMSI,
    MUJOCO,
    MUJOCO_DEFAULT,
    OURS,
    RUNNERS,
    OurRunner,
    PeerError,
    SceneRunner,
)
from contact_experiments.tamsi.benchmark.scene import BenchmarkScene, passive
from tamsi_sim.simulation.world import World

SETTLING = 1.0  # [s]
FRICTION = 0.5
PAPER = "paper's law"
ENGINES: dict[str, Callable[[BenchmarkScene], SceneRunner]] = {
    OURS: RUNNERS[OURS],
    PAPER: lambda scene: OurRunner(scene, SolverConfig(friction_law="linear")),
    **{name: RUNNERS[name] for name in (DRAKE_TAMSI, DRAKE_SAP, MUJOCO, MUJOCO_DEFAULT)},
}

BOX = """<robot name="box"><link name="box"><inertial><mass value="{mass}"/>
    <inertia ixx="{inertia}" iyy="{inertia}" izz="{inertia}" ixy="0" ixz="0" iyz="0"/></inertial>
  {shape}</link></robot>"""
FLOOR = """<robot name="floor"><link name="floor"><collision><origin xyz="0 0 -0.5"/>
  <geometry><box size="4 4 1"/></geometry></collision></link></robot>"""
# Four balls are a pad, or a box's feet: all simulators find the same contacts of a ball and a box.
PAD = """<link name="{name}"><inertial><mass value="0.05"/>
    <inertia ixx="1e-5" iyy="1e-5" izz="1e-5" ixy="0" ixz="0" iyz="0"/></inertial>{balls}</link>
  <joint name="slide_{name}" type="prismatic"><parent link="palm"/><child link="{name}"/>
    <origin xyz="{place} 0 0"/><axis xyz="{way} 0 0"/>
    <limit lower="-0.05" upper="0.05" effort="200" velocity="1"/></joint>"""
BALL = """<collision><origin xyz="{x} {y} {z}"/>
    <geometry><sphere radius="0.006"/></geometry></collision>"""


def on_slope(share: float, steps: int) -> BenchmarkScene:
    """Return a box of 1 kg that rests on a slope.

    Args:
        share: Tangent of the slope's angle, as share of the coefficient of friction.
        steps: How many steps.
    """
    angle, size = math.atan(FRICTION * share), 0.1
    gravity = (9.81 * math.sin(angle), 0.0, -9.81 * math.cos(angle))
    world = World(gravity, Surface(1e5, 10.0, FRICTION)).add("floor", FLOOR)
    feet = "".join(BALL.format(x=x, y=y, z=-0.044) for x in (-0.04, 0.04) for y in (-0.04, 0.04))
    urdf = BOX.format(mass=1.0, inertia=size**2 / 6.0, shape=feet)
    engine = world.add("box", urdf, (0.0, 0.0, 0.5 * size), free=True).build()
    forces = np.zeros((steps, len(engine.v)))
    return passive("slope", engine, Surface(1e5, 10.0, FRICTION), forces)


def in_grip(force: float, steps: int) -> BenchmarkScene:
    """Return a box of 45 g between two pads.

    Args:
        force: Of the grip [N].
        steps: How many steps.
    """
    surface, size = Surface(1e4, 10.0, FRICTION), 0.03
    balls = "".join(BALL.format(x=0, y=y, z=z) for y in (-0.007, 0.007) for z in (-0.007, 0.007))
    pads = PAD.format(name="left", place=-0.021, way=1, balls=balls)
    pads += PAD.format(name="right", place=0.021, way=-1, balls=balls)
    cube = f'<collision><geometry><box size="{size} {size} {size}"/></geometry></collision>'
    urdf = BOX.format(mass=0.045, inertia=0.045 * size**2 / 6.0, shape=cube)
    world = World(surface=surface).add("hand", f'<robot name="h"><link name="palm"/>{pads}</robot>')
    engine = world.add("box", urdf, free=True).build()
    forces = np.zeros((steps, len(engine.v)))
    forces[:, [engine.built.joints[f"slide_{name}"] for name in ("left", "right")]] = force
    return passive(f"grip {force:g} N", engine, surface, forces)


SCENES: dict[str, Callable[[int], BenchmarkScene]] = {
    "slope at 0.5 of the friction angle": partial(on_slope, 0.5),
    "slope at 0.99 of the friction angle": partial(on_slope, 0.99),
    "45 g between pads of 12 N": partial(in_grip, 12.0),
    "45 g between pads of 60 N": partial(in_grip, 60.0),
}


def creep(
    make_scene: Callable[[int], BenchmarkScene],
    runner: Callable[[BenchmarkScene], SceneRunner],
    seconds: int,
) -> float:
    """Return how fast the box moves after it has settled [um/s].

    Args:
        make_scene: Builds a scene of some steps, whose last positions are those of the box.
        runner: Builds a simulator.
        seconds: For how long.

    Raises:
        PeerError: If the simulator is missing or gives up.
    """
    scene = make_scene(1)
    settling, total = (round(t / scene.time_step) for t in (SETTLING, SETTLING + seconds))
    places = []
    for steps in (settling, total):
        scene = make_scene(steps)
        simulator = runner(scene)
        simulator.restart()
        simulator.run()
        places.append(simulator.state()[0][-7:-4])
    return 1e6 * float(np.linalg.norm(places[1] - places[0])) / seconds


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the command line.

    Args:
        parser: The parser of this benchmark.
    """
    parser.add_argument(
        "--seconds", type=at_least(1, 86400), default=10, help="of constant load (default 10)"
    )
    add_json_option(parser)


def main(args: argparse.Namespace) -> int:
    """Run the benchmark.

    Args:
        args: The parsed command line.

    Returns:
        0.
    """
    about = machine()
    print(machine_line(about))
    print(f"speed of what is held [um/s], {args.seconds} s under a constant load")
    print(f"| |{'|'.join(ENGINES)}|\n|---|{'---|' * len(ENGINES)}")
    table: dict[str, dict[str, float | str]] = {}
    with tqdm(total=len(SCENES) * len(ENGINES), leave=False) as bar:
        for name, scene in SCENES.items():
            table[name] = {}
            for engine, runner in ENGINES.items():
                bar.set_description(engine)
                try:
                    table[name][engine] = creep(scene, runner, args.seconds)
                except PeerError as error:
                    table[name][engine] = str(error)
                bar.update()
            cells = (v if isinstance(v, str) else f"{v:.3g}" for v in table[name].values())
            bar.write(f"|{name}|{'|'.join(cells)}|")
    if args.json:
        write_json({"machine": about, "creep": table}, args.json)
    return 0
