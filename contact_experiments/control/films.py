"""A film of the mug that is placed in Fig. 5: the contact-aware arm and the greedy one."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import coal
import numpy as np
import pinocchio as pin
from matplotlib.axes import Axes
from matplotlib.patches import Polygon
from scipy.spatial import ConvexHull

from contact_core.base.figures import GREY, draw_limit, new_figure
from contact_core.base.sweep import Sweep
from contact_core.multibody.collision.shapes import triangles_from_coal
from contact_core.robot.description import read_urdf
from contact_core.robot.scene import Scene
from contact_experiments.control.closed_loop import ClosedLoopRun
from contact_experiments.control.trial import compared, controller_config
from contact_experiments.papers.pictures import FILM_RATE, MovingFigure
from contact_stack.demo.contact_tracking.experiments import EXPERIMENTS
from tamsi_sim.robot.plant import Plant
from tamsi_sim.robot.report import Truth

PLACEMENT = "mug_placement"
SHOWN = ("qp", "greedy")
WINDOW = ((-0.25, 1.15), (-0.05, 1.05))
"""x and z that are seen [m]."""
TURN = np.linspace(0.0, 2.0 * np.pi, 32, endpoint=False)
OPACITY = 0.5
"""How opaque the arms are, which cover each other."""


@dataclass(frozen=True)
class SeenMotion:
    """What is seen of a run.

    Attributes:
        joint_names: Names of the joints.
        joints: (m, n) their positions [rad or m], 1 / FILM_RATE apart.
        objects: Name of an object -> (m, 7) position [m] and quaternion (x, y, z, w).
        force: (m) norm of the total true contact force on the robot [N].
        limit: The controller's force limit [N].
    """

    joint_names: tuple[str, ...]
    joints: np.ndarray
    objects: Mapping[str, np.ndarray]
    force: np.ndarray
    limit: float


def watch(experiment: str, values: Mapping[str, Any], until: float = math.inf) -> SeenMotion:
    """Run an experiment and watch it.

    Args:
        experiment: Its name in EXPERIMENTS.
        values: Dotted name of a parameter of the controller -> its value.
        until: When it ends, if that is before its own end [s].
    """
    seen: list[Truth] = []

    def look(plant: Plant, moment: float) -> None:
        if moment * FILM_RATE >= len(seen) - 1e-6:
            seen.append(plant.truth())

    run = ClosedLoopRun(controller_config(values), EXPERIMENTS[experiment](), before_tick=look)
    held = run.experiment.held.name if run.experiment.held is not None else ""
    run.run(until)
    forces = [
        np.linalg.norm(sum((c.force for c in truth.contacts if c.body != held), np.zeros(3)))
        for truth in seen
    ]
    objects = {
        item.name: np.array([pin.SE3ToXYZQUAT(truth.pose_of(item.name)) for truth in seen])
        for item in seen[0].objects
    }
    joints = np.array([truth.joint_position for truth in seen])
    limit = run.loop.config.force.limit
    return SeenMotion(seen[0].joint_names, joints, objects, np.array(forces), limit)


def film_5(sweep: Sweep, until: float = math.inf) -> MovingFigure:
    """Fig. 5: both arms from the side, in real time, above the forces that they press with."""
    variants = {name: compared()[name] for name in SHOWN}
    tasks = [(PLACEMENT, dict(variant.values), until) for variant in variants.values()]
    motions = dict(zip(SHOWN, sweep.run(watch, tasks, "figure 5, film"), strict=True))
    figure, ((scene_axes,), (force_axes,)) = new_figure(
        2, 1, (5.5, 6.0), gridspec_kw={"height_ratios": (3.2, 1.0)}
    )
    scene = Scene.load(EXPERIMENTS[PLACEMENT]().scene)
    robot = _Silhouette(scene.robot.urdf)
    things = {name: _Silhouette(read_urdf(item.urdf)) for name, item in scene.objects.items()}
    force = max(float(motion.force.max()) for motion in motions.values())
    last = len(motions["qp"].force) - 1

    def draw(time: float) -> None:
        k = min(round(time * FILM_RATE), last)
        scene_axes.clear()
        for name, thing in things.items():
            for motion in motions.values() if scene.objects[name].free else [motions["qp"]]:
                pose = pin.XYZQUATToSE3(motion.objects[name][k])
                thing.draw(scene_axes, pose, {}, facecolor="0.8", edgecolor="0.6")
        for name, motion in motions.items():
            joints = dict(zip(motion.joint_names, motion.joints[k], strict=True))
            color = variants[name].color
            robot.draw(
                scene_axes, pin.SE3.Identity(), joints, facecolor=color, edgecolor=color,
                alpha=OPACITY, linewidth=0.5,
            )  # fmt: skip
        scene_axes.set(xlim=WINDOW[0], ylim=WINDOW[1], aspect="equal", xticks=[], yticks=[])
        scene_axes.set_title(f"{k / FILM_RATE:.1f} s", fontsize=10)
        force_axes.clear()
        times = np.arange(k + 1) / FILM_RATE
        for name, motion in motions.items():
            style = {"color": variants[name].color, "label": variants[name].label}
            force_axes.plot(times, motion.force[: k + 1], **style)
        draw_limit(force_axes, motions["qp"].limit, "limit")
        force_axes.set(xlim=(0.0, last / FILM_RATE), ylim=(0.0, 1.05 * force))
        force_axes.set(xlabel="time [s]", ylabel="force [N]")
        force_axes.legend(loc="upper left", frameon=False, fontsize=9)
        force_axes.grid(color=GREY, alpha=0.15)

    return MovingFigure(figure, draw, last / FILM_RATE)


class _Silhouette:
    """The solids of a URDF as they are seen along y."""

    def __init__(self, urdf: str) -> None:
        self._model = pin.buildModelFromXML(urdf)
        self._data = self._model.createData()
        shapes = pin.buildGeomFromUrdfString(self._model, urdf, pin.GeometryType.VISUAL)
        self._solids = [
            (shape.parentJoint, _transformed(_corners(shape.geometry), shape.placement))
            for shape in shapes.geometryObjects
        ]

    def draw(self, axes: Axes, pose: pin.SE3, joints: Mapping[str, float], **style: Any) -> None:
        """Draw it at a pose of its root, and with joints at positions [rad or m]."""
        position = pin.neutral(self._model)
        for name, value in joints.items():
            position[self._model.joints[self._model.getJointId(name)].idx_q] = value
        pin.forwardKinematics(self._model, self._data, position)
        for joint, corners in self._solids:
            flat = _transformed(corners, pose * self._data.oMi[joint])[:, [0, 2]]
            axes.add_patch(Polygon(flat[ConvexHull(flat).vertices], **style))


def _corners(solid: coal.CollisionGeometry) -> np.ndarray:
    """Return (k, 3) points whose hull is a solid, or nearly [m]."""
    match solid:
        case coal.BVHModelBase() | coal.ConvexBase():
            points, _ = triangles_from_coal(solid)
            return points[ConvexHull(points).vertices]
        case coal.Box():
            signs = np.array(np.meshgrid([-1, 1], [-1, 1], [-1, 1])).reshape(3, -1).T
            return signs * np.ravel(solid.halfSide)
        case coal.Cylinder():
            return np.vstack(
                [_ring(solid.radius, z) for z in (-solid.halfLength, solid.halfLength)]
            )
        case coal.Capsule() | coal.Sphere():
            half = solid.halfLength if isinstance(solid, coal.Capsule) else 0.0
            return np.vstack(list(_balls(solid.radius, half)))
    raise TypeError(f"no silhouette of a {type(solid).__name__}")


def _balls(radius: float, half: float) -> Iterator[np.ndarray]:
    for z in (-half, half):
        for latitude in np.linspace(-0.5 * np.pi, 0.5 * np.pi, 9):
            yield _ring(radius * np.cos(latitude), z + radius * np.sin(latitude))


def _ring(radius: float, z: float) -> np.ndarray:
    return np.stack([radius * np.cos(TURN), radius * np.sin(TURN), np.full_like(TURN, z)], axis=1)


def _transformed(points: np.ndarray, pose: pin.SE3) -> np.ndarray:
    return points @ pose.rotation.T + pose.translation
