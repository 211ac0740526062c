"""Trials of the contact estimator, and what many of them amount to.

Contacts are made from the robot's own model, tau = J^T f + noise + bias.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pinocchio as pin

from contact_aware_control.contact import ContactEstimate
from contact_aware_control.estimation.base import Estimator, EstimatorOutput
from contact_aware_control.estimation.surface import (
    Placement,
    RobotSurface,
    new_placement,
    place,
    sample,
    surface_of_robot,
    to_world,
)
from contact_aware_control.estimation.tool_surface import ToolSurface
from contact_core.multibody.collision.shapes import PlacedShape, Shape, ShapeKind
from contact_core.robot.arm_state import ArmState
from contact_core.robot.robot import HELD_OBJECT, Robot

PERIOD_NS = 5_000_000
TARE_TICKS = 55
CONTACT_TICKS = 60
SECOND_TICKS = 100

CENTER = np.array([0.0, 0.4, 0.0, -1.0, 0.0, 0.0, 0.0])
"""Random poses are within 0.8 rad of this one."""

SHARES = ("right_link", "identifiable", "misleading", "modes")
"""What the mean of a trial's outcome is taken of."""

CLOSE_FORCE = 0.3
"""A force is right within this share of it."""

WIDEST = 0.055
"""Opening of the gripper at most [m]."""

MAX_DRAWS = 10_000
"""Points drawn until one is on the tool."""

SETTLED = 0.03
"""An estimate has settled when it stays this near [m], or at 1.5 times its final error."""


@dataclass(frozen=True)
class Setting:
    """What a trial varies.

    Attributes:
        link: The link that is touched.
        noise: Standard deviation of the torque [Nm].
        bias: Constant error of every joint's torque, its sign random [Nm].
        friction: Ratio of tangential to normal force; uniform up to this one.
    """

    link: str
    noise: float
    bias: float = 0.0
    friction: float = 0.3


@dataclass(frozen=True)
class TrialOutcome:
    """How well one contact was found.

    Attributes:
        location_error: At the end [m]; inf without an estimate.
        force_error: At the end [N]; inf without an estimate.
        settling_time: [s]; inf without an estimate.
        right_link: True if the estimate is on the link that is touched.
        identifiable: What the estimator says.
        modes: Number of places it considers possible.
        residual: Squared whitened torque residual per joint.
        update_ns: (ticks) duration of each update in contact [ns].
    """

    location_error: float
    force_error: float
    settling_time: float
    right_link: bool
    identifiable: bool
    modes: int
    residual: float
    update_ns: np.ndarray

    @property
    def misleading(self) -> bool:
        """True if the place is called identifiable and is more than 10 cm wrong."""
        return self.identifiable and self.location_error > 0.1


@dataclass(frozen=True)
class PairOutcome:
    """How well a second contact was found, the first still there.

    Attributes:
        first_error: Location error of the first before the second comes [m].
        second_error: Of the estimate next to the second contact at the end [m].
        contacts: Number of contacts reported at the end.
        ended: True if only the first is left, within 5 cm, 0.3 s after the second has ended.
    """

    first_error: float
    second_error: float
    contacts: int
    ended: bool


@dataclass(frozen=True)
class AtOnceOutcome:
    """How well two contacts are told that began in the same sample.

    Attributes:
        unexplained: Root mean square of the true torque, noise left out, less that of all
            estimates, over the noise.
        honest: True if the estimate next to each contact has its force, or is not identifiable.
        located: True if each contact has an estimate within 5 cm.
        identifiable: True if an estimate is called so.
        contacts: Number of contacts reported.
    """

    unexplained: float
    honest: bool
    located: bool
    identifiable: bool
    contacts: int


