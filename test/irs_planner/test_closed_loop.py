"""Closed-loop pushing: where the model is wrong, what is seen is noisy, and somebody kicks."""

import dataclasses
import runpy

import numpy as np
import pytest

from contact_core.base.errors import ConfigError
from contact_core.base.planning import PlanStatus
from irs_planner import (
    ClosedLoop,
    Phase,
    PlanarQuasiDynamics,
    SearchSettings,
    build_problem,
    closed_loop,
    load_example,
)
from irs_planner.examples import load_scene
from irs_planner.feasibility import Impossibility
from irs_planner.search import search_globally
from irs_planner.search.grasps import draw_grasps
from irs_planner.search.parts import at_once
from irs_planner.search.push import push
from irs_planner.search.search_model import SearchModel

NOISE = np.array([0.001, 0.001, 0.01, 0.0, 0.0])
LOOKS = 600
"""At which the robot moves, or might; those of a search come on top."""
AT_ONCE = 10**6
"""Parts that are all of a search."""


def world(mass, inertia, friction):
    """Return the T's dynamics with another T."""
    scene = load_scene("push_t")
    (tee,) = scene.objects
    other = dataclasses.replace(
        tee, mass=mass * tee.mass, inertia=inertia * tee.inertia, friction=friction * tee.friction
    )
    return PlanarQuasiDynamics(dataclasses.replace(scene, objects=(other,)), 0.1)


def carried_out(seed, kick=None, looks=LOOKS):
    """Push the T to its goal; return its true states look by look, and the planner."""
    problem = build_problem(load_example("push_t"))
    draw = np.random.default_rng(seed)
    true = world(*draw.uniform(0.7, 1.3, size=3))
    loop, state, command = ClosedLoop(problem), problem.initial_state, problem.initial_state[3:]
    states, searching = [state], 0
    while (look := len(states) - 1) - searching < looks:
        command = loop.step(state + NOISE * draw.standard_normal(5), command)
        state = true.step(state, command)
        if look == 60 and kick is not None:
            state = state + kick
        states.append(state)
        searching += loop.phase is Phase.SEARCH
        if loop.phase is Phase.REST:
            break
    return problem, np.array(states), loop


@pytest.mark.parametrize("kick", [0.0, 0.03])
def test_a_trusted_push_ends_where_the_plan_has_it_or_is_planned_anew(kick):
    problem = build_problem(load_example("push_t"))
    _, motions = at_once(search_globally(problem, SearchSettings(shortening=0.0, refinements=0)))
    first = next(k for k, (kind, motion) in enumerate(motions) if kind == "contact" and k > 1)
    (begin, *_, end), (command, *_) = motions[first][1].states, motions[first][1].inputs
    problem = dataclasses.replace(problem, initial_state=begin)
    loop = ClosedLoop(problem, plan=motions[first:], trust=1.0)
    state, pushed = begin, 0
    while loop.phase in (Phase.PUSH, Phase.TRANSIT) and not loop.searches:
        command = loop.decide(state, command)
        if loop.phase is not Phase.PUSH:
            break
        state, pushed = problem.dynamics.step(state, command), pushed + 1
        state[0] += kick * (pushed == 2)
    if kick:
        assert (pushed, loop.phase) == (2, Phase.SEARCH)
    else:
        assert pushed == len(motions[first][1].inputs)
        np.testing.assert_allclose(state, end, atol=1e-9)


def test_contact_that_pushes_nothing_is_carried_out_before_the_first_push(monkeypatch):
    """A plan may begin by letting go, which counts as contact."""
    problem = build_problem(load_example("push_t"))
    settings = SearchSettings(shortening=0.0, refinements=0)
    status, motions = at_once(search_globally(problem, settings))
    assert [kind for kind, _ in motions[:2]] == ["transit", "contact"]
    release = motions[0][1]

    def search_again(*_, **__):
        yield
        return status, [("contact", release), *motions[1:]]

    monkeypatch.setattr(closed_loop, "search_leg", search_again)
    loop, state, command = ClosedLoop(problem), problem.initial_state, problem.initial_state[3:]
    while loop.searches == 0:
        command = loop.step(state, command)
    for _ in range(5):
        command = loop.step(state, command)
        state = problem.dynamics.step(state, command)
    assert loop.searches == 1
    assert loop.phase is Phase.TRANSIT
    way = release.states[-1, 3:] - problem.initial_state[3:]
    assert (state[3:] - problem.initial_state[3:]) @ way > 0.0


