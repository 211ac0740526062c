"""``contact-stack demo slide_sled``: plan, then let the arm execute both plans."""

from __future__ import annotations

import argparse
import json
from pathlib import Path

from tqdm import tqdm

from contact_core.errors import ConfigError
from contact_core.scene import Scene
from contact_ros.driver_profile.overlay import DRIVER
from contact_stack.demo.sled.plans import SledPlans, plan_sled
from contact_stack.demo.sled.plots import plot_slides
from contact_stack.demo.sled.run import SCENE, Slide, slide
from contact_stack.demo.sled.sled_node import SETTLING
from contact_stack.demo.sled.summary import summarize, table
from robust_planner.result import StageProgress

EXIT_NOT_SOLVED = 1
BAR = "{desc:24} {bar} {n:.1f}/{total:.1f} s [{elapsed}]"


def main(args: argparse.Namespace, out: Path) -> int:
    """Run the demo.

    Args:
        args: The parsed command line of ``contact-stack demo``.
        out: Folder of the results.

    Returns:
        0, or 1 if a plan does not satisfy its problem.

    Raises:
        ContactStackError: If an option does not apply, or the graph fails.
    """
    _check(args)
    out.mkdir(parents=True, exist_ok=True)
    planned = _plan()
    slides = _execute(planned, args, out)
    summary = summarize(planned, slides, args.seed)
    plot_slides(planned, slides, out / "slides.png")
    for path in filter(None, (out / "summary.json", args.json)):
        path.write_text(json.dumps(summary, indent=2) + "\n")
    print(table(summary))
    print(f"results: {out}/summary.json, slides.png, *.mcap")
    return 0 if all(plan.solved for plan in planned.plans.values()) else EXIT_NOT_SOLVED


def _check(args: argparse.Namespace) -> None:
    """Refuse options that mean something to other demos only."""
    if args.driver != DRIVER:
        raise ConfigError(
            f"{SCENE} commands wrenches: --driver is '{args.driver}' (valid: {DRIVER})"
        )
    if not args.lockstep:
        raise ConfigError(f"{SCENE} runs in lock-step only: leave --realtime out")
    if args.controller != "both":
        raise ConfigError(f"{SCENE} streams plans without a controller: leave --controller out")


def _plan() -> SledPlans:
    with tqdm(total=1, bar_format="{desc:72} [{elapsed}]") as bar:

        def show(phase: str, progress: StageProgress) -> None:
            bar.set_description_str(
                f"{phase}, {progress.stage}: iteration {progress.iterations}, "
                f"residual {progress.residual:.1e}"
            )

        return plan_sled(Scene.load(SCENE), show)


def _execute(planned: SledPlans, args: argparse.Namespace, out: Path) -> dict[str, list[Slide]]:
    """Execute each plan with each friction."""
    problem = planned.example.problem
    slides: dict[str, list[Slide]] = {}
    duration = SETTLING + problem.duration
    runs = [(name, mu) for name in planned.plans for mu in planned.example.test_friction]
    with tqdm(total=duration * len(runs), bar_format=BAR) as bar:
        for count, (name, mu) in enumerate(runs):
            bar.set_description_str(f"{name}, mu = {mu:.2f}")

            def show(progress: float, before: float = duration * count) -> None:
                bar.update(before + min(progress, duration) - bar.n)

            trajectory, recording = planned.plans[name].trajectory, out / f"{name}_{mu:.3f}.mcap"
            run = slide(trajectory, mu, args.seed, args.view, recording, show)
            slides.setdefault(name, []).append(run)
    return slides
