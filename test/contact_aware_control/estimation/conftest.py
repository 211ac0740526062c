"""Contacts made from the model itself: tau = J^T f + noise."""

import dataclasses
from dataclasses import dataclass, field

import numpy as np
import pytest

from contact_aware_control.estimation.calibration import EXACT
from contact_aware_control.estimation.config import EstimatorConfig
from contact_aware_control.estimation.estimator import ContactEstimator
from contact_aware_control.estimation.surface import (
    new_placement,
    place,
    sample,
    surface_of_robot,
    to_world,
)
from contact_core.robot.arm_state import ArmState
from contact_core.robot.description import RobotDescription
from contact_core.robot.robot import Robot

PERIOD_NS = 5_000_000


@dataclass
class Plant:
    """A robot at rest or moving whose torques carry noise, a bias and a payload."""

    robot: Robot
    estimator: ContactEstimator
    rng: np.random.Generator
    noise: float = 0.1
    bias: np.ndarray = field(default_factory=lambda: np.zeros(7))
    stamp_ns: int = 0

    def tick(self, q, link=None, point=None, force=None, extra=0.0):
        """Advance by 5 ms with a force on a point of a link, or without contact."""
        self.robot.update(q)
        torque = np.zeros(7) if link is None else self.robot.point_jacobian(link, point).T @ force
        self.stamp_ns += PERIOD_NS
        noise = self.noise * self.rng.standard_normal(7)
        return self.show(q, torque + self.bias + extra + noise)

    def show(self, q, torque, later=0):
        """Show the estimator a sample."""
        state = ArmState.recorded(self.stamp_ns + later, q, external_torque=torque)
        return self.estimator.update(state)

    def free(self, q, ticks=60):
        """Stay without contact, long enough for a tare by default."""
        for _ in range(ticks):
            output = self.tick(q)
        return output


@pytest.fixture(scope="session")
def robot():
    return Robot.from_description(RobotDescription.load("iiwa14_wsg50"))


@pytest.fixture
def make_plant(robot):
    """Its torques are those of the described arm, which the estimator is told."""

    def make(config=None, seed=0, **settings):
        config = config or EstimatorConfig()
        errors = dataclasses.replace(config.errors, calibration=EXACT)
        estimator = ContactEstimator(robot, dataclasses.replace(config, errors=errors))
        estimator.reset(seed)
        return Plant(robot, estimator, np.random.default_rng(seed), **settings)

    return make


@pytest.fixture
def touch(robot):
    """Draw a point of a link's surface and a force on it, at the robot's configuration."""

    def draw(rng, link, force=None, friction=0.3):
        surface, _ = surface_of_robot(robot, (link,))
        placement = new_placement(surface)
        place(surface, robot.joint_rotations, robot.joint_origins, placement)
        shape, px, py, pz, *normal = sample(surface, placement, rng)
        point = np.array(to_world(placement, shape, px, py, pz))
        inward = -placement.rotation[shape] @ np.array(normal)
        tangent = np.cross(inward, rng.standard_normal(3))
        direction = inward + friction * rng.random() * tangent / np.linalg.norm(tangent)
        direction /= np.linalg.norm(direction)
        return point, direction * (rng.uniform(10.0, 30.0) if force is None else force)

    return draw


@pytest.fixture
def random_configuration():
    def draw(rng):
        return rng.uniform(-0.8, 0.8, 7) + np.array([0.0, 0.4, 0.0, -1.0, 0.0, 0.0, 0.0])

    return draw
