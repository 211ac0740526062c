"""What moves in a URDF or MJCF: bodies and the joints that carry them.

Links that are fixed to each other are one body; their inertias are lumped, and those without
one add nothing. A body without mass may move if what it carries has one.
"""

from __future__ import annotations

import warnings
import xml.etree.ElementTree as ElementTree
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import astuple, replace

import numpy as np
import pinocchio as pin

from contact_core.base.errors import ModelError, ModelWarning, choices
from contact_core.model.elements import parse
from contact_core.model.extensions import ARMATURE, SPRING
from contact_core.model.mesh_file import read_solids, shared_inertia
from contact_core.model.mjcf.model import MjcfModel, read_mjcf
from contact_core.model.model_file import MJCF
from contact_core.model.moving_body import Articulation, JointLaw, Mimic, MovingBody, Tendon
from contact_core.model.sdf import BALL as BALL_IN_URDF
from contact_core.model.sdf import WEIGHTLESS
from contact_core.model.urdf import lock_joints, read_tree
from contact_core.multibody.rigid_body.joints import BALL, FREE, PRISMATIC, REVOLUTE, joint_type

UNLIMITED = 1e300  # Pinocchio's and URDF's ways to say that there is no limit are larger.
# Principal inertias are read from rounded numbers: a thin plate's largest is the others' sum.
ROUNDING = 1e-2
TINY = 1e-14  # what rounding leaves of what is zero, as a share of what it is made of
UNMOVED = 1e12  # of what no force moves: it adds to a body's mass and inertia [kg and kg m^2]
PLANAR = "JointModelPlanar"
_WITH_AXIS = ("revolute", "continuous", "prismatic", "planar")
_MIMIC_DEFAULTS = {"multiplier": 1.0, "offset": 0.0}
_UPRIGHT = (0.0, 0.0, 0.0, 1.0)  # a quaternion (x, y, z, w)


def read_articulation(
    text: str, free: bool = False, repair: bool = False, kinematic: bool = False
) -> Articulation:
    """Read the moving bodies of a URDF or MJCF.

    A planar joint becomes two prismatic ones and a revolute one: ``NAME_x``, ``NAME_y`` and
    ``NAME_yaw``. A mimic joint follows its master, also one that comes later or follows
    another one itself.

    Args:
        text: Its text.
        free: Whether its root link floats.
        repair: Whether to replace inertias that no body has by those of what collides, or the mean
            of their principal moments where nothing does, to hold joints that move no mass
            where their coordinate is zero, and see :func:`read_mjcf`; a warning names them.
        kinematic: Whether no force moves the root link that floats.

    Returns:
        The bodies.

    Raises:
        ModelError: If the file is invalid, a body cannot move like this, or a joint is of a
            kind we do not know; the message names it.
    """
    root = parse(text, "the URDF")
    if root.tag == MJCF:
        mjcf = read_mjcf(text, free, repair=repair)
        direct = {name: Mimic(*values) for name, values in mjcf.followers.items()}
        mimics = _ends_of_chains(direct, set(mjcf.starts))
        articulation = _from_tree(mjcf.tree, mimics, {}, free and kinematic, repair)
        bodies = tuple(_sprung(body, mjcf) for body in articulation.bodies)
        own = {b.joint for b in bodies if b.mimic is None and b.kind in (REVOLUTE, PRISMATIC)}
        felt = {
            name: actuator.through(*astuple(mimics[actuator.joint]))
            if actuator.joint in mimics
            else actuator
            for name, actuator in mjcf.actuators.items()
        }
        tendons = dict(_tied(mjcf.tendons, own))
        actuators = {
            name: actuator for name, actuator in felt.items() if actuator.joint in {*own, *tendons}
        }
        return replace(
            articulation, bodies=bodies, keyframes=mjcf.keyframes, actuators=actuators,
            tendons=tendons,
        )  # fmt: skip
    base = [pin.JointModelFreeFlyer()] if free else []
    model = read_tree(text, *base)
    elements = {joint.get("name", ""): joint for joint in root.findall("joint")}
    _check_axes(elements)
    mimics = _mimics(elements, model)
    articulation = _from_tree(model, mimics, elements, free and kinematic, repair, text)
    return _weighing(articulation, root.findall("link"))


