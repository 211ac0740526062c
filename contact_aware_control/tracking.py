"""The tracking terms of the objective (24a): what the command's change is asked to do.

For a joint reference |x - dq_ref|^2; for a tool reference |J_ee x - e|^2_W in its place.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable
from itertools import pairwise
from typing import NamedTuple

import numpy as np
import pinocchio as pin

from contact_aware_control.config import ControllerConfig
from contact_aware_control.reference.base import (
    Assignment,
    JointReference,
    PoseReference,
    Reference,
)
from contact_core.base.errors import TrajectoryError
from contact_core.base.kernel import inner_kernel, kernel
from contact_core.robot.robot import Robot

RETURN_SHARE = 1.2
"""Of the programmed speed, for the way back to where contact has led the arm from."""

LOOKED_AT = 200
"""Intervals of a reference whose speed is looked at."""

TINY = 1e-9
"""A reference that moves less rests [m, rad]."""

Size = Callable[[np.ndarray], float]
"""Of a step."""


class TrackingTask(ABC):
    """Asks for a change x of the command that follows a reference.

    The error is never evaluated at the measured configuration: contact and sensor delay
    would close a loop of unit gain through it.
    """

    @abstractmethod
    def objective(
        self, q: np.ndarray, time: float, rate: float = 1.0, returns: float = math.inf
    ) -> tuple[np.ndarray, np.ndarray]:
        """Return the term 1/2 x^T H x + g^T x of one tick.

        Args:
            q: (n) configuration at which the error is evaluated [rad]: the command, or
                the equilibrium the model predicts for it.
            time: Reference time [s].
            rate: How fast it passes; 1 as programmed, 0 while the reference waits.
            returns: Where contact has led the arm from its path, the way back is no faster than
                RETURN_SHARE of the speed programmed now, or than ``return_speed`` times this,
                for joints and rotation in rad/s, which is no more than RETURN_SHARE of the largest
                speed of a reference that moves; inf: as fast as it can be.

        Returns:
            H (n, n), g (n).
        """

    @abstractmethod
    def error(self, time: float) -> tuple[float, float]:
        """Return how far the tool is from the reference, for reports.

        Args:
            time: Reference time [s]; the robot has to be updated at the measured q.

        Returns:
            Position error of the tool [m], its rotation error [rad].
        """


class JointTracking(TrackingTask):
    """Follows a joint reference; every joint counts the same."""

    def __init__(self, robot: Robot, reference: JointReference, config: ControllerConfig) -> None:
        """Take the reference.

        Args:
            robot: The arm.
            reference: q_ref(t).
            config: Has the error rate.
        """
        tracking, period = config.tracking, config.period
        self._robot = robot
        self._reference = reference
        self._error_gain = min(1.0, tracking.error_rate * period)
        self._period = period
        self._identity = np.eye(robot.n)
        self._data = robot.model.createData()
        self._tool = robot.model.getFrameId(robot.tool_link, pin.FrameType.BODY)
        self._return_steps = period * np.array([tracking.return_speed, np.inf])
        self._fastest = np.full(2, np.inf)
        if (
            config.governor.enabled and reference.waits
        ):  # what does not wait has to be caught up with
            self._return_steps[1] = period * tracking.return_speed
            joints = [reference.sample(time) for time in _times(reference)]
            places = [self._tool_at(q).translation.copy() for q in joints]
            share = RETURN_SHARE * period / _interval(reference)
            self._fastest = share * np.array(
                [_most(np.diff(joints, axis=0), _largest), _most(np.diff(places, axis=0), _norm)]
            )

    def objective(
        self, q: np.ndarray, time: float, rate: float = 1.0, returns: float = math.inf
    ) -> tuple[np.ndarray, np.ndarray]:
        """Return H = I, g = -dq_ref, see :meth:`TrackingTask.objective`."""
        now = self._reference.sample(time)
        following = self._reference.sample(time + rate * self._period)
        error = self._error_gain * (now - q)
        if returns < math.inf:
            programmed = self._reference.sample(time + self._period) - now
            motion = following - now
            rates, shifts = np.minimum(returns * self._return_steps, self._fastest)
            jacobian = self._jacobian(q)
            steps = error, motion, programmed
            turns = [_largest(step) for step in steps]
            ways = [_norm(jacobian @ step) for step in steps]
            error = error * min(
                _share(turns[0], turns[1], turns[2], rates),
                _share(ways[0], ways[1], ways[2], shifts),
            )
        wanted = error + following - now
        return self._identity.copy(), -wanted

    def error(self, time: float) -> tuple[float, float]:
        """Return the error of the tool pose, see :meth:`TrackingTask.error`."""
        wanted = self._tool_at(self._reference.sample(time))
        return pose_distance(self._robot.tool_pose(), wanted)

    def _tool_at(self, q: np.ndarray) -> pin.SE3:
        """Return the tool's pose without disturbing the robot, which is at the measured q."""
        pin.forwardKinematics(self._robot.model, self._data, q)
        return pin.updateFramePlacement(self._robot.model, self._data, self._tool)

    def _jacobian(self, q: np.ndarray) -> np.ndarray:
        """Return that of the tool's position (3, n), world frame [m/rad]."""
        model, data = self._robot.model, self._data
        pin.computeJointJacobians(model, data, q)
        jacobian: np.ndarray = pin.getFrameJacobian(
            model, data, self._tool, pin.LOCAL_WORLD_ALIGNED
        )[:3]
        return jacobian


