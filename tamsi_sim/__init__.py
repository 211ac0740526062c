"""Simulation of robots in compliant frictional contact: the TAMSI scheme.

``World`` puts things from URDFs together and builds an ``Engine``, which simulates them.
"""

from contact_core.model.actuator import Actuator
from contact_core.robot.scene_config import SolverConfig
from contact_core.robot.surface import Material, Surface
from tamsi_sim.arrays.settings import FrictionLaw
from tamsi_sim.arrays.status import StepStatus
from tamsi_sim.scheme.linearization import Linearization
from tamsi_sim.simulation.closures import ClosureForce
from tamsi_sim.simulation.engine import Engine
from tamsi_sim.simulation.model import BuiltModel, build_model
from tamsi_sim.simulation.observer import Energy, Observer
from tamsi_sim.simulation.records import ContactPoint, Trajectory
from tamsi_sim.simulation.rollouts import Rollouts
from tamsi_sim.simulation.sensor_noise import SensorNoise
from tamsi_sim.simulation.sensors import ForceTorque, Imu, JointTorque
from tamsi_sim.simulation.tendons import TendonState
from tamsi_sim.simulation.world import World

__all__ = [
    "Actuator",
    "BuiltModel",
    "ClosureForce",
    "ContactPoint",
    "Energy",
    "Engine",
    "ForceTorque",
    "FrictionLaw",
    "Imu",
    "JointTorque",
    "Linearization",
    "Material",
    "Observer",
    "Rollouts",
    "SensorNoise",
    "SolverConfig",
    "StepStatus",
    "Surface",
    "TendonState",
    "Trajectory",
    "World",
    "build_model",
]
