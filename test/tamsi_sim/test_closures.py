"""Loop closures: joints, single bodies, MuJoCo and Pinocchio as oracles; errors, gradients."""

import numpy as np
import pinocchio as pin
import pytest
from builders import body_urdf, box
from test_linearization import EXACT, HASTY, check, check_sub_steps

from contact_core.base.errors import ConfigError, ModelError
from tamsi_sim.arrays.data import ISLANDS
from tamsi_sim.arrays.status import StepStatus
from tamsi_sim.simulation.world import World

NAMES = ("ixx", "ixy", "iyy", "ixz", "iyz", "izz")
WEIGHTLESS = (0.0, 0.0, 0.0)
POST = '<robot name="post"><link name="post"/></robot>'
ROD_LINK = """<link name="rod"><inertial><origin xyz="0.5 0 0"/><mass value="1.2"/>
  <inertia ixx="0.01" ixy="0" ixz="0" iyy="0.1" iyz="0" izz="0.1"/></inertial></link>"""
ROD = f'<robot name="rod">{ROD_LINK}</robot>'
HINGED = f"""<robot name="hinged"><link name="post"/>{ROD_LINK}
  <joint name="j" type="continuous"><parent link="post"/><child link="rod"/><axis xyz="0 1 0"/>
  </joint></robot>"""
FOUR_BAR = """<mujoco><compiler angle="radian"/>
  <option timestep="2e-5" iterations="200" tolerance="1e-14"/>
  <default><geom contype="0" conaffinity="0" type="capsule" size="0.01"/><joint axis="0 1 0"/>
  </default>
  <worldbody>
    <body name="crank"><joint name="a"/><geom fromto="0 0 0 0.1 0 0.17"/>
      <body name="coupler" pos="0.1 0 0.17"><joint name="b"/><geom fromto="0 0 0 0.45 0 0.08"/>
      </body></body>
    <body name="rocker" pos="0.5 0 0"><joint name="c"/><geom fromto="0 0 0 0.05 0 0.25"/></body>
  </worldbody>
  <equality><connect name="pin" body1="coupler" body2="rocker" anchor="0.45 0 0.08"
    solref="4e-5 1" solimp="0.9999 0.9999 0.001"/></equality>
</mujoco>"""
BRICK = body_urdf("brick", box(0.1, 0.12, 0.08), 1.0, (2e-3, 1e-3, 3e-3))
PLATE = body_urdf("plate", box(0.2, 0.1, 0.02), 0.4, (4e-4, 1e-3, 1.2e-3))


def pendulum(**spring):
    """Return a world with a rod that is pinned to a post."""
    world = World().add("post", POST).add("rod", ROD, free=True)
    return world.connect("pin", ("post", "post"), ("rod", "rod"), **spring)


def pair(stiffness=None, gravity=WEIGHTLESS):
    """Return a world with two bodies that are welded together, one turned and beside the other."""
    world = World(gravity).add("brick", BRICK, (0.0, 0.0, 0.5), free=True)
    world.add("plate", PLATE, (0.05, 0.02, 0.57), (0.3, -0.2, 0.5), free=True)
    world.ignore("brick", "plate")
    return world.weld("glue", ("brick", "brick"), ("plate", "plate"), stiffness=stiffness)


def test_a_pinned_body_moves_as_one_on_a_joint():
    """The plane of motion is the joint's; both lose the same, which is the scheme's."""
    hinged = World().add("hinged", HINGED).build()
    pinned = pendulum().build()
    turned = 0.0
    for _ in range(20):
        assert (hinged.step(100), pinned.step(100)) == (StepStatus.OK, StepStatus.OK)
        pose = hinged.observer.pose("hinged", "rod")
        error = pose.actInv(pinned.observer.pose("rod"))
        assert np.linalg.norm(pin.log6(error)) < 2e-5
        turned = max(turned, abs(hinged.q[0]))
    assert turned > 3.0


def test_no_iterations_come_on_top():
    engine = pendulum().build()
    engine.step(100)
    assert engine.counters[1] == 100