def _weighing(articulation: Articulation, links: Sequence[ElementTree.Element]) -> Articulation:
    """Return bodies of which only those links weigh something that have gravity."""
    if not any(WEIGHTLESS in link.attrib for link in links):
        return articulation
    masses, heavy = (np.zeros(len(articulation.bodies) + 1) for _ in range(2))
    for link in links:
        given = link.find("inertial/mass")
        index = articulation.links.get(link.get("name", ""), (-1, None))[0]
        if given is not None:
            masses[index] += float(given.get("value", "0"))
            heavy[index] += 0.0 if WEIGHTLESS in link.attrib else float(given.get("value", "0"))
    bodies = list[MovingBody]()
    for body, mass, weight in zip(articulation.bodies, masses, heavy, strict=False):
        share = float(weight / mass) if mass > 0.0 else 1.0
        if 0.0 < share < 1.0:
            warnings.warn(
                f"joint '{body.joint}' carries links with gravity and without: together they have "
                f"{100.0 * share:.3g} % of their weight, at their centre of mass",
                ModelWarning,
                stacklevel=4,
            )
        bodies.append(replace(body, weight=share))
    return replace(articulation, bodies=tuple(bodies))


def _check_axes(elements: Mapping[str, ElementTree.Element]) -> None:
    """Check that joints of a URDF that have an axis move along or about one."""
    for name, joint in elements.items():
        axis = joint.find("axis")
        if axis is not None and joint.get("type") in _WITH_AXIS:
            text = axis.get("xyz", "1 0 0")
            length = float(np.linalg.norm(np.array(text.split(), dtype=float)))
            if not TINY < length < np.inf:
                raise ModelError(f"joint '{name}' has the axis '{text}' (valid: a direction)")


def _tied(tendons: Mapping[str, Tendon], joints: set[str]) -> Iterator[tuple[str, Tendon]]:
    """Yield tendons without the joints that are held where their coordinate is zero."""
    for name, tendon in tendons.items():
        left = {joint: c for joint, c in tendon.coefficients.items() if joint in joints}
        if left:
            yield name, replace(tendon, coefficients=left)


def _sprung(body: MovingBody, mjcf: MjcfModel) -> MovingBody:
    """Add what Pinocchio's model does not hold: where a joint starts, its spring, its weight."""
    stiffness, rest = mjcf.springs.get(body.joint, (0.0, 0.0))
    law = replace(body.law, stiffness=stiffness, rest=rest)
    start = (mjcf.starts[body.joint],) if body.joint in mjcf.starts else body.start
    return replace(body, start=start, law=law, weight=mjcf.weights.get(body.joint, 1.0))


def _from_tree(
    model: pin.Model,
    mimics: dict[str, Mimic],
    elements: Mapping[str, ElementTree.Element],
    kinematic: bool,
    repair: bool,
    urdf: str = "",
) -> Articulation:
    """Turn a model into bodies; elements of a URDF say what planar joints turn about."""
    if kinematic:
        model.armature[:6] = UNMOVED
    if repair:
        model = _repaired(model, mimics, urdf)
        mimics = {name: law for name, law in mimics.items() if model.existJointName(law.master)}
    bodies: list[MovingBody] = []
    last = {0: -1}
    for joint in range(1, model.njoints):
        _check_inertia(model, joint)
        parent = last[model.parents[joint]]
        if model.joints[joint].shortname() == PLANAR:
            element = elements[model.names[joint]]
            bodies += _planar_bodies(model, joint, parent, len(bodies), element)
        else:
            bodies.append(_body(model, joint, parent, mimics, elements))
        last[joint] = len(bodies) - 1
    for name, count in Counter(body.joint for body in bodies).items():
        if count > 1:
            raise ModelError(
                f"{count} joints are called '{name}' (valid: names that differ; a planar joint has "
                "NAME_x, NAME_y and NAME_yaw, what floats has root_joint)"
            )
    _check_mass_matrix(model, mimics)
    links = {
        frame.name: (last[frame.parentJoint], frame.placement)
        for frame in model.frames
        if frame.type == pin.FrameType.BODY
    }
    return Articulation(tuple(bodies), links)


