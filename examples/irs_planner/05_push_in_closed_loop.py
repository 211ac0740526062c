"""A finger pushes a T to a pose, and looks what comes of it after every step.

The T is heavier than the planner believes, it is seen with noise, and somebody kicks it.
"""

from dataclasses import replace

import numpy as np

from irs_planner import (
    ClosedLoop,
    Phase,
    PlanarQuasiDynamics,
    build_problem,
    load_example,
    load_scene,
)

problem = build_problem(load_example("push_t"))
scene = load_scene("push_t")
(tee,) = scene.objects
heavy = replace(tee, mass=1.3, inertia=0.008)
world = PlanarQuasiDynamics(replace(scene, objects=(heavy,)), problem.dynamics.time_step)

camera = np.random.default_rng(0)
loop, state = ClosedLoop(problem), problem.initial_state
command = state[3:]
for look in range(1000):
    seen = state + np.array([1e-3, 1e-3, 1e-2, 0.0, 0.0]) * camera.standard_normal(5)
    command = loop.step(seen, command)
    if loop.phase is Phase.REST:
        break
    state = world.step(state, command)
    if look == 60:
        state[:3] += [0.07, -0.05, 0.5]  # a kick
error = state - problem.goal
print(f"{loop.phase} after {look} looks, pushed from {loop.searches} places")
print(f"off by {1e3 * np.hypot(*error[:2]):.1f} mm and {np.rad2deg(error[2]):.1f} degrees")
