"""The tree of a search: states that were reached, and what one step could do from there."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from irs_planner.result import CONTACT, TRANSIT
from irs_planner.search.search_model import Reach, SearchModel
from irs_planner.search.transit import Motion, stays

PUSH, TO_GOAL, REGRASP = range(3)
"""Ways to extend a node."""
FATIGUE = 0.2
"""Share by which a try moves a node away."""


@dataclass(frozen=True)
class Edge:
    """A push, maybe with another grasp than before.

    Attributes:
        parent: Number of the node where it begins.
        moved: (n_a) joints that let go; none where the grasp stays.
        release: The robot lets go and the objects come to rest; empty where the grasp stays.
        transit: It moves to another grasp, likewise.
        push: With contact.
        held: Whether the robot holds the object meanwhile.
    """

    parent: int
    moved: np.ndarray
    release: Motion
    transit: Motion
    push: Motion
    held: bool

    @property
    def steps(self) -> int:
        """Its length."""
        return sum(len(part.inputs) for part in (self.release, self.transit, self.push))

    @property
    def end(self) -> np.ndarray:
        """(n) the state where it ends."""
        return np.asarray(self.push.states[-1])


class Tree:
    """Nodes by number; the first one is the start.

    Attributes:
        states: (n) x of every node.
        commands: (n_a) u that led there.
        edges: The edge to every node, None to the start.
        steps: Number of steps from the start.
    """

    def __init__(self, model: SearchModel) -> None:
        """Plant a tree.

        Args:
            model: The problem.
        """
        start = model.problem.initial_state
        self._model = model
        self.states = [start]
        self.commands = [start[model.joints]]
        self.edges: list[Edge | None] = [None]
        self.steps = [0]
        self._tries = [np.zeros(3, dtype=int)]
        self._reaches = [model.reach(start[np.newaxis], self.commands[0][np.newaxis])]

    def __len__(self) -> int:
        """Return the number of nodes."""
        return len(self.states)

    def add(self, edge: Edge) -> int:
        """Add the end of an edge as a node and return its number."""
        self.states.append(edge.end)
        self.commands.append(edge.push.inputs[-1])
        self.edges.append(edge)
        self.steps.append(self.steps[edge.parent] + edge.steps)
        self._tries.append(np.zeros(3, dtype=int))
        self._reaches.append(self._model.reach(edge.end[np.newaxis], edge.push.inputs[-1:]))
        return len(self) - 1

    def choose(self, target: np.ndarray, *, regrasp: bool) -> int:
        """Choose the node to extend towards a target, and count the try.

        Args:
            target: (n) p.
            regrasp: Whether the robot will touch the object elsewhere first: then how far the
                object is away counts alone, else the local metric.

        Returns:
            The nearest node; every try moves a node away. With the grasp it has, none is led to
            the goal itself twice: that would end as before.
        """
        way = REGRASP if regrasp else TO_GOAL if self._is_goal(target) else PUSH
        tries = np.array(self._tries)[:, way]
        if way == REGRASP:
            distance = self._model.distance(np.array(self.states), target)
        else:
            distance = self._model.reach_distances(Reach.of(self._reaches), target)
        if way == TO_GOAL:
            distance = np.where(tries, np.inf, distance)
        node = int(np.argmin(distance * (1.0 + FATIGUE * tries)))
        self._tries[node][way] += 1
        return node

    def exhausted(self, target: np.ndarray) -> bool:
        """Return whether all nodes were led to a target with the grasps they have."""
        return self._is_goal(target) and all(tries[TO_GOAL] for tries in self._tries)

    def _is_goal(self, target: np.ndarray) -> bool:
        return np.array_equal(target, self._model.problem.goal)

    def path(self, node: int) -> list[Edge]:
        """Return the edges from the start to a node."""
        edges = []
        while (edge := self.edges[node]) is not None:
            edges.append(edge)
            node = edge.parent
        return edges[::-1]


def motion_of(model: SearchModel, edges: list[Edge]) -> list[tuple[str, Motion]]:
    """Return the kinds and motions of a path; what is of one kind is one motion.

    Letting go counts as contact if objects move.
    """
    motions: list[tuple[str, Motion]] = []
    for edge in edges:
        letting_go = TRANSIT if stays(model, edge.release.states) else CONTACT
        kinds = (letting_go, TRANSIT, CONTACT)
        for kind, motion in zip(kinds, (edge.release, edge.transit, edge.push), strict=True):
            if not len(motion.inputs):
                continue
            if motions and motions[-1][0] == kind:
                before = motions.pop()[1]
                motion = Motion(
                    np.concatenate((before.states, motion.states[1:])),
                    np.concatenate((before.inputs, motion.inputs)),
                )
            motions.append((kind, motion))
    return motions
