"""Kernels are compiled before a graph starts, once."""

from __future__ import annotations

import sys

import pytest

from contact_core.base.errors import ContactStackError
from contact_stack import precompile
from contact_stack.checks import Check, CheckStatus
from contact_stack.checks.machine import compiled_kernels


def pretend(monkeypatch: pytest.MonkeyPatch, status: CheckStatus, program: str) -> None:
    """Let kernels be compiled or not, and a program stand in for what compiles them."""
    monkeypatch.setattr(precompile, "compiled_kernels", lambda _: Check("kernels", status, ""))
    monkeypatch.setattr(precompile, "COMMAND", (sys.executable, "-c", program))


def test_what_is_compiled_is_not_compiled_again(monkeypatch):
    pretend(monkeypatch, CheckStatus.OK, "raise SystemExit(1)")
    precompile.compile_once()


def test_set_up_compiles_all_that_a_graph_runs():
    # Else every launch would wait for what is never done.
    check = compiled_kernels(precompile.GRAPH_PACKAGES)
    assert check.status is CheckStatus.OK, check


def test_a_graph_waits_for_no_kernel_of_planners(monkeypatch):
    asked: list[str] = []
    monkeypatch.setattr(
        precompile, "compiled_kernels", lambda names: asked.extend(names) or Check.ok("kernels", "")
    )
    precompile.compile_once()
    assert set(asked) == {"contact_core", "contact_aware_control", "contact_stack", "tamsi_sim"}


def test_what_is_not_is_compiled_and_the_wait_is_shown(monkeypatch, tmp_path, capsys):
    mark = tmp_path / "compiled"
    pretend(monkeypatch, CheckStatus.WARN, f"open({str(mark)!r}, 'w')")
    precompile.compile_once()
    assert mark.is_file()
    assert "compile the numerical kernels, once" in capsys.readouterr().err


def test_a_failure_is_one_line(monkeypatch):
    pretend(monkeypatch, CheckStatus.WARN, "raise ValueError('no room')")
    with pytest.raises(ContactStackError, match=r"cannot be compiled: ValueError: no room$"):
        precompile.compile_once()
