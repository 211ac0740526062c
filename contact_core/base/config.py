"""Configuration: a frozen dataclass is the YAML schema and the ROS parameters.

A configuration is a frozen dataclass whose fields are made with :func:`parameter`.
Fields may be numbers, booleans, strings, tuples of those, or other configurations.
"""

from __future__ import annotations

import dataclasses
import math
import re
import typing
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any, TypeVar

import yaml

from contact_core.base.errors import ConfigError, choices
from contact_core.base.files import find_shared, share

Config = TypeVar("Config")

MISSING = dataclasses.MISSING
YAML = (".yaml", ".yml")
"""How the names of files end; other names are of what is shipped."""


@dataclasses.dataclass(frozen=True)
class Range:
    """What a parameter means and which values it takes.

    Attributes:
        description: One sentence for the person who sets the parameter.
        unit: SI unit, empty if the parameter has none.
        low: Smallest valid value, or the excluded bound if ``open_low``.
        high: Largest valid value.
        open_low: True if ``low`` itself is not valid.
        options: The valid values of a parameter that is one of a few; a registry's may grow.
        size: The number of entries of a tuple.
        per_joint: True for a tuple of one value a joint; a single one is that of every joint.
        live: True if the parameter may change while a node runs.
    """

    description: str = ""
    unit: str = ""
    low: float = -math.inf
    high: float = math.inf
    open_low: bool = False
    options: Collection[Any] = ()
    size: int | None = None
    per_joint: bool = False
    live: bool = False

    def __str__(self) -> str:
        """Describe the valid values, e.g. ``"> 0 Nm/rad, 7 values"``."""
        parts = []
        if self.options:
            parts.append(choices(self.options))
        unit = f" {self.unit}" if self.unit else ""
        if math.isfinite(self.low):
            parts.append(f"{'>' if self.open_low else '>='} {self.low:g}{unit}")
        if math.isfinite(self.high):
            parts.append(f"<= {self.high:g}{unit}")
        if self.size is not None:
            parts.append(f"{self.size} values")
        if self.per_joint:
            parts.append("one value, or one a joint")
        return ", ".join(parts) or "finite"

    def check(self, name: str, value: Any) -> None:
        """Refuse a number or a text that is not valid.

        Args:
            name: What has this value, for the error.
            value: The value, of the right type.

        Raises:
            ConfigError: If it is out of range, not finite, or none of the options.
        """
        if self.options and value not in self.options:
            raise ConfigError(f"{name} is {value!r} ({choices(self.options, value)})")
        if isinstance(value, int | float) and not isinstance(value, bool):
            inside = self.low < value if self.open_low else self.low <= value
            if not (math.isfinite(value) and inside and value <= self.high):
                raise ConfigError(f"{name} is {value!r} (valid: {self})")


def parameter(
    default: Any = MISSING,
    description: str = "",
    *,
    unit: str = "",
    low: float = -math.inf,
    above: float | None = None,
    high: float = math.inf,
    options: Collection[Any] = (),
    size: int | None = None,
    per_joint: bool = False,
    live: bool = False,
) -> Any:
    """Declare one field of a configuration.

    Args:
        default: Its default; leave it out to make the parameter mandatory.
        description: One sentence for the person who sets it.
        unit: SI unit.
        low: Smallest valid value.
        above: Excluded lower bound, instead of ``low``.
        high: Largest valid value.
        options: The valid values, if they are few.
        size: The number of entries, for a tuple.
        per_joint: True for a tuple of one value a joint, see :func:`per_joint`.
        live: True if it may change while a node runs.

    Returns:
        A dataclass field carrying its :class:`Range`.
    """
    valid = Range(
        description=description,
        unit=unit,
        low=low if above is None else above,
        high=high,
        open_low=above is not None,
        options=options,
        size=size,
        per_joint=per_joint,
        live=live,
    )
    return dataclasses.field(default=default, metadata={"range": valid})


