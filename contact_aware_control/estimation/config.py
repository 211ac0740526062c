"""Parameters of the contact estimator."""

from __future__ import annotations

from dataclasses import dataclass

from contact_core.base.config import nested, parameter


@dataclass(frozen=True)
class DetectionConfig:
    """When a torque is a contact."""

    contact_on: float = parameter(
        3.0, "force from which on a contact is reported", unit="N", above=0.0
    )
    contact_off: float = parameter(1.5, "force below which a contact ends", unit="N", low=0.0)
    threshold: float = parameter(
        20.0,
        "squared whitened norm of the low-passed torque that free space does not explain",
        above=0.0,
    )
    torque_time: float = parameter(
        0.01,
        "time constant of the low-pass on the torque that detection and force use; jumps "
        "that noise does not explain pass unfiltered",
        unit="s",
        low=0.0,
    )
    memory_time: float = parameter(
        0.5, "how long a contact's place is remembered after its end", unit="s", low=0.0
    )


@dataclass(frozen=True)
class NoiseConfig:
    """Standard deviations assumed of the external torque."""

    before_tare: float = parameter(
        0.3, "noise until a tare has measured it", unit="Nm", above=0.0, high=20.0
    )
    smallest: float = parameter(
        0.1, "model error: noise is never taken smaller", unit="Nm", above=0.0, high=20.0
    )
    relative: float = parameter(
        0.005,
        "model error in proportion to the norm of the torque: lever arms and shapes are not exact",
        low=0.0,
        high=0.5,
    )


@dataclass(frozen=True)
class ParticleConfig:
    """The particle set and its motion model."""

    count: int = parameter(500, "number of particles", low=50, high=20000)
    friction: float = parameter(
        0.5,
        "half width of the friction pyramid that most contacts stay in, at least sqrt(2) mu",
        above=0.0,
        high=5.0,
    )
    largest_friction: float = parameter(
        1.15,
        "half width of the pyramid that all contacts stay in, at least sqrt(2) mu",
        above=0.0,
        high=5.0,
    )
    friction_surprise: float = parameter(
        1.0,
        "squared whitened residual that a force outside the usual pyramid counts as, per "
        "sample; larger trusts the usual friction more",
        low=0.0,
    )
    motion_spread: float = parameter(
        0.002, "step of the motion model per update and axis", unit="m", above=0.0, high=0.1
    )
    search_spread: float = parameter(
        0.03, "the same while no particle explains the torque", unit="m", above=0.0, high=0.5
    )
    exploration: float = parameter(
        0.05, "fraction of particles redrawn uniformly at each update", low=0.0, high=0.9
    )
    effective_share: float = parameter(
        0.05,
        "share of effective particles below which the likelihood is flattened",
        above=0.0,
        high=0.9,
    )
    acquisition_rounds: int = parameter(
        5, "motion and resampling rounds on the first torque of a contact", low=1, high=50
    )


@dataclass(frozen=True)
class EstimateConfig:
    """How the particles become an estimate, and when it is trusted."""

    mode_radius: float = parameter(0.06, "size of a mode", unit="m", above=0.0, high=0.5)
    smallest_mode: float = parameter(
        0.05, "weight below which a mode is not reported", above=0.0, high=1.0
    )
    switch_ratio: float = parameter(
        1.5, "how much heavier another mode or link must be to take over", low=1.0, high=100.0
    )
    point_time: float = parameter(
        0.03, "time constant of the low-pass on the point", unit="s", low=0.0
    )
    force_time: float = parameter(
        0.3,
        "time constant of the low-pass on the force that is expected to stay when another "
        "contact comes",
        unit="s",
        above=0.0,
    )
    residual_time: float = parameter(
        0.05,
        "time constant of the low-pass on the residual, and of a mean torque that tells how much "
        "of it is no noise",
        unit="s",
        low=0.0,
    )
    search_residual: float = parameter(
        2.0,
        "squared whitened residual of the low-passed torque, per joint, above which the "
        "torque counts as unexplained and a set searches",
        above=0.0,
    )
    slide_distance: float = parameter(
        0.02,
        "how far an established contact may have slid when it does not explain the torque",
        unit="m",
        above=0.0,
        high=0.2,
    )
    restart_time: float = parameter(
        0.03,
        "time of unexplained torque after which the whole surface is searched again",
        unit="s",
        low=0.0,
    )
    rival_distance: float = parameter(
        0.08, "how far another explanation of the torque is from the estimate", unit="m", above=0.0
    )
    evidence_time: float = parameter(
        0.1, "time over which evidence against another explanation is summed", unit="s", above=0.0
    )
    identifiable_joints: int = parameter(
        5, "contacts on links moved by fewer joints are not identifiable", low=1, high=100
    )
    identifiable_residual: float = parameter(
        3.0, "residual above which a contact is not identifiable", above=0.0
    )
    identifiable_weight: float = parameter(
        0.6, "weight of the main mode below which a contact is not identifiable", low=0.0, high=1.0
    )
    identifiable_spread: float = parameter(
        0.05,
        "standard deviation of the point above which it is not identifiable",
        unit="m",
        above=0.0,
    )


