"""Fig. 5, 7 and 8: randomised smoothing of contact."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from mpl_toolkits.mplot3d import Axes3D

from contact_core.figures import new_figure, save
from contact_core.seeds import generator
from contact_experiments.irs.contact_examples import (
    PenaltyContact,
    coulomb_contact,
    normal_contact,
    relaxed_contact,
)
from irs_planner.plots.figures import EXACT, FIRST

BatchStep = Callable[[np.ndarray, np.ndarray], np.ndarray]


def figure_5(folder: Path, samples: int = 500, seed: int = 0) -> Path:
    """Draw Fig. 5: object position against command, exact and bundled.

    Args:
        folder: Where to save ``fig5.png``.
        samples: Samples per point.
        seed: Seed of the samples.

    Returns:
        The file.
    """
    system, sigma = normal_contact(), 0.1
    commands = np.linspace(-0.4, 0.4, 161)
    noise = sigma * generator(seed, "figure 5").standard_normal(samples)
    state = np.array([0.0, -0.4])
    exact = _positions(system.step_batch, state, commands[:, np.newaxis])
    sampled = (commands[:, np.newaxis] + noise).reshape(-1, 1)
    bundled = _positions(system.step_batch, state, sampled).reshape(len(commands), -1).mean(1)
    figure, ((axes,),) = new_figure(1, 1, (5.0, 3.0))
    axes.plot(commands, exact, color=EXACT, label="exact (20)")
    axes.plot(commands, bundled, color=FIRST, label=f"bundled, std {sigma} m")
    axes.set(xlabel="commanded robot position [m]", ylabel="next object position [m]")
    axes.axvline(0.0, color="0.7", lw=0.8)
    axes.annotate("contact", (0.01, axes.get_ylim()[1] * 0.9), color="0.4")
    axes.legend()
    return save(figure, folder / "fig5.png")


def figure_7(folder: Path, samples: int = 200, seed: int = 0) -> Path:
    """Draw Fig. 7: exact Coulomb friction, its relaxation, and both bundled.

    Args:
        folder: Where to save ``fig7.png``.
        samples: Samples per point.
        seed: Seed of the samples.

    Returns:
        The file.
    """
    sigma = 0.1
    x, y = np.meshgrid(np.linspace(-0.4, 0.4, 41), np.linspace(-0.4, 0.4, 41))
    commands = np.stack((x.ravel(), y.ravel()), axis=1)
    noise = sigma * generator(seed, "figure 7").standard_normal((samples, 2))
    figure = Figure(figsize=(11.0, 9.0), layout="constrained")
    steps: dict[str, BatchStep] = {
        "Coulomb": coulomb_contact().step_batch,
        "Anitescu": relaxed_contact().step_batch,
    }
    for column, (name, step) in enumerate(steps.items()):
        exact = _positions(step, np.zeros(3), commands)
        sampled = (commands[:, np.newaxis] + noise).reshape(-1, 2)
        bundled = _positions(step, np.zeros(3), sampled)
        bundled = bundled.reshape(len(commands), samples).mean(axis=1)
        for row, (values, kind) in enumerate(((exact, "exact"), (bundled, "bundled"))):
            axes = figure.add_subplot(2, 2, 2 * row + column + 1, projection="3d")
            assert isinstance(axes, Axes3D)
            axes.plot_surface(x, y, values.reshape(x.shape), cmap="viridis", lw=0.2)
            axes.set_title(f"{name}, {kind}")
            axes.set_xlabel("commanded x [m]")
            axes.set_ylabel("commanded y [m]")
            axes.set_zlabel("next box position [m]")
            axes.locator_params(nbins=5)
            axes.view_init(30, -120)
            axes.set_box_aspect(None, zoom=0.85)
    return save(figure, folder / "fig7.png")


def figure_8(folder: Path, samples: int = 2000, seed: int = 0) -> Path:
    """Draw Fig. 8: penalty friction with Stribeck effect, exact and bundled.

    Args:
        folder: Where to save ``fig8.png``.
        samples: Samples per point.
        seed: Seed of the samples.

    Returns:
        The file.
    """
    contact = PenaltyContact()
    distance, speed = np.meshgrid(np.linspace(-0.02, 0.02, 81), np.linspace(-0.4, 0.4, 121))
    std = np.array([5e-3, 0.05])
    noise = std * generator(seed, "figure 8").standard_normal((samples, 2))
    figure, ((left, right),) = new_figure(1, 2, (10.0, 4.0))
    exact = contact.friction_force(distance, speed)
    bundled = contact.bundled_friction_force(distance, speed, noise)
    limit = float(np.abs(exact).max())
    for axes, force, title in (
        (left, exact, "penalty contact with Stribeck effect"),
        (right, bundled, "bundled"),
    ):
        _force_map(axes, distance, speed, force, limit)
        axes.set_title(title)
    return save(figure, folder / "fig8.png")


def _force_map(
    axes: Axes, distance: np.ndarray, speed: np.ndarray, force: np.ndarray, limit: float
) -> None:
    mesh = axes.pcolormesh(distance, speed, force, cmap="RdBu_r", vmin=-limit, vmax=limit)
    levels = [level for level in np.linspace(-limit, limit, 9) if level != 0.0]
    axes.contour(distance, speed, force, levels=levels, colors="k", linewidths=0.4)
    axes.set(xlabel="signed distance [m]", ylabel="sliding speed [m/s]")
    axes.figure.colorbar(mesh, ax=axes, label="friction force [N]")


def _positions(step: BatchStep, state: np.ndarray, commands: np.ndarray) -> np.ndarray:
    """Return the next object position for every command."""
    return step(np.tile(state, (len(commands), 1)), commands)[:, 0]
