"""Substitutions in the attributes of launch files: ``$(var x)``, ``$(find-pkg-share p)``, ..."""

from __future__ import annotations

import ast
import os
import shlex
import subprocess
from collections.abc import Callable, Mapping
from pathlib import Path

from contact_core.base.errors import ConfigError, LaunchError, choices
from contact_core.base.files import share

_ALLOWED_IN_EVAL = (
    *(ast.Expression, ast.Constant, ast.List, ast.Tuple, ast.Load, ast.IfExp),
    *(ast.BinOp, ast.Add, ast.Sub, ast.Mult, ast.Div, ast.UnaryOp, ast.unaryop),
    *(ast.BoolOp, ast.boolop, ast.Compare, ast.cmpop),
)


def substitute(text: str, values: Mapping[str, str]) -> str:
    """Replace every substitution of an attribute; a backslash protects the next character.

    Args:
        text: The attribute.
        values: Values of the arguments and of ``let`` so far, by name.

    Returns:
        The text with all substitutions replaced.

    Raises:
        LaunchError: If a substitution is unknown, malformed or cannot be done.
    """
    return _template(text, 0, "", values)[0]


def evaluate(expression: str) -> str:
    """Evaluate an expression of constants; nothing in it can call or look up anything.

    Args:
        expression: Python syntax: constants, lists, arithmetic, comparisons, and, or, not,
            if-else.

    Returns:
        The value as text.

    Raises:
        LaunchError: If the expression is malformed, uses anything else, or fails.
    """
    try:
        tree = ast.parse(expression.strip(), mode="eval")
        for node in ast.walk(tree):
            if not isinstance(node, _ALLOWED_IN_EVAL):
                part = ast.unparse(node) or type(node).__name__
                raise LaunchError(f"'{part}' is not allowed in $(eval ...)")
        return str(eval(compile(tree, "$(eval)", "eval"), {"__builtins__": {}}))
    except SyntaxError as error:
        raise LaunchError(f"'{expression}' is not an expression: {error.msg}") from error
    except (ArithmeticError, TypeError, ValueError) as error:
        raise LaunchError(f"cannot evaluate '{expression}': {error}") from error


def ament_prefixes() -> list[Path]:
    """Return the folders ROS packages are installed in, the most important first."""
    listed = os.environ.get("AMENT_PREFIX_PATH", "").split(os.pathsep)
    return [Path(prefix) for prefix in listed if prefix]


def _template(text: str, start: int, stop: str, values: Mapping[str, str]) -> tuple[str, int]:
    """Read text until one of the characters ``stop``; return its value and where it ends."""
    result, i = "", start
    while i < len(text) and text[i] not in stop:
        if text.startswith("$(", i):
            value, i = _substitution(text, i + 2, values)
        else:
            i += text[i] == "\\" and i + 1 < len(text)
            value, i = text[i], i + 1
        result += value
    return result, i


def _substitution(text: str, start: int, values: Mapping[str, str]) -> tuple[str, int]:
    """Read ``name arguments)``; return its value and where it ends."""
    name, i = _template(text, start, " )", values)
    arguments = []
    while text.startswith(" ", i):
        i += 1
        if text.startswith(("'", '"'), i):
            argument, i = _template(text, i + 1, text[i], values)
            i += 1
        else:
            argument, i = _template(text, i, " )", values)
        arguments.append(argument)
    if i >= len(text):
        raise LaunchError(f"$( is not closed in '{text}'")
    if text[i] != ")":
        raise LaunchError(f"misplaced '{text[i]}' in '{text}'")
    if name not in SUBSTITUTIONS:
        raise LaunchError(f"unknown substitution '$({name} ...)' ({choices(SUBSTITUTIONS)})")
    function, counts = SUBSTITUTIONS[name]
    if len(arguments) not in counts:
        wanted = " or ".join(map(str, counts))
        raise LaunchError(
            f"$({name} ...) takes {wanted} arguments, got {len(arguments)}: {arguments}"
        )
    return function(values, *arguments), i + 1


def _variable(values: Mapping[str, str], name: str, default: str | None = None) -> str:
    value = values.get(name, default)
    if value is None:
        raise LaunchError(f"$(var {name}) is not set ({choices(values)})")
    return value


def _environment(values: Mapping[str, str], name: str, default: str | None = None) -> str:
    value = os.environ.get(name, default)
    if value is None:
        raise LaunchError(f"environment variable '{name}' is not set and has no default")
    return value


def package_share(package: str) -> str:
    """Locate the share folder of a package; ours may also be a checkout.

    Args:
        package: Its name.

    Returns:
        The folder.

    Raises:
        LaunchError: If it is not installed.
    """
    if package == "contact_stack":
        try:
            return str(share("launch").parent)
        except ConfigError as error:
            raise LaunchError(str(error)) from error
    return str(_prefix(package) / "share" / package)


def _prefix(package: str) -> Path:
    prefixes = ament_prefixes()
    for prefix in prefixes:
        if (prefix / "share/ament_index/resource_index/packages" / package).exists():
            return prefix
    raise LaunchError(
        f"package '{package}' is not installed below any of: {', '.join(map(str, prefixes))}"
    )


def _output(values: Mapping[str, str], command: str) -> str:
    """Return what a command prints."""
    try:
        done = subprocess.run(shlex.split(command), capture_output=True, text=True)
    except (OSError, ValueError) as error:
        raise LaunchError(f"cannot run '{command}': {error}") from error
    if done.returncode != 0 or done.stderr:
        raise LaunchError(f"'{command}' failed: {done.stderr.strip() or done.returncode}")
    return done.stdout


SUBSTITUTIONS: Mapping[str, tuple[Callable[..., str], tuple[int, ...]]] = {
    "var": (_variable, (1, 2)),
    "find-pkg-share": (lambda values, package: package_share(package), (1,)),
    "exec-in-pkg": (
        lambda values, name, package: str(_prefix(package) / "lib" / package / name),
        (2,),
    ),
    "command": (_output, (1,)),
    "env": (_environment, (1, 2)),
    "eval": (lambda values, expression: evaluate(expression), (1,)),
}
"""Name -> (function of the values and the arguments, valid numbers of arguments)."""
