"""Predictive sampling and MPPI over MuJoCo's rollouts, on the planner's own planar problems.

Both improve the commands of the whole horizon: predictive sampling keeps the best of its samples
(Howell et al., "Predictive sampling: real-time behaviour synthesis with MuJoCo", 2022), MPPI
averages them by exp(-cost / temperature) (Williams et al., "Information theoretic MPC for
model-based reinforcement learning", ICRA 2017).
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from threading import Event
from typing import Any

import numpy as np

from contact_core.base.errors import ConfigError
from contact_core.base.seeds import generator
from contact_experiments import INSTALL_PEERS
from contact_experiments.tamsi.benchmark.runners import PeerError
from irs_planner import plan_globally
from irs_planner.examples import build_problem, load_example
from irs_planner.problem import IrsProblem
from irs_planner.quasi_dynamic import PlanarQuasiDynamics
from irs_planner.scenes.planar_arrays import BOX, CIRCLE, HALF_PLANE, PRISMATIC_Y, REVOLUTE
from irs_planner.search import SearchSettings

PROBLEMS = ("push_disc", "push_t", "hand_turn")
SAMPLING, MPPI, GLOBAL = "predictive sampling", "MPPI", "plan_globally"
SEEDS = 5
"""Plans of every method for every problem."""
SAMPLES, KNOTS = 64, 12
"""Motions an iteration tries, and points between which their noise is linear."""
TEMPERATURE = 0.05
"""Of MPPI, as a share of the spread of its samples' costs."""
SUBSTEPS = 20
"""Of MuJoCo in a step of the planner."""
RESPONSE = 0.02
"""Time constant of a joint's servo [s]."""
THICKNESS = 0.05
"""Of a planar shape [m]."""


class MujocoScene:
    """A planar scene in MuJoCo, with the planner's masses, springs, shapes and friction.

    The quasi-dynamic model forgets velocities after a step h, in which a force f moves a mass by
    f h^2 / m. Here a damping m / h slows it down to the same motion.
    """

    def __init__(self, problem: IrsProblem) -> None:
        """Build the model.

        Args:
            problem: A problem with a planar scene of circles, boxes and half planes.

        Raises:
            ConfigError: If the scene is another one.
            PeerError: If MuJoCo is not installed.
        """
        try:
            import mujoco
            from mujoco import rollout
        except ImportError as error:
            raise PeerError(f"MuJoCo is not installed: {INSTALL_PEERS}") from error
        dynamics = problem.dynamics
        if not isinstance(dynamics, PlanarQuasiDynamics):
            raise ConfigError(f"only planar scenes, got {type(dynamics).__name__}")
        # A sample that diverges is none of the best; MuJoCo would write a file of it.
        mujoco.set_mju_user_warning(lambda text: None)
        self._problem, self._rollout = problem, rollout
        self.model = mujoco.MjModel.from_xml_string(_describe(dynamics))
        self._data = mujoco.MjData(self.model)
        self._data.qpos[:] = problem.initial_state
        state = mujoco.mjtState.mjSTATE_FULLPHYSICS
        self._start = np.zeros((1, mujoco.mj_stateSize(self.model, state)))
        mujoco.mj_getState(self.model, self._data, self._start[0], state)

    def roll_out(self, inputs: np.ndarray) -> np.ndarray:
        """Return the states of several motions, from the problem's start.

        Args:
            inputs: (K, T, m) u.

        Returns:
            (K, T + 1, n) x.
        """
        fine = np.repeat(inputs, SUBSTEPS, axis=1)
        states, _ = self._rollout.rollout(self.model, self._data, self._start, fine)
        states = states[:, SUBSTEPS - 1 :: SUBSTEPS, 1 : 1 + self.model.nq]
        first = np.broadcast_to(self._problem.initial_state, (len(inputs), 1, self.model.nq))
        return np.concatenate((first, states), axis=1)


