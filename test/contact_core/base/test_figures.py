"""A method has one colour in every picture: no picture takes one from elsewhere than the table."""

from __future__ import annotations

import re
from pathlib import Path

from contact_core.base import figures
from contact_experiments.tamsi.integrators.integrator import PUBLISHED
from contact_stack.demo.contact_tracking.variants import VARIANTS

REPOSITORY = Path(__file__).resolve().parents[3]
FROM_ELSEWHERE = re.compile(r"""["'](C\d|C\{.*?\}|tab:\w+|crimson|#[0-9a-fA-F]{6})["']""")


def test_pictures_take_their_colours_from_the_table() -> None:
    found = {}
    for package in ("contact_experiments", "contact_stack", "irs_planner", "robust_planner"):
        for path in (REPOSITORY / package).rglob("*.py"):
            text = path.read_text()
            if "contact_core.base.figures" in text and (own := FROM_ELSEWHERE.findall(text)):
                found[path.name] = own
    assert not found


def test_curves_without_a_colour_take_those_of_the_palette() -> None:
    figure, ((axes,),) = figures.new_figure(1, 1, (2.0, 2.0))
    (line,) = axes.plot([0.0, 1.0], [0.0, 1.0])
    assert line.get_color() == figures.CYCLE[0]
    assert figure.axes == [axes]


def test_methods_that_are_compared_differ() -> None:
    integrators = {name.removesuffix("_tals") for name in PUBLISHED if name.startswith("ie_")}
    controllers = {str(variant.values["controller"]) for variant in VARIANTS.values()}
    for names in ({"tamsi", *integrators}, {"tamsi", "cenic", "mujoco"}, controllers):
        assert len({figures.METHODS[name] for name in names}) == len(names)
    assert not set(figures.OTHERS) & {figures.METHODS[name] for name in controllers}
