"""Filling Numba's cache with the integrators of the paper, which no node needs."""

from __future__ import annotations

from tamsi_sim import warm
from tamsi_sim.cases import ParallelGripper
from tamsi_sim.integrators.registry import make_integrator
from tamsi_sim.paper.stick_slip_box import StickSlipBox


def compile_kernels() -> None:
    """Compile and cache the simulator's kernels, then the integrators', a step of each family."""
    warm.compile_kernels()
    case = ParallelGripper()
    for name in ("ie_fn", "semi_implicit"):
        make_integrator(name, case.engine(), case.excitation()).step()
    StickSlipBox().reference(v=0.0, time=0.0, duration=1e-3, step=1e-3)


if __name__ == "__main__":
    compile_kernels()
