"""The deviation bound: how far contacts that may be none can take the arm from its path.

At rest a hand and a load are the same torques, and a drift or friction in a joint looks like
either. An arm that yields to them sinks, or walks away. So what nobody vouches for moves it by a
bounded distance. The distance is that to the nominal command, the one that there would be without
any contact, or where the arm was when it came into doubt: of the origins of joints and tool, for an
arm with redundant joints leaves its path with its elbow alone. It is one of commands: what a real
load bends the springs by comes on top. How fast an arm follows what is in doubt is bounded as well.
"""

from __future__ import annotations

import math

import numpy as np

from contact_aware_control.chain import chain_of, forward_kinematics
from contact_aware_control.contact import ContactReport
from contact_aware_control.lever_arms import LeverArms
from contact_core.base.kernel import inner_kernel, kernel
from contact_core.robot.robot import Robot

KEPT = 0.92
"""Share of the length that commands use: an arm that stops swings a little farther than they."""

MAX_CANCELLED = 4.0
"""Several contacts that press with so many times the force that the torque proves are none."""


class DeviationBound:
    """Bounds the distance of the command to where it would be without contacts."""

    def __init__(
        self, robot: Robot, levers: LeverArms, length: float, braking: float, least_force: float
    ) -> None:
        """Take lengths.

        Args:
            robot: The arm; it is updated.
            levers: Its lever arms.
            length: Largest distance of joints and tool [m].
            braking: Share of what is left of it that one tick may take, in (0, 1].
            least_force: Contacts with less deflect nothing [N].
        """
        self._levers = levers
        self._length = KEPT * length
        self._braking = braking
        self._least_force = least_force
        self._chain = chain_of(robot)

    def in_doubt(self, report: ContactReport | None, position: np.ndarray) -> bool:
        """Tell whether nothing vouches for the contacts that deflect the arm.

        Args:
            report: The last contacts; None if they are too old, or there are none.
            position: (n) measured q [rad].

        Returns:
            False only if the estimator knows the arm's errors, at least one contact is no load,
            drift or friction by that knowledge, and they do not cancel each other.
        """
        if report is None or not report.calibrated:
            return True
        sure = [
            contact.force
            for contact in report.contacts
            if not contact.ambiguous and contact.force >= self._least_force
        ]
        if len(sure) < 2 or report.free_torque is None:
            return not sure
        return sum(sure) > MAX_CANCELLED * self._levers.least_force(position, report.free_torque)

    def is_pulled(self, report: ContactReport | None) -> bool:
        """Tell whether a contact deflects the arm.

        Args:
            report: The last contacts; None if there are none.
        """
        contacts = () if report is None else report.contacts
        return any(contact.force >= self._least_force for contact in contacts)

    def distance(self, command: np.ndarray, nominal: np.ndarray) -> float:
        """Return how far a command takes the arm from its path.

        Args:
            command: (n) q_cmd [rad].
            nominal: (n) the command without contacts [rad].

        Returns:
            The largest distance of joints and tool [m].
        """
        distance: float = _distance(self._chain, command, nominal)
        return distance

    def rate(self, command: np.ndarray, nominal: np.ndarray) -> float:
        """Return how fast reference time may pass: 1 within half the bound, 0 at the bound.

        Args:
            command: (n) present command q_cmd [rad].
            nominal: (n) the command without contacts [rad].
        """
        left = 1.0 - self.distance(command, nominal) / self._length
        return min(max(2.0 * left, 0.0), 1.0)

    def limit(
        self,
        command: np.ndarray,
        nominals: tuple[np.ndarray, np.ndarray],
        wanted: np.ndarray,
        pulled: bool,
    ) -> tuple[np.ndarray, bool]:
        """Shorten a change that leads away, like one towards a joint limit.

        One that is too fast is shortened as a whole: what bounds it linearly goes on to hold.

        Where the arm is farther away already, it may stay there: nothing pulls it into what it
        has yielded to. A nominal command that moves on takes it along, however.

        Args:
            command: (n) present command q_cmd [rad].
            nominals: (n) the command that distances are measured from, of the last tick and of this
                one [rad].
            wanted: (n) the command that is asked for [rad].
            pulled: Whether it yields, and is not merely on its way back.

        Returns:
            (q_cmd+ (n) [rad]; whether it is held back).
        """
        limited = np.empty(command.size)
        held: bool = _limit(
            self._chain,
            command,
            *nominals,
            wanted,
            pulled,
            self._length,
            self._braking,
            limited,
        )
        return (limited, True) if held else (wanted, False)


