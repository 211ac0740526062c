"""Several contacts, friction beyond the usual, and recovery from wrong places."""

import numpy as np
import pytest

from contact_aware_control.estimation.config import EstimatorConfig
from contact_aware_control.estimation.surface import (
    new_placement,
    place,
    surface_of_robot,
)
from contact_aware_control.estimation.tracker import DOUBT_TIME, Told
from contact_core.base.config import from_mapping
from contact_experiments.bench.contact_trials import Setting, run_at_once
from contact_experiments.bench.contacts import make_trial

POSE = np.array([0.1, 0.6, 0.2, -1.5, 0.1, 1.0, 0.3])


def test_what_is_told_is_told_until_it_has_been_doubted_for_a_while():
    told, period = Told(), 0.005
    told.update(False, period)
    assert not told.is_told
    told.update(True, period)
    assert told.is_told
    ticks = round(DOUBT_TIME / period)
    for _ in range(3):
        for _ in range(ticks - 1):
            told.update(False, period)
            assert told.is_told
        told.update(True, period)
    for _ in range(ticks + 1):
        told.update(False, period)
    assert not told.is_told


def error(contacts, point):
    return min((np.linalg.norm(c.point_world - point) for c in contacts), default=np.inf)


def two_contacts(make_plant, robot, touch, pose, seed, links):
    """Touch two links one after the other; the first force changes when the second comes.

    Returns:
        Location error of the second at the end, number of contacts then, and after the
        second has ended, whether only the first is left in its place.
    """
    plant = make_plant(seed=seed, noise=0.3)
    plant.free(pose)
    robot.update(pose)
    contacts = []
    for link in links:
        point, force = touch(plant.rng, link)
        force *= plant.rng.uniform(15.0, 30.0) / np.linalg.norm(force)
        contacts.append((point, robot.point_jacobian(link, point).T @ force))
    (first, first_torque), (second, second_torque) = contacts

    def hold(torque, ticks):
        for _ in range(ticks):
            output = plant.tick(pose, extra=torque)
        return output

    hold(first_torque, 50)
    first_torque = first_torque * plant.rng.uniform(0.7, 1.3)
    both = hold(first_torque + second_torque, 80)
    after = hold(first_torque, 80)
    alone = len(after.contacts) == 1 and error(after.contacts, first) < 0.05
    return error(both.contacts, second), len(both.contacts), alone


def test_a_second_distal_contact_is_found_and_its_end_noticed(
    make_plant, robot, touch, random_configuration
):
    """Elbow or forearm first, wrist second, 0.3 Nm of noise."""
    results = []
    for seed in range(10):
        pose = random_configuration(np.random.default_rng([seed, 1]))
        links = ("lbr_link_4" if seed % 2 else "lbr_link_5", "lbr_link_7")
        results.append(two_contacts(make_plant, robot, touch, pose, seed, links))
    errors, counts, alone = map(np.array, zip(*results, strict=True))
    assert np.mean(errors <= 0.05) >= 0.7
    assert np.mean(counts == 2) >= 0.7
    assert np.mean(alone) >= 0.6


def test_contacts_keep_their_numbers_and_never_exceed_the_most(make_plant, robot, touch):
    plant = make_plant(from_mapping(EstimatorConfig, {"contacts": {"most": 1}}))
    plant.free(POSE)
    robot.update(POSE)
    first, force = touch(plant.rng, "lbr_link_4", force=20.0)
    torque = robot.point_jacobian("lbr_link_4", first).T @ force
    second, force = touch(plant.rng, "lbr_link_7", force=25.0)
    for tick in range(120):
        both = tick >= 50
        extra = torque if both else np.zeros(7)
        contacts = plant.tick(POSE, "lbr_link_7", second, force, extra).contacts
        assert len(contacts) == 1
        assert contacts[0].number == 1


@pytest.mark.parametrize("noise", [0.1, 0.3])
def test_one_contact_is_not_taken_for_two(make_plant, robot, touch, random_configuration, noise):
    """Whatever its friction, while its force changes."""
    several = 0
    for seed in range(5):
        plant = make_plant(seed=seed, noise=noise)
        pose = random_configuration(plant.rng)
        plant.free(pose)
        robot.update(pose)
        point, force = touch(plant.rng, "lbr_link_6", force=20.0, friction=0.7)
        for tick in range(120):
            size = 1.0 + 0.8 * np.sin(0.1 * tick)
            several += len(plant.tick(pose, "lbr_link_6", point, size * force).contacts) > 1
    assert several <= 0.05 * 5 * 120


def errors_at_friction(make_plant, robot, touch, random_configuration, friction, config=None):
    """Touch link 6 with exactly this friction, 0.3 Nm; return location errors and flags."""
    found = []
    for seed in range(20):
        plant = make_plant(config, seed=seed, noise=0.3)
        pose = random_configuration(plant.rng)
        plant.free(pose)
        robot.update(pose)
        point, force = touch(plant.rng, "lbr_link_6", friction=0.0)
        tangent = np.cross(force, plant.rng.standard_normal(3))
        size = np.linalg.norm(force)
        force = force + friction * size * tangent / np.linalg.norm(tangent)
        for _ in range(60):
            contacts = plant.tick(pose, "lbr_link_6", point, force).contacts
        found.append((error(contacts, point), bool(contacts and contacts[0].identifiable)))
    return tuple(map(np.array, zip(*found, strict=True)))


