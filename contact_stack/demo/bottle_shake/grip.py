"""The force a grasp needs, from the load that the arm feels."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from contact_core.config import parameter
from contact_core.low_pass import LowPass
from contact_core.robot import Robot


@dataclass(frozen=True)
class GripConfig:
    """How the grip follows the load; forces are those of one finger."""

    first: float = parameter(5.0, "force of the first touch", unit="N", above=0.0)
    highest: float = parameter(40.0, "largest force, for the bottle's sake", unit="N", above=0.0)
    friction: float = parameter(0.6, "believed friction of finger and bottle", above=0.0)
    margin: float = parameter(2.0, "force beyond what friction needs", low=1.0)
    relaxation: float = parameter(
        2.0, "time constant with which the grip follows a load that falls", unit="s", above=0.0
    )
    cutoff: float = parameter(20.0, "of the low-pass on the load", unit="Hz", above=0.0)


class LoadSensor:
    """The force on the tool, from the external torques tau = J' f of the arm."""

    def __init__(self, robot: Robot, cutoff: float, period: float) -> None:
        """Set the sensor up.

        Args:
            robot: The arm; every sample updates it.
            cutoff: Of the low-pass [Hz].
            period: Time between two samples [s].
        """
        self._robot = robot
        self._period = period
        self._low_pass = LowPass(cutoff)

    def sample(self, q: np.ndarray, external_torque: np.ndarray) -> np.ndarray:
        """Return the force of what is held on the fingers (3), tool frame [N].

        It is taken to act at the tool's origin, between the fingers.

        Args:
            q: (n) joint positions [rad].
            external_torque: (n) [Nm].
        """
        self._robot.update(q)
        jacobian = self._robot.tool_jacobian()[:3]
        force = np.linalg.lstsq(jacobian.T, external_torque, rcond=None)[0]
        return self._low_pass.update(np.asarray(force), self._period)


class GripRegulator:
    """Tightens at once with the load, and relaxes slowly: the next shake may be as strong."""

    def __init__(self, config: GripConfig, period: float) -> None:
        """Begin with the force of the first touch.

        Args:
            config: The settings.
            period: Time between two samples [s].
        """
        self._config = config
        self._decay = math.exp(-period / config.relaxation)
        self.force = config.first

    def update(self, load: np.ndarray) -> float:
        """Return the force that each finger should press with [N].

        Two fingers hold a load by friction as long as 2 mu N exceeds it.

        Args:
            load: (3) force of what is held, tool frame; the fingers press along y [N].
        """
        config = self._config
        needed = config.margin * needed_grip(load, config.friction)
        self.force = min(max(needed, self._decay * self.force, config.first), config.highest)
        return self.force


def needed_grip(load: np.ndarray, friction: float) -> float:
    """Return the least force of each of two fingers that holds a load by friction [N].

    Args:
        load: (3) tool frame; the fingers press along y [N].
        friction: Coefficient mu.
    """
    return float(np.hypot(load[0], load[2])) / (2.0 * friction)