class _Motion(NamedTuple):
    """How a tool reference moves in one tick.

    Attributes:
        now: Its pose at the beginning.
        motion: (6) twist to the pose at the end, in the tool frame [m, rad].
        programmed: (6) what it would be at the programmed speed.
    """

    now: pin.SE3
    motion: np.ndarray
    programmed: np.ndarray


class PoseTracking(TrackingTask):
    """Follows a tool pose; what the pose leaves free stays near a posture."""

    def __init__(
        self,
        robot: Robot,
        reference: PoseReference,
        posture: np.ndarray,
        config: ControllerConfig,
    ) -> None:
        """Take the reference.

        Args:
            robot: The arm.
            reference: X_ref(t).
            posture: (n) joint positions to stay near [rad].
            config: Weights and the error rate.
        """
        tracking, period = config.tracking, config.period
        self._robot = robot
        self._reference = reference
        self._posture = posture
        self._posture_weight = tracking.posture_weight
        self._error_gain = min(1.0, tracking.error_rate * period)
        self._period = period
        self._return_steps = np.full(2, period * tracking.return_speed)
        self._fastest = np.full(2, np.inf)
        if config.governor.enabled and reference.waits:
            poses = [reference.sample(time) for time in _times(reference)]
            ways = [pin.log6(before.actInv(after)).vector for before, after in pairwise(poses)]
            share = RETURN_SHARE * period / _interval(reference)
            self._fastest = share * np.array(
                [_most((way[part] for way in ways), _norm) for part in (slice(3), slice(3, 6))]
            )
        self._weights = np.repeat([tracking.position_weight, tracking.rotation_weight], 3)
        self._data = robot.model.createData()
        self._tool = robot.model.getFrameId(robot.tool_link, pin.FrameType.BODY)
        self._known: tuple[tuple[float, float], _Motion] | None = None

    def objective(
        self, q: np.ndarray, time: float, rate: float = 1.0, returns: float = math.inf
    ) -> tuple[np.ndarray, np.ndarray]:
        """Return H = J^T W J, g = -J^T W e and the posture, see :class:`TrackingTask`.

        e is the twist log6(X^-1 X_ref), in the tool frame like the Jacobian: a share of
        the present error, and the motion of the reference in this tick.
        """
        now, motion, programmed = self._motion(time, rate)
        # The robot itself stays at the measured configuration.
        model, data = self._robot.model, self._data
        pin.computeJointJacobians(model, data, q)
        pose = pin.updateFramePlacement(model, data, self._tool)
        return _quadratic(
            pin.getFrameJacobian(model, data, self._tool, pin.LOCAL),
            self._weights,
            pin.log6(pose.actInv(now)).vector,
            motion,
            programmed,
            self._posture - q,
            self._posture_weight,
            self._error_gain,
            returns,
            self._return_steps,
            self._fastest,
            self._reference.waits,
        )

    def error(self, time: float) -> tuple[float, float]:
        """Return the error of the tool pose, see :meth:`TrackingTask.error`."""
        return pose_distance(self._robot.tool_pose(), self._reference.sample(time))

    def _motion(self, time: float, rate: float) -> _Motion:
        """Return the motion of the reference; a tick asks for it at several configurations."""
        asked = time, rate
        if self._known is None or self._known[0] != asked:
            now = self._reference.sample(time)
            motion = pin.log6(now.actInv(self._reference.sample(time + rate * self._period))).vector
            programmed = motion
            if rate != 1.0:
                ahead = self._reference.sample(time + self._period)
                programmed = pin.log6(now.actInv(ahead)).vector
            self._known = asked, _Motion(now, motion, programmed)
        return self._known[1]


