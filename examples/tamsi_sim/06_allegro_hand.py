"""An Allegro hand turns a mug to and fro, open loop: tamsi Sec. VI-B and Fig. 9."""

from pathlib import Path

import numpy as np

from contact_experiments.tamsi.cases import AllegroHand
from contact_experiments.tamsi.paper.hand_figure import plot_turning, turn_mug

run = turn_mug(AllegroHand(), duration=15.0)

swings = ", ".join(f"{swing:.0f}" for swing in np.rad2deg(run.swings()))
print(f"swing of the mug in each period [deg]: {swings}")
print(f"fingers in contact after the first second: {run.fingers[run.time > 1.0].min()} or more")
print(f"simulated time per CPU time: {run.real_time_rate:.0f}")
path = Path("out/allegro_hand.png")
path.parent.mkdir(exist_ok=True)
plot_turning(run).savefig(path, dpi=150)
print(f"picture: {path}")
