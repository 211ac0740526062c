"""The flight recorder: what the control loop was given and answered, and its replay."""

from contact_aware_control.incident_log.record import FlightRecord, TickRecord
from contact_aware_control.incident_log.recorder import FlightRecorder
from contact_aware_control.incident_log.replay import ReplayedTick, replay

__all__ = ["FlightRecord", "FlightRecorder", "ReplayedTick", "TickRecord", "replay"]
