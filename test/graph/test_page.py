"""The page in a real browser: a person pulls the arm with the mouse, and presses buttons."""

from __future__ import annotations

import re
import signal
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import pytest
from browser import Browser
from contact_stack_msgs.msg import ControllerStatus
from rcl_interfaces.srv import SetParameters
from rclpy.parameter import Parameter

pytestmark = [pytest.mark.graph, pytest.mark.timeout(580)]

PICTURES = Path("out/test/page")
ELBOW, ASIDE = (470, 230), (400, 285)
"""Where the elbow is on the page at the start, and where it is dragged to [pixels]."""
ADDRESS = re.compile(r"live page at (http://\S+)")


@contextmanager
def live_page(launch, client, output) -> Iterator[Browser]:
    """Start a graph with a page, and open that."""
    launch(view="true")
    client.wait_until_ready()
    client.spin_until(lambda: ADDRESS.search(output.getvalue()))
    address = ADDRESS.search(output.getvalue())
    assert address is not None
    with Browser() as browser:
        browser.do("open", address=address[1])
        browser.do("wait", text="Drag any link", seconds=180)
        yield browser


@pytest.mark.verify  # nodes in real time leave a slow machine's browser too little
def test_a_person_pulls_the_elbow_and_holds_the_arm(launch, client, output) -> None:
    with live_page(launch, client, output) as browser:
        client.spin_until(lambda: rests(client))
        before, start = browser.picture(PICTURES / "before.png"), joints(client)

        browser.do("drag", **{"from": ELBOW, "to": ASIDE})
        client.spin_for(2.0)
        pulled, turned = browser.picture(PICTURES / "pulled.png"), joints(client)
        assert re.search(r"pulls lbr_link_[345] with \d+\.\d N", browser.do("text"))
        # What the person sees moves as the arm does, which gives way.
        assert np.abs(turned - start).max() > 0.1
        arm = np.s_[150:400, 320:640]
        assert (np.abs(pulled[arm] - before[arm]).max(axis=2) > 0.1).mean() > 0.05

        browser.do("release")
        browser.do("wait", text="Drag any link", seconds=30)
        client.spin_until(lambda: rests(client))

        browser.do("click", text="stop")
        client.spin_until(lambda: client.latest("controller_status").mode == ControllerStatus.FAULT)
        browser.do("wait", text="FAULT", seconds=30)
        browser.do("click", text="reset")
        client.spin_until(lambda: client.latest("controller_status").mode != ControllerStatus.FAULT)
        assert browser.do("errors") == []


@pytest.mark.parametrize("driver", ["lbr_fri"], indirect=True)
def test_without_the_token_nobody_moves_a_robot(launch, client, start_process) -> None:
    launch(lockstep="true")
    client.wait_until_ready()
    # The browser draws without a graphics card, which takes what time there is.
    pace = Parameter("pace", value=0.5).to_parameter_msg()
    request = SetParameters.Request(parameters=[pace])
    assert client.call(SetParameters, "tamsi_sim/set_parameters", request).results[0].successful
    parameters = ("robot_commands:=true", "port:=8480", "scene:=mug_placement")
    viewer = start_process(
        Path(sys.executable).parent / "viewer", "--ros-args", "-r", "__ns:=/lbr",
        *(word for parameter in parameters for word in ("-p", parameter)),
    )  # fmt: skip
    token = viewer.stdout.readline().removeprefix("token of the live page: ").strip()
    address = next(filter(None, map(ADDRESS.search, viewer.stderr)))[1]
    with Browser() as browser:
        browser.do("open", address=address)
        browser.do("wait", text="without the token", seconds=180)
        client.spin_until(lambda: rests(client))
        start = joints(client)
        browser.do("drag", **{"from": ELBOW, "to": ASIDE})
        client.spin_for(1.0)
        browser.do("release")
        browser.do("fill", name="token", text="x" * len(token))
        browser.do("wait", text="This is not the token", seconds=30)
        browser.picture(PICTURES / "locked.png")
        assert "force limit" not in browser.do("text")
        assert np.abs(joints(client) - start).max() < 0.01

        browser.do("fill", name="token", text=token)
        browser.do("wait", text="force limit", seconds=30)
        browser.picture(PICTURES / "unlocked.png")
        browser.do("click", text="stop")
        client.spin_until(lambda: client.latest("controller_status").mode == ControllerStatus.FAULT)
        browser.do("open", address=address)  # somebody else
        browser.do("wait", text="without the token", seconds=180)
        assert "force limit" not in browser.do("text")
        assert browser.do("errors") == []
    viewer.send_signal(signal.SIGINT)
    assert viewer.wait(20) == 0


@pytest.mark.verify
@pytest.mark.parametrize("driver", ["lbr_fri"], indirect=True)
def test_a_person_looks_back_and_sees_particles(launch, client, output) -> None:
    with live_page(launch, client, output) as browser:
        browser.do("click", text="look")
        client.spin_for(8.0)
        left, right, y = browser.do("slider", name="look back")
        browser.do("drag", **{"from": (right, y)}, to=(right - 0.2 * (right - left), y))
        browser.do("release")
        past = settled_time(client, browser)  # while the robot goes on
        browser.do("click", text="live")
        client.spin_for(1.0)
        assert time_shown(browser) > past + 10.0  # a fifth of the slider, and what went on since

        browser.do("click", text="particles")
        client.spin_until(lambda: client.node.count_subscribers("/lbr/contact_particles") == 1)
        before = browser.picture(PICTURES / "no_particles.png")
        browser.do("drag", **{"from": ELBOW, "to": ASIDE})
        client.spin_for(2.0)
        pulled = browser.picture(PICTURES / "particles.png")
        assert purple(pulled) > purple(before) + 20
        browser.do("release")
        browser.do("click", text="particles")
        client.spin_until(lambda: client.node.count_subscribers("/lbr/contact_particles") == 0)
        assert browser.do("errors") == []


def time_shown(browser: Browser) -> float:
    """Return the time of the picture [s]."""
    found = re.search(r" at (\d+\.\d+) s", browser.do("text"))
    assert found is not None
    return float(found[1])


def settled_time(client, browser: Browser) -> float:
    """Return the time of the picture that stays [s], once the browser has sent its last move."""
    time = time_shown(browser)
    for _ in range(20):
        client.spin_for(1.0)
        before, time = time, time_shown(browser)
        if time == before:
            return time
    raise AssertionError("the picture goes on")


def purple(picture: np.ndarray) -> int:
    """Return the number of pixels that have the colour of particles."""
    red, green, blue = np.moveaxis(picture, 2, 0)
    return int(((red > 0.4) & (blue > 0.5) & (green < 0.35)).sum())


def joints(client) -> np.ndarray:
    """Return where the joints of the arm and the gripper truly are [rad], [m]."""
    return np.array(client.latest("truth/joint_states").position)


def rests(client) -> bool:
    """Return whether no joint moves by a hundredth in half a second."""
    before = joints(client)
    client.spin_for(0.5)
    return bool(np.abs(joints(client) - before).max() < 0.01)
