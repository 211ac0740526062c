"""The demo bottle_shake without a graph: its parts, and the whole of it on the plant."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pinocchio as pin
import pytest

from contact_aware_control.reference.motion import tool_pose
from contact_core.base.errors import TrajectoryError
from contact_core.robot.robot import GRAVITY, Robot
from contact_core.robot.scene import Scene
from contact_stack import cli
from contact_stack.demo.bottle_shake.demo import draw_records
from contact_stack.demo.bottle_shake.node import (
    InverseDynamics,
)
from contact_stack.demo.bottle_shake.procedure import (
    GripRegulator,
    LoadSensor,
    Observation,
    PlacementVerdict,
    Procedure,
    needed_grip,
)
from contact_stack.demo.bottle_shake.record import Bottle, summarize_bottle
from contact_stack.demo.bottle_shake.task import (
    BottleStage,
    BottleTask,
    JointPath,
    JointSetpoint,
    Keyframe,
)

sys.path.insert(0, str(Path(__file__).parent))
from bottle_shake_plant import run_on_plant

PERIOD = 0.005
SHORT = BottleTask(speed=2.0, shakes=2)
WEIGHT = 0.52 * GRAVITY


@pytest.fixture(scope="module")
def scene() -> Scene:
    return Scene.load("bottle_shake")


@pytest.fixture
def robot(scene: Scene) -> Robot:
    return Robot.from_description(scene.robot)


def start_of(scene: Scene) -> np.ndarray:
    return np.array(scene.config.robot.initial_positions)


def moved(pose: pin.SE3, *shift: float) -> pin.SE3:
    return pin.SE3(pose.rotation, pose.translation + np.array(shift))


def test_two_fingers_hold_by_friction_what_is_not_along_them() -> None:
    """Coulomb: 2 mu N >= |f_t|; the part along the fingers' axis is carried by pressure."""
    assert needed_grip(np.array([3.0, 7.0, 4.0]), 0.5) == pytest.approx(5.0)
    assert needed_grip(np.array([0.0, 7.0, 0.0]), 0.5) == 0.0


def test_grip_follows_a_load_at_once_and_forgets_it_slowly() -> None:
    grip = GripRegulator(PERIOD)
    assert grip.update(np.zeros(3)) == 5.0
    assert grip.update(np.array([12.0, 0.0, 0.0])) == pytest.approx(20.0)
    for _ in range(round(0.5 / PERIOD)):
        relaxed = grip.update(np.zeros(3))
    assert relaxed == pytest.approx(20.0 * np.exp(-0.25), rel=1e-6)
    assert grip.update(np.array([99.0, 0.0, 0.0])) == 40.0


def test_load_is_felt_in_the_tool_frame(scene: Scene, robot: Robot) -> None:
    """tau = J' f, and the tool's x axis points down."""
    q = start_of(scene)
    robot.update(q)
    weight = np.array([0.0, 0.0, -WEIGHT])
    torque = robot.point_jacobian("tool", robot.tool_pose().translation).T @ weight
    load = LoadSensor(robot, PERIOD).sample(q, torque)
    np.testing.assert_allclose(load, [WEIGHT, 0.0, 0.0], atol=1e-3)


def test_tool_moves_straight_to_the_keyframe(scene: Scene, robot: Robot) -> None:
    q = start_of(scene)
    begin = tool_pose(robot, q)
    end = moved(begin, 0.1, 0.05, -0.1)
    path = JointPath(robot, q, [Keyframe(end, 1.0)])
    way = end.translation - begin.translation
    for time in np.linspace(0.0, 1.0, 37):
        pose = tool_pose(robot, path.sample(float(time)).position)
        off = np.cross(pose.translation - begin.translation, way / np.linalg.norm(way))
        assert np.linalg.norm(off) < 1e-4
        assert np.linalg.norm(pin.log3(pose.rotation.T @ end.rotation)) < 1e-3
    assert np.linalg.norm(pose.translation - end.translation) < 1e-5


def test_reference_is_consistent_with_its_derivatives(scene: Scene, robot: Robot) -> None:
    path = JointPath(
        robot, start_of(scene), BottleTask().keyframes(feedback=True)[BottleStage.APPROACH]
    )
    step = 1e-5
    for time in (0.3, 1.1, 2.6):
        before, here, after = (path.sample(time + k * step) for k in (-1, 0, 1))
        np.testing.assert_allclose(
            (after.position - before.position) / (2 * step), here.velocity, atol=1e-6
        )
        np.testing.assert_allclose(
            (after.velocity - before.velocity) / (2 * step), here.acceleration, atol=1e-3
        )
    at_end = path.sample(path.duration + 1.0)
    np.testing.assert_array_equal(at_end.position, path.end)
    assert not at_end.velocity.any()


def test_motions_beyond_the_arm_are_refused(scene: Scene, robot: Robot) -> None:
    q = start_of(scene)
    here = tool_pose(robot, q)
    far = moved(here, 1.0, 0.0, 0.0)
    with pytest.raises(TrajectoryError, match="keyframe motion"):
        JointPath(robot, q, [Keyframe(far, 2.0)])
    near = moved(here, 0.0, 0.2, 0.0)
    with pytest.raises(TrajectoryError, match=r"lbr_A\d would move at .* rad/s \(valid"):
        JointPath(robot, q, [Keyframe(near, 0.1)])


