"""Put a peg into a hole whose place is uncertain: touch beside it and slide in.

Run with ``python examples/robust_planner/06_own_insertion.py``; the problem is in
insertion/insertion.yaml.
"""

from pathlib import Path

from robust_planner import load_problem, plan_example

insertion = load_problem(Path(__file__).parent / "insertion" / "insertion.yaml")
plan = plan_example(insertion, risk=0.05)
print(f"{insertion.description}: {plan.status.name} after {plan.seconds:.0f} s")
print(f"fails in {plan.failure_rate} of fresh worlds")
print(f"straight down: {plan.nominal_rate}")
