"""Contact estimators behind one interface, by name: where the robot is touched, with what force."""

from collections.abc import Callable

from contact_aware_control.estimation.base import Estimator, EstimatorOutput, EstimatorStatus
from contact_aware_control.estimation.config import EstimatorConfig, ObserverConfig
from contact_aware_control.estimation.estimator import ContactEstimator
from contact_aware_control.estimation.free_torque import FreeTorqueEstimator
from contact_aware_control.estimation.joint_torque import check_joint_torques
from contact_aware_control.estimation.momentum_observer import MomentumObserver, read_joint_torques
from contact_core.base.registry import Registry
from contact_core.robot.robot import Robot

__all__ = [
    "ESTIMATORS",
    "ContactEstimator",
    "Estimator",
    "EstimatorConfig",
    "EstimatorOutput",
    "EstimatorStatus",
    "FreeTorqueEstimator",
    "MomentumObserver",
    "ObserverConfig",
    "check_joint_torques",
    "make_estimator",
    "read_joint_torques",
]

ESTIMATORS: Registry[Callable[[Robot, EstimatorConfig], Estimator]] = Registry(
    "contact estimator",
    {"contact_particle_filter": ContactEstimator},
    group="contact_stack.estimators",
)
"""Name -> contact estimator, made of the arm and every parameter."""


def make_estimator(robot: Robot, config: EstimatorConfig) -> Estimator:
    """Create the contact estimator that a configuration names.

    Args:
        robot: The arm; the estimator updates its configuration.
        config: Every parameter.

    Returns:
        The estimator.

    Raises:
        ConfigError: If there is no estimator of that name, or its parameters contradict each other.
        ModelError: If a candidate link is unknown.
    """
    return ESTIMATORS[config.estimator](robot, config)
