"""What the external torque alone tells: too much of it, and the least force that explains it.

A second line of defence behind the contact estimator. It knows no contact, no place and no
link, only tau_ext of every joint as the driver reports it. Two things follow from it:

- a torque, or its rate, beyond a limit is a latched fault with a reaction of its own;
- the forces on the robot add up to a least force, by the longest lever arms. Where that is
  more than the force limits allow and the located contacts do not account for it, the arm
  gives way.

Bias and payload are part of what the driver reports; they are known as the slow difference to
the torque that the estimator compensated, as far as that is believed.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np

from contact_aware_control.config import ReflexConfig
from contact_aware_control.contact import ContactReport
from contact_aware_control.lever_arms import LeverArms, fill_lever_arms
from contact_core.base.kernel import kernel
from contact_core.robot.arm_state import ArmState
from contact_core.robot.robot import Robot

RATE_TIME, OFFSET_TIME, TOLD_TIME, MOTION_TIME = 0.02, 0.2, 0.05, 0.1
"""Time constants of the rate of tau_ext, of bias and payload, as they are believed and as they are
told, and of the command's velocity [s]."""

STANDSTILL = 1e-3
"""A command that moves more slowly has no direction to retract from [rad/s]."""


@dataclass(frozen=True, slots=True, eq=False)
class ReflexState:
    """What the reflex remembers from tick to tick.

    Attributes:
        stamp: Of the last joint state that was looked at [ns]; -1 before the first one.
        memory: (5, n) tau_ext low-passed for its rate [Nm]; bias and payload within tau_ext
            [Nm]; the command of the last tick [rad], and its low-passed velocity [rad/s]; bias
            and payload as the estimator says [Nm]. None before the first joint state.
        unexplained_for: For how long more force than allowed has been unexplained [s].
        force: What the torque proves of the forces on the robot [N].
        force_ratio: The same over what is allowed.
        unexplained_force: The force it proves, while the contacts have failed to account for
            it; else 0 [N].
        retreat: (n) where a retraction ends [rad]; None without one.
    """

    stamp: int = -1
    memory: np.ndarray | None = None
    unexplained_for: float = 0.0
    force: float = 0.0
    force_ratio: float = 0.0
    unexplained_force: float = 0.0
    retreat: np.ndarray | None = None

    @property
    def offset(self) -> np.ndarray | None:
        """(n) bias and payload within tau_ext [Nm]; None before the first joint state."""
        return None if self.memory is None else self.memory[1]

    @property
    def told_offset(self) -> np.ndarray | None:
        """(n) the same as the estimator says, within the arm's effort [Nm]: never for safety."""
        return None if self.memory is None else self.memory[4]


