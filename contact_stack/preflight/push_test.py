"""The guided push: which sign the external torque has, and how stiff the joints are.

A person pushes the arm. In joint impedance control it gives way by K^-1 tau_ext, so that the
changes of torque and position from rest have the same sign, and their ratio is the stiffness.
Neither a bias of the torque nor an unknown commanded position matters.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from contact_stack.checks.check import Check, Status
from contact_stack.preflight.config import PreflightLimits

MIN_SAMPLES = 50
"""Samples of a push at a joint before it counts."""


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

    @property
    def reached(self) -> NDArray[np.intp]:
        """The joints that were pushed long enough."""
        return np.flatnonzero((self._count >= MIN_SAMPLES) & (self._bend > 0.0))

    @property
    def complete(self) -> bool:
        """Whether enough joints were pushed."""
        return len(self.reached) >= self._limits.pushed_joints

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
            found = f"{len(self.reached)} of {self._limits.pushed_joints} joints were pushed"
            remedy = "push the wrist harder, sideways and down, and hold each push for a second"
            return (Check("torque sign", Status.FAIL, found, remedy),)
        measured = self.stiffness()
        names = [self._names[joint] for joint in self.reached]
        if (measured <= 0.0).any():
            found = f"opposite to the motion at {_join(names, measured <= 0.0)}"
            remedy = "set arm.torque_sign to the other sign, or check the robot's axis directions"
            return (Check("torque sign", Status.FAIL, found, remedy),)
        sign = Check("torque sign", Status.OK, f"that of the push, at {', '.join(names)}")
        wanted = self._stiffness[self.reached]
        found = ", ".join(
            f"{name} {value:.0f} (set: {target:.0f})"
            for name, value, target in zip(names, measured, wanted, strict=True)
        )
        wrong = np.abs(measured - wanted) > self._limits.stiffness_error * wanted
        if wrong.any():
            remedy = "make joint_stiffness equal to what is set on the robot's panel"
            return sign, Check("stiffness", Status.FAIL, f"{found} Nm/rad", remedy)
        return sign, Check("stiffness", Status.OK, f"{found} Nm/rad")


def _join(names: Sequence[str], chosen: NDArray[np.bool_]) -> str:
    return ", ".join(name for name, is_chosen in zip(names, chosen, strict=True) if is_chosen)
