"""A person's or a client's request: an example with changes, and the answer to it."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from dataclasses import dataclass

from robust_planner.config import PlannerConfig, UncertaintyConfig
from robust_planner.continuation import reference_stages, robust_stages
from robust_planner.monitor import Progress
from robust_planner.planner import plan
from robust_planner.problem import PlanningProblem
from robust_planner.problems.example import Example
from robust_planner.result import PlanResult

REFERENCE = "reference"
EXPECTED_RESIDUAL = "expected_residual"
CHANCE_CONSTRAINTS = "chance_constraints"

OnProgress = Callable[[str, Progress], None]


@dataclass(frozen=True)
class PlanRequest:
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
class Answer:
    """What came of a request.

    Attributes:
        problem: The problem that ``result`` belongs to.
        result: The plan; the reference if planning ended there, with the time and the
            stages of everything.
        reference: The plan without uncertainty; the same as ``result`` if nothing else
            was asked for.
    """

    problem: PlanningProblem
    result: PlanResult
    reference: PlanResult


def answer(
    request: PlanRequest,
    on_progress: OnProgress | None = None,
    cancelled: Callable[[], bool] | None = None,
) -> Answer:
    """Plan the reference, then the robust plan from it, within one budget.

    Args:
        request: What to plan.
        on_progress: Called with the phase (reference, expected_residual or
            chance_constraints) and the progress, whose time counts from the start.
        cancelled: Asked at every iteration; True ends planning with the best iterate.

    Returns:
        The answer. A reference that is not solved is the answer itself: robust stages
        that start from it would not end anywhere.

    Raises:
        SolverMissingError: If the chosen solver is not installed.
    """
    example, config = request.example, request.config

    def relay(phase: str, before: float) -> Callable[[Progress], None]:
        def report(progress: Progress) -> None:
            if on_progress is not None:
                on_progress(phase, dataclasses.replace(progress, elapsed=before + progress.elapsed))

        return report

    if not config.robust:
        alone = plan(example.problem, config, None, relay(REFERENCE, 0.0), cancelled)
        return Answer(example.problem, alone, alone)
    certain = dataclasses.replace(config, uncertainty=UncertaintyConfig())
    reference = plan(example.problem, certain, None, relay(REFERENCE, 0.0), cancelled)
    if not reference.solved:
        return Answer(example.problem, reference, reference)
    left = max(0.0, config.solver.budget - reference.seconds)
    robust = plan(
        example.robust_problem,
        dataclasses.replace(config, solver=dataclasses.replace(config.solver, budget=left)),
        reference,
        relay(request.robust_phase, reference.seconds),
        cancelled,
    )
    whole = dataclasses.replace(
        robust,
        stages=(*reference.stages, *robust.stages),
        seconds=reference.seconds + robust.seconds,
    )
    return Answer(example.robust_problem, whole, reference)
