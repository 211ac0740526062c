"""What the controller's tests share: the arm, and contacts made by hand."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from contact_aware_control.contact import ContactEstimate
from contact_core.robot.arm_state import ArmState
from contact_core.robot.description import RobotDescription
from contact_core.robot.robot import Robot

# Helper modules of this folder can be imported by their names.
sys.path.insert(0, str(Path(__file__).parent))

WRIST = "lbr_link_6"
Q_BENT = np.array([0.1, 0.6, -0.1, -1.5, 0.1, 1.0, 0.0])
STIFFNESS = np.array([800.0, 600.0, 600.0, 600.0, 400.0, 200.0, 200.0])


@pytest.fixture(scope="session")
def description() -> RobotDescription:
    """The composed robot."""
    return RobotDescription.load("iiwa14_wsg50")


@pytest.fixture
def robot(description: RobotDescription) -> Robot:
    """The arm, at a bent configuration."""
    arm = Robot.from_description(description)
    arm.update(Q_BENT)
    return arm


@pytest.fixture
def contact() -> Callable[..., ContactEstimate]:
    """Make a contact estimate: ``contact(force, point, link=..., identifiable=...)``."""

    def make(
        force: object,
        point: object,
        link: str = WRIST,
        identifiable: bool = True,
        residual: float = 1.0,
    ) -> ContactEstimate:
        vector = np.asarray(force, dtype=float)
        place = np.asarray(point, dtype=float)
        size = np.linalg.norm(vector)
        return ContactEstimate(
            number=0,
            link=link,
            joints_moving=6,
            point_world=place,
            point_link=place,
            normal_world=vector / size if size > 0.0 else np.array([0.0, 0.0, 1.0]),
            force_world=vector,
            point_covariance=np.eye(3) * 1e-4,
            force_covariance=np.eye(3),
            residual=residual,
            effective_sample_size=100.0,
            spread=0.01,
            identifiable=identifiable,
            age=1.0,
            modes=(),
        )

    return make


@pytest.fixture
def arm_state() -> Callable[..., ArmState]:
    """Make a joint state: ``arm_state(stamp, q, commanded=...)``."""

    def make(stamp: int, q: np.ndarray, commanded: np.ndarray | None = None) -> ArmState:
        nan = np.full(7, np.nan)
        return ArmState(stamp, q, nan, q.copy() if commanded is None else commanded, nan)

    return make
