"""Compiles the estimator's kernels, so that the first contact is not late."""

from __future__ import annotations

import numpy as np

from contact_aware_control.estimation.config import EstimatorConfig
from contact_aware_control.estimation.estimator import ContactEstimator
from contact_core.config import from_mapping
from contact_core.description import RobotDescription
from contact_core.robot import Robot

PERIOD_NS = 5_000_000


def precompile() -> None:
    """Run an estimator through two contacts; compiled code is kept on disk."""
    robot = Robot.from_description(RobotDescription.load("iiwa14_wsg50"))
    config = from_mapping(
        EstimatorConfig,
        {
            "particles": {"count": 100},
            "contacts": {"settling_time": 0.0, "add_time": 0.0, "change_time": 0.0},
        },
    )
    estimator = ContactEstimator(robot, config)
    q = np.full(robot.n, 0.5)
    robot.update(q)
    torques = [np.zeros(robot.n)]
    for link in ("lbr_link_5", "lbr_link_7"):
        jacobian = robot.point_jacobian(link, robot.link_pose(link).translation)
        torques.append(torques[-1] + jacobian.T @ np.full(3, 100.0))
    for tick in range(60):
        estimator.update(tick * PERIOD_NS, q, torques[tick // 20])
