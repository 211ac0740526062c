"""A smoothing mode of your own beside ours: first-order bundles of mirrored samples.

contact-stack paper bundled_gradients 9 --with examples/papers/02_own_smoothing_mode.py
"""

import numpy as np

from irs_planner import SMOOTHING_MODES, SmoothingMode, first_order_jacobians


def mirrored_jacobians(dynamics, states, inputs, perturbations, workers=1):
    """Take half of the samples, each with its mirror image: what is odd in them cancels."""

    def mirror(noise):
        half = noise[:, : (noise.shape[1] + 1) // 2]
        return np.concatenate((half, -half), axis=1)

    mirrored = perturbations._replace(
        state=mirror(perturbations.state), input=mirror(perturbations.input)
    )
    return first_order_jacobians(dynamics, states, inputs, mirrored, workers)


SMOOTHING_MODES.register("mirrored", SmoothingMode("mirrored samples", mirrored_jacobians))
