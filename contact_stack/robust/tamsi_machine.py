"""Plans of models that were read from URDF files, executed in tamsi_sim.

What may touch something are balls at the contact points; the ground is a slab, and the parts of
obstacles are prisms across the plane.
"""

from __future__ import annotations

import math
import xml.etree.ElementTree as ElementTree

import numpy as np
import pinocchio as pin

from contact_core.robot.scene import Instance
from contact_core.robot.scene_config import SolverConfig
from contact_core.robot.surface import Surface
from contact_stack.robust.tamsi_world import (
    DISSIPATION,
    STIFFNESS,
    TIME_STEP,
    WorldError,
    each,
    ground_instance,
)
from robust_planner.contact_model import GRAVITY, GROUND, ContactModel, Source
from robust_planner.evaluation.time_stepping import BatchMotion
from robust_planner.problem import RobustProblem
from robust_planner.risk.failure import FailureConfig
from robust_planner.risk.worlds import Worlds, starts
from tamsi_sim.arrays.status import StepStatus
from tamsi_sim.simulation.engine import Engine
from tamsi_sim.simulation.model import build_model

MACHINE = "machine"
ACCURACY = 1e-3
"""Of the steps between two looks."""
SAMPLE = 5
"""Time steps from one look at the contacts to the next."""
MIN_BALL = 1e-4
"""Radius of the balls that stand for points [m]."""
DOWN = (0.0, 0.0, -GRAVITY)
HALF_DEPTH = 1.0
"""Of the prisms, across the plane [m]."""


def can_judge(problem: RobustProblem, failure: FailureConfig) -> bool:
    """Return whether plans of a problem can be executed here, and its failures be told.

    Args:
        problem: The problem.
        failure: What counts as a failure.
    """
    return (
        problem.model.source is not None
        and failure.impact_speed == 0.0
        and _samples(problem) is not None
    )


def _samples(problem: RobustProblem) -> int | None:
    """Return how many samples a time step of the problem has, None if no whole number."""
    count = round(problem.time_step / TIME_STEP / SAMPLE)
    exact = math.isclose(count * SAMPLE * TIME_STEP, problem.time_step)
    return count if count and exact else None


def simulate_worlds(problem: RobustProblem, controls: np.ndarray, worlds: Worlds) -> BatchMotion:
    """Execute controls in every world, as :func:`robust_planner.simulate_worlds` does.

    Args:
        problem: A problem whose model was read from a URDF file; its time step must be a multiple
            of five milliseconds.
        controls: u (N, nu) [N, Nm], or positions of drives [m, rad].
        worlds: The worlds (n).

    Returns:
        The motions at the knots; forces are means over a knot's samples, without those of friction
        and of limits; speeds of impacts are not measured.

    Raises:
        WorldError: If the model was built by hand, or a simulation fails.
    """
    model, count = problem.model, len(worlds)
    if model.source is None:
        raise WorldError(f"'{model.name}' was read from no URDF file (valid: own problems)")
    samples = _samples(problem)
    if samples is None:
        raise WorldError(f"time step {problem.time_step:g} s (valid: multiples of 0.005 s)")
    references = _references(problem, controls, samples)
    begin = starts(problem, worlds)
    shape = (count, problem.knots)
    states = np.zeros((*shape, 2 * model.coordinates))
    normal, slip = (np.zeros((*shape, model.contacts)) for _ in range(2))
    for index in each(worlds):
        machine = _Machine(problem, model.source, worlds, index)
        machine.put(begin[index])
        states[index, 0] = begin[index]
        for knot in range(1, problem.knots):
            normal[index, knot], slip[index, knot] = machine.advance(
                controls[knot - 1], references[(knot - 1) * samples : knot * samples + 1]
            )
            states[index, knot] = machine.state(references[knot * samples])
    position, velocity = np.split(states, 2, axis=2)
    none = np.zeros((*shape, 0))
    return BatchMotion(position, velocity, normal, none, slip, none, np.zeros_like(normal))


def _references(problem: RobustProblem, controls: np.ndarray, samples: int) -> np.ndarray:
    """Return position and velocity of the drives' references at every sample (m, 2, nd)."""
    drives, size = problem.model.drives, problem.model.coordinates - len(problem.model.drives)
    bandwidth = np.array([drive.bandwidth for drive in drives.values()])
    told = controls[:, problem.model.controls - len(drives) :]
    position, velocity = np.split(np.array(problem.start), 2)
    position, velocity = position[size:], velocity[size:]
    found, passed = [(position, velocity)], SAMPLE * TIME_STEP
    decay = np.exp(-bandwidth * passed)
    for knot in range(problem.knots - 1):
        for _ in range(samples):
            # They are damped critically, so that this is exact.
            off = position - told[knot]
            slope = velocity + bandwidth * off
            left = off + slope * passed
            position = told[knot] + decay * left
            velocity = decay * (slope - bandwidth * left)
            found.append((position, velocity))
    return np.array(found)


