"""A person's or a client's request: an example with changes, and the answer to it."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

from contact_core.planning import StopCondition
from robust_planner.config import PlannerConfig, UncertaintyConfig
from robust_planner.continuation import reference_stages, robust_stages
from robust_planner.planner import plan
from robust_planner.problem import RobustProblem
from robust_planner.problems.example import Example
from robust_planner.result import RobustPlan, StageProgress
from robust_planner.stage_solver import OnProgress

REFERENCE = "reference"
EXPECTED_RESIDUAL = "expected_residual"
CHANCE_CONSTRAINTS = "chance_constraints"

OnPhase = Callable[[str, StageProgress], None]


@dataclass(frozen=True)
class RobustRequest:
    """What to plan.

    Attributes:
        example: The named problem, with all changes made.
        config: The parameters; its budget is for reference and robust plan together.
    """

    example: Example
    config: PlannerConfig

    @property
    def stages(self) -> int:
        """The number of programs to be solved if each converges at once."""
        return len(reference_stages(self.config)) + len(robust_stages(self.config))

    @property
    def robust_phase(self) -> str:
        """What the stages after the reference impose."""
        return CHANCE_CONSTRAINTS if self.config.risk.enabled else EXPECTED_RESIDUAL


@dataclass(frozen=True)
class RobustAnswer:
    """What came of a request.

    Attributes:
        problem: The problem that ``result`` belongs to.
        result: The plan; the reference if planning ended there, with the time and the
            stages of everything.
        reference: The plan without uncertainty; the same as ``result`` if nothing else
            was asked for.
    """

    problem: RobustProblem
    result: RobustPlan
    reference: RobustPlan


def answer(
    request: RobustRequest,
    on_progress: OnPhase | None = None,
    cancelled: Callable[[], bool] | None = None,
    stop: StopCondition | None = None,
) -> RobustAnswer:
    """Plan the reference, then the robust plan from it, within one budget.

    Args:
        request: What to plan.
        on_progress: Called with the phase (reference, expected_residual or
            chance_constraints) and the progress, whose time counts from the start.
        cancelled: Asked at every iteration; True ends planning with the best iterate.
        stop: A clock that runs already, instead of ``cancelled`` and the solver's budget.

    Returns:
        The answer. A reference that is not solved is the answer itself: robust stages
        that start from it would not end anywhere.

    Raises:
        SolverMissingError: If the chosen solver is not installed.
    """
    example, config = request.example, request.config
    stop = stop or StopCondition(config.solver.budget, cancelled)

    def relay(phase: str) -> OnProgress | None:
        return partial(on_progress, phase) if on_progress is not None else None

    certain = dataclasses.replace(config, uncertainty=UncertaintyConfig())
    reference = plan(
        example.problem,
        certain if config.robust else config,
        on_progress=relay(REFERENCE),
        stop=stop,
    )
    if not (config.robust and reference.solved):
        return RobustAnswer(example.problem, reference, reference)
    robust = plan(example.robust_problem, config, reference, relay(request.robust_phase), stop=stop)
    whole = dataclasses.replace(robust, stages=(*reference.stages, *robust.stages))
    return RobustAnswer(example.robust_problem, whole, reference)
