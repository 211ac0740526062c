"""The page: who may talk to it, and what a person's hands become."""

from __future__ import annotations

import asyncio
import gc
import os
import socket
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from types import SimpleNamespace
from urllib.parse import urlsplit
from urllib.request import urlopen

import numpy as np
import pinocchio as pin
import pytest
import viser
from contact_stack_msgs.msg import Contact, ContactArray, ControllerStatus
from page import line_to, messages_of, visit, words_of
from websockets.exceptions import InvalidStatus
from websockets.sync.client import connect

from contact_aware_control.estimation.identifiability import ContactProspect
from contact_core.robot.description import RobotDescription
from contact_core.robot.robot import Robot
from contact_ros.geometry import to_pose
from contact_ros.validation import MessageError
from contact_stack.viewer.controls import ArmSettings, Permissions
from contact_stack.viewer.drawing import DOTS, ELSEWHERE_COLOR, TOLD_COLOR, UNFELT_COLOR
from contact_stack.viewer.listener import Listener, ShownReference
from contact_stack.viewer.node import LookBack, Pace
from contact_stack.viewer.page import Page
from contact_stack.viewer.scene_model import scene_model_of
from contact_stack.viewer.snapshot import PageState

Q = np.array([0.1, 0.5, -0.2, -1.3, 0.2, 0.9, 0.1])
LINK = "lbr_link_4"


class Asked:
    """Commands that are only noted."""

    settings = None

    def __init__(self):
        self.calls = []

    def __getattr__(self, name):
        return lambda *arguments: self.calls.append((name, *arguments))


@pytest.fixture(scope="module")
def robot():
    return RobotDescription.load("iiwa14_wsg50")


@pytest.fixture
def page(robot):
    model, arm = scene_model_of("", "iiwa14_wsg50"), Robot.from_description(robot)
    page = Page(model, "127.0.0.1", 8400, history=10, robot=arm)
    page.draw(PageState(joints=dict(zip(robot.arm_joints, Q, strict=True))))
    yield page
    page.close()


@pytest.fixture
def asked(page, robot):
    asked = Asked()
    links = Robot.from_description(robot).link_names
    page.offer(Permissions(asked, robot.tool_link, links, 15.0))
    return asked


@pytest.mark.parametrize(
    ("origin", "welcome"),
    [
        ("http://127.0.0.1:8400", True),
        ("http://localhost:8888", True),
        (None, True),
        ("https://evil.example", False),
        ("http://127.0.0.1.evil.example", False),
        ("null", False),
    ],
)
def test_pages_of_other_sites_may_not_talk_to_it(page, origin, welcome):
    address = page.address.replace("http", "ws", 1)
    protocols = [f"viser-v{viser.__version__}"]
    if welcome:
        with connect(address, subprotocols=protocols, origin=origin, max_size=None) as server:
            assert server.recv(timeout=10)
    else:
        with pytest.raises(InvalidStatus, match="403"):
            connect(address, subprotocols=protocols, origin=origin)


@pytest.mark.parametrize(
    ("origin", "welcome"),
    [
        ("http://robot.lan:{}", True),
        ("http://localhost:{}", True),
        ("https://evil.example", False),
        ("http://evil.example:{}", False),
    ],
)
def test_a_page_for_other_machines_is_shown_at_its_own_address_alone(robot, origin, welcome):
    page = Page(scene_model_of("", "iiwa14_wsg50"), "0.0.0.0", 8402, history=10)
    # Another test may have that port.
    port = urlsplit(page.address).port
    try:
        protocols = [f"viser-v{viser.__version__}"]
        with socket.create_connection(("127.0.0.1", port)) as road:
            options = {"sock": road, "subprotocols": protocols, "max_size": None}
            options["origin"] = origin.format(port)
            if welcome:
                with connect(f"ws://robot.lan:{port}", **options) as server:
                    assert server.recv(timeout=10)
            else:
                with pytest.raises(InvalidStatus, match="403"):
                    connect(f"ws://robot.lan:{port}", **options)
    finally:
        page.close()


def test_it_tells_a_browser_its_time_to_compare_clocks(page):
    with urlopen(f"{page.address}/clock") as answer:
        assert float(answer.read()) == pytest.approx(1e3 * time.time(), abs=5e3)


