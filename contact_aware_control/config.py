"""Every parameter of the contact-aware controller.

Defaults are the paper's where it states them; the others were found in closed loop with
the simulator.
"""

from __future__ import annotations

from dataclasses import dataclass

from contact_core.base.config import nested, parameter
from contact_core.base.errors import ConfigError
from contact_core.quadratic_program import SOLVERS


@dataclass(frozen=True)
class TrackingConfig:
    """The objective's first term: how the reference is followed."""

    reading: str = parameter(
        "absolute",
        "(24a) with the command's distance to the reference (absolute) or with increments "
        "that integrate the error of the predicted equilibrium (incremental)",
        options=("absolute", "incremental"),
    )
    error_rate: float = parameter(
        10.0, "rate at which a tracking error is reduced", unit="1/s", above=0.0, high=200.0
    )
    return_speed: float = parameter(
        0.1,
        "speed of the tool on the way back to a path that contact has led it from, where the "
        "path itself is slower there; never faster than 1.2 times its own top speed, if it "
        "waits; joints and the tool's rotation are as fast in rad/s",
        unit="m/s",
        above=0.0,
        high=10.0,
    )
    position_weight: float = parameter(
        1.0, "weight of the tool's position error", unit="1/m^2", low=0.0, high=1e6
    )
    rotation_weight: float = parameter(
        0.02,
        "weight of the tool's rotation error; with the default 1 rad counts as much as 14 cm, "
        "the length of the gripper",
        unit="1/rad^2",
        low=0.0,
        high=1e6,
    )
    posture_weight: float = parameter(
        1e-4,
        "weight of staying near the start posture, relative to the tracking term",
        above=0.0,
        high=1.0,
    )
    regularization: float = parameter(
        1e-3,
        "eps of (22a): weight of a change of the command, relative to the tracking term",
        above=0.0,
        high=1.0,
    )

    def __post_init__(self) -> None:
        """Check that something is tracked.

        Raises:
            ConfigError: If both weights are zero.
        """
        if self.position_weight == 0.0 and self.rotation_weight == 0.0:
            raise ConfigError("position_weight and rotation_weight must not both be 0")


@dataclass(frozen=True)
class ForceConfig:
    """The contacts the controller considers and the force it allows there."""

    limit: float = parameter(
        15.0, "f_max of (22d), the force limit of every contact", unit="N", above=0.0, high=200.0
    )
    contact_on: float = parameter(
        5.0, "a contact counts from this force on", unit="N", above=0.0, high=100.0
    )
    contact_off: float = parameter(
        2.0, "a contact is dropped below this force", unit="N", low=0.0, high=100.0
    )
    lag: float = parameter(
        0.016,
        "time constant with which measured forces lag behind: mostly the driver's low-pass",
        unit="s",
        low=0.0,
        high=1.0,
    )
    surface_compliance: float = parameter(
        1e-4,
        "compliance of what is touched and of the arm's surface, as far as known",
        unit="m/N",
        low=0.0,
        high=1e-2,
    )
    memory: float = parameter(
        0.5,
        "for how long the place of a lost contact is approached slowly",
        unit="s",
        low=0.0,
        high=10.0,
    )

    def __post_init__(self) -> None:
        """Check the hysteresis.

        Raises:
            ConfigError: If a contact would be dropped above the force that starts it.
        """
        if self.contact_off >= self.contact_on:
            raise ConfigError(
                f"contact_off ({self.contact_off} N) must be below contact_on ({self.contact_on} N)"
            )


@dataclass(frozen=True)
class DampingConfig:
    """Adaptive damping, (28) and (29)."""

    beta: float = parameter(
        0.05, "weight of the force prediction error in (28)", unit="1/N^2", low=0.0, high=100.0
    )
    alpha: float = parameter(
        0.05, "forgetting rate per tick of the low-pass (29)", above=0.0, high=1.0
    )
    weight_max: float = parameter(
        4.0, "w_max of (29), relative to the tracking term", low=0.0, high=1e4
    )


@dataclass(frozen=True)
class NullSpaceConfig:
    """The null-space baseline; it has no inequality constraints."""

    step: float = parameter(
        0.0,
        "bound on the change of its command per tick; 0 for none, then limits.step and "
        "limits.velocity_fraction do not apply to it either",
        unit="rad",
        low=0.0,
        high=1.0,
    )


