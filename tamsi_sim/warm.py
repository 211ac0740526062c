"""Filling Numba's cache, so that the first simulation starts at once."""

from __future__ import annotations

from tamsi_sim.cases import ParallelGripper
from tamsi_sim.integrators.registry import make_integrator
from tamsi_sim.paper.stick_slip_box import StickSlipBox


def compile_kernels() -> None:
    """Compile and cache every kernel of the simulator.

    All models share the types of their arrays, so one step of one case compiles them all.
    """
    case = ParallelGripper()
    engine = case.engine()
    engine.evaluate()
    engine.step(1)
    engine.linearize()
    engine.roll(case.forces(2))
    engine.rollouts(engine.q, engine.v, case.forces(2)[None])
    for name in ("ie_fn", "semi_implicit"):
        make_integrator(name, case.engine(), case.excitation()).step()
    StickSlipBox().reference(v=0.0, time=0.0, duration=1e-3, step=1e-3)


if __name__ == "__main__":
    compile_kernels()