def test_it_does_not_wait_for_a_browser_that_does_not_answer(page):
    """A tab that is frozen never takes leave; a launch gives its nodes a few seconds to end."""
    port = page.server.get_port()
    words = [
        "GET / HTTP/1.1", f"Host: 127.0.0.1:{port}", "Upgrade: websocket", "Connection: Upgrade",
        "Sec-WebSocket-Key: MDEyMzQ1Njc4OWFiY2RlZg==", "Sec-WebSocket-Version: 13",
        f"Sec-WebSocket-Protocol: viser-v{viser.__version__}", "", "",
    ]  # fmt: skip
    with socket.create_connection(("127.0.0.1", port)) as tab:
        tab.sendall("\r\n".join(words).encode())
        assert tab.recv(100).startswith(b"HTTP/1.1 101 ")
        closing = threading.Thread(target=page.close)
        closing.start()
        closing.join(3.0)
        assert not closing.is_alive()


def test_on_a_slow_line_one_sees_the_present(page):
    """It takes a third of what comes, and misses the rest rather than to see it later."""
    ends, drawn = threading.Event(), 0

    def run():
        nonlocal drawn
        while not ends.wait(1.0 / 30.0):
            drawn += 1
            page.draw(PageState(time=float(drawn)))

    running = threading.Thread(target=run)
    running.start()
    try:
        # What has not been read keeps the answer to the end of the connection from arriving.
        with line_to(page.address, max_queue=1, close_timeout=0.1) as line:
            missed = []
            while len(missed) < 30:
                for words in filter(None, map(words_of, messages_of(line.recv(timeout=60)))):
                    missed.append(drawn - words["time"])
                time.sleep(0.1)
    finally:
        ends.set()
        running.join()
    # Were it shown all of them, it would be behind by 60 in the end.
    assert missed[-1] < 30, missed


@pytest.mark.verify
def test_a_page_that_many_have_opened_keeps_nothing_of_them(page, robot):
    def kept():
        time.sleep(1.0)
        gc.collect()
        return np.array([len(os.listdir("/proc/self/fd")), len(gc.get_objects())])

    def look(_):
        return visit(page.address).poses["/robot/lbr_A1"].rotation.tobytes()

    with ThreadPoolExecutor(2) as two:
        list(two.map(look, range(20)))
        before = kept()
        seen = set(two.map(look, range(100)))  # two at a time, who come and go
    assert len(seen) == 1
    assert not page.watched
    files, objects = kept() - before
    assert files == 0 and objects < 50


def drag(page, phase, start, end):
    """Let the mouse drag the link."""
    solid = page._robot.solids[LINK][0]
    event = SimpleNamespace(phase=phase, start_position=start, end_position=end, client_id=0)
    asyncio.run(solid._impl.drag_cb[0].callback(event))


def test_a_link_is_held_where_the_mouse_took_it(page, asked, robot):
    arm = Robot.from_description(robot)
    arm.update(Q)
    held = arm.link_pose(LINK).act(np.array([0.05, 0.0, 0.1]))
    hand = np.add(held, (0.0, 0.1, 0.0))
    drag(page, "start", tuple(held), tuple(held))
    drag(page, "update", tuple(held), tuple(hand))
    name, grip = asked.calls[-1]
    assert (name, grip.link) == ("pull", LINK)
    np.testing.assert_allclose(grip.point, [0.05, 0.0, 0.1], atol=1e-6)
    np.testing.assert_allclose(grip.hand, hand)
    page.draw(PageState(joints=dict(zip(robot.arm_joints, Q, strict=True))))
    # The arrow goes from the point to the hand.
    np.testing.assert_allclose(visit(page.address).arrows["/hand"], [[held, hand]], atol=1e-5)
    drag(page, "end", tuple(held), tuple(hand))
    assert asked.calls[-1] == ("pull", None)


def test_the_goal_of_the_tool_begins_at_the_tool_and_ends_with_it(page, asked, robot):
    arm = Robot.from_description(robot)
    arm.update(Q)
    controls = page._controls[None].controls
    controls._show_goal(True)
    goal = controls._goal
    shown = pin.SE3(pin.Quaternion(*goal.wxyz).matrix(), goal.position)
    np.testing.assert_allclose(shown.homogeneous, arm.tool_pose().homogeneous, atol=1e-6)
    move_the_goal(goal, "start", "update")
    controls._show_goal(False)
    assert asked.calls[-1] == ("drive", None)


def move_the_goal(goal, *phases):
    """Let the mouse take the arrows at the tool, move them, or let them go."""
    for phase in phases:
        (callback,) = goal._impl_aux.update_cb
        asyncio.run(callback(SimpleNamespace(target=goal, phase=phase)))


