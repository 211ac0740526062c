"""Impacts at steps that hardly resolve them, and surfaces with a restitution."""

import math

import numpy as np
import pytest

from contact_core.base.errors import ConfigError
from contact_core.robot.scene_config import SolverConfig
from contact_core.robot.surface import Material, Surface, combine
from tamsi_sim import StepStatus, World
from tamsi_sim.scheme.impact import impact_loss

GRAVITY = 9.81
BALL = """<robot name="b"><link name="b"><inertial><mass value="{mass}"/>
  <inertia ixx="{i}" iyy="{i}" izz="{i}" ixy="0" ixz="0" iyz="0"/></inertial>
  <collision><geometry><sphere radius="0.05"/></geometry></collision></link></robot>"""


def _rebound(mass, height, surface, time_step=1e-3, accuracy=0.0):
    """Return the speed after an impact, relative to that before."""
    ball = BALL.format(mass=mass, i=1e-3 * mass)
    world = World(surface=surface).add_ground()
    engine = world.add("b", ball, (0, 0, 0.05 + height), free=True).build(
        time_step, accuracy=accuracy
    )
    down = math.sqrt(2 * height / GRAVITY)
    assert engine.step(math.ceil(1.02 * down / time_step)) == StepStatus.OK
    apex = 0.0
    for _ in range(math.ceil((1.1 * down + 0.05) / time_step)):
        engine.step()
        apex = max(apex, engine.q[2] - 0.05)
    return math.sqrt(apex / height)


@pytest.mark.parametrize("height", [0.3, 1.0])
@pytest.mark.parametrize("mass", [0.2, 0.5, 5.0])
def test_without_dissipation_a_ball_comes_back_at_the_default_step(mass, height):
    # Its way up is as exact as steps of 1 ms are: h t / 2 of the speed.
    assert 0.99 < _rebound(mass, height, Surface(2e4, 0.0, 0.5)) < 1.001


@pytest.mark.parametrize("restitution", [0.9, 0.6, 0.3])
def test_restitution_is_that_of_impacts_at_any_speed(restitution):
    # Stiff enough that weight plays no part.
    surface = Surface(2e5, 0.0, 0.5, restitution=restitution)
    for height in (0.1, 0.5, 2.0):
        rebound = _rebound(0.5, height, surface, accuracy=1e-4)
        assert rebound == pytest.approx(restitution, abs=0.025)
        # A fixed step takes some more.
        rebound = _rebound(0.5, height, surface, 1e-4)
        assert rebound == pytest.approx(restitution, abs=0.05)


@pytest.mark.parametrize("speed", [0.1, 0.3, 1.0])
def test_a_fixed_step_leaves_a_stated_restitution_whatever_the_speed(speed):
    height, surface = speed**2 / (2 * GRAVITY), Surface(1e5, 0.0, 0.5, restitution=0.8)
    exact = _rebound(0.05, height, surface, accuracy=1e-5)
    # h w is 1.4, where a step takes up to (h w)^2 / 12 of the speed.
    assert exact - 0.17 < _rebound(0.05, height, surface) < exact + 0.02
    exact = _rebound(0.5, height, surface, accuracy=1e-5)
    assert exact - 0.05 < _rebound(0.5, height, surface) < exact + 0.02


def test_nothing_comes_back_of_what_has_no_restitution():
    assert _rebound(0.5, 1.0, Surface(2e4, 0.0, 0.5, restitution=0.0)) < 0.02


@pytest.mark.parametrize("e", [0.05, 0.3, 0.7, 0.95])
def test_the_dissipation_of_an_impact_is_that_of_hunt_and_crossley(e):
    a = impact_loss.py_func(e)
    assert math.log((1 + a) / (1 - a * e)) == pytest.approx(a * (1 + e), rel=1e-5)


def test_a_stiff_impact_that_no_step_resolves_gains_nothing():
    for height in np.linspace(0.02, 1.0, 25):
        for stiffness in (2e6, 2e8):
            assert _rebound(0.1, height, Surface(stiffness, 0.0, 0.5)) < 1.0


def test_a_surface_without_parameters_of_its_own_keeps_it():
    a, b = Surface(1e4, 5.0, 0.5, restitution=0.2), Surface(3e4, 5.0, 0.5, restitution=1.0)
    # The softer one deforms three times as much.
    assert combine(a, b).restitution == pytest.approx(0.75 * 0.2 + 0.25 * 1.0)
    assert combine(b, b).restitution == 1.0


def test_a_restitution_out_of_range_or_with_a_law_that_forgets_is_refused():
    for wrong in (-0.1, 1.5, math.nan):
        with pytest.raises(ConfigError, match="restitution"):
            World(surface=Surface(1e4, 5.0, 0.5, restitution=wrong))
    world = World().add_ground().add("b", BALL.format(mass=1, i=1e-3), (0, 0, 0.1), free=True)
    world.set_material("ground", "b", Material(1e4, 0.0, 0.5, restitution=0.5))
    with pytest.raises(ConfigError, match="friction_law"):
        world.build(solver=SolverConfig(friction_law="linear"))