def _describe(dynamics: PlanarQuasiDynamics) -> str:
    """Return the scene as MJCF; y and z of the plane are y and z of the world."""
    scene, arrays, step = dynamics.scene, dynamics.arrays, dynamics.time_step
    bodies, geoms = arrays.objects + len(arrays.parent) + 1, len(arrays.shape_kind)
    shapes: list[list[str]] = [[] for _ in range(bodies)]
    drawn = np.zeros(geoms, dtype=bool)
    for i, (kind, body) in enumerate(zip(arrays.shape_kind, arrays.shape_body, strict=True)):
        (y, z, angle), size = arrays.shape_pose[i], arrays.shape_size[i]
        place = f'name="g{i}" pos="0 {y} {z}" euler="{angle} 0 0" contype="0" conaffinity="0"'
        if kind == CIRCLE and size[0] > 0.0:
            shapes[body].append(f'<geom type="sphere" size="{size[0]}" {place}/>')
        elif kind == BOX:
            shapes[body].append(
                f'<geom type="box" size="{THICKNESS} {size[0]} {size[1]}" {place}/>'
            )
        elif kind == HALF_PLANE:
            shapes[body].append(f'<geom type="plane" size="9 9 1" {place}/>')
        elif kind != CIRCLE:  # a circle of radius 0 is the corner of a box
            raise ConfigError("polygons are not translated to MuJoCo")
        drawn[i] = kind != CIRCLE or size[0] > 0.0
    joint = '<joint name="{}" type="{}" axis="{}" damping="{}" armature="{}"/>'
    text, motors = "".join(shapes[0]), []
    for i, item in enumerate(scene.objects):
        mass, inertia = item.mass, item.inertia
        text += "<body>" + "".join(
            joint.format(f"o{i}_{k}", *kind, value / step, 0.0)
            for k, (*kind, value) in enumerate(
                (("slide", "0 1 0", mass), ("slide", "0 0 1", mass), ("hinge", "1 0 0", inertia))
            )
        )
        text += f'<inertial pos="0 0 0" mass="{mass}" diaginertia="{inertia} {inertia} {inertia}"/>'
        text += "".join(shapes[1 + i]) + "</body>"

    def branch(parent: int) -> str:
        found = ""
        for i in np.flatnonzero(arrays.parent == parent):
            kind = "hinge" if arrays.joint[i] == REVOLUTE else "slide"
            axis = "0 1 0" if arrays.joint[i] == PRISMATIC_Y else "0 0 1"
            axis, spring = "1 0 0" if kind == "hinge" else axis, dynamics.stiffness[i]
            (y, z, angle), own = arrays.origin[i], "".join(shapes[1 + arrays.objects + i])
            found += f'<body pos="0 {y} {z}" euler="{angle} 0 0" gravcomp="1">'
            found += joint.format(f"q{i}", kind, axis, 0.0, spring * RESPONSE**2)
            found += '<inertial pos="0 0 0" mass="1e-4" diaginertia="1e-6 1e-6 1e-6"/>'
            found += own + branch(int(i)) + "</body>"
            motors.append(
                (i, f'<position joint="q{i}" kp="{spring}" kv="{2.0 * RESPONSE * spring}"/>')
            )
        return found

    text += branch(-1)
    pairs = "".join(
        f'<pair geom1="g{a}" geom2="g{b}" condim="3" friction="{mu} {mu} 0 0 0"/>'
        for (a, b), mu in zip(arrays.pair, arrays.friction, strict=True)
        if drawn[a] and drawn[b]
    )
    gravity = " ".join(str(g) for g in (0.0, *scene.gravity))
    return (
        f'<mujoco><compiler angle="radian"/><option timestep="{step / SUBSTEPS}" '
        f'gravity="{gravity}" integrator="implicitfast"/><worldbody>{text}</worldbody>'
        f"<contact>{pairs}</contact><actuator>{''.join(m for _, m in sorted(motors))}</actuator>"
        "</mujoco>"
    )