def tool_at(page, robot, time, joint=0.0):
    """Show the arm with its first joint elsewhere."""
    moved = [Q[0] + joint, *Q[1:]]
    page.draw(PageState(time=time, joints=dict(zip(robot.arm_joints, moved, strict=True))))


def test_a_tool_that_rests_or_is_stopped_is_led_no_longer(page, asked, robot):
    """Else it would drive off by itself after a reset, or when another goal has ended."""
    controls = page._controls[None].controls
    tool_at(page, robot, 0.0)
    controls._show_goal(True)
    goal = controls._goal
    start = np.array(goal.position)

    def led():
        leads = [pose for name, pose in asked.calls if name == "drive"]
        return bool(leads) and leads[-1] is not None

    move_the_goal(goal, "start")
    goal.position = np.add(start, (0.1, 0.0, 0.0))
    move_the_goal(goal, "update")
    for thought in (0.1, 1.0, 20.0):  # whoever holds it may think for long
        tool_at(page, robot, thought)
        assert led()
    move_the_goal(goal, "end")
    for step in range(1, 6):  # it is on its way
        tool_at(page, robot, 20.0 + 0.3 * step, 0.05 * step)
        assert led()
    tool_at(page, robot, 22.0, 0.25)
    assert not led()
    # The arrows are at the tool again.
    np.testing.assert_allclose(goal.position, page._robot.pose(controls._tool).translation)

    # What leads it elsewhere for longer is no motion of this person's.
    move_the_goal(goal, "start", "update", "end")
    for step in range(12):
        tool_at(page, robot, 23.0 + 0.4 * step, 0.1 * step)
        assert led()
    tool_at(page, robot, 28.1, 1.3)
    assert not led()

    # In a pause nothing ends; a new start and any button end it.
    move_the_goal(goal, "start", "update", "end")
    tool_at(page, robot, 30.0)
    tool_at(page, robot, 30.0)
    assert led()
    tool_at(page, robot, 1.0)
    assert not led()
    move_the_goal(goal, "start", "update")
    controls._ask(asked.ask_arm, SimpleNamespace(target=SimpleNamespace(value="stop")))
    assert not led()
    assert asked.calls[-1] == ("ask_arm", "stop")
    move_the_goal(goal, "update", "end")  # of a hand that has not noticed yet
    assert not led()


def test_settings_are_shown_as_the_graph_has_them_and_not_asked_for_again(page, asked):
    controls = page._controls[None].controls
    assert (controls._controller.value, controls._limit.value) == ("qp", 15.0)
    asked.settings = ArmSettings("greedy", 25.0)
    page.draw(PageState())
    assert (controls._controller.value, controls._limit.value) == ("greedy", 25.0)
    controls._limit.value = 30.0
    asked.settings = ArmSettings("impedance", 25.0)
    page.draw(PageState())
    assert (controls._controller.value, controls._limit.value) == ("impedance", 30.0)
    assert asked.calls == []
    assert not controls._collaborative.visible
    asked.settings = ArmSettings("impedance", 25.0, collaborative=True)
    page.draw(PageState())
    assert controls._collaborative.visible
    assert "no certified safety function" in controls._collaborative.content


def test_dots_say_what_the_arm_could_feel_before_anything_touches(page, robot):
    joints = dict(zip(robot.arm_joints, Q, strict=True))
    assert page._dots._cloud.points.size == 0
    page._dots_shown.value = True
    page.draw(PageState(joints=joints))
    found = ContactProspect(Robot.from_description(robot), places=DOTS).at(Q)
    colors = page._dots._cloud.colors
    assert {tuple(color) for color in colors[found.located]} == {TOLD_COLOR}
    assert {tuple(color) for color in colors[found.felt > 15.0]} == {UNFELT_COLOR}
    assert ELSEWHERE_COLOR in {tuple(color) for color in colors}
    # Hardly a push on the first link turns a joint, one on the last always does.
    links = np.array(found.links)
    assert (colors[links == "lbr_link_7"] == TOLD_COLOR).all(axis=1).mean() > 0.8
    assert not (colors[links == "lbr_link_1"] == TOLD_COLOR).all(axis=1).any()
    legend = [text for _, _, text in visit(page.address).words["legend"]]
    assert "15 N are not felt" in legend
    page._dots_shown.value = False
    page.draw(PageState(joints=joints))
    assert page._dots._cloud.points.size == 0


def test_who_only_looks_finds_nothing_to_press(page):
    looks = [solid for solids in page._robot.solids.values() for solid in solids]
    assert not any(solid._impl.drag_cb for solid in looks)
    assert "/hand" not in visit(page.address).nodes