def _body(
    model: pin.Model,
    joint: int,
    parent: int,
    mimics: Mapping[str, Mimic],
    elements: Mapping[str, ElementTree.Element],
) -> MovingBody:
    name, source = str(model.names[joint]), model.joints[joint]
    kind, axis = joint_type(name, source)
    law = JointLaw(model.armature[source.idx_v]) if kind == FREE else _law(model, source)
    if name in elements and kind in (REVOLUTE, PRISMATIC):
        law = _with_extensions(law, elements[name])
    damping = elements[name].get(BALL_IN_URDF) if name in elements else None
    if kind == FREE and damping is not None:
        # URDF has no ball joints, so that one of a SDF is written as a floating one.
        kind, law = BALL, JointLaw(damping=float(damping))
    elif kind == FREE and name in elements:
        law = replace(law, damping=_dynamics(elements[name], "damping"))
        if _dynamics(elements[name], "friction"):
            warnings.warn(f"joint '{name}' floats: friction ignored", ModelWarning, stacklevel=5)
    if kind == FREE and parent >= 0:
        raise ModelError(f"joint '{name}' floats on a link that moves (valid: on the root link)")
    return MovingBody(
        joint=name,
        parent=parent,
        kind=kind,
        axis=axis,
        placement=model.jointPlacements[joint],
        inertia=model.inertias[joint],
        law=law,
        mimic=mimics.get(name),
        start=_UPRIGHT if kind == BALL else (0.0,),
    )


def _dynamics(joint: ElementTree.Element, key: str) -> float:
    """Return a number of a joint's dynamics, of which Pinocchio reads the losses of one axis."""
    dynamics = joint.find("dynamics")
    return 0.0 if dynamics is None else float(dynamics.get(key, "0"))


def _with_extensions(law: JointLaw, joint: ElementTree.Element) -> JointLaw:
    """Add what Pinocchio does not read: the rotor and the spring of a URDF's joint."""
    stiffness, rest = (_dynamics(joint, key) for key in SPRING)
    armature = law.armature + float(joint.get(ARMATURE, "0"))
    return replace(law, armature=armature, stiffness=stiffness, rest=rest)


def _law(model: pin.Model, source: pin.JointModel) -> JointLaw:
    v = source.idx_v
    lower, upper = -np.inf, np.inf
    if source.nq == 1:  # A continuous joint has two coordinates there, cosine and sine.
        lower, upper = (
            float(limits[source.idx_q]) if abs(limits[source.idx_q]) < UNLIMITED else bound
            for limits, bound in (
                (model.lowerPositionLimit, -np.inf),
                (model.upperPositionLimit, np.inf),
            )
        )
    effort, velocity = (
        float(limits[v]) if 0.0 < limits[v] < UNLIMITED else np.inf
        for limits in (model.upperEffortLimit, model.upperVelocityLimit)
    )
    return JointLaw(
        armature=float(model.armature[v]),
        damping=float(model.damping[v]),
        friction=float(model.upperDryFrictionLimit[v]),
        lower=lower,
        upper=upper,
        effort=effort,
        velocity=velocity,
    )


def _planar_bodies(
    model: pin.Model, joint: int, parent: int, first: int, element: ElementTree.Element
) -> Iterator[MovingBody]:
    """Two slides in the plane and a turn about its normal, URDF's axis, of the same losses."""
    name, axis = str(model.names[joint]), element.find("axis")
    normal = np.array(
        (axis.get("xyz", "1 0 0") if axis is not None else "1 0 0").split(), dtype=float
    )
    normal /= np.linalg.norm(normal)
    # For the normal z the slides are x and y, and for another one they follow it cyclically.
    start = (int(np.argmax(np.abs(normal))) + 1) % 3
    slide = np.eye(3)[start] - normal[start] * normal
    slide /= np.linalg.norm(slide)
    still = pin.SE3.Identity()
    law = JointLaw(damping=_dynamics(element, "damping"), friction=_dynamics(element, "friction"))
    yield MovingBody(
        f"{name}_x", parent, PRISMATIC, _triple(slide), model.jointPlacements[joint],
        pin.Inertia.Zero(), law,
    )  # fmt: skip
    yield MovingBody(
        f"{name}_y", first, PRISMATIC, _triple(np.cross(normal, slide)), still,
        pin.Inertia.Zero(), law,
    )  # fmt: skip
    yield MovingBody(
        f"{name}_yaw", first + 1, REVOLUTE, _triple(normal), still, model.inertias[joint], law
    )