@dataclass(frozen=True)
class ImpedanceConfig:
    """The impedance baseline: springs about the reference, made of those of the joints."""

    translation: float = parameter(
        500.0, "stiffness of the tool's position", unit="N/m", low=0.0, high=5000.0
    )
    rotation: float = parameter(
        50.0, "stiffness of the tool's orientation", unit="Nm/rad", low=0.0, high=300.0
    )
    posture: float = parameter(
        10.0, "stiffness of the posture, in motions that the tool does not feel", unit="Nm/rad",
        low=0.0, high=300.0,
    )  # fmt: skip


@dataclass(frozen=True)
class LimitsConfig:
    """Bounds that every command respects, whatever the controller asks for."""

    step: float = parameter(
        0.002,
        "dq_max of (22e): bound on the change of the command per tick",
        unit="rad",
        above=0.0,
        high=0.05,
    )
    velocity_fraction: float = parameter(
        0.9, "share of the joint velocity limits that is used", above=0.0, high=1.0
    )
    position_margin: float = parameter(
        0.03, "distance kept from the joint position limits", unit="rad", low=0.0, high=0.5
    )
    spring_torque_share: float = parameter(
        1.0, "share of the robot file's joints.spring_torque that bounds |K (q_cmd - q)|",
        above=0.0, high=1.0,
    )  # fmt: skip
    distance: float = parameter(
        0.35, "bound on |q_cmd - q|, whatever the stiffness", unit="rad", above=0.0, high=2.0
    )
    acceleration: float = parameter(
        100.0,
        "bound on the acceleration of a command; to stop at once is always allowed",
        unit="rad/s^2",
        above=0.0,
        high=1e4,
    )
    jerk: float = parameter(
        2e4, "bound on the jerk of a command", unit="rad/s^3", above=0.0, high=1e7
    )
    braking: float = parameter(
        40.0,
        "deceleration of the arm after the gate has refused a command",
        unit="rad/s^2",
        above=0.0,
        high=1e4,
    )
    tool_speed: float = parameter(
        0.5,
        "bound on the speed of the tool and of the elbow, but where they give way to a contact",
        unit="m/s",
        above=0.0,
        high=10.0,
    )
    point_speed: float = parameter(
        0.0,
        "bound on the speed of every point of the arm and of what it holds, which the gate keeps "
        "whatever a command is for, to give way too; 0 for none. For an arm beside people",
        unit="m/s",
        low=0.0,
        high=10.0,
    )
    yielding_fraction: float = parameter(
        0.8, "share of the joint velocity limits that may be used to give way", above=0.0, high=1.0
    )


@dataclass(frozen=True)
class TransitionConfig:
    """Where one motion ends and another begins: new goal, cancel, hold, resume."""

    acceleration: float = parameter(
        10.0,
        "bound on the acceleration of the command from one motion to the next",
        unit="rad/s^2",
        low=0.1,
        high=100.0,
    )
    jerk: float = parameter(
        500.0, "bound on its jerk from one motion to the next", unit="rad/s^3", low=1.0, high=2e4
    )


@dataclass(frozen=True)
class GovernorConfig:
    """The clock of the reference, which waits where the arm cannot follow."""

    enabled: bool = parameter(
        True,
        "whether the reference waits for the arm; the paper's experiments let it run on, for "
        "their figures compare with the programmed times",
    )
    joint: float = parameter(
        0.05,
        "the reference stands still when the command is this far behind a joint trajectory",
        unit="rad",
        above=0.0,
        high=3.0,
    )
    position: float = parameter(
        0.02,
        "the reference stands still when the command is this far behind a tool trajectory",
        unit="m",
        above=0.0,
        high=2.0,
    )
    rotation: float = parameter(
        0.1,
        "the reference stands still when the tool is behind by this angle",
        unit="rad",
        above=0.0,
        high=3.0,
    )


@dataclass(frozen=True)
class StartTolerance:
    """How far the arm may be from the start of a reference."""

    joint: float = parameter(
        0.05,
        "largest distance of a joint from the start of a trajectory",
        unit="rad",
        above=0.0,
        high=1.0,
    )
    position: float = parameter(
        0.03,
        "largest distance of the tool from the start of a trajectory",
        unit="m",
        above=0.0,
        high=1.0,
    )
    rotation: float = parameter(
        0.1,
        "largest angle of the tool to the start of a trajectory",
        unit="rad",
        above=0.0,
        high=3.2,
    )


