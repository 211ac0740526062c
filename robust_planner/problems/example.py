"""What a named problem consists of."""

from __future__ import annotations

from dataclasses import dataclass

from robust_planner.config import PlannerConfig
from robust_planner.problem import RobustProblem


@dataclass(frozen=True)
class Example:
    """A named problem with the settings it is known to work with.

    Attributes:
        name: What a person types.
        description: One sentence.
        problem: The problem planned under certainty.
        robust_problem: The problem planned under uncertainty; the published robust runs
            use other weights than the reference.
        config: Settings; its uncertainty is the one the example is about.
        test_friction: mu of the simulations that judge the plan; empty if it cannot be
            executed without feedback, or if friction does not matter.
        test_height: Heights of the ground in these simulations [m]; without
            ``test_friction``, those at which the impact is judged.
    """

    name: str
    description: str
    problem: RobustProblem
    robust_problem: RobustProblem
    config: PlannerConfig
    test_friction: tuple[float, ...] = ()
    test_height: tuple[float, ...] = ()
