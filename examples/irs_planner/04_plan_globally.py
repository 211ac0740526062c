"""Plan from the wrong side: let go, go round the object and push elsewhere."""

from pathlib import Path

from irs_planner import SearchSettings, build_problem, load_example, plan, plan_globally
from irs_planner.plots import draw_strip

problem = build_problem(load_example("push_t"))

local = plan(problem)
print(f"iRS-LQR alone: {local.message}")

result = plan_globally(problem, SearchSettings(seed=0))
print(f"with a search: {result.message}")
for segment in result.segments:
    print(f"  {segment.kind:8s} {segment.stop - segment.start:3d} steps")

print(draw_strip(problem.dynamics, result.states, problem.goal, Path("out/plan_globally.png")))
