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
import pinocchio as pin

from contact_aware_control.contact import ContactReport
from contact_aware_control.controllers.contact_jacobian import magnitude
from contact_core.robot.robot import Robot

KEPT = 0.95
"""Share of the length that commands use: an arm that stops swings a little farther than they."""
REMEMBERED = 6
"""Configurations whose points are kept: a tick asks for those of the last one again."""


class DeviationBound:
    """Bounds the distance of the command to where it would be without contacts."""

    def __init__(self, robot: Robot, length: float, braking: float, least_force: float) -> None:
        """Take lengths.

        Args:
            robot: The arm.
            length: Largest distance of joints and tool [m].
            braking: Share of what is left of it that one tick may take, in (0, 1].
            least_force: Contacts with less deflect nothing [N].
        """
        self._length = KEPT * length
        self._braking = braking
        self._quickest = braking * self._length
        self._least_force = least_force
        self._model, self._data = robot.model, robot.model.createData()
        self._tool = robot.model.getFrameId(robot.tool_link)
        self._known: dict[bytes, np.ndarray] = {}

    def holds(self, report: ContactReport | None) -> bool:
        """Tell whether nothing vouches for the contacts that deflect the arm.

        Args:
            report: The last contacts; None if they are too old, or there are none.

        Returns:
            False only if the estimator knows the arm's errors, and at least one contact is no
            load, drift or friction by that knowledge.
        """
        if report is None or not report.calibrated:
            return True
        return all(
            contact.ambiguous or magnitude(contact.force_world) < self._least_force
            for contact in report.contacts
        )

    def is_pulled(self, report: ContactReport | None) -> bool:
        """Tell whether a contact deflects the arm.

        Args:
            report: The last contacts; None if there are none.
        """
        contacts = () if report is None else report.contacts
        return any(magnitude(contact.force_world) >= self._least_force for contact in contacts)

    def distance(self, command: np.ndarray, nominal: np.ndarray) -> float:
        """Return how far a command takes the arm from its path.

        Args:
            command: (n) q_cmd [rad].
            nominal: (n) the command without contacts [rad].

        Returns:
            The largest distance of joints and tool [m].
        """
        return _distance(self._points(command), self._points(nominal))

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
        before, now = (self._points(nominal) for nominal in nominals)
        present = self._points(command)
        asked, along = self._points(wanted), command + nominals[1] - nominals[0]
        quickness = _distance(asked - now, present - before)
        hurried = pulled and quickness > self._quickest
        if hurried:
            wanted = along + self._quickest / quickness * (wanted - along)
            asked = self._points(wanted)
        distance = _distance(present, before)
        most = max(self._length, distance)
        allowed = distance + self._braking * (most - distance)
        staying, farther = _distance(present, now), _distance(asked, now)
        if farther <= max(allowed, min(staying, most)):
            return wanted, hurried
        if staying < allowed:
            return command + (allowed - staying) / (farther - staying) * (wanted - command), True
        if staying <= most:
            return command, True
        return command + (1.0 - most / staying) * (nominals[1] - command), True

    def _points(self, q: np.ndarray) -> np.ndarray:
        """Return where joints and tool are (n + 1, 3) [m]."""
        key = q.tobytes()
        points = self._known.get(key)
        if points is None:
            pin.forwardKinematics(self._model, self._data, q)
            tool = pin.updateFramePlacement(self._model, self._data, self._tool).translation
            points = np.array([*(joint.translation for joint in self._data.oMi[1:]), tool])
            if len(self._known) == REMEMBERED:
                del self._known[next(iter(self._known))]
            self._known[key] = points
        return points


def _distance(a: np.ndarray, b: np.ndarray) -> float:
    difference = a - b
    return math.sqrt(float((difference * difference).sum(axis=1).max()))
