"""Coordinates that position controllers move: their springs, references and weight."""

from __future__ import annotations

import casadi
import numpy as np
import pytest

from robust_planner import BodyPoint, RobustProblem, build_model, simulate_worlds
from robust_planner.contact_model import Body, ContactModel, DriveConfig, PlanningProblemError
from robust_planner.drives import driven
from robust_planner.risk.worlds import spread_worlds

DRIVE = DriveConfig(stiffness=1000.0, damping=60.0, bandwidth=15.0)


def tool() -> ContactModel:
    q = casadi.SX.sym("q", 2)
    return build_model(
        "tool", q, [Body(q, 2.0)], [BodyPoint("tip", q)], np.eye(2), ("x", "z"), ("fx", "fz")
    )


def problem(drives: dict[str, DriveConfig]) -> RobustProblem:
    model = driven(tool(), drives)
    state = (0.0, 0.1, *(0.1,) * len(drives), *(0.0,) * model.coordinates)
    return RobustProblem(
        name="tool", model=model, start=state, goal=state, duration=1.0, knots=1001, friction=0.3,
        state_weight=(1.0,) * len(state), control_weight=(0.0,) * model.controls,
    )  # fmt: skip


def test_a_drive_moves_its_coordinate_and_leaves_the_other_to_its_motor() -> None:
    lifted = problem({"z": DRIVE})
    model = lifted.model
    assert model.position_names == ("x", "z", "z.reference")
    assert model.control_names == ("fx", "z")
    worlds = spread_worlds(lifted, {}, 0, 0.5, 0)
    controls = np.tile([3.0, 0.15], (1001, 1))
    motion = simulate_worlds(lifted, controls, worlds)
    time = np.linspace(0.0, 1.0, 1001)
    # A critically damped answer to a step of 50 mm; a constant force on 2 kg.
    answer = 0.05 * (1.0 - (1.0 + 15.0 * time) * np.exp(-15.0 * time))
    np.testing.assert_allclose(motion.position[0, :, 2] - 0.1, answer, atol=5e-4)
    np.testing.assert_allclose(motion.position[0, :, 0], 0.75 * time**2, atol=2e-3)
    # The spring carries no weight: without contact the tool ends where its reference is.
    assert motion.position[0, -1, 1] == pytest.approx(0.15, abs=1e-4)


def test_a_reference_below_the_ground_presses_by_the_spring() -> None:
    pressed = problem({"x": DRIVE, "z": DRIVE})
    controls = np.tile([0.0, -0.02], (1001, 1))
    motion = simulate_worlds(pressed, controls, spread_worlds(pressed, {}, 0, 0.5, 0))
    assert motion.normal_force[0, -1, 0] == pytest.approx(1000.0 * 0.02, rel=1e-3)
    assert motion.position[0, -1, 1] == pytest.approx(0.0, abs=1e-9)


def test_what_cannot_be_driven_is_refused() -> None:
    with pytest.raises(PlanningProblemError, match="unknown coordinate 'y' of a drive"):
        driven(tool(), {"y": DRIVE})
    with pytest.raises(PlanningProblemError, match="has drives already"):
        driven(driven(tool(), {"z": DRIVE}), {"x": DRIVE})
