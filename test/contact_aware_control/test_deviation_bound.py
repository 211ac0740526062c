"""What may be no contact takes the arm no farther than its bound, and is named."""

import dataclasses

import numpy as np
import pytest
from phantom_bench import PhantomBench, course, stay, sweep

from contact_aware_control.config import ControllerConfig
from contact_aware_control.contact import ContactReport
from contact_aware_control.lever_arms import LeverArms
from contact_aware_control.safety.deviation_bound import DeviationBound

LENGTH = ControllerConfig().safety.leash
HOME = np.array([0.1, 0.6, -0.1, -1.5, 0.1, 1.0, 0.0])
LOADS = [[0.0, 40.0, 0.0, -20.0, 0.0, 0.0, 0.0], [15.0, 0.0, 15.0, 0.0, 5.0, 0.0, 0.0]]
UNWATCHED = {"plausibility": {"follow_time": 10.0}}
"""The check of springs and torques would stop most phantoms before the bound does."""


@pytest.fixture
def bound(robot):
    return DeviationBound(robot, LeverArms(robot, 0.1), LENGTH, 0.025, 2.0)


def nowhere(home):
    return None


@pytest.mark.parametrize(
    ("goal", "seed", "duration"),
    [
        (sweep, 0, 3.0),
        *(
            pytest.param(goal, seed, 8.0, marks=pytest.mark.verify)
            for seed in range(20)
            for goal in (stay, sweep)
        ),
    ],
)
def test_no_phantom_takes_the_arm_from_its_path(goal, seed, duration):
    """Torques in the signal alone come, stay, vary, jump and drift; nothing touches the arm."""
    bench = PhantomBench(course(seed), goal=goal, seed=seed, **UNWATCHED)
    bench.run(duration)
    assert max(bench.away) <= LENGTH
    if max(bench.away) > 0.8 * LENGTH:
        assert "AMBIGUOUS_LOAD" in bench.names


def test_phantom_would_take_a_calibrated_arm_farther():
    """What the bound is for, and that nothing else holds the arm in these tests."""
    bench = PhantomBench(course(0), goal=sweep, calibrated=True, **UNWATCHED)
    bench.run(1.5)
    assert max(bench.away) > LENGTH


@pytest.mark.parametrize(
    ("goal", "load"),
    [
        (stay, LOADS[0]),
        (nowhere, LOADS[1]),
        pytest.param(nowhere, LOADS[0], marks=pytest.mark.verify),
        pytest.param(stay, LOADS[1], marks=pytest.mark.verify),
    ],
)
def test_load_that_nobody_declared_does_not_sink(goal, load):
    """At rest it is the same torque as a hand; the springs give by what they carry."""
    bench = PhantomBench(lambda time: np.zeros(7), goal=goal, load=np.array(load))
    bench.run(2.5)
    sag = bench.points(bench.home + bench.softness * load) - bench.points(bench.home)
    assert max(bench.away) <= LENGTH + 1.2 * np.linalg.norm(sag, axis=1).max()
    assert bench.away[-1] == pytest.approx(bench.away[-200], abs=1e-3)
    assert "AMBIGUOUS_LOAD" in bench.names


def test_only_a_calibrated_report_of_a_sure_contact_frees_the_arm(bound, contact):
    sure = contact([0.0, 0.0, 20.0], [0.5, 0.0, 0.5])
    doubtful = dataclasses.replace(sure, ambiguous=True)
    weak = contact([0.0, 0.0, 1.0], [0.5, 0.0, 0.5])
    assert not bound.in_doubt(ContactReport(0, [sure], calibrated=True), HOME)
    assert not bound.in_doubt(ContactReport(0, [doubtful, sure], calibrated=True), HOME)
    for report in (
        None,
        ContactReport(0, [sure]),
        ContactReport(0, [], calibrated=True),
        ContactReport(0, [doubtful], calibrated=True),
        ContactReport(0, [doubtful, weak], calibrated=True),
    ):
        assert bound.in_doubt(report, HOME)


