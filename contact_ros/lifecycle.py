"""A node with a life cycle that starts itself unless someone else is to."""

from __future__ import annotations

from typing import Any

from lifecycle_msgs.srv import ChangeState
from rclpy.impl.implementation_singleton import rclpy_implementation
from rclpy.lifecycle import LifecycleNode


class ManagedNode(LifecycleNode):
    """A lifecycle node; all its resources exist from the start, being active is the question.

    Subclasses implement ``on_activate`` and ``on_deactivate``. A transition that is not
    possible now is refused; rclpy alone would end the node.
    """

    def __init__(self, name: str) -> None:
        """Create the node, unconfigured.

        Args:
            name: Its name.
        """
        super().__init__(name)
        # The service looks its callback up at every call.
        self._change_state = self._service_change_state.callback
        self._service_change_state.callback = self._change_state_if_possible

    def start(self, active: bool) -> None:
        """Configure; called in the set-up.

        Args:
            active: Whether to activate as well; otherwise someone else does later.
        """
        self.trigger_configure()
        if active:
            self.trigger_activate()

    def _change_state_if_possible(
        self, request: ChangeState.Request, response: ChangeState.Response
    ) -> Any:
        try:
            return self._change_state(request, response)
        except rclpy_implementation.RCLError:
            self.get_logger().warning(
                f"transition '{request.transition.label or request.transition.id}' is not possible"
            )
            response.success = False
            return response
