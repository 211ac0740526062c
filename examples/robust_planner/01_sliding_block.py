"""Push a block over ground of uncertain friction: reference against robust plan."""

from pathlib import Path

from contact_core.base.figures import save
from robust_planner import final_errors, make_example, plan
from robust_planner.plan_figures import plot_simulations
from robust_planner.sweep import plan_reference

example = make_example("block")
reference = plan_reference(example)
robust = plan(example.robust_problem, example.config, reference)

results = {
    name: final_errors(result.trajectory, example.problem, example.test_friction)
    for name, result in (("reference", reference), ("robust", robust))
}
for name, errors in results.items():
    print(f"{name}: final error {errors.mean:+.3f} m on average, range {errors.range:.3f} m")
print(save(plot_simulations(results, goal=example.problem.goal[0]), Path("out/sliding_block.png")))
