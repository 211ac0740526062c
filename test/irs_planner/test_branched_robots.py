"""Robots that branch, in 3-D: two arms that lift a box together, and fingers that close."""

import numpy as np
import pinocchio as pin
import pytest

from contact_core.robot.scene import Scene
from irs_planner import build_problem
from irs_planner.quasi_dynamic import SpatialQuasiDynamics
from irs_planner.scene_problems import ANGLE_STEP, LENGTH_STEP, scene_problem
from irs_planner.scenes.spatial_scene import SpatialScene, SpatialSceneConfig, load_spatial_scene
from tamsi_sim.robot.plant import Plant

KNOTS, TICKS = 110, 20
PRESSING, LIFTING = 0.016, 0.008
"""How far commands are inside the box, and above where the balls are [m]."""


@pytest.fixture(scope="module")
def arms():
    return SpatialQuasiDynamics(load_spatial_scene("two_arms_lift"))


@pytest.fixture(scope="module")
def gripper():
    """The mug between the fingers of the gripper."""
    config = SpatialSceneConfig(scene="mug_placement", fingers=True, whole_arm=False)
    return SpatialQuasiDynamics(SpatialScene(config, Scene.load("mug_placement")))


def start(model):
    scene = model.scene.scene
    joints = scene.initial_joints()
    poses = {name: scene.object_placement(name) for name in model.object_names}
    return model.state_of(poses, np.array([joints[name] for name in model.joint_names]))


def test_every_joint_of_both_arms_is_an_input(arms):
    arm = [f"A{i}" for i in range(1, 8)]
    assert arms.joint_names == (*(f"lbr_{a}" for a in arm), *(f"right_{a}" for a in arm))
    assert arms.position_limits.shape == (2, 14)
    assert arms.contact_links == ("pusher", "right_pusher")


@pytest.mark.parametrize("name", ["arms", "gripper"])
def test_bodies_are_where_pinocchio_has_them(name, request):
    """Found from the shapes: where the spheres of the robot are, of all joints at random."""
    model = request.getfixturevalue(name)
    robot = pin.buildModelFromXML(model.scene.scene.robot.urdf)
    data, rng, compared = robot.createData(), np.random.default_rng(0), 0
    for _ in range(5):
        joints = rng.uniform(*model.position_limits)
        state = start(model)[: model.coordinates].copy()
        state[list(model.commanded_states)] = joints
        moved = dict(zip(model.joint_names, joints, strict=True))
        moved["finger_right_joint"] = moved.get("finger_left_joint", 0.0)
        pin.framesForwardKinematics(robot, data, np.array([moved[n] for n in robot.names[1:]]))
        point = model.contact_frames(state[np.newaxis]).point[0]
        frames, arrays = model.contact_frames(state[np.newaxis]).frame[0], model.arrays
        for i, (probe, _) in enumerate(arrays.probe_pair):
            link = model.pair_names[i][0]
            if link in model.link_names and arrays.probe_radius[probe] > 0.0:
                center = point[i] + arrays.probe_radius[probe] * frames[i, 0]
                frame = robot.frames[robot.getFrameId(link)]
                local = frame.placement.actInv(pin.SE3(np.eye(3), arrays.probe_position[probe]))
                expected = data.oMf[robot.getFrameId(link)].act(local.translation)
                np.testing.assert_allclose(center, expected, atol=1e-9)
                compared += 1
    assert compared >= 10


@pytest.mark.parametrize("name", ["arms", "gripper"])
def test_normal_jacobian_is_the_gradient_of_the_distance(name, request):
    model, step = request.getfixturevalue(name), 1e-6
    rng = np.random.default_rng(1)
    states = start(model)[: model.coordinates] + 0.002 * rng.normal(size=(4, model.coordinates))
    normal = model.contact_frames(states).normal
    for k, d in enumerate(step * np.eye(model.coordinates)):
        ahead, behind = (model.contact_frames(states + s * d).gap for s in (1, -1))
        slope = (ahead - behind) / (2 * step)
        kink = np.abs(ahead + behind - 2 * model.contact_frames(states).gap) > 1e-9
        np.testing.assert_allclose(normal[:, :, k][~kink], slope[~kink], atol=1e-4)
        assert kink.mean() < 0.05


