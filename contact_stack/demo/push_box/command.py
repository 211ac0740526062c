"""``contact-stack demo push_box``."""

from __future__ import annotations

import argparse
import json
from pathlib import Path

from tqdm import tqdm

from contact_stack.demo.push_box.push_node import PushNode
from contact_stack.demo.push_box.report import draw, summarize, table
from contact_stack.demo.push_box.run import run_push
from contact_stack.demo.push_box.task import PushTask

NAME = "push_box"
EXIT_NOT_REACHED = 1


def main(args: argparse.Namespace, out: Path) -> int:
    """Run the demo.

    Args:
        args: The parsed command line of ``contact-stack demo``.
        out: Folder of the results.

    Returns:
        0, or 1 if the box is not at its goal in the end.

    Raises:
        ContactStackError: If the graph does not start or a node fails.
    """
    out.mkdir(parents=True, exist_ok=True)
    task = PushTask()
    with tqdm(total=args.attempts, desc=NAME, unit="push") as bar:

        def show(node: PushNode) -> None:
            done = sum(push.after is not None for push in node.pushes)
            if node.pushes:
                miss = task.miss(node.box())
                bar.set_postfix_str(f"{1e3 * miss.distance:.0f} mm to go", refresh=False)
            bar.update(done - bar.n)

        node = run_push(
            task,
            args.attempts,
            args.mode,
            args.driver,
            args.seed,
            args.lockstep,
            args.view,
            out / f"{NAME}.mcap",
            show,
        )
    summary = summarize(node, task, args.seed, args.lockstep)
    for path in filter(None, (out / "summary.json", args.json)):
        path.write_text(json.dumps({NAME: summary}, indent=2) + "\n")
    print(table(summary))
    print(f"results: {out}/summary.json, {draw(node, task, out / 'push.png').name}, {NAME}.mcap")
    return 0 if summary["reached"] else EXIT_NOT_REACHED
