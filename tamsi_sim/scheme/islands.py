"""Islands: trees that contacts and closures couple, and an order that keeps Newton's matrix narrow.

A tree is what the mass matrix couples: one instance. Islands do not see each other, so each
is solved by itself. Within one, trees are in reverse Cuthill-McKee order, which keeps the
matrix's entries close to its diagonal.
"""

from __future__ import annotations

import numpy as np

from contact_core.base.kernel import inlined_kernel
from contact_core.multibody.rigid_body.arrays import Trees
from tamsi_sim.arrays.data import Islands
from tamsi_sim.arrays.simulation import Simulation

# Marks in Islands.of_tree of trees that have no island yet.
UNSEEN, SEEN = -2, -1


@inlined_kernel
def update_islands(simulation: Simulation, contacts: int) -> int:
    """Find the islands, and order their degrees of freedom and contacts.

    Args:
        simulation: Its islands are written, except for jacobian_row.
        contacts: Number of contact points.

    Returns:
        The number of islands.
    """
    trees, islands = simulation.trees, simulation.islands
    count = trees.first_dof.shape[0] - 1
    _link_trees(simulation, contacts)
    for tree in range(count):
        islands.of_tree[tree] = UNSEEN
    found, first = 0, 0
    islands.first_row[0] = 0
    islands.entries[0] = 0
    for tree in range(count):
        if islands.of_tree[tree] == UNSEEN:
            end = _spread(islands, tree, first, UNSEEN, SEEN)
            # The tree found last is far out: a good start of the order.
            end = _spread(islands, islands.queue[end - 1], first, SEEN, found)
            _place(trees, islands, found, first, end)
            first = end
            found += 1
    _sort_contacts(simulation, contacts, found)
    return found


@inlined_kernel
def _sides(
    shape_tree: np.ndarray, pair_shapes: np.ndarray, contact_pair: np.ndarray, c: int
) -> tuple[int, int]:
    """Trees of a contact's two shapes, -1 for the world."""
    pair = contact_pair[c]
    return shape_tree[pair_shapes[pair, 0]], shape_tree[pair_shapes[pair, 1]]


@inlined_kernel
def _link_trees(simulation: Simulation, contacts: int) -> None:
    """List the neighbours of every tree: link_tree from link_first[tree] to the next one's."""
    shape_tree, islands = simulation.geometry.tree, simulation.islands
    pair_shapes, contact_pair = simulation.pairs.shapes, simulation.contacts.pair
    closure_tree = simulation.closures.tree
    # Pairs of trees in contact, runs of equal ones once.
    edges, last_a, last_b = 0, -1, -1
    for c in range(contacts):
        a, b = _sides(shape_tree, pair_shapes, contact_pair, c)
        if a >= 0 and b >= 0 and a != b and (a != last_a or b != last_b):
            islands.edge_trees[edges, 0], islands.edge_trees[edges, 1] = a, b
            edges += 1
            last_a, last_b = a, b
    for closure in range(closure_tree.shape[0]):
        a, b = closure_tree[closure]
        if a >= 0 and b >= 0 and a != b:
            islands.edge_trees[edges, 0], islands.edge_trees[edges, 1] = a, b
            edges += 1
    first, links = islands.link_first, islands.link_tree
    trees = first.shape[0] - 1
    for tree in range(trees + 1):
        first[tree] = 0
    for edge in range(edges):
        for side in range(2):
            first[islands.edge_trees[edge, side]] += 1
    for tree in range(trees):
        first[tree + 1] += first[tree]
    # Filled from the back, so that first ends up where it should.
    for edge in range(edges):
        for side in range(2):
            tree = islands.edge_trees[edge, side]
            first[tree] -= 1
            links[first[tree]] = islands.edge_trees[edge, 1 - side]


@inlined_kernel
def _spread(islands: Islands, root: int, first: int, old: int, new: int) -> int:
    """Queue an island breadth-first from a root, change its marks, and return its end."""
    queue, marks = islands.queue, islands.of_tree
    queue[first] = root
    marks[root] = new
    end = first + 1
    position = first
    while position < end:
        tree = queue[position]
        for k in range(islands.link_first[tree], islands.link_first[tree + 1]):
            neighbor = islands.link_tree[k]
            if marks[neighbor] == old:
                marks[neighbor] = new
                queue[end] = neighbor
                end += 1
        position += 1
    return end


@inlined_kernel
def _place(trees: Trees, islands: Islands, island: int, first: int, end: int) -> None:
    """Give an island's degrees of freedom their rows, and the rows their last columns."""
    start = islands.first_row[island]
    row = start
    for position in range(end - 1, first - 1, -1):
        tree = islands.queue[position]
        for k in range(trees.first_dof[tree], trees.first_dof[tree + 1]):
            dof = trees.elimination[k]
            islands.order[row] = dof
            islands.place[dof] = row
            row += 1
    islands.first_row[island + 1] = row
    reach = start
    for position in range(end - 1, first - 1, -1):
        tree = islands.queue[position]
        # Elimination fills the envelope, which therefore never becomes narrower.
        reach = max(reach, _last_row(trees, islands, tree))
        for k in range(islands.link_first[tree], islands.link_first[tree + 1]):
            reach = max(reach, _last_row(trees, islands, islands.link_tree[k]))
        for dof in range(trees.first_dof[tree], trees.first_dof[tree + 1]):
            islands.row_end[islands.place[dof]] = reach
    _pack_rows(islands, start, row)


@inlined_kernel
def _last_row(trees: Trees, islands: Islands, tree: int) -> int:
    return islands.place[trees.elimination[trees.first_dof[tree + 1] - 1]]


@inlined_kernel
def _pack_rows(islands: Islands, first: int, last: int) -> None:
    """Lay an island's rows, each from its first column on, one behind the other."""
    column = first
    for row in range(first, last):
        while islands.row_end[column] < row:
            column += 1
        islands.row_start[row] = islands.entries[0] - column
        islands.entries[0] += islands.row_end[row] + 1 - column


@inlined_kernel
def _sort_contacts(simulation: Simulation, contacts: int, count: int) -> None:
    """List the contacts island by island, in their own order."""
    shape_tree, islands = simulation.geometry.tree, simulation.islands
    pair_shapes, contact_pair = simulation.pairs.shapes, simulation.contacts.pair
    first = islands.first_contact
    if count == 1:
        first[0], first[1] = 0, contacts
        for c in range(contacts):
            islands.contact[c] = c
        return
    for island in range(count + 1):
        first[island] = 0
    for c in range(contacts):
        a, b = _sides(shape_tree, pair_shapes, contact_pair, c)
        first[islands.of_tree[_own(a, b)]] += 1
    for island in range(count):
        first[island + 1] += first[island]
    for c in range(contacts - 1, -1, -1):
        a, b = _sides(shape_tree, pair_shapes, contact_pair, c)
        island = islands.of_tree[_own(a, b)]
        first[island] -= 1
        islands.contact[first[island]] = c


@inlined_kernel
def _own(a: int, b: int) -> int:
    """A tree of a contact: its first, or the one that is not the world."""
    return max(a, b) if a < 0 or b < 0 else a


@inlined_kernel
def number_rows(simulation: Simulation, contacts: int) -> None:
    """Write the rows of the Jacobians' columns.

    Args:
        simulation: Its islands' place is read, and their jacobian_row written.
        contacts: Number of contact points.
    """
    jacobian, islands = simulation.jacobian, simulation.islands
    for c in range(contacts):
        dofs, rows = jacobian.dof[c], islands.jacobian_row[c]
        for k in range(jacobian.columns[c]):
            rows[k] = islands.place[dofs[k]]
