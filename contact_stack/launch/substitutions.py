"""Substitutions ``$(name arguments)`` in the attributes of a launch file."""

from __future__ import annotations

import ast
import operator
import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from contact_core.errors import ConfigError, LaunchError, choices

QUOTES = "'\""


@dataclass
class Substitutions:
    """Replace substitutions by their values, as the launch file has set them so far.

    Attributes:
        configurations: Values of the arguments and of ``let``, by name.
    """

    configurations: dict[str, str]

    def perform(self, text: str) -> str:
        """Replace every substitution of a text.

        Args:
            text: An attribute of the launch file.

        Returns:
            The text with all substitutions replaced.

        Raises:
            LaunchError: If a substitution is unknown, malformed or cannot be done.
        """
        result, position = self._template(text, 0, "")
        if position != len(text):
            raise LaunchError(f"misplaced '{text[position]}' in '{text}'")
        return result

    def _template(self, text: str, position: int, stop: str) -> tuple[str, int]:
        """Read text with substitutions until one of the characters ``stop``."""
        result = []
        while position < len(text) and text[position] not in stop:
            if text.startswith("$(", position):
                value, position = self._substitution(text, position + 2)
            elif text[position] == "\\" and position + 1 < len(text):
                value, position = text[position + 1], position + 2
            else:
                value, position = text[position], position + 1
            result.append(value)
        return "".join(result), position

    def _substitution(self, text: str, position: int) -> tuple[str, int]:
        """Read ``name arguments)`` and return its value."""
        name, position = self._template(text, position, " )")
        arguments = []
        while position < len(text) and text[position] == " ":
            position += 1
            if position < len(text) and text[position] in QUOTES:
                quote = text[position]
                argument, position = self._template(text, position + 1, quote)
                if position == len(text):
                    raise LaunchError(f"{quote} is not closed in '{text}'")
                position += 1
            else:
                argument, position = self._template(text, position, " )")
            arguments.append(argument)
        if position == len(text):
            raise LaunchError(f"$( is not closed in '{text}'")
        if text[position] != ")":
            raise LaunchError(f"misplaced '{text[position]}' in '{text}'")
        return self._value(name, arguments), position + 1

    def _value(self, name: str, arguments: list[str]) -> str:
        if name not in SUBSTITUTIONS:
            raise LaunchError(f"unknown substitution '$({name} ...)' ({choices(SUBSTITUTIONS)})")
        function, counts = SUBSTITUTIONS[name]
        if len(arguments) not in counts:
            wanted = " or ".join(str(count) for count in counts)
            raise LaunchError(
                f"$({name} ...) takes {wanted} arguments, got {len(arguments)}: {arguments}"
            )
        return function(self.configurations, *arguments)


def _var(configurations: Mapping[str, str], name: str, default: str | None = None) -> str:
    value = configurations.get(name, default)
    if value is None:
        raise LaunchError(f"$(var {name}) is not set ({choices(configurations)})")
    return value


def _environment(configurations: Mapping[str, str], name: str, default: str | None = None) -> str:
    value = os.environ.get(name, default)
    if value is None:
        raise LaunchError(f"environment variable '{name}' is not set and has no default")
    return value


def _package_share(configurations: Mapping[str, str], package: str) -> str:
    """Return the share folder of a package; ours may also be a checkout."""
    if package == "contact_stack":
        from contact_core.description import share

        try:
            return str(share("launch").parent)
        except ConfigError as error:
            raise LaunchError(str(error)) from error
    for prefix in ament_prefixes():
        if (prefix / "share/ament_index/resource_index/packages" / package).exists():
            return str(prefix / "share" / package)
    raise LaunchError(
        f"package '{package}' is not installed below any of: "
        f"{', '.join(map(str, ament_prefixes()))}"
    )


def ament_prefixes() -> list[Path]:
    """Return the folders ROS packages are installed in, the most important first."""
    listed = os.environ.get("AMENT_PREFIX_PATH", "").split(os.pathsep)
    return [Path(prefix) for prefix in listed if prefix]


_COMPARISONS: Mapping[type, Callable[[Any, Any], Any]] = {
    ast.Eq: operator.eq,
    ast.NotEq: operator.ne,
    ast.Lt: operator.lt,
    ast.LtE: operator.le,
    ast.Gt: operator.gt,
    ast.GtE: operator.ge,
    ast.In: lambda item, container: item in container,
    ast.NotIn: lambda item, container: item not in container,
}
_ARITHMETIC: Mapping[type, Callable[[Any, Any], Any]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
}
_SIGNS: Mapping[type, Callable[[Any], Any]] = {
    ast.Not: operator.not_,
    ast.USub: operator.neg,
    ast.UAdd: operator.pos,
}


def evaluate(expression: str) -> str:
    """Evaluate an expression of constants; nothing in it can call or look up anything.

    Args:
        expression: Python syntax: constants, lists, arithmetic, comparisons of two
            values, and, or, not, if-else.

    Returns:
        The value as text.

    Raises:
        LaunchError: If the expression is malformed, uses anything else, or fails.
    """
    try:
        return str(_evaluate(ast.parse(expression.strip(), mode="eval").body))
    except SyntaxError as error:
        raise LaunchError(f"'{expression}' is not an expression: {error.msg}") from error
    except (ArithmeticError, TypeError, ValueError) as error:
        raise LaunchError(f"cannot evaluate '{expression}': {error}") from error


def _evaluate(node: ast.expr) -> Any:
    match node:
        case ast.Constant(value=value):
            return value
        case ast.List(elts=items) | ast.Tuple(elts=items):
            return [_evaluate(item) for item in items]
        case ast.UnaryOp(op=op, operand=operand) if type(op) in _SIGNS:
            return _SIGNS[type(op)](_evaluate(operand))
        case ast.BinOp(left=left, op=op, right=right) if type(op) in _ARITHMETIC:
            return _ARITHMETIC[type(op)](_evaluate(left), _evaluate(right))
        case ast.BoolOp(op=ast.And(), values=values):
            return all(_evaluate(value) for value in values)
        case ast.BoolOp(values=values):
            return any(_evaluate(value) for value in values)
        case ast.Compare(left=left, ops=[op], comparators=[right]) if type(op) in _COMPARISONS:
            return _COMPARISONS[type(op)](_evaluate(left), _evaluate(right))
        case ast.IfExp(test=test, body=body, orelse=orelse):
            return _evaluate(body) if _evaluate(test) else _evaluate(orelse)
        case _:
            raise LaunchError(f"'{ast.unparse(node)}' is not allowed in $(eval ...)")


SUBSTITUTIONS: dict[str, tuple[Callable[..., str], tuple[int, ...]]] = {
    "var": (_var, (1, 2)),
    "find-pkg-share": (_package_share, (1,)),
    "env": (_environment, (1, 2)),
    "eval": (lambda configurations, expression: evaluate(expression), (1,)),
}
"""Name -> (function of the configurations and the arguments, valid numbers of arguments)."""
