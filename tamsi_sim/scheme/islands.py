"""Islands: trees of bodies that contacts couple, and an order in which Newton's matrix is narrow.

A tree is what the mass matrix couples: one instance. Islands do not see each other, so each
is solved by itself. Within one, trees are in reverse Cuthill-McKee order, which keeps the
matrix's entries close to its diagonal.
"""

from __future__ import annotations

from tamsi_sim.arrays.borrowing import inlined_kernel
from tamsi_sim.arrays.data import ISLANDS, Model, Work

# Marks in Work.tree_island of trees that have no island yet.
UNSEEN, SEEN = -2, -1


@inlined_kernel
def update_islands(model: Model, work: Work, contacts: int) -> None:
    """Find the islands, and order their degrees of freedom and contacts.

    Args:
        model: The model.
        work: Reads contact_pair; writes the fields from link_first to row_end.
        contacts: Number of contact points.
    """
    trees = model.tree_dof.shape[0] - 1
    _link_trees(model, work, contacts)
    for tree in range(trees):
        work.tree_island[tree] = UNSEEN
    islands, first = 0, 0
    work.island_dof[0] = 0
    for tree in range(trees):
        if work.tree_island[tree] == UNSEEN:
            end = _spread(work, tree, first, UNSEEN, SEEN)
            # The tree found last is far out: a good start of the order.
            end = _spread(work, work.tree_queue[end - 1], first, SEEN, islands)
            _place(model, work, islands, first, end)
            first = end
            islands += 1
    work.counters[ISLANDS] = islands
    _sort_contacts(model, work, contacts, islands)


@inlined_kernel
def _sides(model: Model, work: Work, c: int) -> tuple[int, int]:
    """Trees of a contact's two shapes, -1 for the world."""
    pair = work.contact_pair[c]
    shapes = model.pair_shapes
    return model.shape_tree[shapes[pair, 0]], model.shape_tree[shapes[pair, 1]]


@inlined_kernel
def _link_trees(model: Model, work: Work, contacts: int) -> None:
    """List the neighbours of every tree: link_tree from link_first[tree] to the next one's."""
    edges = _list_edges(model, work, contacts)
    first, links = work.link_first, work.link_tree
    trees = first.shape[0] - 1
    for tree in range(trees + 1):
        first[tree] = 0
    for edge in range(edges):
        for side in range(2):
            first[work.edge_trees[edge, side]] += 1
    for tree in range(trees):
        first[tree + 1] += first[tree]
    # Filled from the back, so that first ends up where it should.
    for edge in range(edges):
        for side in range(2):
            tree = work.edge_trees[edge, side]
            first[tree] -= 1
            links[first[tree]] = work.edge_trees[edge, 1 - side]


@inlined_kernel
def _list_edges(model: Model, work: Work, contacts: int) -> int:
    """Write the pairs of trees in contact, runs of equal ones once; return how many."""
    edges, last_a, last_b = 0, -1, -1
    for c in range(contacts):
        a, b = _sides(model, work, c)
        if a >= 0 and b >= 0 and a != b and (a != last_a or b != last_b):
            work.edge_trees[edges, 0], work.edge_trees[edges, 1] = a, b
            edges += 1
            last_a, last_b = a, b
    return edges


@inlined_kernel
def _spread(work: Work, root: int, first: int, old: int, new: int) -> int:
    """Queue an island breadth-first from a root, change its marks, and return its end."""
    queue, marks = work.tree_queue, work.tree_island
    queue[first] = root
    marks[root] = new
    end = first + 1
    position = first
    while position < end:
        tree = queue[position]
        for k in range(work.link_first[tree], work.link_first[tree + 1]):
            neighbor = work.link_tree[k]
            if marks[neighbor] == old:
                marks[neighbor] = new
                queue[end] = neighbor
                end += 1
        position += 1
    return end


@inlined_kernel
def _place(model: Model, work: Work, island: int, first: int, end: int) -> None:
    """Give an island's degrees of freedom their rows, and the rows their last columns."""
    start = work.island_dof[island]
    row = start
    for position in range(end - 1, first - 1, -1):
        tree = work.tree_queue[position]
        for dof in range(model.tree_dof[tree], model.tree_dof[tree + 1]):
            work.order[row] = dof
            work.place[dof] = row
            row += 1
    work.island_dof[island + 1] = row
    reach = start
    for position in range(end - 1, first - 1, -1):
        tree = work.tree_queue[position]
        # Elimination fills the envelope, which therefore never becomes narrower.
        reach = max(reach, work.place[model.tree_dof[tree + 1] - 1])
        for k in range(work.link_first[tree], work.link_first[tree + 1]):
            reach = max(reach, work.place[model.tree_dof[work.link_tree[k] + 1] - 1])
        for dof in range(model.tree_dof[tree], model.tree_dof[tree + 1]):
            work.row_end[work.place[dof]] = reach


@inlined_kernel
def _sort_contacts(model: Model, work: Work, contacts: int, islands: int) -> None:
    """List the contacts island by island, in their own order."""
    first = work.island_contact
    if islands == 1:
        first[0], first[1] = 0, contacts
        for c in range(contacts):
            work.contact_order[c] = c
        return
    for island in range(islands + 1):
        first[island] = 0
    for c in range(contacts):
        first[_island(model, work, c)] += 1
    for island in range(islands):
        first[island + 1] += first[island]
    for c in range(contacts - 1, -1, -1):
        island = _island(model, work, c)
        first[island] -= 1
        work.contact_order[first[island]] = c


@inlined_kernel
def _island(model: Model, work: Work, c: int) -> int:
    a, b = _sides(model, work, c)
    return work.tree_island[max(a, b)] if a < 0 or b < 0 else work.tree_island[a]
