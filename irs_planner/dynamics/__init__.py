"""Systems to plan with: one small interface, smooth examples, contact models."""

from irs_planner.dynamics.bicycle import Bicycle
from irs_planner.dynamics.dynamics import ContactDynamics, ContactForces, Dynamics, Jacobians
from irs_planner.dynamics.pendulum import Pendulum
from irs_planner.dynamics.quadrotor import Quadrotor
from irs_planner.dynamics.smooth_dynamics import SmoothDynamics

__all__ = [
    "Bicycle",
    "ContactDynamics",
    "ContactForces",
    "Dynamics",
    "Jacobians",
    "Pendulum",
    "Quadrotor",
    "SmoothDynamics",
]
