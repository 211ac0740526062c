"""What the attributes of a MJCF mean: classes, angles, poses."""

from __future__ import annotations

import xml.etree.ElementTree as ElementTree
from collections.abc import Iterator, Mapping, Sequence

import numpy as np
import pinocchio as pin

from contact_core.base.errors import ModelError, choices
from contact_core.model.elements import parse

MAIN = "main"  # the class of everything that names none
ACTUATORS = (
    "general", "motor", "position", "velocity", "intvelocity", "damper", "cylinder", "muscle",
    "adhesion", "dcmotor", "pid", "orientation", "plugin",
)  # fmt: skip
_DRIVE = "<drive>"  # group of what a class says of actuators of all kinds; no name in XML
_KINDS = ACTUATORS[1:]
# What actuators exert.
_LAW = (
    "kp", "kv", "dampratio", "timeconst", "inheritrange", "gainprm", "biasprm", "dynprm",
    "gaintype", "biastype", "dyntype",
)  # fmt: skip
# Lists of which the first numbers may be given alone.
_LISTS = ("size", "gear", "friction", "gainprm", "biasprm", "dynprm")
_TENDONS = ("fixed", "spatial", "tendon")
_ORIENTATIONS = ("axisangle", "euler", "xyaxes", "zaxis")
_BOOLEANS = {"true": True, "false": False}
# Settings that do not change what is simulated.
_BESIDE = {"alignfree", "convexhull", "discardvisual", "fitaabb", "fusestatic", "saveinertial",
           "texturedir", "usethread"}  # fmt: skip
COMPILER = {
    "angle": "degree", "eulerseq": "xyz", "autolimits": "true", "boundmass": "0",
    "boundinertia": "0", "settotalmass": "-1", "balanceinertia": "false",
    "inertiafromgeom": "auto", "inertiagrouprange": "0 5", "coordinate": "local",
}  # fmt: skip
"""Settings of the compiler where a file says nothing."""


def _compiler(root: ElementTree.Element) -> dict[str, str]:
    """All settings of the compiler; a later one of the same name wins."""
    settings = dict(COMPILER)
    for element in root.findall("compiler"):
        for key, value in element.attrib.items():
            if key not in COMPILER and key not in _BESIDE:
                raise ModelError(f"compiler: unknown setting {key}='{value}' ({choices(COMPILER)})")
            settings[key] = value
    return settings


