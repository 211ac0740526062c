"""The demo slide_sled: a plan that knows its risk and one that does not, over several frictions."""

from __future__ import annotations

import argparse
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from tqdm import tqdm

from contact_core.base.errors import ConfigError
from contact_core.base.figures import add_legend, draw_limit, new_figure, save
from contact_core.base.results import Rows, table
from contact_core.robot.scene import Scene, write_scene
from contact_ros.driver_profile import overlay
from contact_stack.demo.client_node import Connection
from contact_stack.demo.contact_tracking.statistics import trajectory_hash
from contact_stack.demo.runner import DRIVER, Demo
from contact_stack.demo.sled.node import SCENE, SLIDING, SledNode, Slide, carried_mass

# The other demos do without its libraries.
if TYPE_CHECKING:
    from robust_planner.examples import Example
    from robust_planner.result import RobustPlan, StageProgress

PLANNING_BAR = "{desc:72} [{elapsed}]"

ROWS: Rows = (
    ("status", "status", 1.0, ""),
    ("predicted final error, mean", "final_error.mean", 1e3, "mm"),
    ("predicted final error, range", "final_error.range", 1e3, "mm"),
    ("final error of the arm, mean", "arm.mean", 1e3, "mm"),
    ("final error of the arm, range", "arm.range", 1e3, "mm"),
    ("largest force", "max_control", 1.0, "N"),
    ("largest speed, planned", "max_speed", 1.0, "m/s"),
    ("largest speed of the sled", "arm.max_speed", 1.0, "m/s"),
    ("worlds without the planned forces", "violation_rate", 100.0, "%"),
    ("  Gaussian prediction", "violation_rate_predicted", 100.0, "%"),
)


@dataclass(frozen=True)
class SledPlans:
    """What is executed.

    Attributes:
        example: The problem.
        carried_mass: Inertia of the arm along the motion, at its start [kg].
        plans: ``"reference"`` and ``"robust"``; the second is the first if it could not be
            solved.
    """

    example: Example
    carried_mass: float
    plans: Mapping[str, RobustPlan]


