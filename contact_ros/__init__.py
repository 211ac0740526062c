"""What the nodes share: parameters, driver profiles, lock-step, loop, diagnostics.

The names below are for scripts and nodes of users; they are imported when first used.
"""

from typing import TYPE_CHECKING

from contact_core.base.lazy import lazy_names

__all__ = [
    "LOCKSTEP",
    "NANOSECONDS",
    "GraphClient",
    "Participant",
    "TickInputs",
    "to_array",
    "to_duration",
    "to_nanoseconds",
    "to_pose",
    "to_time",
]

if TYPE_CHECKING:
    from contact_ros.client import GraphClient
    from contact_ros.geometry import to_array, to_pose
    from contact_ros.lockstep import Participant, TickInputs
    from contact_ros.qos import LOCKSTEP
    from contact_ros.stamps import NANOSECONDS, to_duration, to_nanoseconds, to_time
else:
    __getattr__ = lazy_names(
        __name__,
        {
            "client": ("GraphClient",),
            "geometry": ("to_array", "to_pose"),
            "lockstep": ("Participant", "TickInputs"),
            "qos": ("LOCKSTEP",),
            "stamps": ("NANOSECONDS", "to_duration", "to_nanoseconds", "to_time"),
        },
    )
