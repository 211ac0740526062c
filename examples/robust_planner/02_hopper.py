"""Hop 4 m in 3 s over ground of uncertain height (about three minutes)."""

from pathlib import Path

from contact_core.base.figures import save
from robust_planner import highest_force, make_example, mean_foot_height, plan
from robust_planner.plan_figures import plot_frames
from robust_planner.sweep import plan_reference

example = make_example("hopper")
reference = plan_reference(example)
robust = plan(example.robust_problem, example.config, reference)

plans = {"reference": reference, "robust": robust}
for name, result in plans.items():
    height = highest_force(result.trajectory, example.problem)
    print(f"{name}: {result.status.name}, mean foot height {mean_foot_height(result):.3f} m, ")
    print(f"    force acts up to {height:.4f} m over the mean terrain")
print(save(plot_frames(plans), Path("out/hopper.png")))
