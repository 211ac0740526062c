"""Plans that the arm executes in drawn worlds, and the sled's, by wrenches, in one process."""

from __future__ import annotations

import dataclasses
import tempfile
from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from contact_core.robot.scene import Scene, write_scene
from contact_stack.demo.sled.node import ALONG, RESTING, SAME_TIME, SCENE, SLIDING, carried_mass
from robust_planner.examples import Example, sled
from robust_planner.risk.failure import FailureRate
from robust_planner.risk.risk_planner import RiskPlan, plan_example
from robust_planner.risk.worlds import Normal, draw_worlds
from robust_planner.trajectory import ContactTrajectory
from tamsi_sim.robot.plant import Plant


@dataclass(frozen=True)
class ArmCase:
    """One plan in one world.

    Attributes:
        plan: ``"nominal"`` or ``"with risk"``.
        time: Knots (N) [s].
        course: What the arm is told at each of them (N); force [N], height [m] or a row of places
            [m].
        world: Value of what is uncertain.
    """

    plan: str
    time: tuple[float, ...]
    course: tuple[float, ...] | tuple[tuple[float, ...], ...]
    world: float


class Execution(ABC):
    """How the arm executes a case, in a scene that is written for its world.

    Attributes:
        scene: What the scene is made from, a file of config/scenes.
    """

    scene: str

    @abstractmethod
    def arrange(self, values: dict[str, Any], world: float) -> None:
        """Make the values of a scene those of a world.

        Args:
            values: Of the scene's file; changed.
            world: See :class:`ArmCase`.
        """

    @abstractmethod
    def simulate(self, case: ArmCase, scene: Path) -> np.ndarray:
        """Execute a case in this process, and return what was measured.

        Args:
            case: What.
            scene: File of the scene.
        """

    def write_scene(self, world: float, folder: Path) -> Path:
        """Write the scene of a world to a folder, and return the file."""
        return write_scene(
            self.scene, folder / "scene.yaml", lambda values: self.arrange(values, world)
        )

    def run(self, case: ArmCase) -> np.ndarray:
        """Execute a case in the scene of its world, see :meth:`simulate`."""
        with tempfile.TemporaryDirectory() as folder:
            return self.simulate(case, self.write_scene(case.world, Path(folder)))


@dataclass(frozen=True)
class ArmTask:
    """A problem that the arm can execute.

    Attributes:
        quantity: What is uncertain, see :func:`robust_planner.quantities`.
        sigma: Its standard deviation, unless another one is asked for.
        draws: What worlds are drawn for; draws for different purposes are independent.
        problem: Builds the problem.
        course: What of a plan the arm is told (N), or in several directions (N, m).
        execution: Lets the arm execute a case, and returns what was measured.
        judge: Returns from that what is drawn [m or m/s], and whether the run has failed.
        bound: Returns what that may be.
        drawn: What it is, with its unit, and how many of them make one in SI units.
        world: What is uncertain, with its unit, and how many of them make one in SI units.
    """

    quantity: str
    sigma: float
    draws: str
    problem: Callable[[], Example]
    course: Callable[[ContactTrajectory], np.ndarray]
    execution: Execution
    judge: Callable[[Example, np.ndarray], tuple[float, bool]]
    bound: Callable[[Example], float]
    drawn: tuple[str, float]
    world: tuple[str, float]

    def plan(self, risk: float, sigma: float) -> tuple[Example, RiskPlan]:
        """Plan with and without a promise.

        Args:
            risk: Accepted probability of failure.
            sigma: Standard deviation of what is uncertain.

        Returns:
            The problem and its plans.
        """
        example = self.problem()
        mean = example.robust_problem.friction if self.quantity == "friction" else 0.0
        example = dataclasses.replace(example, uncertain={self.quantity: Normal(mean, sigma)})
        return example, plan_example(example, risk)

    def draw(self, example: Example, plan: RiskPlan, runs: int, seed: int) -> list[ArmCase]:
        """Draw worlds, the same for both plans.

        Args:
            example: The problem.
            plan: Its plans.
            runs: Worlds for each plan.
            seed: Of the draw.
        """
        problem = example.robust_problem
        worlds = draw_worlds(problem, example.uncertain, runs, seed, self.draws)
        plans = {"nominal": plan.nominal.trajectory, "with risk": plan.trajectory}
        return [
            ArmCase(name, tuple(motion.time.tolist()), _tuples(self.course(motion)), value)
            for name, motion in plans.items()
            for value in worlds.values(problem.model, self.quantity).tolist()
        ]

    def summarize(
        self, example: Example, cases: list[ArmCase], measured: list[np.ndarray]
    ) -> dict[str, Any]:
        """Count failures.

        Args:
            example: The problem.
            cases: What was executed.
            measured: What came of each.

        Returns:
            Plan -> worlds, what is drawn, and how many runs have failed.
        """
        plans = {}
        for name in dict.fromkeys(case.plan for case in cases):
            own = [(c, m) for c, m in zip(cases, measured, strict=True) if c.plan == name]
            drawn, failed = zip(*(self.judge(example, found) for _, found in own), strict=True)
            rate = FailureRate(sum(failed), len(own))
            plans[name] = {
                "world": [case.world for case, _ in own],
                "drawn": list(drawn),
                "failed": list(failed),
                "failures": rate.failures,
                "runs": rate.samples,
                "low": rate.low,
                "high": rate.high,
                "worst": float(np.abs(drawn).max()),
            }
        return plans


