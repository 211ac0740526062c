"""The benchmark's robots: a gripper, an arm with it, a hand, a quadruped and a humanoid."""

from __future__ import annotations

import xml.etree.ElementTree as ElementTree
from collections.abc import Mapping
from importlib import metadata

import numpy as np
import pinocchio as pin

from contact_core.base.errors import ConfigError
from contact_core.robot.description import RobotDescription, placement, read_urdf
from contact_core.robot.scene import Instance
from contact_core.robot.surface import Surface
from contact_experiments import INSTALL_MODELS
from contact_experiments.tamsi.benchmark.scene import GRAVITY, BenchmarkScene, passive
from contact_experiments.tamsi.cases import (
    HAND_DAMPING,
    HAND_JOINTS,
    HAND_STIFFNESS,
    HAND_SURFACE,
    AllegroHand,
    ParallelGripper,
)
from tamsi_sim.simulation.engine import Engine
from tamsi_sim.simulation.model import BuiltModel, build_model
from tamsi_sim.simulation.world import World

GRIPPER_STEPS = 1667  # 5 s of 3 ms.

ARM = (0.0, 0.4, 0.0, -1.7, 0.0, -0.5, 0.0)
SWING = (0.2, -0.1, 0.0, 0.1, 0.0, 0.0, 0.2)  # Amplitude of the joints [rad].
SWING_PERIOD = 2.0  # [s]
ARM_ARMATURE = (3.4, 3.4, 3.4, 3.4, 1.3, 1.2, 1.2)  # Geared rotors [kg m^2].
FINGER_OPENING = 0.0395  # At the start; the mug has a radius of 40 mm [m].
GRIP = 5e-3  # How far the fingers' targets lie inside the mug [m].

PUBLIC_ROBOTS = "example-robot-data"
MODELS_FOLDER = "cmeel.prefix/share/example-robot-data/robots"
QUADRUPED = "a1_description/urdf/a1.urdf"
HUMANOID = "g1_description/urdf/g1_29dof_rev_1_0.urdf"
# Joints whose names end like this -> where they are in the middle of a squat, and how far it
# goes from there [rad].
QUADRUPED_SQUAT = {"thigh_joint": (0.8, 0.1), "calf_joint": (-1.6, -0.2)}
HUMANOID_SQUAT = {
    "hip_pitch_joint": (-0.25, -0.1),
    "knee_joint": (0.5, 0.2),
    "ankle_pitch_joint": (-0.25, -0.1),
}
SQUAT_PERIOD = 1.0  # [s]


def gripper(name: str, stiffness: float, dissipation: float) -> BenchmarkScene:
    """Return the shaken parallel gripper of ``tamsi`` Sec. VI-A, 5 s."""
    case = ParallelGripper(stiffness=stiffness, dissipation=dissipation)
    engine = case.engine()
    surface = Surface(2.0 * stiffness, dissipation, case.friction)
    return passive(name, engine, surface, case.forces(GRIPPER_STEPS))


def arm_mug(name: str) -> BenchmarkScene:
    """Return the arm with its gripper that swings a mug for 4 s, pads against mug."""
    surface = Surface(2e4, 5.0, 0.9)
    fingers = ("finger_left_joint", "finger_right_joint")
    robot = Instance("robot", _two_finger_arm(), gravity=GRAVITY)
    mug = Instance("mug", read_urdf("urdf/mug.urdf"), _mug_in_gripper(), True, GRAVITY)
    built = build_model([robot, mug], lambda instance, link: surface, _pads_and_mug)
    arrays, dofs = built.arrays, [built.joints[finger] for finger in fingers]
    arrays.joints.armature[:7] = ARM_ARMATURE
    arrays.joints.armature[dofs] = 0.5
    _remove_limits(built)
    built.q[:7] = ARM
    built.q[dofs] = FINGER_OPENING
    nv = len(arrays.joints.q)
    stiffness, damping = np.zeros(nv), np.zeros(nv)
    stiffness[:7], damping[:7] = 3000.0, 150.0
    stiffness[dofs], damping[dofs] = 4000.0, 60.0
    time_step, steps = 1e-3, 4000
    targets = np.zeros((steps, nv))
    phase = 2.0 * np.pi * np.arange(steps) * time_step / SWING_PERIOD
    targets[:, :7] = np.array(ARM) + np.outer(1.0 - np.cos(phase), SWING)
    targets[:, dofs] = FINGER_OPENING - GRIP
    forces = stiffness * targets
    # The weight of the arm is carried as it is at the start, as a controller would.
    engine = Engine(built, time_step)
    engine.evaluate()
    forces[:, :7] += engine.work.dynamics.bias[:7]
    return BenchmarkScene(
        name, built, surface, time_step, built.q, np.zeros(nv), stiffness, damping, forces
    )


