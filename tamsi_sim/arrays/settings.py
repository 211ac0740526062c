"""The scalars of the scheme, as kernels read them."""

from __future__ import annotations

import math
from enum import IntEnum
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from contact_core.robot.scene_config import SolverConfig

MAX_ANGLE = math.pi / 3
"""Turn of a slip velocity in one update of TALS [rad]."""


class FrictionLaw(IntEnum):
    """How friction grows inside stiction, s = slip speed / v_s.

    LINEAR is mu s, ``tamsi`` (7); QUADRATIC is mu s (2 - s), which is smooth at s = 1 and
    what Drake implements. Both creep. ELASTIC holds: friction is a spring that shears with the
    surfaces and slips at mu, see :mod:`tamsi_sim.scheme.shear`.
    """

    LINEAR = 0
    QUADRATIC = 1
    ELASTIC = 2


class SchemeSettings(NamedTuple):
    """Scalars of the scheme.

    Attributes:
        time_step: h; a period of several steps where the accuracy is given [s].
        accuracy: Error of a step, see :mod:`tamsi_sim.scheme.error_control` [m and rad]; 0 for
            steps of equal length.
        stiction_velocity: v_s [m/s] of ``tamsi`` (7).
        relative_tolerance: Newton stops when contact velocities change by less than this
            times v_s.
        max_iterations: Newton iterations of one (sub-)step.
        max_substeps: A step that fails is retried with up to so many sub-steps.
        friction_law: A FrictionLaw.
        line_search: 1 to limit Newton updates by TALS, 0 not to.
        cos_max_angle: Cosine of TALS's theta_max.
        landing: Slip speed [v_s] at which TALS lands when an update would cross zero slip.
        soft_norm: Regularisation of the slip speed's norm [v_s].
        midpoint: 1 to turn free bodies, and those on fixed ball joints, by the implicit midpoint
            rule, 0 to take their gyroscopic terms explicitly.
    """

    time_step: float
    accuracy: float
    stiction_velocity: float
    relative_tolerance: float
    max_iterations: int
    max_substeps: int
    friction_law: int
    line_search: int
    cos_max_angle: float
    landing: float
    soft_norm: float
    midpoint: int


def scheme_settings(solver: SolverConfig, time_step: float) -> SchemeSettings:
    """Return the scalars the kernels read.

    Args:
        solver: Settings of the scheme.
        time_step: h [s].
    """
    return SchemeSettings(
        time_step=float(time_step),
        accuracy=solver.accuracy,
        stiction_velocity=solver.stiction_velocity,
        relative_tolerance=solver.relative_tolerance,
        max_iterations=solver.max_iterations,
        max_substeps=solver.max_substeps,
        friction_law=int(FrictionLaw[solver.friction_law.upper()]),
        line_search=int(solver.line_search),
        cos_max_angle=math.cos(MAX_ANGLE),
        landing=solver.landing,
        soft_norm=solver.soft_norm,
        midpoint=int(solver.gyroscopic_terms == "midpoint"),
    )
