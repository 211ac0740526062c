"""Whether a driver's measured joint torque is what it is taken for, told by the arm's weight.

At rest g(q) = tau_m + tau_ext. A torque of the other sign misses that by twice what the arm
weighs, one that leaves the weight out by once; read the right way it fits.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from contact_core.base.errors import ConfigError
from contact_core.robot.arm_state import ArmState, TorqueKind
from contact_core.robot.robot import Robot

LEFT = 0.3
"""Share of an error that is left, at most, once the torque is read the right way."""

MIN_WEIGHT_ERROR, SHARE, NOISES = 5.0, 0.5, 5.0
"""Smallest error of a joint that is taken for one of sign or kind [Nm]; of an arm that weighs
little it is a share of its heaviest torque, but not below so many times the sensors' noise."""

POSES = 100
"""So many are drawn, where it is not known where an arm is heaviest."""

PATIENCE = 500_000_000
"""So long it has to last: contacts and the driver's filters are quicker [ns]."""

MAX_OVER_EFFORT = 5.0
"""A torque of a joint over its effort limit, up to where it is believed."""


def is_believed(torque: np.ndarray, robot: Robot) -> bool:
    """Tell whether a torque is one an arm can have: a number for each joint, none absurd.

    Args:
        torque: Supposed to be (n) [Nm].
        robot: The arm.
    """
    if np.shape(torque) != (robot.n,):
        return False
    believed = np.abs(torque) <= MAX_OVER_EFFORT * robot.effort_limits  # which may be infinite
    return bool((believed & np.isfinite(torque)).all())


@dataclass(frozen=True)
class TorqueReading:
    """How a driver's measured joint torque is taken.

    Attributes:
        sign: 1.0 if it is positive where it accelerates the joint, else -1.0.
        kind: What it is, with or without the arm's weight.
    """

    sign: float = 1.0
    kind: TorqueKind = TorqueKind.GRAVITY_INCLUDED

    def found_instead(self, right: TorqueReading) -> str:
        """Say what is wrong with this reading.

        Args:
            right: The reading that fits.
        """
        found = []
        if right.sign != self.sign:
            found.append("measured torque has the opposite sign")
        if right.kind is not self.kind:
            has = "has" if right.kind is TorqueKind.GRAVITY_INCLUDED else "leaves out"
            found.append(f"measured torque {has} the arm's weight")
        return " and ".join(found)

    def remedy(self, right: TorqueReading) -> str:
        """Say which parameters to set.

        Args:
            right: The reading that fits.
        """
        found = []
        if right.sign != self.sign:
            found.append(f"arm.joint_torque_sign to {right.sign}")
        if right.kind is not self.kind:
            found.append(f"arm.joint_torque_kind to {right.kind.value}")
        return f"set {' and '.join(found)}"


def weight_error(torque: np.ndarray, external: np.ndarray, gravity: np.ndarray) -> np.ndarray:
    """Return by how much the joints of an arm at rest carry something else than its weight.

    Args:
        torque: (n) tau_m [Nm].
        external: (n) tau_ext [Nm].
        gravity: (n) g(q) [Nm].

    Returns:
        (n) tau_m + tau_ext - g [Nm].
    """
    return torque + external - gravity


def better_reading(
    torque: np.ndarray, external: np.ndarray, gravity: np.ndarray, reading: TorqueReading
) -> TorqueReading | None:
    """Find the way to take a driver's torque that makes the joints carry the arm's weight.

    Args:
        torque: (n) tau_m by the present reading, of an arm at rest [Nm].
        external: (n) tau_ext [Nm].
        gravity: (n) g(q) [Nm].
        reading: The present reading.

    Returns:
        A reading that leaves less than LEFT of the present error; None if none does.
    """
    most = LEFT * np.linalg.norm(weight_error(torque, external, gravity))
    reported = reading.sign * (torque - _left_out(reading.kind, gravity))
    same, other = reading.kind, _OTHER[reading.kind]
    # Without its weight an arm at rest tells nothing of the sign: it is left as it is.
    for sign, kind in ((-reading.sign, same), (reading.sign, other), (-reading.sign, other)):
        read = sign * reported + _left_out(kind, gravity)
        if np.linalg.norm(weight_error(read, external, gravity)) < most:
            return TorqueReading(sign, kind)
    return None