def allegro(name: str) -> BenchmarkScene:
    """Return the Allegro hand that turns a mug, ``tamsi`` Sec. VI-B, for 4.5 s."""
    case = AllegroHand()
    built = case.model()
    _remove_limits(built)
    stiffness, damping = np.zeros(HAND_JOINTS + 6), np.zeros(HAND_JOINTS + 6)
    stiffness[:HAND_JOINTS], damping[:HAND_JOINTS] = HAND_STIFFNESS, HAND_DAMPING
    forces = case.forces(round(4.5 / case.time_step))
    return BenchmarkScene(
        name, built, HAND_SURFACE, case.time_step, built.q, np.zeros(HAND_JOINTS + 6),
        stiffness, damping, forces,
    )  # fmt: skip


def legged(
    name: str,
    model: str,
    squat: Mapping[str, tuple[float, float]],
    stiffness: float,
    damping: float,
) -> BenchmarkScene:
    """Return a public robot that squats on its feet for 2 s, h 2 ms.

    Args:
        name: Name of the scene.
        model: Its URDF, in the package PUBLIC_ROBOTS.
        squat: Ending of a joint's name -> middle and amplitude of its motion [rad].
        stiffness: Of every joint [Nm/rad].
        damping: Of every joint [Nm s/rad].

    Raises:
        ConfigError: If the package is not installed.
    """
    surface, time_step, steps = Surface(1e5, 2.0, 0.8), 2e-3, 1000
    world = World(GRAVITY, surface).add("robot", _public_robot(model), (0.0, 0.0, 2.0), free=True)
    built = world.add_ground().build().built
    _remove_limits(built)
    middle, amplitude = np.zeros(len(built.efforts)), np.zeros(len(built.efforts))
    for joint, dof in built.joints.items():
        for ending, motion in squat.items():
            if joint.endswith(ending):
                middle[dof], amplitude[dof] = motion
    joints = list(built.joints.values())
    built.q[built.arrays.joints.q[joints]] = middle[joints]
    engine = Engine(built, time_step)
    engine.evaluate()
    spheres = built.arrays.geometry.body >= 0
    radius = built.arrays.geometry.size[spheres, 0]
    built.q[2] -= np.min(engine.work.poses.position[spheres, 2] - radius)
    gains = np.zeros((2, len(middle)))
    gains[0, joints], gains[1, joints] = stiffness, damping
    phase = 2.0 * np.pi * np.arange(steps) * time_step / SQUAT_PERIOD
    forces = gains[0] * (middle + np.outer(np.sin(phase), amplitude))
    return BenchmarkScene(
        name, built, surface, time_step, built.q, np.zeros(len(middle)), gains[0], gains[1], forces
    )


def _public_robot(model: str) -> str:
    """Return a robot of PUBLIC_ROBOTS that has nothing but spheres to touch with."""
    try:
        site = metadata.distribution(PUBLIC_ROBOTS).locate_file("")
    except metadata.PackageNotFoundError as error:
        raise ConfigError(f"{PUBLIC_ROBOTS} is not installed: {INSTALL_MODELS}") from error
    root = ElementTree.fromstring(read_urdf(str(site / MODELS_FOLDER / model)))
    _keep_spheres(root)
    return ElementTree.tostring(root, encoding="unicode")


def _keep_spheres(root: ElementTree.Element) -> None:
    """Remove all collision shapes but spheres, at which all simulators find the same contacts."""
    for link in root.findall("link"):
        for collision in link.findall("collision"):
            if collision.find("geometry/sphere") is None:
                link.remove(collision)


def _remove_limits(built: BuiltModel) -> None:
    """Let joints move freely: every simulator has end stops of its own kind."""
    built.arrays.joints.lower[:], built.arrays.joints.upper[:] = -np.inf, np.inf


def _two_finger_arm() -> str:
    """Return the robot with two fingers of their own and nothing but pads to touch with.

    TAMSI in Drake has no mimic joints; and a box near the mug would cost it a search.
    """
    root = ElementTree.fromstring(RobotDescription.load("iiwa14_wsg50").urdf)
    for joint in root.findall("joint"):
        for mimic in joint.findall("mimic"):
            joint.remove(mimic)
    _keep_spheres(root)
    return ElementTree.tostring(root, encoding="unicode")


def _mug_in_gripper() -> pin.SE3:
    model = RobotDescription.load("iiwa14_wsg50").arm_model()
    data = model.createData()
    pin.framesForwardKinematics(model, data, np.array(ARM))
    return data.oMf[model.getFrameId("tool")] * placement(rpy=(0.0, -np.pi / 2, 0.0))


def _pads_and_mug(a: tuple[str, str], b: tuple[str, str]) -> bool:
    return (a[0] == "mug") != (b[0] == "mug")
