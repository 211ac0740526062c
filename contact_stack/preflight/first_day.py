"""What has to be looked at once on a real robot that speaks FRI, as a file to send back.

No public document says which sign measured torques have, how far a first answer may be from where
the robot begins, or how many lost answers end a motion. Each arm that somebody has tried tells.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Mapping
from typing import Any

import numpy as np
from lbr_fri_idl.msg import LBRState
from numpy.typing import NDArray

from contact_core.robot.robot import Robot
from contact_ros.driver_profile.lbr_fri import COMMANDED, COMMANDING_ACTIVE, UNKNOWN
from contact_ros.stamps import NANOSECONDS

MAX_STATES = 200_000
"""Of so many states, the first ones, the times are kept."""

SESSIONS = ("idle", "monitoring_wait", "monitoring_ready", "commanding_wait", "commanding_active")
QUALITIES = ("poor", "fair", "good", "excellent")


class FirstDay:
    """Takes states and the driver's reports, and sums them up."""

    def __init__(self, robot: Robot) -> None:
        """Begin.

        Args:
            robot: The arm, for its weight.
        """
        self._robot = robot
        self._times: list[tuple[int, int]] = []
        self._sessions: list[dict[str, object]] = []
        self._qualities: Counter[str] = Counter()
        self._period = 0.0
        self._begin: dict[str, list[float]] = {}
        self._tracking = np.inf
        self._last: LBRState | None = None
        self._driver: Mapping[str, str] = {}

    def hear(self, state: LBRState) -> None:
        """Take a state.

        Args:
            state: What the driver publishes.
        """
        now = time.monotonic_ns()
        before, self._last = self._last, state
        if len(self._times) < MAX_STATES:
            stamp = state.time_stamp_sec * NANOSECONDS + state.time_stamp_nano_sec
            self._times.append((stamp, now))
        self._period = state.sample_time
        self._qualities[_name(QUALITIES, state.connection_quality)] += 1
        if before is None or before.session_state != state.session_state:
            self._sessions.append(
                {
                    "session": _name(SESSIONS, state.session_state),
                    "at_s": 1e-9 * (now - self._times[0][1]),
                }
            )
        if state.session_state != COMMANDING_ACTIVE:
            return
        self._tracking = min(self._tracking, state.tracking_performance)
        if not self._begin:
            measured = np.array(state.measured_joint_position)
            commanded = np.array(getattr(state, COMMANDED, UNKNOWN))
            self._begin = {
                "commanded_less_measured_rad": (commanded - measured).tolist(),
                "interpolator_less_measured_rad": (
                    np.array(state.ipo_joint_position) - measured
                ).tolist(),
            }

    def hear_driver(self, values: Mapping[str, str]) -> None:
        """Take a report of the driver's.

        Args:
            values: Its figures by name.
        """
        self._driver = values

    def report(self) -> dict[str, Any]:
        """Sum up.

        Returns:
            What was seen, for JSON; what was not is left out.
        """
        if self._last is None:
            return {"states": 0, "driver": dict(self._driver)}
        stamps, arrivals = np.array(self._times).T
        periods = 1e-6 * np.diff(stamps)
        return {
            "states": len(self._times),
            "send_period_ms": 1e3 * self._period,
            "period_by_stamps_ms": _spread(periods),
            "period_by_arrival_ms": _spread(1e-6 * np.diff(arrivals)),
            "states_missing_by_stamps": int(
                np.maximum(0.0, np.rint(periods / max(1e3 * self._period, 1e-3)) - 1.0).sum()
            ),
            "sessions": self._sessions,
            "qualities": dict(self._qualities),
            "start_of_the_first_motion": self._begin,
            "least_tracking_performance": float(self._tracking),
            "measured_torque": self._torque(self._last),
            "driver": dict(self._driver),
        }

    def _torque(self, state: LBRState) -> dict[str, Any]:
        """Compare both signs of the measured torque with the weight of the arm."""
        position = np.array(state.measured_joint_position)
        self._robot.update(position)
        gravity = self._robot.gravity_torque(position)
        measured, external = np.array(state.measured_torque), np.array(state.external_torque)
        off = {
            name: float(np.abs(sign * measured + external - gravity).max())
            for name, sign in (("positive_accelerates", 1.0), ("negated", -1.0))
        }
        return {
            "position_rad": position.tolist(),
            "measured_nm": measured.tolist(),
            "external_nm": external.tolist(),
            "weight_of_the_model_nm": gravity.tolist(),
            "unexplained_nm": off,
            "sign": min(off, key=lambda name: off[name]),
        }


def _name(names: tuple[str, ...], number: int) -> str:
    return names[number] if 0 <= number < len(names) else str(number)


def _spread(values: NDArray[np.float64]) -> dict[str, float]:
    if not values.size:
        return {}
    least, p50, p99, most = np.percentile(values, (0, 50, 99, 100)).tolist()
    return {"min": least, "p50": p50, "p99": p99, "max": most}
