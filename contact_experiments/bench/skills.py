"""``contact-stack bench skills``: insert and wipe, in drawn cases, and how hard that presses.

Simulator, estimator and controller in one process. Nobody tells the arm how a case was drawn: it
has the nominal place, and the hole, or the surface, is somewhere else.
"""

from __future__ import annotations

import argparse
import dataclasses
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pinocchio as pin
from scipy.stats import binomtest

from contact_aware_control.insert import Insert
from contact_aware_control.led_tool import HELD, LedTool, axes_towards
from contact_aware_control.reference import Goal
from contact_aware_control.safety.status import FOLLOWING
from contact_aware_control.skill import Skill
from contact_aware_control.wipe import Wipe
from contact_core.base.results import Columns, add_json_option, at_least, lines, write_json
from contact_core.base.sweep import Sweep, add_sweep_options, chosen_workers
from contact_core.robot.robot import Robot
from contact_core.robot.scene import Scene
from contact_core.robot.scene_config import ObjectConfig, SurfaceConfig
from contact_experiments.control.touch_rig import TouchRig

SKILLS = ("insert", "wipe")
ROBOTS: dict[str, dict[str, tuple[str, tuple[float, ...]]]] = {
    "iiwa14": {
        "insert": ("iiwa14_dowel", (0.0, 0.65, 0.0, -1.354, 0.0, 1.1376, 0.0)),
        "wipe": ("iiwa14_wsg50", (0.0, 0.6, 0.0, -1.4, 0.0, 1.1416, 0.0)),
    },
    "fr3": {
        "insert": ("fr3_dowel", (0.0, -0.2, 0.0, -2.3, 0.0, 2.1, 0.785)),
        "wipe": ("fr3_wsg50", (0.0, -0.4, 0.0, -2.3, 0.0, 1.9, 0.0)),
    },
}
"""Arm and skill -> the robot, and where its tool points down [rad]."""

PLACE, ANGLE = 0.01, np.deg2rad(5.0)
"""Of the discs over which place and tilt of hole or surface are spread [m, rad]."""
FRICTION = (0.1, 0.5)
CLEARANCE = (0.5e-3, 1.5e-3)
"""Diameter of the hole minus that of the peg [m]."""
STIFFNESS = 2e6
"""Of each of the two surfaces, so that a contact has half of it [N/m]."""
HOLE, DOWEL = 0.02, 'radius="0.0095"'
"""Diameter of the hole in socket.urdf [m], and what dowel.urdf says of that of its dowel."""
ABOVE = 0.03
"""Of the tool at the start over where the surface is thought to be [m]."""
DEPTH, ENTERED = 0.02, 0.9
"""How deep the peg is to go [m], and which share of it counts."""
PUSH, PUSH_LIMIT = 15.0, 30.0
"""Force of `insert` [N], and what it may press with."""
RADIUS = 0.014
"""How far sideways `insert` searches [m]."""
PRESS, PRESS_LIMIT = 10.0, 20.0
"""Force of `wipe` [N], and what it may press with."""
PATH = np.array([[0.0, 0.06, 0.0], [0.03, 0.06, 0.0], [0.03, 0.0, 0.0]])
"""Corners of what `wipe` goes along [m]."""
WIPED = 0.95
"""Share of the path that has to be wiped with half of the force."""
SLAB, CLEAR = 1.2, 0.2
"""Of slab.urdf across the step, and how far its middle is from below the tool [m]."""
STEP = (-1e-3, 0.5e-3)
"""Height of the step across the path, in every other case [m]."""
SPEED, WIPE_SPEED = 0.05, 0.03
"""Of `insert` and of `wipe` [m/s]."""
DISTANCE, LIFT = 0.06, 0.02
"""Of both, and of `wipe` [m]."""
LONGEST = 60.0
"""What takes longer has failed [s]."""
COLUMNS: Columns = (
    ("skill", "skill", 1.0, ""), ("arm", "arm", 1.0, ""), ("seed", "seed", 1, "d"),
    ("off [mm]", "off_mm", 1.0, ".1f"), ("[deg]", "off_deg", 1.0, ".1f"),
    ("friction", "friction", 1.0, ".2f"), ("clearance or step [mm]", "detail_mm", 1.0, ".2f"),
    ("outcome", "outcome", 1.0, ""), ("depth [mm] or share", "achieved", 1.0, ".2f"),
    ("time [s]", "seconds", 1.0, ".1f"), ("force p50 [N]", "force_p50_N", 1.0, ".1f"),
    ("p99", "force_p99_N", 1.0, ".1f"), ("peak", "force_peak_N", 1.0, ".1f"),
    ("one contact p99", "contact_p99_N", 1.0, ".1f"),
)  # fmt: skip
TOTALS: Columns = (
    ("skill", "skill", 1.0, ""), ("arm", "arm", 1.0, ""), ("cases", "cases", 1, "d"),
    ("done", "done", 1, "d"), ("95 % from", "low", 1.0, ".0%"), ("to", "high", 1.0, ".0%"),
    ("limit [N]", "limit_N", 1.0, ".0f"), ("force p50 [N]", "force_p50_N", 1.0, ".1f"),
    ("p99 of all", "force_p99_N", 1.0, ".1f"), ("worst p99", "worst_p99_N", 1.0, ".1f"),
    ("peak", "force_peak_N", 1.0, ".1f"), ("time p50 [s]", "time_p50_s", 1.0, ".1f"),
    ("longest", "time_max_s", 1.0, ".1f"),
)  # fmt: skip


