"""At rest a load and a hand are the same torques; the arm's motion, or the hand's, tells."""

import dataclasses

import numpy as np
import pytest

from contact_aware_control.estimation.base import EstimatorStatus
from contact_aware_control.estimation.config import LoadConfig
from contact_aware_control.estimation.load import LoadClassifier, LoadHypothesis, Verdict
from contact_aware_control.estimation.tare import TareStatus
from contact_aware_control.estimation.torque_errors import ErrorRegressor
from contact_aware_control.lever_arms import LeverArms

PERIOD = 0.005
HOME = np.array([0.0, 0.4, 0.0, -1.7, 0.0, -0.5, 0.0])
STILL = np.zeros(7)
NOISE = 0.15
OFFSET = np.array([0.0, 0.0, 0.05])
"""Of a load's centre of mass from the tool, tool frame [m]."""


class Episode:
    """Torques of something on the arm, and what the hypothesis makes of them."""

    def __init__(self, robot, seed=0):
        self.robot = robot
        self.hypothesis = LoadHypothesis(LoadConfig())
        self.regressor = ErrorRegressor(robot)
        self.rng = np.random.default_rng(seed)
        self.known = np.zeros(4)

    def show(self, q, torque):
        matrix = self.regressor.at(q, STILL, STILL)[:, -4:]
        measured = torque + NOISE * self.rng.standard_normal(7)
        return self.hypothesis.update(measured, NOISE**2 * np.eye(7), matrix, self.known, PERIOD)

    def push(self, link, force, q=HOME, offset=OFFSET):
        self.robot.update(q)
        point = self.robot.link_pose(link).act(offset)
        return self.show(q, self.robot.torque_of_force(link, point, np.asarray(force)))


@pytest.fixture
def episode(robot):
    return Episode(robot)


@pytest.mark.parametrize("mass", [0.5, 2.0, 5.0])
def test_what_hangs_on_an_arm_at_rest_may_be_either(episode, mass):
    verdicts = set()
    for tick in range(1000):
        taken = min(1.0, tick / 40)
        verdicts.add(episode.push("tool", [0.0, 0.0, -9.81 * mass * taken]))
    assert verdicts == {Verdict.AMBIGUOUS}


@pytest.mark.parametrize(
    ("link", "force"),
    [
        ("tool", [0.0, 15.0, 0.0]),
        ("tool", [0.0, 0.0, 15.0]),
        ("tool", [10.0, 0.0, -10.0]),
        ("lbr_link_5", [0.0, 10.0, -15.0]),
        ("lbr_link_4", [15.0, 0.0, 0.0]),
    ],
)
def test_what_no_load_can_do_is_a_contact_at_once(episode, link, force):
    """Sideways, upwards, or where nothing hangs."""
    verdicts = [episode.push(link, force) for _ in range(200)]
    assert set(verdicts[10:]) == {Verdict.CONTACT}


def test_a_hand_that_changes_its_mind_is_a_contact(episode):
    verdicts = []
    for tick in range(600):
        verdicts.append(episode.push("tool", [0.0, 0.0, -20.0 - 8.0 * np.sin(0.05 * tick)]))
    assert verdicts[0] is Verdict.AMBIGUOUS
    assert np.mean([v is Verdict.CONTACT for v in verdicts[150:]]) > 0.9
    assert Verdict.LOAD not in verdicts


@pytest.mark.parametrize("force", [5.0, 20.0])
def test_who_holds_still_and_then_pulls_harder_is_a_hand(episode, force):
    for _ in range(600):
        verdict = episode.push("tool", [0.0, 0.0, -force])
    assert verdict is Verdict.AMBIGUOUS
    verdicts = [episode.push("tool", [0.0, 0.0, -1.5 * force]) for _ in range(40)]
    assert verdicts[-1] is Verdict.CONTACT


@pytest.mark.parametrize("joint", [1, 3, 5])
def test_a_load_is_told_once_the_arm_has_turned(robot, joint):
    episode = Episode(robot, joint)
    for tick in range(600):
        q = HOME.copy()
        q[joint] += 0.8 * min(1.0, max(0.0, (tick - 100) / 400))
        verdict = episode.push("tool", [0.0, 0.0, -19.62], q)
        assert verdict is not Verdict.CONTACT
        if verdict is Verdict.LOAD:
            break
    assert verdict is Verdict.LOAD
    assert 100 < tick < 500
    assert episode.hypothesis.load[0] == pytest.approx(2.0, abs=0.4)


