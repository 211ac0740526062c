"""The benchmark's scenes by name: a model, a start, and what drives it, the same for all."""

from __future__ import annotations

import xml.etree.ElementTree as ElementTree
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np
import pinocchio as pin

from contact_core.description import RobotDescription, placement, read_urdf
from contact_core.errors import ConfigError, choices
from contact_core.scene import Instance
from contact_core.scene_config import SolverConfig
from contact_core.surface import Surface
from contact_experiments.tamsi.cases import (
    HAND_DAMPING,
    HAND_JOINTS,
    HAND_STIFFNESS,
    AllegroHand,
    ParallelGripper,
)
from tamsi_sim.simulation.engine import Engine
from tamsi_sim.simulation.model import BuiltModel, build_model

GRAVITY = (0.0, 0.0, -9.81)
GRIPPER_STEPS = 1667  # 5 s of 3 ms.
BLOCK = 0.1  # Edge of a block [m].
TOWER = 4  # Blocks of a tower.
SPACING = 0.11  # Distance of neighbours in a wall; they do not touch [m].
PILE = (8, 7, 6, 5, 4, 2)  # Blocks per layer; each stands on two below, so all are one cluster.

ARM = (0.0, 0.4, 0.0, -1.7, 0.0, -0.5, 0.0)
SWING = (0.2, -0.1, 0.0, 0.1, 0.0, 0.0, 0.2)  # Amplitude of the joints [rad].
SWING_PERIOD = 2.0  # [s]
ARM_ARMATURE = (3.4, 3.4, 3.4, 3.4, 1.3, 1.2, 1.2)  # Geared rotors [kg m^2].
FINGER_OPENING = 0.0395  # At the start; the mug has a radius of 40 mm [m].
GRIP = 5e-3  # How far the fingers' targets lie inside the mug [m].


@dataclass(frozen=True)
class BenchmarkScene:
    """One scene.

    The joints are driven by springs towards zero, dampers and a given force; a target
    q_d(t) is a spring and the force K q_d(t). So every simulator can step the same law
    without a controller around it.

    Attributes:
        name: Name of the scene.
        built: The model.
        surface: Surface of every shape.
        time_step: h [s].
        q: (nq) positions at the start.
        v: (nv) velocities at the start.
        stiffness: (nv) K of the joints [Nm/rad or N/m].
        damping: (nv) D of the joints, on top of the model's [Nm s/rad or N s/m].
        forces: (n, nv) generalised force of each step [Nm or N].
    """

    name: str
    built: BuiltModel
    surface: Surface
    time_step: float
    q: np.ndarray
    v: np.ndarray
    stiffness: np.ndarray
    damping: np.ndarray
    forces: np.ndarray

    @property
    def steps(self) -> int:
        """Number of steps n."""
        return len(self.forces)

    @property
    def duration(self) -> float:
        """Simulated time [s]."""
        return self.steps * self.time_step

    def surface_of(self, instance: str, link: str) -> Surface:
        """Return the surface of a link."""
        return self.surface

    def engine(self, solver: SolverConfig) -> Engine:
        """Return an engine at the start.

        Args:
            solver: Settings of the scheme.
        """
        engine = Engine(self.built, self.time_step, solver)
        engine.work.drives.stiffness[:] = self.stiffness
        engine.work.drives.damping[:] = self.damping
        # A spring towards zero and the force K q_d cancel to a large part.
        engine.work.drives.effort_limit[:] = np.inf
        self.restart(engine)
        return engine

    def restart(self, engine: Engine) -> None:
        """Put an engine of this scene back to the start."""
        engine.q[:] = self.q
        engine.v[:] = self.v
        engine.work.counters[:] = 0


def make_scene(name: str) -> BenchmarkScene:
    """Build a scene.

    Args:
        name: One of SCENES or GROWTH.

    Returns:
        The scene.

    Raises:
        ConfigError: If there is no such scene.
    """
    scenes = SCENES | GROWTH
    if name not in scenes:
        raise ConfigError(f"no benchmark scene '{name}' ({choices(scenes)})")
    return scenes[name](name)