def nested(config_type: type, live: bool = False, **defaults: Any) -> Any:
    """Declare a field that is itself a configuration, by default its defaults.

    Args:
        config_type: The dataclass of the nested configuration.
        live: True if all of it may change while a node runs.
        defaults: Defaults of its parameters that are others here.

    Returns:
        A dataclass field.
    """
    return dataclasses.field(
        default_factory=partial(config_type, **defaults),
        metadata={"live": live, "defaults": defaults},
    )


def from_mapping(
    config_type: type[Config],
    values: Mapping[str, Any],
    where: str = "",
    beside: Sequence[str] = (),
) -> Config:
    """Build and check a configuration from nested mappings.

    Args:
        config_type: The dataclass to build.
        values: Its values, e.g. read from YAML.
        where: Prefix of the parameter names in error messages.
        beside: Keys that are valid as well, and read by somebody else.

    Returns:
        The configuration.

    Raises:
        ConfigError: On an unknown key, a missing one, a wrong type, or a value that
            is out of range or not finite.
    """
    if not isinstance(values, Mapping):
        raise ConfigError(f"{where or config_type.__name__} must be a mapping, got {values!r}")
    fields = {field.name: field for field in dataclasses.fields(config_type)}  # type: ignore[arg-type]
    hints = typing.get_type_hints(config_type)
    built = {}
    for key, value in values.items():
        name = f"{where}.{key}" if where else str(key)
        if key not in fields:
            raise ConfigError(
                f"unknown parameter '{name}' ({choices([*fields, *beside], str(key))})"
            )
        if dataclasses.is_dataclass(hints[key]):
            if isinstance(value, Mapping):
                value = merged(fields[key].metadata.get("defaults", {}), value)
            built[key] = from_mapping(hints[key], value, name)
        else:
            built[key] = _checked(name, value, hints[key], fields[key].metadata["range"])
    for key, field in fields.items():
        mandatory = field.default is MISSING and field.default_factory is MISSING
        if mandatory and key not in built:
            name = f"{where}.{key}" if where else key
            description = field.metadata["range"].description
            raise ConfigError(f"parameter '{name}' is missing: {description}")
    return config_type(**built)


def _checked(name: str, value: Any, hint: Any, valid: Range) -> Any:
    """Return ``value`` as the type of its field, or raise a ConfigError."""
    if typing.get_origin(hint) is tuple:
        if valid.per_joint and isinstance(value, int | float):
            value = (value,)
        if isinstance(value, str) or not hasattr(value, "__len__"):
            raise ConfigError(f"parameter '{name}' must be a list, got {value!r}")
        if valid.size is not None and len(value) != valid.size:
            raise ConfigError(f"parameter '{name}' needs {valid.size} values, got {len(value)}")
        item = typing.get_args(hint)[0]
        return tuple(_checked_scalar(f"{name}[{i}]", v, item, valid) for i, v in enumerate(value))
    return _checked_scalar(name, value, hint, valid)


def _checked_scalar(name: str, value: Any, hint: Any, valid: Range) -> Any:
    if hint is float and isinstance(value, int) and not isinstance(value, bool):
        try:
            value = float(value)
        except OverflowError:
            value = math.inf if value > 0 else -math.inf
    if not isinstance(value, hint) or (hint is int and isinstance(value, bool)):
        raise ConfigError(f"parameter '{name}' must be {hint.__name__}, got {value!r}")
    valid.check(f"parameter '{name}'", value)
    return value


def load(config_type: type[Config], path: str | Path) -> Config:
    """Read a configuration from a YAML file.

    Args:
        config_type: The dataclass to build.
        path: The file.

    Returns:
        The configuration.

    Raises:
        ConfigError: If the file is missing, is not YAML, or has invalid values.
    """
    path = Path(path)
    values = read_mapping(path)
    try:
        return from_mapping(config_type, values)
    except ConfigError as error:
        raise ConfigError(f"{path.name}: {error}") from error


