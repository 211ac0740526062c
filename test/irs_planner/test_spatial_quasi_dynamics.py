"""Contact in 3-D: geometry, step, derivatives and forces against independent oracles."""

import coal
import numpy as np
import pinocchio as pin
import pytest
import quadprog
import yaml
from own_scenes import HEIGHT, TOP, write_scene

from contact_core.base.errors import ConfigError
from contact_core.multibody.collision.shapes import shape_to_coal
from contact_core.robot.robot import Robot
from irs_planner.examples import build_problem
from irs_planner.quasi_dynamic import PlanarQuasiDynamics, SpatialQuasiDynamics
from irs_planner.scene_problems import scene_problem
from irs_planner.scenes import (
    load_spatial_scene,
    scene_from_mapping,
)

BOX = np.array([0.60, -0.05, 0.25, 0.0, 0.0, 0.0])
ARM = np.array([-0.11575922, 0.26992102, 0.0, -1.94060868, 0.0, 0.93106296, 0.0])
"""The ball is 40 mm before the side of the box that faces the arm."""


@pytest.fixture(scope="module", params=[0.0, 1.5], ids=["rolls first", "pitches first"])
def model(request):
    model = SpatialQuasiDynamics(load_spatial_scene("iiwa_push"))
    return model.for_angles([0.0, 0.0, 0.0, 0.0, request.param, 0.0])


def random_steps(model, count, seed=0, state_noise=0.02, input_noise=0.1):
    """Return states near the moment at which the pusher meets the box, and commands."""
    rng = np.random.default_rng(seed)
    q = np.array([*BOX, *ARM])
    q[0] -= 0.04
    states = q + rng.normal(scale=state_noise, size=(count, model.coordinates))
    commands = states[:, model.commanded_states]
    return model.complete(states), commands + rng.normal(scale=input_noise, size=commands.shape)


def solve_with_quadprog(model, state, command, gap=None):
    """Return q+ of the polyhedral cone's QP, written out with numpy."""
    frames = model.find_contacts(state[np.newaxis])
    distance, normal, tangent = (array[0] for array in (frames.gap, frames.normal, frames.tangent))
    angles = 0.5 * np.pi * np.arange(4)
    rays = np.concatenate(
        [
            normal
            + model.friction[:, np.newaxis]
            * (np.cos(a) * tangent[:, 0] + np.sin(a) * tangent[:, 1])
            for a in angles
        ]
    )
    h, q, spring = model.time_step, state[: model.coordinates], model.spring_model(state)
    pull = h * model.stiffness * (command - q[6:])
    bound = -np.tile(distance if gap is None else gap, 4) / h
    v, *_ = quadprog.solve_qp(spring.hessian, np.concatenate((h * model.load, pull)), rays.T, bound)
    return q + h * v


def test_step_against_quadprog(model):
    states, commands = random_steps(model, 150)
    next_states = model.step_batch(states, commands)
    moved = 0
    for state, command, found in zip(states, commands, next_states, strict=True):
        try:
            expected = solve_with_quadprog(model, state, command)
        except ValueError:  # infeasible
            assert np.isnan(found).all()
            continue
        moved += np.abs(expected[:6] - state[:6]).max() > 1e-3
        np.testing.assert_allclose(found[: model.coordinates], expected, atol=1e-9)
    assert moved > 30


def test_normal_jacobian_is_the_gradient_of_the_distance(model):
    states, _ = random_steps(model, 20, state_noise=0.1)
    normal, step = model.find_contacts(states).normal, 1e-6
    for k, d in enumerate(step * np.eye(states.shape[1])[: model.coordinates]):
        ahead, behind = (model.find_contacts(states + s * d).gap for s in (1, -1))
        np.testing.assert_allclose(normal[:, :, k], (ahead - behind) / (2 * step), atol=1e-6)


