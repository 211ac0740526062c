"""Derivatives of a step: how a pushed brick answers, sticking and sliding."""

import numpy as np

from tamsi_sim import World

BRICK = """<robot name="brick"><link name="brick"><inertial><mass value="1"/>
  <inertia ixx="1.3e-3" iyy="2.1e-3" izz="2.8e-3" ixy="0" ixz="0" iyz="0"/></inertial>
  <collision><geometry><box size="0.15 0.1 0.07"/></geometry></collision></link></robot>"""

np.set_printoptions(precision=4, suppress=True)
for push in (2.0, 10.0):
    engine = World().add_ground().add("brick", BRICK, (0.0, 0.0, 0.035), free=True).build()
    engine.step(500)
    engine.applied[0] = push
    engine.step(100)
    # A change of state is (dq, dv); a rotation is changed by a rotation vector.
    found = engine.linearize(steps=50)
    print(f"push {push:g} N, speed {engine.v[0]:.2g} m/s:")
    print(f"  dx/dpush after 50 ms: {1e3 * found.B_effort[0, 0]:.4f} mm/N")
    print(f"  dv/dv: {found.A[6, 6]:.4f}")
