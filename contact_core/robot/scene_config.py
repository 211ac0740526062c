"""The schema of ``config/scenes/*.yaml``: robot, objects, surfaces, physics and sensors."""

from __future__ import annotations

import math
from dataclasses import dataclass

from contact_core.base.config import nested, parameter
from contact_core.robot.arm_state import CommandMode
from contact_core.robot.description import JointFrictionConfig
from contact_core.robot.surface import Surface

ENGINES = ("tamsi", "drake")
AXES = 6
HALL = 100.0
"""How far from the world's origin an object may be [m]; millimetres are told at once."""
WORLD = "world"
JOINT_IMPEDANCE = "joint_impedance"
CARTESIAN_IMPEDANCE = "cartesian_impedance"
JOINT_TORQUE = "joint_torque"
COMMAND_MODES = {
    JOINT_IMPEDANCE: CommandMode.POSITION,
    CARTESIAN_IMPEDANCE: CommandMode.WRENCH,
    JOINT_TORQUE: CommandMode.TORQUE,
}


@dataclass(frozen=True)
class SolverConfig:
    """Settings of the TAMSI scheme."""

    accuracy: float = parameter(
        0.0,
        "error of a step's positions, and of its velocities over 0.1 s, from which the engine "
        "chooses its steps; 0 for steps of equal length",
        unit="m, rad",
        low=0.0,
        high=1.0,
    )
    stiction_velocity: float = parameter(
        1e-4, "slip speed v_s below which friction sticks", unit="m/s", above=0.0
    )
    relative_tolerance: float = parameter(
        1e-2, "Newton stops at velocity changes below this times v_s", above=0.0, high=1.0
    )
    max_iterations: int = parameter(
        100, "largest number of Newton iterations of one step", low=1, high=1000
    )
    max_substeps: int = parameter(
        20, "largest number of sub-steps into which a failed step is cut", low=1, high=100
    )
    friction_law: str = parameter(
        "elastic",
        "friction of what sticks: a spring, which holds; or the paper's law or Drake's, which creep"
        " at less than v_s",
        options=("elastic", "linear", "quadratic"),
    )
    line_search: bool = parameter(True, "limit Newton updates at slip-stick transitions (TALS)")
    landing: float = parameter(
        0.0, "slip speed, in v_s, on which an update through zero lands", low=0.0, high=1.0
    )
    soft_norm: float = parameter(
        0.0, "softening of the slip speed's norm, in v_s", low=0.0, high=1.0
    )
    gyroscopic_terms: str = parameter(
        "midpoint",
        "of bodies that turn freely: by the implicit midpoint rule, which keeps a rotation's "
        "energy and momentum, or explicit, as Drake takes them",
        options=("midpoint", "explicit"),
    )
    max_contacts: int = parameter(
        0,
        "largest number of contact points of a step, beyond which it fails; 0 for no bound",
        low=0,
        high=100000,
    )


@dataclass(frozen=True)
class TorqueSensorConfig:
    """How the true external torque becomes the measured one, in this order."""

    cutoff: float = parameter(
        10.0, "cut-off frequency of a first-order low-pass; 0 for none", unit="Hz", low=0.0
    )
    delay: float = parameter(
        0.0, "pure delay, rounded to whole periods", unit="s", low=0.0, high=1.0
    )
    bias: tuple[float, ...] = parameter(
        (0.0,), "constant error of the torque", unit="Nm", per_joint=True
    )
    drift: float = parameter(
        0.0,
        "standard deviation of the error after one second of its random walk",
        unit="Nm/sqrt(s)",
        low=0.0,
    )
    noise: tuple[float, ...] = parameter(
        (0.1,),
        "standard deviation of white noise per sample; a scene that leaves it out has the noise"
        " of the robot's file",
        unit="Nm",
        low=0.0,
        per_joint=True,
    )


