"""Compile the integrators that TAMSI is compared with ahead of time; no node needs them."""

from __future__ import annotations

from contact_experiments.tamsi.cases import ParallelGripper, StickSlipBox
from contact_experiments.tamsi.integrators.integrator import make_integrator
from tamsi_sim import precompile as simulator


def precompile() -> None:
    """Compile the simulator's kernels, then the integrators', by a step of each family."""
    simulator.precompile()
    case = ParallelGripper()
    for name in ("ie_fn", "semi_implicit"):
        make_integrator(name, case.engine(), case.excitation()).step()
    StickSlipBox().reference(v=0.0, time=0.0, duration=1e-3, step=1e-3)
