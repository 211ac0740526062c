"""What is known of an arm's torque errors before it moves: a prior, or a calibration's file."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from contact_aware_control.estimation.config import ErrorsConfig
from contact_core.base.errors import ConfigError
from contact_core.base.files import replacement
from contact_core.robot.robot import Robot

EXACT = "exact"
"""Stands for a calibration: the arm is as described, as in simulation."""

LEVER = 0.1
"""How far the centre of an unknown mass may be from where it is thought [m]."""


@dataclass(frozen=True)
class Calibration:
    """Mean and covariance of theta, see :mod:`torque_errors`.

    Attributes:
        mean: (7 n + 2): bias (n) [Nm], Coulomb friction (n) [Nm], viscous friction (n)
            [Nm s/rad], tilt of the base about x and y [rad], and for every link the error of its
            mass [kg] and of its first moment (3) [kg m], in the frame of its joint.
        covariance: (7 n + 2, 7 n + 2).
        of_this_arm: Whether it was measured, or is merely thinkable.
    """

    mean: np.ndarray
    covariance: np.ndarray
    of_this_arm: bool

    def write(self, path: Path, joint_names: tuple[str, ...], masses: Sequence[float] = ()) -> None:
        """Write a file.

        Args:
            path: Where.
            joint_names: The arm's joints.
            masses: Of its links as described [kg], by which arms with joints of the same names are
                told apart; left out, they are not.

        Raises:
            OSError: If it cannot be written.
        """
        values = {
            "joints": list(joint_names),
            "masses": list(masses),
            "mean": self.mean.tolist(),
            "covariance": self.covariance.tolist(),
        }
        with replacement(path) as file:
            file.write_text(json.dumps(values) + "\n")


def prior(robot: Robot, config: ErrorsConfig) -> Calibration:
    """Return what is known of an arm; its bias is left to a tare.

    Args:
        robot: The arm.
        config: Says which calibration, or what is thinkable.

    Raises:
        ConfigError: If there is no such file, or it is another arm's.
    """
    if config.calibration not in ("", EXACT):
        return read_calibration(Path(config.calibration), robot)
    n = robot.n
    size = 7 * n + 2
    if config.calibration == EXACT:
        return Calibration(np.zeros(size), np.zeros((size, size)), of_this_arm=True)
    deviation = np.zeros(size)
    deviation[n : 2 * n] = config.friction
    deviation[2 * n : 3 * n] = config.viscous_friction
    deviation[3 * n : 3 * n + 2] = config.tilt
    links = deviation[3 * n + 2 :].reshape(n, 4)
    for link, inertia in zip(links, robot.model.inertias[1:], strict=True):
        link[0] = config.mass_share * inertia.mass
    links[-1, 0] += config.tool_mass
    links[:, 1:] = LEVER * links[:, :1]
    return Calibration(np.zeros(size), np.diag(deviation**2), of_this_arm=False)


def read_calibration(path: Path, robot: Robot) -> Calibration:
    """Read a file that :meth:`Calibration.write` has written.

    Args:
        path: The file.
        robot: The arm.

    Raises:
        ConfigError: If it cannot be read, or it is another arm's.
    """
    try:
        values: Mapping[str, Any] = json.loads(path.read_text())
        mean, covariance = np.array(values["mean"]), np.array(values["covariance"])
        joints = list(values["joints"])
        masses = np.array(values.get("masses", ()), dtype=float)
    except (OSError, ValueError, TypeError, KeyError) as error:
        raise ConfigError(
            f"{path} is no calibration of an arm: {error} (valid: a file that 'contact-stack "
            f"calibrate' has written, '{EXACT}', or '' for what is thinkable)"
        ) from error
    size = 7 * robot.n + 2
    if joints != list(robot.joint_names):
        raise ConfigError(
            f"{path} is of an arm with the joints {', '.join(map(str, joints))} (valid: "
            f"{', '.join(robot.joint_names)})"
        )
    described = link_masses(robot)
    # That of the last link includes the tool, which may be another one.
    if masses.size and (
        masses.shape != described.shape or not np.allclose(masses[:-1], described[:-1], rtol=1e-3)
    ):
        raise ConfigError(
            f"{path} is of an arm with links of {_listed(masses)} kg (valid: {_listed(described)})"
        )
    sound = mean.shape == (size,) and covariance.shape == (size, size)
    if not (sound and np.isfinite(mean).all() and np.isfinite(covariance).all()):
        raise ConfigError(f"{path} needs a mean of {size} finite numbers, and their covariance")
    return Calibration(mean, covariance, of_this_arm=True)


def link_masses(robot: Robot) -> np.ndarray:
    """Return the masses of an arm's links (n) as described [kg]; the last one holds the tool.

    Args:
        robot: The arm.
    """
    return np.array([inertia.mass for inertia in robot.model.inertias[1:]])


def _listed(masses: np.ndarray) -> str:
    return ", ".join(f"{mass:g}" for mass in masses)
