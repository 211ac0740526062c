"""Slide a gripped tool over a table, and ask how often the planned forces are impossible."""

import dataclasses
from pathlib import Path

from contact_core.base.figures import save
from robust_planner import RiskConfig, make_example, plan, violation_rate
from robust_planner.plan_figures import plot_controls
from robust_planner.sweep import plan_reference

example = make_example("sled")
reference = plan_reference(example)
plans = {"reference": reference}
for risk in (0.6, 0.9):
    config = dataclasses.replace(example.config, risk=RiskConfig(True, beta=risk, theta=risk))
    result = plan(example.robust_problem, config, reference)
    rate = violation_rate(result.trajectory, example.robust_problem, config)
    print(f"declared bound {risk}: sampled {rate.sampled:.3f}, predicted {rate.predicted:.3f}")
    plans[f"ERM + chance {risk}"] = result
print(save(plot_controls(plans), Path("out/sled_risk.png")))
