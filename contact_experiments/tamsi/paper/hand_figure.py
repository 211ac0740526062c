"""Fig. 9 of the TAMSI paper: an Allegro hand turns a mug to and fro, and what that costs."""

from __future__ import annotations

import dataclasses
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import pinocchio as pin
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from mpl_toolkits.mplot3d import Axes3D

from contact_core.base.errors import ContactStackError
from contact_core.base.figures import BLUE, RED, dress
from contact_core.base.sweep import Sweep
from contact_experiments.papers.figure import spread
from contact_experiments.papers.pictures import FigureResult
from contact_experiments.tamsi.cases import MUG, AllegroHand, fingers_in_contact
from contact_experiments.tamsi.integrators.integrator import SCHEMES, IntegratorConfig
from contact_experiments.tamsi.paper.hand_drawing import HandDrawing
from contact_experiments.tamsi.paper.speed import (
    TAMSI,
    SimulationRun,
    interleaved_rounds,
    median_round,
    ratios,
    scheme_style,
)

SAMPLE = 30  # Steps between two looks at the mug.
DURATION = 15.0  # [s]
STEPS = (7e-4, 2e-3, 5e-3)
"""Step h of TAMSI, and the longest that implicit Euler may choose [s]; the first is the paper's."""
INTEGRATORS = (TAMSI, "ie_qn_ec", "ie_qn_ec_tals")
LOOSE = IntegratorConfig(accuracy=0.01)
"""The accuracy of the paper's fastest set-up of implicit Euler."""
CENTER, REACH = np.array([0.035, 0.0, 0.015]), 0.105  # What the pictures show [m].


@dataclass(frozen=True)
class Reorientation:
    """A run of the hand.

    Attributes:
        period: Of the motion [s].
        time: (m) [s].
        joints: (m, 16) joint positions [rad].
        poses: (m, 7) position [m] and quaternion (x, y, z, w) of the mug.
        fingers: (m) how many fingers touch the mug.
        cpu_time: That the steps took [s].
    """

    period: float
    time: np.ndarray
    joints: np.ndarray
    poses: np.ndarray
    fingers: np.ndarray
    cpu_time: float

    @property
    def real_time_rate(self) -> float:
        """Simulated time per CPU time."""
        return float(self.time[-1] / self.cpu_time)

    def angle(self) -> np.ndarray:
        """Return (m) the mug's angle about the axis it turns about most [rad].

        It is measured from the mean orientation of all but the first period.
        """
        rotations = [pin.Quaternion(quaternion).matrix() for quaternion in self.poses[:, 3:]]
        held = self.time > self.period
        mean = np.mean([r for r, counts in zip(rotations, held, strict=True) if counts], axis=0)
        u, _, vt = np.linalg.svd(mean)
        mean = u @ np.diag([1.0, 1.0, np.linalg.det(u @ vt)]) @ vt
        vectors = np.array([pin.log3(rotation @ mean.T) for rotation in rotations])
        axis = np.linalg.svd(vectors[held], full_matrices=False)[2][0]
        return vectors @ axis

    def swings(self) -> np.ndarray:
        """Return the largest angle between two orientations in each whole period [rad]."""
        count = int(self.time[-1] / self.period + 1e-9)
        swings = np.empty(count)
        for k in range(count):
            during = (self.time > k * self.period) & (self.time <= (k + 1) * self.period)
            quaternions = self.poses[during, 3:]
            cosines = np.abs(quaternions @ quaternions.T)
            swings[k] = 2.0 * np.arccos(np.clip(cosines.min(), 0.0, 1.0))
        return swings


def turn_mug(case: AllegroHand, duration: float = DURATION) -> Reorientation:
    """Simulate the hand.

    Args:
        case: The case.
        duration: Simulated time [s].

    Returns:
        The run.

    Raises:
        ContactStackError: If a step fails.
    """
    engine = case.engine()
    forces = case.forces(round(duration / case.time_step))
    first = engine.built.free_bodies[MUG][0]
    times: list[float] = []
    states, fingers = [], []
    cpu_time = 0
    for k in range(0, len(forces), SAMPLE):
        start = time.process_time_ns()
        status, _, _ = engine.roll(forces[k : k + SAMPLE])
        cpu_time += time.process_time_ns() - start
        if status:
            raise ContactStackError(f"after {times[-1] if times else 0.0:.3f} s: {status.remedy}")
        times.append(min(k + SAMPLE, len(forces)) * case.time_step)
        states.append(engine.q.copy())
        fingers.append(len(fingers_in_contact(engine)))
    positions = np.array(states)
    return Reorientation(
        case.period,
        np.array(times),
        positions[:, :first],
        positions[:, first : first + 7],
        np.array(fingers),
        1e-9 * cpu_time,
    )


