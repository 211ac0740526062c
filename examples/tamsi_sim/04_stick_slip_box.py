"""Follow Newton's method into stiction, without and with the transition-aware line search."""

from pathlib import Path

from contact_core.base.figures import save
from contact_experiments.tamsi.paper.box_figures import plot_residuals, residual_history

histories = {name: residual_history(name) for name in ("ie_fn", "ie_fn_tals")}
for name, history in histories.items():
    residuals = ", ".join(f"{residual:.3e}" for residual in history.residuals[:4])
    print(f"{name}: |r| = {residuals} Ns; converged: {history.converged}")

print(save(plot_residuals(histories), Path("out/stick_slip_box.png")))
