"""Plan how to push a box, from a first guess that does not even touch it."""

from pathlib import Path

from irs_planner import PlannerSettings, build_problem, load_example, plan
from irs_planner.plots import draw_strip

problem = build_problem(load_example("pushing"))

for mode in ("exact", "first"):
    result = plan(
        problem,
        PlannerSettings(mode=mode, iterations=10),
        callback=lambda report: print(f"  {report.iteration:2d}: {report.cost:8.3f}"),
    )
    print(f"{mode}: cost {result.costs[0]:.2f} -> {result.cost:.2f}, {result.message}")

print(draw_strip(problem.dynamics, result.states, problem.goal, Path("out/push_a_box.png")))
