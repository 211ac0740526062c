"""The scene of a push: that of the demo push_box, with something else in place of the box."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from contact_core.robot.scene import write_scene
from contact_stack.demo.push_anything.pusher import PushConditions
from contact_stack.demo.push_anything.shapes import HEIGHT, PushedObject
from contact_stack.demo.push_anything.task import OBJECT, TABLE, PushTask


def write_push_scene(task: PushTask, conditions: PushConditions, folder: Path) -> Path:
    """Write a scene, and the description of what is pushed.

    Args:
        task: What is to be pushed where.
        conditions: How mass and friction differ from what the planner takes them for.
        folder: Where the files are written.

    Returns:
        The scene's file, as an absolute path.
    """
    thing = PushedObject.make(task.thing.name, task.thing.mass * conditions.mass)
    x, y, turn = task.start

    def change(values: dict[str, Any]) -> None:
        values["engine"] = conditions.engine
        values["surfaces"]["smooth"]["friction"] *= conditions.friction
        del values["objects"]["box"]
        values["objects"][OBJECT] = {
            "urdf": str(thing.urdf(folder).resolve()),
            "free": True,
            "xyz": [x, y, TABLE + HEIGHT / 2.0],
            "rpy": [0.0, 0.0, turn],
        }

    return write_scene("push_box", folder / f"push_{thing.name}.yaml", change)
