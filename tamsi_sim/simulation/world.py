"""Putting a simulation together in a few lines: things from URDFs and MJCFs, on a ground."""

from __future__ import annotations

import math
import warnings
import xml.etree.ElementTree as ElementTree
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np

from contact_core.base.errors import ConfigError, ModelError, ModelWarning, choices, real_number
from contact_core.model.density import weigh_links
from contact_core.model.elements import parse
from contact_core.model.mjcf.model import read_mjcf
from contact_core.model.model_file import MJCF, self_contained
from contact_core.model.sdf import GRAVITY, models_apart, set_free
from contact_core.model.srdf import Srdf
from contact_core.multibody.collision.collision_element import HALF_SPACE
from contact_core.robot.description import placement, read_urdf
from contact_core.robot.scene import Closure, Instance, Link
from contact_core.robot.scene_config import SolverConfig
from contact_core.robot.surface import Material, Surface, check_contact
from tamsi_sim.simulation.closures import close_loops
from tamsi_sim.simulation.engine import Engine
from tamsi_sim.simulation.model import EARTH, build_model
from tamsi_sim.simulation.self_collision import leave_out, neighbours

NOWHERE = (0.0, 0.0, 0.0)
RUBBER_ON_WOOD = Surface(stiffness=2e4, dissipation=5.0, friction=0.5)
GROUND = "ground"
# How far convex parts may be from convex, as a share of their mesh's extent.
PARTS, FINEST_PARTS, COARSEST_PARTS = 0.02, 0.005, 0.5
# A half space does not exist in URDF, so that it is noted at a box.
_GROUND_URDF = f"""<robot name="ground"><link name="ground"><collision name="ground">
  <geometry><box size="100 100 2" {HALF_SPACE}="true"/></geometry></collision></link></robot>"""


