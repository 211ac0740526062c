"""Parameters of the integrators."""

from __future__ import annotations

from dataclasses import dataclass

from contact_core.config import parameter


@dataclass(frozen=True)
class IntegratorConfig:
    """What the schemes of implicit Euler need besides the contact model's SolverConfig."""

    accuracy: float = parameter(
        1e-3, "bound a on the local error of the velocities, with error control",
        unit="m/s and rad/s", above=0.0, high=10.0,
    )  # fmt: skip
    newton_share: float = parameter(
        0.05, "share of the accuracy that Newton's method may leave as an error,"
        " with error control",
        above=0.0, high=1.0,
    )  # fmt: skip
    newton_drift: float = parameter(
        1e-4, "error that Newton's method may add to a velocity per time, with fixed steps",
        unit="m/s^2 and rad/s^2", above=0.0,
    )  # fmt: skip
    max_iterations: int = parameter(10, "Newton iterations of one step", low=1, high=1000)
    max_rate: float = parameter(
        1.0, "ratio of successive Newton updates above which the iteration has diverged",
        above=0.0,
    )  # fmt: skip
    min_step: float = parameter(
        1e-9, "a step that fails is halved, but not below this", unit="s", above=0.0, high=1.0
    )