@pytest.mark.parametrize(
    "seed", [0, *(pytest.param(seed, marks=pytest.mark.verify) for seed in range(1, 20))]
)
@pytest.mark.parametrize(
    "kick",
    [
        pytest.param(None, marks=pytest.mark.verify),
        np.array([0.07, -0.07, -0.8, 0.0, 0.0]),
    ],
)
def test_it_arrives_though_the_t_is_another_one_and_is_kicked(seed, kick):
    problem, states, loop = carried_out(seed, kick)
    assert loop.phase is Phase.REST
    error = np.abs(states[-1] - problem.goal)[:3]
    assert (error < [0.015, 0.015, 0.08]).all()
    # The finger goes round: it pushes the T and does not run into it.
    assert loop.searches >= 1


@pytest.mark.verify
def test_the_example_ends_at_rest(capsys):
    runpy.run_path("examples/irs_planner/05_push_in_closed_loop.py")
    said = capsys.readouterr().out
    assert said.startswith("at rest after")
    assert float(said.split("off by ")[1].split()[0]) < 15.0


def test_the_same_looks_give_the_same_inputs():
    first, second = (carried_out(0, looks=120)[1] for _ in range(2))
    assert np.abs(first[-1] - first[0])[:3].max() > 0.01  # it has pushed
    np.testing.assert_array_equal(first, second)


def test_a_push_that_moves_nothing_ends():
    """The T is screwed to the table."""
    problem = build_problem(load_example("push_t"))
    loop, state = ClosedLoop(problem), problem.initial_state.copy()
    command, phases = state[3:], []
    for _ in range(200):
        command = loop.step(state, command)
        state[3:] = command
        phases.append(loop.phase)
    assert Phase.PUSH in phases
    assert loop.searches > 1
    assert phases[-1] is not Phase.REST


def test_a_robot_that_is_held_on_its_way_looks_for_another_one():
    problem = build_problem(load_example("push_t"))
    loop, state = ClosedLoop(problem, parts=AT_ONCE), problem.initial_state
    command, begun = state[3:], []
    for look in range(200):
        searches = loop.searches
        command = loop.step(state, command)
        if loop.searches > searches and loop.phase is Phase.TRANSIT:
            begun.append(look)
    # At the latest after that a way, or a push, that leads nowhere is given up.
    assert len(begun) >= 4
    assert np.diff(begun).max() <= 2 * closed_loop.MAX_STALLED + 4


def test_a_robot_that_lags_behind_is_not_waited_for_on_its_way():
    problem = build_problem(load_example("push_t"))
    search = SearchSettings(seed=1, refinements=0)
    loop, state = ClosedLoop(problem, search, AT_ONCE), problem.initial_state
    command, way = state[3:], []
    while loop.phase is not Phase.TRANSIT:
        command = loop.step(state, command)
    while loop.phase is Phase.TRANSIT:
        way.append(command)
        state = np.concatenate((state[:3], 0.5 * (state[3:] + command)))
        command = loop.step(state, command)
    assert len(way) > 20
    # But at its end, where it begins to push.
    assert np.abs(np.diff(way[:-5], axis=0)).max(axis=1).min() > 0.0
    step = problem.bounds.increment
    assert np.abs((way[-1] - state[3:]) / step).max() < closed_loop.NEAR