class SlideSled(Demo[Slide]):
    """Each plan executed with each friction, one graph run for each pair.

    Its summary keeps the shape of ``contact-stack robust``: the figures of a plan are those
    of the planner's report, with the arm's runs in one entry of it.
    """

    options = (DRIVER,)

    def __init__(self, args: argparse.Namespace) -> None:
        """Take the options, see :meth:`Demo.__init__`."""
        super().__init__(args)
        if self.driver != overlay.DRIVER:
            raise ConfigError(
                f"{SCENE} commands wrenches: --driver is '{self.driver}' (valid: {overlay.DRIVER})"
            )

    @cached_property
    def planned(self) -> SledPlans:
        """The plans, made when they are first asked for."""
        from robust_planner.examples import sled
        from robust_planner.planner import RobustRequest, answer

        with tqdm(total=1, bar_format=PLANNING_BAR) as bar:

            def show(phase: str, progress: StageProgress) -> None:
                bar.set_description_str(
                    f"{phase}, {progress.stage}: iteration {progress.iterations}, "
                    f"residual {progress.residual:.1e}"
                )

            inertia = carried_mass()
            example = sled(inertia)
            planned = answer(RobustRequest(example, example.config), show)
        plans = {"reference": planned.reference, "robust": planned.result}
        return SledPlans(example, inertia, plans)

    @property
    def runs(self) -> Sequence[str]:
        """Names of the pairs of plan and friction."""
        return list(self._pairs)

    def launch(self, run: str, folder: Path) -> tuple[str, Mapping[str, str]]:
        """Return the graph with the run's friction, see :meth:`Demo.launch`."""
        _, friction = self._pairs[run]

        def change(values: dict[str, Any]) -> None:
            values["surfaces"][SLIDING]["friction"] = friction

        scene = write_scene(SCENE, folder / f"mu_{friction:.3f}.yaml", change)
        return "client", {"scene": str(scene)}

    def client(self, run: str, connection: Connection) -> SledNode:
        """Make the node that streams the plan."""
        plan, _ = self._pairs[run]
        motion = self.planned.plans[plan].trajectory
        return SledNode(Scene.load(SCENE), motion.time, motion.control[:, 0], connection)

    def summarise(self, runs: Mapping[str, Slide]) -> dict[str, Any]:
        """Compare the executions of the plans."""
        from robust_planner.report import report

        example = self.planned.example
        plans = {
            name: {
                **report(example, example.problem, example.config, plan),
                "arm": self._execution(self._slides(runs, name)),
            }
            for name, plan in self.planned.plans.items()
        }
        return {
            "experiment": SCENE,
            "seed": self.seed,
            "lockstep": self.lockstep,
            "carried_mass_kg": self.planned.carried_mass,
            "range_ratio": plans["robust"]["arm"]["range"] / plans["reference"]["arm"]["range"],
            "plans": plans,
        }

    def report(self, summary: Mapping[str, Any]) -> list[str]:
        """Return the table of the plans."""
        return [
            *table(summary["plans"], ROWS),
            f"range of the robust plan over that of the reference: {summary['range_ratio']:.0%}",
        ]

    def draw(self, runs: Mapping[str, Slide], folder: Path) -> list[Path]:
        """Draw force and motion of each plan, one column per plan."""
        goal = self._goal
        size = 5.0 * len(self.planned.plans), 6.4
        figure, grid = new_figure(
            2, len(self.planned.plans), size, sharex=True, sharey="row", height_ratios=(2, 3)
        )
        for (push, motion), (name, plan) in zip(grid.T, self.planned.plans.items(), strict=True):
            planned, slides = plan.trajectory, self._slides(runs, name)
            push.step(planned.time[:-1], planned.control[:-1, 0], where="post", color="black")
            push.set_title(f"{name} plan", fontsize="medium")
            for friction, slide in slides.items():
                motion.plot(slide.time, slide.distance, label=f"$\\mu$ = {friction:.2f}")
            motion.plot(
                planned.time, planned.position[:, 0], color="black", ls="--", lw=1.2,
                label="planned",
            )  # fmt: skip
            draw_limit(motion, goal, "goal", side="left")
            ends = np.array([slide.distance[-1] for slide in slides.values()]) - goal
            text = f"error: mean {1e3 * ends.mean():+.0f} mm, range {1e3 * np.ptp(ends):.0f} mm"
            motion.set_title(text, fontsize="medium")
            motion.set_xlabel("time [s]")
        grid[0, 0].set_ylabel("force along the motion [N]")
        grid[1, 0].set_ylabel("way of the sled [m]")
        add_legend(figure, grid[1, 0], columns=6)
        title = "A 1.5 kg tool slid by the arm, without feedback, over tables of other friction"
        return [save(figure, folder / "slides.png", title)]

    def verdict(self, summary: Mapping[str, Any]) -> tuple[list[str], bool]:
        """Return that the demo fails if a plan does not satisfy its problem."""
        return [], not all(plan.solved for plan in self.planned.plans.values())

    @property
    def _goal(self) -> float:
        """Where the sled should come to rest along the motion [m]."""
        return float(self.planned.example.problem.goal[0])

    @property
    def _pairs(self) -> dict[str, tuple[str, float]]:
        """Name of a run -> plan and friction."""
        return {
            f"{plan}_{mu:.3f}": (plan, mu)
            for plan in self.planned.plans
            for mu in self.planned.example.test_friction
        }

    def _slides(self, runs: Mapping[str, Slide], plan: str) -> dict[float, Slide]:
        """Return friction -> run, of one plan."""
        return {mu: runs[run] for run, (of, mu) in self._pairs.items() if of == plan}

    def _execution(self, slides: Mapping[float, Slide]) -> dict[str, Any]:
        runs = slides.values()
        errors = np.array([run.distance[-1] - self._goal for run in runs])
        return {
            "mu": list(slides),
            "error_m": errors.tolist(),
            "mean": float(errors.mean()),
            "range": float(np.ptp(errors)),
            "max_speed": max(run.top_speed for run in runs),
            "wall_time_s": sum(run.wall_time for run in runs),
            "trajectory_sha256": [trajectory_hash(run.joints) for run in runs],
        }
