"""The commanded arm stays inside its workspace and away from itself."""

import numpy as np
import pytest

from contact_aware_control.config import ControllerConfig, SelfCollisionConfig, WorkspaceConfig
from contact_aware_control.safety.command_guard import (
    CommandGuard,
    SelfCollision,
    WorkspaceLimits,
)
from contact_aware_control.safety.status import Status
from contact_core.base.config import from_mapping
from contact_core.base.errors import ConfigError

Q = np.array([0.1, 0.6, -0.1, -1.5, 0.1, 1.0, 0.0])
FOLDED = np.array([0.0, 0.5, 0.0, -1.8, 0.0, 1.8, 0.0])
INTO_ITSELF = np.array([0.0, 0.0, 0.0, -0.0015, 0.0, 0.0015, 0.0])


def guard_of(robot, **values):
    return CommandGuard(robot, from_mapping(ControllerConfig, values))


def push(guard, command, change, ticks):
    """Ask for the same change again and again."""
    steps, statuses = [], []
    for _ in range(ticks):
        following, status = guard.limit(command, command + change)
        steps.append(np.linalg.norm(following - command))
        statuses.append(status)
        command = following
    return command, steps, statuses


def test_far_from_every_limit_nothing_changes(robot):
    change = np.full(7, 1e-3)
    following, status = guard_of(robot).limit(Q, Q + change)
    np.testing.assert_array_equal(following, Q + change)
    assert status is Status.OK


def test_arm_brakes_in_front_of_itself(robot):
    """It slows down and stops at the distance that is kept; a step's curvature is micrometres."""
    command, steps, statuses = push(guard_of(robot), FOLDED, INTO_ITSELF, 800)
    left = SelfCollision(robot, SelfCollisionConfig()).clearance(command)
    assert -1e-5 < left < 1e-3
    assert statuses[-1] is Status.SELF_COLLISION
    assert steps[-1] < 0.02 * steps[0]
    limits = robot.position_limits
    assert np.all(command > limits[0])
    assert np.all(command < limits[1])


def test_arm_can_always_retreat(robot):
    """Also from a configuration that should not have been reached."""
    guard = guard_of(robot, self_collision={"distance": 0.15})
    following, status = guard.limit(FOLDED, FOLDED - INTO_ITSELF)
    np.testing.assert_array_equal(following, FOLDED - INTO_ITSELF)
    assert status is Status.OK
    following, status = guard.limit(FOLDED, FOLDED + INTO_ITSELF)
    np.testing.assert_array_equal(following, FOLDED)
    assert status is Status.SELF_COLLISION


def test_tool_stops_at_the_border_of_the_workspace(robot):
    wall = robot.tool_pose().translation[2] - 0.05
    workspace = {"lowest": [-2.0, -2.0, wall]}
    down = np.array([0.0, 0.001, 0.0, 0.0, 0.0, 0.0, 0.0])
    command, _, statuses = push(guard_of(robot, workspace=workspace), Q, down, 800)
    robot.update(command)
    height = robot.tool_pose().translation[2] - wall
    assert -1e-5 < height < 1e-3
    assert statuses[-1] is Status.WORKSPACE


def test_clearance_is_the_distance_to_the_closest_face(robot):
    box = WorkspaceConfig(lowest=(0.0, 0.0, 0.0), highest=(1.0, 1.0, 1.0))
    workspace = WorkspaceLimits(box)
    assert workspace.clearance_at(np.array([0.5, 0.2, 0.5])) == pytest.approx(0.2)
    assert workspace.clearance_at(np.array([0.5, 0.5, 1.3])) == pytest.approx(-0.3)


def test_distance_agrees_with_a_direct_query(robot):
    """Oracle: the distance of two spheres around the flange and the base, by hand."""
    pair = SelfCollision(robot, SelfCollisionConfig(pairs="lbr_link_0:lbr_link_7", distance=0.0))
    robot.update(Q)
    base, flange = robot.link_pose("lbr_link_0"), robot.link_pose("lbr_link_7")
    distance = np.linalg.norm(base.translation - flange.translation)
    sizes = [s.placement.translation for s in robot.collision_shapes]
    reach = sum(
        np.linalg.norm(sizes[i]) + shape.shape.bounding_radius
        for i, shape in enumerate(robot.collision_shapes)
        if shape.body in ("lbr_link_0", "lbr_link_7")
    )
    assert distance - reach <= pair.clearance(Q) <= distance


def test_joint_limits_keep_the_unwatched_links_apart(robot):
    """Of the links with two joints between them, all but the wrist's own are never in contact."""
    rng = np.random.default_rng(0)
    unwatched = "lbr_link_0:lbr_link_2 lbr_link_1:lbr_link_3 lbr_link_2:lbr_link_4 "
    unwatched += "lbr_link_3:lbr_link_5 lbr_link_5:gripper_body"
    pairs = SelfCollision(robot, SelfCollisionConfig(pairs=unwatched, distance=0.0))
    samples = rng.uniform(*robot.position_limits, size=(2000, robot.n))
    assert min(pairs.clearance(q) for q in samples) > 0.0


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ({"self_collision": {"pairs": "lbr_link_0:elbow"}}, "unknown link 'elbow'"),
        ({"self_collision": {"pairs": "lbr_link_0"}}, "is not `link:link`"),
        ({"workspace": {"lowest": [3.0, -2.0, -2.0]}}, "lowest x 3.0 m is not below"),
    ],
)
def test_bad_parameters(robot, values, message):
    with pytest.raises(ConfigError, match=message):
        guard_of(robot, **values)


def test_bounds_on_the_clearance_tell_what_measuring_does(robot):
    """On a random walk that also comes close, with steps of a tick."""
    measured, rng = SelfCollision(robot, SelfCollisionConfig()), np.random.default_rng(0)
    known = SelfCollision(robot, SelfCollisionConfig())
    share, bounds, q = 0.025, 0, FOLDED.copy()
    for _ in range(400):
        end = q + rng.normal(scale=3e-4, size=7) + 0.3 * INTO_ITSELF
        now, lost = known.approach(q, end, share)
        start = measured.clearance(q)
        shrinks = start - measured.clearance(end)
        assert now <= start + 1e-9
        assert lost >= shrinks - 1e-9
        assert (lost > share * max(now, 0.0)) == (shrinks > share * max(start, 0.0))
        bounds += lost > shrinks + 1e-6
        q = end
    assert 100 < bounds < 400