@pytest.mark.parametrize("gravity", [WEIGHTLESS, (0.0, 0.0, -9.81)])
def test_two_welded_bodies_move_as_their_union(gravity):
    """Tumbling, with Pinocchio's sum of their inertias; the difference is of first order."""
    inertias = [
        pin.Inertia(1.0, np.zeros(3), np.diag([2e-3, 1e-3, 3e-3])),
        pin.Inertia(0.4, np.zeros(3), np.diag([4e-4, 1e-3, 1.2e-3])),
    ]
    rotation = pin.rpy.rpyToMatrix(0.3, -0.2, 0.5)
    place = pin.SE3(rotation, np.array([0.05, 0.02, 0.07]))
    both = inertias[0] + place.act(inertias[1])
    values = dict(zip(NAMES, both.inertia[np.tril_indices(3)], strict=True))
    text = " ".join(f'{name}="{value:.17g}"' for name, value in values.items())
    lever = " ".join(f"{value:.17g}" for value in both.lever)
    urdf = f"""<robot name="both"><link name="both"><inertial><origin xyz="{lever}"/>
      <mass value="1.4"/><inertia {text}/></inertial></link></robot>"""
    errors = []
    for h in (1e-3, 5e-4):
        union = World(gravity).add("both", urdf, (0.0, 0.0, 0.5), free=True).build(h)
        engine = pair(gravity=gravity).build(h)
        velocity = pin.Motion(np.array([0.3, -0.2, 1.0]), np.array([3.0, -2.0, 4.0]))
        union.set_velocity("both", velocity.linear, velocity.angular)
        engine.set_velocity("brick", velocity.linear, velocity.angular)
        arm = place.translation
        linear = velocity.linear + np.cross(velocity.angular, arm)
        engine.set_velocity("plate", linear, velocity.angular)
        union.step(round(1.0 / h))
        assert engine.step(round(1.0 / h)) == StepStatus.OK
        error = union.observer.pose("both").actInv(engine.observer.pose("brick"))
        errors.append(np.linalg.norm(pin.log6(error)))
        (glue,) = engine.closures()
        assert np.linalg.norm(glue.gap) < 75.0 * h**2
        assert np.linalg.norm(glue.turn) < 1e-4
    assert errors[0] < 0.02
    assert errors[1] < 0.6 * errors[0]


def test_a_four_bar_linkage_moves_as_in_mujoco():
    """MuJoCo with a step of 20 us and a stiff constraint; ours approaches it in first order."""
    mujoco = pytest.importorskip("mujoco")
    model = mujoco.MjModel.from_xml_string(FOUR_BAR)
    data = mujoco.MjData(model)
    steps = (1e-3, 2.5e-4)
    engines = [World().add("bar", FOUR_BAR).build(h) for h in steps]
    energies = [engine.observer.energy().total for engine in engines]
    errors, moved = np.zeros(2), 0.0
    for _ in range(100):
        mujoco.mj_step(model, data, 500)
        moved = max(moved, np.abs(data.qpos).max())
        for i, engine in enumerate(engines):
            assert engine.step(round(0.01 / steps[i])) == StepStatus.OK
            q = [engine.q[engine.built.joints[name]] for name in "abc"]
            errors[i] = max(errors[i], np.abs(q - data.qpos).max())
    assert moved > 5.0
    assert errors[0] < 0.04
    assert errors[1] < 0.3 * errors[0]
    for i, engine in enumerate(engines):
        change = engine.observer.energy().total - energies[i]
        assert abs(change) < 3.0 * steps[i]
        assert np.linalg.norm(engine.closures()[0].gap) < 60.0 * steps[i] ** 2


def test_a_four_bar_linkage_has_the_angles_of_its_closed_form():
    """The rocker's angle from the crank's, by the cosine theorem in the two triangles."""
    engine = World().add("bar", FOUR_BAR).build(2e-4)
    crank, coupler, rocker = (np.hypot(*side) for side in [(0.1, 0.17), (0.45, 0.08), (0.05, 0.25)])
    starts = [np.arctan2(0.1, 0.17), np.arctan2(0.05, 0.25)]
    angles = []
    for _ in range(100):
        engine.step(50)
        a, c = (engine.q[engine.built.joints[name]] for name in "ac")
        angles.append(a)
        # From the base of the rocker to the end of the crank, angles from z to x.
        arm = crank * np.array([np.sin(a + starts[0]), np.cos(a + starts[0])]) - [0.5, 0.0]
        reach = np.hypot(*arm)
        between = np.arccos((rocker**2 + reach**2 - coupler**2) / (2.0 * rocker * reach))
        assert np.arctan2(*arm) + between == pytest.approx(c + starts[1], abs=1e-5)
    assert np.ptp(angles) > 3.0


