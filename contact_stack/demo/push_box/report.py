"""What is said and drawn about a run."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt
import numpy as np
import pinocchio as pin
from contact_stack_msgs.action import PlanThroughContact
from matplotlib.axes import Axes

from contact_core.robot import Robot
from contact_ros.geometry import to_array, to_se3
from contact_ros.stamps import NANOSECONDS
from contact_stack.demo.push_box.push_node import Push, PushNode, box_pose
from contact_stack.demo.push_box.task import PUSHER, PushTask
from contact_stack.demo.summary import trajectory_hash

BOX, ARM, GOAL, PLANNED, LIMIT = "#8c6239", "#0b6e99", "#2a9d8f", "#d9730d", "0.3"
OUTLINES = 5
"""Outlines of the box per push."""


def summarize(node: PushNode, task: PushTask, seed: int, lockstep: bool) -> dict[str, Any]:
    """Return the figures of a run, ready for JSON.

    The peak force is that on the pusher, ground truth, impacts included; the limits of the
    pushes are what the controller was given, from the forces of the plans.

    Args:
        node: The node after the run.
        task: What it was asked for.
        seed: The seed.
        lockstep: Whether it ran in lock-step.
    """
    start, end = node.pushes[0], node.pushes[-1]
    assert end.after is not None
    peak = float(np.max(_push_forces(node)[1], initial=0.0))
    joints = node.heard["truth/joint_states"].between(start.start, end.end)
    return {
        "experiment": "push_box",
        "seed": seed,
        "lockstep": lockstep,
        "reached": task.reached(end.after),
        "start_distance_m": start.before.distance,
        "start_angle_deg": float(np.rad2deg(start.before.angle)),
        "end_distance_m": end.after.distance,
        "end_angle_deg": float(np.rad2deg(end.after.angle)),
        "sim_time_s": (end.end - start.start) / NANOSECONDS,
        "peak_force_N": peak,
        "trajectory_sha256": trajectory_hash(np.array([sample.position for sample in joints])),
        "pushes": [_push(push) for push in node.pushes],
    }


def table(summary: dict[str, Any]) -> str:
    """Show a summary as text.

    Args:
        summary: See :func:`summarize`.
    """
    lines = [
        f"{'push':<6}{'plan':<22}{'plan [s]':>10}{'limit [N]':>11}{'left [mm]':>11}{'[deg]':>8}"
    ]
    for i, push in enumerate(summary["pushes"]):
        lines.append(
            f"{i + 1:<6}{push['status']:<22}{push['planning_s']:>10.1f}"
            f"{max(push['force_limits_N'].values(), default=0.0):>11.1f}"
            f"{1e3 * push['distance_m']:>11.1f}{push['angle_deg']:>8.1f}"
        )
    result = "at the goal" if summary["reached"] else "NOT at the goal"
    lines.append(
        f"the box is {result}: {1e3 * summary['end_distance_m']:.1f} mm and "
        f"{summary['end_angle_deg']:.1f} deg off, from {1e3 * summary['start_distance_m']:.0f} mm "
        f"and {summary['start_angle_deg']:.0f} deg; peak force {summary['peak_force_N']:.1f} N"
    )
    return "\n".join(lines)


def draw(node: PushNode, task: PushTask, path: Path) -> Path:
    """Draw the box from above, its distance from the goal, and the force over time.

    Args:
        node: The node after the run.
        task: What it was asked for.
        path: The PNG to write.

    Returns:
        The file.
    """
    figure = plt.figure(figsize=(11, 5.2), layout="constrained")
    grid = figure.add_gridspec(3, 2, width_ratios=(1.25, 1.0))
    _draw_above(figure.add_subplot(grid[:, 0]), node, task)
    distance = figure.add_subplot(grid[0, 1])
    angle = figure.add_subplot(grid[1, 1], sharex=distance)
    force = figure.add_subplot(grid[2, 1], sharex=distance)
    _draw_miss(distance, angle, node, task)
    time, values = _push_forces(node)
    force.plot(time, values, color=ARM, lw=1)
    for push in node.pushes:
        limit = max((item.force_limit for item in push.plan.planned_contact), default=np.nan)
        span = [_seconds(node, push.start), _seconds(node, push.end)]
        force.plot(span, [limit, limit], color=LIMIT, ls="--", lw=1)
    force.set_ylabel("pusher force [N]")
    force.set_xlabel("time [s]")
    for axes in (distance, angle, force):
        axes.grid(alpha=0.3)
        axes.spines[["top", "right"]].set_visible(False)
    figure.align_ylabels((distance, angle, force))
    figure.savefig(path, dpi=130)
    plt.close(figure)
    return path


def _push(push: Push) -> dict[str, Any]:
    assert push.after is not None
    plan: PlanThroughContact.Result = push.plan
    return {
        "status": plan.status_name,
        "planning_s": plan.elapsed,
        "iterations": plan.iterations_done,
        "cost": [plan.cost_history[0], plan.best_cost],
        "force_limits_N": {item.link: item.force_limit for item in plan.planned_contact},
        "distance_m": push.after.distance,
        "angle_deg": float(np.rad2deg(push.after.angle)),
    }


def _seconds(node: PushNode, stamp: int) -> float:
    return (stamp - node.pushes[0].start) / NANOSECONDS


def _push_forces(node: PushNode) -> tuple[list[float], list[float]]:
    """Return time [s] and force [N] on the pusher, ground truth."""
    series = node.heard["truth/contacts"]
    time, force = [], []
    for stamp, message in zip(series.stamps, series.samples, strict=True):
        if stamp >= node.pushes[0].start:
            contacts = message.contacts
            total = sum((to_array(c.force) for c in contacts if c.link == PUSHER), np.zeros(3))
            time.append(_seconds(node, stamp))
            force.append(float(np.linalg.norm(total)))
    return time, force


def _draw_above(axes: Axes, node: PushNode, task: PushTask) -> None:
    """Draw outlines of the box and the path of the pusher, seen from above."""
    size = task.half_extents
    for push in node.pushes:
        for stamp in np.linspace(push.start, push.end, OUTLINES):
            pose = box_pose(node.heard["truth/objects"].at(int(stamp)))
            axes.plot(*_outline(pose, size), color=BOX, alpha=0.35, lw=1)
        planned = to_se3(push.plan.objects[0].poses[-1])
        label = "planned end of a push" if push is node.pushes[0] else None
        axes.plot(*_outline(planned, size), color=PLANNED, ls=":", lw=1.5, label=label)
    final = box_pose(node.heard["truth/objects"].at(node.pushes[-1].end))
    axes.fill(*_outline(final, size), color=BOX, alpha=0.35, label="box at the end")
    axes.plot(*_outline(task.goal, size), color=GOAL, lw=2.5, ls="--", label="goal")
    axes.plot(*_pusher_path(node, task), color=ARM, lw=1.5, label="pusher")
    axes.set_aspect("equal")
    axes.set_xlabel("x [m]")
    axes.set_ylabel("y [m]")
    axes.legend(loc="lower center", bbox_to_anchor=(0.5, 1.0), ncols=4, frameon=False, fontsize=9)
    axes.spines[["top", "right"]].set_visible(False)


def _draw_miss(distance: Axes, angle: Axes, node: PushNode, task: PushTask) -> None:
    """Draw how far the box is from its goal over time."""
    series, start = node.heard["truth/objects"], node.pushes[0].start
    stamps = [stamp for stamp in series.stamps if stamp >= start]
    misses = [task.miss(box_pose(series.at(stamp))) for stamp in stamps]
    time = [_seconds(node, stamp) for stamp in stamps]
    distance.plot(time, [1e3 * miss.distance for miss in misses], color=BOX)
    distance.axhline(1e3 * task.position_tolerance, color=LIMIT, ls="--", lw=1)
    distance.set_ylabel("distance [mm]")
    angle.plot(time, [np.rad2deg(miss.angle) for miss in misses], color=BOX)
    angle.axhline(np.rad2deg(task.rotation_tolerance), color=LIMIT, ls="--", lw=1)
    angle.set_ylabel("angle [deg]")
    for axes in (distance, angle):
        axes.set_ylim(bottom=0.0)


def _pusher_path(node: PushNode, task: PushTask) -> np.ndarray:
    """Return the (2, n) path of the tool, ground truth."""
    series = node.heard["truth/joint_states"]
    robot = Robot.from_description(task.model.scene.scene.robot)
    points = []
    for stamp, message in zip(series.stamps, series.samples, strict=True):
        if stamp >= node.pushes[0].start:
            robot.update(np.array(message.position[: robot.n]))
            points.append(robot.tool_pose().translation[:2])
    return np.array(points).T


def _outline(pose: pin.SE3, size: np.ndarray) -> Iterator[np.ndarray]:
    """Return x and y of the upper face's corners, closed."""
    corners = [(1, 1), (-1, 1), (-1, -1), (1, -1), (1, 1)]
    points = np.array([pose.act(size * np.array([x, y, 1.0])) for x, y in corners])
    return iter(points[:, :2].T)
