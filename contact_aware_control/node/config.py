"""Parameters of the nodes: those of the algorithms, and how they sit in the graph."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from contact_aware_control.config import (
    ControllerConfig,
    ForceConfig,
    LimitsConfig,
    ReflexConfig,
    SafetyConfig,
    TransitionConfig,
)
from contact_aware_control.estimation.config import EstimatorConfig, ObserverConfig
from contact_aware_control.targets import StreamConfig
from contact_core.base.config import flatten, merged, nested, parameter, unflatten
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
        "the arm is stopped when no message has come for this long, so that a cut line counts "
        "as a stop; 0: the topic may be silent",
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
        10.0, "how far back a record reaches at least", unit="s", above=0.0, high=600.0
    )
    folder: str = parameter(
        "", "where records are written; empty: the folder `flight` beside the ROS logs"
    )
    files: int = parameter(
        10, "largest number of records that one process writes on its own", low=0, high=1000
    )


@dataclass(frozen=True)
class ControllerNodeConfig(ArmNodeConfig, ControllerConfig):
    """The contact-aware controller in the graph.

    A node that nobody tells anything may have a real arm before it: it is inactive, slow and soft.
    """

    hardware: bool = parameter(
        True,
        "a real robot is driven: baselines without force limits are refused; false: the arm is "
        "simulated, and the defaults are those for a simulation",
    )
    collaborative: bool = parameter(
        False,
        "the arm works beside people: unless they are set, limits.point_speed is 0.25 m/s and "
        "safety.stop_force 50 N. No certified safety function",
    )
    autostart: bool = parameter(
        False,
        "activate at the start; otherwise a life-cycle transition does it, such as that of the "
        "pre-flight check",
    )
    force: ForceConfig = nested(ForceConfig, live=True, limit=10.0)
    limits: LimitsConfig = nested(
        LimitsConfig,
        tool_speed=0.25,
        velocity_fraction=0.1,
        step=0.0005,
        yielding_fraction=0.2,
        acceleration=25.0,
        jerk=5000.0,
        distance=0.1,
        spring_torque_share=0.2,
    )
    safety: SafetyConfig = nested(SafetyConfig, force_fault_factor=4.0, force_fault_time=0.25)
    reflex: ReflexConfig = nested(ReflexConfig, torque_share=0.2, rate_share=4.0)
    transition: TransitionConfig = nested(TransitionConfig, live=True, acceleration=2.0, jerk=50.0)
    accept_simulator: bool = parameter(
        False, "on hardware: command a simulator too, for tests of the launch"
    )
    clock_offset_limit: float = parameter(
        0.1,
        "a node whose clock differs by more is named",
        unit="s",
        above=0.0,
        high=10.0,
        live=True,
    )
    external_stop: ExternalStopConfig = nested(ExternalStopConfig)
    goal: GoalConfig = nested(GoalConfig)
    stream: StreamConfig = nested(StreamConfig)
    recorder: RecorderConfig = nested(RecorderConfig)
    real_time: RealTimeConfig = nested(RealTimeConfig)


COLLABORATIVE = {"limits": {"point_speed": 0.25}, "safety": {"stop_force": 50.0}}
"""Speeds in m/s, forces in N."""


def simulation_defaults() -> dict[str, Any]:
    """Return the controller node's parameters where the arm is simulated: those of the library."""
    library = {name: value for name, (value, _) in flatten(ControllerConfig()).items()}
    return unflatten({**library, "hardware": False, "autostart": True})


def controller_defaults(values: Mapping[str, Any]) -> dict[str, Any]:
    """Return what holds where a parameter of the controller node is not set.

    Args:
        values: Those that are set.

    Returns:
        What differs from the defaults of :class:`ControllerNodeConfig`, which are a real arm's.
    """
    defaults = simulation_defaults() if values.get("hardware") is False else {}
    return merged(defaults, COLLABORATIVE) if values.get("collaborative") is True else defaults


@dataclass(frozen=True)
class HeldConfig:
    """What the gripper holds when the node starts."""

    mass: float = parameter(0.0, "mass of the held object", unit="kg", low=0.0, high=20.0)
    center_of_mass: tuple[float, ...] = parameter(
        (0.0, 0.0, 0.0), "centre of mass of the held object in the tool frame", unit="m", size=3
    )


@dataclass(frozen=True)
class EstimatorNodeConfig(ArmNodeConfig, EstimatorConfig):
    """The contact estimator in the graph."""

    held: HeldConfig = nested(HeldConfig)
    torque_source: str = parameter(
        DRIVER,
        "what estimates the external torque: the driver, or this node's momentum observer",
        options=SOURCES,
    )
    observer: ObserverConfig = nested(ObserverConfig)
    real_time: RealTimeConfig = nested(RealTimeConfig)


@dataclass(frozen=True)
class WatchdogConfig(DriverNodeConfig):
    """The watchdog of the commands."""

    rate: float = parameter(
        200.0, "ticks of the controller per second", unit="Hz", low=20.0, high=1000.0
    )
    periods: float = parameter(
        10.0,
        "the controller counts as dead after this many silent periods",
        unit="periods",
        low=2.0,
        high=1000.0,
    )
