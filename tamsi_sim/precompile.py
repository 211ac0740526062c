"""Compile the simulator's kernels ahead of time, so that the first simulation starts at once."""

from __future__ import annotations

import numpy as np

from tamsi_sim.simulation.world import World

_BOX = """<robot name="box"><link name="box"><inertial><mass value="1"/>
  <inertia ixx="1" ixy="0" ixz="0" iyy="1" iyz="0" izz="1"/></inertial>
  <collision name="box"><geometry><box size="0.1 0.1 0.1"/></geometry></collision>
  </link></robot>"""


def precompile() -> None:
    """Run every entry point once; compiled code is kept on disk.

    All models share the types of their arrays, so one step of one world compiles them all.
    """
    engine = World().add_ground().add("box", _BOX, (0.0, 0.0, 0.05), free=True).build()
    engine.evaluate()
    engine.step(1)
    engine.linearize()
    engine.roll(np.zeros((2, len(engine.v))))
