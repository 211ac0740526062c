"""Helper modules of the simulator's tests can be imported by their names."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1] / "tamsi_sim"))
