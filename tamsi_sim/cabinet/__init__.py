"""A simulated robot cabinet that speaks the Fast Robot Interface (FRI); free of ROS and of clocks.

It is no product of KUKA. What no public document says is invented: :mod:`.invented` lists it.
"""

from tamsi_sim.cabinet.cabinet import ArmLimits, Cabinet, CabinetConfig, Quality, Session
from tamsi_sim.cabinet.connection import ClientConnection
from tamsi_sim.cabinet.invented import INVENTED
from tamsi_sim.cabinet.wire import VERSIONS, Monitoring, WireError, encode_monitoring

__all__ = [
    "INVENTED",
    "VERSIONS",
    "ArmLimits",
    "Cabinet",
    "CabinetConfig",
    "ClientConnection",
    "Monitoring",
    "Quality",
    "Session",
    "WireError",
    "encode_monitoring",
]