@kernel
def _limit(
    chain: np.ndarray,
    command: np.ndarray,
    before: np.ndarray,
    now: np.ndarray,
    wanted: np.ndarray,
    pulled: bool,
    length: float,
    braking: float,
    limited: np.ndarray,
) -> bool:
    """Fill ``limited`` (n) [rad], see :meth:`DeviationBound.limit`; return whether it is held."""
    n = command.size
    points = np.empty((4, n + 1, 3))
    axes, turns = np.empty((n, 3)), np.empty((n + 1, 3, 3))
    forward_kinematics(before, chain, points[0], axes, turns)
    forward_kinematics(now, chain, points[1], axes, turns)
    forward_kinematics(command, chain, points[2], axes, turns)
    forward_kinematics(wanted, chain, points[3], axes, turns)
    # Nothing is followed by whoever stands still, or goes along with the nominal command.
    followed = _share_of_way(wanted - command, now - before)
    quickest, quickness = braking * length, 0.0
    for k in range(n + 1):
        square = 0.0
        for i in range(3):
            on = followed * (points[1, k, i] - points[0, k, i])
            way = points[3, k, i] - points[2, k, i] - on
            square += way * way
        quickness = max(quickness, math.sqrt(square))
    hurried = pulled and quickness > quickest
    share = quickest / quickness if hurried else 1.0
    for i in range(n):
        limited[i] = command[i] + share * (wanted[i] - command[i]) if hurried else wanted[i]
    if hurried:
        forward_kinematics(limited, chain, points[3], axes, turns)
    distance = _farthest(points[2], points[0])
    most = max(length, distance)
    allowed = distance + braking * (most - distance)
    staying, farther = _farthest(points[2], points[1]), _farthest(points[3], points[1])
    if farther <= max(allowed, min(staying, most)):
        return hurried
    for i in range(n):
        if staying < allowed:
            limited[i] = command[i] + (allowed - staying) / (farther - staying) * (
                limited[i] - command[i]
            )
        elif staying <= most:
            limited[i] = command[i]
        else:
            limited[i] = command[i] + (1.0 - most / staying) * (now[i] - command[i])
    return True


@inner_kernel
def _share_of_way(change: np.ndarray, way: np.ndarray) -> float:
    """Return the share of a way (n), in 0...1, that is nearest to a change (n)."""
    length = way @ way
    return min(max((change @ way) / length, 0.0), 1.0) if length > 0.0 else 0.0


@kernel
def _distance(chain: np.ndarray, a: np.ndarray, b: np.ndarray) -> float:
    n = a.size
    points = np.empty((2, n + 1, 3))
    axes, turns = np.empty((n, 3)), np.empty((n + 1, 3, 3))
    forward_kinematics(a, chain, points[0], axes, turns)
    forward_kinematics(b, chain, points[1], axes, turns)
    return _farthest(points[0], points[1])


@inner_kernel
def _farthest(a: np.ndarray, b: np.ndarray) -> float:
    """Return the largest distance of points (n + 1, 3)."""
    most = 0.0
    for k in range(len(a)):
        x, y, z = a[k, 0] - b[k, 0], a[k, 1] - b[k, 1], a[k, 2] - b[k, 2]
        most = max(most, math.sqrt(x * x + y * y + z * z))
    return most
