"""The experiments are what they say: who would touch what, along which path, how deep."""

from __future__ import annotations

import coal
import numpy as np
import pinocchio as pin
import pytest

from contact_aware_control.config import StartTolerance
from contact_aware_control.reference import JointTrajectory
from contact_aware_control.reference.motion import tool_at
from contact_core.base.errors import ConfigError
from contact_core.multibody.collision.shapes import shape_to_coal
from contact_core.robot.description import collision_shapes, read_urdf
from contact_core.robot.inverse_kinematics import InverseKinematics
from contact_core.robot.robot import Robot
from contact_core.robot.scene import Scene
from contact_stack.demo.contact_tracking.demo import GROUPS, launch_arguments, selected, verdict
from contact_stack.demo.contact_tracking.experiments import EXPERIMENTS, Experiment, MugMoving
from contact_stack.demo.contact_tracking.variants import VARIANTS
from contact_stack.launch import find_launch_file, parse

SAMPLES = 60


def start_of(experiment: Experiment) -> tuple[Scene, Robot, np.ndarray]:
    """The scene, its arm and where it starts."""
    scene = Scene.load(experiment.scene)
    robot = Robot.from_description(scene.robot)
    return scene, robot, np.array(scene.config.robot.initial_positions)


def nominal_distances(experiment: Experiment) -> dict[tuple[str, str], float]:
    """Smallest distance of every shape of the arm to every one of the furniture [m].

    Along the reference, as if nothing were in the way; negative is penetration.
    """
    scene, robot, q = start_of(experiment)
    motion = experiment.motion(robot, q)
    search = InverseKinematics(robot)
    furniture = [
        (shape, scene.object_placement(name) * shape.placement)
        for name, item in scene.objects.items()
        if not item.free
        for shape in collision_shapes(read_urdf(item.urdf))
    ]
    nearest: dict[tuple[str, str], float] = {}
    for time in np.linspace(0.0, experiment.duration, SAMPLES):
        tool = tool_at(motion, robot, time)
        q = motion.sample(time) if isinstance(motion, JointTrajectory) else search.solve(tool, q).q
        robot.update(q)
        for mine in robot.collision_shapes:
            if mine.body == "lbr_link_0":
                continue
            pose = robot.link_pose(mine.body) * mine.placement
            for shape, where in furniture:
                distance = coal.distance(
                    shape_to_coal(mine.shape),
                    coal.Transform3s(pose.rotation, pose.translation),
                    shape_to_coal(shape.shape),
                    coal.Transform3s(where.rotation, where.translation),
                    coal.DistanceRequest(),
                    coal.DistanceResult(),
                )
                key = (mine.name, shape.name)
                nearest[key] = min(distance, nearest.get(key, np.inf))
    return nearest


@pytest.mark.parametrize("name", EXPERIMENTS)
def test_the_controller_accepts_the_motion(name: str) -> None:
    experiment = EXPERIMENTS[name]()
    _, robot, q = start_of(experiment)
    reference = experiment.motion(robot, q)
    reference.check(robot, q, StartTolerance())
    assert reference.duration == pytest.approx(experiment.duration)


@pytest.mark.parametrize("name", EXPERIMENTS)
def test_passes_and_phases_lie_within_the_experiment(name: str) -> None:
    experiment = EXPERIMENTS[name]()
    for start, end in (*experiment.passes.values(), *experiment.phases.values()):
        assert 0.0 <= start < end <= experiment.duration + experiment.settling


