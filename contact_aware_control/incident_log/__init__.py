"""The incident log: what the control loop was given and answered, and its replay."""

from contact_aware_control.incident_log.file import load, save
from contact_aware_control.incident_log.log import (
    Incident,
    IncidentLog,
    ReplayedTick,
    TickRecord,
    replay,
)

__all__ = ["Incident", "IncidentLog", "ReplayedTick", "TickRecord", "load", "replay", "save"]
