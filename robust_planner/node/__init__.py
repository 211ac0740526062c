"""The planner as a ROS action server."""
