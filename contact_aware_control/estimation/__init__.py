"""Contact particle filter: where the robot is touched, and with what force."""

from contact_aware_control.estimation.config import EstimatorConfig, ObserverConfig
from contact_aware_control.estimation.estimator import (
    ContactEstimator,
    EstimatorOutput,
    EstimatorStatus,
)
from contact_aware_control.estimation.momentum_observer import MomentumObserver

__all__ = [
    "ContactEstimator",
    "EstimatorConfig",
    "EstimatorOutput",
    "EstimatorStatus",
    "MomentumObserver",
    "ObserverConfig",
]
