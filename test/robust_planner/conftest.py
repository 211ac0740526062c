"""Plans that several tests look at."""

from __future__ import annotations

import pytest

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
def sled() -> Example:
    """The gripped sled."""
    return make_example("sled")


@pytest.fixture(scope="session")
def sled_reference(sled: Example) -> RobustPlan:
    """Plan of the sled under certainty, from a cold start."""
    return plan_reference(sled)
