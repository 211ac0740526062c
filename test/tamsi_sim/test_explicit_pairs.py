"""Explicit pairs of a MJCF: their friction is their own, as in MuJoCo."""

import pytest

from contact_core.base.errors import ModelWarning
from tamsi_sim.simulation.world import World


@pytest.mark.parametrize(
    "pair",
    ["", 'condim="1"', 'condim="4"', 'condim="6" friction="0.3"', 'class="slow"',
     'friction="0.2 0.2 0.04 0.003 0.003" condim="6"', 'friction="3 3 0.04"'],
)  # fmt: skip
def test_an_explicit_pair_has_its_own_friction_as_in_mujoco(pair):
    mujoco = pytest.importorskip("mujoco")
    own = 'friction="0.1 0.5 0.6" condim="6" priority="2"'
    text = f"""<mujoco><default><default class="slow"><pair friction="0.7"/></default></default>
      <worldbody><geom name="f" type="plane" size="1 1 1" {own}/><body name="b" pos="0 0 0.0999">
      <freejoint/><geom name="b" size="0.1" {own}/></body></worldbody>
      <contact><pair geom1="b" geom2="f" {pair}/></contact></mujoco>"""
    model = mujoco.MjModel.from_xml_string(text)
    data = mujoco.MjData(model)
    mujoco.mj_forward(model, data)
    sliding, torsional, rolling = (
        float(data.contact[0].friction[k]) if data.contact[0].dim >= dim else 0.0
        for k, dim in ((0, 3), (2, 4), (3, 6))
    )
    # Those of another model of the same names have no pair with these.
    built = World().add("one", text).add("two", text, xyz=(9.0, 0.0, 0.0)).build().built
    rules, group = built.arrays.rules, built.arrays.geometry.group
    names = [f"{i}/{s.name}" for i, s in zip(built.instances, built.shapes, strict=True)]

    def found(a, b):
        rule = rules.shapes[group[names.index(a)], group[names.index(b)]]
        return [rules.friction[rule], rules.torsional[rule], rules.rolling[rule]]

    assert found("one/b", "one/f") == pytest.approx([sliding, torsional, rolling])
    assert found("one/b", "two/f") == pytest.approx([0.1, 0.5, 0.6])


@pytest.mark.parametrize("friction", ["0.3 0.5", "0.3"])
def test_friction_of_a_pair_that_differs_by_direction_is_named(friction):
    text = f"""<mujoco><worldbody><geom name="f" type="plane" size="1 1 1"/><body pos="0 0 1">
      <freejoint/><geom name="b" size="0.1"/></body></worldbody>
      <contact><pair geom1="b" geom2="f" friction="{friction}"/></contact></mujoco>"""
    with pytest.warns(ModelWarning, match=f"pair friction='{friction}' taken the same all around"):
        World().add("m", text).build()


def test_of_a_pair_that_is_there_twice_the_last_one_holds():
    text = """<mujoco><worldbody><geom name="f" type="plane" size="1 1 1"/><body pos="0 0 1">
      <freejoint/><geom name="b" size="0.1"/></body></worldbody><contact>
      <pair geom1="b" geom2="f" friction="0.2 0.2"/><pair geom1="f" geom2="b" friction="3 3"/>
      </contact></mujoco>"""
    with pytest.warns(ModelWarning, match="contact pair 'f' and 'b': the last of several holds"):
        rules = World().add("m", text).build().built.arrays.rules
    assert rules.friction.tolist() == [3.0]
