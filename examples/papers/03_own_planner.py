"""A planner of one's own beside ours: plan for the worst friction instead of its distribution.

contact-stack paper chance_constraints 5a --with examples/papers/03_own_planner.py
"""

from dataclasses import replace

from robust_planner.config import UncertaintyConfig
from robust_planner.planner import plan
from robust_planner.sweep import PLANNERS

LEAST = 0.05


def plan_for_the_worst(problem, config, reference):
    """Plan under certainty, with friction a standard deviation below its mean."""
    worst = max(LEAST, problem.friction - config.uncertainty.sigma)
    return plan(replace(problem, friction=worst), replace(config, uncertainty=UncertaintyConfig()))


PLANNERS.register("worst_case", plan_for_the_worst)
