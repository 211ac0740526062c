"""Fig. 5, 7 and 8: randomised smoothing of contact."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from mpl_toolkits.mplot3d import Axes3D

from contact_core.base.figures import add_legend, new_figure
from contact_core.base.seeds import generator
from contact_core.base.sweep import Sweep
from contact_experiments.irs.contact_examples import (
    PenaltyContact,
    coulomb_contact,
    normal_contact,
    relaxed_contact,
)
from contact_experiments.papers.pictures import FigureResult
from irs_planner.plots.figures import EXACT, FIRST

BatchStep = Callable[[np.ndarray, np.ndarray], np.ndarray]

SIGMA = 0.1
"""Standard deviation of commanded positions, Fig. 5 and 7 [m]."""
COMMANDS = np.linspace(-0.4, 0.4, 161)
"""Fig. 5 [m]."""
SQUARE = np.linspace(-0.4, 0.4, 41)
"""Fig. 7, along x and y [m]."""
FRICTION_MODELS: dict[str, Callable[[], BatchStep]] = {
    "Coulomb": lambda: coulomb_contact().step_batch,
    "Anitescu": lambda: relaxed_contact().step_batch,
}
DISTANCES = np.linspace(-0.02, 0.02, 81)
"""Fig. 8, phi [m]."""
SPEEDS = np.linspace(-0.4, 0.4, 121)
"""Fig. 8, psi [m/s]."""
SPREAD = np.array([5e-3, 0.05])
"""Fig. 8, standard deviations of phi [m] and psi [m/s]."""


def push(samples: int, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """Move the object of Example 4 by every command.

    Args:
        samples: Per command.
        seed: Of the samples.

    Returns:
        Next positions of the object for COMMANDS, exact and bundled [m].
    """
    step, state = normal_contact().step_batch, np.array([0.0, -0.4])
    noise = SIGMA * generator(seed, "figure 5").standard_normal(samples)
    sampled = (COMMANDS[:, np.newaxis] + noise).reshape(-1, 1)
    bundled = _positions(step, state, sampled).reshape(len(COMMANDS), -1).mean(1)
    return _positions(step, state, COMMANDS[:, np.newaxis]), bundled


def figure_5(sweep: Sweep, samples: int = 500) -> FigureResult:
    """Fig. 5: object position against command, exact and bundled."""
    ((exact, bundled),) = sweep.run(push, [(samples,)], "figure 5")
    figure, ((axes,),) = new_figure(1, 1, (5.4, 3.8))
    axes.axvspan(0.0, COMMANDS[-1], color="0.5", alpha=0.08, lw=0)
    axes.text(0.39, 0.0, "contact", color="0.4", ha="right", va="bottom")
    axes.plot(COMMANDS, exact, color=EXACT, label="exact (20)")
    axes.plot(COMMANDS, bundled, color=FIRST, label=f"bundled, standard deviation {SIGMA} m")
    axes.set(xlabel="commanded robot position [m]", ylabel="next object position [m]")
    add_legend(figure, axes)
    slopes = {"exact": np.gradient(exact, COMMANDS), "bundled": np.gradient(bundled, COMMANDS)}
    before, after = (int(np.argmin(np.abs(COMMANDS - at))) for at in (-0.05, 0.2))
    return figure, {
        name: {"slope_5_cm_before": float(slope[before]), "slope_in_contact": float(slope[after])}
        for name, slope in slopes.items()
    }


def rub(model: str, samples: int, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """Move the box of Example 5 by every command of a square.

    Args:
        model: One of FRICTION_MODELS.
        samples: Per command.
        seed: Of the samples.

    Returns:
        Next positions of the box (41, 41), y by x, exact and bundled [m].
    """
    step, start = FRICTION_MODELS[model](), np.zeros(3)
    x, y = np.meshgrid(SQUARE, SQUARE)
    commands = np.stack((x.ravel(), y.ravel()), axis=1)
    noise = SIGMA * generator(seed, "figure 7").standard_normal((samples, 2))
    sampled = (commands[:, np.newaxis] + noise).reshape(-1, 2)
    bundled = _positions(step, start, sampled).reshape(len(commands), samples).mean(axis=1)
    return _positions(step, start, commands).reshape(x.shape), bundled.reshape(x.shape)


def figure_7(sweep: Sweep, samples: int = 200) -> FigureResult:
    """Fig. 7: exact Coulomb friction, its relaxation, and both bundled."""
    surfaces = dict(
        zip(
            FRICTION_MODELS,
            sweep.run(rub, [(name, samples) for name in FRICTION_MODELS], "figure 7"),
            strict=True,
        )
    )
    figure = Figure(figsize=(10.0, 7.8), layout="constrained")
    low, high = np.min(list(surfaces.values())), np.max(list(surfaces.values()))
    x, y = np.meshgrid(SQUARE, SQUARE)
    for column, (name, kinds) in enumerate(surfaces.items()):
        for row, (values, kind) in enumerate(zip(kinds, ("exact", "bundled"), strict=True)):
            axes = figure.add_subplot(2, 2, 2 * row + column + 1, projection="3d")
            assert isinstance(axes, Axes3D)
            axes.plot_surface(x, y, values, cmap="viridis", lw=0.2, vmin=low, vmax=high)
            axes.set_title(f"{name}, {kind}")
            axes.set_xlabel("commanded x [m]")
            axes.set_ylabel("commanded y [m]")
            axes.set_zlabel("next box position [m]")
            axes.set_zlim(low, high)
            axes.locator_params(nbins=5)
            axes.view_init(30, -120)
            axes.set_box_aspect(None, zoom=0.85)
    differences = np.abs(np.subtract(surfaces["Coulomb"], surfaces["Anitescu"]))
    # y > 0: the sphere is told to leave the box.
    away, forward = SQUARE > 1e-9, SQUARE > 0.1
    moved = {
        name: {
            kind: float(np.abs(values[np.ix_(away, forward)]).mean())
            for kind, values in zip(("exact", "bundled"), kinds, strict=True)
        }
        for name, kinds in surfaces.items()
    }
    return figure, {
        "largest_difference_m": {
            "exact": float(differences[0].max()),
            "bundled": float(differences[1].max()),
        },
        "mean_motion_when_leaving_m": moved,
    }


def rub_with_penalty(samples: int, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """Evaluate penalty friction over distances and speeds.

    Args:
        samples: Per point.
        seed: Of the samples.

    Returns:
        Friction (121, 81), speed by distance, exact and bundled [N].
    """
    contact = PenaltyContact()
    distance, speed = np.meshgrid(DISTANCES, SPEEDS)
    noise = SPREAD * generator(seed, "figure 8").standard_normal((samples, 2))
    bundled = contact.bundled_friction_force(distance, speed, noise)
    return contact.friction_force(distance, speed), bundled


def figure_8(sweep: Sweep, samples: int = 2000) -> FigureResult:
    """Fig. 8: penalty friction with Stribeck effect, exact and bundled."""
    ((exact, bundled),) = sweep.run(rub_with_penalty, [(samples,)], "figure 8")
    figure, ((left, right),) = new_figure(1, 2, (10.0, 4.0), sharey=True)
    limit = float(np.abs(exact).max())
    for axes, force, title in (
        (left, exact, "penalty contact with Stribeck effect"),
        (right, bundled, "bundled"),
    ):
        _force_map(axes, force, limit)
        axes.set_title(title)
    left.set_ylabel("sliding speed [m/s]")
    figure.colorbar(right.collections[0], ax=[left, right], label="friction force [N]")
    deep = int(np.argmin(np.abs(DISTANCES + 0.01)))
    apart = int(np.argmin(np.abs(DISTANCES - 0.005)))
    return figure, {
        name: {
            "largest_jump_n": float(np.abs(np.diff(force[:, deep])).max()),
            "largest_force_at_5_mm_n": float(np.abs(force[:, apart]).max()),
        }
        for name, force in (("exact", exact), ("bundled", bundled))
    }


def _force_map(axes: Axes, force: np.ndarray, limit: float) -> None:
    axes.pcolormesh(
        DISTANCES, SPEEDS, force, cmap="RdBu_r", vmin=-limit, vmax=limit, rasterized=True
    )
    levels = [level for level in np.linspace(-limit, limit, 9) if level != 0.0]
    axes.contour(DISTANCES, SPEEDS, force, levels=levels, colors="k", linewidths=0.4)
    axes.set(xlabel="signed distance [m]")


def _positions(step: BatchStep, state: np.ndarray, commands: np.ndarray) -> np.ndarray:
    """Return the next object position for every command."""
    return step(np.tile(state, (len(commands), 1)), commands)[:, 0]