@pytest.mark.parametrize(("shift", "searches"), [(0.5, 1), (1.5, 2)])
def test_a_plan_is_gone_on_with_where_things_are_as_planned(monkeypatch, shift, searches):
    problem = build_problem(load_example("push_t"))
    settings = SearchSettings(shortening=0.0, refinements=0)
    status, motions = at_once(search_globally(problem, settings))
    kinds = [kind for kind, _ in motions]
    assert kinds[:4] == ["transit", "contact", "transit", "contact"]

    def search_again(*_, **__):
        yield
        return status, motions[1:]

    monkeypatch.setattr(closed_loop, "search_leg", search_again)
    first, last = motions[1][1].states[[0, -1]]
    loop, command = ClosedLoop(dataclasses.replace(problem, initial_state=first)), first[3:]
    while loop.searches == 0 or loop.phase is not Phase.PUSH:
        command = loop.step(first, command)
    away = last + shift * problem.tolerance[0] * np.eye(5)[0]
    while loop.phase is Phase.PUSH:
        command = loop.step(away, command)
    assert (loop.phase, loop.searches) == (Phase.TRANSIT, searches)


def test_a_push_that_is_enough_is_the_beginning_of_the_whole_one():
    problem = build_problem(load_example("push_t"))
    model = SearchModel(problem, SearchSettings())
    start, everything = problem.initial_state, np.ones(2, dtype=bool)
    grasps = at_once(draw_grasps(model, start, everything, np.random.default_rng(0), 64))
    pushes = (model, grasps, grasps[:, model.joints], problem.goal)
    whole, enough = (at_once(push(*pushes, enough=gain)) for gain in (np.inf, 1.0))
    assert len(whole) > 5
    shorter = 0
    for long, short in zip(whole, enough, strict=True):
        np.testing.assert_array_equal(short.states, long.states[: len(short.states)])
        np.testing.assert_array_equal(short.inputs, long.inputs[: len(short.inputs)])
        distance = model.distance(long.states, problem.goal)
        gained = distance <= distance[0] - 1.0
        assert len(short.inputs) == (gained.argmax() if gained.any() else len(long.inputs))
        shorter += len(short.inputs) < len(long.inputs)
    assert shorter > 2


def test_a_goal_that_cannot_be_is_told_before_anything_is_pushed(monkeypatch):
    """The first leg of its way may be possible."""
    problem = build_problem(load_example("push_t"))
    wrong = Impossibility(PlanStatus.GOAL_UNREACHABLE, "it falls", "choose another goal")
    monkeypatch.setattr(closed_loop, "find_impossibility", lambda problem: wrong)
    loop, command = ClosedLoop(problem), problem.initial_state[3:]
    for _ in range(20):
        np.testing.assert_array_equal(loop.step(problem.initial_state, command), command)
    assert loop.impossible is wrong


def test_what_has_no_contact_is_refused():
    with pytest.raises(ConfigError, match="quasi-dynamic scene, got Pendulum"):
        ClosedLoop(build_problem(load_example("pendulum")))


def decided(parts):
    """Let it look for a place; return the inputs of these looks, and the input after them."""
    problem = build_problem(load_example("push_t"))
    loop, inputs = ClosedLoop(problem, parts=parts), []
    while loop.searches == 0:
        inputs.append(loop.step(problem.initial_state, problem.initial_state[3:]))
        assert loop.phase in (Phase.PUSH, Phase.SEARCH, Phase.TRANSIT)
    return np.array(inputs), loop.step(problem.initial_state, problem.initial_state[3:])


def test_a_search_is_spread_over_looks_and_finds_the_same():
    """The robot stays where it is; how much is done at a look changes nothing but when."""
    (few, first), (many, then), (_, last) = (decided(parts) for parts in (AT_ONCE, 8, 1))
    np.testing.assert_array_equal(first, then)
    np.testing.assert_array_equal(first, last)
    assert len(many) > 10 * max(len(few) - closed_loop.PATIENCE, 1)
    start = build_problem(load_example("push_t")).initial_state[3:]
    np.testing.assert_array_equal(many, np.tile(start, (len(many), 1)))


def test_a_search_begins_anew_when_what_it_is_about_is_kicked_away():
    problem = build_problem(load_example("push_t"))
    loop, here = ClosedLoop(problem, parts=5), problem.initial_state
    for _ in range(20):
        loop.step(here, here[3:])
    assert loop.phase is Phase.SEARCH
    there = here + np.array([0.05, 0.0, 0.0, 0.0, 0.0])
    while loop.searches == 0:
        loop.step(there, here[3:])
    loop.step(there, here[3:])
    assert loop.phase is Phase.TRANSIT  # what was decided holds for where it is now
    assert loop.searches == 1
