"""Second-order dynamics with compliant contact (bundled_gradients, Sec. VI-E)."""

from irs_planner.second_order.second_order_dynamics import SecondOrderDynamics

__all__ = ["SecondOrderDynamics"]
