"""Parameters of the simulator's node; what is simulated is in the scene."""

from __future__ import annotations

from dataclasses import dataclass

from contact_core.config import nested, parameter
from contact_core.errors import ConfigError
from contact_core.scene_config import ENGINES
from contact_ros.driver_profile import DriverConfig
from tamsi_sim.node.driver_faults import DriverFaultsConfig


@dataclass(frozen=True)
class SimulatorConfig:
    """The simulator in the graph."""

    scene: str = parameter("mug_placement", "what to simulate, a file of config/scenes")
    engine: str = parameter(
        "scene",
        "what simulates it: ours, Drake's SAP, or what the scene says",
        options=("scene", *ENGINES),
    )
    driver: str = parameter("lbr_fri", "driver profile to speak")
    arm: DriverConfig = nested(DriverConfig)
    driver_faults: DriverFaultsConfig = nested(DriverFaultsConfig)
    seed: int = parameter(0, "seed of the sensor noise", low=0)
    lockstep: bool = parameter(False, "wait for the participants instead of real time")
    autostart: bool = parameter(
        True, "activate at the start; otherwise a transition of the life cycle does"
    )
    participants: tuple[str, ...] = parameter(
        ("contact_estimator", "contact_aware_controller"), "nodes that take part in lock-step"
    )
    client: str = parameter("", "a further participant in lock-step, e.g. demo; empty for none")
    lockstep_timeout: float = parameter(
        10.0, "longest time participants may take for a tick", unit="s", above=0.0, high=3600.0
    )
    start_timeout: float = parameter(
        60.0, "longest time until all participants have started", unit="s", above=0.0, high=3600.0
    )

    def __post_init__(self) -> None:
        """Check that the parameters go together.

        Raises:
            ConfigError: If states shall be left out in lock-step, where every tick needs one.
        """
        if self.lockstep and self.driver_faults.state_every > 1:
            raise ConfigError("driver_faults.state_every must be 1 in lock-step")
