"""What the joint torques could tell of a contact before there is one: per link, place, direction.

A force is felt if its torque stands out of the noise. Its place can be told if no force at another
place explains that torque as well; where all places that do lie on its line, on the same rigid
part, it is known what it does to the arm. How fast the arm can give way there follows from the same
Jacobian.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from contact_aware_control.estimation.config import EstimatorConfig
from contact_aware_control.estimation.filter import FRICTION_SURPRISE
from contact_aware_control.estimation.likelihood import FrictionPyramids, fit_at
from contact_aware_control.estimation.measurement import Measurement, inverse, point_jacobian
from contact_aware_control.estimation.place import (
    EVIDENCE_TIME,
    MIN_DISTANCE,
    Region,
    contains,
    descend,
)
from contact_aware_control.estimation.surface import (
    Placement,
    RobotSurface,
    closest_on_shape,
    new_placement,
    outward_normal,
    place,
    sample,
    to_world,
)
from contact_aware_control.estimation.tool_surface import ToolSurface
from contact_core.base.kernel import kernel
from contact_core.base.seeds import generator
from contact_core.robot.robot import Robot

AS_WELL = 9.0
"""Squared whitened difference of two torques, averaged over the time in which the estimator gathers
evidence, below which nobody can tell them apart: three standard deviations."""

REFINEMENTS = 24
"""Steps by which the best rival on every link is improved."""

RIVAL_STEP = 0.03
"""Standard deviation of the coarsest of them, per axis [m]."""

PERIOD = 0.005
"""Time between samples of the torque [s]."""


@dataclass(frozen=True)
class LinkIdentifiability:
    """What the torques could tell of contacts with one link.

    Attributes:
        felt: Median of the forces from which on a push straight into the surface is felt [N].
        felt_everywhere: The largest of them [N]; infinite where some push is never felt.
        located: Share of the places that would be told from all others.
        wrench_known: Share of those whose line of force would be told at least.
        rivals: The links that explain a contact with this one as well, most often the first.
        yield_speed: Median speed at which the arm can give way [m/s].
    """

    felt: float
    felt_everywhere: float
    located: float
    wrench_known: float
    rivals: tuple[str, ...]
    yield_speed: float


@dataclass(frozen=True)
class Identifiability:
    """What the torques could tell of P contacts, in one configuration; world frame.

    Attributes:
        links: (P) names of the links that are touched.
        points: (P, 3) where [m].
        directions: (P, 3) unit vectors of the forces on the robot.
        felt: (P) force from which on the contact is felt [N]; infinite: never.
        located: (P) whether the torques tell its place from all others.
        wrench_known: (P) whether they tell at least on which line which part is pushed.
        elsewhere: (P, 3) the farthest place found that explains them as well [m]; NaN for none.
        rivals: (P) the links that these places are on.
        yield_speed: (P) how fast the place can give way against the force's direction, at the
            velocity limits of the joints [m/s].
    """

    links: tuple[str, ...]
    points: np.ndarray
    directions: np.ndarray
    felt: np.ndarray
    located: np.ndarray
    wrench_known: np.ndarray
    elsewhere: np.ndarray
    rivals: tuple[tuple[str, ...], ...]
    yield_speed: np.ndarray

    def by_link(self) -> Mapping[str, LinkIdentifiability]:
        """Sum it up, link by link, from base to tool."""
        links, found = np.array(self.links), {}
        for link in dict.fromkeys(self.links):
            own = links == link
            others = [other for i in np.flatnonzero(own) for other in self.rivals[i]]
            counted = sorted(set(others), key=lambda other: -others.count(other))
            found[link] = LinkIdentifiability(
                felt=float(np.median(self.felt[own])),
                felt_everywhere=float(self.felt[own].max()),
                located=float(self.located[own].mean()),
                wrench_known=float(self.wrench_known[own].mean()),
                rivals=tuple(counted),
                yield_speed=float(np.median(self.yield_speed[own])),
            )
        return found


class ContactProspect:
    """Tells of an arm what its torques could tell of contacts."""

    def __init__(
        self,
        robot: Robot,
        config: EstimatorConfig | None = None,
        *,
        noise: np.ndarray | None = None,
        places: int = 40,
        apart: float = MIN_DISTANCE,
    ) -> None:
        """Draw the places that are looked at; they move with the links.

        Args:
            robot: The arm; it is updated.
            config: The estimator's parameters.
            noise: (n) standard deviation of the white noise of a sample of the torque [Nm], by
                default the arm's, and no less than the estimator assumes.
            places: Number of places on every link.
            apart: How far from each other two places are to be told apart [m].

        Raises:
            ModelError: If a link that may be touched is unknown.
        """
        self._robot = robot
        self._config = config = config or EstimatorConfig()
        self._apart = apart
        known = robot.torque_noise if noise is None else noise
        self._noise = np.diag(np.maximum(known, config.noise.smallest) ** 2)
        self._friction = FrictionPyramids(
            config.particles.friction, config.particles.largest_friction, FRICTION_SURPRISE
        )
        tool = ToolSurface(robot, config.links)
        self._surface, self._links, self._body = tool.surface, tool.links, tool.body
        self._placement = new_placement(self._surface)
        self._place_shapes()
        rng = generator(0, "prospective contacts")
        self._steps = RIVAL_STEP * rng.standard_normal((REFINEMENTS, 3))
        self._shapes, self._points = self._draw(places, rng)

    def at(
        self, q: np.ndarray, force: float = 15.0, errors: np.ndarray | None = None
    ) -> Identifiability:
        """Look at pushes straight into the surface of every link.

        Args:
            q: (n) joint positions [rad].
            force: How hard [N].
            errors: (n, n) covariance of what is wrong in the torques beside noise, and does not
                average out [Nm^2]; None: nothing.
        """
        self._robot.update(q)
        self._place_shapes()
        points, directions = np.empty((2, len(self._shapes), 3))
        for i, (shape, point) in enumerate(zip(self._shapes, self._points, strict=True)):
            points[i] = to_world(self._placement, shape, *point)
            normal = outward_normal(self._surface, shape, point)
            directions[i] = -self._placement.rotation[shape] @ normal
        return self._judge(self._shapes, points, directions, force, errors)

    def of(
        self,
        q: np.ndarray,
        link: str,
        point: np.ndarray,
        force: np.ndarray,
        errors: np.ndarray | None = None,
    ) -> Identifiability:
        """Look at one contact.

        Args:
            q: (n) joint positions [rad].
            link: The link that is touched.
            point: (3) where, world frame [m].
            force: (3) on the robot, world frame [N], not zero.
            errors: As of :meth:`at`.

        Returns:
            What its torques could tell, P = 1.
        """
        self._robot.update(q)
        self._place_shapes()
        own = [i for i, name in enumerate(self._links) if name == link]
        on_shapes = [(i, *closest_on_shape(self._surface, self._placement, i, *point)) for i in own]
        away = [math.dist(to_world(self._placement, *at), point) for at in on_shapes]
        shape, size = np.array([own[int(np.argmin(away))]]), float(np.linalg.norm(force))
        return self._judge(shape, point[None], force[None] / size, size, errors)

    def _place_shapes(self) -> None:
        robot = self._robot
        place(self._surface, robot.joint_rotations, robot.joint_origins, self._placement)

    def _draw(self, places: int, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
        """Draw places on every link, (P) shapes and (P, 3) points in their frames [m]."""
        drawn: list[tuple[int, np.ndarray]] = []
        area = np.diff(self._surface.cumulative_area, prepend=0.0)
        for body in dict.fromkeys(self._body.tolist()):
            own = area * (self._body == body)
            if own.sum() > 0.0:
                surface = self._surface._replace(cumulative_area=np.cumsum(own) / own.sum())
                for _ in range(places):
                    shape, *at = sample(surface, self._placement, rng)
                    drawn.append((shape, np.array(at[:3])))
        shapes, points = zip(*drawn, strict=True)
        return np.array(shapes), np.array(points)

    def _judge(
        self,
        shapes: np.ndarray,
        points: np.ndarray,
        directions: np.ndarray,
        force: float,
        errors: np.ndarray | None,
    ) -> Identifiability:
        robot, surface, joints = self._robot, self._surface, self._surface.joints
        known = np.zeros_like(self._noise) if errors is None else errors
        precision = np.linalg.inv(known + self._noise)
        averaged = known + self._noise * (PERIOD / EVIDENCE_TIME)
        origins, axes = robot.joint_origins, robot.joint_axes
        rows = np.array(
            [
                direction @ point_jacobian(origins, axes, joints[shape], point)
                for shape, point, direction in zip(shapes, points, directions, strict=True)
            ]
        )
        evidence = np.einsum("pi,ij,pj->p", rows, precision, rows)
        detection = self._config.detection
        with np.errstate(divide="ignore"):
            felt = np.sqrt(detection.threshold / np.where(evidence > 1e-12, evidence, 0.0))
        bodies = int(self._body.max()) + 1
        where = np.full((len(points), bodies, 3), np.nan)
        parts = np.zeros((len(points), bodies), dtype=np.int64)
        cost = np.full((2, len(points), bodies), np.inf)
        # Where the best rival on a link is on the line of the force, another may not be.
        for i, along in enumerate((directions, np.zeros_like(directions))):
            best_rivals(
                surface, self._placement, self._body, self._friction, origins, axes, self._shapes,
                self._points, averaged, self._config.noise.relative, force * rows, points,
                along, self._apart, self._steps, cost[i], where, parts,
            )  # fmt: skip
        off_line, rival = cost < AS_WELL
        offset = where - points[:, None]
        farthest = np.where(rival, np.linalg.norm(offset, axis=2), -1.0).argmax(axis=1)
        row = np.arange(len(points))
        elsewhere = off_line | (rival & (parts != joints[shapes][:, None]))
        names = [self._links[int(np.argmax(self._body == body))] for body in range(bodies)]
        noticed = force >= felt
        return Identifiability(
            links=tuple(names[self._body[shape]] for shape in shapes),
            points=points,
            directions=directions,
            felt=np.maximum(felt, detection.contact_on),
            located=noticed & ~rival.any(axis=1),
            wrench_known=noticed & ~elsewhere.any(axis=1),
            elsewhere=np.where(rival[row, farthest, None], where[row, farthest], np.nan),
            rivals=tuple(tuple(names[b] for b in np.flatnonzero(found)) for found in rival),
            yield_speed=np.abs(rows) @ robot.velocity_limits,
        )


@kernel
def best_rivals(
    surface: RobotSurface,
    placement: Placement,
    body: np.ndarray,
    friction: FrictionPyramids,
    origins: np.ndarray,
    axes: np.ndarray,
    shapes: np.ndarray,
    places: np.ndarray,
    covariance: np.ndarray,
    relative: float,
    torques: np.ndarray,
    points: np.ndarray,
    along: np.ndarray,
    apart: float,
    steps: np.ndarray,
    cost: np.ndarray,
    where: np.ndarray,
    parts: np.ndarray,
) -> None:
    """Find the place on every body that explains a contact's torque best, away from it.

    Args:
        surface: S shapes.
        placement: Where they are.
        body: (S) number of the body of each.
        friction: The friction pyramids.
        origins: (n, 3) of the joint frames, world frame [m].
        axes: (n, 3) of the joints, world frame.
        shapes: (R) shapes that places are on, among which the search begins.
        places: (R, 3) these places, frames of their shapes [m].
        covariance: (n, n) of the torque [Nm^2].
        relative: Model error, as a share of the torque's norm.
        torques: (P, n) of the contacts [Nm].
        points: (P, 3) where they are, world frame [m].
        along: (P, 3) directions of lines from which a rival is as far; zero for none.
        apart: How far from there a rival is at least [m].
        steps: (N, 3) random steps that improve a rival [m].
        cost: (P, B) written: squared whitened torque that the best rival on each body leaves.
        where: (P, B, 3) written: where it is, world frame [m].
        parts: (P, B) written: how many joints move it.
    """
    columns = np.empty_like(axes)
    bodies = cost.shape[1]
    for i in range(points.shape[0]):
        torque = torques[i]
        total = covariance.copy()
        for k in range(torque.size):
            total[k, k] += relative**2 * (torque * torque).sum()
        precision = inverse(total)
        weighted = (precision * torque).sum(axis=1)
        measurement = Measurement(
            precision, weighted, (torque * weighted).sum(), origins, axes, columns
        )
        elsewhere = Region(points[i], apart, np.inf, along[i])
        best = np.full(bodies, -1)
        for j in range(shapes.size):
            s, at = shapes[j], places[j]
            x, y, z = to_world(placement, s, at[0], at[1], at[2])
            if not contains(elsewhere, x, y, z):
                continue
            normal = outward_normal(surface, s, at)
            left = fit_at(measurement, surface, placement, friction, s, at, normal)[0]
            if left < cost[i, body[s]]:
                cost[i, body[s]], best[body[s]] = left, j
        cost[i] = np.inf
        for b in range(bodies):
            if best[b] < 0:
                continue
            s, at, left = descend(
                surface, placement, measurement, friction, shapes[best[b]], places[best[b]],
                elsewhere, steps,
            )  # fmt: skip
            found = body[s]
            if left < cost[i, found]:
                cost[i, found], parts[i, found] = left, surface.joints[s]
                where[i, found] = to_world(placement, s, at[0], at[1], at[2])
