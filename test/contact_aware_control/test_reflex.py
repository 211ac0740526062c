"""What raw torques alone bring about: faults in every mode, reactions, forces they prove."""

import dataclasses

import numpy as np
import pytest
from elbow_wall import ElbowWall
from loop_bench import TICK, UP, Bench, Q, line
from touch_bench import DOWN, TouchBench

from contact_aware_control.config import ControllerConfig
from contact_aware_control.contact import ContactReport
from contact_aware_control.guarded_move import GuardedMove
from contact_aware_control.lever_arms import LeverArms
from contact_aware_control.loop_state import LoopInputs
from contact_aware_control.reference import Goal
from contact_aware_control.safety import state_checks
from contact_aware_control.safety.status import Mode, Request, Status
from contact_core.base.config import from_mapping
from contact_core.robot.robot import Robot
from contact_core.robot.scene import Scene
from contact_experiments.control.closed_loop import ClosedLoopRun
from contact_stack.demo.contact_tracking.experiments import EXPERIMENTS

SHOULDER, ELBOW = np.eye(7)[1], np.eye(7)[3]
LIMIT = ControllerConfig().force.limit


class TorqueBench(Bench):
    """A bench whose joint states have external torques."""

    def feel(self, torque, goal=None, shift=0.0, report=(), free_torque=None):
        """One tick with an external torque, the arm ``shift`` away from its command."""
        self.now += TICK
        state = dataclasses.replace(
            self.make_state(self.now, self.q + shift, self.q),
            external_torque=np.broadcast_to(np.asarray(torque, dtype=float), 7).copy(),
        )
        contacts = ContactReport(self.now, report, free_torque)
        self.loop_state, passed, status = self.loop.tick(
            self.loop_state, LoopInputs(self.now, state, contacts, goal)
        )
        self.q = passed.position
        return self.q, status


@pytest.fixture
def bench(robot, arm_state, monkeypatch):
    # Its torques do not move the arm, or at once.
    monkeypatch.setattr(state_checks, "FROZEN_DISTANCE", 1.0)
    monkeypatch.setattr(state_checks, "MAX_SPEED", 1e3)
    patient = {"follow_time": 10.0}
    return lambda **values: TorqueBench(robot, arm_state, plausibility=patient, **values)


@pytest.mark.parametrize("torque", [1e6, -1e6, 1e300, np.inf])
@pytest.mark.parametrize("goal", [None, line(Q + 0.1)], ids=["held", "tracking"])
def test_absurd_torques_are_a_fault_in_every_mode(bench, torque, goal):
    run = bench()
    for _ in range(20):
        run.feel(0.0, goal)
    before = run.q.copy()
    command, status = run.feel(torque, goal)
    assert (status.mode, status.status) == (Mode.FAULT, Status.TORQUE_EXCEEDED)
    assert "lbr_A1" in status.detail
    assert "limit 160 Nm" in status.detail
    np.testing.assert_array_equal(command, before)
    assert run.feel(0.0, goal)[1].status is Status.TORQUE_EXCEEDED
    assert run.ask(Request.RESET)
    # That it ended so suddenly was a fault, too.
    for _ in range(10):
        run.feel(0.0, goal)
    assert run.ask(Request.RESET)
    _, status = run.feel(0.0, goal)
    assert status.mode is (Mode.HOLD if goal is None else Mode.TRACKING)


def test_the_rate_of_a_torque_is_limited(bench):
    run = bench()
    for size in np.linspace(0.0, 10.0, 200):
        _, status = run.feel(size * SHOULDER)
    assert status.status is not Status.TORQUE_EXCEEDED
    _, status = run.feel(130.0 * SHOULDER)
    assert status.status is Status.TORQUE_EXCEEDED
    assert "lbr_A2 changes by" in status.detail
    assert "3200 Nm/s" in status.detail


def test_a_driver_without_torques_is_no_fault(bench):
    run = bench()
    goal = line(Q + 0.1)
    statuses = [run.feel(np.nan, goal)[1] for _ in range(40)]
    assert all(status.mode is Mode.TRACKING for status in statuses[1:])


def test_fault_that_is_not_freed_latches_again(bench):
    run = bench()
    for _ in range(5):
        run.feel(200.0 * SHOULDER)
    run.ask(Request.RESET)
    assert run.feel(200.0 * SHOULDER)[1].status is Status.TORQUE_EXCEEDED


def test_float_follows_the_springs_to_zero_torque(bench, robot):
    """At 0.8 of the joint speed limits at most, and it stays at payload and bias."""
    run = bench(reflex={"reaction": "float"})
    payload = 5.0 * SHOULDER
    for _ in range(400):
        run.feel(payload, free_torque=np.zeros(7))
    pushed = run.q + np.array([0.0, 0.3, 0.0, 0.2, 0.0, 0.0, 0.0])
    run.feel(payload + 170.0 * SHOULDER, shift=pushed - run.q)
    for _ in range(100):
        before = run.q
        shift = pushed - run.q
        torque = payload + run.loop.robot.stiffness * shift
        command, _ = run.feel(torque, shift=shift)
        speed = np.abs(command - before) / run.loop.config.period
        assert (speed <= 0.8 * robot.velocity_limits + 1e-9).all()
    expected = pushed - payload / run.loop.robot.stiffness
    np.testing.assert_allclose(command, expected, atol=2e-3)