@dataclasses.dataclass(frozen=True)
class SkillCase:
    """One case.

    Attributes:
        skill: One of SKILLS.
        arm: A key of ROBOTS.
        seed: Of everything drawn, and of the sensors' noise.
    """

    skill: str
    arm: str
    seed: int


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the command line.

    Args:
        parser: The parser of this benchmark.
    """
    parser.add_argument("--skill", choices=SKILLS, action="append", help="default: both")
    parser.add_argument("--robot", choices=ROBOTS, action="append", help="default: all")
    parser.add_argument(
        "--trials", type=at_least(1), default=100, metavar="N", help="cases of each (default 100)"
    )
    parser.add_argument(
        "--seed", type=int, default=0, help="of the first case; then every next one (default 0)"
    )
    add_json_option(parser)
    add_sweep_options(parser, "out/bench/skills")


def main(args: argparse.Namespace) -> int:
    """Run the benchmark.

    Args:
        args: The parsed command line.

    Returns:
        0; a case that fails is a figure like the others.
    """
    sweep = Sweep(chosen_workers(args), args.out / "results")
    cases = [
        SkillCase(skill, arm, args.seed + k)
        for k in range(args.trials)
        for skill in args.skill or SKILLS
        for arm in args.robot or ROBOTS
    ]
    rows = sweep.run(run_case, [(case,) for case in cases], "cases")
    print("\n".join(lines(rows, COLUMNS)))
    totals = summarize(rows)
    print("\n" + "\n".join(lines(totals, TOTALS)))
    shown = [{name: row[name] for name in row if name != "forces"} for row in rows]
    write_json({"totals": totals, "cases": shown}, args.json)
    return 0


def summarize(rows: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Return how often each skill was done by each arm, with a Wilson interval, and its forces.

    Args:
        rows: What :func:`run_case` returned.
    """
    groups: dict[tuple[str, str], list[Mapping[str, Any]]] = {}
    for row in rows:
        groups.setdefault((row["skill"], row["arm"]), []).append(row)
    totals = []
    for (skill, arm), some in groups.items():
        done = sum(row["outcome"] == "done" for row in some)
        interval = binomtest(done, len(some)).proportion_ci(0.95, "wilson")
        force = np.concatenate([row["forces"] for row in some])
        seconds = [row["seconds"] for row in some]
        total = {
            "skill": skill, "arm": arm, "cases": len(some), "done": done,
            "low": float(interval.low), "high": float(interval.high),
            "limit_N": PUSH_LIMIT if skill == "insert" else PRESS_LIMIT,
            "force_p50_N": float(np.median(force)),
            "force_p99_N": float(np.percentile(force, 99)),
            "worst_p99_N": max(row["force_p99_N"] for row in some),
            "force_peak_N": float(force.max()),
            "time_p50_s": float(np.median(seconds)), "time_max_s": max(seconds),
        }  # fmt: skip
        totals.append(total)
    return totals