class Reflex:
    """Watches tau_ext, and moves the command when there is too much of it."""

    def __init__(
        self, robot: Robot, config: ReflexConfig, stiffness: np.ndarray, period: float
    ) -> None:
        """Scale the limits by the arm's.

        Args:
            robot: The arm; it is updated.
            config: Limits, reaction and times.
            stiffness: (n) diagonal of K [Nm/rad].
            period: Time between ticks [s].
        """
        self._config = config
        self._period = period
        self._stiffness = stiffness
        self._names = robot.joint_names
        shares = (
            config.torque_share,
            config.rate_share,
            config.torque_margin_share,
            config.offset_share,
            1.0,
        )
        self._bounds = np.outer(shares, robot.effort_limits)
        self._bounds[2] = np.maximum(self._bounds[2], robot.torque_error)
        self._retract_step = config.retract_speed * period
        self._chain, self._spheres = LeverArms(robot, config.held_reach).geometry

    @property
    def moves(self) -> bool:
        """Whether the reaction moves the command."""
        return self._config.reaction != "hold"

    def watch(
        self,
        state: ReflexState,
        arm: ArmState,
        command: np.ndarray | None,
        report: ContactReport | None,
        claimed: float,
        allowed: float,
    ) -> tuple[ReflexState, str]:
        """Look at a joint state.

        Args:
            state: What is remembered.
            arm: The latest joint state; one that has been looked at changes nothing.
            command: (n) the present command q_cmd [rad]; None while there is none.
            report: The latest contacts, or None if they are too old to be believed.
            claimed: Sum of the contact forces that are located [N].
            allowed: Sum of the forces that contacts may have [N]; inf: whatever they like.

        Returns:
            (what is remembered now; the torque that is too large, in words, mostly empty).
        """
        torque = arm.external_torque
        if arm.stamp == state.stamp or len(torque) != len(self._stiffness):
            return state, ""
        if command is None:
            command = arm.position
        memory, elapsed = state.memory, 1e-9 * (arm.stamp - state.stamp)
        if memory is None:
            nothing = np.zeros_like(torque)
            memory = np.array([torque, nothing, command, nothing, nothing])
        elapsed = max(elapsed, self._period) if state.stamp >= 0 else self._period
        free_torque = None if report is None else report.free_torque
        remembered, joint, force = _watch(
            torque,
            _UNKNOWN if free_torque is None else free_torque,
            command,
            memory,
            elapsed,
            self._bounds,
            arm.position,
            self._chain,
            self._spheres,
        )
        excess = force > allowed and force > claimed
        lasts = state.unexplained_for + elapsed if excess else 0.0
        if state.unexplained_force > 0.0:
            # Until the torque is within its margin, or the arm would press again and again.
            unexplained = force > claimed
        else:
            unexplained = excess and lasts > self._config.force_time
        detail = "" if joint < 0 else self._detail(joint, torque[joint], memory[0, joint], elapsed)
        return (
            ReflexState(
                arm.stamp,
                remembered,
                lasts,
                force,
                force / allowed,
                force if unexplained else 0.0,
                state.retreat,
            ),
            detail,
        )

    def _detail(self, joint: int, torque: float, filtered: float, elapsed: float) -> str:
        """Say which limit a joint exceeds."""
        name, limit = self._names[joint], self._bounds[0, joint]
        if not abs(torque) <= limit:
            return f"external torque of {name}: {torque:.4g} Nm (limit {limit:.4g} Nm)"
        rate = (torque - filtered) / (RATE_TIME + elapsed)
        limit = self._bounds[1, joint]
        return f"external torque of {name} changes by {rate:.4g} Nm/s (limit {limit:.4g} Nm/s)"

    def react(
        self, state: ReflexState, arm: ArmState, command: np.ndarray
    ) -> tuple[ReflexState, np.ndarray]:
        """Move the command after a fault, as the parameter asks.

        Args:
            state: From :meth:`watch`.
            arm: The latest joint state.
            command: (n) the present command q_cmd [rad].

        Returns:
            (what is remembered now; the wanted q_cmd+ - q_cmd (n) [rad]).
        """
        assert state.memory is not None
        if self._config.reaction == "float":
            # Where the springs carry nothing but bias and payload, (5).
            return state, arm.position - state.memory[1] / self._stiffness - command
        if state.retreat is None:
            state = replace(state, retreat=self._retreat(state.memory[3], command))
        assert state.retreat is not None
        step = self._retract_step
        return state, np.clip(state.retreat - command, -step, step)

    def _retreat(self, motion: np.ndarray, command: np.ndarray) -> np.ndarray:
        """Return where to go back to: against the last motion, the fastest joint that far."""
        speed = float(np.abs(motion).max())
        if speed < STANDSTILL:
            return command
        target: np.ndarray = command - motion * (self._config.retract_distance / speed)
        return target


_UNKNOWN = np.zeros(0)
"""Stands for a torque without bias and payload that nobody tells."""


@kernel
def _watch(
    torque: np.ndarray,
    free_torque: np.ndarray,
    command: np.ndarray,
    memory: np.ndarray,
    elapsed: float,
    bounds: np.ndarray,
    position: np.ndarray,
    chain: np.ndarray,
    spheres: np.ndarray,
) -> tuple[np.ndarray, int, float]:
    """Filter the torque and compare; NaN, of a driver without torques, exceeds nothing.

    Returns:
        (the memory now; the first joint beyond a limit, or -1; the force that is proven [N]).
    """
    n = torque.shape[0]
    now, levers = memory.copy(), np.empty(n)
    fill_lever_arms(position, chain, spheres, n, levers)
    told = free_torque.shape[0] == n
    first = -1
    force = 0.0
    for j in range(n):
        change = torque[j] - memory[0, j]
        rate = abs(change) / (RATE_TIME + elapsed)
        if first < 0 and (abs(torque[j]) > bounds[0, j] or rate > bounds[1, j]):
            first = j
        # Bounded, lest an absurd torque is remembered for long.
        smooth = now[0, j] + elapsed / (RATE_TIME + elapsed) * change
        now[0, j] = min(max(smooth, -bounds[0, j]), bounds[0, j]) if smooth == smooth else 0.0
        if told and math.isfinite(torque[j] - free_torque[j]):
            for row, time, most in ((1, OFFSET_TIME, bounds[3, j]), (4, TOLD_TIME, bounds[4, j])):
                share = elapsed / (time + elapsed)
                known = now[row, j] + share * (torque[j] - free_torque[j] - now[row, j])
                now[row, j] = min(max(known, -most), most)
        speed = (command[j] - memory[2, j]) / elapsed
        now[2, j] = command[j]
        now[3, j] += elapsed / (MOTION_TIME + elapsed) * (speed - now[3, j])
        force = max(force, (abs(torque[j] - now[1, j]) - bounds[2, j]) / levers[j])
    return now, first, force
