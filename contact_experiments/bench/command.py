"""The command line of ``contact-stack bench``."""

from __future__ import annotations

import argparse
import importlib

BENCHMARKS = {
    "contacts": "contact_experiments.bench.contacts",
    "control": "contact_experiments.bench.control",
    "irs": "contact_experiments.bench.irs",
    "robust": "contact_experiments.bench.robust",
    "tamsi": "contact_experiments.bench.tamsi",
}
"""Name -> module with ``add_arguments(parser)`` and ``main(args) -> exit code``."""

HELP = {
    "contacts": "accuracy, honesty and speed of the contact estimator",
    "control": "QP solvers, the controller's tick, and the loop's timing",
    "irs": "every example of the planner through contact, in every mode",
    "robust": "plans over a grid of uncertainties and risk bounds, and how far they miss",
    "tamsi": "the simulator against Drake and MuJoCo on the same scenes",
}

EPILOG = """examples:
  contact-stack bench control
  contact-stack bench contacts --trials 50
  contact-stack bench control --quick --json out/control.json

Close everything else for figures that mean something."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the command line.

    Args:
        parser: The parser of this command.
    """
    parser.epilog = EPILOG
    benchmarks = parser.add_subparsers(dest="benchmark", metavar="BENCHMARK", required=True)
    for name, module in BENCHMARKS.items():
        sub_parser = benchmarks.add_parser(
            name,
            help=HELP[name],
            description=HELP[name],
            formatter_class=argparse.RawDescriptionHelpFormatter,
        )
        importlib.import_module(module).add_arguments(sub_parser)


def main(args: argparse.Namespace) -> int:
    """Run the command.

    Args:
        args: The parsed command line.

    Returns:
        The exit code of the benchmark.
    """
    return int(importlib.import_module(BENCHMARKS[args.benchmark]).main(args))