@dataclass(frozen=True)
class SafetyConfig:
    """Watchdogs, the conservative mode, faults. Not a certified safety function."""

    state_timeout_periods: float = parameter(
        3.0,
        "the arm is held when the joint state is older than this many periods",
        unit="periods",
        low=1.0,
        high=100.0,
    )
    recovery_window: float = parameter(
        1.0,
        "tracking goes on by itself if the joint state comes back within this time",
        unit="s",
        low=0.0,
        high=60.0,
    )
    settling_time: float = parameter(
        0.25,
        "time to come to rest after an outage where a driver does not report its command; only "
        "an arm at rest shows which one it holds",
        unit="s",
        low=0.0,
        high=60.0,
    )
    contacts_timeout: float = parameter(
        0.05,
        "the controller is conservative when the contacts are older",
        unit="s",
        above=0.0,
        high=10.0,
    )
    reference_timeout: float = parameter(
        0.25, "the arm is held when a streamed reference is older", unit="s", above=0.0, high=10.0
    )
    force_fault_factor: float = parameter(
        6.0, "k: a fault follows when a force stays above k f_max", low=1.0, high=1000.0
    )
    force_fault_time: float = parameter(
        0.5, "T: how long a force may stay above k f_max", unit="s", low=0.0, high=60.0
    )
    stop_force: float = parameter(
        0.0,
        "a fault follows at once when a contact presses harder, or the torques prove that "
        "something does, planned or not; 0 for none. For an arm beside people",
        unit="N",
        low=0.0,
        high=1000.0,
    )
    leash: float = parameter(
        0.05,
        "how far elbow, wrist and tool may yield to contacts that may be a load, a drift or "
        "friction: all of them, unless the estimator is calibrated",
        unit="m",
        above=0.0,
        high=1.0,
    )
    float_force: float = parameter(
        60.0,
        "an arm that follows nothing, or is at its deviation bound, gives way to what presses "
        "harder than this on its springs; smaller loads are held. It is the least force that "
        "explains the springs: at the elbow of an iiwa it takes twice as much",
        unit="N",
        above=0.0,
        high=1000.0,
    )
    round_trip: float = parameter(
        0.25,
        "a command that the driver reports must have been sent within this time",
        unit="s",
        above=0.0,
        high=10.0,
    )
    start: StartTolerance = nested(StartTolerance)


@dataclass(frozen=True)
class ReflexConfig:
    """The reflex on raw external torque; it needs no contact estimate."""

    torque_share: float = parameter(
        0.5,
        "a fault follows when the external torque of a joint exceeds this share of its effort "
        "limit",
        above=0.0,
        high=10.0,
    )
    rate_share: float = parameter(
        10.0,
        "a fault follows when the external torque changes faster than by this share of the "
        "effort limit per second",
        unit="1/s",
        above=0.0,
        high=1e4,
    )
    reaction: str = parameter(
        "hold",
        "what the command does after a torque fault: hold; follow the springs until they carry "
        "nothing (float); or go back against the last motion and hold there (retract)",
        options=("hold", "float", "retract"),
    )
    retract_distance: float = parameter(
        0.05, "how far the fastest joint retracts", unit="rad", above=0.0, high=0.5
    )
    retract_speed: float = parameter(
        0.2, "speed of every joint while it retracts", unit="rad/s", above=0.0, high=1.0
    )
    torque_margin_share: float = parameter(
        0.02,
        "share of the effort limits by which sensors and friction may be wrong, or more where "
        "the robot's file says so; only torque beyond it proves a force",
        low=0.0,
        high=1.0,
    )
    held_reach: float = parameter(
        0.1, "how far a held object reaches from the tool's origin", unit="m", low=0.0, high=2.0
    )
    offset_share: float = parameter(
        0.05,
        "share of the effort limits that the estimator may attribute to bias and payload",
        low=0.0,
        high=1.0,
    )
    force_time: float = parameter(
        0.1,
        "the arm gives way when torques prove for this long a force above its limit that no "
        "located contact accounts for",
        unit="s",
        low=0.0,
        high=10.0,
    )


