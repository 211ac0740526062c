"""Push anything: shapes with the mass they have, and an arm that brings them to their goals."""

import dataclasses

import numpy as np
import pinocchio as pin
import pytest

from contact_core.base.sweep import Sweep, Workers
from contact_experiments.push.cases import draw_cases, run_case, summarize
from contact_experiments.push.run import PushRun
from contact_stack.demo.push_anything.pusher import PushCase, PushConditions
from contact_stack.demo.push_anything.shapes import HEIGHT, SHAPES, PushedObject
from contact_stack.demo.push_anything.task import POSITION, PushTask


def test_mass_is_distributed_as_formulas_say():
    square, disc = PushedObject.make("square"), PushedObject.make("disc", 2.0)
    assert square.inertia == pytest.approx(0.14**2 / 6.0, rel=1e-3)
    assert disc.inertia == pytest.approx(2.0 * 0.08**2 / 2.0, rel=5e-3)
    (wedge,) = PushedObject.make("wedge").parts
    np.testing.assert_allclose(np.mean(wedge.points, axis=0), 0.0, atol=5e-4)


@pytest.mark.parametrize("name", SHAPES)
def test_a_prism_weighs_what_its_volume_says(name, tmp_path):
    thing = PushedObject.make(name, 1.3)
    path = str(thing.urdf(tmp_path))
    (body,) = pin.buildModelFromUrdf(path, pin.JointModelFreeFlyer()).inertias.tolist()[1:]
    assert body.mass == 1.3
    np.testing.assert_allclose(body.lever, 0.0)
    assert body.inertia[2, 2] == pytest.approx(thing.inertia)
    assert np.linalg.eigvalsh(body.inertia)[0] > 0.0
    geometry = pin.buildGeomFromUrdf(pin.buildModelFromUrdf(path), path, pin.GeometryType.COLLISION)
    assert len(geometry.geometryObjects) == len(thing.parts)
    heights = []
    for item in geometry.geometryObjects:
        item.geometry.computeLocalAABB()
        heights.append(np.ptp([item.geometry.aabb_local.min_[2], item.geometry.aabb_local.max_[2]]))
    np.testing.assert_allclose(heights, HEIGHT)


def test_the_arm_brings_a_t_to_its_goal_in_closed_loop():
    task = PushTask(PushedObject.make("tee"), (0.58, 0.0, 0.0), (0.58, 0.06, 0.2))
    conditions = PushConditions(mass=1.3, friction=0.7, timeout=60.0)
    run = PushRun(task, conditions, seed=0)
    assert task.miss(np.array(task.start))[0] > 2.0 * POSITION
    result = run.run()
    assert result.reached
    assert result.force[1] <= 15.0
    assert result.searches > 0
    # It went there by itself: the tool was beside it.
    beside = np.linalg.norm(result.path[:, :2] - result.path[:, 3:5], axis=1)
    assert beside.min() < task.thing.radius + 0.04


@pytest.mark.verify
@pytest.mark.timeout(1800)
@pytest.mark.parametrize("shape", ["disc", "square", "wedge"])
def test_the_whole_arm_brings_it_there_as_gently(shape):
    case = PushCase(shape, 0, whole_arm=True)
    task, conditions = case.draw()
    result = PushRun(task, conditions, case.seed).run()
    assert result.reached
    assert result.searching > 0.0
    assert result.force[1] <= 15.0


@pytest.mark.verify
@pytest.mark.timeout(3600)
@pytest.mark.parametrize("kicked", [False, True])
@pytest.mark.parametrize("shape", SHAPES)
def test_every_shape_arrives(shape, kicked):
    task, conditions = PushCase(shape, 7, kicked).draw()
    result = PushRun(task, conditions, 7).run()
    assert result.reached
    assert result.force[1] <= 15.0


@pytest.mark.verify
@pytest.mark.timeout(3600)
def test_of_sixty_drawn_pushes_nine_in_ten_arrive(tmp_path):
    cases = draw_cases(60)
    assert all(sum(case.shape == shape for case in cases) == 6 for shape in SHAPES)
    rows = Sweep(Workers(-1), tmp_path).run(run_case, [(case,) for case in cases], "pushes")
    figures = summarize(rows)
    wilson = f"{figures['low']:.0%} to {figures['high']:.0%}"
    assert figures["share"] >= 0.9, f"{figures['reached']} of 60 (95 %: {wilson})"
    assert figures["median_s"] <= 60.0
    assert figures["force_p99_N"] <= 15.0


def test_cases_are_spread_over_shapes_and_counted():
    cases = draw_cases(20, seed=2)
    assert {case.shape for case in cases} == set(SHAPES)
    assert len({dataclasses.astuple(case) for case in cases}) == 20
    rows = [
        {
            "reached": k > 1,
            "seconds": float(k),
            "force_p99_N": 5.0,
            "force_peak_N": 9.0,
            "look_ms": [1.0, 2.0, 3.0],
            "search_ms": [3.0, 4.0, 5.0],
        }
        for k in range(20)
    ]
    figures = summarize(rows)
    assert (figures["reached"], figures["median_s"]) == (18, 11.5)
    assert figures["low"] == pytest.approx(0.699, abs=1e-3)  # Wilson's, of a table
