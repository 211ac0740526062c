"""Evidence for the planner through contact: the paper bundled_gradients."""
