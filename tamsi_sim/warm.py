"""Filling Numba's cache, so that the first simulation starts at once."""

from __future__ import annotations

from tamsi_sim.cases import ParallelGripper


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


if __name__ == "__main__":
    compile_kernels()
