"""MuJoCo is made as soft as we are."""

import numpy as np
import pytest

from contact_experiments.tamsi.benchmark.compliance import ContactAgreement, fit_time_constant
from contact_experiments.tamsi.benchmark.runners import MUJOCO, RUNNERS, MujocoRunner, our_depths


def test_what_does_not_touch_does_not_count():
    found = ContactAgreement.of([np.array([1e-3, 3e-3, -1.0]), np.array([2e-3]), np.zeros(0)])
    assert found.depth == 2e-3
    assert found.count == pytest.approx(1.0)
    assert ContactAgreement.of([]) == ContactAgreement(0.0, 0.0)


def test_the_depth_is_found_that_is_ours():
    """A law of depth like MuJoCo's, which grows with the square of the time constant."""
    target = ContactAgreement(2e-4, 8.0)
    fit = fit_time_constant(target, lambda tau: ContactAgreement(9.81 * tau**2 / 8.0, 8.0), 1e-3)
    assert fit.contacts.depth == pytest.approx(2e-4, rel=0.02)
    assert fit.equal


def test_contacts_that_cannot_be_as_stiff_are_the_stiffest():
    fit = fit_time_constant(
        ContactAgreement(1e-6, 8.0), lambda tau: ContactAgreement(tau, 8.0), 1e-3
    )
    assert fit.time_constant == 2e-3
    assert not fit.equal


def test_blocks_rest_as_deep_on_both(short):
    pytest.importorskip("mujoco")
    scene = short("towers_8", 600)
    runner = RUNNERS[MUJOCO](scene)
    assert runner.depths().depth == pytest.approx(our_depths(scene).depth, rel=0.2)
    assert MujocoRunner(scene).depths().depth != pytest.approx(our_depths(scene).depth, rel=0.2)