def _triple(vector: np.ndarray) -> tuple[float, float, float]:
    x, y, z = (float(value) for value in vector)
    return x, y, z


def _mimics(elements: Mapping[str, ElementTree.Element], model: pin.Model) -> dict[str, Mimic]:
    """Mimic joints, each with the joint at the end of its chain of masters."""
    moving = zip(list(model.names)[1:], list(model.joints)[1:], strict=True)
    single = {name for name, joint in moving if joint.nv == 1}
    direct: dict[str, Mimic] = {}
    for name in single & elements.keys():
        element = elements[name].find("mimic")
        if element is not None:
            numbers = (float(element.get(key, value)) for key, value in _MIMIC_DEFAULTS.items())
            direct[name] = Mimic(element.get("joint", ""), *numbers)
    return _ends_of_chains(direct, single)


def _ends_of_chains(direct: Mapping[str, Mimic], single: set[str]) -> dict[str, Mimic]:
    return {name: _end_of_chain(name, direct, single) for name in direct}


def _end_of_chain(name: str, direct: Mapping[str, Mimic], single: set[str]) -> Mimic:
    """Follow a mimic joint's master to one that follows no other."""
    chain, mimic = [name], direct[name]
    while mimic.master in direct:
        if mimic.master in chain:
            raise ModelError(f"mimic joints follow each other: {', '.join(chain)}")
        chain.append(mimic.master)
        carrier = direct[mimic.master]
        offset = mimic.ratio * carrier.offset + mimic.offset
        mimic = Mimic(carrier.master, mimic.ratio * carrier.ratio, offset)
    if mimic.master not in single:
        raise ModelError(
            f"joint '{name}' follows '{mimic.master}', which is none that moves with one "
            f"coordinate ({choices(sorted(single - direct.keys()))})"
        )
    return mimic


def _link(model: pin.Model, joint: int) -> str:
    """Name of the first link of a body; its joint's if it has none."""
    links = (
        str(frame.name)
        for frame in model.frames
        if frame.parentJoint == joint and frame.type == pin.FrameType.BODY
    )
    return next(links, str(model.names[joint]))


def _repaired(model: pin.Model, mimics: Mapping[str, Mimic], urdf: str) -> pin.Model:
    """Return a model without impossible inertias and without joints that move no mass."""
    changes = []
    idle = [joint for joint in _idle_joints(model, mimics) if model.joints[joint].nv > 1]
    for joint in range(1, model.njoints):
        inertia = model.inertias[joint]
        wrong = _wrong_inertia(model, joint) or (joint in idle and _with_moments(model, joint))
        mean = np.trace(inertia.inertia) / 3.0
        if wrong and inertia.mass >= 0.0:
            moments = _inertia_of_shapes(model, joint, urdf) if urdf else None
            if moments is None:
                if not mean > 0.0:
                    continue
                moments, instead = mean * np.eye(3), f"{mean:.3g} each"
            else:
                instead = f"those of its shapes, {_shown(np.linalg.eigvalsh(moments))}"
            model.inertias[joint] = pin.Inertia(inertia.mass, inertia.lever, moments)
            changes.append(f"{wrong}: taken as {instead}")
    held = {str(model.names[joint]) for joint in _idle_joints(model, mimics)}
    held |= {name for name, mimic in mimics.items() if mimic.master in held}
    # The root of a free instance is no joint to hold.
    held = {name for name in held if model.joints[model.getJointId(name)].nv < 6}
    changes += [f"joint '{name}' moves no mass: held" for name in sorted(held)]
    if changes:
        warnings.warn("; ".join(changes), ModelWarning, stacklevel=3)
    locked = [model.getJointId(name) for name in sorted(held)]
    return lock_joints(model, locked, pin.neutral(model)) if locked else model


