"""The tracking terms of the objective (24a): what the command's change is asked to do.

For a joint reference |x - dq_ref|^2; for a tool reference |J_ee x - e|^2_W in its place.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from typing import NamedTuple

import numpy as np
import pinocchio as pin

from contact_aware_control.config import ControllerConfig, TrackingConfig
from contact_aware_control.reference.base import (
    Assignment,
    JointReference,
    PoseReference,
    Reference,
)
from contact_core.errors import TrajectoryError
from contact_core.kernel import kernel
from contact_core.robot import Robot

RETURN_SHARE = 1.2
"""Of the programmed speed, for the way back to where contact has led the arm from."""

_STILL = np.zeros(1)


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
                RETURN_SHARE of the programmed speed, or than ``return_speed`` and
                ``return_rate`` times this; inf: as fast as it can be.

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

    def __init__(
        self, robot: Robot, reference: JointReference, config: TrackingConfig, period: float
    ) -> None:
        """Take the reference.

        Args:
            robot: The arm.
            reference: q_ref(t).
            config: Has the error rate.
            period: Time between ticks [s].
        """
        self._robot = robot
        self._reference = reference
        self._error_gain = min(1.0, config.error_rate * period)
        self._return_step = config.return_rate * period
        self._period = period
        self._identity = np.eye(robot.n)
        self._data = robot.model.createData()
        self._tool = robot.model.getFrameId(robot.tool_link)

    def objective(
        self, q: np.ndarray, time: float, rate: float = 1.0, returns: float = math.inf
    ) -> tuple[np.ndarray, np.ndarray]:
        """Return H = I, g = -dq_ref, see :meth:`TrackingTask.objective`."""
        now = self._reference.sample(time)
        following = self._reference.sample(time + rate * self._period)
        error = self._error_gain * (now - q)
        if returns < math.inf:
            programmed = self._reference.sample(time + self._period) - now
            error = _bounded(error, following - now, programmed, returns * self._return_step)
        wanted = error + following - now
        return self._identity.copy(), -wanted

    def error(self, time: float) -> tuple[float, float]:
        """Return the error of the tool pose, see :meth:`TrackingTask.error`."""
        # The reference's tool pose, without disturbing the robot at the measured q.
        model, data = self._robot.model, self._data
        pin.forwardKinematics(model, data, self._reference.sample(time))
        wanted = pin.updateFramePlacement(model, data, self._tool)
        return pose_distance(self._robot.tool_pose(), wanted)


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
        config: TrackingConfig,
        period: float,
    ) -> None:
        """Take the reference.

        Args:
            robot: The arm.
            reference: X_ref(t).
            posture: (n) joint positions to stay near [rad].
            config: Weights and the error gain.
            period: Time between ticks [s].
        """
        self._robot = robot
        self._reference = reference
        self._posture = posture
        self._posture_weight = config.posture_weight
        self._error_gain = min(1.0, config.error_rate * period)
        self._period = period
        self._return_steps = config.return_speed * period, config.return_rate * period
        self._weights = np.repeat([config.position_weight, config.rotation_weight], 3)
        self._data = robot.model.createData()
        self._tool = robot.model.getFrameId(robot.tool_link)
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
        error = pin.log6(pose.actInv(now)).vector
        error, posture = self._error_gain * error, self._error_gain * (self._posture - q)
        if returns < math.inf:
            shift, turn = slice(3), slice(3, 6)
            steps = [returns * step for step in self._return_steps]
            error[shift] = _bounded(error[shift], motion[shift], programmed[shift], steps[0])
            error[turn] = _bounded(error[turn], motion[turn], programmed[turn], steps[1])
            posture = _bounded(posture, _STILL, _STILL, steps[1])
        return _quadratic(
            pin.getFrameJacobian(model, data, self._tool, pin.LOCAL),
            self._weights,
            error + motion,
            posture,
            self._posture_weight,
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
        return JointTracking(robot, reference, config.tracking, config.period)
    assert isinstance(reference, PoseReference)
    return PoseTracking(robot, reference, posture, config.tracking, config.period)


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


def _bounded(
    error: np.ndarray, motion: np.ndarray, programmed: np.ndarray, least: float
) -> np.ndarray:
    """Return a step that reduces an error, or what speed on the way back leaves of it.

    Args:
        error: Wanted step.
        motion: Of the reference in this tick.
        programmed: Its motion at its programmed speed.
        least: Largest step where the reference rests.
    """
    most = max(RETURN_SHARE * float(np.abs(programmed).max()), least)
    most -= float(np.abs(motion).max())
    largest = float(np.abs(error).max())
    return error if largest <= most else error * (most / largest)


@kernel
def _quadratic(
    jacobian: np.ndarray,
    weights: np.ndarray,
    twist: np.ndarray,
    posture: np.ndarray,
    posture_weight: float,
) -> tuple[np.ndarray, np.ndarray]:
    """Expand |J x - e|^2_W + weight |x - posture|^2, the weight relative to trace(H)/n.

    Args:
        jacobian: J (6, n).
        weights: (6) diagonal of W.
        twist: e (6).
        posture: (n) step towards the posture.
        posture_weight: Relative weight of the posture.

    Returns:
        H (n, n), g (n).
    """
    n = posture.shape[0]
    hessian = np.zeros((n, n))
    gradient = np.zeros(n)
    trace = 0.0
    for i in range(n):
        for k in range(6):
            weighted = weights[k] * jacobian[k, i]
            gradient[i] -= weighted * twist[k]
            for j in range(i + 1):
                hessian[i, j] += weighted * jacobian[k, j]
        trace += hessian[i, i]
        for j in range(i):
            hessian[j, i] = hessian[i, j]
    weight = posture_weight * trace / n
    for i in range(n):
        hessian[i, i] += weight
        gradient[i] -= weight * posture[i]
    return hessian, gradient