@dataclass(frozen=True)
class SeveralConfig:
    """When contacts are added and removed."""

    most: int = parameter(2, "number of contacts followed at most", low=1, high=3)
    settling_time: float = parameter(
        0.1,
        "time after which a contact that explains the torque is established: it stays where it "
        "is when the torque changes in a way that its force does not explain",
        unit="s",
        low=0.0,
    )
    mobility: float = parameter(
        0.0,
        "factor on the motion of established contacts while a later one is followed",
        low=0.0,
        high=1.0,
    )
    force_change: float = parameter(
        5.0,
        "standard deviation of the change of a contact's force when another one comes",
        unit="N",
        above=0.0,
    )
    add_residual: float = parameter(
        1.0,
        "squared whitened residual of the low-passed torque, per joint, above which a contact "
        "may be missing; a single one of which the mean torque leaves more is not identifiable",
        above=0.0,
    )
    add_time: float = parameter(
        0.03, "time of unexplained torque after which a contact is added", unit="s", low=0.0
    )
    remove_residual: float = parameter(
        0.3,
        "squared whitened residual of the low-passed torque, per joint, that a contact must "
        "explain beside the others",
        low=0.0,
    )
    remove_time: float = parameter(
        0.05, "time for which they must do without it to remove it", unit="s", low=0.0
    )
    change_time: float = parameter(
        0.2, "shortest time between adding or removing contacts", unit="s", low=0.0
    )


@dataclass(frozen=True)
class TareConfig:
    """Estimation of the torque's bias in free space."""

    duration: float = parameter(
        0.25, "how long the torque is averaged", unit="s", above=0.0, high=60.0
    )
    expected_bias: float = parameter(
        1.0, "standard deviation of a bias that has not been measured yet", unit="Nm", low=0.0
    )
    largest_bias: float = parameter(
        3.0,
        "a larger mean torque of a joint is no bias; an unknown 0.3 kg in the gripper are 2.5 Nm",
        unit="Nm",
        above=0.0,
    )
    variation_ratio: float = parameter(
        6.0,
        "a standard deviation of more than this times the noise in the robot's file, or the "
        "smallest noise, means that the robot is touched or moves",
        low=1.0,
        high=1000.0,
    )


@dataclass(frozen=True)
class LoadConfig:
    """When torques are those of a load that nobody has declared, not of a contact."""

    farthest: float = parameter(
        0.5,
        "how far its centre of mass may be from the origin of the last joint's frame",
        unit="m",
        above=0.0,
        high=3.0,
    )
    window: float = parameter(
        0.5,
        "time that it takes to be taken up at most; afterwards it does not change",
        unit="s",
        above=0.0,
        high=10.0,
    )
    distinct: float = parameter(
        30.0,
        "squared whitened change of its torque, as the arm turns, from which on no hand can have "
        "followed it by chance",
        above=0.0,
    )


@dataclass(frozen=True)
class ErrorsConfig:
    """What is wrong in the external torque where nothing touches the arm; see torque_errors."""

    calibration: str = parameter(
        "",
        "file that contact-stack calibrate wrote for this arm, or exact for one that is as "
        "described, as in simulation; without one the standard deviations below are assumed",
    )
    friction: float = parameter(
        0.3, "standard deviation of Coulomb friction in the torque", unit="Nm", low=0.0, high=20.0
    )
    viscous_friction: float = parameter(
        0.3, "standard deviation of viscous friction in it", unit="Nm s/rad", low=0.0, high=100.0
    )
    tilt: float = parameter(
        0.035, "standard deviation of the base's tilt, per axis", unit="rad", low=0.0, high=0.5
    )
    mass_share: float = parameter(
        0.05, "standard deviation of a link's mass, over the mass", low=0.0, high=1.0
    )
    tool_mass: float = parameter(
        0.3, "standard deviation of the tool's mass", unit="kg", low=0.0, high=10.0
    )
    drift: float = parameter(
        0.05,
        "standard deviation of the bias' random walk after one second",
        unit="Nm/sqrt(s)",
        low=0.0,
        high=10.0,
    )
    presliding: float = parameter(
        1e-3, "motion in which a joint's friction turns round", unit="rad", above=0.0, high=0.1
    )
    sliding_speed: float = parameter(
        0.03,
        "speed from which on a joint slides and its friction is as known as its coefficient",
        unit="rad/s",
        above=0.0,
        high=1.0,
    )
    correlation_time: float = parameter(
        0.3,
        "time for which an error that the model lacks lasts: samples within it count as one",
        unit="s",
        low=0.0,
        high=10.0,
    )


@dataclass(frozen=True)
class PayloadConfig:
    """The transient when an object is taken or dropped."""

    transient_time: float = parameter(
        0.1,
        "time constant with which trust returns after the payload has changed",
        unit="s",
        above=0.0,
        high=10.0,
    )


@dataclass(frozen=True)
class ObserverConfig:
    """The momentum observer, where the driver does not estimate the external torque."""

    gain: float = parameter(50.0, "cut-off Ko of the observer", unit="1/s", above=0.0, high=1000.0)
    armature: tuple[float, ...] = parameter(
        (0.0,),
        "inertia of the drives seen by the joint torques; zero for torque sensors behind the gears",
        unit="kg m^2",
        low=0.0,
        per_joint=True,
    )


@dataclass(frozen=True)
class EstimatorConfig:
    """Everything the contact estimator can be told."""

    estimator: str = parameter(
        "contact_particle_filter",
        "who finds contacts: the contact particle filter, or one that was registered",
    )
    links: tuple[str, ...] = parameter((), "links that may be touched; empty for all moving ones")
    seed: int = parameter(0, "seed of the particles", low=0)
    detection: DetectionConfig = nested(DetectionConfig)
    noise: NoiseConfig = nested(NoiseConfig)
    particles: ParticleConfig = nested(ParticleConfig)
    estimate: EstimateConfig = nested(EstimateConfig)
    contacts: SeveralConfig = nested(SeveralConfig)
    tare: TareConfig = nested(TareConfig)
    errors: ErrorsConfig = nested(ErrorsConfig)
    load: LoadConfig = nested(LoadConfig)
    payload: PayloadConfig = nested(PayloadConfig)
