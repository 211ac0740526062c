"""Closed-loop pushing: where the model is wrong, what is seen is noisy, and somebody kicks."""

import dataclasses
import runpy

import numpy as np
import pytest

from contact_core.errors import ConfigError
from irs_planner import (
    ClosedLoop,
    ClosedLoopSettings,
    Phase,
    PlanarQuasiDynamics,
    SearchSettings,
    build_problem,
    closed_loop,
    load_example,
    plan_globally,
)
from irs_planner.examples import load_scene

NOISE = np.array([0.001, 0.001, 0.01, 0.0, 0.0])
LOOKS = 600


def world(mass, inertia, friction):
    """Return the T's dynamics with another T."""
    scene = load_scene("push_t")
    (tee,) = scene.objects
    other = dataclasses.replace(
        tee, mass=mass * tee.mass, inertia=inertia * tee.inertia, friction=friction * tee.friction
    )
    return PlanarQuasiDynamics(dataclasses.replace(scene, objects=(other,)), 0.1)


def carried_out(seed, kick=None):
    """Push the T to its goal; return its true states look by look, and the planner."""
    problem = build_problem(load_example("push_t"))
    draw = np.random.default_rng(seed)
    true = world(*draw.uniform(0.7, 1.3, size=3))
    loop, state, command = ClosedLoop(problem), problem.initial_state, problem.initial_state[3:]
    states = [state]
    for look in range(LOOKS):
        command = loop.step(state + NOISE * draw.standard_normal(5), command)
        state = true.step(state, command)
        if look == 60 and kick is not None:
            state = state + kick
        states.append(state)
        if loop.phase is Phase.REST:
            break
    return problem, np.array(states), loop


def test_contact_that_pushes_nothing_is_carried_out_before_the_first_push(monkeypatch):
    """A plan may begin by letting go, which counts as contact."""
    problem = build_problem(load_example("push_t"))
    plan = plan_globally(problem, SearchSettings(shortcuts=0, refinements=0))
    first, then = plan.segments[:2]
    assert (first.kind, then.kind) == ("transit", "contact")
    release = dataclasses.replace(first, kind="contact")
    begun = dataclasses.replace(plan, segments=(release, *plan.segments[1:]))
    monkeypatch.setattr(closed_loop, "plan_globally", lambda *_, **__: begun)
    loop, state, command = ClosedLoop(problem), problem.initial_state, problem.initial_state[3:]
    while loop.searches == 0:
        command = loop.step(state, command)
    for _ in range(5):
        command = loop.step(state, command)
        state = problem.dynamics.step(state, command)
    assert loop.searches == 1
    assert loop.phase is Phase.TRANSIT
    way = plan.states[first.stop, 3:] - problem.initial_state[3:]
    assert (state[3:] - problem.initial_state[3:]) @ way > 0.0


@pytest.mark.parametrize(
    "seed", [0, *(pytest.param(seed, marks=pytest.mark.verify) for seed in range(1, 20))]
)
@pytest.mark.parametrize("kick", [None, np.array([0.07, -0.07, -0.8, 0.0, 0.0])])
def test_it_arrives_though_the_t_is_another_one_and_is_kicked(seed, kick):
    problem, states, loop = carried_out(seed, kick)
    assert loop.phase is Phase.REST
    error = np.abs(states[-1] - problem.goal)[:3]
    assert (error < [0.015, 0.015, 0.08]).all()
    # The finger goes round: it pushes the T and does not run into it.
    assert loop.searches >= 1


def test_the_example_ends_at_rest(capsys):
    runpy.run_path("examples/irs_planner/05_push_in_closed_loop.py")
    said = capsys.readouterr().out
    assert said.startswith("at rest after")
    assert float(said.split("off by ")[1].split()[0]) < 15.0


def test_the_same_looks_give_the_same_inputs():
    first, second = (carried_out(3)[1] for _ in range(2))
    np.testing.assert_array_equal(first, second)


def test_a_push_that_moves_nothing_ends():
    """The T is screwed to the table."""
    problem = build_problem(load_example("push_t"))
    loop, state = ClosedLoop(problem), problem.initial_state.copy()
    command, phases = state[3:], []
    for _ in range(400):
        command = loop.step(state, command)
        state[3:] = command
        phases.append(loop.phase)
    assert Phase.PUSH in phases
    assert loop.searches > 1
    assert phases[-1] is not Phase.REST


def test_a_robot_that_is_held_on_its_way_looks_for_another_one():
    problem = build_problem(load_example("push_t"))
    loop, state = ClosedLoop(problem), problem.initial_state
    command, begun = state[3:], []
    for look in range(200):
        searches = loop.searches
        command = loop.step(state, command)
        if loop.searches > searches and loop.phase is Phase.TRANSIT:
            begun.append(look)
    # At the latest after that a way, or a push, that leads nowhere is given up.
    assert len(begun) >= 4
    assert np.diff(begun).max() <= 2 * ClosedLoopSettings().stall + 4


def test_what_has_no_contact_is_refused():
    with pytest.raises(ConfigError, match="quasi-dynamic scene, got Pendulum"):
        ClosedLoop(build_problem(load_example("pendulum")))
