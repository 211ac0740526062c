"""Sec. IV-B of the TAMSI paper: what TALS gives implicit Euler when tangent spaces turn."""

from __future__ import annotations

import dataclasses
import itertools
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import pinocchio as pin
from matplotlib.figure import Figure

from contact_core.base.figures import BLUE, GREEN, GREY, RED, new_figure
from contact_core.base.sweep import Sweep
from contact_core.robot.description import read_urdf
from contact_core.robot.scene import Instance
from contact_core.robot.scene_config import SolverConfig
from contact_core.robot.surface import Surface
from contact_experiments.papers.figure import spread
from contact_experiments.papers.pictures import FigureResult
from contact_experiments.tamsi.cases import MUG, ParallelGripper, StickSlipBox
from contact_experiments.tamsi.integrators.excitation import Excitation
from contact_experiments.tamsi.integrators.integrator import SolverEffort, make_integrator
from tamsi_sim.arrays.status import StepStatus
from tamsi_sim.simulation.engine import Engine
from tamsi_sim.simulation.model import build_model

DURATION = 0.5  # [s]
STEPS = (1e-3, 2e-3, 5e-3, 1e-2, 2e-2)
SPIN = 60.0  # of the mug about its axis [rad/s]
MakeScene = Callable[[float], tuple[Engine, Excitation | None]]


def box(time_step: float) -> tuple[Engine, Excitation]:
    """Return the box of Sec. IV-A, whose tangent space never turns."""
    case = StickSlipBox(time_step=time_step)
    return case.engine(), case.excitation()


def gripper(time_step: float) -> tuple[Engine, Excitation]:
    """Return the gripper of Sec. VI-A, in which the mug turns little."""
    case = ParallelGripper(time_step=time_step)
    return case.engine(), case.excitation()


def spinning_mug(time_step: float) -> tuple[Engine, None]:
    """Return a mug that spins and wobbles on a cart, from one contact point to the next."""
    gravity = (0.0, 0.0, -9.81)
    tilt = pin.SE3(pin.rpy.rpyToMatrix(0.6, 0.4, 0.0), np.array([0.0, 0.0, 0.09]))
    surface = Surface(stiffness=2e4, dissipation=5.0, friction=0.5)
    built = build_model(
        [
            Instance(MUG, read_urdf("urdf/mug.urdf"), tilt, free=True, gravity=gravity),
            Instance("cart", read_urdf("urdf/cart.urdf")),
        ],
        lambda instance, link: surface,
        lambda a, b: a[0] != b[0],
    )
    engine = Engine(built, time_step, SolverConfig(friction_law="linear"))
    engine.v[:] = [0.0, 0.0, -0.5, 0.0, 0.0, SPIN]
    return engine, None


SCENES: dict[str, MakeScene] = {"box": box, "gripper": gripper, "spinning mug": spinning_mug}


@dataclass(frozen=True)
class LineSearchGain:
    """Implicit Euler with full Newton in one scene, without and with TALS.

    Attributes:
        scene: One of ``SCENES``.
        time_step: h [s].
        without: What it cost without TALS.
        with_tals: What it cost with it.
        finished: Whether both reached the end.
    """

    scene: str
    time_step: float
    without: SolverEffort
    with_tals: SolverEffort
    finished: bool

    @property
    def gain(self) -> float:
        """Evaluations of f without TALS, relative to those with it."""
        return self.without.evaluations / self.with_tals.evaluations

    @property
    def missed(self) -> float:
        """Share of the landings in stiction that were not in it, NaN if there were none."""
        landings = self.with_tals.landings
        return self.with_tals.missed / landings if landings else float("nan")


def run(
    scene: str, integrator: str, time_step: float, duration: float = DURATION
) -> tuple[SolverEffort, bool]:
    """Run a scene once.

    Args:
        scene: One of ``SCENES``.
        integrator: Its name.
        time_step: h [s].
        duration: Simulated time [s].

    Returns:
        What it cost, and whether it reached the end.
    """
    engine, excitation = SCENES[scene](time_step)
    moved = make_integrator(integrator, engine, excitation)
    status = moved.step(round(duration / time_step))
    return moved.effort, status == StepStatus.OK


def compare(scene: str, time_step: float, duration: float = DURATION) -> LineSearchGain:
    """Run a scene without and with TALS.

    Args:
        scene: One of ``SCENES``.
        time_step: h [s].
        duration: Simulated time [s].

    Returns:
        The comparison.
    """
    without, plain_finished = run(scene, "ie_fn", time_step, duration)
    with_tals, tals_finished = run(scene, "ie_fn_tals", time_step, duration)
    return LineSearchGain(scene, time_step, without, with_tals, plain_finished and tals_finished)


def plot_gains(comparisons: Sequence[LineSearchGain]) -> Figure:
    """Plot what TALS gives implicit Euler, and how often it misses (Sec. IV-B).

    Args:
        comparisons: Of all scenes and steps.
    """
    figure, ((gains, misses),) = new_figure(1, 2, (10.0, 4.0))
    # Large markers first: box and gripper coincide where neither misses a landing.
    for scene, color, size in zip(SCENES, (BLUE, GREEN, RED), (9, 5, 5), strict=True):
        found = [c for c in comparisons if c.scene == scene]
        steps = [1e3 * c.time_step for c in found]
        style = {"color": color, "markersize": size, "label": scene}
        gains.loglog(steps, [c.gain for c in found], "o-", **style)
        misses.semilogx(steps, [100.0 * c.missed for c in found], "o-", **style)
    gains.axhline(1.0, color=GREY, linewidth=1.0)
    gains.set_title("evaluations of f without TALS : with TALS")
    gains.set_ylabel("ratio")
    misses.set_title("landings in stiction that missed it")
    misses.set_ylabel("share [%]")
    for axes in figure.axes:
        axes.set_xlabel("time step h [ms]")
        axes.set_xticks(steps, [f"{step:g}" for step in steps])
        axes.minorticks_off()
        axes.legend(fontsize="small")
    return figure


def section_iv_b(sweep: Sweep) -> FigureResult:
    """Sec. IV-B: what TALS gives implicit Euler when the contacts' tangent spaces turn."""
    runs = list(itertools.product(SCENES, STEPS))
    found = sweep.run(compare, runs, "section IV-B")
    numbers = {}
    for scene in SCENES:
        own = [c for c in found if c.scene == scene]
        landings = sum(c.with_tals.landings for c in own)
        missed = sum(c.with_tals.missed for c in own)
        numbers[scene] = {
            "missed": f"{missed} of {landings}",
            "gain": spread([c.gain for c in own]),
        }
    comparisons = [
        {**dataclasses.asdict(c), "gain": c.gain, "missed": c.with_tals.missed} for c in found
    ]
    return plot_gains(found), {**numbers, "comparisons": comparisons}
