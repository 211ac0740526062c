"""The demos mug_placement, mug_moving and two_contacts: controllers compared on an experiment."""

from __future__ import annotations

import argparse
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import yaml

from contact_aware_control.node.config import ControllerNodeConfig
from contact_core.base.config import from_mapping
from contact_core.base.files import share
from contact_core.base.results import Rows, table
from contact_stack.demo.client_node import NAME, Connection
from contact_stack.demo.contact_tracking.experiments import EXPERIMENTS
from contact_stack.demo.contact_tracking.node import ContactTrackingNode
from contact_stack.demo.contact_tracking.run_figures import draw_experiment
from contact_stack.demo.contact_tracking.statistics import ExperimentData, summarize
from contact_stack.demo.contact_tracking.variants import VARIANTS, Variant
from contact_stack.demo.runner import DRIVER, ENGINE, REALTIME, Demo, Option

LAUNCH_ARGUMENTS = {
    "controller": "controller",
    "tracking.reading": "reading",
    "null_space.step": "null_space_step",
}
"""Parameter of the controller -> argument of demo.launch.xml."""

GROUPS: dict[str, tuple[str, ...]] = {"both": ("qp", "greedy"), "all": tuple(VARIANTS)}
"""Names for several of them."""

CONTROLLER = Option(
    "--controller", "both",
    "the contact-aware QP, one of its variants or baselines, both the QP and the greedy baseline "
    "(default), or all",
    {"choices": (*VARIANTS, *GROUPS)},
)  # fmt: skip

SCENE = Option(
    "--scene", "",
    "another scene for the same motion, a file of config/scenes or a path: another arm, for "
    "instance mug_placement_fr3 (default: the demo's own)",
    {"metavar": "SCENE"},
)  # fmt: skip

ROWS: Rows = (
    ("contact force, median", "contact.force_post_impact_p50_N", 1.0, "N"),
    ("contact force, 99 %", "contact.force_post_impact_p99_N", 1.0, "N"),
    ("contact force, peak", "contact.force_peak_N", 1.0, "N"),
    ("contact segments", "contact.segments", 1.0, ""),
    ("position error in contact, rms", "tracking.position_rms_contact_m", 1e3, "mm"),
    ("position error in free space, rms", "tracking.position_rms_free_m", 1e3, "mm"),
    ("joint speed after contact, max", "release.joint_speed_max_rad_s", 1.0, "rad/s"),
    ("force falls before release within", "release.force_fall_s", 1e3, "ms"),
    ("contact location error, median", "estimator.location_error_p50_m", 1e3, "mm"),
    ("contact on the right link", "estimator.link_correct_fraction", 100.0, "%"),
    ("controller tick, median", "loop.tick_p50_us", 1.0, "us"),
    ("deadline misses", "loop.deadline_misses", 1.0, ""),
)
MUG_ROWS: Rows = (
    ("mug on the cart", "mug.on_cart", 1.0, ""),
    ("mug tilt", "mug.tilt_rad", 1.0, "rad"),
)
LAST_ROWS: Rows = (("real-time factor", "real_time_factor", 1.0, ""),)


class ContactTracking(Demo[ExperimentData]):
    """An experiment, run with one controller after the other.

    Attributes:
        experiment: What is done.
        force_limit: The controllers' limit of the contact force [N].
    """

    options = (ENGINE, DRIVER, REALTIME, CONTROLLER, SCENE)

    def __init__(self, args: argparse.Namespace) -> None:
        """Take the options, see :meth:`Demo.__init__`."""
        super().__init__(args)
        self.experiment = EXPERIMENTS[self.name](args.scene)
        self.force_limit = force_limit()
        self._runs = selected(args.controller)

    @property
    def runs(self) -> Sequence[str]:
        """Names of the controllers."""
        return self._runs

    def launch(self, run: str, folder: Path) -> tuple[str, Mapping[str, str]]:
        """Return the graph with the controller, see :meth:`Demo.launch`."""
        held = self.experiment.held
        return "demo", {
            "scene": self.experiment.scene,
            "engine": self.engine,
            "held_mass": str(held.mass if held is not None else 0.0),
            "client": NAME if self.lockstep else "",
            **launch_arguments(VARIANTS[run]),
        }

    def client(self, run: str, connection: Connection) -> ContactTrackingNode:
        """Make the node that asks for the motion."""
        return ContactTrackingNode(self.experiment, connection)

    def summarise(self, runs: Mapping[str, ExperimentData]) -> dict[str, Any]:
        """Compute the figures of each controller."""
        return {
            name: {
                **self.envelope(float(data.time[-1] - data.time[0]), data.wall_time),
                "controller": name,
                "force_limit_N": self.force_limit,
                **summarize(data, self.force_limit, self.experiment.passes),
            }
            for name, data in runs.items()
        }

    def report(self, summary: Mapping[str, Any]) -> list[str]:
        """Return the table of the controllers."""
        mug = MUG_ROWS if self.experiment.held is not None else ()
        return [
            f"force limit {self.force_limit:g} N; forces and errors are the simulator's "
            "ground truth",
            *table(summary, (*ROWS, *mug, *LAST_ROWS)),
        ]

    def draw(self, runs: Mapping[str, ExperimentData], folder: Path) -> list[Path]:
        """Draw force, tracking error and release."""
        drawn = {name: ([data], VARIANTS[name].style) for name, data in runs.items()}
        return draw_experiment(drawn, self.experiment.phases, self.force_limit, folder)

    def verdict(self, summary: Mapping[str, Any]) -> tuple[list[str], bool]:
        """Return which controllers had too little contact to be judged."""
        return verdict({name: figures["failures"] for name, figures in summary.items()})


def launch_arguments(variant: Variant) -> dict[str, str]:
    """Return the arguments of demo.launch.xml that stand for a variant."""
    return {LAUNCH_ARGUMENTS[name]: str(value) for name, value in variant.values.items()}


def selected(name: str) -> tuple[str, ...]:
    """Return the variants that the name of a variant or of a group stands for."""
    return GROUPS.get(name, (name,))


def force_limit() -> float:
    """Return the force limit that the controller node of the demo is configured with [N].

    Raises:
        ConfigError: If the node's parameter file is wrong.
    """
    file = share("config", "contact_aware_controller.yaml")
    (node,) = yaml.safe_load(file.read_text()).values()
    return from_mapping(ControllerNodeConfig, node["ros__parameters"]).force.limit


def verdict(failures: Mapping[str, Sequence[str]]) -> tuple[list[str], bool]:
    """Say which runs cannot be judged, and whether that makes the demo fail.

    Args:
        failures: What is missing in the run of each controller.

    Returns:
        One line each; True if a controller that is no baseline is among them.
    """
    lines: list[str] = []
    for controller, reasons in failures.items():
        kind = "note" if VARIANTS[controller].baseline else "failed run"
        lines.extend(f"{kind}: {controller}: {reason}" for reason in reasons)
    failed = any(reasons and not VARIANTS[name].baseline for name, reasons in failures.items())
    return lines, failed
