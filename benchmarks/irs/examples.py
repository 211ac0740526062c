"""Cost and time of every example in every mode, and Fig. 9.

Run ``python benchmarks/irs/examples.py [NAME ...] [--json FILE] [--figure FOLDER]``.
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path

from irs_planner.benchmark import run_examples
from irs_planner.examples import example_names
from irs_planner.plots import figure_9


def main() -> None:
    """Measure, print a table, write what was asked for."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("names", nargs="*", help=f"examples: {', '.join(example_names())}")
    parser.add_argument("--json", type=Path, help="file to write")
    parser.add_argument("--figure", type=Path, help="folder to write fig9.png to")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--workers", type=int, default=1)
    arguments = parser.parse_args()
    figures = run_examples(arguments.names or None, seed=arguments.seed, workers=arguments.workers)
    for name, modes in figures["examples"].items():
        for mode, entry in modes.items():
            parts = entry["seconds_per_iteration"]
            print(
                f"{name:20s} {mode:11s} {entry['initial']:11.2f} -> {entry['best']:10.4f}   "
                f"{entry['iterations']:2d} iterations, {entry['seconds']:.3f} s: "
                + ", ".join(f"{part} {1e3 * value:.1f} ms" for part, value in parts.items())
            )
    if arguments.json:
        arguments.json.write_text(json.dumps(figures, indent=2))
    if arguments.figure:
        print(figure_9(arguments.figure, figures["examples"]))


if __name__ == "__main__":
    main()
