"""From one motion to the next: accelerations and jerks stay bounded where a reference jumps.

A new goal, a cancelled one, hold and resume change what is wanted from one tick to the next.
The wanted velocity of the command is then approached as fast as bounds on acceleration and
jerk allow, online, by Ruckig: Berscheid and Kröger, "Jerk-limited real-time trajectory
generation with arbitrary target states", 2021. Once it is reached, commands pass unchanged.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from ruckig import (
    ControlInterface,
    InputParameter,
    OutputParameter,
    Ruckig,
    RuckigError,
    Synchronization,
)

from contact_aware_control.safety.joint_bounds import JointBounds


@dataclass(frozen=True, slots=True, eq=False)
class TransitionState:
    """A transition that is under way.

    Attributes:
        motion: (3, n) of the last tick: the command's acceleration at its end and in the mean
            [rad/s^2], and the velocity that was wanted [rad/s]; None outside of a transition.
    """

    motion: np.ndarray | None = None


DONE = TransitionState()


class Transition:
    """Approaches a wanted velocity of the command."""

    def __init__(self, joints: int, bounds: JointBounds, period: float) -> None:
        """Set the bounds.

        Args:
            joints: Number of joints n.
            bounds: On acceleration and jerk; the step is left to others.
            period: Time between ticks [s].
        """
        self._period = period
        self._acceleration, self._jerk = bounds.acceleration, bounds.jerk
        self._generator = Ruckig(joints, period)
        self._result = OutputParameter(joints)
        self._input = InputParameter(joints)
        self._input.control_interface = ControlInterface.Velocity
        self._input.synchronization = Synchronization.No
        self._input.max_acceleration = [bounds.acceleration] * joints
        self._input.max_jerk = [bounds.jerk] * joints
        self._input.current_position = [0.0] * joints

    def step(
        self, state: TransitionState, begins: bool, velocity: np.ndarray, change: np.ndarray
    ) -> tuple[TransitionState, np.ndarray]:
        """Pass a change of the command, or what the bounds leave of it.

        Args:
            state: What is remembered.
            begins: Whether something else is wanted from this tick on.
            velocity: (n) of the command in the last tick [rad/s].
            change: (n) wanted q_cmd+ - q_cmd [rad].

        Returns:
            (what is remembered now; q_cmd+ - q_cmd (n) [rad]).
        """
        if state.motion is None and not begins:
            return DONE, change
        wanted = change / self._period
        needed = (wanted - velocity) / self._period
        most = self._jerk * self._period
        if state.motion is None:
            if np.abs(needed).max() <= most:
                return DONE, change
            acceleration = drift = np.zeros_like(change)
        else:
            acceleration, mean, before = state.motion
            drift = np.clip(
                (wanted - before) / self._period, -self._acceleration, self._acceleration
            )
            reached = np.abs(velocity - before).max() <= 0.5 * most * self._period
            if reached and np.abs(needed - mean).max() <= most:
                return DONE, change
        self._input.current_velocity = velocity.tolist()
        self._input.current_acceleration = acceleration.tolist()
        self._input.target_velocity = wanted.tolist()
        self._input.target_acceleration = drift.tolist()
        self._generator.reset()
        try:
            self._generator.update(self._input, self._result)
            following = np.array(self._result.new_velocity)
            end = np.array(self._result.new_acceleration)
        except (RuckigError, ValueError):
            # It fails on tiny bounds, its binding on motions of hours: then jerk may be anything.
            end = np.clip(needed, -self._acceleration, self._acceleration)
            following = velocity + end * self._period
        motion = np.array([end, (following - velocity) / self._period, wanted])
        return TransitionState(motion), following * self._period
