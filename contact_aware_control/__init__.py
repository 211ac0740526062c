"""Control of a stiffness-controlled arm that is not afraid of contact.

The controller and the contact particle filter of the papers `contact_aware_control` and
"contact particle filter", free of ROS; only the node modules import rclpy.
"""

from contact_aware_control.config import ControllerConfig
from contact_aware_control.contact import ContactEstimate, ContactMode, ContactReport
from contact_aware_control.control_loop import ControlLoop
from contact_aware_control.controllers import (
    CONTROLLERS,
    Controller,
    ControllerInput,
    ControllerOutput,
    ControllerState,
    make_controller,
)
from contact_aware_control.estimation import (
    ESTIMATORS,
    ContactEstimator,
    Estimator,
    EstimatorConfig,
    EstimatorOutput,
    EstimatorStatus,
    FreeTorqueEstimator,
    MomentumObserver,
    ObserverConfig,
    check_joint_torques,
    make_estimator,
    read_joint_torques,
)
from contact_aware_control.incident_log import Incident, IncidentLog, load, replay, save
from contact_aware_control.loop_state import LoopInputs, LoopState, LoopStatus
from contact_aware_control.reference import (
    Goal,
    JointReference,
    JointTrajectory,
    PoseReference,
    PoseTrajectory,
    Reference,
)
from contact_aware_control.safety.goal_checker import GoalChecker
from contact_aware_control.safety.status import Mode, Request, Status

__all__ = [
    "CONTROLLERS",
    "ESTIMATORS",
    "ContactEstimate",
    "ContactEstimator",
    "ContactMode",
    "ContactReport",
    "ControlLoop",
    "Controller",
    "ControllerConfig",
    "ControllerInput",
    "ControllerOutput",
    "ControllerState",
    "Estimator",
    "EstimatorConfig",
    "EstimatorOutput",
    "EstimatorStatus",
    "FreeTorqueEstimator",
    "Goal",
    "GoalChecker",
    "Incident",
    "IncidentLog",
    "JointReference",
    "JointTrajectory",
    "LoopInputs",
    "LoopState",
    "LoopStatus",
    "Mode",
    "MomentumObserver",
    "ObserverConfig",
    "PoseReference",
    "PoseTrajectory",
    "Reference",
    "Request",
    "Status",
    "check_joint_torques",
    "load",
    "make_controller",
    "make_estimator",
    "read_joint_torques",
    "replay",
    "save",
]
