"""The gripper WSG 50 behind the actions that the simulator's gripper has."""