def plot_turning(
    run: Reorientation, costs: Mapping[float, Sequence[SimulationRun]] | None = None
) -> Figure:
    """Draw the hand at both ends and in the middle of a swing, and the run over time.

    Args:
        run: The run.
        costs: Time step [s] -> runs of several integrators, TAMSI first, to be compared.
    """
    rows = 3 if costs is None else 4
    figure = Figure(figsize=(11.0, 7.2 + 1.9 * (rows - 3)), layout="constrained")
    grid = figure.add_gridspec(rows, 3, height_ratios=(3.2, 1.4, 0.7, 1.5)[:rows])
    angle = np.rad2deg(run.angle())
    last = run.time > run.time[-1] - run.period
    moments = [int(np.flatnonzero(last)[k]) for k in _turns(angle[last])]
    drawing = HandDrawing()
    for column, moment in enumerate(moments):
        axes = figure.add_subplot(grid[0, column], projection="3d")
        drawing.draw(axes, run.joints[moment], run.poses[moment])
        frame_hand(axes, f"{run.time[moment]:.2f} s, {angle[moment]:+.0f}°")
    over_time = figure.add_subplot(grid[1, :])
    over_time.plot(run.time, angle, color=RED, lw=1.6)
    over_time.plot(run.time[moments], angle[moments], "o", color=RED, mec="white", ms=7)
    over_time.set_ylabel("mug's angle [°]")
    below = figure.add_subplot(grid[2, :], sharex=over_time)
    below.fill_between(run.time, run.fingers, step="post", color=BLUE, alpha=0.75, lw=0.0)
    below.set(ylabel="fingers in\ncontact", xlabel="time [s]", ylim=(0.0, 4.4), yticks=(0, 2, 4))
    for axes_2d in (over_time, below):
        dress(axes_2d)
    below.set_xlim(0.0, run.time[-1])
    over_time.tick_params(labelbottom=False)
    if costs is not None:
        _compare(figure.add_subplot(grid[3, :]), costs)
    return figure


def _compare(axes: Axes, costs: Mapping[float, Sequence[SimulationRun]]) -> None:
    """Draw CPU time per simulated time against the step, TAMSI's first."""
    dress(axes)
    steps = 1e3 * np.array(list(costs))
    first, *others = (
        np.array([1e3 * run.cpu[-1] / run.simulated[-1] for run in runs])
        for runs in zip(*costs.values(), strict=True)
    )
    for run, cost in zip(next(iter(costs.values())), (first, *others), strict=True):
        style = scheme_style(run.integrator)
        axes.loglog(steps, cost, marker="o", label=SCHEMES[run.integrator].title, **style)
    for step, cost, tamsi in zip(steps, others[0], first, strict=True):
        axes.annotate(
            f"{cost / tamsi:.1f}x", (step, cost), (0, 8), textcoords="offset points",
            ha="center", color=style["color"], fontsize=9,
        )  # fmt: skip
    axes.set(xlabel="step, or the longest one allowed [ms]", ylabel="CPU time\n[ms per s]")
    axes.set_xticks(steps, [f"{step:g}" for step in steps])
    axes.minorticks_off()
    axes.margins(x=0.05, y=0.3)
    axes.legend(loc="lower left", frameon=False, fontsize=9)


def _turns(angle: np.ndarray) -> list[int]:
    """Return where the angle is least, in the middle on the way up, and greatest."""
    low, high = int(np.argmin(angle)), int(np.argmax(angle))
    begin, end = sorted((low, high))
    half = 0.5 * (angle.min() + angle.max())
    middle = begin + int(np.argmin(np.abs(angle[begin : end + 1] - half)))
    return [begin, middle, end]


def frame_hand(axes: Axes3D, title: str) -> None:
    """Look at the hand, with a title above it."""
    axes.set(
        xlim=(CENTER[0] - REACH, CENTER[0] + REACH),
        ylim=(CENTER[1] - REACH, CENTER[1] + REACH),
        zlim=(CENTER[2] - REACH, CENTER[2] + REACH),
    )
    axes.set_box_aspect((1.0, 1.0, 1.0), zoom=1.55)
    axes.view_init(elev=28.0, azim=-28.0)
    axes.set_axis_off()
    axes.set_title(title, fontsize=10, y=0.88)


def figure_9(sweep: Sweep) -> FigureResult:
    """Fig. 9: the Allegro hand that turns a mug, and what that costs."""
    (turned,) = sweep.run(turn_mug, [(AllegroHand(), DURATION)], "figure 9, motion")
    costs, relative = {}, {}
    for h in STEPS:
        case, what = AllegroHand(time_step=h), f"figure 9, {1e3 * h:g} ms"
        rounds = interleaved_rounds(sweep, INTEGRATORS, case, DURATION, what, LOOSE)
        costs[h], relative[h] = median_round(rounds), ratios(rounds)
    rate = DURATION / float(costs[STEPS[0]][0].cpu[-1])
    swings = np.rad2deg(turned.swings())
    held = turned.time > 0.5 * turned.period
    fingers = int(turned.fingers[held].min())
    numbers = {
        "swings_deg": spread(swings),
        "fingers": fingers,
        "accuracy": LOOSE.accuracy,
        "ratios": {f"{1e6 * h:.0f} us": found for h, found in relative.items()},
        "tamsi_real_time_rate": rate,
        "efforts": {
            f"{1e6 * h:.0f} us": {run.integrator: dataclasses.asdict(run.effort) for run in runs}
            for h, runs in costs.items()
        },
    }
    return plot_turning(turned, costs), numbers
