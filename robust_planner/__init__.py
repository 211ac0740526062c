"""Contact-implicit planning that knows its risk: the paper `chance_constraints`.

Free of ROS; only the node module imports rclpy.
"""
