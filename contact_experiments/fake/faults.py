"""The fake robot with all that can go wrong: what is imported counts among its faults."""

from contact_experiments.fake import driver_faults, lies
from contact_experiments.fake.robot import FAULTS, FakeConfig, FakeRobot, Fault

__all__ = ["FAULTS", "FakeConfig", "FakeRobot", "Fault", "driver_faults", "lies"]
