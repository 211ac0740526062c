"""A robot that behaves and misbehaves like a driver, written from the drivers' facts.

It shares no code with the driver profiles and none with the simulator, so that what it finds
wrong is not what it got wrong itself. Below a driver is the robot's cabinet, which is the
simulator's. Drivers need the messages of ROS, so names are imported when they are first used.
"""

from typing import TYPE_CHECKING

from contact_core.base.lazy import lazy_names

__all__ = [
    "CABINET_FAULTS",
    "DRIVERS",
    "FAULTS",
    "FakeArm",
    "FakeCabinet",
    "FakeConfig",
    "FakeRobot",
    "Wall",
]

if TYPE_CHECKING:
    from contact_experiments.fake.arm import FakeArm, Wall
    from contact_experiments.fake.cabinet_faults import CABINET_FAULTS, FakeCabinet
    from contact_experiments.fake.drivers import DRIVERS
    from contact_experiments.fake.faults import FAULTS, FakeConfig, FakeRobot
else:
    __getattr__ = lazy_names(
        __name__,
        {
            "arm": ("FakeArm", "Wall"),
            "cabinet_faults": ("CABINET_FAULTS", "FakeCabinet"),
            "drivers": ("DRIVERS",),
            "faults": ("FAULTS", "FakeConfig", "FakeRobot"),
        },
    )
