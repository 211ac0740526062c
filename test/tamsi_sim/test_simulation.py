"""Selections borrowed from a simulation: right values, nothing freed or kept; phases."""

import gc
import sys
import weakref

import numpy as np
from builders import GRAVITY, body_urdf, sphere

from contact_core.base.kernel import inner_kernel, kernel
from contact_core.robot.scene import Instance
from contact_core.robot.scene_config import SolverConfig
from contact_core.robot.surface import Surface
from tamsi_sim.arrays.settings import scheme_settings
from tamsi_sim.arrays.simulation import make_simulation
from tamsi_sim.arrays.workspace import make_work, usual_room
from tamsi_sim.scheme.stepper import evaluate, evaluate_now
from tamsi_sim.simulation.model import build_model


@inner_kernel
def _add(simulation):
    state, drives = simulation.state, simulation.drives
    for i in range(state.v.shape[0]):
        state.v[i] += simulation.settings.time_step * drives.applied[i]
    return state.v[0]


@kernel
def add(simulation):
    return _add(simulation)


@kernel
def count_contacts(simulation):
    return evaluate(simulation)


def simulation_of_a_ball():
    ball = Instance("ball", body_urdf("ball", sphere(0.1)), free=True, gravity=GRAVITY)
    built = build_model([ball], lambda *_: Surface(1e4, 5.0, 0.5), lambda *_: True)
    work = make_work(built.arrays, len(built.q), usual_room(built.arrays, 1), 20)
    work.state.q[:] = built.q
    return work, make_simulation(built.arrays, work, scheme_settings(SolverConfig(), 0.5))


def test_selections_are_those_of_the_simulation_and_are_shared():
    work, simulation = simulation_of_a_ball()
    work.drives.applied[:] = np.arange(1.0, 7.0)
    assert add(simulation) == 0.5
    assert add(simulation) == 1.0
    np.testing.assert_array_equal(work.state.v, work.drives.applied)


def test_calls_neither_keep_nor_free_anything():
    work, simulation = simulation_of_a_ball()
    work.drives.applied[:] = 2.0
    v = work.state.v
    add(simulation)
    before = sys.getrefcount(v)
    for _ in range(1000):
        add(simulation)
    assert sys.getrefcount(v) == before
    assert v[0] == 1001.0
    alive = weakref.ref(v)
    del work, v
    gc.collect()
    assert alive() is not None  # the simulation holds it
    del simulation
    gc.collect()
    assert alive() is None


def test_a_phase_is_the_same_from_every_kernel():
    work, simulation = simulation_of_a_ball()
    assert count_contacts(simulation) == evaluate_now(simulation) == 0
    np.testing.assert_array_equal(np.diag(work.dynamics.mass_matrix[:3]), 1.0)
