"""A ROS 2 control stack for robots that are not afraid of contact."""
