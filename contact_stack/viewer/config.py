"""Parameters of the live page."""

from __future__ import annotations

from dataclasses import dataclass

from contact_core.config import nested, parameter
from contact_ros.driver_profile import DriverConfig


@dataclass(frozen=True)
class ViewerConfig:
    """The live page in the browser."""

    robot: str = parameter("iiwa14_wsg50", "robot to draw, a file of config/robots")
    driver: str = parameter("lbr_fri", "driver profile the robot or simulator speaks")
    arm: DriverConfig = nested(DriverConfig)
    scene: str = parameter("", "scene whose objects are drawn; empty on a real robot")
    host: str = parameter("127.0.0.1", "address the page listens on")
    port: int = parameter(
        8080, "port of the page; the next free one if it is taken", low=1024, high=65535
    )
    rate: float = parameter(30.0, "how often the page is brought up to date", unit="Hz",
                            low=1.0, high=60.0)  # fmt: skip
    history: float = parameter(15.0, "time shown in the plots", unit="s", low=1.0, high=120.0)