def test_what_is_written_over_the_scene_says_what_it_feels_and_what_the_baseline_does(page):
    felt = [np.array([0.0, 9.0, 12.0])]
    page.card.kind = "simulation"
    page.draw(
        PageState(
            time=2.0, state="FAULT", status="STOPPED", remedy="call reset <b>", pace=0.5,
            name="qp", force_limit=15.0, true_points=[np.zeros(3)], true_forces=felt,
            felt=["feels 14.0 N at lbr_link_6"], beside={"lbr_A1": 0.0}, beside_name="greedy",
            beside_force=80.0, beside_peak=84.0,
        )
    )  # fmt: skip
    words = visit(page.address).words
    assert (words["title"], words["kind"]) == ("iiwa14_wsg50", "simulation, controller qp")
    assert words["purpose"].endswith("keeps it to 15 N.")
    own, baseline = [[text for text, *_ in lines] for lines in words["forces"]]
    assert own == ["15.0 N", "contact force", "limit 15 N"]
    assert baseline == ["80.0 N", "baseline: greedy", "peak 84 N"]
    assert words["state"][0] == "FAULT: STOPPED at 2.00 s, 0.50 of real time"
    assert words["remedy"][0][0] == "call reset <b>"
    assert words["felt"][0][0] == "feels 14.0 N at lbr_link_6"
    assert words["point"] == [2.0, 15.0, None, 15.0, 80.0, None, None]
    assert words["plots"][0]["curves"][0]["name"] == "greedy"
    page.draw(PageState(name="greedy", state="TRACKING"))
    assert visit(page.address).words["purpose"].startswith("A baseline")
    # A graph without a controller promises nothing.
    page.draw(PageState(name="greedy"))
    words = visit(page.address).words
    assert words["purpose"].startswith("No contact-aware controller runs here")
    assert "limit" not in str(words["forces"] + words["plots"])


def test_the_legend_names_what_is_drawn_and_nothing_else(page, asked):
    page.draw(PageState())
    assert [text for *_, text in visit(page.address).words["legend"]] == [
        "your pull: drag any link of the arm"
    ]
    page._command_shown.value = page._particles_shown.value = True
    page.draw(PageState(true_forces=[], estimated_forces=[], beside={"lbr_A1": 0.0}))
    assert len(visit(page.address).words["legend"]) == 6


def test_who_comes_late_is_told_what_was(page):
    for now in np.arange(0.0, 30.0, 1.0 / 30.0):
        page.note(PageState(time=now))
    kept = [point[0] for point in page.card._points]
    assert (kept[0], kept[-1]) == pytest.approx((20.0, 30.0), abs=0.15)
    assert len(kept) == pytest.approx(100, abs=2)
    page.note(PageState(time=0.5))  # a new start
    assert [point[0] for point in page.card._points] == [0.5]


def test_the_commanded_arm_and_friction_cones_are_shown_on_request(page, robot):
    pushed = PageState(
        joints=dict(zip(robot.arm_joints, Q, strict=True)),
        command=(Q + 0.1).tolist(),
        estimated_points=[np.array([0.5, 0.0, 0.5])],
        estimated_forces=[np.array([0.0, 10.0, 0.0])],
        estimated_normals=[np.array([0.0, 1.0, 0.0])],
    )
    page.draw(pushed)
    assert "/contacts/cones/0" not in visit(page.address).nodes
    page._command_shown.value = page._cones_shown.value = True
    page.draw(pushed)
    poses = visit(page.address).poses
    cone = poses["/contacts/cones/0"]
    np.testing.assert_allclose(cone.rotation[:, 2], [0.0, 1.0, 0.0], atol=1e-6)
    np.testing.assert_allclose(cone.translation, [0.5, 0.0, 0.5], atol=1e-6)
    arm = Robot.from_description(robot)
    arm.update(Q + 0.1)
    last = poses[f"/ghost/{robot.arm_joints[-1]}"]
    np.testing.assert_allclose(last.homogeneous, arm.link_pose("lbr_link_7").homogeneous, atol=1e-6)


def test_the_pace_of_a_simulation_is_that_of_the_last_second():
    pace = Pace()
    assert np.isnan(pace.measure(0.0, 100.0))
    for k in range(1, 60):
        measured = pace.measure(0.25 * k / 30.0, 100.0 + k / 30.0)
    assert measured == pytest.approx(0.25)
    assert np.isnan(pace.measure(0.0, 102.0))


