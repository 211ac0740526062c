"""Why zero-order bundles survive where first-order ones fail: the Heaviside function."""

from pathlib import Path

import numpy as np

from contact_core.base.figures import save
from contact_core.base.sweep import Sweep
from contact_experiments.irs.smoothing_figures import Heaviside, figure_3
from irs_planner import first_order_bundle, zero_order_bundle

step, std = Heaviside(), 0.2
samples = std * np.random.default_rng(0).standard_normal(10_000)
points = np.array([-0.2, 0.0, 0.2])

print("true slope of the bundled step", step.bundled_gradient(points, std))
print("zero-order bundle             ", zero_order_bundle(step.value, points, samples))
print("first-order bundle            ", first_order_bundle(step.gradient, points, samples))
figure, _ = figure_3(Sweep())
print(save(figure, Path("out/smooth_a_jump.png")))