def test_the_reaction_of_a_loaded_arm_is_pinocchios():
    """An arm in the plane, its tip pinned: J^T f holds the joints against gravity."""
    link = """<link name="{0}"><inertial><origin xyz="0.2 0 0"/><mass value="2"/>
      <inertia ixx="0.01" ixy="0" ixz="0" iyy="0.03" iyz="0" izz="0.03"/></inertial></link>"""
    joint = """<joint name="{0}" type="revolute"><parent link="{1}"/><child link="{2}"/>
      <origin xyz="{3} 0 0"/><axis xyz="0 1 0"/>
      <limit lower="-3" upper="3" effort="1" velocity="1"/></joint>"""
    urdf = f"""<robot name="arm"><link name="base"/>{link.format("upper")}{link.format("lower")}
      {joint.format("s", "base", "upper", 0)}{joint.format("e", "upper", "lower", 0.4)}</robot>"""
    world = World().add("post", POST).add("arm", urdf, positions={"s": -0.4, "e": 1.1})
    world.connect("pin", ("arm", "lower"), ("post", "post"), (0.4, 0.0, 0.0), stiffness=1e6)
    engine = world.build()
    engine.drives.damping[:] = 1.0
    assert engine.step(3000) == StepStatus.OK
    assert np.abs(engine.v).max() < 1e-9
    model = pin.buildModelFromXML(urdf)
    data = model.createData()
    gravity = pin.computeGeneralizedGravity(model, data, engine.q)
    frame = pin.SE3(np.eye(3), np.array([0.4, 0.0, 0.0]))
    tip = model.addFrame(pin.Frame("tip", 2, 0, frame, pin.FrameType.OP_FRAME))
    data = model.createData()
    jacobian = pin.computeFrameJacobian(model, data, engine.q, tip, pin.LOCAL_WORLD_ALIGNED)[:3]
    (pin_force,) = engine.closures()
    np.testing.assert_allclose(jacobian.T @ pin_force.force, gravity, rtol=1e-9)
    assert np.linalg.norm(pin_force.force) > 10.0
    # What it gives is the force by the stiffness.
    np.testing.assert_allclose(pin_force.force, -1e6 * pin_force.gap, rtol=1e-6, atol=1e-9)
    assert not pin_force.moment.any()


def test_a_weld_holds_a_weight_by_its_force_and_moment():
    """On a post beside the centre of mass; what it gives is by the stiffness."""
    world = World().add("post", POST).add("plate", PLATE, (0.1, 0.02, 0.0), (0.0, 0.4, 0.1), True)
    # Held at the plate's origin: the moment of the post's own point is that of the lever.
    world.weld(
        "glue", ("plate", "plate"), ("post", "post"), stiffness=1e5, rotational_stiffness=2e3,
        dissipation=0.05,
    )  # fmt: skip
    engine = world.build()
    engine.step(2000)
    (glue,) = engine.closures()
    weight = np.array([0.0, 0.0, 0.4 * 9.81])
    lever = glue.point - engine.observer.pose("plate").translation
    np.testing.assert_allclose(glue.force, weight, atol=1e-6)
    np.testing.assert_allclose(glue.moment, -np.cross(lever, weight), atol=1e-6)
    np.testing.assert_allclose(glue.gap, -weight / 1e5, atol=1e-9)
    np.testing.assert_allclose(glue.turn, -glue.moment / 2e3, atol=1e-8)
    assert np.abs(glue.moment).max() > 0.3


def test_a_soft_one_is_a_spring_whose_energy_counts():
    """Half a period of a mass on it; the energy watch knows what is in it."""
    post, brick = ("post", "post"), ("brick", "brick")
    world = World(WEIGHTLESS).add("post", POST).add("brick", BRICK, free=True)
    engine = world.connect("spring", post, brick, stiffness=100.0).build(1e-4)
    engine.q[0] = 0.5
    assert engine.observer.energy().elastic == pytest.approx(12.5)
    assert engine.step(round(np.pi / 10.0 / 1e-4)) == StepStatus.OK
    assert engine.q[0] == pytest.approx(-0.5, rel=2e-3)
    assert engine.observer.energy().total == pytest.approx(12.5, rel=5e-3)


