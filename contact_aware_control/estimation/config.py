"""Parameters of the contact estimator."""

from __future__ import annotations

from dataclasses import dataclass

from contact_core.base.config import nested, parameter


@dataclass(frozen=True)
class DetectionConfig:
    """When a torque is a contact."""

    contact_on: float = parameter(
        3.0, "a contact is reported from this force on", unit="N", above=0.0
    )
    contact_off: float = parameter(1.5, "a contact ends below this force", unit="N", low=0.0)
    threshold: float = parameter(
        20.0,
        "squared whitened norm of the low-passed torque beyond which it is a contact; raise it "
        "where an arm reports contacts that are none",
        above=0.0,
    )


@dataclass(frozen=True)
class NoiseConfig:
    """Standard deviations assumed of the external torque."""

    before_tare: float = parameter(
        0.3,
        "standard deviation of the torque noise until a tare has measured it",
        unit="Nm",
        above=0.0,
        high=20.0,
    )
    smallest: float = parameter(
        0.1, "model error: the noise is never taken to be smaller", unit="Nm", above=0.0, high=20.0
    )
    relative: float = parameter(
        0.005,
        "model error in proportion to the norm of the torque: lever arms and shapes are not exact",
        low=0.0,
        high=0.5,
    )


@dataclass(frozen=True)
class ParticleConfig:
    """The particle set and the friction it reckons with."""

    count: int = parameter(
        500, "number of particles; take fewer on a slow computer", low=50, high=20000
    )
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


@dataclass(frozen=True)
class EstimateConfig:
    """When the place of a contact is trusted."""

    identifiable_spread: float = parameter(
        0.05,
        "standard deviation of the point above which it is not identifiable",
        unit="m",
        above=0.0,
    )


@dataclass(frozen=True)
class SeveralConfig:
    """How many contacts are followed."""

    most: int = parameter(2, "largest number of contacts that are followed at once", low=1, high=3)


@dataclass(frozen=True)
class TareConfig:
    """Estimation of the torque's bias in free space."""

    duration: float = parameter(
        0.25, "how long the torque is averaged for a tare", unit="s", above=0.0, high=60.0
    )
    expected_bias: float = parameter(
        1.0, "standard deviation of a bias that has not been measured yet", unit="Nm", low=0.0
    )
    largest_bias: float = parameter(
        3.0,
        "a larger mean torque of a joint is refused as a bias; an unknown 0.3 kg in the gripper"
        " are 2.5 Nm",
        unit="Nm",
        above=0.0,
    )


@dataclass(frozen=True)
class LoadConfig:
    """When torques are those of a load that nobody has declared, not of a contact."""

    farthest: float = parameter(
        0.5,
        "how far a load's centre of mass may be from the origin of the last joint's frame",
        unit="m",
        above=0.0,
        high=3.0,
    )


@dataclass(frozen=True)
class ErrorsConfig:
    """What is wrong in the external torque where nothing touches the arm; see torque_errors."""

    calibration: str = parameter(
        "",
        "file that `contact-stack calibrate` wrote for this arm, or exact for an arm that is as"
        " described, as in simulation; without one the standard deviations below are assumed",
    )
    friction: float = parameter(
        0.3,
        "standard deviation of Coulomb friction in the external torque",
        unit="Nm",
        low=0.0,
        high=20.0,
    )
    viscous_friction: float = parameter(
        0.3,
        "standard deviation of viscous friction in the external torque",
        unit="Nm s/rad",
        low=0.0,
        high=100.0,
    )
    tilt: float = parameter(
        0.035, "standard deviation of the base's tilt, per axis", unit="rad", low=0.0, high=0.5
    )
    mass_share: float = parameter(
        0.05, "standard deviation of a link's mass, relative to the mass", low=0.0, high=1.0
    )
    tool_mass: float = parameter(
        0.3, "standard deviation of the tool's mass", unit="kg", low=0.0, high=10.0
    )
    drift: float = parameter(
        0.05,
        "standard deviation of the bias after one second of its random walk",
        unit="Nm/sqrt(s)",
        low=0.0,
        high=10.0,
    )


@dataclass(frozen=True)
class ObserverConfig:
    """The momentum observer, where the driver does not estimate the external torque."""

    gain: float = parameter(
        50.0, "cut-off frequency Ko of the momentum observer", unit="1/s", above=0.0, high=1000.0
    )
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
        "what finds contacts: the contact particle filter, or an estimator that was registered",
    )
    links: tuple[str, ...] = parameter((), "links that may be touched; empty for all moving ones")
    seed: int = parameter(0, "seed of the particles' random numbers", low=0)
    detection: DetectionConfig = nested(DetectionConfig)
    noise: NoiseConfig = nested(NoiseConfig)
    particles: ParticleConfig = nested(ParticleConfig)
    estimate: EstimateConfig = nested(EstimateConfig)
    contacts: SeveralConfig = nested(SeveralConfig)
    tare: TareConfig = nested(TareConfig)
    errors: ErrorsConfig = nested(ErrorsConfig)
    load: LoadConfig = nested(LoadConfig)
