"""The demo push_anything: a shape is brought to a pose in closed loop."""