class World:
    """Collects instances, surfaces and who may touch whom, then becomes an engine.

    Everything may touch everything else; links of one instance only touch each other if asked
    to, see :meth:`collide_with_itself`, or if their MJCF says so.
    """

    def __init__(
        self, gravity: tuple[float, float, float] = EARTH, surface: Surface = RUBBER_ON_WOOD
    ) -> None:
        """Start empty.

        Args:
            gravity: [m/s^2].
            surface: Surface of everything that has none of its own: neither by :meth:`add`, nor
                in its file. Where none is given, contacts are at least so stiff as to bear the
                heaviest thing that floats.

        Raises:
            ConfigError: If a number is not finite or out of its range.
        """
        check_contact(surface, "the default surface")
        self._gravity = _triple(gravity, "gravity")
        self._surface = surface
        self._instances: dict[str, Instance] = {}
        self._surfaces: dict[str, Surface] = {}
        self._materials: dict[frozenset[str], Material] = {}
        self._closures: dict[str, Closure] = {}
        self._ignored: set[frozenset[str]] = set()
        self._apart: dict[str, set[frozenset[str]]] = {}
        # Of those whose files say what may touch: body -> the body of the world that carries it.
        self._roots: dict[str, dict[str, str]] = {}

    def add(
        self,
        name: str,
        urdf: str | Path,
        xyz: Sequence[float] = NOWHERE,
        rpy: Sequence[float] = NOWHERE,
        free: bool = False,
        surface: Surface | None = None,
        weightless: bool = False,
        positions: Mapping[str, float | Sequence[float]] | str | None = None,
        roots: Sequence[str | Path] = (),
        repair: bool = False,
        kinematic: bool = False,
        linear: Sequence[float] = NOWHERE,
        angular: Sequence[float] = NOWHERE,
        velocities: Mapping[str, float | Sequence[float]] | None = None,
        decompose: bool | float = False,
        simplify: float = 0.0,
        density: float | None = None,
    ) -> World:
        """Add a robot or an object.

        Args:
            name: A name of its own.
            urdf: Its URDF, MJCF or SDF: a path below ``description/``, from the current folder, or
                an absolute one; or the text itself.
            xyz: Initial position of its root link in the world [m]; of a MJCF or SDF that of its
                own world.
            rpy: Its initial roll, pitch and yaw [rad].
            free: Whether it floats; otherwise its root link is fixed to the world. A MJCF or SDF
                says itself what floats.
            surface: Its surface, whatever its file says of friction and the like; None for what the
                file says, and the world's for the rest.
            weightless: Whether its weight is compensated, as an arm's controller does.
            positions: Joint -> initial position [rad or m], of a ball joint its roll, pitch and
                yaw [rad]; the others start at zero (of a MJCF: at their ``ref``), or as near to it
                as their limits allow. Or the name of a keyframe of the MJCF.
            roots: Folders in which its meshes and their packages are looked for first; else
                they are those above the file, and those that ROS knows.
            repair: Whether inertias that no body has are replaced by those of the collision
                shapes, or the mean of their principal moments if there are none, joints that
                move no mass held at zero, meshes without a volume left out, and what else
                cannot be simulated as a MJCF or SDF has it: see the page on imported models. A
                warning names what is changed. Otherwise it is refused.
            kinematic: Whether it floats and no force moves it, as a hand that pushes: it goes on
                with its initial velocity, or the one that ``Engine.set_velocity`` gives it.
            linear: Initial velocity of its origin if it is free or kinematic, world axes [m/s].
            angular: Its initial angular velocity then, world axes [rad/s].
            velocities: Joint -> initial velocity [rad/s or m/s]; of a ball joint three numbers in
                the axes of its frame, which the parent carries and the child has where its
                quaternion is 1 [rad/s], of a floating one its linear and angular velocity, six
                numbers in world axes. The others start at rest, or as a keyframe says.
            decompose: Whether its meshes that are not convex collide as convex parts instead of as
                their convex hulls, or how far a part may be from convex: a share of the mesh's
                greatest extent, FINEST_PARTS to COARSEST_PARTS, PARTS if True. It needs CoACD.
            simplify: How far a convex hull may stick out of a simplified one, which takes its place
                and has fewer faces [m]. If zero, only hulls of more than 256 faces are simplified.
            density: That of links to which a URDF or SDF gives no inertial [kg/m^3]: they get that
                of their collision shapes, or of what is seen where there are none, which a warning
                says. If None, they weigh nothing.

        Returns:
            The world itself.

        Raises:
            ConfigError: If the file cannot be read, or a number is not finite or out of its range.
            ModelError: If the name is taken or no text, the file is not well-formed XML, a MJCF
                has what we cannot simulate, or what is fixed is given a velocity. Joints are
                checked by :meth:`build`.
        """
        _check_text(name)
        if not isinstance(positions, Mapping | str | None):
            raise ModelError(f"positions of '{name}' must be joint -> position, got {positions!r}")
        if not isinstance(velocities, Mapping | None):
            raise ModelError(f"velocities of '{name}' must map joints, got {velocities!r}")
        twist = *_triple(linear, f"linear of '{name}'"), *_triple(angular, f"angular of '{name}'")
        if any(twist) and not (free or kinematic):
            raise ModelError(
                f"'{name}' is fixed, so it has no velocity (valid: free=True or kinematic=True)"
            )
        xyz, rpy = _triple(xyz, f"xyz of '{name}'"), _triple(rpy, f"rpy of '{name}'")
        if surface is not None:
            check_contact(surface, f"the surface of '{name}'")
        if name in self._instances:
            raise ModelError(f"'{name}' exists already ({choices(self._instances)})")
        text = str(urdf)
        if text.lstrip().startswith("<"):
            text = self_contained(text, name, Path.cwd(), [Path(root) for root in roots])
        else:
            text = read_urdf(text, roots)
        if free or kinematic:
            text = set_free(text)
        tolerance = real_number(simplify, f"simplify of '{name}'", ">= 0 m")
        if tolerance < 0.0:
            raise ConfigError(f"simplify of '{name}' must be >= 0 m, got {simplify!r}")
        if density is not None:
            text = _weighed(name, text, density)
        self._read_rules(name, text, weightless, repair)
        gravity = NOWHERE if weightless else self._gravity
        pose = placement(xyz, rpy)
        start = positions if isinstance(positions, str) else dict(positions or {})
        self._instances[name] = Instance(
            name, text, pose, free or kinematic, gravity, start, repair, kinematic, twist,
            dict(velocities or {}), _concavity(decompose), tolerance, surface is None,
        )  # fmt: skip
        if surface is not None:
            self._surfaces[name] = surface
        return self

    def _read_rules(self, name: str, text: str, weightless: bool, repair: bool) -> None:
        """Take from a file which of its bodies may touch; its gravity should be the world's."""
        root = parse(text, name)
        gravity = np.array(root.get(GRAVITY, "").split(), dtype=float)
        if root.tag == MJCF:
            try:
                with warnings.catch_warnings():
                    warnings.simplefilter("ignore", ModelWarning)  # Given when the world is built.
                    model = read_mjcf(text, weigh=False, repair=repair)
            except ModelError as error:
                raise ModelError(f"{name}: {error}") from error
            self._apart[name], gravity = set(model.apart), model.gravity
            for key, held in model.held.items():
                a, b = ((name, body) for body in held.bodies)
                self._closures[f"{name}/{key}"] = Closure(a, b, *held.frames, held.weld)
            self._roots[name] = model.roots
        owners, apart = models_apart(root)
        if owners:
            self._roots[name], self._apart[name] = owners, apart
        if len(gravity) and not (weightless or np.allclose(gravity, self._gravity)):
            warnings.warn(
                f"{name}: its gravity is {gravity.tolist()} m/s^2, the world's is "
                f"{list(self._gravity)}, which holds",
                ModelWarning,
                stacklevel=3,
            )

    def add_ground(self, height: float = 0.0, surface: Surface | None = None) -> World:
        """Add a fixed ground, the instance ``ground``.

        Args:
            height: z of its top [m].
            surface: Its surface.

        Returns:
            The world itself.

        Raises:
            ConfigError: If the height is not finite or the surface has no valid parameters.
            ModelError: If there is one already.
        """
        return self.add(GROUND, _GROUND_URDF, (0.0, 0.0, height - 1.0), surface=surface)

    def set_material(self, a: str, b: str, material: Material) -> World:
        """Set the contact parameters of two instances, whatever their surfaces are.

        Args:
            a: One instance.
            b: The other.
            material: Parameters of their contact.

        Returns:
            The world itself.

        Raises:
            ConfigError: If a parameter is out of its range.
            ModelError: If there is no such instance.
        """
        check_contact(material, f"'{a}' and '{b}'")
        self._materials[self._pair(a, b)] = material
        return self

    def ignore(self, a: str, b: str) -> World:
        """Let two instances pass through each other.

        Args:
            a: One instance.
            b: The other.

        Returns:
            The world itself.

        Raises:
            ModelError: If there is no such instance.
        """
        self._ignored.add(self._pair(a, b))
        return self

    def collide_with_itself(
        self, name: str, apart: Iterable[tuple[str, str]] = (), srdf: str | Path | None = None
    ) -> World:
        """Let the links of an instance touch each other.

        Left out are links that one joint connects, and those that touch at the start. The bodies
        of a MJCF touch each other anyway, as it says.

        Args:
            name: The instance.
            apart: More pairs of links to leave out.
            srdf: Its SRDF, whose ``disable_collisions`` are left out as well.

        Returns:
            The world itself.

        Raises:
            ConfigError: If the SRDF cannot be read.
            ModelError: If there is no such instance or link; an SRDF may name links that this
                robot does not have.
        """
        self._check_name(name)
        pairs = {frozenset(pair) for pair in apart}
        root = parse(self._instances[name].urdf, name)
        tag = "body" if root.tag == MJCF else "link"
        links = [link.get("name", "") for link in root.iter(tag)]
        for link in sorted(frozenset().union(*pairs)):
            if link not in links:
                raise ModelError(f"{name}: no link '{link}' ({choices(links)})")
        if srdf is not None:
            pairs |= {frozenset(pair) for pair in Srdf.load(srdf).apart}
        self._apart[name] = self._apart.get(name, set()) | pairs
        return self

    def connect(
        self,
        name: str,
        a: Link,
        b: Link,
        xyz: Sequence[float] = NOWHERE,
        xyz_b: Sequence[float] | None = None,
        stiffness: float | None = None,
        dissipation: float = 0.0,
    ) -> World:
        """Hold two links together at a point, about which they may turn.

        They still collide, unless their instances ignore each other.

        Args:
            name: A name of its own.
            a: Instance and link; a link of something fixed is one of the world.
            b: The other.
            xyz: The point in the frame of ``a`` [m].
            xyz_b: It in the frame of ``b`` [m], where it must be at the start, too; None to
                take it from there.
            stiffness: Of the spring between the two [N/m]; None to take one that is stiff for the
                time step, see :func:`close_loops`.
            dissipation: The spring's damping as a multiple of its stiffness [s].

        Returns:
            The world itself.

        Raises:
            ConfigError: If a number is not finite or out of its range.
            ModelError: If the name is taken, or there is no such instance.
        """
        where = f"closure '{name}'"
        frame_b = None if xyz_b is None else placement(_triple(xyz_b, f"xyz_b of {where}"), NOWHERE)
        frame_a = placement(_triple(xyz, f"xyz of {where}"), NOWHERE)
        return self._close(
            name, Closure(a, b, frame_a, frame_b, False, stiffness, None, dissipation)
        )

    def weld(
        self,
        name: str,
        a: Link,
        b: Link,
        xyz: Sequence[float] | None = None,
        rpy: Sequence[float] = NOWHERE,
        stiffness: float | None = None,
        rotational_stiffness: float | None = None,
        dissipation: float = 0.0,
    ) -> World:
        """Hold two links together by position and orientation, as :meth:`connect` does.

        Args:
            name: A name of its own.
            a: Instance and link; a link of something fixed is one of the world.
            b: The other.
            xyz: Position of ``b`` in the frame of ``a`` [m]; None to hold them as they start.
            rpy: Its roll, pitch and yaw there [rad].
            stiffness: At the origin of ``b`` [N/m]; None to choose it.
            rotational_stiffness: [Nm/rad]; None to choose it.
            dissipation: The springs' damping as a multiple of their stiffness [s].

        Returns:
            The world itself.

        Raises:
            ConfigError: If a number is not finite or out of its range.
            ModelError: If the name is taken, or there is no such instance.
        """
        where = f"closure '{name}'"
        turn = _triple(rpy, f"rpy of {where}")
        frame_a = None if xyz is None else placement(_triple(xyz, f"xyz of {where}"), turn)
        frame_b = placement(NOWHERE, NOWHERE)
        return self._close(
            name,
            Closure(a, b, frame_a, frame_b, True, stiffness, rotational_stiffness, dissipation),
        )

    def _close(self, name: str, closure: Closure) -> World:
        _check_text(name)
        if name in self._closures:
            raise ModelError(f"closure '{name}' exists already ({choices(self._closures)})")
        for link in (closure.a, closure.b):
            if not (isinstance(link, tuple) and [type(part) for part in link] == [str, str]):
                raise ModelError(f"closure '{name}' needs (instance, link), got {link!r}")
            self._check_name(link[0])
        for spring in ("stiffness", "rotational_stiffness"):
            if getattr(closure, spring) is not None:
                real_number(getattr(closure, spring), f"{spring} of closure '{name}'", "> 0", 0.0)
        dissipation = f"dissipation of closure '{name}'"
        if real_number(closure.dissipation, dissipation, ">= 0 s") < 0.0:
            raise ConfigError(f"{dissipation} must be >= 0 s, got {closure.dissipation!r}")
        self._closures[name] = closure
        return self

    def _has_own_surface(self, instance: str) -> bool:
        return instance in self._surfaces or self._surface is not RUBBER_ON_WOOD

    def _check_name(self, name: str) -> None:
        if name not in self._instances:
            raise ModelError(f"no instance '{name}' ({choices(self._instances)})")

    def _pair(self, a: str, b: str) -> frozenset[str]:
        for name in (a, b):
            self._check_name(name)
        return frozenset((a, b))

    def build(
        self,
        time_step: float = 1e-3,
        solver: SolverConfig | None = None,
        accuracy: float | None = None,
    ) -> Engine:
        """Build the simulation, at its initial state.

        Args:
            time_step: h [s]; with an accuracy, the time that ``step`` advances by, in as many
                steps as that takes.
            solver: Settings of the scheme.
            accuracy: Error of a step's positions [m, rad], and of its velocities over 0.1 s, from
                which the engine chooses its steps; 0 for steps of equal length, None for what the
                solver says.

        Returns:
            The engine.

        Raises:
            ConfigError: If the time step or the accuracy is out of its range.
            ModelError: If a body cannot be simulated, or starts deep inside another, or a loop
                closure names no link of ours or is not closed at the start.
        """
        if accuracy is not None:
            accuracy = real_number(accuracy, "accuracy", ">= 0 and <= 1")
            if not 0.0 <= accuracy <= 1.0:
                raise ConfigError(f"accuracy must be >= 0 and <= 1, got {accuracy:g}")
            solver = replace(solver or SolverConfig(), accuracy=accuracy)

        def may_touch(a: Link, b: Link) -> bool:
            if a[0] == b[0]:
                return a[0] in self._apart and frozenset((a[1], b[1])) not in self._apart[a[0]]
            return frozenset((a[0], b[0])) not in self._ignored

        def material_of(a: Link, b: Link) -> Material | None:
            return self._materials.get(frozenset((a[0], b[0])))

        def surface_of(instance: str, link: str) -> Surface:
            return self._surfaces.get(instance, self._surface)

        instances = list(self._instances.values())
        repaired = {instance.name for instance in instances if instance.repair}
        built = build_model(
            instances, surface_of, may_touch, material_of, self._gravity, self._has_own_surface
        )
        engine = Engine(built, time_step, solver)
        if self._closures:
            of_files = {key for key in self._closures if key.partition("/")[0] in repaired}
            built = close_loops(built, self._closures, engine.time_step, of_files)
            engine = Engine(built, time_step, solver)
        if self._apart:
            apart = neighbours(engine, self._roots, repaired)
            engine = Engine(leave_out(built, apart), time_step, solver)
        engine.observer.check_start()
        return engine