class _Loader(yaml.SafeLoader):
    """Names are what is written, also ``no`` and ``1``, and none may be there twice.

    ``7e-1`` is a number, as it is for ROS.
    """

    def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict[Any, Any]:
        seen = set()
        for key, _ in node.value:
            text = key.value if isinstance(key, yaml.ScalarNode) else None
            if text is None or text in seen:
                problem = "a name has to be text" if text is None else f"'{text}' is there twice"
                raise yaml.constructor.ConstructorError(None, None, problem, key.start_mark)
            seen.add(text)
        self.flatten_mapping(node)
        return {key.value: self.construct_object(value, deep=deep) for key, value in node.value}


_Loader.add_implicit_resolver(
    "tag:yaml.org,2002:float",
    re.compile(r"[-+]?(\.\d+|\d+\.?\d*)[eE][-+]?\d+\Z", re.ASCII),
    list("-+.0123456789"),
)


class _TextLoader(_Loader):
    """Leaves values as they are written, too."""

    yaml_implicit_resolvers: typing.ClassVar[dict[str, Any]] = {}  # type: ignore[misc]


def read_texts(text: str) -> Any:
    """Read YAML without guessing what is a number, for readers who know the types.

    Args:
        text: The YAML.

    Returns:
        A text, or a mapping or list of such.

    Raises:
        ConfigError: If it is no YAML.
    """
    try:
        values = yaml.load(text, _TextLoader)
    except (yaml.YAMLError, RecursionError) as error:
        raise ConfigError(f"'{text}' is not valid YAML: {error}") from error
    return "" if values is None else values


def read_mapping(path: Path) -> dict[str, Any]:
    """Read a YAML file that maps names to values.

    Args:
        path: The file.

    Returns:
        What it says; empty if it says nothing.

    Raises:
        ConfigError: If it is missing, or no such YAML.
    """
    try:
        values = yaml.load(path.read_text(), _Loader)
    except OSError as error:
        raise ConfigError(f"cannot read {path}: {error.strerror}") from error
    except UnicodeDecodeError as error:
        raise ConfigError(f"{path} is no text") from error
    except (yaml.YAMLError, ValueError) as error:  # of a number with thousands of digits
        raise ConfigError(f"{path} is not valid YAML: {error}") from error
    except RecursionError as error:
        raise ConfigError(f"{path} is nested too deeply") from error
    if not isinstance(values or {}, dict):
        raise ConfigError(f"{path} must map names to values, got {values!r}")
    return values or {}


def config_file(kind: str, name: str, folder: Path = Path()) -> Path:
    """Return where a configuration is.

    Args:
        kind: Folder of ``config`` with those that are shipped.
        name: One of them without ``.yaml``, or a path to a file.
        folder: What a relative path starts from.

    Raises:
        ConfigError: If none that is shipped has this name.
    """
    if name.endswith(YAML):
        return folder / name
    found = find_shared("config", kind, f"{name}.yaml")
    if found is None:
        if (folder / name).is_file():
            raise ConfigError(
                f"'{name}' is no .yaml file of config/{kind} (what a URDF, an SDF, an MJCF or a "
                "xacro describes: contact-stack import makes one of it)"
            )
        names = sorted(path.stem for path in share("config", kind).glob("*.yaml"))
        raise ConfigError(
            f"there is no '{name}' in config/{kind} ({choices(names, name)}; or the path of a "
            ".yaml file)"
        )
    return found


FileEntries = Callable[[dict[str, Any]], Iterable[tuple[dict[str, Any], str]]]


