"""What the nodes share: parameters, driver profiles, lock-step, loop, diagnostics."""