def test_the_stiffness_is_that_of_the_effective_mass():
    """A point on a free body, at its centre: h^2 k = 1000 m; or where it gives way by turning."""
    post, brick = ("post", "post"), ("brick", "brick")
    for offset, inverse in ((0.0, 1.0), (0.1, 1.0 + (0.1**2 / 1e-3 + 0.1**2 / 3e-3) / 3.0)):
        world = World().add("post", POST).add("brick", BRICK, free=True)
        built = world.connect("pin", brick, post, (offset, 0.0, 0.0)).build(2e-3).built
        expected = [1000.0 / inverse / 2e-3**2, 0.0]
        np.testing.assert_allclose(built.arrays.closures.stiffness[0], expected)


def test_what_is_held_together_is_one_island():
    engine = pair().add("alone", PLATE, (3.0, 0.0, 0.0), free=True).build()
    engine.step()
    assert engine.counters[ISLANDS] == 2


def test_a_chain_that_is_closed_in_any_order_stays_closed():
    """Links in a ring, closed in an order of its own, hang from a post."""
    corners = np.array([[0.0, 0.0], [1.0, 0.0], [1.0, -1.0], [0.0, -1.0]])
    world = World().add("post", POST)
    for i, (x, z) in enumerate(corners):
        world.add(f"rod{i}", ROD, (x, 0.0, z), (0.0, 0.5 * np.pi * i, 0.0), free=True)
    for i in (2, 0, 3, 1):
        world.connect(f"c{i}", (f"rod{i}", "rod"), (f"rod{(i + 1) % 4}", "rod"), (1.0, 0.0, 0.0))
    world.connect("held", ("rod1", "rod"), ("post", "post"))
    engine = world.build()
    assert engine.step(2000) == StepStatus.OK
    assert max(np.linalg.norm(closure.gap) for closure in engine.closures()) < 1e-4
    assert {closure.name for closure in engine.closures()} == {"c0", "c1", "c2", "c3", "held"}
    ends = {c.name: c for c in engine.closures()}
    np.testing.assert_allclose(
        ends["c2"].point, engine.observer.pose("rod2").act(np.array([1.0, 0.0, 0.0])), atol=1e-2
    )


@pytest.mark.parametrize("stiffness", [None, 1e3])
def test_gradients_of_a_tumbling_weld(stiffness):
    engine = pair(stiffness).build(1e-3, EXACT)
    engine.v[:] = [0.1, 0.2, 0.0, 20.0, -10.0, 15.0, 0.3, 0.1, 0.2, 18.0, -11.0, 14.0]
    engine.step(20)
    check(engine, 2, tolerance=1e-5)


def test_gradients_of_a_closed_chain_of_joints():
    engine = World().add("bar", FOUR_BAR).build(1e-3, EXACT)
    engine.step(100)
    check(engine, 3, tolerance=1e-6)


@pytest.mark.parametrize("spin", [2.0, 3.0, 4.0, 5.0, 6.0])
def test_gradients_of_a_step_with_contact_and_sub_steps(spin):
    world = pair(2e3, gravity=(0.0, 0.0, -9.81)).add_ground(0.4)
    engine = world.ignore("plate", "ground").build(5e-3, HASTY)
    engine.v[:] = [1.0, 0.3, -3.0, spin, 3.0, 1.0] * 2
    check_sub_steps(engine, 60)


def test_saved_and_rolled_out_simulations_are_the_same_bit_by_bit():
    engine = pair(gravity=(0.0, 0.0, -9.81)).add_ground().build()
    engine.v[3:6] = [3.0, 2.0, 1.0]
    engine.step(50)
    snapshot = engine.save()
    twins = engine.rollouts(engine.q, engine.v, np.zeros((3, 400, 12)), threads=2)
    assert engine.step(400) == StepStatus.OK
    first = engine.q.copy(), engine.v.copy()
    engine.restore(snapshot)
    engine.step(400)
    for q, v in (first, *zip(twins.q[:, -1], twins.v[:, -1], strict=True)):
        np.testing.assert_array_equal(q, engine.q)
        np.testing.assert_array_equal(v, engine.v)