def feel(**changes):
    """Return what the page says of one contact, of 12 N with a standard deviation of 1 cm."""
    contact = Contact(link="arm", **changes)
    contact.force.x, contact.normal.x = 12.0, 1.0
    contact.point_covariance[::4] = 1e-4
    listener = Listener(("arm",), (), (), 15.0)
    listener.hear("contacts", ContactArray(contacts=[contact], least_force=5.0))
    return listener.now.felt, listener.now.estimated_force


def test_the_page_says_how_exactly_a_place_is_known():
    assert feel(identifiable=True) == (["feels 12.0 N at arm, within 2 cm"], 12.0)
    assert feel(same_wrench=True) == (["feels 12.0 N at arm, somewhere on the arrow's line"], 12.0)
    assert feel() == (["feels at least 5.0 N at arm, or elsewhere"], 5.0)


def test_who_connects_and_says_nothing_is_no_news(page, caplog):
    place = urlsplit(page.address)
    socket.create_connection((place.hostname, place.port)).close()
    visit(page.address)
    time.sleep(0.2)
    assert not [record for record in caplog.records if record.levelname == "ERROR"]


def test_what_is_pushed_counts_and_what_is_held_does_not():
    listener = Listener(("arm", "finger"), ("finger",), ("mug", "box"), 15.0)
    held, pushed = Contact(link="finger", other="mug"), Contact(link="arm", other="box")
    held.force.x, pushed.force.x = 20.0, 7.0
    listener.hear("truth/contacts", ContactArray(contacts=[held, pushed]))
    assert listener.now.true_force == pytest.approx(7.0)


def cloud(points, **changes):
    """Return a message of particles."""
    data = np.asarray(points, "<f4").tobytes()
    content = {"width": len(points), "height": 1, "point_step": 12, "data": data}
    return SimpleNamespace(**{**content, **changes})


def test_without_a_contact_the_limit_is_that_of_the_controller():
    listener = Listener((), (), (), 15.0)
    status = {"mode": ControllerStatus.TRACKING, "status": ControllerStatus.OK}
    for limits, expected in (([], 40.0), ([20.0, 30.0], 30.0), ([], 40.0)):
        listener.limit = 40.0
        listener.hear("controller_status", ControllerStatus(force_limit=limits, **status))
        assert listener.now.force_limit == expected


def test_particles_are_drawn_where_they_are_while_they_are_wanted(page):
    points = np.random.default_rng(0).uniform(-1.0, 1.0, (500, 3))
    listener = Listener((), (), (), 15.0)
    listener.hear("contact_particles", cloud(points))
    assert not page.shows_particles
    page.draw(listener.now)
    assert len(page._particles.points) == 0
    page._particles_shown.value = True
    page.draw(listener.now)
    np.testing.assert_allclose(page._particles.points, points, atol=1e-6)
    assert visit(page.address).nodes["/contacts/particles"] == "PointCloudMessage"


@pytest.mark.parametrize(
    "wrong",
    [
        cloud([[0.0, 0.0, np.nan]]),
        cloud([[0.0, 0.0, 1e9]]),
        cloud([[0.0] * 3], width=2),
        cloud([[0.0] * 3], point_step=16),
        cloud(np.zeros((20_000, 3))),
    ],
)
def test_particles_that_cannot_be_are_refused(wrong):
    with pytest.raises(MessageError):
        Listener((), (), (), 15.0).hear("contact_particles", wrong)


def test_the_page_looks_back_while_the_robot_goes_on(page, monkeypatch):
    drawn = []
    monkeypatch.setattr(Page, "watched", True)
    monkeypatch.setattr(page, "draw", lambda now, live: drawn.append((now.time, live.time)))
    past = LookBack(page, seconds=3.0)

    def wait_until(time):
        for k in range(30):
            past.show(PageState(time=round(time - 1.0 + (k + 1) / 30.0, 6)))
        return drawn[-1]

    wait_until(1.0)
    assert wait_until(2.0) == (2.0, 2.0)
    past._slider.value = -1.5
    assert wait_until(3.0) == pytest.approx((2.0 + 1 / 30 - 1.5, 3.0), abs=0.04)
    # What is too long ago is forgotten: the oldest is shown.
    assert wait_until(4.0)[0] == pytest.approx(1.0, abs=0.04)
    past.go_live()
    assert wait_until(5.0) == (5.0, 5.0)
    past._slider.value = -1.0
    past.show(PageState(time=0.5))  # a new start
    assert drawn[-1] == (0.5, 0.5)


