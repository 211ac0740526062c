"""What the demo push_box wants of the box, and when it is content."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pinocchio as pin

from contact_core.robot.description import collision_shapes, read_urdf
from irs_planner.examples import build_contact_model, load_example
from irs_planner.quasi_dynamic import SpatialQuasiDynamics

EXAMPLE = "iiwa_push"
BOX = "box"
PUSHER = "pusher"


@dataclass(frozen=True)
class Miss:
    """How far the box is from its goal.

    Attributes:
        distance: Between the centres [m].
        angle: Between the orientations [rad].
    """

    distance: float
    angle: float


class BoxTask:
    """The box has to be brought to a pose; scene and goal are those of the planner's example.

    Attributes:
        model: The planner's model of the scene.
        goal: Goal pose of the box, world frame.
        half_extents: (3) of the box [m].
        pusher_radius: Of the ball that pushes [m].
        position_tolerance: Distance at which the box counts as there [m].
        rotation_tolerance: Angle likewise [rad].
    """

    position_tolerance = 0.03
    rotation_tolerance = float(np.deg2rad(5.0))

    def __init__(self) -> None:
        """Load the example."""
        config = load_example(EXAMPLE)
        model = build_contact_model(config.scene, config.time_step)
        assert isinstance(model, SpatialQuasiDynamics)
        self.model = model
        self.goal = model.object_poses(np.array(config.goal_state))[BOX]
        scene = model.scene.scene
        (box,) = collision_shapes(read_urdf(scene.objects[BOX].urdf))
        self.half_extents = np.array(box.shape.size)
        (ball,) = (shape for shape in scene.robot.shapes() if shape.body == PUSHER)
        self.pusher_radius = float(ball.shape.size[0])

    def state(self, box: pin.SE3, joints: np.ndarray) -> np.ndarray:
        """Return the planner's state, given box pose (world) and joint positions (7) [rad]."""
        return self.model.state_of({BOX: box}, joints)

    def miss(self, box: pin.SE3) -> Miss:
        """Measure a pose of the box, world frame."""
        difference = box.actInv(self.goal)
        return Miss(
            float(np.linalg.norm(difference.translation)),
            float(np.linalg.norm(pin.log3(difference.rotation))),
        )

    def reached(self, miss: Miss) -> bool:
        """Tell whether the box is near enough."""
        near = miss.distance <= self.position_tolerance
        return bool(near and miss.angle <= self.rotation_tolerance)