def test_contacts_that_cancel_each_other_vouch_for_nothing(bound, contact, robot):
    """A torque of 2 Nm was explained by 200 N against 8 N, and the arm fled from them."""
    point = np.array([0.5, 0.0, 0.5])
    up, down = (contact([0.0, 0.0, force], point) for force in (30.0, -25.0))
    robot.update(HOME)
    torques = [robot.torque_of_force(c.link, point, c.force_world) for c in (up, down)]

    def report(*contacts, torque):
        return ContactReport(0, contacts, calibrated=True, free_torque=torque)

    assert bound.in_doubt(report(up, down, torque=sum(torques)), HOME)
    assert not bound.in_doubt(report(up, up, torque=2.0 * torques[0]), HOME)
    assert not bound.in_doubt(report(up, torque=torques[0]), HOME)


def test_distance_is_bounded_whatever_is_wanted(bound):
    """Random wishes, a nominal command that wanders: the way back is free, the way out is not."""
    random = np.random.default_rng(5)
    home = np.array([0.1, 0.6, -0.1, -1.5, 0.1, 1.0, 0.0])
    command, nominal = home, home
    for _ in range(2000):
        following = nominal + random.uniform(-1.0, 1.0, 7) * 1e-3
        wanted = command + random.uniform(-1.0, 1.3, 7) * 4e-3
        before = bound.distance(command, nominal)
        passed, held = bound.limit(command, (nominal, following), wanted, pulled=True)
        after = bound.distance(passed, following)
        assert after <= LENGTH + 1e-4
        assert held or passed is wanted
        assert held or after <= before + 0.025 * (LENGTH - before) + 3e-3
        command, nominal = passed, following
    back, held = bound.limit(command, (nominal, nominal), 0.5 * (command + nominal), pulled=False)
    assert not held
    assert bound.distance(back, nominal) < bound.distance(command, nominal)


def test_who_stands_still_follows_nothing_however_fast_the_nominal_command_is(bound):
    """After a hold it went on at once, and took an arm along that wanted to press no harder."""
    on, yielding = np.eye(7)[0] * 8e-3, np.eye(7)[1] * 20e-3
    stayed, held = bound.limit(HOME, (HOME, HOME + on), HOME, pulled=True)
    assert not held
    np.testing.assert_array_equal(stayed, HOME)
    # Too fast a change is shortened as a whole: a bound on a force, linear in it, goes on to hold.
    passed, held = bound.limit(HOME, (HOME, HOME + on), HOME + on + yielding, pulled=True)
    assert held
    share = (passed - HOME)[0] / 8e-3
    assert 0.05 < share < 0.95
    np.testing.assert_allclose(passed - HOME, share * (on + yielding), atol=1e-12)


def test_arm_that_is_far_away_already_is_not_pulled_back(bound):
    """It has yielded to a contact that was none of doubt then; it may stay, or come back."""
    nominal = np.array([0.1, 0.6, -0.1, -1.5, 0.1, 1.0, 0.0])
    command = nominal + 0.3 * np.eye(7)[0]
    stayed, held = bound.limit(
        command, (nominal, nominal), command + 0.01 * np.eye(7)[0], pulled=False
    )
    assert held
    np.testing.assert_array_equal(stayed, command)
    _, held = bound.limit(command, (nominal, nominal), command - 0.01 * np.eye(7)[0], pulled=False)
    assert not held
    assert bound.rate(command, nominal) == 0.0
    assert bound.rate(nominal, nominal) == 1.0


def test_it_is_followed_slowly_also_across_the_path(bound):
    """From one side to the other, as where a load is dropped that had pulled the arm down."""
    nominal = np.array([0.1, 0.6, -0.1, -1.5, 0.1, 1.0, 0.0])
    command, wanted = (nominal + change * np.eye(7)[1] for change in (0.03, -0.03))
    passed, held = bound.limit(command, (nominal, nominal), wanted, pulled=True)
    assert held
    assert bound.distance(passed, command) < 0.3 * ControllerConfig().period
    back, held = bound.limit(command, (nominal, nominal), wanted, pulled=False)
    assert not held
    np.testing.assert_array_equal(back, wanted)
