"""Own problems: models against Pinocchio, files that are wrong, the same plan every way."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pinocchio as pin
import pytest
import yaml
from own_problem import CART, changed_cart, quick_cart

from contact_core.base.errors import ContactStackError, ModelWarning
from contact_stack import cli
from robust_planner import Normal, Samples, load_problem, load_urdf, plan_example, quantities
from robust_planner.contact_model import PlanningProblemError

LEG = """<robot name="leg">
  <link name="base"/>
  <link name="thigh"><inertial><origin xyz="0.1 0.02 -0.2" rpy="0.3 0.2 0.1"/><mass value="1.3"/>
    <inertia ixx="0.02" iyy="0.03" izz="0.01" ixy="0.001" ixz="0.002" iyz="0.0"/></inertial></link>
  <link name="shin"><inertial><origin xyz="0 0 -0.3"/><mass value="0.7"/>
    <inertia ixx="0.02" iyy="0.02" izz="0.01" ixy="0" ixz="0" iyz="0"/></inertial></link>
  <link name="foot"/>
  <joint name="hip" type="revolute"><origin xyz="0 0.1 1" rpy="0.2 0 0.4"/>
    <parent link="base"/><child link="thigh"/><axis xyz="0.6 0.8 0"/>
    <limit lower="-2" upper="1000" velocity="3" effort="50"/></joint>
  <joint name="slide" type="prismatic"><origin xyz="0 0 -0.4" rpy="0 0.5 0"/>
    <parent link="thigh"/><child link="shin"/><axis xyz="0 0.6 0.8"/>
    <limit lower="-1000" upper="0.3" velocity="1000" effort="20"/></joint>
  <joint name="sole" type="fixed"><origin xyz="0 0 -0.5"/>
    <parent link="shin"/><child link="foot"/></joint>
</robot>"""

PENDULUM = """<robot name="pendulum">
  <link name="base"/>
  <link name="rod"><inertial><origin xyz="0 0 -0.3"/><mass value="2"/>
    <inertia ixx="0.01" iyy="0.01" izz="0.01" ixy="0" ixz="0" iyz="0"/></inertial></link>
  <joint name="hinge" type="revolute"><origin xyz="0 0 2"/><parent link="base"/>
    <child link="rod"/><axis xyz="0 1 0"/>
    <limit lower="-1000" upper="1000" velocity="1000" effort="10"/></joint>