def _inertia_of_shapes(model: pin.Model, joint: int, urdf: str) -> np.ndarray | None:
    """Inertia (3, 3) that a body would have if its mass filled what collides of it."""
    try:
        solids = read_solids(model, urdf, pin.GeometryType.COLLISION)
    except (ValueError, RuntimeError):
        return None
    own = (solid for solid in solids if solid.parentJoint == joint)
    return shared_inertia(own, float(model.inertias[joint].mass))


def _moments(model: pin.Model, joint: int) -> np.ndarray:
    """Principal inertias (3) of a body [kg m^2]; no numbers if it has others that are none."""
    inertia = model.inertias[joint]
    finite = np.isfinite(inertia.inertia).all() and np.isfinite(inertia.lever).all()
    return np.linalg.eigvalsh(inertia.inertia) if finite else np.full(3, np.nan)


def _with_moments(model: pin.Model, joint: int) -> str:
    """A body with its principal inertias."""
    shown = _shown(_moments(model, joint))
    return f"body '{_link(model, joint)}' has principal inertias {shown} kg m^2"


def _shown(values: np.ndarray) -> str:
    return f"[{' '.join(f'{value:.3g}' for value in values)}]"


def _check_inertia(model: pin.Model, joint: int) -> None:
    """Check that a body could exist, or has neither mass nor inertia."""
    wrong = _wrong_inertia(model, joint)
    if wrong:
        raise ModelError(wrong)


def _wrong_inertia(model: pin.Model, joint: int) -> str:
    """What is wrong with the inertia of a body; empty if nothing is."""
    inertia, where = model.inertias[joint], f"body '{_link(model, joint)}'"
    if not 0.0 <= inertia.mass < np.inf:
        return f"{where} has mass {inertia.mass:g} kg; it moves, so it needs > 0"
    least, middle, most = _moments(model, joint)
    moments = _with_moments(model, joint)
    rounding = TINY * inertia.mass  # of lengths of a metre
    if not least >= -ROUNDING * most - rounding:
        return f"{moments}; all must be > 0"
    if most > (1.0 + ROUNDING) * (least + middle) + rounding:
        return f"{moments}; none can be greater than the sum of the others"
    return ""


def _check_mass_matrix(model: pin.Model, mimics: Mapping[str, Mimic]) -> None:
    """Check that every joint, with those that follow it, moves something with inertia."""
    for joint in _idle_joints(model, mimics):
        name, inertia = str(model.names[joint]), model.inertias[joint]
        where = f"body '{_link(model, joint)}'"
        if inertia.mass == 0.0:
            raise ModelError(
                f"{where} has mass 0 kg and carries none; joint '{name}' moves it, so it needs > 0"
            )
        raise ModelError(
            f"{_with_moments(model, joint)}; joint '{name}' turns it, so they must be > 0"
        )


def _idle_joints(model: pin.Model, mimics: Mapping[str, Mimic]) -> list[int]:
    """Joints that, with those that follow them, move nothing with inertia."""
    data = model.createData()
    matrix = pin.crba(model, data, pin.neutral(model))
    matrix = np.triu(matrix) + np.triu(matrix, 1).T + np.diag(model.armature)
    follow = np.eye(model.nv)
    for name, mimic in mimics.items():
        own, master = (model.joints[model.getJointId(j)].idx_v for j in (name, mimic.master))
        follow[own, own], follow[own, master] = 0.0, mimic.ratio
    matrix = follow.T @ matrix @ follow
    idle = []
    for joint in range(1, model.njoints):
        source = model.joints[joint]
        dofs = slice(source.idx_v, source.idx_v + source.nv)
        carried = data.Ycrb[joint]
        whole = carried.mass * (carried.lever @ carried.lever) + np.trace(carried.inertia)
        moves = np.linalg.eigvalsh(matrix[dofs, dofs])[0] > TINY * whole
        if str(model.names[joint]) not in mimics and not moves:
            idle.append(joint)
    return idle
