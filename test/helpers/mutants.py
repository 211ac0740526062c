"""Mutants: the project with one small fault, drawn by a seed.

A number is ten times as large, a sign or a comparison the other way round, or a line is left out,
somewhere in one of the rooms. Left alone is what no test is asked to notice: ranges of parameters,
what is said to people, plots, and compiling ahead.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import accumulate
from pathlib import Path

from contact_core.base.seeds import generator

ROOMS: dict[str, tuple[str, ...]] = {
    "control": ("contact_aware_control/*.py", "contact_aware_control/[!en]*/*.py"),
    "estimation": ("contact_aware_control/estimation/*.py",),
    "scheme": ("tamsi_sim/scheme/*.py",),
    "planners": ("irs_planner/**/*.py", "robust_planner/**/*.py"),
    "nodes": ("contact_aware_control/node/*.py", "tamsi_sim/node/*.py", "*_planner/node/*.py"),
}
"""Name -> its files."""
PASSED_OVER = ("plots", "precompile.py", "__init__.py")
UNSAID = ("parameter", "get_logger", "describe", "add_argument")
"""Calls whose arguments nobody checks one by one."""
OTHER = {
    **{ast.Add: ("+", "-"), ast.Sub: ("-", "+")},
    **{ast.Lt: ("<", ">="), ast.LtE: ("<=", ">"), ast.Gt: (">", "<="), ast.GtE: (">=", "<")},
    **{ast.Eq: ("==", "!="), ast.NotEq: ("!=", "==")},
}
"""Operator -> how it is written, and what stands there instead."""
KINDS = ("number", "sign", "comparison", "line")


@dataclass(frozen=True)
class Mutant:
    """One fault.

    Attributes:
        file: Relative to the repository.
        line: Number of the line.
        kind: One of KINDS.
        before: The source there.
        after: What stands there instead.
        start: Where it begins in the file's text.
    """

    file: Path
    line: int
    kind: str
    before: str
    after: str
    start: int

    @property
    def package(self) -> str:
        """The package it is in."""
        return self.file.parts[0]

    def apply(self, root: Path) -> None:
        """Put the fault into a copy of the project."""
        path = root / self.file
        text = path.read_text()
        assert text[self.start :].startswith(self.before)
        path.write_text(text[: self.start] + self.after + text[self.start + len(self.before) :])

    def __str__(self) -> str:
        """Say where it is and what it does."""
        before, after = self.before.strip(), self.after.strip() or "nothing"
        return f"{self.file}:{self.line}: {before} -> {after}"


def draw_mutant(root: Path, room: str, seed: int) -> Mutant:
    """Draw a mutant of a room.

    Args:
        root: The repository.
        room: Key of ROOMS.
        seed: Of the draw.
    """
    draw = generator(seed, f"mutant of {room}")
    kind = KINDS[draw.integers(len(KINDS))]
    files = sorted({path for pattern in ROOMS[room] for path in root.glob(pattern)})
    if room == "planners":
        files = [path for path in files if "node" not in path.parts]
    files = [path for path in files if not set(PASSED_OVER) & set(path.parts)]
    found = [mutant for path in files for mutant in _mutants(root, path) if mutant.kind == kind]
    return found[draw.integers(len(found))]


def _mutants(root: Path, path: Path) -> Iterator[Mutant]:
    text = path.read_text()
    begins = list(accumulate((len(line) for line in text.splitlines(keepends=True)), initial=0))

    def mutant(kind: str, line: int, start: int, end: int, after: str) -> Mutant:
        return Mutant(path.relative_to(root), line, kind, text[start:end], after, start)

    def start_of(node: ast.expr | ast.stmt) -> int:
        return begins[node.lineno - 1] + node.col_offset

    def end_of(node: ast.expr | ast.stmt) -> int:
        assert node.end_lineno is not None
        assert node.end_col_offset is not None
        return begins[node.end_lineno - 1] + node.end_col_offset

    for node in _touched(ast.parse(text)):
        if not isinstance(node, ast.expr | ast.stmt):
            continue
        kind, start, end = "", start_of(node), end_of(node)
        match node:
            case ast.Constant(value=float(value)):
                kind, after = "number", repr(10.0 * value or 1.0)
            case ast.Constant(value=int(value)) if not isinstance(value, bool):
                kind, after = "number", repr(value + 1)
            case ast.UnaryOp(ast.USub()):
                kind, end, after = "sign", start + 1, ""
            case ast.BinOp(left, op, right) | ast.Compare(left, [op], [right]) if type(op) in OTHER:
                kind = "sign" if isinstance(node, ast.BinOp) else "comparison"
                start, end = end_of(left), start_of(right)
                after = text[start:end].replace(*OTHER[type(op)], 1)
            case ast.AugAssign() | ast.Expr(ast.Call()):
                kind, after = "line", "pass"
        if kind:
            yield mutant(kind, node.lineno, start, end, after)


def _touched(node: ast.AST) -> Iterator[ast.AST]:
    """Walk a tree, but for annotations, decorators and what is only said."""
    if isinstance(node, ast.Call) and any(name in ast.unparse(node.func) for name in UNSAID):
        return
    if isinstance(node, ast.Raise | ast.JoinedStr | ast.Assert):
        return
    yield node
    for name, value in ast.iter_fields(node):
        if name in ("annotation", "returns", "decorator_list", "slice"):
            continue
        for child in value if isinstance(value, list) else [value]:
            if isinstance(child, ast.AST):
                yield from _touched(child)
