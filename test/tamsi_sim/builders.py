"""Small URDFs and engines that several tests use."""

from pathlib import Path

import numpy as np
import pinocchio as pin
from scipy.spatial import ConvexHull

from contact_core.robot.description import RobotDescription, read_urdf
from contact_core.robot.scene import Instance
from contact_core.robot.scene_config import SolverConfig
from contact_core.robot.surface import Surface
from tamsi_sim.simulation.engine import Engine
from tamsi_sim.simulation.model import build_model

GRAVITY = (0.0, 0.0, -9.81)
# A ball joint beside its body's origin, a hinge, and another ball joint.
CHAIN = """<mujoco><compiler angle="radian"/><worldbody>
  <body name="upper" pos="0 0 0.3" euler="0.3 0.2 0.1">
    <joint name="shoulder" type="ball" pos="0.02 0 0.01" armature="0.01" damping="0.05"/>
    <geom type="capsule" size="0.03" fromto="0 0 0 0.3 0 0" mass="1"/>
    <body name="lower" pos="0.3 0 0">
      <joint name="elbow" axis="0 1 0.2" pos="0 0 0.1" damping="0.02"/>
      <geom type="box" size="0.05 0.1 0.02" pos="0.1 0 0" mass="0.5"/>
      <body name="hand" pos="0.2 0 0" euler="0.1 0.2 0.3">
        <joint name="wrist" type="ball" pos="0.01 0 0.02"/>
        <geom type="box" size="0.05 0.08 0.02" pos="0.1 0.02 0" mass="0.5"/>
      </body></body></body></worldbody></mujoco>"""


def body_urdf(name, geometry, mass=1.0, inertia=(1e-3, 1e-3, 1e-3), capsule=False):
    """Return a URDF of one link with one collision shape."""
    ixx, iyy, izz = inertia
    mark = f'<collision_checking><capsule name="{name}_shape"/></collision_checking>'
    return f"""<robot name="{name}"><link name="{name}">
      <inertial><mass value="{mass}"/>
        <inertia ixx="{ixx}" iyy="{iyy}" izz="{izz}" ixy="0" ixz="0" iyz="0"/></inertial>
      <collision name="{name}_shape"><geometry>{geometry}</geometry></collision>
      {mark if capsule else ""}</link></robot>"""


def box(x, y, z):
    """Return URDF's box."""
    return f'<box size="{x} {y} {z}"/>'


def sphere(radius):
    """Return URDF's sphere."""
    return f'<sphere radius="{radius}"/>'


def cylinder(radius, length):
    """Return URDF's cylinder, or a capsule's."""
    return f'<cylinder radius="{radius}" length="{length}"/>'


def mesh(name):
    """Return URDF's mesh, a file in the folder data."""
    return f'<mesh filename="{Path(__file__).parent / "data" / name}"/>'


def hull_mesh(folder, name, points):
    """Write the convex hull of a cloud of points to a file; return URDF's mesh of it."""
    path = Path(folder) / f"{name}.obj"
    lines = [f"v {x:.17g} {y:.17g} {z:.17g}" for x, y, z in points]
    lines += [f"f {i + 1} {j + 1} {k + 1}" for i, j, k in ConvexHull(points).simplices]
    path.write_text("\n".join(lines))
    return f'<mesh filename="{path}"/>'


def box_points(x, y, z):
    """Return the corners of a box of these sizes."""
    return 0.5 * np.array(
        [[u * x, v * y, w * z] for u in (-1, 1) for v in (-1, 1) for w in (-1, 1)]
    )


def drum_points(radius, length, corners=32):
    """Return the corners of a cylinder's polyhedron."""
    angles = 2.0 * np.pi * np.arange(corners) / corners
    x, y = radius * np.cos(angles), radius * np.sin(angles)
    return np.vstack(
        [np.column_stack([x, y, np.full(corners, z)]) for z in (-length / 2, length / 2)]
    )


def pose(x=0.0, y=0.0, z=0.0, roll=0.0, pitch=0.0, yaw=0.0):
    """Return a pose."""
    return pin.SE3(pin.rpy.rpyToMatrix(roll, pitch, yaw), np.array([x, y, z]))


def engine_of(instances, time_step=1e-3, surface=None, solver=None, touch=None, surface_of=None):
    """Return an engine in which different instances touch each other."""
    surface = surface or Surface(2e4, 5.0, 0.5)
    touch = touch or (lambda a, b: a[0] != b[0])
    built = build_model(instances, surface_of or (lambda instance, link: surface), touch)
    return Engine(built, time_step, solver or SolverConfig())


def dense(engine, contact):
    """Return the contact's Jacobian with all columns, in world axes."""
    work = engine.work
    jacobian = np.zeros((3, len(engine.v)))
    for k in range(work.jacobian.columns[contact]):
        jacobian[:, work.jacobian.dof[contact, k]] = work.jacobian.entry[contact, :, k]
    return work.contacts.frame[contact].T @ jacobian


def arm_instance(gravity=GRAVITY):
    """Return the arm with its gripper, weight included."""
    return Instance("robot", RobotDescription.load("iiwa14_wsg50").urdf, gravity=gravity)


def mug_instance(placement=None):
    """Return a free mug."""
    return Instance("mug", read_urdf("urdf/mug.urdf"), placement or pose(), True, GRAVITY)


def ground_instance():
    """Return a big fixed box whose top is the plane z = 0."""
    return Instance("ground", body_urdf("ground", box(40.0, 40.0, 1.0)), pose(z=-0.5))
