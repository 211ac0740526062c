"""A client of one planner's action, for the tests of its server."""

from __future__ import annotations

from typing import Any

from contact_ros.client import GraphClient, SentGoal


class PlanningClient(GraphClient):
    """Sends goals and keeps the feedback of the latest."""

    def __init__(self, action: Any, name: str) -> None:
        super().__init__("test_client")
        self.action = action
        self.name = name
        self.feedback: list[Any] = []

    def start(self, **fields: Any) -> SentGoal:
        """Send a goal made of these fields."""
        return self.start_goal(self.action.Goal(**fields))

    def start_goal(self, goal: Any) -> SentGoal:
        """Send a goal."""
        feedback = self.feedback = []
        return self.send(self.action, self.name, goal, feedback.append, 60.0, attempts=2)

    def result(self, goal: SentGoal) -> tuple[int, Any]:
        """Wait for a goal's end; return its state and result."""
        ended = self.end_of(goal, 60.0)
        return ended.status, ended.result

    def plan(self, **fields: Any) -> tuple[int, Any]:
        """Send a goal and wait for its end."""
        return self.result(self.start(**fields))
