"""What the external torque alone tells: too much of it, and the least force that explains it.

A second line of defence behind the contact estimator. It knows no contact, no place and no
link, only tau_ext of every joint as the driver reports it. Two things follow from it:

- a torque, or its rate, beyond a limit is a latched fault with a reaction of its own;
- a force f at a point whose distance from the axis of joint j is d_j causes at most
  |tau_j| = d_j |f|. So the forces on the robot add up to max_j |tau_j| / l_j at least, where
  l_j is the largest distance that any point of the links beyond joint j has. Where that is
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
from contact_core.arm_state import ArmState
from contact_core.kernel import kernel
from contact_core.robot import Robot

RATE_TIME, OFFSET_TIME, MOTION_TIME = 0.02, 0.2, 0.1
"""Time constants of the rate of tau_ext, of bias and payload, of the command's velocity [s]."""

LEAST_LEVER = 0.05
"""No lever arm is taken to be shorter, so that noise at the wrist is no force [m]."""

STANDSTILL = 1e-3
"""A command that moves more slowly has no direction to retract from [rad/s]."""


@dataclass(frozen=True, slots=True, eq=False)
class ReflexState:
    """What the reflex remembers from tick to tick.

    Attributes:
        stamp: Of the last joint state that was looked at [ns]; -1 before the first one.
        memory: (4, n) tau_ext low-passed for its rate [Nm]; bias and payload within tau_ext
            [Nm]; the command of the last tick [rad], and its low-passed velocity [rad/s]. None
            before the first joint state.
        unexplained_for: For how long more force than allowed has been unexplained [s].
        force_ratio: What the torque proves of the forces on the robot, over what is allowed.
        unexplained_force: The force it proves, while the contacts have failed to account for
            it; else 0 [N].
        retreat: (n) where a retraction ends [rad]; None without one.
    """

    stamp: int = -1
    memory: np.ndarray | None = None
    unexplained_for: float = 0.0
    force_ratio: float = 0.0
    unexplained_force: float = 0.0
    retreat: np.ndarray | None = None

    @property
    def offset(self) -> np.ndarray | None:
        """(n) bias and payload within tau_ext [Nm]; None before the first joint state."""
        return None if self.memory is None else self.memory[1]


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
        )
        self._bounds = np.outer(shares, robot.effort_limits)
        self._retract_step = config.retract_speed * period
        self._frames, self._spheres = _geometry(robot, config.held_reach)

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
            memory = np.array([torque, np.zeros_like(torque), command, np.zeros_like(torque)])
        elapsed = max(elapsed, self._period) if state.stamp >= 0 else self._period
        free_torque = None if report is None else report.free_torque
        remembered, joint, force = _watch(
            arm.position,
            torque,
            _UNKNOWN if free_torque is None else free_torque,
            command,
            memory,
            elapsed,
            self._bounds,
            self._frames,
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


def _geometry(robot: Robot, held_reach: float) -> tuple[np.ndarray, np.ndarray]:
    """Return what the lever arms follow from.

    Args:
        robot: The arm; it is updated.
        held_reach: How far an object in the gripper reaches from the tool's origin [m].

    Returns:
        (n, 5, 3): rotation, origin [m] and axis of every joint in the frame of the one before;
        (s, 5): spheres around collision shapes and held object: index of the joint that moves
        it, centre in that joint's frame, radius [m].
    """
    model = robot.model
    robot.update(np.zeros(robot.n))
    axes = np.einsum("kji,kj->ki", robot.joint_rotations, robot.joint_axes)
    frames = np.empty((robot.n, 5, 3))
    for k in range(robot.n):
        placement = model.jointPlacements[k + 1]
        frames[k] = [*placement.rotation, placement.translation, axes[k]]
    tool = model.frames[model.getFrameId(robot.tool_link)]
    spheres = [(tool.parentJoint - 1, *tool.placement.translation, held_reach)]
    for shape in robot.collision_shapes:
        frame = model.frames[model.getFrameId(shape.body)]
        center = (frame.placement * shape.placement).translation
        spheres.append((frame.parentJoint - 1, *center, shape.shape.bounding_radius))
    return frames, np.array([sphere for sphere in spheres if sphere[0] >= 0])


class LeverArms:
    """The longest lever arms that a contact force can have."""

    def __init__(self, robot: Robot, held_reach: float) -> None:
        """Take the arm's geometry.

        Args:
            robot: The arm; it is updated.
            held_reach: How far an object in the gripper reaches from the tool's origin [m].
        """
        self._geometry = _geometry(robot, held_reach)

    def at(self, q: np.ndarray, links: int) -> np.ndarray:
        """Return the longest lever arm that a contact force can have about each joint.

        Args:
            q: (n) joint positions [rad].
            links: Number of links, counted from the base, that may be touched.

        Returns:
            (n) upper bound of the distance [m] of any point of the links that a joint moves
            from its axis.
        """
        arms = np.empty(q.size)
        _lever_arms(q, *self._geometry, links, arms)
        return arms


@kernel
def _lever_arms(
    q: np.ndarray, frames: np.ndarray, spheres: np.ndarray, links: int, arms: np.ndarray
) -> None:
    """Fill ``arms`` (n) [m]; forward kinematics by Rodrigues' formula, joint by joint."""
    n = q.shape[0]
    axis = np.empty((n, 3))
    origin = np.empty((n, 3))
    turn = np.eye(3)
    before = np.empty((3, 3))
    point = np.zeros(3)
    offset = np.empty(3)
    for k in range(n):
        arms[k] = LEAST_LEVER
        x, y, z = frames[k, 4, 0], frames[k, 4, 1], frames[k, 4, 2]
        c, s = math.cos(q[k]), math.sin(q[k])
        d = 1.0 - c
        for i in range(3):
            origin[k, i] = point[i]
            for j in range(3):
                origin[k, i] += turn[i, j] * frames[k, 3, j]
                before[i, j] = 0.0
                for m in range(3):
                    before[i, j] += turn[i, m] * frames[k, m, j]
        for i in range(3):
            point[i] = origin[k, i]
            r0, r1, r2 = before[i, 0], before[i, 1], before[i, 2]
            along = r0 * x + r1 * y + r2 * z
            axis[k, i] = along
            turn[i, 0] = c * r0 + s * (r1 * z - r2 * y) + d * along * x
            turn[i, 1] = c * r1 + s * (r2 * x - r0 * z) + d * along * y
            turn[i, 2] = c * r2 + s * (r0 * y - r1 * x) + d * along * z
        for sphere in range(spheres.shape[0]):
            if int(spheres[sphere, 0]) != k or k >= links:
                continue
            for joint in range(k + 1):
                along = 0.0
                for i in range(3):
                    offset[i] = point[i] - origin[joint, i]
                    for j in range(3):
                        offset[i] += turn[i, j] * spheres[sphere, 1 + j]
                    along += offset[i] * axis[joint, i]
                square = 0.0
                for i in range(3):
                    square += (offset[i] - along * axis[joint, i]) ** 2
                arms[joint] = max(arms[joint], math.sqrt(square) + spheres[sphere, 4])


@kernel
def _watch(
    q: np.ndarray,
    torque: np.ndarray,
    free_torque: np.ndarray,
    command: np.ndarray,
    memory: np.ndarray,
    elapsed: float,
    bounds: np.ndarray,
    frames: np.ndarray,
    spheres: np.ndarray,
) -> tuple[np.ndarray, int, float]:
    """Filter the torque and compare; NaN, of a driver without torques, exceeds nothing.

    Returns:
        (the memory now; the first joint beyond a limit, or -1; the force that is proven [N]).
    """
    n = q.shape[0]
    levers = np.empty(n)
    _lever_arms(q, frames, spheres, n, levers)
    now = memory.copy()
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
            share = elapsed / (OFFSET_TIME + elapsed)
            known = now[1, j] + share * (torque[j] - free_torque[j] - now[1, j])
            now[1, j] = min(max(known, -bounds[3, j]), bounds[3, j])
        speed = (command[j] - memory[2, j]) / elapsed
        now[2, j] = command[j]
        now[3, j] += elapsed / (MOTION_TIME + elapsed) * (speed - now[3, j])
        force = max(force, (abs(torque[j] - now[1, j]) - bounds[2, j]) / levers[j])
    return now, first, force