def test_distances_and_normals_against_coal(model):
    """Every pair, a probe as a sphere of its own radius."""
    arrays, scene = model.arrays, model.scene.scene
    states, _ = random_steps(model, 50, state_noise=0.1)
    robot = Robot.from_description(scene.robot)
    (box,), table = shape_of(scene, "box"), shape_of(scene, "table")[0]
    for state in states:
        frames = model.find_contacts(state[np.newaxis])
        robot.update(state[6:13])
        ball = robot.tool_pose().translation
        poses = {"box": model.object_poses(state)["box"] * box.placement}
        poses[""] = scene.object_placement("table") * table.placement
        shapes = {"box": box.shape, "": table.shape}
        for i, (first, second) in enumerate(model.pair_names[: len(arrays.probe_pair)]):
            probe = arrays.probe_pair[i, 0]
            radius, center = arrays.probe_radius[probe], ball
            if first == "box":
                center = model.object_poses(state)["box"].act(arrays.probe_position[probe])
            local = poses[second].actInv(center)
            if (np.abs(local) < shapes[second].size).all():
                continue  # a centre inside: Coal's penetration depth is another quantity
            result = coal.DistanceResult()
            expected = coal.distance(
                shape_to_coal(shapes[second]),
                coal.Transform3s(poses[second].rotation, poses[second].translation),
                coal.Sphere(max(radius, 1e-9)),
                coal.Transform3s(np.eye(3), center),
                coal.DistanceRequest(),
                result,
            )
            assert frames.gap[0, i] == pytest.approx(expected, abs=1e-6)
            np.testing.assert_allclose(frames.frame[0, i, 0], result.normal, atol=1e-4)


def shape_of(scene, name):
    from contact_core.robot.description import collision_shapes, read_urdf

    return collision_shapes(read_urdf(scene.objects[name].urdf))


def test_contact_frames_are_right_handed_and_orthonormal(model):
    states, _ = random_steps(model, 50, state_noise=0.3)
    frames = model.find_contacts(states).frame.reshape(-1, 3, 3)
    identity = np.broadcast_to(np.eye(3), frames.shape)
    np.testing.assert_allclose(frames @ frames.transpose(0, 2, 1), identity, atol=1e-12)
    np.testing.assert_allclose(np.linalg.det(frames), 1.0, atol=1e-12)


def test_input_jacobian_against_finite_differences(model):
    states, commands = random_steps(model, 40)
    jacobian, step, compared = model.jacobians(states, commands).input, 1e-7, 0
    for k, d in enumerate(step * np.eye(model.input_size)):
        middle = model.step_batch(states, commands)
        forward = (model.step_batch(states, commands + d) - middle) / step
        back = (middle - model.step_batch(states, commands - d)) / step
        smooth = np.isfinite(forward).all(1) & (np.abs(forward - back).max(axis=1) < 1e-4)
        np.testing.assert_allclose(jacobian[smooth, :, k], forward[smooth], atol=2e-5)
        compared += smooth.sum()
    assert compared > 0.7 * 40 * model.input_size


def test_state_jacobian_against_finite_differences_of_frozen_geometry(model):
    """dJ/dq and dM/dq are neglected: distances and spring deflections follow the state."""
    states, commands = random_steps(model, 20, seed=1)
    n, step, compared = model.coordinates, 1e-6, 0
    jacobian = model.jacobians(states, commands).state
    for state, command, a in zip(states, commands, jacobian, strict=True):
        if np.isnan(a).any():
            continue
        frames = model.find_contacts(state[np.newaxis])

        def moved(d, sign, state=state, command=command, frames=frames):
            gap = frames.gap[0] + sign * frames.normal[0] @ d
            return solve_with_quadprog(model, state, command - sign * d[6:], gap) + sign * d

        for k, d in enumerate(step * np.eye(n)):
            middle = moved(d, 0.0)
            forward, back = (moved(d, 1.0) - middle) / step, (middle - moved(d, -1.0)) / step
            if np.abs(forward - back).max() < 1e-4:
                np.testing.assert_allclose(a[:n, k], forward, atol=2e-4)
                compared += 1
    assert compared > 100


def test_log_barrier_jacobian_against_finite_differences(model):
    """The barrier's minimiser by scipy's Newton method, commands varied around it."""
    state = model.complete(np.array([[*BOX, *ARM]]))[0]
    state[0], state[2] = state[0] - 0.03, state[2] + 0.005
    command, width, step = state[6:13] + 0.02, np.full(7, 0.02), 1e-4
    found = model.barrier_jacobians(state[np.newaxis], command[np.newaxis], width).input[0]
    assert np.abs(found[:6]).max() > 1e-3
    for k, d in enumerate(step * np.eye(7)):
        ahead, behind = (barrier_step(model, state, command + s * d, width) for s in (1, -1))
        expected = (ahead - behind) / (2 * step)
        np.testing.assert_allclose(found[: model.coordinates, k], expected, atol=1e-5)


