"""The flight recorder: what the control loop was given and answered, and its replay."""

from contact_aware_control.flight.record import FlightRecord, TickRecord
from contact_aware_control.flight.recorder import FlightRecorder
from contact_aware_control.flight.replay import ReplayedTick, replay

__all__ = ["FlightRecord", "FlightRecorder", "ReplayedTick", "TickRecord", "replay"]