def check_trackable(reference: Reference) -> None:
    """Check that there is a tracking term for a kind of reference.

    Args:
        reference: The motion.

    Raises:
        TrajectoryError: If there is none.
    """
    if not isinstance(reference, JointReference | PoseReference):
        raise TrajectoryError(
            f"cannot track a {type(reference).__name__} (valid: JointReference, PoseReference)"
        )


def make_tracking(
    robot: Robot, reference: Reference, posture: np.ndarray, config: ControllerConfig
) -> TrackingTask:
    """Create the tracking term for a reference.

    Args:
        robot: The arm.
        reference: The motion.
        posture: (n) joint positions to stay near where the reference leaves a choice [rad].
        config: Weights, error rate and period.

    Returns:
        The term.

    Raises:
        TrajectoryError: If there is none for this kind of reference.
    """
    check_trackable(reference)
    if isinstance(reference, JointReference):
        return JointTracking(robot, reference, config)
    assert isinstance(reference, PoseReference)
    return PoseTracking(robot, reference, posture, config)


class TrackingTasks:
    """Gives the tracking term of what is followed, made anew only when that changes."""

    def __init__(self, robot: Robot, config: ControllerConfig) -> None:
        """Take weights and times.

        Args:
            robot: The arm.
            config: Weights, error rate and period.
        """
        self._robot = robot
        self._config = config
        self._last: tuple[Assignment, TrackingTask] | None = None

    def of(self, assignment: Assignment) -> TrackingTask:
        """Return the term.

        Args:
            assignment: What is followed.

        Returns:
            The term; equal arguments give equal terms.
        """
        if self._last is None or self._last[0] is not assignment:
            made = make_tracking(
                self._robot, assignment.reference, assignment.posture, self._config
            )
            self._last = assignment, made
        return self._last[1]


def pose_distance(a: pin.SE3, b: pin.SE3) -> tuple[float, float]:
    """Return distance [m] and angle [rad] between two poses.

    Args:
        a: A pose.
        b: Another one, in the same frame.

    Returns:
        The distance of the origins and the angle of the rotation from one to the other.
    """
    difference = a.actInv(b)
    shift, turn = difference.translation, pin.log3(difference.rotation)
    return math.sqrt(shift @ shift), math.sqrt(turn @ turn)


def _times(reference: Reference) -> np.ndarray:
    """Return the times at which the speed of a reference is looked at [s]."""
    return np.linspace(0.0, reference.duration, LOOKED_AT + 1)


def _interval(reference: Reference) -> float:
    """Return the time between two of :func:`_times` [s]."""
    return max(reference.duration, TINY) / LOOKED_AT


def _most(ways: Iterable[np.ndarray], size: Size) -> float:
    """Return the size of the longest way between two times; inf if the reference rests."""
    longest = max(size(way) for way in ways)
    return longest if longest > TINY else math.inf


