"""A robot that behaves and misbehaves like a driver, written from the drivers' facts.

It shares no code with the driver profiles and none with the simulator, so that what it finds
wrong is not what it got wrong itself.
"""

from contact_experiments.fake import cabinet_faults, driver_faults, lies
from contact_experiments.fake.arm import FakeArm, Wall
from contact_experiments.fake.drivers import DRIVERS
from contact_experiments.fake.robot import FAULTS, FakeConfig, FakeRobot, Fault

__all__ = [
    "DRIVERS",
    "FAULTS",
    "FakeArm",
    "FakeConfig",
    "FakeRobot",
    "Fault",
    "Wall",
    "cabinet_faults",
    "driver_faults",
    "lies",
]