def test_a_hand_that_holds_on_while_the_arm_turns_is_a_contact(episode, robot):
    """It presses along an axis of the tool, which turns away from the vertical."""
    robot.update(HOME)
    direction = robot.tool_pose().rotation.T @ np.array([0.0, 0.0, -1.0])
    for tick in range(600):
        q = HOME.copy()
        q[5] += 0.6 * min(1.0, max(0.0, (tick - 100) / 400))
        robot.update(q)
        verdict = episode.push("tool", 20.0 * robot.tool_pose().rotation @ direction, q)
        assert verdict is not Verdict.LOAD
        if verdict is Verdict.CONTACT:
            return
    pytest.fail("it is still taken for what may be a load")


@pytest.fixture
def laden(make_plant, robot):
    """A plant that something is hung on, with a tick that says how much."""
    plant = make_plant(seed=1)
    plant.free(HOME)

    def tick(q, mass):
        robot.update(q)
        weight = robot.torque_of_force(
            "tool", robot.tool_pose().act(OFFSET), np.array([0.0, 0.0, -9.81 * mass])
        )
        return plant.tick(q, extra=weight)

    return plant, tick


def turned(step):
    return HOME + 0.4 * min(1.0, step / 300) * np.array([0, 1, 0, 1, 0, -1, 0])


def test_the_estimator_names_the_doubt_takes_the_load_and_gives_it_back(laden):
    _, tick = laden
    for _ in range(200):
        output = tick(HOME, 2.0)
    assert output.status is EstimatorStatus.AMBIGUOUS
    assert all(contact.ambiguous for contact in output.contacts)
    for step in range(400):
        output = tick(turned(step), 2.0)
    assert output.status is EstimatorStatus.FREE
    assert output.load == pytest.approx(2.0, abs=0.3)
    for _ in range(100):
        output = tick(turned(400), 0.0)
    assert output.status is EstimatorStatus.FREE
    assert output.load == pytest.approx(0.0, abs=1e-9)


def test_a_load_that_was_found_and_then_is_declared_counts_once(laden):
    plant, tick = laden
    for step in range(-200, 400):
        output = tick(turned(max(step, 0)), 2.0)
    assert output.load == pytest.approx(2.0, abs=0.3)
    plant.estimator.set_payload(2.0, OFFSET, 0)
    for _ in range(200):
        output = tick(turned(400), 2.0)
        assert output.status is EstimatorStatus.FREE
        assert np.abs(output.torque).max() < 1.0
    assert output.load == pytest.approx(0.0, abs=1e-9)


DECLARED = 2.0
"""A payload that counts [kg]."""


@pytest.fixture
def loaded(episode, robot):
    episode.known = robot.load_of_payload(DECLARED, OFFSET)
    return episode


@pytest.mark.parametrize("share", [0.3, 1.0])
def test_what_may_be_missing_of_a_payload_is_no_contact(loaded, share):
    """Dropped, or declared by mistake; an arm that yields to it would rise for ever."""
    weight = 9.81 * DECLARED * share
    assert {loaded.push("tool", [0.0, 0.0, weight]) for _ in range(400)} == {Verdict.AMBIGUOUS}


@pytest.mark.parametrize("force", [[0.0, 0.0, 30.0], [0.0, 25.0, 0.0], [25.0, 0.0, 0.0]])
def test_what_no_missing_payload_can_do_is_a_contact(loaded, force):
    """More than it weighs, or sideways."""
    verdicts = [loaded.push("tool", force) for _ in range(200)]
    assert set(verdicts[10:]) == {Verdict.CONTACT}


class Touched:
    """A classifier whose arm is pushed sideways before, and while, a load changes."""

    def __init__(self, robot, known):
        self.robot, self.known = robot, robot.load_of_payload(known, OFFSET)
        self.classifier = LoadClassifier(7, LoadConfig(), threshold=20.0)
        self.regressor = ErrorRegressor(robot)
        self.rng = np.random.default_rng(0)

    def show(self, mass, force):
        robot = self.robot
        robot.update(HOME)
        matrix = self.regressor.at(HOME, STILL, STILL)[:, -4:]
        point = robot.link_pose("tool").act(OFFSET)
        torque = robot.torque_of_force("tool", point, np.array([0.0, force, -9.81 * mass]))
        measured = torque + NOISE * self.rng.standard_normal(7)
        return self.classifier.update(measured, NOISE**2 * np.eye(7), matrix, self.known, PERIOD)


@pytest.mark.parametrize(("known", "change"), [(0.0, 2.0), (2.0, -2.0), (5.0, -5.0)])
def test_a_load_that_changes_beside_a_contact_is_in_doubt_until_it_is_right_again(
    robot, known, change
):
    touched = Touched(robot, known)
    assert {touched.show(0.0, 15.0) for _ in range(400)} == {Verdict.CONTACT}
    doubted = [touched.show(change, 15.0 - 10.0 * min(tick / 100, 1.0)) for tick in range(400)]
    assert set(doubted) == {Verdict.AMBIGUOUS}
    again = [touched.show(0.0, 15.0) for _ in range(300)]
    assert set(again[200:]) == {Verdict.CONTACT}


