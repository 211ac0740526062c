"""Follow Newton's method into stiction, without and with the transition-aware line search.

Run with ``python examples/tamsi_sim/04_stick_slip_box.py [picture.png]``.
"""

import sys

from contact_experiments.tamsi.paper.box_figures import plot_residuals, residual_history

histories = {name: residual_history(name) for name in ("ie_fn", "ie_fn_tals")}
for name, history in histories.items():
    residuals = ", ".join(f"{residual:.3e}" for residual in history.residuals[:4])
    print(f"{name}: |r| = {residuals} Ns; converged: {history.converged}")

path = sys.argv[1] if len(sys.argv) > 1 else "stick_slip_box.png"
plot_residuals(histories).savefig(path, dpi=110)
print(f"wrote {path}")
