"""Parameters of the pre-flight check."""

from __future__ import annotations

from dataclasses import dataclass

from contact_aware_control.node.config import HeldConfig
from contact_core.config import nested, parameter
from contact_ros.driver_profile import DriverConfig


@dataclass(frozen=True)
class PreflightLimits:
    """What the checks accept."""

    rate_error: float = parameter(
        0.05, "largest relative error of the rate of the states", above=0.0, high=1.0
    )
    gap: float = parameter(
        3.0, "longest time between two states", unit="periods", low=1.0, high=100.0
    )
    position_margin: float = parameter(
        0.05, "smallest distance from a position limit", unit="rad", low=0.0, high=1.0
    )
    movement: float = parameter(
        0.01, "largest movement of an arm at rest", unit="rad", above=0.0, high=0.1
    )
    torque: float = parameter(
        1.0,
        "largest external torque at rest that payload and tare may leave unexplained",
        unit="Nm",
        above=0.0,
        high=20.0,
    )
    push_torque: float = parameter(
        2.0, "torque at a joint from which on a push counts", unit="Nm", above=0.0, high=20.0
    )
    pushed_joints: int = parameter(3, "joints that the push must reach", low=1, high=7)
    stiffness_error: float = parameter(
        0.25, "largest relative error of the measured stiffness", above=0.0, high=1.0
    )


@dataclass(frozen=True)
class PreflightConfig:
    """The pre-flight check."""

    robot: str = parameter("iiwa14_wsg50", "the robot, a file of config/robots")
    driver: str = parameter("lbr_fri", "driver profile the robot or simulator speaks")
    arm: DriverConfig = nested(DriverConfig)
    rate: float = parameter(200.0, "rate of the states", unit="Hz", low=20.0, high=1000.0)
    joint_stiffness: tuple[float, ...] = parameter(
        (800.0, 600.0, 600.0, 600.0, 400.0, 200.0, 200.0),
        "diagonal of K, as set on the robot and in the controller",
        unit="Nm/rad",
        above=0.0,
        high=1e5,
        size=7,
    )
    held: HeldConfig = nested(HeldConfig)
    limits: PreflightLimits = nested(PreflightLimits)
    start_timeout: float = parameter(
        60.0, "longest time until driver and estimator are heard", unit="s", above=0.0, high=3600.0
    )
    rest_time: float = parameter(
        3.0, "how long the arm is watched at rest", unit="s", low=1.0, high=60.0
    )
    push_timeout: float = parameter(
        120.0, "how long to wait for the push", unit="s", above=0.0, high=3600.0
    )
    activate: str = parameter(
        "contact_aware_controller", "node that is activated if all is well; empty for none"
    )