def read_extended(
    kind: str, path: Path, files: FileEntries, seen: tuple[Path, ...] = ()
) -> dict[str, Any]:
    """Read a YAML file that may say ``extends: NAME``, on top of what the other one says.

    Args:
        kind: Folder of ``config`` with those that are shipped.
        path: The file; what it extends, and other files, are looked for beside it first.
        files: Finds the values that name other files, as (mapping, key).
        seen: Those that extend this one.

    Returns:
        The values, without the key ``extends``.

    Raises:
        ConfigError: If a file is missing, or no such YAML, or they extend each other in a circle.
    """
    if path in seen:
        chain = " -> ".join(file.name for file in (*seen, path))
        raise ConfigError(f"these files extend each other in a circle: {chain}")
    values = read_mapping(path)
    for mapping, key in files(values):
        beside = path.parent.resolve() / str(mapping[key])
        if beside.is_file():
            mapping[key] = str(beside)
    if "extends" not in values:
        return values
    basis = config_file(kind, str(values.pop("extends")), path.parent)
    return merged(read_extended(kind, basis, files, (*seen, path)), values)


def merged(basis: Mapping[str, Any], changes: Mapping[str, Any]) -> dict[str, Any]:
    """Return nested mappings with the values of others on top.

    Args:
        basis: The values that stay where the others have none.
        changes: The others.
    """
    values = dict(basis)
    for key, value in changes.items():
        below = values.get(key)
        both = isinstance(below, Mapping) and isinstance(value, Mapping)
        values[key] = merged(below, value) if both else value  # type: ignore[arg-type]
    return values


def for_joints(config: Config, joints: int, where: str = "") -> Config:
    """Give every joint of an arm its value of the parameters that have one a joint.

    Args:
        config: A configuration, in which a single value is that of every joint.
        joints: How many joints the arm has.
        where: Prefix of the parameter names in error messages.

    Returns:
        The configuration with one value a joint.

    Raises:
        ConfigError: If a parameter has another number of values.
    """
    changes: dict[str, Any] = {}
    for field in dataclasses.fields(config):  # type: ignore[arg-type]
        value = getattr(config, field.name)
        name = f"{where}.{field.name}" if where else field.name
        if dataclasses.is_dataclass(value):
            changes[field.name] = for_joints(value, joints, name)
        elif field.metadata["range"].per_joint:
            if len(value) not in (1, joints):
                raise ConfigError(
                    f"parameter '{name}' needs one value, or one for each of {joints} joints, "
                    f"got {len(value)}"
                )
            changes[field.name] = value if len(value) == joints else value * joints
    return dataclasses.replace(config, **changes)  # type: ignore[type-var]


def flatten(config: Any, prefix: str = "") -> dict[str, tuple[Any, Range]]:
    """List every parameter of a configuration under its dotted name.

    Args:
        config: A configuration.
        prefix: Put before every name.

    Returns:
        Dotted name -> (value, range), in the order of the fields.
    """
    flat: dict[str, tuple[Any, Range]] = {}
    for field in dataclasses.fields(config):
        value = getattr(config, field.name)
        if dataclasses.is_dataclass(value):
            inner = flatten(value, f"{prefix}{field.name}.")
            if field.metadata.get("live", False):
                inner = {
                    name: (found, dataclasses.replace(valid, live=True))
                    for name, (found, valid) in inner.items()
                }
            flat.update(inner)
        else:
            flat[prefix + field.name] = (value, field.metadata["range"])
    return flat


def unflatten(flat: Mapping[str, Any]) -> dict[str, Any]:
    """Turn dotted names back into nested mappings.

    Args:
        flat: Dotted name -> value.

    Returns:
        What :func:`from_mapping` takes.
    """
    values: dict[str, Any] = {}
    for name, value in flat.items():
        *parents, leaf = name.split(".")
        level = values
        for parent in parents:
            level = level.setdefault(parent, {})
        level[leaf] = value
    return values


def with_values(config: Config, changes: Mapping[str, Any]) -> Config:
    """Return a configuration in which some parameters have other values.

    Args:
        config: The configuration.
        changes: Dotted name -> value.

    Raises:
        ConfigError: See :func:`from_mapping`.
    """
    values = {name: value for name, (value, _) in flatten(config).items()}
    return from_mapping(type(config), unflatten(values | dict(changes)))
