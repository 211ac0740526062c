"""The same models on other simulators, to cross-check the physics and to compare the speed."""