</robot>"""


def test_a_urdf_moves_as_in_pinocchio(tmp_path: Path) -> None:
    """Skew axes, tilted inertia, a fixed joint: inertia, bias, heights and their Jacobians."""
    path = tmp_path / "leg.urdf"
    path.write_text(LEG)
    point = np.array([0.05, 0.02, -0.03])
    model = load_urdf(path, {"heel": ("foot", point)}, ["slide"], dimension=3)
    rolling = load_urdf(path, {"heel": ("foot", point, 0.04)}, ["slide"], dimension=3)
    other = pin.buildModelFromUrdf(str(path))
    data = other.createData()
    foot = other.getFrameId("foot")
    draw = np.random.default_rng(0)
    for _ in range(5):
        q, v = draw.normal(size=(2, 2))
        np.testing.assert_allclose(model.mass_matrix(q), pin.crba(other, data, q), atol=1e-12)
        bias = np.asarray(model.bias_force(q, v)).ravel()
        np.testing.assert_allclose(bias, pin.nle(other, data, q, v), atol=1e-11)
        pin.framesForwardKinematics(other, data, q)
        height = data.oMf[foot].act(point)[2]
        assert float(model.distance(q)) == pytest.approx(height, abs=1e-12)
        frame = pin.computeFrameJacobian(other, data, q, foot, pin.LOCAL_WORLD_ALIGNED)
        arm = data.oMf[foot].rotation @ point
        velocity = frame[:3] - pin.skew(arm) @ frame[3:]
        np.testing.assert_allclose(model.normal_jacobian(q), velocity[2:], atol=1e-12)
        sides = np.array([velocity[0], -velocity[0], velocity[1], -velocity[1]])
        np.testing.assert_allclose(model.tangent_jacobian(q), sides, atol=1e-12)
        # A ball touches below its centre, where it moves otherwise if it turns.
        assert float(rolling.distance(q)) == pytest.approx(height - 0.04, abs=1e-12)
        below = velocity + pin.skew(np.array([0.0, 0.0, 0.04])) @ frame[3:]
        sides = np.array([below[0], -below[0], below[1], -below[1]])
        np.testing.assert_allclose(rolling.tangent_jacobian(q), sides, atol=1e-12)
    assert model.limits.lower == (-2.0, -np.inf)
    assert model.limits.upper == (np.inf, 0.3)
    assert model.limits.speed == (3.0, np.inf)
    assert model.limits.control == (20.0,)


@pytest.mark.parametrize("mass", ["0", "-0.7"])
def test_what_moves_without_a_mass_is_refused(mass: str, tmp_path: Path) -> None:
    path = tmp_path / "leg.urdf"
    path.write_text(LEG.replace('"0.7"', f'"{mass}"').replace('="0.02" iyy="0.02"', '="0" iyy="0"'))
    contacts = {"heel": ("foot", (0.0, 0.0, 0.0))}
    with pytest.raises(ContactStackError, match=r"without a mass: 1.3 kg at 'hip', -?0"):
        load_urdf(path, contacts, ["slide"], dimension=3)


def test_the_cart_is_what_its_file_says() -> None:
    cart = load_problem(CART)
    assert cart.name == "cart"
    assert cart.problem.model.contact_names == ("front", "rear")
    assert cart.uncertain["mass"] == Normal(1.0, 0.03)
    friction = cart.uncertain["friction"]
    assert isinstance(friction, Samples)
    assert len(friction.values) == 400
    assert set(cart.uncertain) <= set(quantities(cart.problem.model))


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"urdf": "car.urdf"}, "cannot read the model .*car.urdf"),
        ({"colour": "red"}, "unknown parameter 'colour' \\(valid: title"),
        ({"contacts": ["a"]}, "'contacts' must map names"),
        ({"contacts": {}}, "'contacts' is missing or empty"),
        ({"contacts": None, "objects": {}}, "unknown parameter 'objects' .*drives"),
        ({"contacts": {"a": {"link": "cat", "point": [0, 0, 0]}}}, "unknown link 'cat' \\(valid:"),
        (
            {"contacts": {"a": {"link": "world", "point": [0, 0, 0]}}},
            "contact 'a' is on 'world', which does not move",
        ),
        ({"contacts": {"a": {"link": "cart", "point": [0.0]}}}, "contacts.a.point' needs 3 values"),
        ({"actuated": ["x", "x"]}, "joint 'x' is actuated twice \\(valid: each joint once"),
        ({"actuated": ["y"]}, "unknown actuated joint 'y' \\(valid: x, z, pitch\\)"),
        ({"start": [0.0]}, "start is \\(0.0,\\) \\(valid: 6 finite values"),
        ({"uncertain": {"wind": {"uniform": {"low": 0, "high": 1}}}}, "quantity 'wind' \\(valid:"),
        ({"uncertain": {"mass": {"gamma": {}}}}, "unknown distribution 'gamma'"),
        (
            {"uncertain": {"mass": {"uniform": {"low": 2, "high": 1}}}},
            "uncertain.mass.uniform: uniform from 2.0 to",
        ),
        ({"uncertain": {"mass": {"samples": []}}}, "uncertain.mass.samples: samples has no values"),
        ({"uncertain": {"mass": {"samples": "no.txt"}}}, "uncertain.mass: cannot read"),
        (
            {"uncertain": {"friction": {"samples": [0.4, 0.5, -0.5]}}},
            "uncertain.friction: its smallest value is -0.5 \\(valid: 0 or more\\)",
        ),
        (
            {"uncertain": {"mass": {"uniform": {"low": -1, "high": 3}}}},
            "uncertain.mass: its smallest value is -1 \\(valid: 0.01 or more, a factor",
        ),
        (
            {"uncertain": {"mass": {"samples": "two.txt"}}},
            "two.txt has 2 columns .valid: one value",
        ),
        ({"failure": {"goal_tolerance": [0.1]}}, "goal_tolerance has 1 values"),
    ],
)
def test_wrong_files_are_refused_by_name(
    changes: dict[str, Any], message: str, tmp_path: Path
) -> None:
    (tmp_path / "two.txt").write_text("0 0.3\n1 0.4\n2 0.5\n")
    with pytest.raises(ContactStackError, match=rf"^cart\.yaml: .*{message}"):
        load_problem(changed_cart(tmp_path, changes))


def test_a_height_needs_a_coordinate_that_lifts(tmp_path: Path) -> None:
    path = tmp_path / "leg.urdf"
    path.write_text(LEG)
    file = tmp_path / "leg.yaml"
    file.write_text(
        yaml.safe_dump(
            {
                "title": "a leg",
                "urdf": "leg.urdf",
                "dimension": 3,
                "actuated": ["slide"],
                "contacts": {"heel": {"link": "foot", "point": [0, 0, 0]}},
                "start": [0.0, 0.0, 0.0, 0.0],
                "goal": [0.0, 0.0, 0.0, 0.0],
                "duration": 1.0,
                "knots": 11,
                "friction": 0.5,
                "state_weight": [1.0] * 4,
                "control_weight": [1.0],
                "uncertain": {"start.hip": {"normal": {"mean": 0.0, "sigma": 0.1}}},
            }
        )
    )
    with pytest.raises(ContactStackError, match="cannot be uncertain"):
        load_problem(file)


def test_a_model_that_is_no_text_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "leg.urdf"
    path.write_bytes(LEG.replace("leg", "l\u00e4g").encode("latin-1"))
    with pytest.raises(PlanningProblemError, match=r"leg\.urdf is not a text file: 'utf-8'"):
        load_urdf(path, {"heel": ("foot", (0.0, 0.0, 0.0))}, ["slide"], 3)


@pytest.mark.parametrize(
    ("inside", "message"),
    [
        (
            '<mimic joint="hip"/></joint>',
            r"joint 'slide' of .*leg\.urdf follows another \(valid: n",
        ),
        ('</joint><drake:linear_bushing_rpy name="b"/>', "drake:linear_bushing_rpy .*: closes a l"),
    ],
)
def test_what_would_be_another_model_is_refused(tmp_path: Path, inside: str, message: str) -> None:
    path = tmp_path / "leg.urdf"
    slide = '<limit lower="-1000" upper="0.3" velocity="1000" effort="20"/>'
    path.write_text(LEG.replace(f"{slide}</joint>", slide + inside))
    with pytest.raises(PlanningProblemError, match=message):
        load_urdf(path, {"heel": ("foot", (0.0, 0.0, 0.0))}, ["slide"], 3)


def test_what_no_plan_knows_is_named(tmp_path: Path) -> None:
    path = tmp_path / "leg.urdf"
    path.write_text(LEG.replace('effort="20"/>', 'effort="20"/><dynamics damping="2"/>'))
    with pytest.warns(ModelWarning, match=r"leg\.urdf: damping of joint 'slide' not read"):
        model = load_urdf(path, {"heel": ("foot", (0.0, 0.0, 0.0))}, ["slide"], 3)
    assert model.source is not None
    assert model.source.unread == ("damping of joint 'slide'",)


def test_one_joint_is_a_model(tmp_path: Path) -> None:
    """A matrix of one column was taken for something else."""
    path = tmp_path / "pendulum.urdf"
    path.write_text(PENDULUM)
    model = load_urdf(path, {"tip": ("rod", (0.0, 0.0, -0.5))}, ["hinge"])
    assert float(model.mass_matrix(0.0)) == pytest.approx(2.0 * 0.3**2 + 0.01)


def test_what_leaves_the_plane_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "leg.urdf"
    path.write_text(LEG)
    with pytest.raises(PlanningProblemError, match=r"joint 'hip' of .* leaves the x-z plane"):
        load_urdf(path, {"heel": ("foot", (0.0, 0.0, 0.0))}, ["slide"])


@pytest.mark.parametrize("name", ["hopper", "sliding_block", "lowered_tool"])
def test_the_name_of_a_model_means_nothing(name: str, tmp_path: Path) -> None:
    """Also where our own have it; and a plan without a risk has its table and figures."""
    file = quick_cart(tmp_path)
    urdf = tmp_path / "cart.urdf"
    urdf.write_text(urdf.read_text().replace('<robot name="cart"', f'<robot name="{name}"'))
    words = ["robust", str(file), "--sigma", "0", "--out", str(tmp_path / "out")]
    assert cli.main(words) in (0, 1)
    summary = json.loads((tmp_path / "out" / "summary.json").read_text())
    assert summary["tamsi"] is None
    assert (tmp_path / "out" / "controls.png").is_file()


def test_joints_of_several_coordinates_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "leg.urdf"
    path.write_text(LEG.replace('name="hip" type="revolute"', 'name="hip" type="continuous"'))
    with pytest.raises(PlanningProblemError, match=r"joints hip of .*leg\.urdf"):
        load_urdf(path, {"heel": ("foot", (0.0, 0.0, 0.0))}, ["slide"], 3)


def test_the_command_line_makes_the_plan_of_the_library(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Bit for bit."""
    path = quick_cart(tmp_path)
    plan = plan_example(load_problem(path), 0.2)
    words = ["robust", str(path), "--risk", "0.2", "--out", str(tmp_path / "out"), "--json"]
    words += ["--judge", "6"]
    code = cli.main(words)
    summary = json.loads(capsys.readouterr().out)
    assert summary["status"] == plan.status.name == "SUCCEEDED"
    assert code == 0
    written = json.loads((tmp_path / "out" / "plan.json").read_text())
    np.testing.assert_array_equal(written["control"], plan.trajectory.control)
    np.testing.assert_array_equal(written["position"], plan.trajectory.position)
    assert summary["plans"]["with risk"]["rate"] == plan.failure_rate.rate
    # In tamsi_sim, too: an own model.
    judged = {name: entry["tamsi"] for name, entry in summary["plans"].items()}
    assert judged["with risk"]["samples"] == 6
    assert judged["with risk"]["low"] <= 0.2 < judged["nominal"]["rate"]
    assert (tmp_path / "out" / "worlds.png").stat().st_size > 10_000


@pytest.mark.verify
def test_a_plan_that_starts_from_another_fails_no_more_often(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path, out = quick_cart(tmp_path), tmp_path / "out"
    words = ["robust", str(path), "--risk", "0.2", "--out", str(out), "--json"]
    for start in ((), ("--start", str(out / "plan.json"))):
        assert cli.main([*words, *start]) == 0
        summary = json.loads(capsys.readouterr().out)
        assert summary["plans"]["with risk"]["rate"] <= 0.2


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--risk", "0.9"], "risk is 0.9 (valid: >= 0.001, <= 0.5)"),
        (["--risk", "0.1", "--beta", "0.6"], "leave out --theta and --beta"),
        (["--risk", "0.1", "--start", "none.json"], "none.json is no plan to start from"),
    ],
)
def test_bad_words_are_named(
    words: list[str], message: str, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    assert cli.main(["robust", str(CART), *words, "--out", str(tmp_path / "out")]) == 2
    assert message in capsys.readouterr().err
