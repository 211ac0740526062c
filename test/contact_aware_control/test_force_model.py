"""Contact set (4c), force prediction and adaptive damping (28)-(29)."""

import math

import numpy as np
import pytest

from contact_aware_control.config import DampingConfig, ForceConfig
from contact_aware_control.controllers import quasistatic
from contact_aware_control.controllers.contact_selection import (
    ContactSelection,
    ContactSet,
    ForceMemory,
)
from contact_aware_control.controllers.qp_controller import adapted_damping
from contact_aware_control.controllers.quasistatic import (
    MAX_EXCESS,
    ForcePrediction,
    QuasistaticModel,
)

K = np.array([800.0, 600.0, 600.0, 600.0, 400.0, 200.0, 200.0])
PERIOD = 0.005
UP = np.array([0.0, 0.0, 1.0])
POINT = np.array([0.55, 0.0, 0.45])
Q_UP = np.zeros(7)


class ConstantDamping:
    """The same for all joints, everywhere."""

    def time(self, q):
        return np.full(7, 0.1)


DAMPING = ConstantDamping()


class RememberedContacts:
    """A selection of contacts together with what is remembered of them."""

    def __init__(self, selection):
        self.selection = selection
        self.set = ContactSet()

    def update(self, estimates, limits):
        self.set = self.selection.update(self.set, estimates, limits)

    def keep(self):
        self.set = self.selection.keep(self.set)

    def predict(self, prediction, model, q, command, blind=False):
        force, self.set = prediction.predict(model, self.set, q, command, blind)
        return force

    @property
    def biases(self):
        return [memory.bias for memory in self.set.memories]

    def __getattr__(self, name):
        return getattr(self.set, name)


@pytest.fixture
def contacts(robot):
    return RememberedContacts(ContactSelection(robot, K, ForceConfig(), PERIOD))


def test_row_is_the_velocity_along_the_force(robot, contacts, contact):
    """(4c): row u^T J_C; checked by finite differences of a point on the link."""
    force = np.array([3.0, -2.0, 12.0])
    contacts.update([contact(force, POINT)], {})
    row = contacts.jacobian(7)[0]
    q = np.array([0.1, 0.6, -0.1, -1.5, 0.1, 1.0, 0.0])
    robot.update(q)
    on_link = robot.link_pose("lbr_link_6").actInv(POINT)
    for joint in range(7):
        moved = []
        for step in (-1e-6, 1e-6):
            robot.update(q + step * np.eye(7)[joint])
            moved.append(robot.link_pose("lbr_link_6").act(on_link))
        velocity = (moved[1] - moved[0]) / 2e-6
        assert row[joint] == pytest.approx(velocity @ force / np.linalg.norm(force), abs=1e-8)


def test_joint_torque_of_the_row_is_that_of_the_force(robot, contacts, contact):
    force = np.array([3.0, -2.0, 12.0])
    contacts.update([contact(force, POINT)], {})
    torque = contacts.jacobian(7).T @ contacts.forces
    np.testing.assert_allclose(torque, robot.point_jacobian("lbr_link_6", POINT).T @ force)


def test_threshold_has_a_hysteresis(contacts, contact):
    active = []
    for force in (4.9, 5.1, 2.1, 1.9, 4.9):
        contacts.update([contact(force * UP, POINT)], {})
        active.append(len(contacts.active))
    assert active == [0, 1, 1, 0, 0]


def test_contact_keeps_its_bias_while_its_direction_drifts(contacts, contact):
    contacts.update([contact(10.0 * UP, POINT)], {})
    contacts.set = contacts.set._replace(memories=(ForceMemory(bias=3.0),))
    before = contacts.active[0].row
    contacts.update([contact([2.0, 1.0, 9.0], POINT + 0.01, link="lbr_link_7")], {})
    assert contacts.active[0].link == "lbr_link_7"
    # What is kept is the torque of the springs.
    lengths = [np.linalg.norm(row / np.sqrt(K)) for row in (before, contacts.active[0].row)]
    assert contacts.biases[0] == pytest.approx(3.0 * lengths[0] / lengths[1])


def test_a_place_that_is_found_is_no_motion_of_what_is_touched(robot, contacts, contact):
    """Torque alone had stood for 30 N; at its place it is 12 N, and nothing has moved."""
    prediction = ForcePrediction(ForceConfig(), PERIOD, DAMPING)
    force = 12.0 * UP
    torque = robot.torque_of_force("lbr_link_6", POINT, force)
    for _ in range(40):
        unlocated = contacts.selection.unlocated(torque, 30.0, "lbr_link_4", 15.0)
        contacts.set = contacts.selection.update(contacts.set, [], {}, unlocated)
        contacts.predict(prediction, QuasistaticModel.at(K, contacts.jacobian(7)), Q_UP, Q_UP)
    learnt = contacts.biases[0]
    contacts.update([contact(force, POINT)], {})
    contacts.predict(prediction, QuasistaticModel.at(K, contacts.jacobian(7)), Q_UP, Q_UP)
    (memory,) = contacts.set.memories
    assert memory.rate == pytest.approx(0.0, abs=1.0)
    assert memory.bias == pytest.approx(learnt * 12.0 / 30.0, rel=0.1)


