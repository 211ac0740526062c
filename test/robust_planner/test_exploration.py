"""Controls drawn by the cross-entropy method, where no small change of the given ones helps."""

from __future__ import annotations

import math

import casadi
import numpy as np
import pytest

from contact_core.base.planning import StopCondition
from contact_core.base.seeds import generator
from robust_planner import BodyPoint, FailureConfig, Obstacle, RobustProblem, Uniform, build_model
from robust_planner.contact_model import Body
from robust_planner.risk import exploration
from robust_planner.risk.exploration import explore
from robust_planner.risk.settings import ExplorationConfig, ShootingConfig
from robust_planner.risk.shooting import Shooting
from robust_planner.risk.worlds import spread_worlds

WALLS = {
    "left": [[-1.0, 0.0], [0.2, 0.0], [0.2, 0.5], [-1.0, 0.5]],
    "right": [[0.4, 0.0], [2.0, 0.0], [2.0, 0.9], [0.4, 0.9]],
}
FORCE = 5.0


@pytest.fixture(scope="module")
def shooting() -> Shooting:
    """A ball on a wall, 0.2 to 0.3 m from a gap into which it has to be pushed."""
    q = casadi.SX.sym("q", 2)
    model = build_model(
        "ball", q, [Body(q, 1.0)], [BodyPoint("ball", q, 0.05)], np.array([[1.0], [0.0]]),
        ("x", "z"), ("force",), obstacles=[Obstacle("gap", WALLS)],
    )  # fmt: skip
    problem = RobustProblem(
        name="gap", model=model, start=(0.0, 0.56, 0.0, 0.0), goal=(0.3, 0.05, 0.0, 0.0),
        duration=1.2, knots=121, friction=0.1, state_weight=(1.0,) * 4, control_weight=(0.01,),
    )  # fmt: skip
    worlds = spread_worlds(problem, {"gap.x": Uniform(-0.05, 0.05)}, 4, 0.1, 0)
    return Shooting(problem, FailureConfig(final_gap=0.01), worlds, 0.0, ShootingConfig(nodes=6))


@pytest.fixture(autouse=True)
def wide_and_coarse(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(exploration, "NODES", 4)
    monkeypatch.setattr(exploration, "SPREAD", 0.5)


def found(shooting: Shooting, generations: int) -> np.ndarray:
    config = ExplorationConfig(generations=generations, population=24)
    still = np.zeros((121, 1))
    draw = generator(0, "exploration")
    return explore(shooting, still, FORCE, 100.0, config, draw, StopCondition(math.inf))


def test_a_ball_finds_the_gap_that_it_cannot_feel(shooting: Shooting) -> None:
    still = shooting.evaluate(np.zeros((121, 1)))
    assert still.severity.min() > 10.0
    stuck = shooting.improve(still.controls, 0.1, 100.0, StopCondition(math.inf))
    assert stuck.severity.min() > 10.0
    controls = found(shooting, 6)
    assert shooting.evaluate(controls).severity.max() <= 1.0
    np.testing.assert_array_equal(controls, found(shooting, 6))


def test_without_generations_nothing_changes(shooting: Shooting) -> None:
    assert not found(shooting, 0).any()


def test_a_merit_is_that_of_one_shot(shooting: Shooting) -> None:
    candidates = np.random.default_rng(0).normal(0.0, 3.0, (3, 121, 1))
    merits = shooting.merits(candidates, 7.0)
    for controls, merit in zip(candidates, merits, strict=True):
        shot = shooting.evaluate(controls)
        excess = np.maximum(shot.severity - 1.0, 0.0).sum()
        assert merit == pytest.approx(shot.cost + 7.0 * excess)
