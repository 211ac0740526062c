"""ROS parameters declared from a configuration dataclass."""

from __future__ import annotations

import math
import sys
from collections.abc import Callable, Mapping
from functools import partial
from itertools import accumulate
from typing import Any, TypeVar

from rcl_interfaces.msg import (
    FloatingPointRange,
    IntegerRange,
    ParameterDescriptor,
    SetParametersResult,
)
from rclpy.node import Node
from rclpy.parameter import Parameter

from contact_core.base.config import (
    Range,
    flatten,
    from_mapping,
    merged,
    unflatten,
    with_values,
)
from contact_core.base.errors import ConfigError
from contact_ros.arguments import refuse_useless_files

Config = TypeVar("Config")

CLOCK = "use_sim_time"
QOS_PREFIX = "qos_overrides."
"""Parameters of this prefix belong to ROS itself."""


def read(
    node: Node,
    config_type: type[Config],
    on_change: Callable[[Config], None] | None = None,
    defaults: Callable[[Mapping[str, Any]], Mapping[str, Any]] = lambda values: {},
) -> Config:
    """Read a node's parameter overrides into a configuration and declare them all.

    Args:
        node: The node; its overrides come from ``-p`` and parameter files.
        config_type: The dataclass of the configuration.
        on_change: Called with the new configuration, complete and checked, when someone sets a
            parameter that is declared live; it may refuse it by a ConfigError. Without it, as all
            others, they are read-only.
        defaults: Returns defaults that are others than the dataclass's, given what is set.

    Returns:
        The configuration, complete and checked.

    Raises:
        ConfigError: If an override names no parameter, has the wrong type, or is out of
            range, if a mandatory parameter is missing, or if nothing in a parameter file is meant
            for this node.
    """
    refuse_useless_files(node, sys.argv)
    values = unflatten(_overrides(node))
    config = from_mapping(config_type, merged(defaults(values), values))
    for name, (value, valid) in flatten(config).items():
        # The override is already in the value, converted to the type of its field.
        node.declare_parameter(
            name,
            list(value) if isinstance(value, tuple) else value,
            _descriptor(name, value, valid, read_only=on_change is None or not valid.live),
            ignore_override=True,
        )
    node.add_on_set_parameters_callback(partial(_keep_clock, node))
    if on_change is not None:
        node.add_on_set_parameters_callback(_Changes(config, on_change))
    return config


def _keep_clock(node: Node, parameters: list[Parameter]) -> SetParametersResult:
    """Refuse another clock: all stamps would be of another time from one moment to the next."""
    for item in parameters:
        if item.name == CLOCK and item.value != node.get_parameter(CLOCK).value:
            reason = f"{CLOCK} cannot change while the node runs (valid: set where it is started)"
            return SetParametersResult(successful=False, reason=reason)
    return SetParametersResult(successful=True)


class _Changes:
    """Accept new values of live parameters if the whole configuration is valid with them."""

    def __init__(self, config: Any, on_change: Callable[[Any], None]) -> None:
        self._config = config
        self._on_change = on_change

    def __call__(self, parameters: list[Parameter]) -> SetParametersResult:
        known = flatten(self._config)
        ours = {item.name: item.value for item in parameters if item.name in known}
        if ours:
            try:
                config = with_values(self._config, ours)
                self._on_change(config)
            except ConfigError as error:
                return SetParametersResult(successful=False, reason=str(error))
            self._config = config
        return SetParametersResult(successful=True)


def _overrides(node: Node) -> dict[str, Any]:
    """Return the overrides meant for the configuration, by dotted name."""
    # rclpy has no public way to list overrides of parameters not declared yet.
    overrides = {
        name: override.value
        for name, override in node._parameter_overrides.items()
        if not node.has_parameter(name) and not name.startswith(QOS_PREFIX)
    }
    for name in overrides:
        for parent in accumulate(name.split(".")[:-1], "{}.{}".format):
            if parent in overrides:
                raise ConfigError(f"parameter '{name}' contradicts the value of '{parent}'")
    return overrides


def _descriptor(name: str, value: Any, valid: Range, read_only: bool) -> ParameterDescriptor:
    """Describe a parameter to tools such as ``ros2 param describe``."""
    unit = f" [{valid.unit}]" if valid.unit else ""
    descriptor = ParameterDescriptor(
        name=name,
        description=f"{valid.description}{unit}",
        additional_constraints=str(valid),
        read_only=read_only,
    )
    bounded = math.isfinite(valid.low) or math.isfinite(valid.high)
    if bounded and isinstance(value, float):
        descriptor.floating_point_range = [
            FloatingPointRange(
                from_value=max(valid.low, -sys.float_info.max),
                to_value=min(valid.high, sys.float_info.max),
            )
        ]
    elif bounded and isinstance(value, int) and not isinstance(value, bool):
        descriptor.integer_range = [
            IntegerRange(
                from_value=int(max(valid.low, -(2**63))) + int(valid.open_low),
                to_value=2**63 - 1 if math.isinf(valid.high) else int(valid.high),
            )
        ]
    return descriptor
