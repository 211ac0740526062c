"""What is checked before the controller is activated: the arm at rest, and a guided push.

In joint impedance control an arm that is pushed gives way by K^-1 tau_ext, so that the changes of
torque and position from rest have the same sign, and their ratio is the stiffness. Neither a bias
of the torque nor an unknown commanded position matters.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from contact_aware_control.estimation.joint_torque import (
    TorqueReading,
    better_reading,
    weight_error,
)
from contact_aware_control.node.config import HeldConfig
from contact_aware_control.safety.state_checks import condition_of
from contact_core.base.config import parameter
from contact_core.robot.arm_state import ArmState
from contact_core.robot.robot import Robot
from contact_stack.checks import Check

MAX_MOVEMENT = 0.01
"""Movement of an arm at rest [rad]."""

MIN_DISTANCE = 0.05
"""Distance from a position limit [rad]."""

PUSHED_JOINTS = 3
"""A push at the tool reaches so many."""

STIFFNESS_ERROR = 0.25
"""Largest relative error of a stiffness that is measured by hand."""

EXCHANGED = 0.3
"""Share of an error that is left once the joints that were exchanged are told apart."""


@dataclass(frozen=True)
class PreflightLimits:
    """What the checks accept."""

    rate_error: float = parameter(
        0.05, "largest relative error of the rate of the joint states", above=0.0, high=1.0
    )
    gap: float = parameter(
        3.0, "longest time between two joint states", unit="periods", low=1.0, high=100.0
    )
    torque: float = parameter(
        1.0,
        "largest external torque at rest that payload and tare may leave unexplained",
        unit="Nm",
        above=0.0,
        high=20.0,
    )
    weight: float = parameter(
        10.0,
        "largest torque at rest by which the joints carry another weight than the model's",
        unit="Nm",
        above=0.0,
        high=100.0,
    )
    push_torque: float = parameter(
        2.0, "torque at a joint that counts as a push", unit="Nm", above=0.0, high=20.0
    )


def state_rate(times: ArrayLike, rate: float, limits: PreflightLimits) -> Check:
    """Check how often states are sent, by their stamps, and how often they arrive.

    Args:
        times: (N, 2) stamps of the states and times at which they arrived [s]; N may be 0.
        rate: How often they should [Hz].
        limits: What is accepted.

    Returns:
        The check.
    """
    name = "state rate"
    steps, gaps = np.diff(np.reshape(times, (-1, 2)), axis=0).T
    if gaps.size == 0:
        return Check.fail(name, "no states", "check that driver and session run, see /diagnostics")
    # The median: a state that is lost leaves a step of two periods. Stamps may stand still.
    sent = 1.0 / max(float(np.median(steps)), 1e-9)
    arrived, longest = 1.0 / gaps.mean(), gaps.max() * rate
    found = f"{arrived:.1f} Hz, longest gap {longest:.1f} periods"
    if abs(sent - rate) > limits.rate_error * rate:
        found = f"sent at {sent:.1f} Hz by their stamps instead of {rate:g} Hz"
        remedy = (
            f"set the driver's update_rate to {rate:g} and the robot's send period to "
            f"{1e3 / rate:g} ms"
        )
        return Check.fail(name, found, remedy)
    remedy = "wire the robot directly to this machine and free its processors"
    if abs(arrived - rate) > limits.rate_error * rate:
        found = f"sent at {sent:.1f} Hz by their stamps, they arrive at {found}"
        return Check.fail(name, found, remedy)
    if longest > limits.gap:
        return Check.fail(name, found, remedy)
    return Check.ok(name, found)


def session(state: ArmState) -> Check:
    """Check that the robot follows commands, as far as the driver tells.

    Where it does not, brakes may carry the weight, and nothing gives way to a push.

    Args:
        state: A state of the arm at rest.

    Returns:
        The check.
    """
    found = condition_of(state)
    if found is None:
        return Check.ok("session", "commanding, as far as the driver tells")
    remedy = found.status.remedy.partition(", then call resume")[0]
    return Check.fail("session", found.detail, remedy)


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
        return Check.ok(name, str(robot.n))
    found = f"the driver reports {len(position)}, the model has {robot.n}"
    return Check.fail(name, found, "set arm.joint_names and robot to match")


def joint_limits(positions: NDArray[np.float64], robot: Robot) -> Check:
    """Check that the arm stands still, and not at a position limit.

    Args:
        positions: (N, n) measured positions [rad].
        robot: The arm.

    Returns:
        The check.
    """
    name = "limits"
    movement = np.ptp(positions, axis=0)
    if movement.max() > MAX_MOVEMENT:
        joint = robot.joint_names[int(movement.argmax())]
        found = f"{joint} moved by {movement.max():.3f} rad"
        return Check.fail(name, found, "let the arm stand still, and do not touch it")
    lowest, highest = robot.position_limits
    distance = np.minimum(positions - lowest, highest - positions).min(axis=0)
    nearest = robot.joint_names[int(distance.argmin())]
    found = f"{nearest} is {distance.min():.2f} rad from its limit"
    if distance.min() < MIN_DISTANCE:
        return Check.fail(name, found, "move the arm away from the limit, by hand or panel")
    return Check.ok(name, found)


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
        return Check.fail("payload", found, remedy)
    return Check.ok("payload", found)


def weight(
    positions: NDArray[np.float64],
    torques: NDArray[np.float64],
    joint_torques: NDArray[np.float64],
    robot: Robot,
    limits: PreflightLimits,
    reading: TorqueReading,
) -> Check:
    """Check that the joints carry the weight of the model where they say they are.

    At rest g(q) = tau_m + tau_ext. Joints that are taken for each other, from the first state on,
    show nowhere else, nor does a measured torque of the other sign or without the arm's weight.

    Args:
        positions: (N, n) measured positions [rad].
        torques: (N, n) external torques [Nm].
        joint_torques: (N, n) torques of the joints [Nm].
        robot: The arm.
        limits: What is accepted.
        reading: How the driver's joint torque is taken.

    Returns:
        The check.
    """
    name, names = "weight", robot.joint_names
    position, external = positions.mean(axis=0), torques.mean(axis=0)
    measured, gravity = joint_torques.mean(axis=0), robot.gravity_torque(position)
    off = weight_error(measured, external, gravity)
    joint = int(np.abs(off).argmax())
    found = f"at most {abs(off[joint]):.1f} Nm other than the model's, at {names[joint]}"
    right = better_reading(measured, external, gravity, reading)
    if np.abs(off).max() > limits.weight and right is not None:
        return other_reading(reading, right, found)
    pairs = list(itertools.combinations(range(robot.n), 2))
    exchanged = []
    for a, b in pairs:
        order = np.arange(robot.n)
        order[[a, b]] = b, a
        carried = robot.gravity_torque(position[order])
        exchanged.append(np.linalg.norm(weight_error(measured[order], external[order], carried)))
    best = int(np.argmin(exchanged))
    if np.abs(off).max() > limits.torque and exchanged[best] < EXCHANGED * np.linalg.norm(off):
        first, second = (names[joint] for joint in pairs[best])
        found = f"{found}; it would fit if {first} and {second} were exchanged"
        remedy = "set arm.joint_names to the driver's names, from the base to the flange"
        return Check.fail(name, found, remedy)
    if np.abs(off).max() > limits.weight:
        remedy = (
            "compare joint_states with the positions on the panel, joint by joint; set "
            "arm.joint_names and robot to match, and arm.joint_torque_kind to what the driver "
            "reports"
        )
        return Check.fail(name, found, remedy)
    return Check.ok(name, found)


def other_reading(reading: TorqueReading, right: TorqueReading, found: str = "") -> Check:
    """Say that the measured joint torque is not what it is taken for.

    Args:
        reading: What it is taken for.
        right: What it is.
        found: What else was found.

    Returns:
        The check, which failed.
    """
    detail = "; ".join(filter(None, [found, reading.found_instead(right)]))
    return Check.fail("weight", detail, reading.remedy(right))


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
        return Check.fail("tare", "the estimator is not tared", remedy)
    left = float(np.abs(free_torques.mean(axis=0)).max())
    found = f"at most {left:.2f} Nm left"
    if left > limits.torque:
        return Check.fail("tare", found, "call contact_estimator/tare; touch nothing")
    return Check.ok("tare", found)


MIN_SAMPLES = 50
"""Samples of a push at a joint before it counts."""

RELEASED = 0.5
"""Share of a push that is left when the hand has let go."""


class PushTest:
    """Collects samples while a person pushes the arm."""

    def __init__(
        self,
        rest_position: NDArray[np.float64],
        rest_torque: NDArray[np.float64],
        joint_names: Sequence[str],
        stiffness: Sequence[float],
        limits: PreflightLimits,
    ) -> None:
        """Begin.

        Args:
            rest_position: (n) measured position before the push [rad].
            rest_torque: (n) external torque before the push [Nm].
            joint_names: Names of the joints.
            stiffness: (n) diagonal of K as configured [Nm/rad].
            limits: What is accepted.
        """
        self._rest_position = rest_position
        self._rest_torque = rest_torque
        self._names = joint_names
        self._stiffness = np.array(stiffness)
        self._limits = limits
        joints = len(rest_position)
        self._count = np.zeros(joints, dtype=int)
        # Sums of dq^2 and dq dtau over the samples of a joint's pushes.
        self._bend = np.zeros(joints)
        self._work = np.zeros(joints)
        self._free = 0

    def add(self, position: NDArray[np.float64], torque: NDArray[np.float64]) -> None:
        """Take a sample.

        Args:
            position: (n) measured position [rad].
            torque: (n) external torque [Nm].
        """
        change, bend = torque - self._rest_torque, position - self._rest_position
        pushed = np.abs(change) >= self._limits.push_torque
        self._count += pushed
        self._bend += np.where(pushed, bend**2, 0.0)
        self._work += np.where(pushed, bend * change, 0.0)
        still = np.abs(change).max() < RELEASED * self._limits.push_torque
        self._free = self._free + 1 if still else 0

    @property
    def released(self) -> bool:
        """Whether the hand has let go, so that commands can begin where the arm is."""
        return self._free >= MIN_SAMPLES

    @property
    def reached(self) -> NDArray[np.intp]:
        """The joints that were pushed long enough."""
        return np.flatnonzero((self._count >= MIN_SAMPLES) & (self._bend > 0.0))

    @property
    def complete(self) -> bool:
        """Whether enough joints were pushed."""
        return len(self.reached) >= PUSHED_JOINTS

    def stiffness(self) -> NDArray[np.float64]:
        """Return the measured stiffness of the joints that were reached [Nm/rad].

        Least squares of dtau = K dq; negative where torque and motion have opposite signs.
        """
        ratio: NDArray[np.float64] = self._work[self.reached] / self._bend[self.reached]
        return ratio

    def checks(self) -> tuple[Check, ...]:
        """Judge the push.

        Returns:
            Of the sign of the torque, and of the stiffness.
        """
        if not self.complete:
            found = f"{len(self.reached)} of {PUSHED_JOINTS} joints were pushed"
            remedy = "push the wrist harder, sideways and down, and hold each push for a second"
            return (Check.fail("torque sign", found, remedy),)
        if not self.released:
            found = "it never let go"
            return (Check.fail("hand", found, "push, and then let go of the arm"),)
        measured = self.stiffness()
        names = [self._names[joint] for joint in self.reached]
        if (measured <= 0.0).any():
            found = f"opposite to the motion at {_join(names, measured <= 0.0)}"
            remedy = "set arm.torque_sign to the other sign, or check the robot's axis directions"
            return (Check.fail("torque sign", found, remedy),)
        sign = Check.ok("torque sign", f"that of the push, at {', '.join(names)}")
        wanted = self._stiffness[self.reached]
        found = ", ".join(
            f"{name} {value:.0f} (set: {target:.0f})"
            for name, value, target in zip(names, measured, wanted, strict=True)
        )
        wrong = np.abs(measured - wanted) > STIFFNESS_ERROR * wanted
        if wrong.any():
            remedy = "make joints.stiffness in the robot's file what is set on the robot"
            return sign, Check.fail("stiffness", f"{found} Nm/rad", remedy)
        return sign, Check.ok("stiffness", f"{found} Nm/rad")


def _join(names: Sequence[str], chosen: NDArray[np.bool_]) -> str:
    return ", ".join(name for name, is_chosen in zip(names, chosen, strict=True) if is_chosen)