class Document:
    """A MJCF of one text.

    Attributes:
        root: Its root element.
        compiler: Settings of its compiler by name.
    """

    def __init__(self, text: str) -> None:
        """Read classes and settings.

        Args:
            text: The text, see :func:`self_contained`.

        Raises:
            ModelError: If it is not well-formed, or a setting is none we know.
        """
        self.root = parse(text, "the MJCF")
        self.compiler = _compiler(self.root)
        for key, valid in (
            ("angle", ("degree", "radian")), ("coordinate", ("local",)),
            ("inertiafromgeom", ("true", "false", "auto")), ("balanceinertia", _BOOLEANS),
            ("autolimits", _BOOLEANS),
        ):  # fmt: skip
            if self.compiler[key] not in valid:
                raise ModelError(f"compiler: {key}='{self.compiler[key]}' ({choices(valid)})")
        sequence = self.compiler["eulerseq"]
        if len(sequence) != 3 or set(sequence.lower()) - set("xyz"):
            raise ModelError(f"compiler: eulerseq='{sequence}' (valid: three of x, y, z, X, Y, Z)")
        self._unit = 1.0 if self.compiler["angle"] == "radian" else np.pi / 180.0
        self._classes: dict[str, dict[str, dict[str, str]]] = {MAIN: {}}
        for element in self.root.findall("default"):
            self._add_class(element, MAIN, MAIN)

    def _add_class(self, element: ElementTree.Element, name: str, parent: str) -> None:
        inherited = {tag: dict(a) for tag, a in self._classes[parent].items()}
        known = self._classes.setdefault(name, {tag: dict(a) for tag, a in inherited.items()})
        for child in element:
            if child.tag in ACTUATORS:
                _inherit_drive(known, inherited, child.tag, child.attrib)
            elif child.tag != "default":
                tag = _group(child.tag)
                known[tag] = _merged(known.get(tag, {}), child.attrib)
        for child in element.findall("default"):
            if "class" not in child.attrib:
                raise ModelError(f"a default inside of '{name}' has no class")
            self._add_class(child, child.get("class", ""), name)
        if parent == name and element.get("class"):
            self._classes[element.get("class", MAIN)] = known

    def attributes(
        self, element: ElementTree.Element, inherited: str = "", group: str = ""
    ) -> dict[str, str]:
        """Return an element's attributes, with those of its class where it has none.

        Args:
            element: The element.
            inherited: The ``childclass`` that holds where it is.
            group: What classes call it, if not as the file does.

        Raises:
            ModelError: If there is no such class.
        """
        name = element.get("class", inherited or MAIN)
        if name not in self._classes:
            raise ModelError(
                f"{element.tag} '{element.get('name', '')}' is of class '{name}' "
                f"({choices(self._classes)})"
            )
        known = self._classes[name]
        if element.tag in ACTUATORS:
            kind = known.get(element.tag, {})
            return _with_law({**known.get(_DRIVE, {}), **kind}, element.attrib)
        return _merged(known.get(group or _group(element.tag), {}), element.attrib)

    def sections(self, tag: str) -> Iterator[ElementTree.Element]:
        """Yield what all sections of a name hold."""
        for section in self.root.findall(tag):
            yield from section

    def named(self, tag: str, prefix: str = "") -> Iterator[tuple[str, ElementTree.Element]]:
        """Yield what all sections of a name hold, with its name.

        Args:
            tag: Name of the sections.
            prefix: What has no name is PREFIX_NUMBER, or else TAG_NUMBER; with ``_`` behind while
                something else has that name.
        """
        taken = {element.get("name") for element in self.sections(tag)}
        for count, element in enumerate(self.sections(tag)):
            name = element.get("name", "")
            if not name:
                name = f"{prefix or element.tag}_{count}"
                while name in taken:
                    name += "_"
            yield name, element

    def radians(self, angle: float) -> float:
        """Return an angle of the file in radians."""
        return self._unit * angle

    def limited(self, attributes: Mapping[str, str], limit: str, switch: str) -> bool:
        """Return whether a limit holds: if switched on, or given, not empty and not switched off.

        Args:
            attributes: Of the element.
            limit: Name of the limit.
            switch: Name of what switches it.
        """
        value = attributes.get(switch, "auto")
        if value == "auto":
            if limit not in attributes or self.compiler["autolimits"] != "true":
                return False
            least, most = vector(attributes, limit, 2)
            return bool(least < most)
        return boolean(attributes, switch)

    def pose(self, attributes: Mapping[str, str]) -> pin.SE3:
        """Return the pose that ``pos`` and an orientation of any kind give.

        Args:
            attributes: Of the element.

        Raises:
            ModelError: If a number is missing.
        """
        return pin.SE3(self._rotation(attributes), vector(attributes, "pos", 3, "0 0 0"))

    def _rotation(self, attributes: Mapping[str, str]) -> np.ndarray:
        given = [key for key in _ORIENTATIONS if key in attributes]
        if len(given) > 1:
            raise ModelError(f"more than one orientation: {', '.join(given)}")
        match given:
            case ["axisangle"]:
                x, y, z, angle = vector(attributes, "axisangle", 4)
                return np.array(pin.AngleAxis(self.radians(angle), unit([x, y, z])).matrix())
            case ["euler"]:
                return self._from_euler(vector(attributes, "euler", 3))
            case ["xyaxes"]:
                numbers = vector(attributes, "xyaxes", 6)
                x = unit(numbers[:3])
                y = unit(numbers[3:] - (numbers[3:] @ x) * x)
                return np.column_stack([x, y, np.cross(x, y)])
            case ["zaxis"]:
                return from_z(vector(attributes, "zaxis", 3))
        w, x, y, z = unit(vector(attributes, "quat", 4, "1 0 0 0"))
        return np.array(pin.Quaternion(w, x, y, z).matrix())

    def _from_euler(self, angles: np.ndarray) -> np.ndarray:
        """Small letters turn about axes that turn with it, capital ones about fixed ones."""
        rotation = np.eye(3)
        for letter, angle in zip(self.compiler["eulerseq"], angles, strict=True):
            axis = np.eye(3)["xyz".index(letter.lower())]
            turn = np.array(pin.AngleAxis(self.radians(angle), axis).matrix())
            rotation = rotation @ turn if letter.islower() else turn @ rotation
        return rotation


