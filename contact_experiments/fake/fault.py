"""What a fault of the fake robot is."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, ClassVar

from contact_experiments.fake.drivers import Reading

if TYPE_CHECKING:
    from contact_experiments.fake.robot import FakeRobot


class Fault:
    """One thing that goes wrong. Its first line of documentation is what the command line says.

    Attributes:
        name: What it is called.
        lasts: How long it does unless told otherwise [s].
        robot: Whose fault it is.
    """

    name: ClassVar[str]
    lasts: ClassVar[float] = math.inf

    def __init__(self, robot: FakeRobot) -> None:
        """Prepare.

        Args:
            robot: Whose fault it is.
        """
        self.robot = robot

    def begin(self) -> None:
        """Change the robot."""

    def end(self) -> None:
        """Change it back."""

    def readings(self, reading: Reading) -> list[Reading]:
        """Return what is published instead of a reading.

        Args:
            reading: What is true.
        """
        return [self.altered(reading)]

    def altered(self, reading: Reading) -> Reading:
        """Return one reading instead of another.

        Args:
            reading: What is true.
        """
        return reading
