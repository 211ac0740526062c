"""Fills the page of the parameters from the dataclasses that declare them."""

from __future__ import annotations

import dataclasses
import importlib
import typing
from typing import Any

from contact_aware_control.node.config import ControllerNodeConfig, simulation_defaults
from contact_core.base.config import Range, flatten, from_mapping

NODES = {
    "tamsi_sim": "tamsi_sim.node.simulator.SimulatorConfig",
    "contact_estimator": "contact_aware_control.node.config.EstimatorNodeConfig",
    "contact_aware_controller": "contact_aware_control.node.config.ControllerNodeConfig",
    "command_watchdog": "contact_aware_control.node.config.WatchdogConfig",
    "preflight": "contact_stack.preflight.node.PreflightConfig",
    "irs_planner": "irs_planner.node.goal.PlannerNodeConfig",
    "object_mover": "irs_planner.node.object_mover.MoverNodeConfig",
    "robust_planner": "robust_planner.node.goal.PlanServerConfig",
    "robot_frames": "contact_stack.robot_frames.RobotFramesConfig",
    "viewer": "contact_stack.viewer.node.ViewerConfig",
    "fri_driver": "contact_stack.fri.node.FriDriverConfig",
    "wsg50": "contact_stack.wsg50.node.Wsg50Config",
}
"""Node -> the dataclass of its parameters."""

SCENES = {
    "A scene": "contact_core.robot.scene.SceneConfig",
    "An object, `objects.NAME`": "contact_core.robot.scene.ObjectConfig",
    "A surface, `surfaces.NAME`": "contact_core.robot.scene.SurfaceConfig",
}
"""Part of a scene's file -> the dataclass of its keys."""

ROBOTS = {"A robot": "contact_core.robot.description.RobotConfig"}

PLACES = {"<!-- parameters -->": NODES, "<!-- scenes -->": SCENES, "<!-- robots -->": ROBOTS}


def on_page_markdown(markdown: str, page: Any, config: Any, files: Any) -> str:
    """Put the tables where the page asks for them; called by mkdocs.

    Args:
        markdown: Text of a page.
        page: Unused.
        config: Unused.
        files: Unused.

    Returns:
        The text with the tables.
    """
    for place, parts in PLACES.items():
        tables = "\n\n".join(f"### {part}\n\n{table(path)}" for part, path in parts.items())
        markdown = markdown.replace(place, tables)
    return markdown


def table(path: str) -> str:
    """Return the table of one configuration.

    Args:
        path: Module and name of its dataclass.

    Returns:
        A row per parameter: name, default, valid values, description.
    """
    module, _, name = path.rpartition(".")
    config_type = getattr(importlib.import_module(module), name)
    parameters = flatten(blank(config_type))
    simulated = parameters
    if config_type is ControllerNodeConfig:
        simulated = flatten(from_mapping(config_type, simulation_defaults()))
    rows = ["| parameter | default | valid | |", "|---|---|---|---|"]
    rows += [
        _row(name, value, valid, simulated[name][0]) for name, (value, valid) in parameters.items()
    ]
    return "\n".join(rows)


def blank(config_type: type) -> Any:
    """Return a configuration of defaults, with nothing where a value must be given.

    Args:
        config_type: Its dataclass.
    """
    hints = typing.get_type_hints(config_type)
    missing = {
        field.name: blank(hint) if dataclasses.is_dataclass(hint := hints[field.name]) else ""
        for field in dataclasses.fields(config_type)
        if field.default is field.default_factory is dataclasses.MISSING
    }
    return config_type(**missing)


def _row(name: str, value: object, valid: Range, simulated: object) -> str:
    shown = list(value) if isinstance(value, tuple) else value
    default = "" if shown in ("", []) else f"`{shown}`"
    unit = f" {valid.unit}" if valid.unit else ""
    if simulated != value:
        unit += f"; simulated `{simulated}`"
    # Without its unit: that is beside the default already.
    allowed = str(dataclasses.replace(valid, unit="")).removeprefix("valid: ")
    description = valid.description + (" *(live)*" if valid.live else "")
    cells = (f"`{name}`", default + unit, allowed, description)
    return "| " + " | ".join(cell.replace("|", "\\|").strip() for cell in cells) + " |"