def run_case(case: SkillCase) -> dict[str, Any]:
    """Do what a skill is for, once.

    Args:
        case: What is drawn.

    Returns:
        What is in the table by the names of COLUMNS, and the forces of all ticks in contact [N].
    """
    trial = (_Insertion if case.skill == "insert" else _Wiping)(case)
    rig, skill = trial.rig, trial.skill
    goal = Goal(skill.tool.reference, skill.force_limits)
    forces: list[float] = []
    largest: list[float] = []
    start = rig.report.time_ns
    outcome = "too long"
    while rig.report.time_ns - start < LONGEST * 1e9:
        position, found, status = rig.tick(goal)
        if status.mode not in FOLLOWING:
            outcome = status.status.name
            break
        reference = skill.step(
            status.reference_time, position, rig.command, found.torque, found.contacts
        )
        goal = Goal(reference, skill.force_limits, refreshed=rig.report.time_ns)
        contacts = [np.linalg.norm(c.force) for c in rig.plant.truth().contacts]
        if contacts:
            forces.append(float(np.linalg.norm(rig.truly_pressing())))
            largest.append(float(max(contacts)))
        trial.watch()
        if skill.ended:
            outcome = skill.failure or ("done" if trial.done else "not done")
            break
    force = np.array(forces or [0.0])
    return {
        **dataclasses.asdict(case), **trial.drawn, "outcome": outcome, "text": skill.text,
        "achieved": trial.achieved, "seconds": 1e-9 * (rig.report.time_ns - start),
        "force_p50_N": float(np.median(force)), "force_p99_N": float(np.percentile(force, 99)),
        "force_peak_N": float(force.max()),
        "contact_p99_N": float(np.percentile(largest or [0.0], 99)), "forces": force,
    }  # fmt: skip


class _SkillTrial(ABC):
    """A case: its scene, the skill, and whether it was done.

    Attributes:
        rig: The simulation.
        skill: What is tried.
        drawn: What was drawn, by the names of COLUMNS.
    """

    skill: Skill

    def __init__(self, case: SkillCase) -> None:
        robot, home = ROBOTS[case.arm][case.skill]
        random = np.random.default_rng((case.seed, SKILLS.index(case.skill)))
        scene = Scene.load("free_space", robot)
        config = dataclasses.replace(
            scene.config, robot=dataclasses.replace(scene.config.robot, initial_positions=home)
        )
        arm = Robot.from_description(scene.robot)
        arm.update(np.array(home))
        self.start = arm.tool_pose()
        turn, self._shift = random.uniform(0.0, 2.0 * np.pi, 2)
        angle, self.off = np.sqrt(random.uniform(size=2)) * (ANGLE, PLACE)
        axis = np.array([np.cos(turn), np.sin(turn), 0.0])
        self.rotation = pin.exp3(angle * axis)
        friction = random.uniform(*FRICTION)
        self.drawn = {
            "off_mm": 1e3 * self.off, "off_deg": np.rad2deg(angle), "friction": friction,
        }  # fmt: skip
        surface = SurfaceConfig(stiffness=STIFFNESS, friction=friction)
        scene = dataclasses.replace(scene, config=config, surfaces={"all": surface})
        self.rig = TouchRig(self.arrange(scene, random), case.seed)
        axes = axes_towards(np.array([0.0, 0.0, -1.0]))
        self.tool = LedTool(
            self.rig.arm, self.rig.command, axes, self.rig.bounds,
            self.rig.config.period,
        )  # fmt: skip

    @abstractmethod
    def arrange(self, scene: Scene, random: np.random.Generator) -> Scene:
        """Put something below the tool, and note what is drawn."""

    @abstractmethod
    def watch(self) -> None:
        """Look at a tick."""

    @property
    @abstractmethod
    def achieved(self) -> float:
        """How much was done."""

    @property
    @abstractmethod
    def done(self) -> bool:
        """Whether all of it was."""


