"""Which elements and attributes a launch file may have."""

from __future__ import annotations

import re
from dataclasses import dataclass

from contact_core.errors import choices
from contact_stack.launch.substitutions import SUBSTITUTIONS
from contact_stack.launch.xml_element import XmlElement

CONDITIONS = ("if", "unless")


@dataclass(frozen=True)
class Rule:
    """What one element may hold.

    Attributes:
        mandatory: Attributes it must have.
        optional: Attributes it may have.
        children: The rules of the elements it may contain, by tag.
        options: The valid values of an attribute that has few.
    """

    mandatory: tuple[str, ...] = ()
    optional: tuple[str, ...] = ()
    children: dict[str, Rule] | None = None
    options: dict[str, tuple[str, ...]] | None = None


PARAMETER_VALUE = Rule(mandatory=("name", "value"))
PARAMETER_FILE = Rule(mandatory=("from",))

# A group contains what the file contains, also further groups.
_ACTIONS: dict[str, Rule] = {
    "arg": Rule(
        ("name",), ("default", "description", *CONDITIONS), {"choice": Rule(mandatory=("value",))}
    ),
    "let": Rule(("name", "value"), CONDITIONS),
    "node": Rule(
        ("pkg", "exec"),
        ("name", "namespace", "args", "output", "on_exit", *CONDITIONS),
        {"param": PARAMETER_VALUE, "remap": Rule(mandatory=("from", "to"))},
        {"output": ("screen", "log", "both", "own_log", "full"), "on_exit": ("shutdown",)},
    ),
    "include": Rule(("file",), CONDITIONS, {"arg": Rule(mandatory=("name", "value"))}),
}
_ACTIONS["group"] = Rule(optional=CONDITIONS, children=_ACTIONS)
LAUNCH = Rule(children=_ACTIONS)


def validate(root: XmlElement) -> None:
    """Check a whole launch file, also what its conditions leave out.

    Args:
        root: Its root element.

    Raises:
        LaunchError: At the first element, attribute or substitution outside the subset.
    """
    if root.tag != "launch":
        raise root.error(f"the root element is <{root.tag}> instead of <launch>")
    _validate(root, LAUNCH)


def _validate(element: XmlElement, rule: Rule) -> None:
    if rule is PARAMETER_VALUE and "from" in element.attributes:
        rule = PARAMETER_FILE
    _validate_attributes(element, rule)
    children = rule.children or {}
    for child in element.children:
        if child.tag not in children:
            valid = choices(children) if children else "it contains no elements"
            raise child.error(f"unknown element <{child.tag}> in <{element.tag}> ({valid})")
        _validate(child, children[child.tag])


def _validate_attributes(element: XmlElement, rule: Rule) -> None:
    valid = (*rule.mandatory, *rule.optional)
    options = rule.options or {}
    for name, value in element.attributes.items():
        if name not in valid:
            raise element.error(f"unknown attribute '{name}' of <{element.tag}> ({choices(valid)})")
        if name in options and value not in options[name]:
            raise element.error(f'{name}="{value}" is unknown ({choices(options[name])})')
        for substitution in re.findall(r"(?<!\\)\$\(([^ )]*)", value):
            if substitution not in SUBSTITUTIONS:
                raise element.error(
                    f"unknown substitution '$({substitution} ...)' ({choices(SUBSTITUTIONS)})"
                )
    for name in rule.mandatory:
        if name not in element.attributes:
            raise element.error(f"<{element.tag}> needs the attribute '{name}'")
    if all(condition in element.attributes for condition in CONDITIONS):
        raise element.error("'if' and 'unless' exclude each other")
