"""Convex quasi-dynamic contact (bundled_gradients, Sec. IV-A and reference [17])."""

from irs_planner.quasi_dynamic.linear_contact import LinearContact
from irs_planner.quasi_dynamic.quasi_dynamics import QuasiDynamics
from irs_planner.quasi_dynamic.scene_dynamics import PlanarQuasiDynamics, SpatialQuasiDynamics

__all__ = ["LinearContact", "PlanarQuasiDynamics", "QuasiDynamics", "SpatialQuasiDynamics"]