def test_retract_goes_back_along_the_last_motion_and_holds(bench):
    run = bench(reflex={"reaction": "retract"})
    goal = line(Q + 0.2 * ELBOW, duration=2.0)
    for _ in range(200):
        run.feel(0.0, goal)
    at_fault, status = run.feel(100.0 * ELBOW, goal)
    assert status.status is Status.TORQUE_EXCEEDED
    for _ in range(100):
        before = run.q
        command, _ = run.feel(20.0 * ELBOW, goal)
        assert np.abs(command - before).max() <= 0.2 * run.loop.config.period + 1e-12
    distance = at_fault - command
    assert distance[3] == pytest.approx(0.05, abs=2e-3)
    assert np.abs(distance[[0, 1, 2, 4, 5, 6]]).max() < 1e-3
    np.testing.assert_array_equal(command, before)


def test_no_force_is_smaller_than_what_its_torque_proves(robot):
    """Forces on the corners of every shape, against the largest lever arms."""
    rng = np.random.default_rng(0)
    for q in rng.uniform(-1.0, 1.0, (10, 7)) * robot.position_limits[1]:
        levers = LeverArms(robot, 0.0).at(q, 7)
        robot.update(q)
        for shape in robot.collision_shapes:
            center = (robot.link_pose(shape.body) * shape.placement).translation
            for _ in range(5):
                away = rng.standard_normal(3)
                away *= shape.shape.bounding_radius / np.linalg.norm(away)
                force = rng.standard_normal(3)
                torque = robot.torque_of_force(shape.body, center + away, force)
                assert np.max(np.abs(torque) / levers) <= np.linalg.norm(force) * (1 + 1e-9)


def test_torques_that_no_contact_explains_make_it_give_way(bench):
    """The springs relax, tracking and held, though somebody reports that the arm is free."""
    for goal in (None, line(Q + 0.2 * SHOULDER)):
        run = bench(slow_start={"duration": 0.0}, safety={"leash": 1.0})
        for _ in range(10):
            run.feel(0.0)
        for _ in range(60):
            torque = -60.0 * SHOULDER
            _, status = run.feel(torque, goal, shift=torque / 600.0)
        assert status.status in (Status.CONTACT_UNIDENTIFIABLE, Status.AMBIGUOUS_LOAD)
        before = run.q
        command, _ = run.feel(torque, goal, shift=torque / 600.0)
        assert (command - before)[1] < 0.0


def test_contact_that_is_located_explains_its_torques(bench, contact, robot):
    """A planned force above the default limit is the business of the force limits."""
    run = bench()
    robot.update(Q)
    point = robot.link_pose("lbr_link_6").translation
    force = np.array([0.0, 0.0, 100.0])
    torque = robot.torque_of_force("lbr_link_6", point, force)
    goal = dataclasses.replace(line(Q), force_limits={"lbr_link_6": 120.0})
    for _ in range(60):
        _, status = run.feel(torque, goal, report=(contact(force, point),))
    assert status.mode is Mode.TRACKING


@pytest.mark.parametrize("told", [True, False], ids=["torque told", "torque measured"])
@pytest.mark.parametrize("goal", [None, line(Q)], ids=["held", "tracking"])
def test_contacts_whose_torque_is_not_felt_move_nothing(bench, contact, robot, goal, told):
    """A claim of 100 N moved an arm that nothing touched; half of it may be an error."""
    run = bench(slow_start={"duration": 0.0})
    robot.update(Q)
    point = robot.link_pose("lbr_link_6").translation
    torque = robot.torque_of_force("lbr_link_6", point, 100.0 * UP)
    for felt, believed in ((0.0, False), (0.7, True)):
        run.q = before = Q.copy()
        for _ in range(40):
            free = felt * torque if told else None
            _, status = run.feel(
                felt * torque, goal, report=(contact(100.0 * UP, point),), free_torque=free
            )
        assert (status.status is not Status.CONTACT_UNIDENTIFIABLE) == believed
        assert (np.abs(run.q - before).max() > 0.01) == believed


def test_payload_that_the_estimator_declares_is_no_contact(bench):
    run = bench()
    torque = np.array([0.0, 22.0, 0.0, -8.0, 0.0, 1.0, 0.0])
    statuses = [run.feel(torque, line(Q), free_torque=np.zeros(7))[1] for _ in range(80)]
    assert statuses[-1].mode is Mode.TRACKING
    undeclared = bench()
    statuses = [undeclared.feel(torque, line(Q))[1] for _ in range(80)]
    assert statuses[-1].status is Status.CONTACT_UNIDENTIFIABLE


