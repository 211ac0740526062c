"""Push an own model, a cart on two feet, over a floor whose friction was measured.

Run with ``python examples/robust_planner/05_own_cart.py``; the problem is in cart/cart.yaml.
"""

from pathlib import Path

from robust_planner import load_problem, plan_example

cart = load_problem(Path(__file__).parent / "cart" / "cart.yaml")
plan = plan_example(cart, risk=0.05)
print(f"{cart.description}: {plan.status.name} after {plan.seconds:.0f} s")
print(f"fails in {plan.failure_rate} of fresh worlds")
print(f"as if nothing was uncertain: {plan.nominal_rate}")
