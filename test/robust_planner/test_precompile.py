"""What the node compiles before it offers its action is all that a search needs."""

from __future__ import annotations

import subprocess
import sys

SCRIPT = """
import sys
import numpy as np
from numba.core.dispatcher import Dispatcher
from contact_core.base.planning import StopCondition
from robust_planner import FailureConfig, Normal, ShootingConfig, draw_worlds, make_example
from robust_planner.precompile import precompile
from robust_planner.risk.shooting import Shooting

def signatures():
    return {
        f"{name}.{attribute}": len(kernel.signatures)
        for name, module in sorted(sys.modules.items())
        for attribute, kernel in vars(module).items()
        if isinstance(kernel, Dispatcher) and kernel.__module__ == name
    }

precompile()
warm = signatures()
assert sum(warm.values()) > 1, warm
problem = make_example("table_approach").problem
worlds = draw_worlds(problem, {"height": Normal(0.0, 0.005)}, 3, 0, "test")
failure = FailureConfig(impact_speed=0.2, final_gap=1e-3)
shooting = Shooting(problem, failure, worlds, 0.0, ShootingConfig(iterations=2))
shooting.improve(np.full((problem.knots, 1), 12.0), 12.0, 10.0, StopCondition(1e3))
now = signatures()
print([name for name in now if now[name] != warm.get(name, 0)])
"""


def test_a_search_compiles_nothing_after_the_node_has_started() -> None:
    """In an interpreter of its own: another test may have compiled something before."""
    run = subprocess.run([sys.executable, "-c", SCRIPT], capture_output=True, text=True)
    assert run.returncode == 0, run.stderr
    assert run.stdout == "[]\n"
