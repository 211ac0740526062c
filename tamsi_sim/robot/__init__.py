"""The simulated arm: impedance control, sensors and the physics below it."""
