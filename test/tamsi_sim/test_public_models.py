"""Robots that others have published load, with the inertia and the motion that they have."""

import warnings
import xml.etree.ElementTree as ElementTree

import numpy as np
import pinocchio as pin
import pytest
from public_models import PACKAGES, folder, urdfs

from contact_core.base.errors import ModelError, ModelWarning
from contact_core.robot.description import read_urdf
from tamsi_sim.simulation.world import World

pytestmark = pytest.mark.verify

# What cannot be simulated as it is written, and the reason that has to be given.
REFUSED = {
    "schunk_egk40.urdf": "body 'left_finger_mount' has mass 0 kg and carries none",
    "alex_psyonic_hands.urdf": "follows '.*', which is none that moves",
    "romeo.urdf": "body '.Finger11Link' has mass 0 kg and carries none",
    "romeo_laas_small.urdf": "principal inertias .* all must be > 0",
    "romeo_small.urdf": "principal inertias .* none can be greater than the sum",
    "ur3.urdf": "cannot read the URDF",
    "stretch_description_RE1V0_tool_none.urdf": "mesh without a volume",
    "stretch_description_RE1V0_tool_stretch_gripper.urdf": "mesh without a volume",
    "stretch_description_RE1V0_tool_stretch_dex_wrist.urdf": "none can be greater than the sum",
    "stretch_description_RE2V0_tool_stretch_dex_wrist.urdf": "none can be greater than the sum",
}

# Those that no repair helps.
BROKEN = {"alex_psyonic_hands.urdf", "ur3.urdf"}


def models():
    for package in PACKAGES:
        for path in urdfs(package):
            yield pytest.param(path, id=f"{package}/{path.relative_to(folder(package))}")


@pytest.mark.parametrize("package", PACKAGES)
def test_the_packages_are_there(package):
    if not urdfs(package):
        pytest.skip(f"{package} is not installed: pip install -e '.[models]'")


@pytest.mark.parametrize("path", list(models()))
def test_a_public_model_is_loaded_as_it_is(path):
    world = World()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ModelWarning)
        if path.name in REFUSED:
            with pytest.raises(ModelError, match=REFUSED[path.name]):
                world.add("robot", path).build()
            if path.name not in BROKEN:
                World().add("robot", path, repair=True).build()
            return
        engine = world.add("robot", path).build()
    reference = pin.buildModelFromXML(read_urdf(path))
    built, rng = engine.built, np.random.default_rng(0)
    mass = sum(inertia.mass for inertia in reference.inertias[1:])
    assert built.arrays.inertias.mass.sum() == pytest.approx(mass, rel=1e-12)
    for _ in range(3):
        engine.q[:] = rng.uniform(-0.5, 0.5, len(engine.q))
        if built.free_bodies:
            engine.q[:] = built.q
        engine.evaluate()
        q, motion = _coordinates(engine, reference, path)
        data = reference.createData()
        matrix = pin.crba(reference, data, q)
        matrix = np.triu(matrix) + np.triu(matrix, 1).T
        expected = motion.T @ (matrix + np.diag(reference.armature)) @ motion
        np.testing.assert_allclose(
            engine.observer.mass_matrix(), expected, atol=1e-9 * abs(matrix).max(initial=1.0)
        )
        pin.framesForwardKinematics(reference, data, q)
        for frame, pose in zip(reference.frames, data.oMf, strict=True):
            if frame.type == pin.FrameType.BODY:
                found = engine.observer.pose("robot", frame.name)
                np.testing.assert_allclose(found.homogeneous, pose.homogeneous, atol=1e-9)


def _coordinates(engine, reference, path):
    """Pinocchio's coordinates without mimic joints, and their change per degree of freedom."""
    laws = {
        joint.get("name"): joint.find("mimic").attrib
        for joint in ElementTree.fromstring(read_urdf(path)).findall("joint")
        if joint.find("mimic") is not None and joint.get("name") in set(reference.names)
    }
    q, motion = pin.neutral(reference), np.zeros((reference.nv, len(engine.v)))

    def value(name):
        """Coordinate, degree of freedom and ratio of a joint."""
        if name not in laws:
            dof = engine.built.joints[name]
            return engine.q[engine.built.arrays.joints.q[dof]], dof, 1.0
        master, dof, ratio = value(laws[name]["joint"])
        own = float(laws[name].get("multiplier", 1.0))
        return own * master + float(laws[name].get("offset", 0.0)), dof, own * ratio

    for name, joint in zip(reference.names[1:], reference.joints[1:], strict=True):
        if joint.nv != 1:
            raise NotImplementedError(joint.shortname())
        coordinate, dof, ratio = value(name)
        q[joint.idx_q : joint.idx_q + joint.nq] = (
            (coordinate,) if joint.nq == 1 else (np.cos(coordinate), np.sin(coordinate))
        )
        motion[joint.idx_v, dof] = ratio
    return q, motion
