"""Put a tool down on a table of uncertain height: how hard does it hit?"""

from pathlib import Path

from contact_core.base.figures import save
from contact_stack.robust import tamsi_world
from robust_planner import impacts, make_example, plan, simulate_plan
from robust_planner.plan_figures import plot_impacts
from robust_planner.sweep import plan_reference

example = make_example("table_approach")
problem = example.problem
reference = plan_reference(example)
plans = {"reference": reference, "robust": plan(problem, example.config, reference)}

hits = {}
for name, result in plans.items():
    hits[name] = {
        "Stewart-Trinkle": impacts(result.trajectory, problem, example.test_height, simulate_plan),
        "TAMSI": impacts(
            result.trajectory, problem, example.test_height, tamsi_world.simulate_plan
        ),
    }
    for simulator, hit in hits[name].items():
        print(f"{name}, {simulator}: impact at {hit.mean:.2f} m/s, range {hit.range:.2f} m/s")
print(save(plot_impacts(hits, problem.model), Path("out/table_approach.png")))
