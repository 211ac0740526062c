"""The fake robot with all that can go wrong: what is imported counts among its faults."""

from contact_experiments.fake import driver_faults, lies
from contact_experiments.fake.robot import FAULTS, FakeConfig, FakeRobot

__all__ = ["FAULTS", "FakeConfig", "FakeRobot", "driver_faults", "lies"]