def _weighed(name: str, text: str, density: float) -> str:
    """Give links without an inertial that of their shapes."""
    robot = parse(text, name)
    try:
        note = weigh_links(robot, density)
    except (ConfigError, ModelError) as error:
        raise type(error)(f"{name}: {error}") from error
    if note:
        warnings.warn(f"{name}: {note}", ModelWarning, stacklevel=3)
    return ElementTree.tostring(robot, encoding="unicode")


def _check_text(name: object) -> None:
    if not (isinstance(name, str) and name):
        raise ModelError(f"a name must be a text, got {name!r}")


def _triple(values: Sequence[float], what: str) -> tuple[float, float, float]:
    try:
        x, y, z = (float(value) for value in values)
    except (TypeError, ValueError) as error:
        raise ConfigError(f"{what} must be 3 numbers, got {values!r}") from error
    if not all(map(math.isfinite, (x, y, z))):
        raise ConfigError(f"{what} must be finite, got {values!r}")
    return x, y, z


def _concavity(decompose: bool | float) -> float:
    """Share of a mesh's extent from which it is split; zero if it is not."""
    if isinstance(decompose, bool | np.bool):
        return PARTS if decompose else 0.0
    valid = f"a bool, or >= {FINEST_PARTS} and <= {COARSEST_PARTS}"
    share = real_number(decompose, "decompose", valid)
    if not FINEST_PARTS <= share <= COARSEST_PARTS:
        raise ConfigError(f"decompose must be {valid}, got {decompose!r}")
    return share