def test_opposite_contact_is_another_contact(contacts, contact):
    contacts.update([contact(10.0 * UP, POINT)], {})
    contacts.set = contacts.set._replace(memories=(ForceMemory(bias=3.0),))
    contacts.update([contact(-10.0 * UP, POINT)], {})
    assert contacts.biases[0] == 0.0


def test_contacts_that_torques_cannot_tell_apart_are_merged(contacts, contact):
    near = [contact(6.0 * UP, POINT), contact(8.0 * UP, POINT + 0.002 * np.eye(3)[0])]
    contacts.update(near, {})
    assert len(contacts.active) == 1
    assert contacts.active[0].force == pytest.approx(14.0)
    contacts.set = ContactSet()
    contacts.update([near[0], contact([0.0, 8.0, 0.0], POINT)], {})
    assert len(contacts.active) == 2


def test_merged_contacts_exert_the_torque_of_both(robot, contacts, contact):
    near = [contact(6.0 * UP, POINT), contact(8.0 * UP, POINT + 0.002 * np.eye(3)[0])]
    contacts.update(near, {})
    torque = sum(robot.point_jacobian(c.link, c.point_world).T @ c.force_world for c in near)
    np.testing.assert_allclose(contacts.jacobian(7).T @ contacts.forces, torque, atol=1e-12)


def test_planned_contact_overrides_the_limit_of_its_link(contacts, contact):
    contacts.update(
        [contact(10.0 * UP, POINT), contact([0.0, 8.0, 0.0], POINT, link="lbr_link_7")],
        {"lbr_link_7": 40.0},
    )
    assert {c.link: c.limit for c in contacts.active} == {"lbr_link_6": 15.0, "lbr_link_7": 40.0}


def test_lost_contact_is_remembered_then_forgotten(contacts, contact):
    contacts.update([contact(10.0 * UP, POINT)], {})
    contacts.update([], {})
    assert [c.link for c in contacts.lost] == ["lbr_link_6"]
    for _ in range(int(ForceConfig().memory / PERIOD) + 1):
        contacts.update([], {})
    assert contacts.lost == ()


def test_touching_again_ends_the_memory(contacts, contact):
    contacts.update([contact(10.0 * UP, POINT)], {})
    contacts.update([], {})
    contacts.update([contact(10.0 * UP, POINT)], {})
    assert contacts.lost == ()
    assert len(contacts.active) == 1


def test_kept_contact_follows_the_arm(robot, contacts, contact):
    """Without new estimates the row is that of the old point at the new configuration."""
    contacts.update([contact(10.0 * UP, POINT)], {})
    robot.update(np.full(7, 0.3))
    contacts.keep()
    np.testing.assert_allclose(
        contacts.jacobian(7)[0], UP @ robot.point_jacobian("lbr_link_6", POINT)
    )


def test_prediction_converges_to_the_measured_force(contacts, contact):
    """A constant model error is learned with the time constant of the low-pass."""
    prediction = ForcePrediction(ForceConfig(), PERIOD, DAMPING)
    q = np.zeros(7)
    contacts.update([contact(12.0 * UP, POINT)], {})
    model = QuasistaticModel.at(K, contacts.jacobian(7))
    history = [contacts.predict(prediction, model, q, q)[0] for _ in range(round(0.1 / PERIOD))]
    assert history[0] < 1.0
    assert history[-1] == pytest.approx(12.0 * (1.0 - math.exp(-1.0)), rel=1e-6)


def test_prediction_follows_the_command_at_once(contacts, contact, monkeypatch):
    """A step of the command shows in the prediction in the same tick, by (9a)."""
    monkeypatch.setattr(quasistatic, "BIAS_TIME", 10.0)
    prediction = ForcePrediction(ForceConfig(lag=0.0), PERIOD, DAMPING)
    contacts.update([contact(10.0 * UP, POINT)], {})
    model = QuasistaticModel.at(K, contacts.jacobian(7))
    step = 1e-3 * np.ones(7)
    before = contacts.predict(prediction, model, np.zeros(7), np.zeros(7))
    after = contacts.predict(prediction, model, np.zeros(7), step)
    np.testing.assert_allclose(after - before, -model.force_map @ step, rtol=0.02)


def test_old_forces_do_not_change_the_bias(contacts, contact):
    prediction = ForcePrediction(ForceConfig(), PERIOD, DAMPING)
    contacts.update([contact(10.0 * UP, POINT)], {})
    contacts.keep()
    model = QuasistaticModel.at(K, contacts.jacobian(7))
    contacts.predict(prediction, model, np.zeros(7), np.zeros(7), blind=True)
    assert contacts.biases[0] == 0.0