def _tuples(course: np.ndarray) -> Any:
    return tuple(course.tolist() if course.ndim == 1 else map(tuple, course.tolist()))


class SlideExecution(Execution):
    """Wrenches laid over the arm's impedance push the sled."""

    scene = SCENE

    def arrange(self, values: dict[str, Any], world: float) -> None:
        """Change the friction of sled and table, see :meth:`Execution.arrange`."""
        values["surfaces"][SLIDING]["friction"] = world

    def simulate(self, case: ArmCase, scene: Path) -> np.ndarray:
        """Let the arm execute a plan, as the demo slide_sled does on the graph.

        Args:
            case: What in which world.
            scene: File of its scene.

        Returns:
            Way of the sled at the start of every period, and at the end (n) [m].
        """
        plant = Plant(Scene.load(str(scene)))
        rest, period = plant.reset(0).position, plant.scene.config.period
        push, places = np.zeros(6), []
        for tick in range(round((RESTING + case.time[-1]) / period)):
            now = tick * period - RESTING + SAME_TIME
            if now >= 0.0:
                places.append(_place(plant))
                push[ALONG] = case.course[np.searchsorted(case.time, now) - 1]
            plant.tick(rest, None, push)
        places.append(_place(plant))
        return np.array(places) - places[0]


def judge_slide(example: Example, ways: np.ndarray) -> tuple[float, bool]:
    """Return the final error of the sled [m], and whether it is too large.

    Args:
        example: The problem.
        ways: See :meth:`SlideExecution.simulate`.
    """
    error = float(ways[-1] - example.robust_problem.goal[0])
    return error, abs(error) > example.failure.goal_tolerance[0]


SLIDE = ArmTask(
    quantity="friction",
    sigma=0.1,
    draws="slides of the arm",
    problem=lambda: sled(carried_mass()),
    course=lambda motion: motion.control[:, 0],
    execution=SlideExecution(),
    judge=judge_slide,
    bound=lambda example: example.failure.goal_tolerance[0],
    drawn=("final error of the sled [mm]", 1e3),
    world=("friction of the table", 1.0),
)
"""The sled over a table of uncertain friction, by wrenches laid over the arm's impedance."""


def _place(plant: Plant) -> float:
    return float(plant.truth().objects[-1].position[ALONG])
