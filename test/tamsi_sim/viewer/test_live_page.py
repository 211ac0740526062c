"""A live page shows bodies and forces where they are, to whoever looks, and costs nothing else."""

from concurrent.futures import ThreadPoolExecutor
from time import monotonic, sleep
from urllib.error import HTTPError
from urllib.request import Request, urlopen

import numpy as np
import pytest
from page import visit

from contact_core.base.errors import ConfigError, ModelWarning
from tamsi_sim import Surface, World
from tamsi_sim.viewer import page as module
from tamsi_sim.viewer.page import PERIOD


def mugs():
    """Two mugs that fall, one onto the ground and one onto the other."""
    world = World(surface=Surface(1e4, 5.0, 0.5)).add_ground()
    world.add("a/b", "urdf/mug.urdf", (0.0, 0.0, 0.051), free=True)
    return world.add("c", "urdf/mug.urdf", (0.0, 0.0, 0.16), (0.1, 0.2, 0.0), free=True).build()


def check(shown, engine):
    for (instance, link), pose in engine.observer.poses().items():
        node = f"/{instance.replace('/', ':')}/{link}"
        assert shown.nodes[node] == "FrameMessage"
        np.testing.assert_allclose(shown.poses[node].homogeneous, pose.homogeneous, atol=1e-7)


def check_forces(shown, engine, scale):
    contacts = engine.contacts()
    arrows = shown.arrows["/forces"]
    assert len(arrows) == len(contacts) > 0
    for (start, end), contact in zip(arrows, contacts, strict=True):
        np.testing.assert_allclose(start, contact.point, atol=1e-6)
        np.testing.assert_allclose(end - start, scale * contact.force, atol=1e-6)


def test_the_page_is_one_for_any_locale_and_for_no_other_site():
    with mugs().show() as page:
        with urlopen(page.address) as answer:
            assert "Intl.getCanonicalLocales(navigator.language)" in answer.read().decode()
        with pytest.raises(HTTPError, match="403"):
            urlopen(Request(page.address, headers={"Origin": "https://elsewhere.org"}))


def test_a_visitor_sees_bodies_and_forces_where_they_are():
    engine = mugs()
    with engine.show() as page:
        shown = visit(page.address)
        check(shown, engine)
        assert shown.nodes["/c/mug/look/0/side"] == "CylinderMessage"
        assert shown.nodes["/ground/ground/look/0/plane"] == "BoxMessage"
        assert "/forces" not in shown.arrows
        engine.step(400)
        # Nobody has called update: who comes now is shown this state all the same.
        shown = visit(page.address)
        check(shown, engine)
        check_forces(shown, engine, 1e-3 * page._scale.value)


def test_who_stays_is_shown_the_latest_state():
    engine = mugs()
    with engine.show() as page, ThreadPoolExecutor() as pool:
        visitor = pool.submit(visit, page.address, 3.0)
        while not page._server.get_clients():
            sleep(0.01)
        for _ in range(400):
            engine.step()
            page.update()
        shown = visitor.result()
    check(shown, engine)
    check_forces(shown, engine, 1e-3 * page._scale.value)


def test_no_more_pictures_are_drawn_than_can_be_seen(monkeypatch):
    engine, drawn = mugs(), []
    draw = module.SimulationPage._draw
    monkeypatch.setattr(
        module.SimulationPage, "_draw", lambda self, picture: drawn.append(1) or draw(self, picture)
    )
    start = monotonic()
    with engine.show() as page:
        monkeypatch.setattr(page._server, "get_clients", lambda: {0: None})
        for _ in range(2000):
            page.update()
    assert 1 <= len(drawn) <= 2 + (monotonic() - start) / PERIOD


def test_nothing_is_copied_for_nobody():
    with mugs().show() as page:
        page.update()
        assert not page._news


def test_collision_shapes_are_shown_on_demand():
    engine = mugs()
    with engine.show(collisions=True) as page:
        shown = visit(page.address)
        assert "/c/mug/look" not in shown.nodes
        names = [name for name in shown.nodes if name.startswith("/c/mug/collision/")]
        of_mug = [owner for owner in engine.built.instances if owner == "c"]
        assert len([name for name in names if name.count("/") == 4]) == len(of_mug)
        page._links.show(False)
        assert "/c/mug/look" in visit(page.address).nodes


def test_pages_have_ports_of_their_own_and_give_them_back(capsys):
    engine = mugs()
    first = engine.show()
    with engine.show() as second:
        assert first.address != second.address
    first.close()
    first.close()
    assert f"simulation at {first.address}\n" in capsys.readouterr().out
    with pytest.raises(OSError):
        visit(first.address)
    with pytest.raises(ConfigError, match="port must be a whole number >= 1, got 0"):
        engine.show(port=0)


def test_a_notebook_shows_the_page():
    with mugs().show() as page:
        assert f'<iframe src="{page.address}"' in page._repr_html_()
        assert '<iframe srcdoc="&lt;!' in page.recording()._repr_html_()


def test_where_looks_cannot_be_read_collision_shapes_are_shown():
    text = """<robot name="r"><link name="a"><inertial><mass value="1"/>
      <inertia ixx="1" iyy="1" izz="1" ixy="0" ixz="0" iyz="0"/></inertial>
      <collision name="c"><geometry><sphere radius="0.1"/></geometry></collision>
      <visual><geometry><mesh filename="/nowhere/a.obj"/></geometry></visual></link></robot>"""
    engine = World().add("r", text, (0.0, 0.0, 1.0), free=True).build()
    with (
        pytest.warns(ModelWarning, match=r"r: .*a\.obj.*: collision shapes are shown instead"),
        engine.show() as page,
    ):
        assert visit(page.address).nodes["/r/a/look/0/ball"] == "IcosphereMessage"
