"""What is checked while the arm stands still and nobody touches it."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from contact_aware_control.node.config import HeldConfig
from contact_core.robot import Robot
from contact_stack.checks.check import Check, Status
from contact_stack.preflight.config import PreflightLimits


def state_rate(arrivals: Sequence[float], rate: float, limits: PreflightLimits) -> Check:
    """Check how often states arrive.

    Args:
        arrivals: Their arrival times [s].
        rate: How often they should [Hz].
        limits: What is accepted.

    Returns:
        The check.
    """
    name = "state rate"
    gaps = np.diff(arrivals)
    if gaps.size == 0:
        return Check(name, Status.FAIL, "no states", "start the driver and the robot's session")
    measured, longest = 1.0 / gaps.mean(), gaps.max() * rate
    found = f"{measured:.1f} Hz, longest gap {longest:.1f} periods"
    if abs(measured - rate) > limits.rate_error * rate:
        remedy = (
            f"set the driver's update_rate to {rate:g} and the robot's send period to "
            f"{1e3 / rate:g} ms"
        )
        return Check(name, Status.FAIL, f"{found} instead of {rate:g} Hz", remedy)
    if longest > limits.gap:
        remedy = "wire the robot directly to this machine and free its processors"
        return Check(name, Status.FAIL, found, remedy)
    return Check(name, Status.OK, found)


def joint_count(position: NDArray[np.float64], robot: Robot) -> Check:
    """Check that the driver reports the joints of the model.

    Args:
        position: (n) a measured position [rad].
        robot: The arm.

    Returns:
        The check.
    """
    name = "joints"
    if len(position) == robot.n:
        return Check(name, Status.OK, str(robot.n))
    found = f"the driver reports {len(position)}, the model has {robot.n}"
    return Check(name, Status.FAIL, found, "set arm.joint_names and robot to match")


def joint_limits(positions: NDArray[np.float64], robot: Robot, limits: PreflightLimits) -> Check:
    """Check that the arm stands still, and not at a position limit.

    Args:
        positions: (N, n) measured positions [rad].
        robot: The arm.
        limits: What is accepted.

    Returns:
        The check.
    """
    name = "limits"
    movement = np.ptp(positions, axis=0)
    if movement.max() > limits.movement:
        joint = robot.joint_names[int(movement.argmax())]
        found = f"{joint} moved by {movement.max():.3f} rad"
        return Check(name, Status.FAIL, found, "let the arm stand still, and do not touch it")
    lowest, highest = robot.position_limits
    distance = np.minimum(positions - lowest, highest - positions).min(axis=0)
    nearest = robot.joint_names[int(distance.argmin())]
    found = f"{nearest} is {distance.min():.2f} rad from its limit"
    if distance.min() < limits.position_margin:
        return Check(name, Status.FAIL, found, "move the arm away from the limit, by hand or panel")
    return Check(name, Status.OK, found)


def payload(
    positions: NDArray[np.float64],
    torques: NDArray[np.float64],
    robot: Robot,
    held: HeldConfig,
    limits: PreflightLimits,
) -> Check:
    """Check that the declared payload explains the external torque at rest.

    Args:
        positions: (N, n) measured positions [rad].
        torques: (N, n) external torques [Nm].
        robot: The arm.
        held: The declared payload.
        limits: What is accepted.

    Returns:
        The check.
    """
    robot.update(positions.mean(axis=0))
    weight = robot.gravity_torque_of_payload(held.mass, np.array(held.center_of_mass))
    rest = torques.mean(axis=0) - weight
    joint = int(np.abs(rest).argmax())
    found = f"at most {abs(rest[joint]):.2f} Nm unexplained, at {robot.joint_names[joint]}"
    if abs(rest[joint]) > limits.torque:
        remedy = (
            "set held_mass to what the gripper holds, and the tool's load data on the robot; "
            "let nothing touch the arm"
        )
        return Check("payload", Status.FAIL, found, remedy)
    return Check("payload", Status.OK, found)


def tare(tared: bool, free_torques: NDArray[np.float64], limits: PreflightLimits) -> Check:
    """Check that the estimator is tared, and finds no torque on a free arm.

    Args:
        tared: Whether it says so.
        free_torques: (N, n) external torques without payload and bias [Nm]; N may be 0.
        limits: What is accepted.

    Returns:
        The check.
    """
    if not tared or not len(free_torques):
        remedy = "start the estimator, let nothing touch the arm, and call contact_estimator/tare"
        return Check("tare", Status.FAIL, "the estimator is not tared", remedy)
    left = float(np.abs(free_torques.mean(axis=0)).max())
    found = f"at most {left:.2f} Nm left"
    if left > limits.torque:
        return Check("tare", Status.FAIL, found, "call contact_estimator/tare; touch nothing")
    return Check("tare", Status.OK, found)
