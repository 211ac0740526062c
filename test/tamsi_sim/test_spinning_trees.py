"""Rotors, reaction wheels and tops on hinges keep energy and momentum."""

import math

import numpy as np
import pytest

from contact_core.robot.scene_config import SolverConfig
from contact_core.robot.surface import Surface
from tamsi_sim import StepStatus, World


def _inertial(mass, x, y, z, middle="0 0 0"):
    return (
        f'<inertial><origin xyz="{middle}"/><mass value="{mass}"/><inertia ixx="{x}" iyy="{y}" '
        f'izz="{z}" ixy="0" ixz="0" iyz="0"/></inertial>'
    )


def _wheel(wheel):
    """Return a free body with a wheel on a hinge."""
    return (
        f'<robot name="r"><link name="body">{_inertial(1, 0.01, 0.012, 0.015)}<collision><geometry>'
        f'<box size="0.1 0.1 0.1"/></geometry></collision></link><link name="wheel">{wheel}</link>'
        '<joint name="axle" type="continuous"><parent link="body"/><child link="wheel"/>'
        '<origin xyz="0.05 0.02 0.1"/><axis xyz="0 0 1"/></joint></robot>'
    )


ROUND = _inertial(0.2, 5e-4, 5e-4, 1e-3)
ODD = _inertial(0.2, 3e-4, 5e-4, 7e-4, "0.01 0 0")
MASS, ARM, SIDE, ALONG = 0.2, 0.05, 6e-4, 2e-4
"""Of a top in a gimbal, about its tip."""


def _gimbal():
    own = SIDE - MASS * ARM**2
    links = {
        "outer": _inertial(1e-6, 1e-10, 1e-10, 1e-10),
        "inner": _inertial(1e-6, 1e-10, 1e-10, 1e-10),
        "top": _inertial(MASS, own, own, ALONG, f"0 0 {ARM}"),
    }
    names = ["base", *links]
    joints = "".join(
        f'<joint name="{joint}" type="continuous"><parent link="{parent}"/><child link="{child}"/>'
        f'<axis xyz="{axis}"/></joint>'
        for joint, parent, child, axis in zip(
            ("turn", "tilt", "spin"), names, names[1:], ("0 0 1", "1 0 0", "0 0 1"), strict=False
        )
    )
    bodies = "".join(f'<link name="{name}">{text}</link>' for name, text in links.items())
    return f'<robot name="g"><link name="base"/>{bodies}{joints}</robot>'


@pytest.mark.parametrize("wheel, tolerance", [(ROUND, 1e-6), (ODD, 5e-3)])
@pytest.mark.parametrize("spin", [60.0, 100.0, 1000.0])
def test_a_wheel_gives_a_free_body_no_energy(wheel, tolerance, spin):
    engine = World((0, 0, 0)).add("r", _wheel(wheel), free=True).build()
    engine.v[3:6], engine.v[6] = (0.3, 0.2, 0.1), spin
    start, momentum = engine.observer.energy().total, None
    for _ in range(10):
        assert engine.step(500) == StepStatus.OK
        assert engine.observer.energy().total == pytest.approx(start, rel=tolerance)
        engine.evaluate()
        found = (engine.observer.mass_matrix() @ engine.v)[:6]
        momentum = found if momentum is None else momentum
    # The linear one is about no point.
    np.testing.assert_allclose(found[:3], momentum[:3], atol=0.04)


@pytest.mark.parametrize("spin", [100.0, 400.0])
def test_a_top_in_a_gimbal_precesses_steadily(spin):
    tilt = 0.5
    along = ALONG * spin
    rate = (along - math.sqrt(along**2 - 4 * SIDE * math.cos(tilt) * MASS * 9.81 * ARM)) / (
        2 * SIDE * math.cos(tilt)
    )
    engine = World().add("g", _gimbal(), positions={"tilt": tilt}).build()
    engine.v[:] = rate, 0.0, spin - rate * math.cos(tilt)
    start = engine.observer.energy().total
    assert engine.step(2000) == StepStatus.OK
    assert engine.q[0] == pytest.approx(2.0 * rate, rel=0.02)
    assert engine.q[1] == pytest.approx(tilt, abs=0.01)
    assert engine.observer.energy().total == pytest.approx(start, rel=1e-3)


def test_what_spins_can_hit_and_be_driven():
    world = World(surface=Surface(1e5, 1.0, 0.5)).add_ground()
    engine = world.add("r", _wheel(ROUND), (0, 0, 0.2), free=True).build()
    engine.v[6] = 300.0
    energy = engine.observer.energy().total
    for _ in range(20):
        assert engine.step(100) == StepStatus.OK
        now = engine.observer.energy().total
        assert now < energy * (1 + 1e-3)
        energy = now
    engine.applied[6] = -0.05
    spin = engine.v[6]
    assert engine.step(500) == StepStatus.OK
    assert engine.v[6] < spin - 10.0


def test_explicit_terms_can_still_be_chosen_and_gain():
    engine = (
        World((0, 0, 0))
        .add("r", _wheel(ROUND), free=True)
        .build(solver=SolverConfig(gyroscopic_terms="explicit"))
    )
    engine.v[3:6], engine.v[6] = (0.3, 0.2, 0.1), 1000.0
    start = engine.observer.energy().total
    engine.step(3000)
    assert engine.observer.energy().total > 1.1 * start
