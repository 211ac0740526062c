"""What the demo wants of the box, and when it is content."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pinocchio as pin

from contact_core.description import collision_shapes, read_urdf
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


class PushTask:
    """The box has to be brought to a pose.

    Attributes:
        model: The planner's model of the scene.
        goal: Goal pose of the box, world.
        half_extents: (3) of the box [m].
        pusher_radius: Of the ball that pushes [m].
        position_tolerance: [m].
        rotation_tolerance: [rad].
    """

    def __init__(
        self, position_tolerance: float = 0.03, rotation_tolerance: float = np.deg2rad(5.0)
    ) -> None:
        """Take scene and goal from the planner's example.

        Args:
            position_tolerance: Distance at which the box counts as there [m].
            rotation_tolerance: Angle likewise [rad].
        """
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
        self.position_tolerance = position_tolerance
        self.rotation_tolerance = rotation_tolerance

    def state(self, box: pin.SE3, joints: np.ndarray) -> np.ndarray:
        """Return the planner's state.

        Args:
            box: Pose of the box, world.
            joints: (7) joint positions of the arm [rad].
        """
        return self.model.state_of({BOX: box}, joints)

    def miss(self, box: pin.SE3) -> Miss:
        """Measure a pose of the box.

        Args:
            box: Its pose, world.
        """
        difference = box.actInv(self.goal)
        return Miss(
            float(np.linalg.norm(difference.translation)),
            float(np.linalg.norm(pin.log3(difference.rotation))),
        )

    def reached(self, miss: Miss) -> bool:
        """Tell whether a pose is good enough.

        Args:
            miss: How far it is off.
        """
        return bool(
            miss.distance <= self.position_tolerance and miss.angle <= self.rotation_tolerance
        )
