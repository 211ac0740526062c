"""A node with a life cycle that starts itself unless someone else is to."""

from __future__ import annotations

import inspect
from typing import Any

from lifecycle_msgs.srv import ChangeState
from rclpy.lifecycle import LifecycleNode, LifecycleState, TransitionCallbackReturn

from contact_core.base.errors import choices
from contact_ros.guarded_node import GuardedNode
from contact_ros.validation import MessageError


class ManagedNode(GuardedNode, LifecycleNode):
    """A lifecycle node; all its resources exist from the start, being active is the question.

    Subclasses implement ``on_activate`` and ``on_deactivate``; every other way out of being
    active deactivates as well. A transition that is not possible now is refused; rclpy alone
    would end the node.
    """

    def __init__(self, name: str, **options: Any) -> None:
        """Create the node, unconfigured.

        Args:
            name: Its name.
            options: What else rclpy's node takes.
        """
        super().__init__(name, **options)
        service = self._service_change_state
        self._change_state = inspect.unwrap(service.callback)
        self.guard(service, self._change_state_if_possible)

    def start(self, active: bool) -> None:
        """Configure; called in the set-up.

        Args:
            active: Whether to activate as well; otherwise someone else does later.
        """
        self.trigger_configure()
        if active:
            self.trigger_activate()

    def on_cleanup(self, state: LifecycleState) -> TransitionCallbackReturn:
        """Deactivate: nothing was acquired that could be given back."""
        super().on_cleanup(state)
        return self.on_deactivate(state)

    def on_shutdown(self, state: LifecycleState) -> TransitionCallbackReturn:
        """Deactivate: a node may be shut down while it is active."""
        super().on_shutdown(state)
        return self.on_deactivate(state)

    def on_error(self, state: LifecycleState) -> TransitionCallbackReturn:
        """Deactivate: a transition has failed half-way."""
        super().on_error(state)
        return self.on_deactivate(state)

    def _change_state_if_possible(
        self, request: ChangeState.Request, response: ChangeState.Response
    ) -> Any:
        transition = request.transition.label or request.transition.id
        possible = self._state_machine.available_transitions
        if not any(transition in (number, label) for number, label, *_ in possible):
            labels = choices([label for _, label, *_ in possible])
            raise MessageError(f"transition '{transition}' is not possible ({labels})")
        return self._change_state(request, response)