def test_inverse_dynamics_gives_every_joint_the_same_error_dynamics(scene: Scene) -> None:
    """M qdd + C v = tau makes e'' + 2 zeta omega e' + omega^2 e = 0; oracle: forward dynamics."""
    model = scene.robot.arm_model(0.05)
    armature = np.array(scene.config.robot.effective_armature)
    controller = InverseDynamics(model, armature)
    rng = np.random.default_rng(0)
    q, v = start_of(scene), 0.2 * rng.standard_normal(7)
    reference = JointSetpoint(q + 0.01 * rng.standard_normal(7), v + 0.1, rng.standard_normal(7))
    controller.torque(reference, q - 1e-3 * v, 0)
    torque = controller.torque(reference, q, 1_000_000)
    free = model.copy()
    free.gravity.setZero()
    free.armature = armature
    acceleration = pin.aba(free, free.createData(), q, v, torque)
    wanted = reference.acceleration + 40.0 * 0.1 + 400.0 * (reference.position - q)
    np.testing.assert_allclose(acceleration, wanted, rtol=1e-6, atol=1e-6)


def test_inverse_dynamics_asks_for_no_more_than_the_joints_have(scene: Scene) -> None:
    model = scene.robot.arm_model(0.05)
    controller = InverseDynamics(model, np.zeros(7))
    q = start_of(scene)
    far = JointSetpoint(q + 10.0, np.zeros(7), np.zeros(7))
    torque = controller.torque(far, q, 0)
    assert (np.abs(torque) <= model.effortLimit).all()
    assert np.abs(torque[0]) == model.effortLimit[0]


def feel(
    scene: Scene, load: Callable[[BottleStage], float], grip: Callable[[BottleStage], float]
) -> Procedure:
    """Run the procedure with an ideal arm that feels a load [N] and a share of the grip."""
    q = start_of(scene)
    procedure = Procedure(Robot.from_description(scene.robot), SHORT, q, PERIOD, feedback=True)
    arm = Robot.from_description(scene.robot)
    stamp = 0
    while not procedure.finished:
        arm.update(q)
        jacobian = arm.point_jacobian("tool", arm.tool_pose().translation)
        torque = jacobian.T @ [0.0, 0.0, -load(procedure.stage)]
        seen = Observation(stamp, q, torque, grip(procedure.stage) * procedure.grip)
        reference = procedure.update(seen).setpoint.position
        # However it ends, the arm is never led anywhere in a jump.
        assert np.abs(reference - q).max() < 0.01
        q = reference
        stamp += 5_000_000
    return procedure


HELD = (BottleStage.LIFT, BottleStage.SHAKE, BottleStage.CARRY)


@pytest.mark.parametrize(
    ("load", "grip", "verdict"),
    [
        (lambda s: WEIGHT * (s in HELD), lambda s: 1.0, PlacementVerdict.PLACED),
        (lambda s: 0.0, lambda s: 0.0, PlacementVerdict.NOT_GRASPED),
        (
            lambda s: WEIGHT * (s in HELD),
            lambda s: s is not BottleStage.CARRY,
            PlacementVerdict.DROPPED,
        ),
        (
            lambda s: WEIGHT * (s in (*HELD, BottleStage.LOWER)),
            lambda s: 1.0,
            PlacementVerdict.NO_SUPPORT,
        ),
        (
            lambda s: WEIGHT * (s in (*HELD, BottleStage.RETREAT)),
            lambda s: 1.0,
            PlacementVerdict.STUCK,
        ),
    ],
)
def test_placement_is_judged_by_force(
    scene: Scene,
    load: Callable[[BottleStage], float],
    grip: Callable[[BottleStage], float],
    verdict: PlacementVerdict,
) -> None:
    assert feel(scene, load, grip).verdict is verdict


def test_force_feedback_decides_over_the_bottle(scene: Scene, tmp_path: Path) -> None:
    """Shaken with >= 5 m/s^2 it stays and is placed with feedback, and drops without."""
    bottle = Bottle.of(scene)
    assert bottle.mass == 0.52
    assert bottle.friction == pytest.approx(2.0 / 3.0)
    trials = {
        "on": run_on_plant("inverse_dynamics", True, SHORT),
        "off": run_on_plant("impedance", False, SHORT),
    }
    on, off = (summarize_bottle(trial, SHORT, bottle) for trial in trials.values())
    assert on["felt"]["verdict"] == "PLACED"
    assert on["placed"]
    assert on["peak_acceleration_m_s2"] >= 5.0
    assert on["slip_m"] < 2e-3
    assert on["lost_at_s"] is None
    assert on["grip"]["enough_share_of_time"] == 1.0
    assert on["grip"]["first_N"] < on["grip"]["needed_max_N"] < on["grip"]["max_N"]
    assert not off["placed"]
    assert off["lost_at_s"] is not None
    assert off["grip"]["max_N"] == pytest.approx(off["grip"]["first_N"], rel=1e-3)
    draw_records(trials, bottle, tmp_path / "bottle.png")
    assert (tmp_path / "bottle.png").stat().st_size > 50_000


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (
            ["--joint-controller", "inverse_dynamics", "--driver", "kuka_drivers"],
            "--driver is 'kuka_drivers' (valid: lbr_fri)",
        ),
        (["--controller", "qp"], "bottle_shake takes no --controller (valid: --engine, "),
    ],
)
def test_options_that_do_not_apply_are_refused(
    words: list[str], message: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert cli.main(["demo", "bottle_shake", *words, "--out", str(tmp_path / "out")]) == 2
    assert message in capsys.readouterr().err
    assert not (tmp_path / "out").exists()