@dataclass(frozen=True)
class PlausibilityConfig:
    """What joint states of a robot that is well are like."""

    follow_distance: float = parameter(
        0.03,
        "how far a joint may be from where commands, springs and external torque put it, (5)",
        unit="rad",
        above=0.0,
        high=1.0,
    )
    follow_time: float = parameter(
        0.1,
        "how long it may be farther away before the robot counts as not following",
        unit="s",
        low=0.0,
        high=10.0,
    )


@dataclass(frozen=True)
class WorkspaceConfig:
    """Box in the world frame that the tool's origin does not leave."""

    lowest: tuple[float, ...] = parameter(
        (-2.0, -2.0, -2.0),
        "corner of the workspace with the smallest x, y, z",
        unit="m",
        low=-10.0,
        high=10.0,
        size=3,
    )
    highest: tuple[float, ...] = parameter(
        (2.0, 2.0, 2.0),
        "corner of the workspace with the largest x, y, z",
        unit="m",
        low=-10.0,
        high=10.0,
        size=3,
    )

    def __post_init__(self) -> None:
        """Check that the box has an inside.

        Raises:
            ConfigError: If it has none.
        """
        for axis, low, high in zip("xyz", self.lowest, self.highest, strict=True):
            if low >= high:
                raise ConfigError(f"workspace: lowest {axis} {low} m is not below highest {high} m")


@dataclass(frozen=True)
class SelfCollisionConfig:
    """Distance that is kept between links of the arm."""

    enabled: bool = parameter(True, "whether links are kept apart")
    distance: float = parameter(
        0.015, "smallest distance between two links", unit="m", low=0.0, high=0.2
    )
    pairs: str = parameter(
        "",
        "pairs of links that are checked, as `link:link` with blanks between the pairs; empty: "
        "all that have at least three joints between them",
    )

    def __post_init__(self) -> None:
        """Check how the pairs are written.

        Raises:
            ConfigError: If a pair is not two different names.
        """
        for pair in self.pairs.split():
            names = pair.split(":")
            if len(names) != 2 or not all(names) or names[0] == names[1]:
                raise ConfigError(
                    f"self_collision.pairs: '{pair}' is not `link:link` with two different links"
                )

    @property
    def named_pairs(self) -> tuple[tuple[str, str], ...]:
        """The pairs of :attr:`pairs`, split."""
        return tuple((a, b) for a, b in (pair.split(":") for pair in self.pairs.split()))


@dataclass(frozen=True)
class SlowStartConfig:
    """Ramp of the step bound after activation and after a fault was reset."""

    duration: float = parameter(
        1.0, "time until the whole step bound may be used", unit="s", low=0.0, high=60.0
    )
    fraction: float = parameter(
        0.1, "share of the step bound that is used at first", above=0.0, high=1.0
    )


@dataclass(frozen=True)
class ControllerConfig:
    """The contact-aware controller."""

    controller: str = parameter(
        "qp",
        "the controller: QP (24) qp, QP (22) qp_frictionless, a baseline for simulation "
        "(null_space, greedy or impedance), or one that was registered",
        live=True,
    )
    hardware: bool = parameter(
        False, "a real robot is driven: baselines without force limits are refused"
    )
    rate: float = parameter(200.0, "ticks per second", unit="Hz", low=20.0, high=1000.0)
    solver: str = parameter(
        "dual_active_set", "solver of the quadratic program", options=tuple(SOLVERS)
    )
    tracking: TrackingConfig = nested(TrackingConfig, live=True)
    force: ForceConfig = nested(ForceConfig, live=True)
    damping: DampingConfig = nested(DampingConfig, live=True)
    null_space: NullSpaceConfig = nested(NullSpaceConfig)
    impedance: ImpedanceConfig = nested(ImpedanceConfig)
    limits: LimitsConfig = nested(LimitsConfig)
    safety: SafetyConfig = nested(SafetyConfig)
    reflex: ReflexConfig = nested(ReflexConfig)
    plausibility: PlausibilityConfig = nested(PlausibilityConfig)
    governor: GovernorConfig = nested(GovernorConfig, live=True)
    transition: TransitionConfig = nested(TransitionConfig, live=True)
    workspace: WorkspaceConfig = nested(WorkspaceConfig)
    self_collision: SelfCollisionConfig = nested(SelfCollisionConfig)
    slow_start: SlowStartConfig = nested(SlowStartConfig)

    @property
    def period(self) -> float:
        """Time between ticks [s]."""
        return 1.0 / self.rate