@pytest.mark.parametrize("blind", [False, True], ids=["doubtful", "not measured"])
def test_doubtful_force_counts_if_it_is_worse_than_the_modelled_one(contacts, contact, blind):
    """And one that was measured once does not."""
    prediction = ForcePrediction(ForceConfig(), PERIOD, DAMPING)
    contacts.update([contact(10.0 * UP, POINT, identifiable=False)], {})
    if blind:
        contacts.keep()
    model = QuasistaticModel.at(K, contacts.jacobian(7))
    force = contacts.predict(prediction, model, np.zeros(7), np.zeros(7), blind)
    assert force == [0.0 if blind else 10.0]
    contacts.set = contacts.set._replace(position=None)  # It does not move there.
    pressed = 20.0 * model.deflection[:, 0]
    predicted = contacts.predict(prediction, model, pressed, np.zeros(7), blind)
    assert predicted[0] == pytest.approx(20.0)
    assert contacts.active[0].force == pytest.approx(20.0 if blind else 10.0)


def test_forces_at_an_unknown_place_do_not_change_the_bias(contacts, contact):
    prediction = ForcePrediction(ForceConfig(), PERIOD, DAMPING)
    contacts.update([contact(300.0 * UP, POINT, identifiable=False)], {})
    model = QuasistaticModel.at(K, contacts.jacobian(7))
    contacts.predict(prediction, model, np.zeros(7), np.zeros(7))
    assert contacts.biases[0] == 0.0


def test_one_absurd_force_changes_the_bias_by_a_bounded_amount(contacts, contact):
    prediction = ForcePrediction(ForceConfig(), PERIOD, DAMPING)
    contacts.update([contact(1e6 * UP, POINT)], {})
    model = QuasistaticModel.at(K, contacts.jacobian(7))
    contacts.predict(prediction, model, np.zeros(7), np.zeros(7))
    assert contacts.biases[0] <= MAX_EXCESS * 15.0 * PERIOD / 0.1


def test_rate_is_the_velocity_of_what_is_touched(contacts, contact, monkeypatch):
    """A ball pushes at 0.1 m/s: the arm goes along, or the surfaces give way, in any shares."""
    monkeypatch.setattr(quasistatic, "MOTION_TIME", 1e-6)
    prediction = ForcePrediction(ForceConfig(), PERIOD, DAMPING)
    for share in (0.0, 0.4, 1.0):
        contacts.set = ContactSet()
        q, force = np.zeros(7), 8.0
        for _ in range(3):
            contacts.update([contact(force * UP, POINT)], {})
            model = QuasistaticModel.at(K, contacts.jacobian(7))
            contacts.predict(prediction, model, q, np.zeros(7))
            moved = 0.1 * PERIOD * share
            q = q + model.deflection[:, 0] * moved / model.compliance[0, 0]
            force += 0.1 * PERIOD * (1.0 - share) / ForceConfig().surface_compliance
        rate = contacts.set.memories[0].rate
        assert rate == pytest.approx(0.1 / model.compliance[0, 0], rel=1e-3)


def test_torque_bounds_a_contact_without_a_place(robot, contacts, contact):
    """One contact: J^T u lam = tau_ext, so the torque over the force is its row."""
    estimate = contact([3.0, -2.0, 12.0], POINT)
    torque = robot.torque_of_force(estimate.link, POINT, estimate.force_world)
    force = float(np.linalg.norm(estimate.force_world))
    made = contacts.selection.unlocated(torque, force, "lbr_link_6", 15.0)
    contacts.update([estimate], {})
    np.testing.assert_allclose(made.row, contacts.active[0].row, atol=1e-12)
    np.testing.assert_allclose(made.heading, contacts.active[0].heading, atol=1e-12)


def test_damping_is_small_for_good_and_large_for_bad_predictions():
    """The limits the paper states for (28): 0 for no error, 1 for a large one."""
    config = DampingConfig(alpha=1.0)
    weight = adapted_damping(config, 0.0, [(10.0, 10.0)])
    assert weight == 0.0
    assert adapted_damping(config, weight, [(10.0, 40.0)]) == pytest.approx(config.weight_max)


def test_damping_is_low_passed_and_bounded():
    """(29): w grows by alpha w_max delta per tick, never beyond w_max, and decays."""
    config = DampingConfig(alpha=0.1, weight_max=4.0)
    weight = adapted_damping(config, 0.0, [(0.0, 100.0)])
    assert weight == pytest.approx(0.4)
    for _ in range(300):
        weight = adapted_damping(config, weight, [(0.0, 100.0)])
    assert weight == pytest.approx(4.0)
    assert adapted_damping(config, weight, []) == pytest.approx(3.6)
