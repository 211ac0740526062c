"""Services of the simulator that make its driver misbehave."""

from __future__ import annotations

from collections.abc import Callable

from rclpy.node import Node
from std_srvs.srv import SetBool, Trigger

from tamsi_sim.node.driver_faults import DriverFaults

REAL_TIME_ONLY = "refused: in lock-step nothing is late or missing; launch with lockstep:=false"


class FaultServices:
    """Serve ``driver/leave_commanding``, ``silence``, ``delay`` and ``restart``."""

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
        self._now = now
        self._services = [
            node.create_service(SetBool, f"{prefix}/leave_commanding", self._leave),
            node.create_service(SetBool, f"{prefix}/silence", self._silence),
            node.create_service(Trigger, f"{prefix}/delay", self._delay),
            node.create_service(Trigger, f"{prefix}/restart", self._restart),
        ]

    def _leave(self, request: SetBool.Request, response: SetBool.Response) -> SetBool.Response:
        if not self._lockstep:
            self._faults.commanding = not request.data
        return self._answer(response)

    def _silence(self, request: SetBool.Request, response: SetBool.Response) -> SetBool.Response:
        if not self._lockstep:
            self._faults.silent = request.data
        return self._answer(response)

    def _delay(self, request: Trigger.Request, response: Trigger.Response) -> Trigger.Response:
        if not self._lockstep:
            self._faults.delay(self._now())
        return self._answer(response)

    def _restart(self, request: Trigger.Request, response: Trigger.Response) -> Trigger.Response:
        if not self._lockstep:
            self._faults.restart()
        return self._answer(response)

    def _answer(
        self, response: SetBool.Response | Trigger.Response
    ) -> SetBool.Response | Trigger.Response:
        response.success = not self._lockstep
        response.message = REAL_TIME_ONLY if self._lockstep else self._faults.name
        return response