@dataclass(frozen=True)
class CameraConfig:
    """How the objects are seen, on the topic camera/objects."""

    rate: float = parameter(30.0, "pictures per second", unit="Hz", above=0.0, high=1000.0)
    noise: float = parameter(
        0.003,
        "standard deviation of a pose's position along each axis",
        unit="m",
        low=0.0,
        high=1.0,
    )
    turn_noise: float = parameter(
        math.radians(1.0),
        "standard deviation of a pose's rotation about each axis",
        unit="rad",
        low=0.0,
        high=1.0,
    )
    delay: float = parameter(
        0.033, "time from a picture to the poses found in it", unit="s", low=0.0, high=10.0
    )
    dropouts: float = parameter(
        0.05, "share of the pictures in which nothing is found", low=0.0, high=1.0
    )


@dataclass(frozen=True)
class CartesianImpedanceConfig:
    """Gains of the Cartesian impedance controller, set at the robot itself."""

    stiffness: tuple[float, ...] = parameter(
        (2000.0, 2000.0, 2000.0, 200.0, 200.0, 200.0),
        "stiffness along x, y, z [N/m], then about x, y, z [Nm/rad] of the base frame",
        low=0.0,
        high=5000.0,
        size=AXES,
    )
    damping_ratio: float = parameter(
        0.7, "damping of the tool relative to critical", low=0.1, high=1.0
    )
    null_space_stiffness: float = parameter(
        10.0, "stiffness of the motion that does not move the tool", unit="Nm/rad", low=0.0
    )


@dataclass(frozen=True)
class GripperConfig:
    """The gripper's own position controller; forces are those of one finger.

    Where the gripper's joint turns, its positions are in rad and its forces in Nm.
    """

    initial_position: float = parameter(
        0.0, "finger position at the start", unit="m or rad", low=0.0
    )
    initial_target: float = parameter(
        0.0,
        "finger position that the gripper's drive holds or presses towards at the start",
        unit="m or rad",
        low=0.0,
    )
    initial_effort: float = parameter(20.0, "grip force at the start", unit="N or Nm", low=0.0)
    stiffness: float = parameter(
        2000.0, "stiffness of the position controller", unit="N/m or Nm/rad", above=0.0
    )
    damping_ratio: float = parameter(
        1.0, "damping of the position controller relative to critical", low=0.0, high=10.0
    )
    armature: float = parameter(
        0.5, "effective mass of motor and gear", unit="kg or kg m^2", low=0.0
    )
    speed: float = parameter(
        0.1,
        "how fast the target position moves; of a joint that turns, if it is left out, its stroke "
        "in the 0.55 s of a WSG 50, within the velocity limit",
        unit="m/s or rad/s",
        above=0.0,
    )


@dataclass(frozen=True)
class ArmErrorsConfig:
    """How the true arm differs from its description, which is all that its driver knows.

    The weight that the driver compensates, and the torque that it subtracts to find the external
    one, are those of the description.
    """

    mass_ratio: tuple[float, ...] = parameter(
        (1.0,),
        "mass and inertia of the link that each joint moves, relative to those described",
        low=0.1,
        high=10.0,
        per_joint=True,
    )
    tool_mass_ratio: float = parameter(
        1.0,
        "mass and inertia of what is mounted on the last link, relative to those described",
        low=0.0,
        high=100.0,
    )
    tilt: tuple[float, ...] = parameter(
        (0.0, 0.0), "tilt of the base about x and y", unit="rad", low=-0.5, high=0.5, size=2
    )
    friction_seen: bool = parameter(
        False,
        "whether the joints' friction is on the links' side of the torque sensors, so that it "
        "shows in the external torque",
    )
    gear_stiffness: tuple[float, ...] = parameter(
        (0.0,),
        "stiffness of the gears between encoders and links; 0 for rigid ones",
        unit="Nm/rad",
        low=0.0,
        per_joint=True,
    )