def test_mug_moving_carries_the_mug_along_a_straight_line() -> None:
    """16 s through knots of inverse kinematics, with constant orientation."""
    experiment = EXPERIMENTS["mug_moving"]()
    _, robot, q = start_of(experiment)
    motion = experiment.motion(robot, q)
    assert isinstance(motion, JointTrajectory)
    assert motion.duration == 16.0
    start = tool_at(motion, robot, 0.0)
    line = np.array(MugMoving.LINE)
    direction = line / np.linalg.norm(line)
    for time in np.linspace(0.0, 16.0, SAMPLES):
        tool = tool_at(motion, robot, time)
        shift = tool.translation - start.translation
        assert np.linalg.norm(shift - direction * (direction @ shift)) < 0.002
        assert np.linalg.norm(pin.log3(start.rotation.T @ tool.rotation)) < 0.01
    np.testing.assert_allclose(shift, line, atol=1e-5)


def test_mug_moving_enters_the_table_by_what_its_scene_states() -> None:
    nearest = nominal_distances(EXPERIMENTS["mug_moving"]())
    assert nearest.pop(("link_6_shell", "table_top")) == pytest.approx(-0.044, abs=1e-3)
    assert nearest.pop(("link_5_shell", "table_top")) > -0.017
    assert nearest.pop(("link_7_shell", "table_top")) > -0.002
    assert min(nearest.values()) > 0.0


def test_two_contacts_enter_table_and_post_by_what_the_scene_states() -> None:
    nearest = nominal_distances(EXPERIMENTS["two_contacts"]())
    assert nearest.pop(("link_6_shell", "table_top")) == pytest.approx(-0.040, abs=1e-3)
    assert nearest.pop(("link_5_shell", "post")) == pytest.approx(-0.048, abs=2e-3)
    assert nearest.pop(("link_5_shell", "table_top")) > -0.027
    assert min(nearest.values()) > 0.005


@pytest.mark.parametrize("name", VARIANTS)
def test_every_variant_reaches_the_controller(name: str) -> None:
    """demo.launch.xml hands every argument of a variant on."""
    arguments = {"scene": "mug_moving", "held_mass": "0.0", **launch_arguments(VARIANTS[name])}
    plan = parse(find_launch_file("demo"), arguments)
    values: dict[str, dict[str, object]] = {}
    for process in plan.nodes:
        for item in process.parameters:
            if isinstance(item, dict):
                values.setdefault(process.name, {}).update(item)
    controller = values["contact_aware_controller"]
    assert controller["controller"] == VARIANTS[name].values["controller"]
    assert controller["tracking.reading"] == arguments.get("reading", "absolute")
    assert controller["null_space.step"] == float(arguments.get("null_space_step", "0.0"))
    assert controller["governor.enabled"] is False
    assert values["tamsi_sim"]["scene"] == values["viewer"]["scene"] == "mug_moving"
    assert values["contact_estimator"]["held.mass"] == 0.0


def test_a_scene_that_does_not_exist_is_told_at_once() -> None:
    with pytest.raises(ConfigError, match="no 'nope'"):
        EXPERIMENTS["mug_placement"]("nope")


def test_groups_name_variants() -> None:
    assert selected("both") == ("qp", "greedy")
    assert selected("null_space") == ("null_space",)
    assert set(selected("all")) == set(VARIANTS)
    assert not set(GROUPS) & set(VARIANTS)


def test_a_baseline_without_enough_contact_is_reported_and_does_not_fail_the_demo() -> None:
    lines, failed = verdict({"qp": [], "qp_frictionless": ["pass 'up': 0.4 s"], "greedy": []})
    assert lines == ["note: qp_frictionless: pass 'up': 0.4 s"]
    assert not failed


def test_the_contact_aware_controllers_must_reach_enough_contact() -> None:
    for controller in ("qp", "qp_incremental"):
        lines, failed = verdict({controller: ["pass 'up': 0.4 s"], "greedy": ["pass 'up': 0 s"]})
        assert lines == [
            f"failed run: {controller}: pass 'up': 0.4 s",
            "note: greedy: pass 'up': 0 s",
        ]
        assert failed


def test_nothing_is_said_of_runs_that_can_be_judged() -> None:
    assert verdict({"qp": [], "greedy": []}) == ([], False)
