"""Second-order dynamics with compliant contact (bundled_gradients, Sec. VI-E)."""

from contact_experiments.irs.second_order.second_order_dynamics import (
    SecondOrderDynamics,
    second_order,
)

__all__ = ["SecondOrderDynamics", "second_order"]
