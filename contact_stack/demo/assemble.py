"""From the messages of a run to the arrays its figures are computed from."""

from __future__ import annotations

import numpy as np
import pinocchio as pin
from contact_stack_msgs.msg import Contact, ContactArray
from tf2_msgs.msg import TFMessage

from contact_core.collision.shapes import ShapeKind
from contact_core.description import collision_shapes, read_urdf
from contact_core.robot import Robot
from contact_core.scene import Scene
from contact_ros.geometry import frame_pose, to_array
from contact_ros.stamps import NANOSECONDS
from contact_stack.demo.demo_node import DemoNode
from contact_stack.demo.experiment import Experiment
from contact_stack.demo.experiment_data import ContactSample, ExperimentData
from contact_stack.demo.motion import Motion

STANDING_GAP = 0.01
"""Largest distance between the mug's bottom and the cart's top if it stands there [m]."""


def assemble(node: DemoNode, experiment: Experiment, robot: Robot) -> ExperimentData:
    """Bring everything that was heard to the ticks of the simulator.

    Args:
        node: The node that listened, after the end of the experiment.
        experiment: The experiment.
        robot: The arm.

    Returns:
        The run.
    """
    assert node.start is not None and node.motion is not None
    duration = experiment.duration + experiment.settling
    end = node.start + round(duration * NANOSECONDS)
    truth = node.heard["truth/joint_states"]
    stamps = [stamp for stamp in truth.stamps if node.start <= stamp <= end]
    states = truth.between(node.start, end)
    time = 1e-9 * (np.array(stamps) - node.start)
    position = np.array([state.position for state in states])
    velocity = np.array([state.velocity[: robot.n] for state in states])
    errors = _tracking_errors(robot, position[:, : robot.n], time, node.motion)
    statuses = node.heard["controller_status"].between(node.start, end)
    estimates = node.heard["contacts"].between(node.start, end)
    tilt, on_cart = standing(node.heard["truth/objects"].samples[-1], experiment)
    held = experiment.held.name if experiment.held is not None else None
    return ExperimentData(
        time=time,
        period=float(np.median(np.diff(time))),
        joint_position=position,
        joint_velocity=velocity,
        contacts=tuple(
            _contacts(node.heard["truth/contacts"].at(stamp), robot, held) for stamp in stamps
        ),
        estimates=tuple(
            _contacts(node.heard["contacts"].at(stamp), robot, held) for stamp in stamps
        ),
        position_error=errors[0],
        rotation_error=errors[1],
        tick_time=np.array([status.tick_time for status in statuses]),
        deadline_misses=statuses[-1].deadline_misses - statuses[0].deadline_misses,
        control_rate=len(statuses) / duration,
        estimator_rate=len(estimates) / duration,
        mug_tilt=tilt,
        mug_on_cart=on_cart,
    )


def standing(objects: TFMessage, experiment: Experiment) -> tuple[float | None, bool | None]:
    """Tell how the held or released object stands.

    Args:
        objects: Poses of the objects.
        experiment: The experiment.

    Returns:
        The angle between the object's axis and the vertical [rad], None without one; and
        whether it stands where it was released onto, None if it was not.
    """
    if experiment.held is None:
        return None, None
    mug = frame_pose(objects, experiment.held.name)
    tilt = float(np.arccos(np.clip(mug.rotation[2, 2], -1.0, 1.0)))
    if experiment.release is None:
        return tilt, None
    furniture = Scene.load(experiment.scene).objects
    support = furniture[experiment.release.onto].urdf
    return tilt, _stands_on(
        mug,
        furniture[experiment.held.name].urdf,
        frame_pose(objects, experiment.release.onto),
        support,
    )


def _stands_on(mug: pin.SE3, mug_urdf: str, support: pin.SE3, support_urdf: str) -> bool:
    """Tell whether the bottom of a cylinder is on the highest box of a piece of furniture."""
    (cylinder,) = (
        shape
        for shape in collision_shapes(read_urdf(mug_urdf))
        if shape.shape.kind is ShapeKind.CYLINDER
    )
    half_height = cylinder.shape.size[1]
    bottom = (mug * cylinder.placement).act(np.array([0.0, 0.0, -half_height]))
    shapes = collision_shapes(read_urdf(support_urdf))
    boxes = [shape for shape in shapes if shape.shape.kind is ShapeKind.BOX]
    top = max(boxes, key=lambda s: s.placement.translation[2] + s.shape.size[2])
    inside = (support * top.placement).actInv(bottom)
    x, y, z = np.abs(inside - np.array([0.0, 0.0, top.shape.size[2]]))
    return bool(x <= top.shape.size[0] and y <= top.shape.size[1] and z <= STANDING_GAP)


def _tracking_errors(
    robot: Robot, position: np.ndarray, time: np.ndarray, motion: Motion
) -> tuple[np.ndarray, np.ndarray]:
    """Return the true tool's distance [m] and angle [rad] from the reference, each (n)."""
    errors = np.zeros((2, len(time)))
    for tick, (q, t) in enumerate(zip(position, time, strict=True)):
        wanted = motion.tool(robot, float(t))
        robot.update(q)
        difference = robot.tool_pose().actInv(wanted)
        errors[0, tick] = np.linalg.norm(difference.translation)
        errors[1, tick] = np.linalg.norm(pin.log3(difference.rotation))
    return errors[0], errors[1]


def _contacts(
    message: ContactArray | None, robot: Robot, held: str | None
) -> tuple[ContactSample, ...]:
    """Return the robot's contacts with anything but the held object."""
    if message is None:
        return ()
    return tuple(
        _sample(contact)
        for contact in message.contacts
        if contact.link in robot.link_names and contact.other != held
    )


def _sample(contact: Contact) -> ContactSample:
    return ContactSample(
        contact.link, to_array(contact.point), to_array(contact.force), contact.identifiable
    )
