"""Contact particle filter: where the robot is touched, and with what force."""