def test_a_contact_that_presses_harder_is_no_load(robot):
    touched = Touched(robot, 2.0)
    verdicts = [touched.show(0.0, 5.0 + 0.1 * tick) for tick in range(400)]
    assert set(verdicts[10:]) == {Verdict.CONTACT}


@pytest.mark.parametrize(("moment", "verdict"), [(0.2, Verdict.CONTACT), (0.0, Verdict.AMBIGUOUS)])
def test_nothing_without_a_mass_has_a_moment(robot, moment, verdict):
    """What turns the hand as 1 kg would 0.2 m beside it, and weighs nothing, is no load."""
    classifier, regressor = LoadClassifier(7, LoadConfig(), threshold=20.0), ErrorRegressor(robot)
    rng = np.random.default_rng(0)
    robot.update(HOME)
    matrix = regressor.at(HOME, STILL, STILL)[:, -4:]
    for _ in range(50):
        torque = matrix @ [0.0, moment, moment, 0.0] + NOISE * rng.standard_normal(7)
        told = classifier.update(torque, NOISE**2 * np.eye(7), matrix, np.zeros(4), PERIOD)
    assert told is verdict


def test_a_payload_counts_only_once_the_torque_shows_it(make_plant, robot):
    """Declared by mistake it makes no contact and moves nothing; it is named until it is there."""
    plant = make_plant(seed=1)
    plant.free(HOME)
    robot.update(HOME)
    weight = robot.gravity_torque_of_payload(DECLARED, np.zeros(3))
    plant.estimator.set_payload(DECLARED, np.zeros(3), 0)
    outputs = [plant.tick(HOME) for _ in range(200)]
    assert not any(output.contacts for output in outputs)
    assert outputs[-1].load == pytest.approx(-DECLARED)
    assert outputs[-1].report(0).lacks_payload
    lifted = [plant.tick(HOME, extra=weight) for _ in range(100)]
    assert not any(output.contacts for output in lifted[5:])
    assert lifted[-1].load == pytest.approx(0.0)
    dropped = [plant.tick(HOME) for _ in range(200)]
    assert all(c.ambiguous for output in dropped[5:] for c in output.contacts)
    assert dropped[-1].status is EstimatorStatus.AMBIGUOUS
    plant.estimator.set_payload(0.0, np.zeros(3), 0)
    again = [plant.tick(HOME) for _ in range(100)]
    assert again[-1].status is EstimatorStatus.FREE
    assert again[-1].load == pytest.approx(0.0)


def test_a_tare_takes_the_declared_payload_for_what_hangs_there(make_plant, robot):
    """It may have hung there from the start, and been taken for a bias."""
    plant = make_plant(seed=1)
    robot.update(HOME)
    weight = robot.gravity_torque_of_payload(0.2, np.zeros(3))
    for _ in range(100):
        plant.tick(HOME, extra=weight)
    plant.estimator.set_payload(0.2, np.zeros(3), 0)
    plant.estimator.tare()
    for _ in range(100):
        output = plant.tick(HOME, extra=weight)
    assert output.tare is TareStatus.DONE
    assert output.load == pytest.approx(0.0)
    assert np.abs(output.bias).max() < 0.3


def test_a_force_far_above_what_its_torque_asks_for_is_not_believed(make_plant, robot):
    """Along the bones next to no torque stands for any force; 19 kN were reported once."""
    plant = make_plant()
    plant.free(HOME)
    point = robot.link_pose("lbr_link_6").translation
    for _ in range(40):
        plant.tick(HOME, "lbr_link_6", point, np.array([0.0, 25.0, 0.0]))
    (track,) = plant.estimator._tracker.tracks
    # On the upper arm, its line of action passes the shoulder by 2 mm.
    place = robot.joint_origins[1] + np.array([0.002, 0.0, 0.2])
    upwards = np.array([0.0, 0.0, 19_000.0])
    shape = plant.estimator._links.index("lbr_link_3")
    estimate = dataclasses.replace(
        track.estimate, shape=shape, point_world=place, force_world=upwards
    )
    contact = plant.estimator._contact(track, estimate, plant.stamp_ns, HOME, ambiguous=False)
    torque = robot.torque_of_force(contact.link, place, upwards)
    least = LeverArms(robot, 0.1).least_force(HOME, torque, contact.joints_moving)
    assert 30.0 * least < 19_000.0
    assert np.linalg.norm(contact.force_world) == pytest.approx(30.0 * least)
    assert not contact.wrench_known
