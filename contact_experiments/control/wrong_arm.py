"""Arms that are not as described: what their estimator feels in free space, and what of touches."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from contact_aware_control.contact import ContactEstimate
from contact_aware_control.estimation import EstimatorConfig
from contact_aware_control.estimation.calibration import Calibration
from contact_aware_control.estimation.estimator import ContactEstimator
from contact_aware_control.estimation.identification import (
    REST,
    excitation,
    identify,
)
from contact_aware_control.estimation.surface import (
    new_placement,
    place,
    sample,
    surface_of_robot,
    to_world,
)
from contact_core.robot.arm_state import ArmState
from contact_core.robot.description import JointFrictionConfig
from contact_core.robot.robot import Robot
from contact_core.robot.scene import Scene
from contact_core.robot.scene_config import ArmErrorsConfig
from contact_stack.calibrate.recording import record_simulated
from tamsi_sim.robot.plant import Plant

PERIOD = 0.005
TOUCH, PAUSE = 1.0, 1.5
"""How long each touch and the time until the next last [s]."""
PROMPT = 0.15
"""A touch is felt promptly within this time [s]."""
FAR = 0.1
"""An estimate so far from the truth is misleading if it is called identifiable [m]."""
FORGOTTEN = 0.3
"""Time after a touch in which an estimate of it may linger [s]."""


@dataclass(frozen=True)
class ArmFaults:
    """How wrong an arm is, at most; what it is exactly is drawn.

    Attributes:
        friction: Coulomb friction of a joint [Nm]; with Stribeck's a third more, hysteretic.
        seen: Whether it shows in the external torque.
        mass: Share of a link's mass.
        tool: Share of the tool's mass.
        tilt: Of the base [rad].
        drift: Of a joint's torque [Nm/s], steadily.
        delay: Of the torque [s].
        cutoff: Of the torque's low-pass [Hz].
        gears: Stiffness of the gears [Nm/rad]; 0 for rigid ones.
    """

    friction: float = 0.3
    seen: bool = True
    mass: float = 0.05
    tool: float = 0.2
    tilt: float = 0.035
    drift: float = 0.05
    delay: float = 0.0
    cutoff: float = 10.0
    gears: float = 20000.0

    def scene(self, name: str, seed: int, robot: str = "") -> Scene:
        """Draw an arm in a scene.

        Args:
            name: Of the scene.
            seed: Of the arm.
            robot: Another robot than the scene's.
        """
        rng = np.random.default_rng([seed, 11])
        scene = Scene.load(name, robot)
        n = len(scene.robot.arm_joints)
        angle = rng.uniform(0.0, 2.0 * np.pi)
        errors = ArmErrorsConfig(
            mass_ratio=tuple(1.0 + self.mass * rng.uniform(-1.0, 1.0, n)),
            tool_mass_ratio=1.0 + self.tool * float(rng.uniform(-1.0, 1.0)),
            tilt=(self.tilt * np.cos(angle), self.tilt * np.sin(angle)),
            friction_seen=self.seen,
            gear_stiffness=(self.gears,),
        )
        friction = JointFrictionConfig(
            kinetic=tuple(self.friction * rng.uniform(0.3, 1.0, n)),
            static_ratio=1.3,
            stribeck_velocity=0.02,
            viscous=tuple(self.friction * rng.uniform(0.0, 1.0, n)),
            presliding_stiffness=(300.0,),
        )
        sensor = dataclasses.replace(
            scene.config.torque_sensor,
            cutoff=self.cutoff,
            delay=self.delay,
            bias=tuple(0.5 * rng.uniform(-1.0, 1.0, n)),
        )
        arm = dataclasses.replace(
            scene.config.robot,
            errors=errors,
            friction=friction if self.friction else JointFrictionConfig(),
        )
        config = dataclasses.replace(scene.config, robot=arm, torque_sensor=sensor)
        return dataclasses.replace(scene, config=config)

    def drifts(self, joints: int, seed: int) -> np.ndarray:
        """Return how fast each joint's torque drifts (n) [Nm/s].

        Args:
            joints: Number of joints n.
            seed: Of the arm.
        """
        return self.drift * np.random.default_rng([seed, 12]).uniform(-1.0, 1.0, joints)


FAULTS: Mapping[str, ArmFaults] = {
    "as described": ArmFaults(0.0, False, 0.0, 0.0, 0.0, 0.0, gears=0.0),
    "slight friction": ArmFaults(friction=0.1),
    "friction": ArmFaults(),
    "friction unseen": ArmFaults(seen=False),
    "heavy friction": ArmFaults(friction=1.0),
    "late torque": ArmFaults(delay=0.01, cutoff=5.0),
}
"""Name -> an arm; each but the first also has wrong masses, a tilted base and a drift."""


@dataclass
class FeltTouch:
    """A touch and what was felt of it.

    Attributes:
        link: The link that is touched.
        point: (3) where, frame of the link [m].
        force: (3) frame of the link [N].
        began: When [s].
        felt_after: [s]; inf if it was not.
        identifiable: Number of estimates that were called so.
        misleading: How many of those were far from the truth.
        errors: Distance of the estimate from the truth, sample by sample [m].
    """

    link: str
    point: np.ndarray
    force: np.ndarray
    began: float
    felt_after: float = np.inf
    identifiable: int = 0
    misleading: int = 0
    errors: list[float] = field(default_factory=list)


@dataclass(frozen=True)
class WrongArmOutcome:
    """What an estimator felt.

    Attributes:
        phantoms: Share of samples with a contact while nothing touched the arm.
        touches: The touches.
    """

    phantoms: float
    touches: tuple[FeltTouch, ...]


def calibrate(
    faults: ArmFaults, scene_name: str, seed: int, duration: float = 60.0, robot_name: str = ""
) -> tuple[Calibration, tuple[str, ...]]:
    """Calibrate an arm, as it is on another day than that of its use.

    Args:
        faults: How wrong the arm is.
        scene_name: Where it is.
        seed: Of the arm; noise and drift have another one.
        duration: Of the motion [s].
        robot_name: Another robot than the scene's.

    Returns:
        What is found, and the names of the joints.
    """
    scene = faults.scene(scene_name, seed, robot_name)
    robot = Robot.from_description(scene.robot)
    home = np.array(scene.config.robot.initial_positions)
    motion = excitation(robot, home, 0.4, 0.35, duration, seed)
    still = record_simulated(scene, seed + 1000, lambda start: motion)
    drifted = still.torque + np.outer(still.time, faults.drifts(robot.n, seed + 1000))
    samples = dataclasses.replace(still, torque=drifted)
    return identify(robot, samples, EstimatorConfig()).calibration, robot.joint_names


def run_touched(
    faults: ArmFaults,
    seed: int,
    calibrated: bool,
    links: Sequence[str] = ("lbr_link_5", "lbr_link_6", "lbr_link_7"),
    duration: float = 40.0,
) -> WrongArmOutcome:
    """Move an arm about, and touch it every now and then.

    Args:
        faults: How wrong the arm is.
        seed: Of arm, motion, noise and touches.
        calibrated: Whether the estimator knows the arm from a calibration.
        links: What is touched, in turn, with 10 to 30 N.
        duration: Of the motion [s].

    Returns:
        What was felt.
    """
    scene = faults.scene("free_space", seed)
    robot = Robot.from_description(scene.robot)
    known = calibrate(faults, "free_space", seed)[0] if calibrated else None
    estimator = ContactEstimator(Robot.from_description(scene.robot), EstimatorConfig(), known)
    plant, drift = Plant(scene, seed), faults.drifts(robot.n, seed)
    report = plant.reset(seed)
    home = np.array(scene.config.robot.initial_positions)
    motion = excitation(robot, home, 0.5, 0.3, duration, seed + 500)
    rng = np.random.default_rng([seed, 13])
    touches: list[FeltTouch] = []
    felt = free = 0
    for k in range(round((REST + duration) / PERIOD)):
        time = k * PERIOD
        since = (time - REST - PAUSE) % (TOUCH + PAUSE)
        touched = time >= REST + PAUSE and since < TOUCH
        robot.update(report.position)
        if touched and (not touches or time - touches[-1].began >= TOUCH):
            link = links[len(touches) % len(links)]
            touches.append(FeltTouch(link, *draw_touch(robot, link, rng), time))
        torque = np.zeros(robot.n)
        if touched:
            now = touches[-1]
            pose = robot.link_pose(now.link)
            rise = min(1.0, (time - now.began) / 0.03)
            point = pose.act(now.point)
            torque = robot.torque_of_force(now.link, point, rise * pose.rotation @ now.force)
        plant.push(torque)
        report = plant.tick(motion.sample(max(0.0, time - REST)))
        torque = report.external_torque + time * drift
        output = estimator.update(
            ArmState.recorded(report.time_ns, report.position, external_torque=torque)
        )
        if touched:
            if output.contacts:
                _note(touches[-1], output.contacts[0], point, time + PERIOD)
        elif time > REST and (not touches or time - touches[-1].began > TOUCH + FORGOTTEN):
            free += 1
            felt += bool(output.contacts)
    return WrongArmOutcome(felt / max(free, 1), tuple(touches))


def draw_touch(robot: Robot, link: str, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """Draw a point (3) [m] and a force (3) [N] on a link, both in its frame.

    Args:
        robot: The arm, updated.
        link: The link.
        rng: Random numbers.
    """
    surface, _ = surface_of_robot(robot, (link,))
    placement = new_placement(surface)
    place(surface, robot.joint_rotations, robot.joint_origins, placement)
    shape, x, y, z, *normal = sample(surface, placement, rng)
    inward = -placement.rotation[shape] @ np.array(normal)
    tangent = np.cross(inward, rng.standard_normal(3))
    direction = inward + 0.3 * rng.random() * tangent / np.linalg.norm(tangent)
    force = rng.uniform(10.0, 30.0) * direction / np.linalg.norm(direction)
    pose = robot.link_pose(link)
    return pose.actInv(np.array(to_world(placement, shape, x, y, z))), pose.rotation.T @ force


def _note(touch: FeltTouch, contact: ContactEstimate, point: np.ndarray, time: float) -> None:
    """Compare an estimate with the truth."""
    error = float(np.linalg.norm(contact.point_world - point))
    touch.felt_after = min(touch.felt_after, time - touch.began)
    touch.errors.append(error)
    if time - touch.began > PROMPT and contact.identifiable:
        touch.identifiable += 1
        touch.misleading += error > FAR


def wrong_arm_figures(outcomes: Sequence[WrongArmOutcome]) -> dict[str, float]:
    """Summarise runs of one kind of arm.

    Args:
        outcomes: The runs, at least one.

    Returns:
        Shares: of ``phantoms`` in free motion, of touches felt ``prompt``-ly, of touches that are
        ``located``, felt promptly and called identifiable; of the estimates called identifiable,
        those ``misleading``; the median ``location_p50`` of the last estimates [m].
    """
    touches = [touch for outcome in outcomes for touch in outcome.touches]
    prompt = [touch.felt_after <= PROMPT for touch in touches]
    called = [touch.identifiable for touch in touches]
    last = [float(np.median(touch.errors[-40:])) if touch.errors else np.inf for touch in touches]
    return {
        "phantoms": float(np.mean([outcome.phantoms for outcome in outcomes])),
        "prompt": float(np.mean(prompt)),
        "located": float(
            np.mean(
                [p and touch.identifiable > 0 for p, touch in zip(prompt, touches, strict=True)]
            )
        ),
        "misleading": sum(touch.misleading for touch in touches) / max(sum(called), 1),
        "location_p50": float(np.median(last)),
    }