def test_two_pyramids_locate_much_friction_where_the_narrow_one_fails(
    make_plant, robot, touch, random_configuration
):
    """Sliding at mu 0.8; limits for mu up to 0.3 are those of test_estimator.py."""
    narrow = from_mapping(EstimatorConfig, {"particles": {"largest_friction": 0.5}})
    parts = (make_plant, robot, touch, random_configuration, 0.8)
    errors, flags = errors_at_friction(*parts)
    narrow_errors, _ = errors_at_friction(*parts, narrow)
    assert np.median(errors) <= 0.015
    assert np.median(errors) <= 0.5 * np.median(narrow_errors)
    assert np.mean(flags & (errors > 0.1)) <= 0.05


def near_boundary(robot, rng):
    """Return a point of link 6 close to link 7, and its inward normal."""
    surface, links = surface_of_robot(robot)
    placement = new_placement(surface)
    place(surface, robot.joint_rotations, robot.joint_origins, placement)
    capsule = links.index("lbr_link_6")
    radius, half_length, _ = surface.size[capsule]
    angle = rng.uniform(0.0, 2.0 * np.pi)
    outward = np.array([np.cos(angle), np.sin(angle), 0.0])
    point = radius * outward + np.array([0.0, 0.0, half_length])
    rotation, origin = placement.rotation[capsule], placement.translation[capsule]
    return rotation @ point + origin, -rotation @ outward


@pytest.mark.parametrize("seed", range(6))
def test_a_hard_contact_elsewhere_is_found_again(make_plant, robot, touch, seed):
    """First the elbow, then 150 N near the boundary of links 6 and 7: no sticking on link 4."""
    plant = make_plant(seed=seed)
    plant.free(POSE)
    robot.update(POSE)
    elbow, push = touch(plant.rng, "lbr_link_4", force=20.0)
    for _ in range(40):
        plant.tick(POSE, "lbr_link_4", elbow, push)
    point, inward = near_boundary(robot, plant.rng)
    errors, residuals = [], []
    for _ in range(100):
        output = plant.tick(POSE, "lbr_link_6", point, 150.0 * inward)
        errors.append(error(output.contacts, point))
        residuals.append(output.residual)
    assert np.max(errors[60:]) < 0.05
    assert np.max(residuals[60:]) < 4.0


def test_a_fast_sliding_contact_is_not_taken_for_two(make_plant, robot):
    """60 N along the wrist at up to 0.4 m/s, with a standstill before: no ghost appears."""
    plant = make_plant()
    plant.free(POSE)
    robot.update(POSE)
    capsule = next(s for s in robot.collision_shapes if s.body == "lbr_link_6")
    pose = robot.link_pose("lbr_link_6") * capsule.placement
    radius, half_length, _ = capsule.shape.size
    outward = pose.rotation[:, 0]
    several = 0
    for tick in range(160):
        along = half_length * np.sin(6.0 * 0.005 * max(0, tick - 50))
        point = pose.translation + radius * outward + along * pose.rotation[:, 2]
        output = plant.tick(POSE, "lbr_link_6", point, -60.0 * outward)
        several += len(output.contacts) > 1
        assert error(output.contacts, point) < 0.05
    assert several == 0


@pytest.mark.parametrize("pair", [(4, 7), pytest.param((6, 7), marks=pytest.mark.verify)])
def test_two_contacts_at_the_same_moment_explain_the_torque_and_are_no_places(pair):
    """From the same sample on, 0.3 Nm; what one contact explains within noise is told as one."""
    trial = make_trial()
    outcomes = []
    for seed in range(5):
        settings = (Setting(f"lbr_link_{link}", 0.3) for link in pair)
        outcomes.append(run_at_once(trial, *settings, seed))
    assert max(outcome.unexplained for outcome in outcomes) <= 1.0
    assert all(outcome.honest for outcome in outcomes if outcome.contacts == 2)
    assert any(outcome.contacts == 2 for outcome in outcomes)


@pytest.mark.parametrize("ramp", [1, 100])
def test_when_the_first_of_two_ends_nothing_sure_is_told_where_nothing_touches(
    make_plant, robot, touch, random_configuration, ramp
):
    """At once, or within half a second; the second one stays."""
    both, phantoms = 0, 0
    for seed in range(1000, 1010):
        plant = make_plant(seed=seed)
        pose = random_configuration(plant.rng)
        plant.free(pose)
        robot.update(pose)
        touches = [(link, *touch(plant.rng, link)) for link in ("lbr_link_7", "lbr_link_5")]
        first, second = (robot.point_jacobian(link, at).T @ force for link, at, force in touches)
        for _ in range(80):
            plant.tick(pose, extra=first)
        for _ in range(100):
            output = plant.tick(pose, extra=first + second)
        both += sum(contact.identifiable for contact in output.contacts) == 2
        for tick in range(ramp + 100):
            output = plant.tick(pose, extra=max(0.0, 1.0 - tick / ramp) * first + second)
        sure = [contact for contact in output.contacts if contact.identifiable]
        phantoms += any(error([contact], touches[1][1]) > 0.12 for contact in sure)
    assert both >= 3
    assert phantoms == 0