class _Insertion(_SkillTrial):
    """A dowel, and a hole that is somewhere else."""

    def __init__(self, case: SkillCase) -> None:
        super().__init__(case)
        self.skill = Insert(
            self.tool, self.diameter, RADIUS, DEPTH, PUSH, SPEED, DISTANCE,
            self.rig.config.period, PUSH_LIMIT,
        )  # fmt: skip

    def arrange(self, scene: Scene, random: np.random.Generator) -> Scene:
        clearance = random.uniform(*CLEARANCE)
        self.diameter = HOLE - clearance
        self.drawn["detail_mm"] = 1e3 * clearance
        aside = self.off * np.array([np.cos(self._shift), np.sin(self._shift), 0.0])
        place = self.start.translation + aside - np.array([0.0, 0.0, ABOVE])
        self.hole = pin.SE3(self.rotation, place)
        socket = _object("urdf/socket.urdf", self.hole)
        slimmer = f'radius="{0.5 * self.diameter:.6f}"'
        robot = dataclasses.replace(scene.robot, urdf=scene.robot.urdf.replace(DOWEL, slimmer))
        return dataclasses.replace(scene, robot=robot, objects={"socket": socket})

    def watch(self) -> None:
        """Look at the end alone."""

    @property
    def achieved(self) -> float:
        return -1e3 * float(self.hole.actInv(self.rig.tool())[2])

    @property
    def done(self) -> bool:
        return self.achieved >= 1e3 * ENTERED * DEPTH


class _Wiping(_SkillTrial):
    """Closed fingers, and a slab below them, maybe with a step across the path."""

    def __init__(self, case: SkillCase) -> None:
        super().__init__(case)
        self.skill: Wipe = Wipe(
            self.tool, PATH, LIFT, PRESS, WIPE_SPEED, DISTANCE, self.rig.config.period, PRESS_LIMIT
        )
        self.pressed: list[bool] = []
        self.wiped = 0.0

    def arrange(self, scene: Scene, random: np.random.Generator) -> Scene:
        height = self.off * np.sign(np.sin(self._shift)) - ABOVE
        below = pin.SE3(self.rotation, self.start.translation + np.array([0.0, 0.0, height]))
        slab = below * pin.SE3(np.eye(3), np.array([CLEAR, 0.0, 0.0]))
        step = random.uniform(*STEP) if random.uniform() < 0.5 else 0.0
        self.drawn["detail_mm"] = 1e3 * step
        objects = {"slab": _object("urdf/slab.urdf", slab)}
        if step:
            # Its edge is half-way; a step down begins on the upper one.
            middle = 0.5 * SLAB * np.sign(step) + 0.5 * PATH[0, 1]
            upper = slab * pin.SE3(np.eye(3), np.array([0.0, middle, abs(step)]))
            objects["upper"] = _object("urdf/slab.urdf", upper)
        return dataclasses.replace(scene, objects=objects)

    def watch(self) -> None:
        wiped, self.wiped = self.wiped, self.skill.wiped
        if self.wiped > wiped:
            self.pressed.append(self.rig.truly_pressing()[2] <= -HELD * PRESS)

    @property
    def achieved(self) -> float:
        return float(np.mean(self.pressed or [False]))

    @property
    def done(self) -> bool:
        return self.achieved >= WIPED


def _object(urdf: str, pose: pin.SE3) -> ObjectConfig:
    """Return something that is fixed at a pose."""
    rpy = tuple(pin.rpy.matrixToRpy(pose.rotation).tolist())
    return ObjectConfig(urdf=urdf, xyz=tuple(pose.translation.tolist()), rpy=rpy)