class _Machine:
    """A model among its obstacles, in one world."""

    def __init__(self, problem: RobustProblem, source: Source, worlds: Worlds, index: int) -> None:
        self._model = model = problem.model
        stiffness, dissipation = problem.stiffness, problem.dissipation
        if math.isinf(stiffness):
            stiffness, dissipation = STIFFNESS, DISSIPATION
        # Two equal surfaces in series.
        surface = Surface(2.0 * stiffness, dissipation, float(worlds.friction[index]))
        instances = [
            ground_instance(float(worlds.height[index])),
            Instance(MACHINE, _with_balls(source, float(worlds.mass[index])), gravity=DOWN),
            *_prisms(model, worlds.shift[index]),
        ]
        built = build_model(
            instances,
            lambda instance, link: surface,
            lambda a, b: a[0] != b[0] and MACHINE in (a[0], b[0]),
        )
        self._engine = Engine(built, TIME_STEP, SolverConfig(accuracy=ACCURACY))
        names = model.position_names[: model.coordinates - len(model.drives)]
        places = [built.joint_dofs[(MACHINE, name)] for name in names]
        self._dofs = np.array(places)
        self._driven = self._dofs[list(model.drives)]
        drives = self._engine.drives
        for dof, drive in zip(self._driven, model.drives.values(), strict=True):
            drives.stiffness[dof], drives.damping[dof] = drive.stiffness, drive.damping
        drives.effort_limit[:] = np.inf
        self._arm = pin.buildModelFromXML(source.urdf)
        self._arm_data = self._arm.createData()
        self._contacts = {name: i for i, name in enumerate(model.contact_names)}

    def put(self, state: np.ndarray) -> None:
        """Begin with a state of the problem (2 nq)."""
        position, velocity = np.split(state, 2)
        size = len(self._dofs)
        self._engine.q[self._dofs], self._engine.v[self._dofs] = position[:size], velocity[:size]
        self._engine.relax()

    def state(self, reference: np.ndarray) -> np.ndarray:
        """Return the state of the problem, with that of the references (2, nd)."""
        engine = self._engine
        return np.concatenate(
            [engine.q[self._dofs], reference[0], engine.v[self._dofs], reference[1]]
        )

    def advance(self, control: np.ndarray, references: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Go on to the next knot; return mean normal force and largest slip of the contacts."""
        engine, drives = self._engine, self._engine.drives
        motors = control[: len(control) - len(self._driven)]
        force = self._model.actuation[: len(self._dofs), : len(motors)] @ motors
        normal, slip = np.zeros((2, len(self._contacts)))
        for before, after in zip(references[:-1, 0], references[1:, 0], strict=True):
            weight = pin.computeGeneralizedGravity(
                self._arm, self._arm_data, engine.q[self._dofs].copy()
            )
            engine.applied[self._dofs] = force
            engine.applied[self._driven] += weight[list(self._model.drives)]
            drives.target[self._driven] = before
            drives.target_rate[self._driven] = (after - before) / SAMPLE
            status = engine.step(SAMPLE)
            if status is not StepStatus.OK:
                raise WorldError(status.remedy + engine.trouble())
            for contact in engine.contacts():
                point, surface = contact.shape_a, contact.shape_b
                if contact.instance_b == MACHINE:
                    point, surface = surface, point
                name = point if surface == GROUND else f"{point}/{surface}"
                normal[self._contacts[name]] += abs(contact.force @ contact.normal)
                slip[self._contacts[name]] = max(slip[self._contacts[name]], contact.slip)
        return normal / (len(references) - 1), slip


def _with_balls(source: Source, mass: float) -> str:
    """Return the URDF with balls at the contact points, and nothing else that touches."""
    robot = ElementTree.fromstring(source.urdf)
    links = {link.get("name"): link for link in robot.findall("link")}
    for link in links.values():
        for shape in (*link.findall("collision"), *link.findall("visual")):
            link.remove(shape)
        for inertial in link.findall("inertial"):
            for element in (*inertial.findall("mass"), *inertial.findall("inertia")):
                for key, value in element.items():
                    element.set(key, repr(mass * float(value)))
    for name, (link_name, point, radius) in source.points.items():
        shape = ElementTree.SubElement(links[link_name], "collision", name=name)
        ElementTree.SubElement(shape, "origin", xyz=" ".join(map(repr, map(float, point))))
        geometry = ElementTree.SubElement(shape, "geometry")
        ElementTree.SubElement(geometry, "sphere", radius=repr(max(radius, MIN_BALL)))
    return ElementTree.tostring(robot, encoding="unicode")


def _prisms(model: ContactModel, shift: np.ndarray) -> list[Instance]:
    """Return the obstacles of a world, moved by (x, z) each."""
    instances = []
    for obstacle, (x, z) in zip(model.obstacles, shift.reshape(-1, 2), strict=True):
        mujoco = ElementTree.Element("mujoco", model=obstacle.name)
        asset, world = (ElementTree.SubElement(mujoco, tag) for tag in ("asset", "worldbody"))
        for part, corners in obstacle.parts.items():
            name = f"{obstacle.name}.{part}"
            points = [(cx, y, cz) for y in (-HALF_DEPTH, HALF_DEPTH) for cx, cz in corners]
            vertex = " ".join(repr(float(value)) for point in points for value in point)
            ElementTree.SubElement(asset, "mesh", name=name, vertex=vertex)
            ElementTree.SubElement(world, "geom", name=name, type="mesh", mesh=name)
        place = pin.SE3(np.eye(3), np.array([x, 0.0, z]))
        text = ElementTree.tostring(mujoco, encoding="unicode")
        instances.append(Instance(obstacle.name, text, place))
    return instances