def test_a_mjcf_holds_bodies_by_an_anchor_or_a_pose():
    """By where its bodies are in the file; relpose and anchor of a weld as MuJoCo has them."""
    mujoco = pytest.importorskip("mujoco")
    relpose = "0.1 0.2 0.3 0.8 0.36 -0.48 0"
    text = """<mujoco><worldbody>
        <body name="a" pos="0 0 1" euler="20 30 40"><freejoint/><geom size="0.1"/></body>
        <body name="b" pos="0.3 0.2 1.1" euler="-30 10 5"><freejoint/><geom size="0.1"/></body>
      </worldbody><equality>{}</equality></mujoco>"""
    for element in (
        '<connect body1="a" body2="b" anchor="0.1 0.2 0.3"/>',
        '<connect body1="a" anchor="0.1 0.2 0.3"/>',
        '<weld body1="a" body2="b"/>',
        '<weld body1="b" anchor="0.1 0.2 0.3"/>',
    ):
        model = mujoco.MjModel.from_xml_string(text.format(element))
        world = World().add("m", text.format(element))
        engine = world.build()
        numbers, closures = model.eq_data[0], engine.built.arrays.closures
        points = closures.position[0]
        # MuJoCo lists the anchors of a weld in the other order.
        anchors = [numbers[3:6], numbers[:3]] if "weld" in element else [numbers[:3], numbers[3:6]]
        np.testing.assert_allclose(points, anchors, atol=1e-12)
        (closure,) = engine.built.closures
        assert closure.startswith("m/")
    pose = f'<weld name="w" body1="a" body2="b" anchor="0.1 0 0" relpose="{relpose}"/>'
    with pytest.raises(ModelError, match=r"closure 'm/w': 'm/a' and 'm/b' start .* turned by"):
        World().add("m", text.format(pose)).build()
    x, y, z, *turn = (float(value) for value in relpose.split())
    a = pin.SE3(pin.rpy.rpyToMatrix(0.0, 0.0, 0.0), np.array([0.0, 0.0, 1.0]))
    b = a * pin.SE3(pin.Quaternion(*turn).matrix(), np.array([x, y, z]))
    quat = np.roll(pin.Quaternion(b.rotation).coeffs(), 1)
    placed = text.format(pose).replace(' euler="20 30 40"', "")
    placed = placed.replace('pos="0.3 0.2 1.1"', f'pos="{" ".join(map(str, b.translation))}"')
    placed = placed.replace('euler="-30 10 5"', f'quat="{" ".join(map(str, quat))}"')
    assert World().add("m", placed).build().step(10) == StepStatus.OK


def hold(world, **changes):
    """Connect the rod of a pendulum once more."""
    given = {"name": "more", "a": ("post", "post"), "b": ("rod", "rod"), **changes}
    return world.connect(**given)


ERRORS = [
    ({"name": "pin"}, ModelError, r"'pin' exists already \(valid: pin\)"),
    ({"b": ("hod", "rod")}, ModelError, r"no instance 'hod' \(valid: post, rod\)"),
    ({"b": ("rod", "hod")}, ModelError, r"no link 'rod/hod' \(valid: post/post, rod/rod\)"),
    ({"b": "rod"}, ModelError, r"needs \(instance, link\), got 'rod'"),
    ({"b": ("post", "post")}, ModelError, "'post/post' and 'post/post' do not move relative"),
    ({"xyz_b": (0.003, 0.0, 0.004)}, ModelError, r"start 5 mm apart \(valid: at most 1 mm\)"),
    ({"stiffness": 0.0}, ConfigError, "stiffness of closure 'more' must be > 0, got 0.0"),
    ({"dissipation": -1.0}, ConfigError, "dissipation of closure 'more' must be >= 0 s, got -1.0"),
    ({"xyz": (0.0, np.nan, 0.0)}, ConfigError, "xyz of closure 'more' must be finite"),
]


@pytest.mark.parametrize(("changes", "error", "message"), ERRORS)
def test_what_cannot_be_held_together_is_named(changes, error, message):
    with pytest.raises(error, match=message):
        hold(pendulum(), **changes).build()


def test_a_weld_that_starts_turned_says_by_how_much():
    world = World().add("post", POST).add("rod", ROD, rpy=(0.0, 0.1, 0.0), free=True)
    world.weld("glue", ("post", "post"), ("rod", "rod"), (0.0, 0.0, 0.0))
    with pytest.raises(ModelError, match=r"start 0 mm apart and turned by 0.1 rad \(valid: at m"):
        world.build()