def _group(tag: str) -> str:
    """Elements that share their defaults."""
    return "tendon" if tag in _TENDONS else tag


def _merged(inherited: Mapping[str, str], own: Mapping[str, str]) -> dict[str, str]:
    """Attributes with those inherited: an orientation replaces any, a short list the first."""
    merged = {**inherited, **own}
    if {*_ORIENTATIONS, "quat"} & own.keys():
        for key in (*_ORIENTATIONS, "quat"):
            if key not in own:
                merged.pop(key, None)
    for key in _LISTS:
        if key in own and key in inherited:
            first, rest = own[key].split(), inherited[key].split()
            merged[key] = " ".join([*first, *rest[len(first) :]])
    return merged


def _inherit_drive(
    known: dict[str, dict[str, str]],
    parent: Mapping[str, Mapping[str, str]],
    tag: str,
    own: Mapping[str, str],
) -> None:
    """Put what a class says of actuators of one kind in the place of what it has said so far.

    Where they are and how far they go holds for all kinds. What they exert is a kind's own, and the
    general one's, from which all kinds take over; a kind makes a class forget the others.

    Args:
        known: The class, changed.
        parent: The class around it.
        tag: Kind of the actuators.
        own: Their attributes.
    """
    law = {key: value for key, value in own.items() if key in _LAW}
    rest = {key: value for key, value in own.items() if key not in _LAW}
    known[_DRIVE] = _merged(known.get(_DRIVE, {}), rest)
    known[tag] = _with_law(known.get(tag, {}), law)
    if tag != "general":
        known.update({kind: dict(parent.get(kind, {})) for kind in _KINDS if kind != tag})
        known["general"] = general_drive(tag, known[tag])
    elif known[tag].get("gaintype", "fixed") == "fixed":
        gain, bias = (numbers(known[tag], key, "1 0 0") for key in ("gainprm", "biasprm"))
        bias = bias if "biasprm" in known[tag] else np.zeros(3)
        known["velocity"] = {"kv": repr(float(gain[0]))}
        known["position"] = {"kp": repr(float(gain[0]))}
        if len(bias) > 2 and bias[2]:
            key = "dampratio" if bias[2] > 0.0 else "kv"
            known["position"][key] = repr(abs(float(bias[2])))
        if known[tag].get("dyntype", "none").startswith("filter"):
            known["position"]["timeconst"] = known[tag].get("dynprm", "1").split()[0]


def _with_law(inherited: Mapping[str, str], own: Mapping[str, str]) -> dict[str, str]:
    """Merge what actuators exert; a damping is given by one of two attributes."""
    known = dict(inherited)
    for one, other in (("kv", "dampratio"), ("dampratio", "kv")):
        if one in own:
            known.pop(other, None)
    return _merged(known, own)


def general_drive(tag: str, attributes: Mapping[str, str]) -> dict[str, str]:
    """Return the attributes by which a general actuator does what one of a kind does.

    Args:
        tag: The kind.
        attributes: Its attributes.

    Returns:
        dyntype, gaintype, biastype, gainprm and biasprm, and what else follows. A positive third
        number of the bias is a damping ratio where the second is minus the gain.
    """
    law = {"gaintype": "fixed", "biastype": "affine"}
    if "inheritrange" in attributes:
        law["inheritrange"] = attributes["inheritrange"]
    match tag:
        case "general":
            return {key: value for key, value in attributes.items() if key in _LAW}
        case "motor":
            return {"gaintype": "fixed", "gainprm": "1"}
        case "velocity":
            gain = number(attributes, "kv", "1")
            return {**law, "gainprm": repr(gain), "biasprm": f"0 0 {-gain!r}"}
        case "position" | "intvelocity":
            gain = number(attributes, "kp", "1")
            by_rate = number(attributes, "dampratio", repr(-number(attributes, "kv", "0")))
            time = number(attributes, "timeconst", "0")
            if tag == "intvelocity":
                law["dyntype"] = "integrator"
            elif time > 0.0:
                law |= {"dyntype": "filterexact", "dynprm": repr(time)}
            return {**law, "gainprm": repr(gain), "biasprm": f"0 {-gain!r} {by_rate!r}"}
    return {"dyntype": tag, "gaintype": tag}


