"""Plans that several tests look at."""

from __future__ import annotations

import pytest
from own_problem import with_knots

from robust_planner.examples import Example, make_example
from robust_planner.result import RobustPlan
from robust_planner.sweep import plan_reference


@pytest.fixture(scope="session")
def block() -> Example:
    """The sliding block."""
    return make_example("block")


@pytest.fixture(scope="session")
def block_reference(block: Example) -> RobustPlan:
    """Plan of the block under certainty, from a cold start."""
    return plan_reference(block)


@pytest.fixture(scope="session")
def coarse_block(block: Example) -> Example:
    """The sliding block with half the knots: planned in a quarter of the time."""
    return with_knots(block, 51)


@pytest.fixture(scope="session")
def coarse_block_reference(coarse_block: Example) -> RobustPlan:
    """Its plan under certainty."""
    return plan_reference(coarse_block)


@pytest.fixture(scope="session")
def sled() -> Example:
    """The gripped sled."""
    return make_example("sled")


@pytest.fixture(scope="session")
def sled_reference(sled: Example) -> RobustPlan:
    """Plan of the sled under certainty, from a cold start."""
    return plan_reference(sled)


@pytest.fixture(scope="session")
def coarse_sled(sled: Example) -> Example:
    """The sled with fewer knots."""
    return with_knots(sled, 61)


@pytest.fixture(scope="session")
def coarse_sled_reference(coarse_sled: Example) -> RobustPlan:
    """Its plan under certainty."""
    return plan_reference(coarse_sled)
