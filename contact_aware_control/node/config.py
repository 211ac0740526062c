"""Parameters of the nodes: those of the algorithms, and how they sit in the graph."""

from __future__ import annotations

from dataclasses import dataclass

from contact_aware_control.config import ControllerConfig
from contact_aware_control.estimation.config import EstimatorConfig, ObserverConfig
from contact_aware_control.targets import StreamConfig
from contact_core.config import nested, parameter
from contact_ros.driver_profile import DriverConfig
from contact_ros.identity import RobotNodeConfig
from contact_ros.real_time import RealTimeConfig

DRIVER = "driver"
MOMENTUM_OBSERVER = "momentum_observer"
SOURCES = (DRIVER, MOMENTUM_OBSERVER)
"""Who estimates the external torque."""


@dataclass(frozen=True)
class DriverNodeConfig:
    """A node that talks to the arm's driver."""

    driver: str = parameter("lbr_fri", "driver profile the robot or simulator speaks")
    arm: DriverConfig = nested(DriverConfig)


@dataclass(frozen=True)
class ArmNodeConfig(DriverNodeConfig, RobotNodeConfig):
    """A node that knows the arm and handles every one of its states."""

    lockstep: bool = parameter(False, "wait for the simulator's ticks instead of real time")


@dataclass(frozen=True)
class ExternalStopConfig:
    """The topic external_stop: true stops the arm until it is false and reset is called."""

    timeout: float = parameter(
        0.0,
        "the arm is stopped when no message came for this long, so that a cut line counts as a "
        "stop; 0: the topic may be silent",
        unit="s",
        low=0.0,
        high=10.0,
    )


@dataclass(frozen=True)
class GoalConfig:
    """What holds for a goal that does not say it itself: how near and how late it may end."""

    joint: float = parameter(
        0.05, "largest error of a measured joint at the end", unit="rad", above=0.0, high=1.0
    )
    position: float = parameter(
        0.03, "largest distance of the measured tool at the end", unit="m", above=0.0, high=1.0
    )
    rotation: float = parameter(
        0.1, "largest angle of the measured tool at the end", unit="rad", above=0.0, high=3.2
    )
    patience: float = parameter(
        1.0,
        "how late a goal may end, and how long its reference may wait for the arm at a time",
        unit="s",
        low=0.0,
        high=600.0,
    )


@dataclass(frozen=True)
class RecorderConfig:
    """The incident log."""

    duration: float = parameter(
        10.0, "how far back a record goes at least", unit="s", above=0.0, high=600.0
    )
    folder: str = parameter(
        "", "where records are written; empty: the folder `flight` beside the ROS logs"
    )
    files: int = parameter(
        10, "at most this many records are written by one process on its own", low=0, high=1000
    )


@dataclass(frozen=True)
class ControllerNodeConfig(ArmNodeConfig, ControllerConfig):
    """The contact-aware controller in the graph."""

    autostart: bool = parameter(
        True, "activate at the start; otherwise a transition of the life cycle does"
    )
    accept_simulator: bool = parameter(
        False, "on hardware: command a simulator too, for tests of the launch"
    )
    clock_offset_limit: float = parameter(
        0.1, "a node whose clock is off by more is named", unit="s", above=0.0, high=10.0, live=True
    )
    external_stop: ExternalStopConfig = nested(ExternalStopConfig)
    goal: GoalConfig = nested(GoalConfig)
    stream: StreamConfig = nested(StreamConfig)
    recorder: RecorderConfig = nested(RecorderConfig)
    real_time: RealTimeConfig = nested(RealTimeConfig)


@dataclass(frozen=True)
class HeldConfig:
    """What the gripper holds when the node starts."""

    mass: float = parameter(0.0, "mass of the held object", unit="kg", low=0.0, high=20.0)
    center_of_mass: tuple[float, ...] = parameter(
        (0.0, 0.0, 0.0), "its centre of mass in the tool frame", unit="m", size=3
    )


@dataclass(frozen=True)
class EstimatorNodeConfig(ArmNodeConfig, EstimatorConfig):
    """The contact estimator in the graph."""

    held: HeldConfig = nested(HeldConfig)
    torque_source: str = parameter(
        DRIVER, "who estimates the external torque: the driver, or this node", options=SOURCES
    )
    observer: ObserverConfig = nested(ObserverConfig)
    real_time: RealTimeConfig = nested(RealTimeConfig)


@dataclass(frozen=True)
class WatchdogConfig(DriverNodeConfig):
    """The watchdog of the commands."""

    rate: float = parameter(200.0, "ticks of the controller", unit="Hz", low=20.0, high=1000.0)
    periods: float = parameter(
        10.0,
        "the controller counts as dead after this many periods without a sign of it",
        unit="periods",
        low=2.0,
        high=1000.0,
    )