def test_fingers_that_close_press_the_mug_from_both_sides(gripper):
    """Both fingers follow one input, whose spring holds the sum of their forces."""
    state = start(gripper)
    finger = gripper.joint_names.index("finger_left_joint")
    column = gripper.commanded_states[finger]
    command = state[list(gripper.commanded_states)].copy()
    command[finger] -= 0.005
    ahead = gripper.step(state, command)
    forces = gripper.contact_forces(state[np.newaxis], command[np.newaxis])
    on_fingers = {"finger_left": np.zeros(3), "finger_right": np.zeros(3)}
    for (first, second), force in zip(forces.pairs, forces.force[0], strict=True):
        for link, sign in ((first, 1.0), (second, -1.0)):
            if link in on_fingers:
                on_fingers[link] += sign * force
    left, right = on_fingers.values()
    spring = gripper.stiffness[finger] * (ahead[column] - command[finger])
    assert spring > 5.0
    apart = (left - right) / np.linalg.norm(left - right)
    assert (left - right) @ apart == pytest.approx(spring, rel=0.05)
    assert abs((left + right) @ apart) < 0.2 * spring
    assert gripper.position_limits[:, finger] == pytest.approx([0.0, 0.055])


def test_a_finger_of_a_scene_of_ones_own_has_steps_of_length(tmp_path):
    path = tmp_path / "grasp.yaml"
    path.write_text("scene: mug_placement\nfingers: true\nwhole_arm: false\n")
    problem = scene_problem(str(path), {"mug/z": 0.6})
    assert problem.bounds.increment == (*(ANGLE_STEP,) * 7, LENGTH_STEP)
    assert problem.first_input[-1] == 0.0395


def squeeze_and_lift(model, state):
    """Command both balls into the box and upwards, and return states and commands."""
    joints, states, commands = list(model.commanded_states), [state], []
    pairs = [i for i, (link, thing) in enumerate(model.pair_names) if link and thing == "box"]
    assert [model.pair_names[i][0] for i in pairs] == ["pusher", "right_pusher"]
    for t in range(KNOTS):
        frames = model.find_contacts(states[-1][np.newaxis])
        gap, up = frames.gap[0, pairs], frames.frame[0, pairs, 2, 2]
        rows = (frames.normal[0, pairs], frames.tangent[0, pairs, 1], frames.tangent[0, pairs, 0])
        nearer = np.where(gap > 1e-3, np.minimum(gap, 0.006), PRESSING)
        lift = LIFTING * np.sign(up) * (t > 14 and gap.max() < 2e-3)
        wanted = np.concatenate((-nearer, lift, np.zeros(2)))
        commands.append(states[-1][joints] + np.linalg.pinv(np.vstack(rows)[:, joints]) @ wanted)
        states.append(model.step(states[-1], commands[-1]))
    return np.array(states), np.array(commands)


def test_two_arms_lift_a_box_in_the_model_and_in_the_simulator(arms):
    """The commands of the model, carried out by arms with inertia and compliant contact."""
    problem = build_problem(scene_problem("two_arms_lift", {"box/z": 0.35}))
    states, commands = squeeze_and_lift(arms, problem.initial_state)
    assert states[-1, 2] > 0.35
    forces = arms.contact_forces(states[-2:-1], commands[-1:])
    weight = sum(
        force[2] * (1.0 if first == "box" else -1.0)
        for (first, second), force in zip(forces.pairs, forces.force[0], strict=True)
        if "box" in (first, second)
    )
    acceleration = (states[-1, 2] - states[-2, 2]) / arms.time_step**2  # of 1 kg
    assert weight == pytest.approx(9.81 + acceleration, abs=1e-4)
    plant = Plant(arms.scene.scene)
    before = problem.initial_state[list(arms.commanded_states)]
    for command in commands:
        for i in range(1, TICKS + 1):
            plant.tick(before + (command - before) * i / TICKS)
        before = command
    (box,) = (item for item in plant.truth().objects if item.name == "box")
    np.testing.assert_allclose(box.position, states[-1, :3], atol=0.01)


def test_one_arm_does_not_lift_it(arms):
    """The other one stays where it is: the box is pushed, and stays on the table."""
    states, commands = squeeze_and_lift(arms, start(arms))
    state = states[0]
    for command in commands:
        held = np.concatenate((command[:7], states[0][list(arms.commanded_states)][7:]))
        state = arms.step(state, held)
    assert state[2] == pytest.approx(0.25, abs=0.01)