def sample_inputs(
    problem: IrsProblem, scene: MujocoScene, method: str, budget: float, seed: int
) -> tuple[np.ndarray, np.ndarray]:
    """Plan by sampling for some processor time.

    Args:
        problem: What to plan; its commands change by at most the largest increment a step.
        scene: Its scene.
        method: SAMPLING or MPPI.
        budget: Processor time [s]; an iteration that has begun is finished.
        seed: Of all samples.

    Returns:
        (T, m) the best commands that were tried, (T + 1, n) what they lead to.
    """
    draw, horizon = generator(seed, method), problem.horizon
    largest, times = problem.bounds.increment, np.linspace(0.0, KNOTS - 1.0, horizon)
    first = problem.initial_state[list(problem.dynamics.commanded_states)]
    best, least, end = np.zeros((horizon, len(largest))), np.inf, time.process_time() + budget
    plan, motion = best, np.empty((0, 0))
    lower, share = np.floor(times).astype(int), (times % 1.0)[:, np.newaxis]
    while time.process_time() < end or not motion.size:
        knots = draw.standard_normal((SAMPLES, KNOTS + 1, len(largest)))
        noise = (1.0 - share) * knots[:, lower] + share * knots[:, lower + 1]
        noise[0] = 0.0
        changes = np.clip(plan + noise * largest, -largest, largest)
        inputs = first + np.cumsum(changes, axis=1)
        states = scene.roll_out(inputs)
        costs = np.array([problem.evaluate(x, u) for x, u in zip(states, inputs, strict=True)])
        k = int(np.argmin(costs))
        if costs[k] < least:
            best, least, motion = changes[k], costs[k], states[k]
        plan = best
        if method == MPPI:
            finite = np.where(np.isfinite(costs), costs, np.nanmax(costs[np.isfinite(costs)]))
            weight = np.exp(-(finite - finite.min()) / (TEMPERATURE * finite.std() + 1e-9))
            plan = np.einsum("k,ktm->tm", weight / weight.sum(), changes)
    return first + np.cumsum(best, axis=0), motion


def search_inputs(problem: IrsProblem, budget: float, seed: int) -> np.ndarray:
    """Plan with the global planner for some processor time.

    Args:
        problem: What to plan.
        budget: Processor time [s]; an attempt that has begun is finished.
        seed: Of all samples.

    Returns:
        (T, m) commands, as many as it takes.
    """
    late, end = Event(), time.process_time() + budget
    result = plan_globally(
        problem,
        SearchSettings(seed=seed, judge="none"),
        callback=lambda _: late.set() if time.process_time() > end else None,
        cancel=late,
    )
    return np.asarray(result.inputs)


def compare_with_sampling(
    names: Sequence[str] = PROBLEMS, budget: float = 20.0, seeds: int = SEEDS
) -> list[dict[str, Any]]:
    """Give every method the same problems and processor time.

    What reached the goal is judged in the model that was planned with, and for the global planner
    in MuJoCo as well.

    Args:
        names: Examples with planar scenes.
        budget: Processor time of a plan [s], compiled kernels assumed.
        seeds: Number of plans of every method.

    Returns:
        Per problem and method ``{"problem", "method", "seeds", "reached", "error", "seconds"}``:
        how many reached the goal, the median of the largest final error in tolerances, and the
        median processor time.
    """
    rows = []
    for name in names:
        problem = build_problem(load_example(name))
        scene = MujocoScene(problem)
        plan_globally(problem, SearchSettings(attempts=2))
        found: dict[str, list[tuple[np.ndarray, float]]] = {}
        for seed in range(seeds):
            for method in (GLOBAL, SAMPLING, MPPI):
                begin = time.process_time()
                if method == GLOBAL:
                    inputs = search_inputs(problem, budget, seed)
                    spent = time.process_time() - begin
                    states = problem.dynamics.rollout(problem.initial_state, inputs)
                    replayed = states[:1]
                    if len(inputs):
                        replayed = scene.roll_out(inputs[np.newaxis])[0]
                    found.setdefault(f"{method}, in MuJoCo", []).append((replayed[-1], spent))
                else:
                    _, states = sample_inputs(problem, scene, method, budget, seed)
                    spent = time.process_time() - begin
                found.setdefault(method, []).append((states[-1], spent))
        for method, ends in found.items():
            errors = [np.max(np.abs((x - problem.goal) / problem.tolerance)) for x, _ in ends]
            rows.append(
                {
                    "problem": name,
                    "method": method,
                    "seeds": seeds,
                    "reached": int(np.sum(np.array(errors) <= 1.0)),
                    "error": float(np.median(errors)),
                    "seconds": float(np.median([spent for _, spent in ends])),
                }
            )
    return rows
