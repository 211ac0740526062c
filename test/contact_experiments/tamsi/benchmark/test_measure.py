"""Ours and the peers on the same scene: they agree, or it is an error."""

import pytest

from contact_core.base.errors import ContactStackError
from contact_core.robot.scene_config import SolverConfig
from contact_experiments.tamsi.benchmark.measure import AgreementError, measure
from contact_experiments.tamsi.benchmark.runners import (
    DRAKE_TAMSI,
    OURS,
    PARITY_RUN,
    RUNNERS,
    OurRunner,
    PeerError,
)
from contact_experiments.tamsi.benchmark.scenes import GROWTH, SCENES
from tamsi_sim.drake.parity import PARITY

TWINS = (OURS, PARITY_RUN, DRAKE_TAMSI)


@pytest.mark.parametrize(
    ("name", "steps", "nv"),
    [
        ("gripper_soft", 300, 8),
        ("gripper_stiff", 300, 8),
        ("arm_mug", 300, 15),
        ("allegro", 1500, 22),
        ("towers_8", 60, 48),
        ("islands_32", 4, 192),
    ],
)
def test_velocities_are_those_of_drakes_tamsi(short, name, steps, nv):
    """Parity settings: to rounding, contacts included, whatever drives the joints."""
    result = measure(short(name, steps), 1, TWINS)
    assert result.nv == nv
    assert result.velocity_error < 1e-9
    assert result.contacts[PARITY_RUN] > 1.0


@pytest.mark.verify
@pytest.mark.parametrize("name", [*SCENES, *GROWTH])
def test_velocities_are_those_of_drakes_tamsi_to_the_end(scene_of, name):
    scene = scene_of(name)
    if DRAKE_TAMSI in scene.left_out:
        pytest.skip(scene.left_out[DRAKE_TAMSI])
    assert measure(scene, 1, TWINS).velocity_error < 1e-9


def test_a_run_that_ends_elsewhere_is_an_error(short, monkeypatch):
    """The paper's law of friction instead of Drake's, and a mug that moves by itself."""
    monkeypatch.setitem(RUNNERS, PARITY_RUN, RUNNERS[OURS])
    with pytest.raises(AgreementError, match="gripper_stiff: in parity settings"):
        measure(short("gripper_stiff", 100), 1, TWINS)

    class Moved(OurRunner):
        def state(self):
            q, v = super().state()
            return q + 0.1, v

    monkeypatch.setitem(RUNNERS, PARITY_RUN, lambda scene: OurRunner(scene, PARITY))
    monkeypatch.setitem(RUNNERS, OURS, lambda scene: Moved(scene, SolverConfig()))
    with pytest.raises(AgreementError, match="positions"):
        measure(short("gripper_stiff", 100), 1, TWINS)


def test_a_peer_that_is_missing_or_gives_up_is_among_the_figures(short, monkeypatch):
    class GivesUp(OurRunner):
        def run(self):
            raise PeerError("Drake gave up")

    def absent(scene):
        raise PeerError("MuJoCo is not installed")

    monkeypatch.setitem(RUNNERS, "drake_ksap", lambda scene: GivesUp(scene, PARITY))
    monkeypatch.setitem(RUNNERS, "mujoco", absent)
    monkeypatch.delitem(RUNNERS, "mujoco_default")
    rounds = []
    result = measure(
        short("gripper_stiff", 20), 2, tuple(RUNNERS), on_round=lambda: rounds.append(1)
    )
    assert result.missing == {"drake_ksap": "Drake gave up", "mujoco": "MuJoCo is not installed"}
    assert len(rounds) == 3
    assert len(result.microseconds[OURS]) == 2
    assert result.cost("mujoco") is None
    assert result.ratios("drake_ksap") is None
    assert (result.ratios(DRAKE_TAMSI) > 0.0).all()


def test_a_step_of_ours_that_fails_is_an_error(short, monkeypatch):
    hopeless = SolverConfig(max_iterations=1, max_substeps=1)
    monkeypatch.setitem(RUNNERS, OURS, lambda scene: OurRunner(scene, hopeless))
    with pytest.raises(ContactStackError, match="gripper_stiff: Newton"):
        measure(short("gripper_stiff", 100), 1)