def barrier_step(model, state, command, width):
    """Minimise the barrier objective by damped Newton steps in numpy; return q+."""
    frames, h, spring = (
        model.find_contacts(state[np.newaxis]),
        model.time_step,
        model.spring_model(state),
    )
    normal, tangent = frames.normal[0], frames.tangent[0]
    edges = [(1.0, 0.0), (0.0, 1.0), (-1.0, 0.0), (0.0, -1.0)]
    friction = model.friction[:, np.newaxis]
    rays = np.concatenate(
        [normal + friction * (x * tangent[:, 0] + y * tangent[:, 1]) for x, y in edges]
    )
    bound = np.tile(frames.gap[0], 4) / h
    q = state[: model.coordinates]
    b = -h * np.concatenate((model.load, model.stiffness * (command - q[6:])))
    weight, v = np.mean(model.stiffness * width**2), np.zeros(len(q))
    assert (bound > 0).all()
    for _ in range(200):
        slack = rays @ v + bound
        gradient = spring.hessian @ v + b - weight * rays.T @ (1 / slack)
        hessian = spring.hessian + weight * (rays.T / slack**2) @ rays
        newton = -np.linalg.solve(hessian, gradient)
        decrement = np.sqrt(-gradient @ newton / weight)
        length = min(1.0, 1.0 / (1.0 + decrement))
        while (rays @ (v + length * newton) + bound <= 0).any():
            length *= 0.5
        v += length * newton
    return q + h * v


def test_contact_forces_balance_object_momentum_and_arm_springs(model):
    states, commands = random_steps(model, 60)
    next_states = model.step_batch(states, commands)
    forces = model.contact_forces(states, commands)
    robot = Robot.from_description(model.scene.scene.robot)
    h = model.time_step
    for k in np.flatnonzero(np.isfinite(next_states).all(axis=1)):
        on_box, torque = np.zeros(3), np.zeros(7)
        frames = model.find_contacts(states[k : k + 1])
        robot.update(states[k, 6:13])
        for i, (first, second) in enumerate(model.pair_names):
            force = forces.force[k, i]
            on_box += force * ((first == "box") - float(second == "box"))
            if first == "pusher":
                point = robot.tool_pose().translation - 0.03 * frames.frame[0, i, 0]
                torque += robot.point_jacobian("pusher", point).T @ force
        velocity = (next_states[k, :3] - states[k, :3]) / h
        np.testing.assert_allclose(on_box, velocity / h - model.load[:3], atol=1e-5)
        spring = model.stiffness * (commands[k] - next_states[k, 6:13])
        np.testing.assert_allclose(torque, -spring, atol=1e-5)


def test_a_pushed_box_slides_with_the_friction_of_its_weight():
    """A smooth ball pushes with mu m g, and with m v / h as every step begins at rest."""
    model = SpatialQuasiDynamics(load_spatial_scene("iiwa_push"))
    model.friction[model.pair_names.index(("pusher", "box"))] = 0.0
    q = np.array([*BOX, *ARM])
    state, robot = model.complete(q[np.newaxis])[0], Robot.from_description(model.scene.scene.robot)
    command = state[6:13].copy()
    for _ in range(25):
        robot.update(state[6:13])
        jacobian = np.vstack(
            (robot.point_jacobian("pusher", robot.tool_pose().translation), robot.joint_axes.T)
        )
        command += np.linalg.pinv(jacobian) @ np.array([0.005, 0.0, 0.0, 0.0, 0.0, 0.0])
        before, state = state, model.step(state, command)
    force = model.contact_forces(before[np.newaxis], command[np.newaxis])
    push = force.force[0, model.pair_names.index(("pusher", "box"))]
    momentum = (state[0] - before[0]) / model.time_step
    assert state[0] - BOX[0] > 0.05
    assert -push[0] == pytest.approx(0.3 * 9.81 + momentum / model.time_step, rel=0.02)


def test_inertia_is_the_kinetic_energy_of_pinocchio(model):
    """1/2 qd^T M qd against the energy of a free-flyer, anywhere in roll, pitch and yaw."""
    rng = np.random.default_rng(0)
    inertia = pin.Inertia(1.0, np.zeros(3), np.diag([0.0042, 0.0042, 0.0067]))
    step = 1e-6
    for angles in rng.uniform(-1.2, 1.2, (20, 3)):
        q, rate = np.array([*BOX[:3], *angles, *np.zeros(7)]), rng.normal(size=6)
        rotation, turned = (
            model.scene.rotation("box", a) for a in (angles, angles + step * rate[3:])
        )
        twist = np.concatenate((rotation.T @ rate[:3], pin.log3(rotation.T @ turned) / step))
        energy = 0.5 * twist @ inertia.matrix() @ twist
        mass = model.inertia(q[np.newaxis])[0]
        assert 0.5 * rate @ mass @ rate == pytest.approx(energy, rel=1e-5)