def gripper(name: str, stiffness: float, dissipation: float) -> BenchmarkScene:
    """Return the shaken parallel gripper of ``tamsi`` Sec. VI-A, 5 s."""
    case = ParallelGripper(stiffness=stiffness, dissipation=dissipation)
    engine = case.engine()
    surface = Surface(2.0 * stiffness, dissipation, case.friction)
    return _passive(name, engine, surface, case.forces(GRIPPER_STEPS))


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
        name, built, case.surface, case.time_step, built.q, np.zeros(HAND_JOINTS + 6),
        stiffness, damping, forces,
    )  # fmt: skip


def blocks(
    name: str, positions: Sequence[tuple[float, float, float]], steps: int
) -> BenchmarkScene:
    """Return blocks that come to rest on a floor and on each other, h 3 ms.

    Args:
        name: Name of the scene.
        positions: Centres of the blocks [m].
        steps: How many steps.
    """
    surface = Surface(2e4, 5.0, 0.5)
    urdf = read_urdf("urdf/block.urdf")
    instances = [Instance("floor", read_urdf("urdf/floor.urdf"))]
    for k, position in enumerate(positions):
        instances.append(Instance(f"block_{k}", urdf, placement(position), True, GRAVITY))
    built = build_model(instances, lambda instance, link: surface, _feet_and_boxes)
    engine = Engine(built, 3e-3)
    return _passive(name, engine, surface, np.zeros((steps, len(engine.v))))


def towers(count: int) -> list[tuple[float, float, float]]:
    """Return the centres of blocks in separate towers of four."""
    centers = []
    for k in range(count):
        tower, level = divmod(k, TOWER)
        x, y = divmod(tower, 4)
        centers.append((2 * BLOCK * x, 2 * BLOCK * y, BLOCK * (level + 0.5)))
    return centers


def islands(count: int) -> list[tuple[float, float, float]]:
    """Return the centres of separate blocks."""
    return [(2 * BLOCK * (k // 8), 2 * BLOCK * (k % 8), BLOCK / 2) for k in range(count)]


def pile() -> list[tuple[float, float, float]]:
    """Return the centres of the blocks of one wall; no two in a layer touch."""
    return [
        (0.0, SPACING * (k + 0.5 * level), BLOCK * (level + 0.5))
        for level, count in enumerate(PILE)
        for k in range(count)
    ]


SCENES: dict[str, Callable[[str], BenchmarkScene]] = {
    "gripper_soft": partial(gripper, stiffness=1e3, dissipation=3.0),
    "gripper_stiff": partial(gripper, stiffness=1e4, dissipation=10.0),
    "arm_mug": arm_mug,
    "allegro": allegro,
    "towers_8": partial(blocks, positions=towers(8), steps=1000),
    "towers_32": partial(blocks, positions=towers(32), steps=100),
    "islands_32": partial(blocks, positions=islands(32), steps=100),
    "pile_32": partial(blocks, positions=pile(), steps=100),
}

# Scenes of one kind and growing size, besides those of the same kind above.
GROWTH: dict[str, Callable[[str], BenchmarkScene]] = {
    "towers_4": partial(blocks, positions=towers(4), steps=1000),
    "towers_16": partial(blocks, positions=towers(16), steps=300),
}


def _passive(name: str, engine: Engine, surface: Surface, forces: np.ndarray) -> BenchmarkScene:
    """Return a scene without springs and dampers that starts where an engine is."""
    none = np.zeros(len(engine.v))
    return BenchmarkScene(
        name, engine.built, surface, engine.time_step, engine.q.copy(), engine.v.copy(),
        none, none, forces,
    )  # fmt: skip


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
    for link in root.findall("link"):
        for collision in link.findall("collision"):
            if collision.find("geometry/sphere") is None:
                link.remove(collision)
    return ElementTree.tostring(root, encoding="unicode")


def _mug_in_gripper() -> pin.SE3:
    model = RobotDescription.load("iiwa14_wsg50").arm_model()
    data = model.createData()
    pin.framesForwardKinematics(model, data, np.array(ARM))
    return data.oMf[model.getFrameId("tool")] * placement(rpy=(0.0, -np.pi / 2, 0.0))


def _pads_and_mug(a: tuple[str, str], b: tuple[str, str]) -> bool:
    return (a[0] == "mug") != (b[0] == "mug")


def _feet_and_boxes(a: tuple[str, str], b: tuple[str, str]) -> bool:
    return a[0] != b[0] and (a[1] == "feet") != (b[1] == "feet")