def smallest_error(robot: Robot) -> float:
    """Return from where on an error of a joint's torque may be one of sign or kind [Nm].

    Args:
        robot: The arm.
    """
    low, high = np.clip(robot.position_limits, -math.pi, math.pi)
    poses = np.random.default_rng(0).uniform(low, high, (POSES, robot.n))
    heaviest = max(float(np.abs(robot.gravity_torque(pose)).max()) for pose in poses)
    noise = NOISES * float(robot.torque_noise.max())
    return min(MIN_WEIGHT_ERROR, max(SHARE * heaviest, noise))


BEGINNING = 250_000_000
"""How long nothing touches the arm at the beginning of a recording [ns]."""


def check_joint_torques(states: Sequence[ArmState], robot: Robot) -> None:
    """Check that the joints carry the arm's weight at the beginning of a recording.

    Args:
        states: The recording; nothing touches the arm in its first BEGINNING.
        robot: The arm.

    Raises:
        ConfigError: If they do by another reading of the torques, or miss more than all of it.
    """
    first = [state for state in states if state.stamp - states[0].stamp <= BEGINNING]
    torque = np.mean([state.joint_torque for state in first if state.joint_torque is not None], 0)
    gravity = np.mean([robot.gravity_torque(state.position) for state in first], 0)
    error, taken = weight_error(torque, np.zeros(robot.n), gravity), TorqueReading()
    if np.abs(error).max() <= smallest_error(robot):
        return
    found = "the joint torques do not carry the arm's weight at the beginning: "
    if right := better_reading(torque, np.zeros(robot.n), gravity, taken):
        raise ConfigError(
            f"{found}{taken.found_instead(right)} (valid: with the weight, positive where they "
            "accelerate the joint)"
        )
    if np.linalg.norm(error) > np.linalg.norm(gravity):
        raise ConfigError(
            f"{found}they are {torque.round(1).tolist()} Nm, it is {gravity.round(1).tolist()} Nm "
            "(is it this arm, are they in Nm, and in the order of its joints?)"
        )


_OTHER = {
    TorqueKind.GRAVITY_INCLUDED: TorqueKind.GRAVITY_COMPENSATED,
    TorqueKind.GRAVITY_COMPENSATED: TorqueKind.GRAVITY_INCLUDED,
}


def _left_out(kind: TorqueKind, gravity: np.ndarray) -> np.ndarray:
    return gravity if kind is TorqueKind.GRAVITY_COMPENSATED else np.zeros(gravity.size)


class JointTorqueWatch:
    """Tells in motion, too, that a joint torque is taken for what it is not.

    Attributes:
        right: The reading that fits instead of the present one; None while that one does. Once
            found it stays, for where the arm hangs down the torques tell nothing.
    """

    def __init__(self, robot: Robot, reading: TorqueReading) -> None:
        """Start without a sample.

        Args:
            robot: The arm.
            reading: How its driver's torque is taken.
        """
        self._robot, self._reading, self._smallest = robot, reading, smallest_error(robot)
        self.reset()

    def reset(self) -> None:
        """Forget everything."""
        self.right: TorqueReading | None = None
        self._since: int | None = None

    def update(self, state: ArmState) -> None:
        """Process one sample.

        Args:
            state: Positions and torques; without a joint torque it tells nothing.
        """
        torque, external = state.joint_torque, state.external_torque
        if torque is None or self.right is not None:
            return
        gravity = self._robot.gravity_torque(state.position)
        found = None
        if np.abs(weight_error(torque, external, gravity)).max() > self._smallest:
            found = better_reading(torque, external, gravity, self._reading)
        if found is None or self._since is None or state.stamp < self._since:
            self._since = None if found is None else state.stamp
        elif state.stamp - self._since >= PATIENCE:
            self.right = found