def test_elbow_gives_way_without_any_estimator():
    """197 N before there was a reflex, with status OK."""
    wall = ElbowWall(ControllerConfig(), estimator=False)
    wall.press(2.5)
    assert np.max(wall.forces) < 80.0
    assert wall.forces[-1] < 40.0
    assert wall.statuses[-1].status in (Status.CONTACT_UNIDENTIFIABLE, Status.AMBIGUOUS_LOAD)


def test_held_elbow_gives_way_as_long_as_its_leash_allows():
    """A wall that comes nearer at 0.05 m/s was a fault at 250 N while holding was all it did."""
    wall = ElbowWall(from_mapping(ControllerConfig, {"safety": {"leash": 1.0}}), estimator=False)
    wall.press(4.5, hold=True)
    assert all(status.mode is Mode.HOLD for status in wall.statuses)
    assert max(wall.forces) < 100.0


def test_held_elbow_floats_at_the_end_of_its_leash():
    """330 N and a fault while the springs held whatever came."""
    wall = ElbowWall(ControllerConfig(), estimator=False)
    wall.press(4.5, hold=True)
    assert all(status.mode is Mode.HOLD for status in wall.statuses)
    assert max(wall.forces) < 200.0


def test_springs_of_a_held_arm_carry_a_load_and_let_go_of_more(bench, robot):
    """Where the arm is decides; the torques that are reported say nothing here."""
    lever = LeverArms(robot, ControllerConfig().reflex.held_reach).at(Q)[1]
    most = ControllerConfig().safety.float_force * lever / 600.0
    for shift, moves in ((0.9 * most, False), (1.3 * most, True)):
        run = bench()
        for _ in range(5):
            run.feel(0.0)
        for _ in range(20):
            away = Q + shift * SHOULDER - run.q
            run.feel(0.0, shift=away)
        assert bool(run.q[1] > Q[1] + 1e-3) is moves
        assert away[1] <= 1.05 * most


def test_a_held_arm_gives_way_to_a_hand_while_no_contacts_are_reported():
    """By its leash: nobody vouches for the hand."""
    bench = TouchBench(0.3)
    bench.silent = True
    begin, arm = bench.command, Robot.from_description(Scene.load("mug_placement").robot)
    for _ in range(400):
        bench.push("lbr_link_7", (0.0, 60.0, 0.0))
        bench.tick(None)
    arm.update(begin)
    before = arm.tool_pose().translation.copy()
    arm.update(bench.command)
    assert 0.03 < np.linalg.norm(arm.tool_pose().translation - before) < 0.06


def test_a_table_is_pressed_within_the_limit_while_no_contacts_are_reported():
    bench = TouchBench(0.51)
    period = bench.config.period
    down = GuardedMove(bench.arm, bench.command, DOWN, 0.02, 0.15, 10.0, bench.bounds, period)
    pressed = []
    for tick in range(700):
        bench.silent = tick > 100
        bench.tick(Goal(down.reference))
        pressed.append(bench.pressing())
    assert pressed[-1] > 5.0
    assert max(pressed) < 2.0 * LIMIT


@pytest.mark.verify
def test_wrist_gives_way_without_any_estimator(monkeypatch):
    """83 N were held at a limit of 15 N while somebody else reported that the arm was free."""
    run = ClosedLoopRun(ControllerConfig())
    estimate = run._estimate
    monkeypatch.setattr(
        run, "_estimate", lambda state: dataclasses.replace(estimate(state), contacts=())
    )
    data = run.run()
    forces = np.array([sum(np.linalg.norm(c.force) for c in found) for found in data.contacts])
    assert np.percentile(forces[forces > 1.0], 90) < 60.0
    assert any(s.status is Status.CONTACT_UNIDENTIFIABLE for s in run.status)


def rough(scene, noise=0.3, bias=1.0):
    """Return a scene with worse torque sensors."""
    sensor = dataclasses.replace(scene.config.torque_sensor, noise=(noise,), bias=(bias,) * 7)
    return dataclasses.replace(
        scene, config=dataclasses.replace(scene.config, torque_sensor=sensor)
    )


@pytest.mark.verify
@pytest.mark.parametrize("experiment", EXPERIMENTS)
@pytest.mark.parametrize("controller", ["qp", "greedy"])
def test_experiments_stay_far_from_the_reflex(experiment, controller):
    """Noise of 0.3 Nm and a bias of 1 Nm on every joint: a third of the limits at most."""
    scene = rough(Scene.load(EXPERIMENTS[experiment].scene))
    config = from_mapping(ControllerConfig, {"controller": controller})
    run = ClosedLoopRun(config, EXPERIMENTS[experiment](), scene=scene)
    torques, ratios = [], []
    tick = run.loop.tick

    def spy(state, inputs):
        state, command, status = tick(state, inputs)
        torques.append(np.abs(inputs.arm.external_torque))
        ratios.append((state.reflex.force_ratio, state.reflex.unexplained_force))
        return state, command, status

    run.loop.tick = spy
    run.run()
    effort = np.array([320.0, 320.0, 176.0, 176.0, 110.0, 40.0, 40.0])
    assert np.max(np.array(torques) / (0.5 * effort)) < 0.35
    assert max(unexplained for _, unexplained in ratios) == 0.0