class TrialRobot:
    """A robot at rest in a random pose that is touched."""

    def __init__(self, robot: Robot, estimator: Estimator) -> None:
        """Connect estimator and robot.

        Args:
            robot: The arm.
            estimator: Gets its torques; may use the same robot.
        """
        self.robot = robot
        self.estimator = estimator
        self.update_ns: list[int] = []

    def begin(self, seed: int, noise: float, bias: float) -> None:
        """Take a new pose and let the estimator tare.

        Args:
            seed: Of pose, contact, noise and particles.
            noise: Standard deviation of the torque [Nm].
            bias: Size of its constant error [Nm].
        """
        self.rng = np.random.default_rng([seed, 1])
        self.q = CENTER + self.rng.uniform(-0.8, 0.8, 7)
        self._noise = noise
        self._bias = bias * self.rng.choice([-1.0, 1.0], 7)
        self._stamp = 0
        self.estimator.reset(seed)
        self.hold(np.zeros(7), TARE_TICKS)
        self.update_ns.clear()

    def tick(self, torque: np.ndarray) -> EstimatorOutput:
        """Show the estimator one sample.

        Args:
            torque: (7) true external torque [Nm].

        Returns:
            What it finds.
        """
        self._stamp += PERIOD_NS
        measured = torque + self._bias + self._noise * self.rng.standard_normal(7)
        state = ArmState.recorded(self._stamp, self.q, external_torque=measured)
        start = time.perf_counter_ns()
        output = self.estimator.update(state)
        self.update_ns.append(time.perf_counter_ns() - start)
        return output

    def hold(self, torque: np.ndarray, ticks: int) -> EstimatorOutput:
        """Show the same true torque for a number of ticks; return the last output."""
        for _ in range(ticks):
            output = self.tick(torque)
        return output

    def touch(
        self, link: str, friction: float, smallest: float
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Draw a contact.

        Args:
            link: The link that is touched, anywhere on its surface.
            friction: Largest ratio of tangential to normal force.
            smallest: Smallest force [N]; the largest is 30 N.

        Returns:
            (3) point [m] and (3) force [N], world frame; (7) its torque [Nm].
        """
        surface, _ = surface_of_robot(self.robot, (link,))
        placement = self._placed(surface)
        shape, *at = sample(surface, placement, self.rng)
        return self._push(placement, link, shape, at, friction, smallest)

    def touch_tool(
        self, links: Sequence[str], opening: float, held: Sequence[PlacedShape]
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Draw a contact on fingers or on what they hold, and tell the estimator of both.

        What presses on both fingers presses between them.

        Args:
            links: The links that are touched.
            opening: Of each finger [m].
            held: The shapes of what is held, in the tool frame.

        Returns:
            As of :meth:`touch`.
        """
        tool = ToolSurface(self.robot)
        tool.set_gripper(opening)
        tool.hold(held)
        self.estimator.set_gripper(opening)
        self.estimator.set_payload(0.0, np.zeros(3), self._stamp, held)
        placement = self._placed(tool.surface)
        for _ in range(MAX_DRAWS):
            shape, *at = sample(tool.surface, placement, self.rng)
            if tool.links[shape] in links:
                break
        return self._push(placement, tool.links[shape], shape, at, 0.3, smallest=10.0)

    def _placed(self, surface: RobotSurface) -> Placement:
        """Return where shapes are."""
        self.robot.update(self.q)
        placement = new_placement(surface)
        place(surface, self.robot.joint_rotations, self.robot.joint_origins, placement)
        return placement

    def _push(
        self,
        placement: Placement,
        link: str,
        shape: int,
        at: Sequence[float],
        friction: float,
        smallest: float,
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Draw a force at a place, given by its point and normal in the frame of its shape."""
        point = np.array(to_world(placement, shape, *at[:3]))
        inward = -placement.rotation[shape] @ np.array(at[3:])
        tangent = np.cross(inward, self.rng.standard_normal(3))
        direction = inward + friction * self.rng.random() * tangent / np.linalg.norm(tangent)
        force = self.rng.uniform(smallest, 30.0) * direction / np.linalg.norm(direction)
        return point, force, self.robot.torque_of_force(link, point, force)


def run_single(trial: TrialRobot, setting: Setting, seed: int) -> TrialOutcome:
    """Touch one link of the robot and compare the estimate with the truth.

    Args:
        trial: The robot.
        setting: What is touched, and how noisy the torque is.
        seed: Of pose, contact, noise and particles.

    Returns:
        The outcome.
    """
    trial.begin(seed, setting.noise, setting.bias)
    touched = trial.touch(setting.link, setting.friction, smallest=10.0)
    return _watch(trial, (setting.link,), *touched)


def run_tool(trial: TrialRobot, held: bool, noise: float, seed: int) -> TrialOutcome:
    """Touch the fingers, opened somehow, or a cylinder that they hold.

    Args:
        trial: The robot; it has a gripper.
        held: Whether it is the cylinder.
        noise: Standard deviation of the torque [Nm].
        seed: Of pose, tool, contact, noise and particles.

    Returns:
        The outcome; either finger is the right link, for they are one body.
    """
    trial.begin(seed, noise, 0.0)
    opening, half_length = trial.rng.uniform((0.005, 0.04), (WIDEST, 0.1))
    if not held:
        fingers = trial.robot.finger_links
        return _watch(trial, fingers, *trial.touch_tool(fingers, opening, ()))
    # As the mug, with its axis along x, across the fingers.
    turned = pin.SE3(pin.utils.rotate("y", 0.5 * np.pi), np.array([0.02, 0.0, 0.0]))
    shape = Shape(ShapeKind.CYLINDER, (opening, half_length, 0.0))
    cylinder = PlacedShape("held", HELD_OBJECT, shape, turned)
    return _watch(trial, (HELD_OBJECT,), *trial.touch_tool((HELD_OBJECT,), opening, (cylinder,)))


def _watch(
    trial: TrialRobot,
    links: Sequence[str],
    point: np.ndarray,
    force: np.ndarray,
    torque: np.ndarray,
) -> TrialOutcome:
    """Press at a point of links, which count as one, and compare the estimate."""
    errors = []
    for _ in range(CONTACT_TICKS):
        contacts = trial.tick(torque).contacts
        errors.append(_nearest(contacts[:1], point))
    location = np.array(errors)
    found = contacts[0] if contacts else None
    return TrialOutcome(
        location_error=float(location[-1]),
        force_error=float(np.linalg.norm(found.force_world - force)) if found else np.inf,
        settling_time=_settling_time(location),
        right_link=found is not None and found.link in links,
        identifiable=found is not None and found.identifiable,
        modes=len(found.modes) if found else 0,
        residual=found.residual if found else np.inf,
        update_ns=np.array(trial.update_ns),
    )


def run_pair(trial: TrialRobot, first: Setting, second: Setting, seed: int) -> PairOutcome:
    """Touch a second link 0.2 s after the first, which then bears 0.7-1.3 times its force.

    Args:
        trial: The robot.
        first: The first contact; its noise and bias are those of the torque.
        second: The second contact.
        seed: Of pose, contacts, noise and particles.

    Returns:
        The outcome.
    """
    trial.begin(seed, first.noise, first.bias)
    first_point, _, first_torque = trial.touch(first.link, first.friction, smallest=15.0)
    second_point, _, second_torque = trial.touch(second.link, second.friction, smallest=15.0)
    before = trial.hold(first_torque, 40)
    changed = first_torque * trial.rng.uniform(0.7, 1.3)
    both = trial.hold(changed + second_torque, SECOND_TICKS)
    after = trial.hold(changed, 60)
    return PairOutcome(
        first_error=_nearest(before.contacts, first_point),
        second_error=_nearest(both.contacts, second_point),
        contacts=len(both.contacts),
        ended=len(after.contacts) == 1 and _nearest(after.contacts, first_point) < 0.05,
    )


def run_at_once(trial: TrialRobot, first: Setting, second: Setting, seed: int) -> AtOnceOutcome:
    """Touch two links from the same sample on.

    Args:
        trial: The robot.
        first: The first contact; its noise and bias are those of the torque.
        second: The second contact.
        seed: Of pose, contacts, noise and particles.

    Returns:
        The outcome.
    """
    trial.begin(seed, first.noise, first.bias)
    touches = [trial.touch(s.link, s.friction, smallest=15.0) for s in (first, second)]
    torque = touches[0][2] + touches[1][2]
    found = trial.hold(torque, SECOND_TICKS).contacts
    robot = trial.robot
    for contact in found:
        torque = torque - robot.torque_of_force(
            contact.link, contact.point_world, contact.force_world
        )
    honest = bool(found)
    for point, force, _ in touches:
        next_to = min(found, key=lambda c: _distance(c, point), default=None)
        if next_to is not None and next_to.identifiable:
            error = np.linalg.norm(next_to.force_world - force)
            honest &= bool(error <= CLOSE_FORCE * np.linalg.norm(force))
    return AtOnceOutcome(
        unexplained=float(np.sqrt(np.mean(torque**2)) / first.noise),
        honest=honest,
        located=all(_nearest(found, point) <= 0.05 for point, _, _ in touches),
        identifiable=any(contact.identifiable for contact in found),
        contacts=len(found),
    )


def _settling_time(location: np.ndarray) -> float:
    """Return the time until the error stays small [s]."""
    if not np.isfinite(location[-1]):
        return np.inf
    outside = np.flatnonzero(location > max(SETTLED, 1.5 * location[-1]))
    return float(1e-9 * PERIOD_NS * (outside[-1] + 1 if outside.size else 1))


def _nearest(contacts: tuple[ContactEstimate, ...], point: np.ndarray) -> float:
    """Return the distance of the closest estimate to a point [m], inf if there is none."""
    return min((_distance(contact, point) for contact in contacts), default=np.inf)


def _distance(contact: ContactEstimate, point: np.ndarray) -> float:
    """Return the distance of an estimate to a point [m]."""
    return float(np.linalg.norm(contact.point_world - point))


def single_figures(outcomes: Sequence[TrialOutcome]) -> dict[str, float]:
    """Summarise trials of one setting.

    Args:
        outcomes: The trials, at least one.

    Returns:
        Medians and 90th percentiles ``location_p50`` and ``location_p90`` [m], ``force_p50`` [N]
        and ``settling_p90`` [s]; shares of estimates on the ``right_link``, called
        ``identifiable``, and ``misleading``; the mean number of ``modes``.
    """
    location, force, settling, *shares = (
        [getattr(outcome, name) for outcome in outcomes]
        for name in ("location_error", "force_error", "settling_time", *SHARES)
    )
    return {
        "location_p50": float(np.median(location)),
        "location_p90": float(np.percentile(location, 90, method="higher")),
        "force_p50": float(np.median(force)),
        "settling_p90": float(np.percentile(settling, 90, method="higher")),
        **{name: float(np.mean(values)) for name, values in zip(SHARES, shares, strict=True)},
    }


def pair_figures(outcomes: Sequence[PairOutcome]) -> dict[str, float]:
    """Summarise trials of two contacts.

    Args:
        outcomes: The trials, at least one.

    Returns:
        Medians of the location errors ``first_p50`` and ``second_p50`` [m]; shares of second
        contacts ``found`` within 5 cm, of trials in which ``two`` contacts are reported, and of
        those that ``ended`` with the first alone.
    """
    return {
        "first_p50": float(np.median([outcome.first_error for outcome in outcomes])),
        "second_p50": float(np.median([outcome.second_error for outcome in outcomes])),
        "found": float(np.mean([outcome.second_error <= 0.05 for outcome in outcomes])),
        "two": float(np.mean([outcome.contacts == 2 for outcome in outcomes])),
        "ended": float(np.mean([outcome.ended for outcome in outcomes])),
    }


def at_once_figures(outcomes: Sequence[AtOnceOutcome]) -> dict[str, float]:
    """Summarise trials of two contacts at the same moment.

    Args:
        outcomes: The trials, at least one.

    Returns:
        Shares of trials whose torque is ``explained`` to within its noise, that are ``honest``,
        have both contacts ``located``, call one ``identifiable``, and report ``two``; the 90th
        percentile ``unexplained_p90`` of what is unexplained, over the noise.
    """
    unexplained = [outcome.unexplained for outcome in outcomes]
    return {
        "explained": float(np.mean(np.array(unexplained) <= 1.0)),
        "unexplained_p90": float(np.percentile(unexplained, 90, method="higher")),
        **{
            name: float(np.mean([getattr(outcome, name) for outcome in outcomes]))
            for name in ("honest", "located", "identifiable")
        },
        "two": float(np.mean([outcome.contacts == 2 for outcome in outcomes])),
    }