def test_outputs_are_the_tool_pose_and_their_derivatives_are_exact(model):
    states, _ = random_steps(model, 10)
    robot, q = Robot.from_description(model.scene.scene.robot), states[:, : model.coordinates]
    values, slope = model.outputs(q)
    for state, value in zip(q, values, strict=True):
        robot.update(state[6:])
        np.testing.assert_allclose(value[:3], robot.tool_pose().translation, atol=1e-12)
        np.testing.assert_allclose(value[3:], robot.tool_pose().rotation[:, 2], atol=1e-12)
    for k, d in enumerate(1e-6 * np.eye(model.coordinates)):
        ahead, behind = (model.outputs(q + s * d)[0] for s in (1, -1))
        np.testing.assert_allclose(slope[:, :, k], (ahead - behind) / 2e-6, atol=1e-8)


def test_a_plane_in_space_is_the_planar_model():
    """One model, not two: in the planar limit both give the same numbers.

    The pusher meets the box squarely; a Cartesian robot in the plane has the stiffness that
    the arm has along the push. The planar cone has the two edges that lie in the plane.
    """
    spatial = SpatialQuasiDynamics(load_spatial_scene("iiwa_push"))
    q = np.array([*BOX, *ARM])
    robot = Robot.from_description(spatial.scene.scene.robot)
    robot.update(q[6:])
    ball = robot.tool_pose().translation
    jacobian = robot.point_jacobian("pusher", ball)
    stiffness = np.linalg.inv(jacobian @ np.diag(1.0 / spatial.stiffness) @ jacobian.T)
    # A frictionless push along x moves the arm along K^-1 J^T e_x.
    along = 1.0 / np.linalg.inv(stiffness)[0, 0]
    planar = PlanarQuasiDynamics(
        scene_from_mapping(
            {
                "gravity": [0.0, 0.0],
                "objects": [
                    {"name": "box", "mass": 1.0, "inertia": 1.0, "friction": 0.0,
                     "shapes": [{"box": {"size": [0.2, 0.2]}}]}
                ],
                "robots": [
                    {"name": "hand", "friction": 0.0,
                     "links": [{"name": "x", "joint": "prismatic_y", "stiffness": along,
                                "shapes": [{"circle": {"radius": 0.03}}]}]}
                ],
            }
        )
    )  # fmt: skip
    spatial.friction[:] = 0.0
    spatial.load[:] = 0.0
    push = np.array([0.06, 0.0, 0.0])
    command = (
        q[6:] + np.diag(1.0 / spatial.stiffness) @ jacobian.T @ np.array([along, 0, 0]) * push[0]
    )
    moved = spatial.step(spatial.complete(q[np.newaxis])[0], command)
    flat = planar.step(np.array([BOX[0], 0.0, 0.0, ball[0]]), np.array([ball[0] + push[0]]))
    assert flat[0] - BOX[0] > 0.005
    assert moved[0] == pytest.approx(flat[0], abs=1e-9)


def test_states_and_object_poses_are_inverse(model):
    rng = np.random.default_rng(0)
    q = np.concatenate((BOX + rng.uniform(-0.5, 0.5, 6), rng.uniform(-1.0, 1.0, 7)))
    state = model.complete(q[np.newaxis])[0]
    found = model.state_of(model.object_poses(state), q[6:])
    np.testing.assert_allclose(found, state, atol=1e-12)


def test_what_is_pitched_first_is_pitched_then_rolled_then_yawed(model):
    angles = np.array([0.3, -1.2, 2.0])
    about = [pin.rpy.rpyToMatrix(*np.diag(angles)[k]) for k in (2, 0, 1)]
    if not model.scene.pitch_first:
        about[1:] = about[:0:-1]
    expected = about[0] @ about[1] @ about[2]
    np.testing.assert_allclose(model.scene.rotation("box", angles), expected, atol=1e-12)
    np.testing.assert_allclose(model.scene.angles("box", expected), angles, atol=1e-12)


def test_where_two_angles_are_one_there_is_no_solution_but_no_exception(model):
    q = np.array([*BOX, *ARM])
    q[3 if model.scene.pitch_first else 4] = 0.5 * np.pi
    state = model.complete(q[np.newaxis])[0]
    assert np.isfinite(state).all()
    assert np.isnan(model.step(state, q[6:])[:6]).all()


