"""Simulation of robots in compliant frictional contact: the TAMSI scheme.

``World`` puts things from URDFs together and builds an ``Engine``, which simulates them.
"""

from contact_core.scene_config import SolverConfig
from contact_core.surface import Material, Surface
from tamsi_sim.arrays.settings import FrictionLaw
from tamsi_sim.arrays.status import StepStatus
from tamsi_sim.scheme.linearization import Linearization
from tamsi_sim.simulation.closures import ClosureForce
from tamsi_sim.simulation.engine import ContactPoint, Engine, Trajectory
from tamsi_sim.simulation.model import BuiltModel, build_model
from tamsi_sim.simulation.observer import Energy, Observer
from tamsi_sim.simulation.rollouts import Rollouts
from tamsi_sim.simulation.world import World

__all__ = [
    "BuiltModel",
    "ClosureForce",
    "ContactPoint",
    "Energy",
    "Engine",
    "FrictionLaw",
    "Linearization",
    "Material",
    "Observer",
    "Rollouts",
    "SolverConfig",
    "StepStatus",
    "Surface",
    "Trajectory",
    "World",
    "build_model",
]