def vector(
    attributes: Mapping[str, str], key: str, count: int, default: str | None = None
) -> np.ndarray:
    """Return the numbers of an attribute.

    Args:
        attributes: Of the element.
        key: Name of the attribute.
        count: How many numbers it must have at least; what follows is left out.
        default: What it is where it is not given.

    Returns:
        (count) numbers.

    Raises:
        ModelError: If it is missing, or not that many finite numbers.
    """
    text = attributes.get(key, default)
    found = _numbers(text or "")
    if found is None or len(found) < count:
        raise ModelError(f"{key} must be {count} finite number(s), got {text!r}")
    return found[:count]


def numbers(attributes: Mapping[str, str], key: str, default: str = "") -> np.ndarray:
    """Return all numbers of an attribute, however many.

    Raises:
        ModelError: If one is none, or not finite.
    """
    found = _numbers(attributes.get(key, default))
    if found is None:
        raise ModelError(f"{key} must be finite numbers, got {attributes[key]!r}")
    return found


def _numbers(text: str) -> np.ndarray | None:
    try:
        found = np.array(text.split(), dtype=float)
    except ValueError:
        return None
    return found if np.isfinite(found).all() else None


def number(attributes: Mapping[str, str], key: str, default: str | None = None) -> float:
    """Return the one number of an attribute, see :func:`vector`."""
    return float(vector(attributes, key, 1, default)[0])


def linear(attributes: Mapping[str, str], key: str) -> float:
    """Return a coefficient that is zero where it is not given.

    Raises:
        ModelError: If it has further ones, those of a polynomial, that are not zero.
    """
    if numbers(attributes, key)[1:].any():
        raise ModelError(f"{key}='{attributes[key]}' is not linear (valid: one number)")
    return number(attributes, key, "0")


def symmetric(where: str, limits: np.ndarray, notes: list[str]) -> float:
    """Return the greater one of two limits.

    Args:
        where: What they limit.
        limits: (2) the lower and the upper one.
        notes: Gets one more if they differ.
    """
    least, most = (abs(float(limit)) for limit in limits)
    greatest = max(least, most)
    if least != most:
        notes.append(
            f"{where} has the effort limits {limits[0]:g} and {limits[1]:g}: taken as "
            f"{greatest:g} both ways"
        )
    return greatest


def boolean(attributes: Mapping[str, str], key: str, default: str = "false") -> bool:
    """Return whether an attribute is ``true``.

    Raises:
        ModelError: If it is neither ``true`` nor ``false``.
    """
    value = attributes.get(key, default)
    if value not in _BOOLEANS:
        raise ModelError(f"{key}='{value}' ({choices(_BOOLEANS)})")
    return _BOOLEANS[value]


def unit(values: Sequence[float] | np.ndarray) -> np.ndarray:
    """Return a vector divided by its length.

    Raises:
        ModelError: If it has none.
    """
    length = np.linalg.norm(values)
    if not length > 0.0:
        raise ModelError(f"a direction must not be zero, got {np.array(values)}")
    return np.asarray(values, dtype=float) / length


def from_z(direction: np.ndarray) -> np.ndarray:
    """Return the shortest rotation that takes z to a direction."""
    x, y, z = unit(direction)
    sine = float(np.hypot(x, y))
    axis = np.array([-y, x, 0.0]) / sine if sine > 1e-10 else np.array([1.0, 0.0, 0.0])
    return np.array(pin.AngleAxis(float(np.arctan2(sine, z)), axis).matrix())