def test_unknown_scenes_and_links_list_the_valid_ones():
    with pytest.raises(ConfigError, match=r"unknown scene 'pull'.*iiwa_push"):
        load_spatial_scene("pull")


def test_where_the_origin_of_a_thing_is_does_not_matter(tmp_path):
    """A push from the side, above the centre: the same motion, seen from another point of it."""
    lever = np.array([0.03, -0.02, 0.05])
    models = []
    for name, shift in (("center", np.zeros(3)), ("aside", lever)):
        folder = tmp_path / name
        folder.mkdir()
        path = write_scene(folder, "carton")
        thing = folder / "thing.urdf"
        origin = '<origin xyz="{} {} {}"/>'.format(*shift)
        text = thing.read_text().replace("<inertial>", f"<inertial>{origin}")
        for kind in ("visual", "collision"):
            text = text.replace(f"<{kind}>", f"<{kind}>{origin}")
        thing.write_text(text)
        models.append(SpatialQuasiDynamics(load_spatial_scene(str(path))))
    center, aside = models
    rng = np.random.default_rng(0)
    turned = 0
    for _ in range(60):
        turn = np.array([*rng.normal(scale=0.02, size=2), rng.uniform(-3.0, 3.0)])
        place = np.array([0.56, -0.09, TOP + HEIGHT / 2.0]) + rng.normal(scale=0.003, size=3)
        joints = np.array([-0.43, 0.65, 0.0, -1.354, 0.0, 1.137, 0.0]) + 0.1 * rng.normal(size=7)
        pose = pin.SE3(pin.rpy.rpyToMatrix(turn), place)
        origin = pose * pin.SE3(np.eye(3), -lever)
        states = [
            model.state_of({"thing": at}, joints) for model, at in ((center, pose), (aside, origin))
        ]
        np.testing.assert_allclose(aside.centers(states[1])[0], place, atol=1e-12)
        gaps = [m.find_contacts(s[np.newaxis]).gap for m, s in zip(models, states, strict=True)]
        np.testing.assert_allclose(*gaps, atol=1e-9)
        command = joints + rng.normal(scale=0.1, size=7)
        ahead = [m.step(s, command) for m, s in zip(models, states, strict=True)]
        if not np.isfinite(ahead[0]).all():
            continue
        moved = [after - before for after, before in zip(ahead, states, strict=True)]
        np.testing.assert_allclose(moved[1][3:13], moved[0][3:13], atol=1e-7)
        rates = pin.rpy.computeRpyJacobian(states[0][3:6], pin.ReferenceFrame.LOCAL_WORLD_ALIGNED)
        turn = np.cross(rates @ moved[0][3:6], origin.translation - place)
        expected = moved[0][:3] + turn
        np.testing.assert_allclose(moved[1][:3], expected, atol=1e-7)
        turned += np.abs(moved[0][3:6]).max() > 1e-3
    assert turned > 10


@pytest.mark.parametrize(("solid", "depth"), [("carton", 0.16), ("wedge", 0.12), ("can", 0.12)])
@pytest.mark.parametrize("inside", [-1e-4, 0.0, 5e-5, 1e-3, 4e-3])
@pytest.mark.parametrize("turn", [0.0, -4e-4])
def test_things_of_one_height_stand_face_to_face(tmp_path, solid, depth, inside, turn):
    """Their corners are in top and bottom of each other, and the step had no solution."""
    path = write_scene(tmp_path, solid)
    scene = yaml.safe_load(path.read_text())
    x, y, z = scene["objects"]["thing"]["xyz"]
    scene["objects"]["thing"]["rpy"] = [0.0, 0.0, np.pi]
    place = {"xyz": [x, y + depth - inside, z], "rpy": [0.0, 0.0, turn]}
    scene["objects"]["twin"] = {"urdf": "thing.urdf", "free": True, **place}
    path.write_text(yaml.safe_dump(scene))
    problem = build_problem(scene_problem(str(path), {"thing/x": x + 0.1}))
    state = problem.initial_state
    for _ in range(5):
        state = problem.dynamics.step(state, problem.initial_state[12:19])
    # What overlaps goes apart, and nothing else moves.
    moved = np.abs(state - problem.initial_state)[:12] * np.tile(
        [1.0, 1.0, 1.0, 0.06, 0.06, 0.06], 2
    )
    assert moved.max() < 1.5 * abs(inside) + 1e-4
