"""Services of the simulator that make its driver misbehave."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from rclpy.node import Node
from std_srvs.srv import SetBool, Trigger

from tamsi_sim.node.driver_faults import DriverFaults

REAL_TIME_ONLY = "refused: in lock-step nothing is late or missing; launch with lockstep:=false"


class FaultServices:
    """Serve ``leave_commanding``, ``silence``, ``delay`` and ``restart`` of the driver."""

    def __init__(
        self, node: Node, prefix: str, faults: DriverFaults, lockstep: bool, now: Callable[[], int]
    ) -> None:
        """Create the services.

        Args:
            node: The simulator's node.
            prefix: Put before the services' names.
            faults: What they switch.
            lockstep: True in lock-step, where every request is refused.
            now: The simulated time [ns].
        """
        self._faults = faults
        self._lockstep = lockstep
        offers: tuple[tuple[type, str, Callable[[Any], None]], ...] = (
            (SetBool, "leave_commanding", self._leave),
            (SetBool, "silence", self._silence),
            (Trigger, "delay", lambda request: faults.delay(now())),
            (Trigger, "restart", lambda request: faults.restart(now())),
        )
        for service_type, name, serve in offers:
            node.create_service(service_type, f"{prefix}/{name}", self._server(serve))

    def _leave(self, request: SetBool.Request) -> None:
        self._faults.commanding = not request.data

    def _silence(self, request: SetBool.Request) -> None:
        self._faults.silent = request.data

    def _server(self, serve: Callable[[Any], None]) -> Callable[[Any, Any], Any]:
        """Return a callback that serves in real time, and answers with the active fault."""

        def answer(request: Any, response: Any) -> Any:
            if not self._lockstep:
                serve(request)
            response.success = not self._lockstep
            response.message = REAL_TIME_ONLY if self._lockstep else self._faults.name
            return response

        return answer