@kernel
def _share(wanted: float, motion: float, programmed: float, least: float) -> float:
    """Return how much of an error may be made up in a tick.

    Args:
        wanted: Size of the step that would make it up.
        motion: Of the reference's in this tick.
        programmed: Of that at its programmed speed.
        least: Of the largest step where the reference rests.
    """
    most = max(max(RETURN_SHARE * programmed, least) - motion, 0.0)
    return 1.0 if wanted <= most else most / wanted


def _largest(step: np.ndarray) -> float:
    return float(np.abs(step).max())


def _norm(step: np.ndarray) -> float:
    return math.sqrt(float(step @ step))


@inner_kernel
def _size(twist: np.ndarray, first: int) -> float:
    """Return the size of the shift (``first`` = 0) or the turn (3) of a twist (6)."""
    x, y, z = twist[first], twist[first + 1], twist[first + 2]
    return math.sqrt(x * x + y * y + z * z)


@kernel
def _quadratic(
    jacobian: np.ndarray,
    weights: np.ndarray,
    twist: np.ndarray,
    motion: np.ndarray,
    programmed: np.ndarray,
    posture: np.ndarray,
    posture_weight: float,
    gain: float,
    returns: float,
    return_steps: np.ndarray,
    fastest: np.ndarray,
    waits: bool,
) -> tuple[np.ndarray, np.ndarray]:
    """Expand |J x - e|^2_W + weight |x - posture|^2, the weight relative to trace(H)/n.

    A reference that does not wait may be out of reach, and where the arm is stretched towards it
    J^T W J is singular: without more the command would swing from bound to bound. What that
    leaves out of the Hessian of |X^-1 X_ref|^2_W / 2 is how J changes, times the error, nothing
    where a reference is followed closely. A bound on it is added, the damping of Levenberg and
    Marquardt.

    Args:
        jacobian: J (6, n), tool frame.
        weights: (6) diagonal of W.
        twist: (6) to the reference, tool frame [m, rad].
        motion: (6) of the reference in this tick, tool frame.
        programmed: (6) what that would be at the programmed speed.
        posture: (n) way to the posture [rad].
        posture_weight: Relative weight of the posture.
        gain: Share of the way that is made up in a tick.
        returns: See :meth:`TrackingTask.objective`.
        return_steps: (2) shift [m] and turn [rad] of the way back in a tick.
        fastest: (2) the largest of them.
        waits: Whether the reference does.

    Returns:
        H (n, n), g (n).
    """
    n = posture.shape[0]
    error = gain * twist
    back = gain * posture
    if returns < math.inf:
        least = (
            min(returns * return_steps[0], fastest[0]),
            min(returns * return_steps[1], fastest[1]),
        )
        for part in range(2):
            sizes = _size(error, 3 * part), _size(motion, 3 * part), _size(programmed, 3 * part)
            share = _share(*sizes, least[part])
            for k in range(3 * part, 3 * part + 3):
                error[k] *= share
        farthest = np.abs(back).max()
        if farthest > least[1]:
            back *= max(least[1], 0.0) / farthest
    hessian = np.zeros((n, n))
    gradient = np.zeros(n)
    trace, lever = 0.0, 0.0
    for i in range(n):
        for k in range(6):
            weighted = weights[k] * jacobian[k, i]
            gradient[i] -= weighted * (error[k] + motion[k])
            for j in range(i + 1):
                hessian[i, j] += weighted * jacobian[k, j]
        trace += hessian[i, i]
        for j in range(i):
            hessian[j, i] = hessian[i, j]
        lever = max(lever, jacobian[0, i] ** 2 + jacobian[1, i] ** 2 + jacobian[2, i] ** 2)
    curvature = 0.0
    if not waits:
        shift, turn = _size(error, 0) / gain, _size(error, 3) / gain
        curvature = weights[0] * shift * math.sqrt(lever) + weights[3] * turn
    weight = posture_weight * trace / n
    for i in range(n):
        hessian[i, i] += weight + curvature
        gradient[i] -= weight * back[i]
    return hessian, gradient