@dataclass(frozen=True)
class RobotSceneConfig:
    """The robot, and the impedance controller of its factory that is part of the plant.

    What a scene leaves out is as in the robot's file.
    """

    description: str = parameter(description="the robot, a file of config/robots, or a path")
    initial_positions: tuple[float, ...] = parameter(
        description="q at the start, and the first position command", unit="rad", per_joint=True
    )
    effective_armature: tuple[float, ...] = parameter(
        description="rotor inertia felt at the joint under joint-torque feedback",
        unit="kg m^2",
        low=0.0,
        per_joint=True,
    )
    stiffness: tuple[float, ...] = parameter(
        description="joint stiffness K of the impedance controller",
        unit="Nm/rad",
        above=0.0,
        per_joint=True,
    )
    damping_ratio: float = parameter(
        description="damping of its springs relative to critical, 2 ratio sqrt(K m_ii)",
        low=0.0,
        high=10.0,
    )
    friction: JointFrictionConfig = parameter(description="friction of the joints")
    control_mode: str = parameter(
        JOINT_IMPEDANCE,
        "joint springs, springs at the tool that take a wrench on top, or joint springs turned "
        "down to nothing, which leaves the arm to the torques of its commands",
        options=tuple(COMMAND_MODES),
    )
    cartesian: CartesianImpedanceConfig = nested(CartesianImpedanceConfig)
    gripper: GripperConfig = nested(GripperConfig)
    errors: ArmErrorsConfig = nested(ArmErrorsConfig)

    @property
    def command_mode(self) -> CommandMode:
        """What the arm's commands consist of."""
        return COMMAND_MODES[self.control_mode]


@dataclass(frozen=True)
class ObjectConfig:
    """A thing in the scene: furniture, or something to hold."""

    urdf: str = parameter(description="URDF file, beside the scene or below description/")
    free: bool = parameter(False, "whether the object moves; otherwise it is fixed to the world")
    kinematic: bool = parameter(
        False,
        "whether the object moves as it is told and no force moves it, such as a hand that pushes",
    )
    frame: str = parameter(WORLD, "world, or the robot's link that the pose is relative to")
    xyz: tuple[float, ...] = parameter(
        (0.0, 0.0, 0.0),
        "position of the object at the start",
        unit="m",
        low=-HALL,
        high=HALL,
        size=3,
    )
    rpy: tuple[float, ...] = parameter(
        (0.0, 0.0, 0.0),
        "roll, pitch and yaw of the object at the start",
        unit="rad",
        low=-math.tau,
        high=math.tau,
        size=3,
    )

    @property
    def floats(self) -> bool:
        """Whether it is not fixed to the world, whatever moves it."""
        return self.free or self.kinematic


@dataclass(frozen=True)
class SurfaceConfig:
    """Contact parameters of a surface; two surfaces in contact are combined."""

    of: tuple[str, ...] = parameter(
        (),
        "what has this surface: robot, environment, names of objects or links; empty for "
        "everything else",
    )
    stiffness: float = parameter(
        2e4, "stiffness of this surface, in series with the other's", unit="N/m", above=0.0
    )
    dissipation: float = parameter(5.0, "Hunt-Crossley dissipation", unit="s/m", low=0.0)
    friction: float = parameter(0.5, "coefficient of friction", low=0.0, high=10.0)
    restitution: float = parameter(
        1.0,
        "share of an impact's speed that comes back, but for what dissipation takes besides",
        low=0.0,
        high=1.0,
    )

    @property
    def surface(self) -> Surface:
        """The surface."""
        return Surface(
            self.stiffness, self.dissipation, self.friction, restitution=self.restitution
        )


@dataclass(frozen=True)
class SceneConfig:
    """The part of a scene that has fixed keys."""

    name: str = parameter(description="name of the scene")
    robot: RobotSceneConfig = parameter(description="the robot")
    time_step: float = parameter(1e-3, "step h of the simulation", unit="s", above=0.0, high=0.1)
    period: float = parameter(5e-3, "time between two commands", unit="s", above=0.0, high=1.0)
    gravity: tuple[float, ...] = parameter(
        (0.0, 0.0, -9.81),
        "acceleration of gravity, world frame; controller and estimator know no other than this",
        unit="m/s^2",
        size=3,
    )
    gravity_compensated: bool = parameter(True, "whether the robot's controller cancels its weight")
    may_touch: tuple[str, ...] = parameter(
        ("robot / environment", "environment / environment"),
        "pairs that may touch: robot, environment, names of objects or links",
    )
    engine: str = parameter("tamsi", "simulation engine: ours, or Drake's SAP", options=ENGINES)
    solver: SolverConfig = nested(SolverConfig)
    torque_sensor: TorqueSensorConfig = nested(TorqueSensorConfig)
    camera: CameraConfig = nested(CameraConfig)