def test_the_reference_arm_has_its_tool_where_the_motion_has_it(robot):
    arm, reference = Robot.from_description(robot), ShownReference(robot)
    joints = dict(zip(robot.arm_joints, Q, strict=True))
    assert reference.arm(joints) == ()
    arm.update(Q)
    goal = arm.tool_pose() * pin.SE3(pin.rpy.rpyToMatrix(0.1, 0.0, 0.0), np.array([0.0, 0.0, 0.05]))
    feedback = SimpleNamespace(desired=to_pose(goal))
    reference.hear("follow_pose_trajectory/feedback", SimpleNamespace(feedback=feedback))
    arm.update(np.array(reference.arm(joints)))
    np.testing.assert_allclose(arm.tool_pose().homogeneous, goal.homogeneous, atol=2e-3)
    names = [f"robot_{k}" for k in range(len(Q))]
    point = SimpleNamespace(positions=(Q + 0.1).tolist())
    feedback = SimpleNamespace(joint_names=names, desired=point)
    reference.hear("follow_joint_trajectory/feedback", SimpleNamespace(feedback=feedback))
    np.testing.assert_allclose(reference.arm(joints), Q + 0.1)


def test_an_arm_is_drawn_where_the_reference_is(page, robot):
    joints = dict(zip(robot.arm_joints, Q, strict=True))
    page._reference_shown.value = True
    page.draw(PageState(joints=joints, reference=(Q + 0.2).tolist()))
    poses = visit(page.address).poses
    first = pin.rpy.matrixToRpy(poses["/reference/lbr_A1"].rotation)[2]
    assert first == pytest.approx(Q[0] + 0.2, abs=1e-4)


def test_another_arm_is_an_outline_that_nothing_flickers_with(page):
    """Seen from inside, its surfaces are nowhere near those of the arm that are seen."""
    arms = {name: [m for solid in arm.solids.values() for m in solid]
            for name, arm in (("own", page._robot), ("beside", page._beside))}  # fmt: skip
    assert {mesh.side for mesh in arms["own"]} == {"front"}
    assert {mesh.side for mesh in arms["beside"]} == {"back"}
    larger = [np.divide(b.scale, a.scale) for a, b in zip(*arms.values(), strict=True)]
    np.testing.assert_allclose(larger, 1.05)


@pytest.fixture
def table():
    """A page of a box that may be pushed over a table, and what is asked there."""
    page = Page(scene_model_of("push_box"), "127.0.0.1", 8400, history=10.0)
    position, turned = np.array([0.56, -0.09, 0.25]), np.array([0.0, 0.0, 0.6, 0.8])
    page.draw(PageState(objects={"box": (position, turned)}))
    asked = Asked()
    asked.progress = "pushing, 30 mm and 4 degrees to go"
    page.offer(Permissions(asked, "pusher", (), 15.0, ("table",)))
    yield page, asked
    page.close()


def test_a_thing_is_asked_for_where_a_person_has_clicked(table):
    page, asked = table
    placing = page._controls[None].placing
    placing._chosen.value = True
    placing._choose()
    yaw = 2.0 * np.arctan2(0.6, 0.8)
    assert visit(page.address).nodes["/place"] == "TransformControlsMessage"
    # From 1 m above, along a slope: where it meets the height of the box.
    ray = np.array([0.1, -0.2, -1.0]) / np.linalg.norm([0.1, -0.2, -1.0])
    placing._click(SimpleNamespace(ray_origin=(0.5, 0.0, 1.25), ray_direction=tuple(ray)))
    placing._click(SimpleNamespace(ray_origin=(0.5, 0.0, 1.25), ray_direction=tuple(-ray)))
    placing._ask(True)
    name, place = asked.calls[-1]
    assert (name, place.name) == ("bring", "box")
    np.testing.assert_allclose([place.x, place.y, place.yaw], [0.6, -0.2, yaw], atol=1e-6)
    copy = visit(page.address).poses["/copy"]
    np.testing.assert_allclose(copy.translation, [0.6, -0.2, 0.25], atol=1e-6)
    page.draw(PageState())
    assert placing._says.content == asked.progress
    placing._ask(False)
    assert asked.calls[-1] == ("bring", None)
    placing._chosen.value = False
    placing._choose()
    assert "/copy" not in visit(page.address).nodes


def test_who_asks_for_a_thing_without_a_place_is_shown_one(table):
    page, asked = table
    page._controls[None].placing._ask(True)
    assert "/place" in visit(page.address).nodes
    assert asked.calls == []
